"""Small files that several processes share: read one whole, create one exclusively, replace one.

A file is whole or not there, also after a kill or on a full disk: it is written under another name, and then
moved. Object stores show a file when its upload ends.

| file system | what an exclusive creation rests on |
|---|---|
| local | a hard link: exactly one of two writers creates it. Where there are no links, a marker beside it (`_creator`) |
| HDFS | the namenode, which lets one of two writers rename its file |
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
_MAX_CREATION_SECONDS = 5.0
"""Seconds after which an unchanged marker counts as left by a writer that has ended. What it stands for, to
move a file that is written already, takes milliseconds."""
_WHOLE_AT_CLOSE = ("s3", "gcs", "abfs")
"""Arrow's file systems that show a file when its upload ends."""


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
        with _creator(path) as creates:
            if creates:
                os.replace(temporary, path)


@contextlib.contextmanager
def _creator(path: str) -> Iterator[bool]:
    """Yield whether this process alone may create a file now, on a file system without hard links.

    A marker beside the file stands for its creator. Others wait until the marker or the file changes. A
    marker that a killed writer left is taken away after `_MAX_CREATION_SECONDS`, by renaming it: one of
    several processes succeeds.

    Yields:
        True for the creator, or False if the file exists by now.

    Raises:
        OSError: the marker cannot be made.
    """
    marker = f"{path}.creating"
    seen: tuple[int, int] | None = None
    deadline = 0.0
    while not os.path.exists(path):
        try:
            os.close(os.open(marker, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            if (now := _mark_of(marker)) != seen:
                seen, deadline = now, time.monotonic() + _MAX_CREATION_SECONDS
            elif time.monotonic() > deadline:
                with contextlib.suppress(FileNotFoundError):
                    os.rename(marker, aside := f"{marker}.{uuid.uuid4().hex}")
                    os.unlink(aside)
            time.sleep(_PAUSE_SECONDS)
            continue
        try:
            yield not os.path.exists(path)
        finally:
            with contextlib.suppress(FileNotFoundError):
                os.unlink(marker)
        return
    yield False


def _mark_of(path: str) -> tuple[int, int] | None:
    """Return what distinguishes a file from an earlier one of its name, or None if there is no file."""
    try:
        status = os.stat(path)
    except FileNotFoundError:
        return None
    return status.st_ino, status.st_mtime_ns


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
    if filesystem.type_name in _WHOLE_AT_CLOSE:
        with filesystem.open_output_stream(path) as file:
            file.write(text)
        return
    temporary = f"{path}.{uuid.uuid4().hex}"
    try:
        with filesystem.open_output_stream(temporary) as file:
            file.write(text)
        try:
            filesystem.move(temporary, path)
        except OSError:  # not every file system moves a file over another
            filesystem.delete_file(path)
            filesystem.move(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            filesystem.delete_file(temporary)
        raise


def take_away(location: str, text: bytes) -> bool:
    """Delete a file if it has a text; return False if it has another one by now, or is not there.

    On a local disk the file is moved aside first, and looked at there: another process may have replaced it
    a moment ago.

    Raises:
        OSError: it cannot be deleted.
        WarehouseError: its file system is unknown, or cannot be reached.
    """
    filesystem, path = open_location(location)
    if not isinstance(filesystem, pafs.LocalFileSystem):
        if read_small_file(location) != text:
            return False
        filesystem.delete_file(path)
        return True
    aside = f"{path}.{uuid.uuid4().hex}"
    try:
        os.rename(path, aside)
    except FileNotFoundError:
        return False
    try:
        with open(aside, "rb") as file:
            present = file.read()
        if present != text:
            create_small_file(location, present)
        return present == text
    finally:
        os.unlink(aside)
