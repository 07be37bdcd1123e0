"""What the file systems of an engine offer beside Arrow's interface: many files with one call.

Arrow's interface deletes one file, and reads one footer. A store that is asked over a network wants fewer and larger requests.
Whoever has a file system from `open_location` asks `remote_files` whether it offers them, and goes file by file otherwise.
"""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import pyarrow.fs as pafs


class FileTail(NamedTuple):
    """The last bytes of a file.

    Attributes:
        path: of the file.
        size: its bytes.
        modified: when it was changed, in milliseconds since the epoch.
        tail: its last bytes; all of them if it is short.
    """

    path: str
    size: int
    modified: int
    tail: bytes


class RemoteFiles(pafs.FileSystemHandler):  # type: ignore[misc]
    """A file system that takes many paths at once; Arrow uses it as the handler of a `PyFileSystem`."""

    @abc.abstractmethod
    def walk(self, folder: str) -> Iterator[pafs.FileInfo]:
        """Yield what is below a folder, at any depth, page by page; an object store has files only.

        Raises:
            FileNotFoundError: the folder is not there.
            OSError: it cannot be listed.
        """

    @abc.abstractmethod
    def delete_files(self, paths: Sequence[str]) -> dict[str, str]:
        """Delete files, and return those that could not be deleted, with the reasons; a missing file counts as deleted.

        Raises:
            OSError: the file system does not answer.
        """

    @abc.abstractmethod
    def delete_empty_directory(self, path: str) -> bool:
        """Delete a directory if nothing is in it, in one step that no writer can come between; return whether it is gone.

        Raises:
            OSError: it cannot be deleted.
        """

    @abc.abstractmethod
    def tails(self, paths: Sequence[str], size: int) -> list[FileTail | OSError]:
        """Return the last bytes of files, or the error that a file gave.

        Raises:
            OSError: the file system does not answer.
        """

    @property
    @abc.abstractmethod
    def has_directories(self) -> bool:
        """Whether there are directories without files; an object store has none."""


def remote_files(filesystem: pafs.FileSystem) -> RemoteFiles | None:
    """Return what a file system offers for many files; None if it goes file by file."""
    handler = filesystem.handler if isinstance(filesystem, pafs.PyFileSystem) else None
    return handler if isinstance(handler, RemoteFiles) else None
