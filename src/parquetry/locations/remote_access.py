"""File systems of an engine that handle many files with one call.

Arrow's interface deletes one file, and reads one footer. A store behind a network wants fewer and larger
requests. A caller of `open_location` asks `remote_files` whether its file system takes these, and goes file
by file if it does not.
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


class UnfinishedUpload(NamedTuple):
    """A multipart upload that was begun, and neither completed nor ended: a file in the making, or abandoned.

    Attributes:
        path: of the file that it would become.
        id: of the upload. Several uploads may have one path.
        began: when it began, in milliseconds since the epoch.
    """

    path: str
    id: str
    began: int


class RemoteFiles(pafs.FileSystemHandler):  # type: ignore[misc]
    """A file system that takes many paths at once; Arrow uses it as the handler of a `PyFileSystem`."""

    @abc.abstractmethod
    def walk(self, folder: str) -> Iterator[pafs.FileInfo]:
        """Yield the entries below a folder, at any depth. An object store has files only.

        Raises:
            FileNotFoundError: the folder is not there.
            OSError: it cannot be listed.
        """

    @abc.abstractmethod
    def delete_files(self, paths: Sequence[str]) -> dict[str, str]:
        """Delete files, and return the paths of the failures with their reasons.

        A missing file counts as deleted.

        Raises:
            OSError: the file system does not answer.
        """

    @abc.abstractmethod
    def write_file(self, path: str, data: bytes) -> None:
        """Write a small file under a new name, with no other request to an object store.

        Raises:
            OSError: it cannot be written.
        """

    @abc.abstractmethod
    def create_file(self, path: str, data: bytes) -> None:
        """Write a small file that must not exist; `small_files` says how exclusive that is.

        Raises:
            OSError: it exists, or cannot be written.
        """

    @abc.abstractmethod
    def delete_empty_directory(self, path: str) -> bool:
        """Delete a directory if it is empty, in one atomic step, and return whether it is deleted.

        Raises:
            OSError: it cannot be deleted.
        """

    @abc.abstractmethod
    def tails(self, paths: Sequence[str], size: int) -> list[FileTail | OSError]:
        """Return the last bytes of each file, or its error.

        Raises:
            OSError: the file system does not answer.
        """

    @abc.abstractmethod
    def uploads(self, folder: str) -> list[UnfinishedUpload]:
        """Return the unfinished uploads below a folder; none if the file system cannot list any.

        Raises:
            OSError: they cannot be listed.
        """

    @abc.abstractmethod
    def end_uploads(self, uploads: Sequence[UnfinishedUpload]) -> dict[str, str]:
        """End uploads, and return the paths of the failures with their reasons.

        Raises:
            OSError: the file system does not answer.
        """

    @property
    @abc.abstractmethod
    def has_directories(self) -> bool:
        """Whether there are directories without files; an object store has none."""


def remote_files(filesystem: pafs.FileSystem) -> RemoteFiles | None:
    """Return a file system's interface for many files, or None if it goes file by file."""
    handler = filesystem.handler if isinstance(filesystem, pafs.PyFileSystem) else None
    return handler if isinstance(handler, RemoteFiles) else None
