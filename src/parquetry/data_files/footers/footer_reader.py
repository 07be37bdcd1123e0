"""Readers of footers: this library reads Parquet, and an engine such as Spark reads ORC, too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow.fs as pafs

from parquetry.data_files.footers.parquet_statistics import (
    TAIL_BYTES,
    FooterVisitor,
    footer_errors,
    footer_record,
    parse_tail,
    read_footers,
)
from parquetry.data_files.records import FileRecord
from parquetry.errors import FileCorruptError, UnsupportedError
from parquetry.locations import FileTail, RemoteFiles, open_location, remote_files

_MAX_READER_THREADS = 8
_FILES_PER_BATCH = 1024


class FooterReader(Protocol):
    """Reads footers, and knows the time zone of directories' names."""

    @property
    def time_zone(self) -> str:
        """Return the zone of the timestamps in directories' names, such as ``Europe/Berlin``."""
        ...

    def data_files(
        self,
        file_format: str,
        location: str,
        paths: Sequence[str],
        visitor: FooterVisitor | None = None,
    ) -> list[FileRecord]:
        """Return the records of files, from their footers.

        Args:
            file_format: ``parquet`` or ``orc``.
            location: a folder, as Hadoop writes it.
            paths: relative to `location`; the records keep them.
            visitor: sees the footers of Parquet files, and takes broken files, instead of an error for the
                first one.

        Returns:
            One record for each file that is not broken, in the order of the paths.

        Raises:
            FileMissingError, FileCorruptError: for the first file that cannot be read.
            UnsupportedError: this reader cannot read the format.
        """
        ...


class ArrowFooters:
    """Reads the footers of Parquet files by PyArrow's file systems; needs neither Spark nor Java.

    Args:
        time_zone: of the timestamps in directories' names, or None if it is unknown.
    """

    def __init__(self, time_zone: str | None = None) -> None:
        self._time_zone = time_zone

    @property
    def time_zone(self) -> str:
        """Return the zone that the constructor got.

        Raises:
            UnsupportedError: the constructor got none.
        """
        if self._time_zone is None:
            raise UnsupportedError(
                "The directories of the table are named for timestamps, and in which time zone is not known: give "
                "time_zone, such as 'Europe/Berlin' or 'UTC', the zone of the session that wrote them."
            )
        return self._time_zone

    def data_files(
        self,
        file_format: str,
        location: str,
        paths: Sequence[str],
        visitor: FooterVisitor | None = None,
    ) -> list[FileRecord]:
        """Return the records of Parquet files, from their footers; see `FooterReader.data_files`."""
        if file_format != "parquet" and paths:
            raise UnsupportedError(
                f"The files below {location} are {file_format}, and without Spark only the footers of Parquet files "
                "can be read: run it in a session with Spark, as CALL system.sync."
            )
        filesystem, root = open_location(location)
        if (remote := remote_files(filesystem)) is not None:
            return _read_remote_footers(filesystem, remote, root, paths, visitor)
        return read_footers(filesystem, paths, root=root, threads=_MAX_READER_THREADS, visitor=visitor)


def _read_remote_footers(
    filesystem: pafs.FileSystem,
    remote: RemoteFiles,
    root: str,
    paths: Sequence[str],
    visitor: FooterVisitor | None,
) -> list[FileRecord]:
    """Read many Parquet footers.

    Args:
        filesystem: where the files are.
        remote: what it offers for many files.
        root: a directory; the recorded paths are relative to it.
        paths: the files, below `root`.
        visitor: sees the footers, and takes broken files, instead of an error for the first one.

    Returns:
        One record per path, in the same order, without the broken files.

    Raises:
        FileMissingError, FileCorruptError, WarehouseError: as `read_parquet_footer`, for the first such file.
    """
    prefix = f"{root.rstrip('/')}/" if root else ""
    files = []
    for start in range(0, len(paths), _FILES_PER_BATCH):
        batch = paths[start : start + _FILES_PER_BATCH]
        for name, tail in zip(batch, _tails(remote, [prefix + path for path in batch]), strict=True):
            try:
                files.append(_record(filesystem, prefix + name, name, tail, visitor))
            except FileCorruptError as error:
                if visitor is None:
                    raise
                visitor.broken[name] = error.message
    return files


def _tails(remote: RemoteFiles, paths: Sequence[str]) -> Iterator[FileTail | OSError]:
    with footer_errors(paths[0] if paths else ""):
        yield from remote.tails(paths, TAIL_BYTES)


def _record(
    filesystem: pafs.FileSystem,
    path: str,
    name: str,
    tail: FileTail | OSError,
    visitor: FooterVisitor | None,
) -> FileRecord:
    with footer_errors(path):
        if isinstance(tail, OSError):
            raise tail

        def read_at(count: int, position: int) -> bytes:
            with filesystem.open_input_file(path) as source:
                return bytes(source.read_at(count, position))

        footer = parse_tail(tail.tail, tail.size, read_at)
        return footer_record(footer, name, tail.size, tail.modified, visitor)
