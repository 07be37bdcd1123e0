"""Readers of footers: PyArrow reads Parquet, and an engine such as Spark reads ORC as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from parquetry.data_files.footer_statistics import Look, read_footers
from parquetry.data_files.records import FileRecord
from parquetry.errors import UnsupportedError
from parquetry.locations import open_location

_MAX_READER_THREADS = 8


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
        broken: dict[str, str] | None = None,
        look: Look | None = None,
    ) -> list[FileRecord]:
        """Return the records of files, from their footers.

        Args:
            file_format: ``parquet`` or ``orc``.
            location: a folder, as Hadoop writes it.
            paths: relative to `location`; the records keep them.
            broken: takes the paths of broken files with the reasons, instead of an error for the first one.
            look: called with the path and the footer of each Parquet file.

        Returns:
            One record for each file that is not broken, in the order of the paths.

        Raises:
            FileMissingError, FileCorruptError: for the first file that cannot be read.
            UnsupportedError: this reader cannot read the format.
        """
        ...


class ArrowFooters:
    """Reads the footers of Parquet files with PyArrow; needs neither Spark nor Java.

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
        broken: dict[str, str] | None = None,
        look: Look | None = None,
    ) -> list[FileRecord]:
        """Return the records of Parquet files, from their footers; see `FooterReader.data_files`."""
        if file_format != "parquet" and paths:
            raise UnsupportedError(
                f"The files below {location} are {file_format}, and without Spark only the footers of Parquet files "
                "can be read: run it in a session with Spark, as CALL system.sync."
            )
        filesystem, root = open_location(location)
        return read_footers(
            filesystem, paths, root=root, threads=_MAX_READER_THREADS, broken=broken, look=look
        )
