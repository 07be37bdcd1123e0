"""A location's text as a PyArrow file system, and a path on it.

`uri` says how the text is read. `adoption.discover` and `data_files.footers` say what is stored
there.

This module opens the local disk. It opens every other location by the file systems in use. In a Spark session
these are Hadoop's, outside of one Arrow's.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Protocol

import pyarrow.fs as pafs

from parquetry.errors import WarehouseError
from parquetry.locations.arrow_file_systems import ArrowFileSystems
from parquetry.locations.file_names import is_hidden
from parquetry.locations.remote_access import remote_files
from parquetry.locations.uri import take_apart


class FileSystems(Protocol):
    """Opens locations that are not on a local disk."""

    def open(self, location: str, /) -> tuple[pafs.FileSystem, str]:
        """Return the file system of a location and the location's path on it.

        Raises:
            WarehouseError: the scheme is unknown, or its file system cannot be reached.
        """
        ...

    def for_threads(self) -> FileSystems:
        """Return the same file systems for other threads, which do not know the asking thread's session."""
        ...


_LOCAL_DISK = pafs.LocalFileSystem()
_FILE_SYSTEMS: ContextVar[FileSystems] = ContextVar("file_systems", default=ArrowFileSystems())  # noqa: B039


def current_file_systems() -> FileSystems:
    """Return the file systems in use, for threads that are to use the same."""
    return _FILE_SYSTEMS.get().for_threads()


def set_file_systems(file_systems: FileSystems) -> None:
    """Use file systems in this thread from now on, as the initializer of a pool's threads."""
    _FILE_SYSTEMS.set(file_systems)


@contextlib.contextmanager
def use_file_systems(file_systems: FileSystems) -> Iterator[None]:
    """Open locations by these file systems within a block."""
    token = _FILE_SYSTEMS.set(file_systems)
    try:
        yield
    finally:
        _FILE_SYSTEMS.reset(token)


def open_location(location: str) -> tuple[pafs.FileSystem, str]:
    """Return the file system of a location and the location's path on it.

    Args:
        location: an absolute path, or a URI.

    Raises:
        WarehouseError: the scheme is unknown, or its file system cannot be reached.

    >>> open_location("file:/lake/t/x=1%2F2")[1]
    '/lake/t/x=1%2F2'
    """
    parts = take_apart(location)
    if parts.is_local:
        return _LOCAL_DISK, parts.path
    return _FILE_SYSTEMS.get().open(location)


def require_writable(location: str, table: str) -> None:
    """Make the folder of a table's files if it is missing, and check that files can be made in it.

    Otherwise a job fails after an hour, with a less clear error. Only the local file system is checked.

    Raises:
        WarehouseError: the folder cannot be made or written.
    """
    filesystem, path = open_location(location)
    if not isinstance(filesystem, pafs.LocalFileSystem):
        return
    reason = "permission denied"
    try:
        os.makedirs(path, exist_ok=True)
        if os.access(path, os.W_OK | os.X_OK):
            return
    except OSError as error:
        reason = error.strerror or str(error)
    raise WarehouseError(
        f"The folder {location} of table {table} cannot be written: {reason}. Give the user that runs Spark the "
        "right to write there, or clear what is in the way."
    )


def visible_files(filesystem: pafs.FileSystem, folder: str) -> Iterator[str]:
    """Yield the paths of files below a folder that are neither hidden nor empty, its own files first.

    Args:
        filesystem: where the folder is.
        folder: its path; yields nothing if it is not there.
    """
    if (remote := remote_files(filesystem)) is not None:
        yield from _visible_below(remote.walk(folder), folder)
        return
    infos = sorted(
        filesystem.get_file_info(pafs.FileSelector(folder, allow_not_found=True)),
        key=lambda info: str(info.path),
    )
    visible = [info for info in infos if not is_hidden(info.base_name)]
    yield from (info.path for info in visible if info.type == pafs.FileType.File and info.size)
    for info in visible:
        if info.type == pafs.FileType.Directory:
            yield from visible_files(filesystem, info.path)


def _visible_below(entries: Iterator[pafs.FileInfo], folder: str) -> Iterator[str]:
    """Yield the paths of visible files among all entries below a folder, which need not exist."""
    try:
        for info in entries:
            below = info.path[len(folder) :].strip("/").split("/")
            if info.type == pafs.FileType.File and info.size and not any(map(is_hidden, below)):
                yield info.path
    except FileNotFoundError:
        return
