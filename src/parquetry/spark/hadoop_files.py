"""Files by the session's Hadoop file systems, so that the planner reaches all that Spark reads and writes.

The session's settings hold: credentials, endpoints, providers, name services. A user configures them once. A
path here is a whole location, with the scheme that the user wrote.

`CALL system.doctor` checks these settings for the file system of a warehouse.
"""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
from py4j.protocol import Py4JJavaError
from pyspark.errors.exceptions.captured import CapturedException
from pyspark.sql import SparkSession

from parquetry.errors import WarehouseError
from parquetry.locations import FileTail, RemoteFiles, UnfinishedUpload, take_apart
from parquetry.metastore import Check
from parquetry.spark.active import active_session, bridge_class, java_error

_ENTRIES_PER_PAGE = 10_000
"""Entries of a listing that cross from the JVM in one text, of about 1 MB."""
_TAILS_PER_CALL = 64
"""Files whose last bytes cross in one call, of 4 MB at most."""
_ERRORS = {"missing": FileNotFoundError, "denied": PermissionError}


class HadoopFileSystems:
    """Opens locations by the Hadoop file systems of a session.

    Args:
        spark: the session, or None for the one that is active in the asking thread.
    """

    def __init__(self, spark: SparkSession | None = None) -> None:
        self._spark = spark

    def for_threads(self) -> HadoopFileSystems:
        """Return the file systems of the session that is active now; other threads have no active session."""
        return HadoopFileSystems(self._spark or active_session())

    def open(self, location: str, /) -> tuple[pafs.FileSystem, str]:
        """Return the file system of a location, and the location itself; see `FileSystems.open`.

        Raises:
            WarehouseError: Hadoop knows no file system of this scheme, or cannot reach it.
        """
        parts = take_apart(location)
        files = HadoopFiles(self._spark or active_session(), f"{parts.scheme}:{parts.authority}")
        try:
            files.check()
        except OSError as error:
            raise WarehouseError(
                f"The location '{location}' cannot be opened: {error}. Spark's own settings hold "
                "(spark.hadoop.fs.…, core-site.xml): check the scheme, the address and the credentials there, and "
                "that the jars of the file system are in spark.jars."
            ) from None
        return pafs.PyFileSystem(files), location


class HadoopFiles(RemoteFiles):
    """One of Hadoop's file systems, as Arrow has them.

    Args:
        spark: the session, whose settings hold.
        root: scheme and authority, as the user wrote them.
    """

    def __init__(self, spark: SparkSession, root: str) -> None:
        self._session = spark._jsparkSession
        self._gateway = bridge_class(spark._jvm, "storage.StorageGateway")
        self._root = root

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HadoopFiles) and other._root == self._root

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash(self._root)

    def check(self) -> None:
        """Make sure that Hadoop knows the file system. This reads no file.

        Raises:
            OSError: it does not, or cannot reach it.
        """
        self._ask("check", f"{self._root}/")

    @property
    def has_directories(self) -> bool:
        """Whether there are directories without files; see `RemoteFiles.has_directories`."""
        return not self._gateway.isObjectStore(f"{self._root}/")

    def walk(self, folder: str) -> Iterator[pafs.FileInfo]:
        """Yield what is below a folder, at any depth; see `RemoteFiles.walk`."""
        return self._entries(folder, recursive=True)

    def delete_files(self, paths: Sequence[str]) -> dict[str, str]:
        """Delete files; see `RemoteFiles.delete_files`."""
        return dict(json.loads(self._ask("delete", list(paths))))

    def write_file(self, path: str, data: bytes) -> None:
        """Write a small file; see `RemoteFiles.write_file`."""
        self._ask("write", path, bytearray(data))

    def create_file(self, path: str, data: bytes) -> None:
        """Write a small file that must not exist; see `RemoteFiles.create_file`."""
        self._ask("create", path, bytearray(data))

    def delete_empty_directory(self, path: str) -> bool:
        """Delete a directory if it is empty; see `RemoteFiles.delete_empty_directory`."""
        return bool(self._ask("deleteEmptyDirectory", path))

    def uploads(self, folder: str) -> list[UnfinishedUpload]:
        """Return the unfinished uploads below a folder; see `RemoteFiles.uploads`."""
        uploads = json.loads(self._ask("uploads", folder))
        return [UnfinishedUpload(f"{self._root}/{key}", id_, began) for key, id_, began in uploads]

    def end_uploads(self, uploads: Sequence[UnfinishedUpload]) -> dict[str, str]:
        """End uploads; see `RemoteFiles.end_uploads`."""
        keys = [upload.path.removeprefix(f"{self._root}/") for upload in uploads]
        reasons = json.loads(self._ask("endUploads", self._root, keys, [upload.id for upload in uploads]))
        failures = zip(uploads, reasons, strict=True)
        return {upload.path: reason for upload, reason in failures if reason is not None}

    def tails(self, paths: Sequence[str], size: int) -> list[FileTail | OSError]:
        """Return the last bytes of files; see `RemoteFiles.tails`."""
        tails: list[FileTail | OSError] = []
        read = self._ask("tails", list(paths), size)
        for start in range(0, len(paths), _TAILS_PER_CALL):
            end = min(start + _TAILS_PER_CALL, len(paths))
            joined, at = bytes(read.tails(start, end)), 0
            for path, facts in zip(paths[start:end], json.loads(read.facts(start, end)), strict=True):
                if isinstance(facts[0], str):
                    tails.append(_error(*facts))
                elif facts[0]:
                    tails.append(IsADirectoryError(f"{path} is a directory"))
                else:
                    _, length, modified, taken = facts
                    tails.append(FileTail(path, length, modified, joined[at : at + taken]))
                    at += taken
        return tails

    def get_type_name(self) -> str:
        """Return the name of this kind of file system."""
        return "hadoop"

    def normalize_path(self, path: str) -> str:
        """Return a path as it is."""
        return path

    def get_file_info(self, paths: Sequence[str]) -> list[pafs.FileInfo]:
        """Return what is at each path."""
        if not paths:
            return []
        facts = json.loads(self._ask("statuses", list(paths)))
        return [_info(path, each) for path, each in zip(paths, facts, strict=True)]

    def get_file_info_selector(self, selector: pafs.FileSelector) -> list[pafs.FileInfo]:
        """Return what is in a folder."""
        try:
            return list(self._entries(selector.base_dir, recursive=selector.recursive))
        except FileNotFoundError:
            if selector.allow_not_found:
                return []
            raise

    def create_dir(self, path: str, _recursive: bool) -> None:
        """Make a folder, with those above it; an object store needs none."""
        self._ask("makeDirectory", path)

    def delete_file(self, path: str) -> None:
        """Delete a file."""
        for reason in self.delete_files([path]).values():
            raise OSError(reason)

    def open_input_file(self, path: str) -> pa.NativeFile:
        """Open a file, to be read by ranges."""
        opened = self._ask("open", path)
        return pa.PythonFile(_RangedFile(opened, opened.length()), mode="r")

    def open_input_stream(self, path: str) -> pa.NativeFile:
        """Open a file, to be read from its beginning."""
        return self.open_input_file(path)

    def _refuse(self, *_: Any) -> Any:
        raise NotImplementedError("Parquetry reads, lists and deletes files here; Spark writes them")

    delete_dir = delete_dir_contents = delete_root_dir_contents = _refuse
    move = copy_file = open_output_stream = open_append_stream = _refuse

    def _entries(self, folder: str, *, recursive: bool) -> Iterator[pafs.FileInfo]:
        listing = self._ask("list", folder, recursive)
        base = folder.rstrip("/")
        while page := json.loads(_call(listing.page, _ENTRIES_PER_PAGE)):
            for path, *facts in page:
                yield _info(f"{base}/{path}", facts)

    def _ask(self, name: str, *arguments: Any) -> Any:
        method = getattr(self._gateway, name)
        return _call(method, self._session, *arguments)


class _RangedFile(io.RawIOBase):
    """A file of the JVM, read by ranges.

    Args:
        opened: the bridge's `OpenFile`.
        size: the file's bytes.
    """

    def __init__(self, opened: Any, size: int) -> None:
        self._opened = opened
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Move to a position."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = base + offset
        return self._position

    def tell(self) -> int:
        """Return the position."""
        return self._position

    def read(self, size: int | None = -1) -> bytes:
        """Return bytes from the position on."""
        left = max(0, self._size - self._position)
        wanted = left if size is None or size < 0 else min(size, left)
        data = bytes(_call(self._opened.read, self._position, wanted)) if wanted else b""
        self._position += len(data)
        return data

    def close(self) -> None:
        """Close it on the other side, too."""
        if not self.closed:
            self._opened.close()
        super().close()


def _info(path: str, facts: list[Any] | None) -> pafs.FileInfo:
    """Return what is at a path, as Arrow has it.

    Raises:
        OSError: the file system could not tell.
    """
    if facts is None:
        return pafs.FileInfo(path, pafs.FileType.NotFound)
    if isinstance(facts[0], str):
        raise _error(*facts)
    is_directory, size, modified = facts
    if is_directory:
        return pafs.FileInfo(path, pafs.FileType.Directory, mtime_ns=modified * 1_000_000)
    return pafs.FileInfo(path, pafs.FileType.File, size=size, mtime_ns=modified * 1_000_000)


def _error(kind: str, message: str) -> OSError:
    return _ERRORS.get(kind, OSError)(message)


def _call(method: Any, *arguments: Any) -> Any:
    """Call a method of the bridge.

    Raises:
        OSError: a file system refused, or did not answer.
    """
    try:
        return method(*arguments)
    except (Py4JJavaError, CapturedException) as error:
        java = java_error(error)
        name = java.getClass().getName()
        if not any(part in name for part in ("hadoop", "java.io", "java.nio", "amazon", "IllegalArgument")):
            raise
        kind = "missing" if "FileNotFound" in name else "denied" if "Access" in name else "failed"
        text = str(java.getMessage() or name).split("\n")[0]
        raise _error(kind, text) from None


_S3A = "org.apache.hadoop.fs.s3a.S3AFileSystem"
_DAY_S = 24 * 60 * 60


def storage_checks(spark: SparkSession, location: str) -> Iterator[Check]:
    """Check the class of a location's file system, and the settings of `s3a`. This reads no file.

    Args:
        spark: the session.
        location: absolute path, or URI.
    """
    parts = take_apart(location)
    if parts.is_local:
        return
    scheme = parts.scheme.lower()
    jvm: Any = spark._jvm
    conf = spark._jsparkSession.sessionState().newHadoopConf()
    try:
        class_name: str = jvm.org.apache.hadoop.fs.FileSystem.getFileSystemClass(scheme, conf).getName()
    except (Py4JJavaError, CapturedException) as error:
        yield _missing_class(scheme, jvm.org.apache.hadoop.util.VersionInfo.getVersion(), error)
        return
    yield Check("file system", True, f"{scheme}: {class_name}")
    if class_name == _S3A:
        bucket = parts.authority.lstrip("/").rpartition("@")[2]
        of_bucket = jvm.org.apache.hadoop.fs.s3a.S3AUtils.propagateBucketOptions(conf, bucket)
        yield from _s3a(of_bucket, jvm.java.util.concurrent.TimeUnit.SECONDS)


def _missing_class(scheme: str, version: str, error: Py4JJavaError | CapturedException) -> Check:
    java = java_error(error)
    reason = str(java.getMessage()).split("\n", 1)[0]
    jar = "put its jar into spark.jars, and its settings into spark.hadoop.fs.…"
    if scheme == "s3a":
        jar = f"add org.apache.hadoop:hadoop-aws:{version} to spark.jars.packages before the session starts"
    elif scheme in ("s3", "s3n"):
        jar = f"name the warehouse s3a://…, or set spark.hadoop.fs.{scheme}.impl = {_S3A}; it is in hadoop-aws:{version}"
    return Check("file system", False, f"{scheme}: {reason}", jar)


def _s3a(conf: Any, seconds: Any) -> Iterator[Check]:
    """Check the settings of `s3a` for a bucket; `seconds` is Java's unit."""
    yield Check("committer", True, "none is needed: files are written under their final names")
    flags = str(conf.get("fs.s3a.performance.flags", "")).lower().replace(" ", "").split(",")
    if conf.getBoolean("fs.s3a.create.performance", False) or {"*", "create"} & set(flags):
        yield Check("fs.s3a.create.performance", True, "true")
    else:
        yield Check(
            "fs.s3a.create.performance",
            None,
            "false: each file that is written costs a HEAD and a LIST more",
            "set it to true if no other write of the session relies on this check of names",
        )
    if conf.getBoolean("fs.s3a.multipart.purge", False):
        age = conf.getTimeDuration("fs.s3a.multipart.purge.age", _DAY_S, seconds)
        yield Check(
            "fs.s3a.multipart.purge",
            None if age >= _DAY_S else False,
            f"true: a session that starts ends everybody's uploads in the bucket that are older than {age} s",
            "set it to false: vacuum ends the uploads that tables have abandoned",
        )
