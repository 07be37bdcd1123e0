"""Parts of a scan that can be sent to other processes, each with its files.

A task opens no metastore: the plan is in it. So workers need the files' credentials alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from parquetry.catalog.scans.planning import FilesToRead
from parquetry.catalog.scans.reading import read_batches
from parquetry.locations import ArrowFileSystems
from parquetry.rows import FileRows, ReadRequest

_BYTES_PER_TASK = 128_000_000
"""Bytes of the files of one task, about: as much as Spark reads in one task by default."""


@dataclass(frozen=True, slots=True)
class ScanTask:
    """Some files of a scan. It can be pickled.

    Attributes:
        paths: of the files, absolute.
    """

    _read: ReadRequest
    _files: tuple[FileRows, ...]
    _limit: int | None = None

    @property
    def paths(self) -> tuple[str, ...]:
        """Return the absolute paths of the files."""
        return tuple(file.path for file in self._files)

    def read(self, storage_options: Mapping[str, Any] | None = None) -> Iterator[pa.RecordBatch]:
        """Yield the rows of the files.

        Args:
            storage_options: credentials of the files' object store; see `parquetry.open`.

        Raises:
            UnsupportedError, FileMissingError, FileCorruptError: as `Scan.to_arrow`.
        """
        return read_batches(self._read, self._files, ArrowFileSystems(storage_options), self._limit)


def split_files(planned: FilesToRead, limit: int | None) -> list[ScanTask]:
    """Return the tasks of a scan, in the order of its files.

    Args:
        planned: the scan.
        limit: how many rows at most, or None for all.
    """
    if limit is not None:
        return [ScanTask(planned.read, planned.files, limit)]
    tasks = []
    some: list[FileRows] = []
    size = 0
    for file in planned.files:
        if some and size + file.record.bytes > _BYTES_PER_TASK:
            tasks.append(ScanTask(planned.read, tuple(some)))
            some, size = [], 0
        some.append(file)
        size += file.record.bytes
    if some:
        tasks.append(ScanTask(planned.read, tuple(some)))
    return tasks
