"""Files by their absolute locations, on any file system: whether they are there, and deleting them.

Two texts may name one file (`/a/b`, `file:/a/b`, `file:///a//b`); a `Place` is the same for both.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

import pyarrow.fs as pafs

from parquetry.errors import FileMissingError, WarehouseError
from parquetry.layout.location import open_location

_URI = re.compile("([A-Za-z][A-Za-z0-9+.-]*):(//[^/?#]*)?(.*)", re.DOTALL)
_S3 = ("s3a", "s3n")
_BATCH = 1000


class Place(NamedTuple):
    """A file or directory: its file system's scheme and authority (empty: local), and its path there."""

    root: str
    path: str


class Info(NamedTuple):
    """A file that is there: its bytes, and when it was modified (milliseconds since the epoch)."""

    bytes: int
    modified: int | None


def require_files(label: str, locations: Iterable[str]) -> None:
    """Make sure that files which are to be taken into a table are there.

    Args:
        label: of the table.
        locations: of the files.

    Raises:
        FileMissingError: one is gone.
        WarehouseError: a file system does not answer.
    """
    if missing := Files().missing(locations):
        raise FileMissingError(
            f"{len(missing)} of the files that table {label} was to take in were deleted meanwhile, among "
            f"them {missing[0]}; nothing was written: run it again"
        )


class Files:
    """The file systems of a table's locations, each opened once."""

    def __init__(self) -> None:
        self._systems: dict[str, pafs.FileSystem] = {}
        self._prefixes: dict[str, str] = {}

    def place(self, location: str) -> Place:
        """Return where a location is.

        Raises:
            WarehouseError: its file system is unknown, or cannot be reached.

        >>> Files().place("file:///lake//t/p=1%2F2/") == Files().place("/lake/t/p=1%2F2")
        True
        """
        uri = _URI.fullmatch(location)
        scheme = "" if uri is None else uri[1].lower()
        if uri is None or scheme == "file":
            path = location if uri is None else uri[3]
            return Place("", (re.sub("/{2,}", "/", path) if "//" in path else path).rstrip("/") or "/")
        root = f"{'s3' if scheme in _S3 else scheme}:{uri[2] or ''}"
        if root not in self._prefixes:
            self._systems[root], path = open_location(f"{root}/x")
            self._prefixes[root] = path.removesuffix("x")
        return Place(root, f"{self._prefixes[root]}{re.sub('/{2,}', '/', uri[3]).strip('/')}")

    def name(self, place: Place) -> str:
        """Return a place as users write it."""
        if not place.root:
            return place.path
        return f"{place.root}/{place.path.removeprefix(self._prefixes[place.root])}"

    def _system(self, root: str) -> pafs.FileSystem:
        if root not in self._systems:
            self._systems[root] = pafs.LocalFileSystem()
        return self._systems[root]

    def infos(self, places: Iterable[Place]) -> Iterator[tuple[Place, Info | None]]:
        """Yield each place with what is known of the file there; None: there is no file.

        Raises:
            WarehouseError: a file system does not answer.
        """
        remaining = iter(places)
        while batch := list(islice(remaining, _BATCH)):
            by_root: dict[str, list[Place]] = {}
            for place in batch:
                by_root.setdefault(place.root, []).append(place)
            for root, some in by_root.items():
                try:
                    found = self._system(root).get_file_info([place.path for place in some])
                except OSError as error:
                    raise WarehouseError(f"{self.name(some[0])} cannot be looked at: {error}") from None
                yield from (
                    (p, _info(info) if info.is_file else None) for p, info in zip(some, found, strict=True)
                )

    def missing(self, locations: Iterable[str]) -> list[str]:
        """Return those locations of files at which there is none, as users write them.

        Raises:
            WarehouseError: a file system does not answer.
        """
        return [self.name(place) for place, info in self.infos(map(self.place, locations)) if info is None]

    def below(self, folder: Place) -> Iterator[tuple[Place, Info]]:
        """Yield the files below a directory, at any depth; none if it is not there.

        Raises:
            WarehouseError: it cannot be listed.
        """
        selector = pafs.FileSelector(folder.path, recursive=True, allow_not_found=True)
        try:
            found = self._system(folder.root).get_file_info(selector)
        except OSError as error:
            raise WarehouseError(f"{self.name(folder)} cannot be listed: {error}") from None
        for info in found:
            if info.is_file:
                yield Place(folder.root, info.path), _info(info)

    def delete(self, place: Place) -> None:
        """Delete a file, if it is there.

        Raises:
            WarehouseError: it cannot be deleted.
        """
        try:
            self._system(place.root).delete_file(place.path)
        except FileNotFoundError:
            return
        except OSError as error:
            raise WarehouseError(
                f"{self.name(place)} cannot be deleted: {error}; give this user the right to, run it again"
            ) from None

    def delete_if_empty(self, folder: Place) -> bool:
        """Delete an empty directory of a local disk; elsewhere nothing keeps it empty meanwhile."""
        if folder.root:
            return False
        with contextlib.suppress(OSError):
            os.rmdir(folder.path)
            return True
        return False


def folder_of(place: Place) -> Place:
    """Return the directory that holds a file or directory."""
    return Place(place.root, place.path.rpartition("/")[0])


def is_below(place: Place, folder: Place) -> bool:
    """Return whether a place is inside a directory, at any depth."""
    return place.root == folder.root and place.path.startswith(f"{folder.path}/")


def _info(info: pafs.FileInfo) -> Info:
    return Info(info.size, None if info.mtime_ns is None else info.mtime_ns // 1_000_000)
