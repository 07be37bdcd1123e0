"""Access to files by their locations, on any file system: look them up, list them, delete them.

`RealPaths` resolves links. `owned_files` decides which files may be deleted.
"""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import posixpath
import uuid
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import pyarrow.fs as pafs

from parquetry.errors import FileMissingError, WarehouseError
from parquetry.locations import (
    StoragePath,
    base_name,
    file_names,
    open_location,
    parent_folder,
    remote_files,
    spelled_root,
    storage_path,
)
from parquetry.store import in_batches

_FILES_PER_BATCH = 1000
_MIN_LISTED_FILES = 100
"""Files that are looked up by one listing instead of one by one, in an object store."""
_ENTRIES_PER_FILE = 100
"""Entries that a listing may have for each file that is looked up.

A listing of 1,000 entries is one request, and costs as much as looking up ten files."""
_MAX_CACHED_FOLDERS = 1 << 16
_MAX_CACHED_DEPTH = 100


class Info(NamedTuple):
    """An existing file: its bytes, and its time of change in milliseconds since the epoch."""

    bytes: int
    modified: int | None


def require_files(label: str, locations: Iterable[str], folder: str | None = None) -> None:
    """Make sure that files to be added to a table exist.

    Args:
        label: the table's name, for the message.
        locations: the files' locations.
        folder: the location that most of them are below, which may be listed instead; or None.

    Raises:
        FileMissingError: a file does not exist.
        WarehouseError: a file system does not answer.
    """
    if missing := FileAccess().missing(locations, folder):
        raise FileMissingError(
            f"{len(missing)} of the files that table {label} was to take in were deleted meanwhile, among "
            f"them {missing[0]}; nothing was written: run it again."
        )


class RealPaths:
    """Resolves links and `..` in paths; each folder is looked up once."""

    def __init__(self) -> None:
        self._local = functools.lru_cache(_MAX_CACHED_FOLDERS)(self._resolve)

    def folder(self, place: StoragePath) -> StoragePath:
        """Return the real path of a directory."""
        if place.root:
            return StoragePath(place.root, posixpath.normpath(place.path))
        return StoragePath("", self._local(place.path))

    def file(self, place: StoragePath) -> StoragePath:
        """Return the real path of a file. A link itself is not resolved, since it is what can be deleted."""
        folder = self.folder(parent_folder(place))
        return StoragePath(place.root, f"{folder.path.rstrip('/')}/{base_name(place.path)}")

    def _resolve(self, path: str) -> str:
        above, _, name = path.rpartition("/")
        if not name or name in (".", "..") or path.count("/") > _MAX_CACHED_DEPTH:
            return os.path.realpath(path)
        here = f"{self._local(above or '/').rstrip('/')}/{name}"
        return os.path.realpath(here) if os.path.islink(here) else here


class FileAccess:
    """The file systems of a table's locations, each opened once."""

    def __init__(self) -> None:
        self._systems: dict[str, pafs.FileSystem] = {"": pafs.LocalFileSystem()}
        self._prefixes: dict[str, str] = {}

    def storage_path(self, location: str) -> StoragePath:
        """Return the path of a location; see `storage_path`."""
        return storage_path(location)

    def name(self, place: StoragePath) -> str:
        """Return a path as users write it."""
        return f"{spelled_root(place)}{place.path}"

    def _system(self, place: StoragePath) -> pafs.FileSystem:
        """Return the file system of a path.

        Raises:
            WarehouseError: it is unknown, or cannot be reached.
        """
        root = spelled_root(place)
        if root not in self._systems:
            self._systems[root], path = open_location(f"{root}/x")
            self._prefixes[root] = path.removesuffix("x")
        return self._systems[root]

    def _path(self, place: StoragePath) -> str:
        """Return a path on its file system, which must have been opened."""
        return f"{self._prefixes[spelled_root(place)]}{place.path.lstrip('/')}" if place.root else place.path

    def _storage_path(self, folder: StoragePath, path: str) -> StoragePath:
        """Return the `StoragePath` of a path on the file system of a folder."""
        return StoragePath(
            folder.root, f"/{path.removeprefix(self._prefixes[spelled_root(folder)]).lstrip('/')}"
        )

    def opened(self, place: StoragePath) -> tuple[pafs.FileSystem, str]:
        """Return the file system of a path, and the path there.

        Raises:
            WarehouseError: it is unknown, or cannot be reached.
        """
        return self._system(place), self._path(place)

    def infos(self, places: Iterable[StoragePath]) -> Iterator[tuple[StoragePath, Info | None]]:
        """Yield each path with its file's size and time of change, or with None if it has no file.

        Raises:
            WarehouseError: a file system does not answer.
        """
        for batch in in_batches(places, _FILES_PER_BATCH):
            by_root: dict[str, list[StoragePath]] = {}
            for place in batch:
                by_root.setdefault(spelled_root(place), []).append(place)
            for some in by_root.values():
                yield from self._infos_in_one_system(some)

    def _infos_in_one_system(self, places: list[StoragePath]) -> Iterator[tuple[StoragePath, Info | None]]:
        try:
            found = self._system(places[0]).get_file_info([self._path(place) for place in places])
        except OSError as error:
            if not _is_too_long(error):
                raise WarehouseError(f"{self.name(places[0])} cannot be looked at: {error}.") from None
            if len(places) == 1:
                yield places[0], None  # the file system has no such file, as it could have none
                return
            for place in places:
                yield from self._infos_in_one_system([place])
            return
        yield from ((p, _info(info) if info.is_file else None) for p, info in zip(places, found, strict=True))

    def missing(self, locations: Iterable[str], folder: str | None = None) -> list[str]:
        """Return the locations without a file, as users write them.

        Args:
            locations: of files.
            folder: the location that most of them are below, which may be listed instead; or None.

        Raises:
            WarehouseError: a file system does not answer.
        """
        places = list(map(self.storage_path, locations))
        if folder is not None and len(places) >= _MIN_LISTED_FILES:
            places = self._not_listed(places, self.storage_path(folder))
        return [self.name(place) for place, info in self.infos(places) if info is None]

    def _not_listed(self, places: list[StoragePath], folder: StoragePath) -> list[StoragePath]:
        """Return the files that a listing of a folder in an object store did not show, as far as it went."""
        remote = remote_files(self._system(folder)) if folder.root else None
        if remote is None or remote.has_directories:
            return places
        remaining = dict.fromkeys(places)
        for place, _ in islice(self.below(folder), len(places) * _ENTRIES_PER_FILE):
            remaining.pop(place, None)
            if not remaining:
                break
        return list(remaining)

    def below(self, folder: StoragePath) -> Iterator[tuple[StoragePath, Info]]:
        """Yield the files below a directory, at any depth; none if the directory does not exist.

        Raises:
            WarehouseError: it cannot be listed.
        """
        try:
            yield from self._local_below(folder) if not folder.root else self._remote_below(folder)
        except OSError as error:
            raise WarehouseError(f"{self.name(folder)} cannot be listed: {error}.") from None

    def _local_below(self, folder: StoragePath) -> Iterator[tuple[StoragePath, Info]]:
        for _, entries in _folders(folder.path):
            for entry in entries:
                if not entry.is_dir():
                    with contextlib.suppress(FileNotFoundError):
                        status = os.lstat(entry.path) if _is_broken(entry) else entry.stat()
                        yield (
                            StoragePath("", entry.path),
                            Info(status.st_size, status.st_mtime_ns // 1_000_000),
                        )

    def _remote_below(self, folder: StoragePath) -> Iterator[tuple[StoragePath, Info]]:
        for info in self._entries(folder):
            if info.is_file:
                yield self._storage_path(folder, info.path), _info(info)

    def _entries(self, folder: StoragePath) -> Iterator[pafs.FileInfo]:
        """Yield all entries below a directory of another file system, which need not exist."""
        system, path = self.opened(folder)
        if (remote := remote_files(system)) is None:
            yield from system.get_file_info(pafs.FileSelector(path, recursive=True, allow_not_found=True))
            return
        with contextlib.suppress(FileNotFoundError):
            yield from remote.walk(path)

    def time(self, folder: StoragePath) -> int | None:
        """Return a file system's time in milliseconds since the epoch.

        The method writes a small file, looks at its time, and deletes it even if that fails.

        Return None if the folder does not exist, or cannot be written to.
        """
        system, path = self.opened(folder)
        probe = f"{path.rstrip('/')}/.parquetry-clock-{uuid.uuid4().hex}"
        try:
            if (remote := remote_files(system)) is not None:
                remote.write_file(probe, b"?")
            else:
                with system.open_output_stream(probe) as file:
                    file.write(b"?")
            (info,) = system.get_file_info([probe])
        except OSError:
            return None
        finally:
            with contextlib.suppress(OSError):  # it may not have been written
                system.delete_file(probe)
        return None if info.mtime_ns is None else info.mtime_ns // 1_000_000

    def delete(self, place: StoragePath) -> None:
        """Delete a file, if it exists.

        Raises:
            WarehouseError: it cannot be deleted.
        """
        try:
            self._system(place).delete_file(self._path(place))
        except FileNotFoundError:
            return
        except OSError as error:
            raise WarehouseError(self._failure(place, error)) from None

    def delete_all(self, places: Iterable[StoragePath]) -> list[str]:
        """Delete the files that exist, and return a message for each failure."""
        failures: list[str] = []
        for batch in in_batches(places, _FILES_PER_BATCH):
            by_root: dict[str, list[StoragePath]] = {}
            for place in batch:
                by_root.setdefault(spelled_root(place), []).append(place)
            for some in by_root.values():
                failures += self._delete_in_one_system(some)
        return failures

    def _delete_in_one_system(self, places: list[StoragePath]) -> Iterator[str]:
        """Delete files of one file system, and yield a message for each failure."""
        remote = remote_files(self._system(places[0]))
        if remote is None:
            for place in places:
                try:
                    self.delete(place)
                except WarehouseError as error:
                    yield error.message
            return
        by_path = {self._path(place): place for place in places}
        try:
            failed = remote.delete_files(list(by_path))
        except OSError as error:
            failed = dict.fromkeys(by_path, str(error))
        yield from (self._failure(by_path[path], reason) for path, reason in failed.items())

    def _failure(self, place: StoragePath, reason: object) -> str:
        return f"{self.name(place)} cannot be deleted: {reason}; give this user the right to, run it again."

    def delete_if_empty(self, folder: StoragePath) -> bool:
        """Delete an empty directory, where the file system refuses to delete one that another writer has just
        used.
        """
        if folder.root:
            system, path = self.opened(folder)
            remote = remote_files(system)
            with contextlib.suppress(OSError):
                return remote is not None and remote.delete_empty_directory(path)
            return False
        with contextlib.suppress(OSError):
            os.rmdir(folder.path)  # refuses links, too
            return True
        return False

    def delete_empty_below(self, folder: StoragePath, kept: Callable[[StoragePath], bool]) -> None:
        """Delete a directory and all directories below it that have no file at any depth.

        Args:
            folder: the folder of a table that no longer exists, so that no writer is about to write there.
            kept: returns whether a directory must stay.
        """
        if not folder.root:
            with contextlib.suppress(OSError):
                for path in reversed([path for path, _ in _folders(folder.path)]):
                    if not kept(StoragePath("", path)):
                        self.delete_if_empty(StoragePath("", path))
            return
        system, root = self.opened(folder)
        remote = remote_files(system)
        if remote is not None and not remote.has_directories:
            return
        with contextlib.suppress(OSError):
            found = list(self._entries(folder))
            used = {parent for info in found if info.is_file for parent in _parents(info.path)}
            paths = [info.path for info in found if not info.is_file]
            for path in [*sorted(paths, reverse=True), root]:
                if path not in used and kept(self._storage_path(folder, path)):
                    used.update(_parents(path))
                elif path not in used and remote is not None:
                    remote.delete_empty_directory(path)
                elif path not in used:
                    system.delete_dir(path)


def _is_too_long(error: OSError) -> bool:
    """Return whether a file system refuses a path for its length. Arrow's errors lack the number at times."""
    return error.errno == errno.ENAMETOOLONG or os.strerror(errno.ENAMETOOLONG) in str(error)


def checksummed_file(place: StoragePath) -> StoragePath | None:
    """Return the file of a checksum file of Hadoop's local file system, or None if it is no such file.

    >>> checksummed_file(StoragePath("", "/t/.a.parquet.crc"))
    StoragePath(root='', path='/t/a.parquet')
    """
    path = file_names.checksummed_path(place.path)
    return None if path is None else StoragePath(place.root, path)


def checksum_file(place: StoragePath) -> StoragePath:
    """Return the file with a file's checksum, as Hadoop's local file system names it."""
    return StoragePath(place.root, file_names.checksum_path(place.path))


def _folders(path: str) -> Iterator[tuple[str, list[os.DirEntry[str]]]]:
    """Yield a local directory and all directories below it with their entries, parents first.

    Arrow's own listing would follow links, and could leave the directory.
    """
    waiting = [path]
    while waiting:
        path = waiting.pop()
        try:
            with os.scandir(path) as found:
                entries = list(found)
        except (FileNotFoundError, NotADirectoryError):
            continue
        yield path, entries
        waiting += (entry.path for entry in entries if entry.is_dir(follow_symlinks=False))


def _parents(path: str) -> Iterator[str]:
    while "/" in path:
        path = path.rpartition("/")[0]
        yield path


def _is_broken(entry: os.DirEntry[str]) -> bool:
    return entry.is_symlink() and not os.path.exists(entry.path)


def _info(info: pafs.FileInfo) -> Info:
    return Info(info.size, None if info.mtime_ns is None else info.mtime_ns // 1_000_000)
