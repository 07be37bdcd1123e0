"""Small files that several processes share: read one whole, create one exclusively, replace one.

| file system | what an exclusive creation rests on |
|---|---|
| local | a hard link, or an exclusive `open` where there are no links: exactly one of two writers creates it |
| HDFS | the namenode, which lets one of two writers create it |
| S3 in a Spark session | a conditional write where Hadoop's connector has one (3.4.2); else as below |
| S3 by Arrow, and others | the file is looked for, written, and read back. Of two writers at the same moment, both may believe for a moment that they have created it. The file has the later one's text |
"""

from __future__ import annotations

import contextlib
import os
import time
import uuid
from collections.abc import Iterator

import pyarrow.fs as pafs

from parquetry.locations.filesystem import open_location
from parquetry.locations.remote_access import remote_files

_READS_OF_AN_EMPTY_FILE = 20
"""Reads of a file without text. Its writer may have created it, and not written it yet."""
_PAUSE_SECONDS = 0.05


def read_small_file(location: str) -> bytes | None:
    """Return the bytes of a file, or None if it does not exist.

    Raises:
        OSError: it cannot be read.
        WarehouseError: its file system is unknown, or cannot be reached.
    """
    filesystem, path = open_location(location)
    text = b""
    for _ in range(_READS_OF_AN_EMPTY_FILE):
        try:
            if isinstance(filesystem, pafs.LocalFileSystem):
                with open(path, "rb") as local:
                    text = local.read()
            else:
                with filesystem.open_input_stream(path) as file:
                    text = file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError:
            if _is_missing(filesystem, path):
                return None
            raise
        if text:
            break
        time.sleep(_PAUSE_SECONDS)
    return text


def create_small_file(location: str, text: bytes) -> bytes:
    """Create a file unless it exists, and return the bytes that it has then: these, or another writer's.

    Raises:
        OSError: it cannot be written.
        WarehouseError: its file system is unknown, or cannot be reached.
    """
    filesystem, path = open_location(location)
    try:
        if isinstance(filesystem, pafs.LocalFileSystem):
            _create_local(path, text)
        elif (remote := remote_files(filesystem)) is not None:
            remote.create_file(path, text)
        elif (there := read_small_file(location)) is not None:
            return there
        else:
            _write(filesystem, path, text)
    except OSError:
        there = read_small_file(location)
        if there is not None:
            return there
        if remote_files(filesystem) is None:
            raise
        replace_small_file(location, text)  # a store may not know conditional writes
    there = read_small_file(location)
    if there is None:
        raise FileNotFoundError("it is gone after it was written")
    return there


def replace_small_file(location: str, text: bytes) -> None:
    """Write a file, over one that may exist.

    Raises:
        OSError: it cannot be written.
        WarehouseError: its file system is unknown, or cannot be reached.
    """
    filesystem, path = open_location(location)
    if isinstance(filesystem, pafs.LocalFileSystem):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with _temporary(path, text) as temporary:
            os.replace(temporary, path)
    elif (remote := remote_files(filesystem)) is not None:
        remote.write_file(path, text)
    else:
        _write(filesystem, path, text)


def _is_missing(filesystem: pafs.FileSystem, path: str) -> bool:
    """Return whether there is no file. A file system may refuse to say so."""
    try:
        return bool(filesystem.get_file_info(path).type == pafs.FileType.NotFound)
    except OSError:
        return False


def _create_local(path: str, text: bytes) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with _temporary(path, text) as temporary:
        try:
            os.link(temporary, path)  # whole from the first moment on
            return
        except FileExistsError:
            return
        except OSError:  # no hard links here
            pass
        with open(path, "xb") as file:
            file.write(text)


@contextlib.contextmanager
def _temporary(path: str, text: bytes) -> Iterator[str]:
    """Write a file beside a path, and delete it at the end of the block, unless it was moved."""
    temporary = f"{path}.{uuid.uuid4().hex}"
    try:
        with open(temporary, "xb") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(
            temporary, os.stat(os.path.dirname(path)).st_mode & 0o666
        )  # who may read the folder may read it
        yield temporary
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _write(filesystem: pafs.FileSystem, path: str, text: bytes) -> None:
    with filesystem.open_output_stream(path) as file:
        file.write(text)
