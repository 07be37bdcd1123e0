"""Many data files as columns: one array for each property, not one object for each file.

Three files, with statistics of a column `amount` in two of them:

| paths | bytes | rows | there | size | nulls | min | max | min_exact |
|---|---|---|---|---|---|---|---|---|
| `p=1/a.parquet` | 1000 | 10 | True | 400 | 0 | 1 | 7 | True |
| `p=1/b.parquet` | 2000 | UNKNOWN | True | 500 | 2 | 3 | 9 | True |
| `p=1/c.parquet` | 500 | 5 | False | UNKNOWN | UNKNOWN | None | None | True |

The first three columns are of the files, the others of `amount`. A row of the first is a `FileRecord`, and a
row of the others its `ColumnStatistics`. A subclass says where files come from: records, or the chunks of a
manifest. It makes a column when the column is first used, and never an unused one.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from functools import cached_property

import numpy as np

from parquetry.data_files.many_files.statistics_batch import (
    UNKNOWN,
    Bound,
    Flags,
    Indices,
    Numbers,
    RecordedColumn,
    StatisticsColumn,
    numbers,
    optional,
)
from parquetry.data_files.records import NO_CELL, ColumnStatistics, FileRecord

__all__ = [
    "UNKNOWN",
    "Bound",
    "FileColumns",
    "Flags",
    "Indices",
    "Numbers",
    "RecordedColumn",
    "RecordedFiles",
    "StatisticsColumn",
    "TakenFiles",
    "numbers",
    "optional",
    "without_earlier_rest",
]


def without_earlier_rest(cells: Numbers) -> tuple[Numbers, Numbers]:
    """Return the cell of each file, and the number of first cells that an earlier rest excludes.

    `FileRecord.cell_number` has both in one number. Each result is UNKNOWN where the other is known.

    >>> [part.tolist() for part in without_earlier_rest(np.array([3, NO_CELL - 2]))]
    [[3, -9223372036854775808], [-9223372036854775808, 2]]
    """
    earlier = (cells < NO_CELL) & (cells != UNKNOWN)
    return np.where(earlier, UNKNOWN, cells), np.where(earlier, NO_CELL - cells, UNKNOWN)


class FileColumns(ABC):
    """N data files, in columns.

    Attributes:
        count: N.
        bytes: sizes of the files.
        rows: numbers of rows, or UNKNOWN.
        modified: milliseconds since the epoch, or UNKNOWN.
        names: the columns that at least one file has statistics of, as the files spell them.
        described: whether the file's statistics were collected at all; see `FileRecord.columns`.
    """

    count: int
    bytes: Numbers
    rows: Numbers
    modified: Numbers
    names: Sequence[str]
    described: Flags

    @property
    @abstractmethod
    def paths(self) -> Sequence[str]:
        """Return the paths of the files, in the form that records have."""

    @property
    @abstractmethod
    def arranged(self) -> tuple[Numbers, Numbers, Flags] | None:
        """Return the cell and the bucket of each file, or UNKNOWN, and whether it is sorted.

        Return None if no file has a cell or a bucket, or is sorted. Cells are numbered as in
        `FileRecord.cell_number`.
        """

    @property
    @abstractmethod
    def field_ids(self) -> Numbers:
        """Return what is known of the field ids in each file, an `IdsInFile` or UNKNOWN."""

    @abstractmethod
    def statistics(self, name: str) -> StatisticsColumn | None:
        """Return the statistics of a column by its exact name in files, or None if no file has an entry."""

    def paths_at(self, positions: Indices) -> list[str]:
        """Return the paths of some of the files."""
        paths = self.paths
        return [paths[position] for position in positions.tolist()]

    def statistics_at(self, name: str, positions: Indices) -> StatisticsColumn | None:
        """Return the statistics of a column in some of the files."""
        column = self.statistics(name)
        return None if column is None else column.take(positions)

    def take(self, positions: Indices) -> FileColumns:
        """Return some of the files, by their positions."""
        return TakenFiles(self, positions)

    def narrow(self, positions: Indices, names: Collection[str] | None) -> FileColumns:
        """Return some of the files, whose callers will use the statistics of some columns only.

        Args:
            positions: of the files.
            names: the columns, as the table spells them for its files, or None if all may be used.
        """
        del names  # for subclasses that decode each column by itself
        return self.take(positions)

    def with_entries(self) -> Flags:
        """Return which files have statistics of any column."""
        flags = np.zeros(self.count, np.bool_)
        for name in self.names:
            if np.array_equal(flags, self.described):
                break
            column = self.statistics(name)
            if column is not None:
                flags |= column.there
        return flags

    def records(self) -> list[FileRecord]:
        """Return an object for each file."""
        columns: list[dict[str, ColumnStatistics] | None] = [
            {} if described else None for described in self.described.tolist()
        ]
        for name in self.names:
            column = self.statistics(name)
            for entry, record in zip(columns, column.records() if column else (), strict=False):
                if entry is not None and record is not None:
                    entry[name] = record
        plain = zip(
            self.paths,
            self.bytes.tolist(),
            optional(self.rows),
            optional(self.modified),
            columns,
            strict=True,
        )
        ids = optional(self.field_ids)
        if self.arranged is None:
            return [FileRecord(*fields, field_ids=number) for fields, number in zip(plain, ids, strict=True)]
        cells, buckets, in_order = self.arranged
        cells, rest_of = without_earlier_rest(cells)
        rest = zip(optional(cells), optional(buckets), in_order.tolist(), optional(rest_of), ids, strict=True)
        return [FileRecord(*fields, *more) for fields, more in zip(plain, rest, strict=True)]


class RecordedFiles(FileColumns):
    """Files that are stored as records."""

    def __init__(self, records: Sequence[FileRecord]) -> None:
        self._records = records
        self.count = len(records)

    @cached_property
    def bytes(self) -> Numbers:  # type: ignore[override]
        """Return the sizes."""
        return numbers([file.bytes for file in self._records])

    @cached_property
    def rows(self) -> Numbers:  # type: ignore[override]
        """Return the numbers of rows."""
        return numbers([file.rows for file in self._records])

    @cached_property
    def modified(self) -> Numbers:  # type: ignore[override]
        """Return the times when the files were changed."""
        return numbers([file.modified for file in self._records])

    @cached_property
    def names(self) -> Sequence[str]:  # type: ignore[override]
        """Return the names of the columns that any file has."""
        return tuple(dict.fromkeys(name for file in self._records for name in file.columns or ()))

    @cached_property
    def described(self) -> Flags:  # type: ignore[override]
        """Return whether statistics were collected, for each file."""
        return np.array([file.columns is not None for file in self._records], np.bool_)

    def with_entries(self) -> Flags:
        """Return which files have statistics of any column."""
        return np.array([bool(file.columns) for file in self._records], np.bool_)

    @property
    def paths(self) -> list[str]:
        """Return the paths."""
        return [file.path for file in self._records]

    @property
    def arranged(self) -> tuple[Numbers, Numbers, Flags] | None:
        """Return cells, buckets, and which files are sorted."""
        if not any(file.is_arranged for file in self._records):
            return None
        return (
            numbers([file.cell_number for file in self._records]),
            numbers([file.bucket for file in self._records]),
            np.array([file.sorted for file in self._records], np.bool_),
        )

    @property
    def field_ids(self) -> Numbers:
        """Return what is known of the field ids in each file."""
        return numbers([file.field_ids for file in self._records])

    def statistics(self, name: str) -> StatisticsColumn | None:
        """Return the statistics of a column."""
        records = [file.columns and file.columns.get(name) for file in self._records]
        return RecordedColumn([record or None for record in records]) if any(records) else None

    def take(self, positions: Indices) -> FileColumns:
        """Return some of these files."""
        return RecordedFiles([self._records[position] for position in positions.tolist()])

    def records(self) -> list[FileRecord]:
        """Return the records."""
        return list(self._records)


class TakenFiles(FileColumns):
    """A selection of other files, by their positions."""

    def __init__(self, files: FileColumns, positions: Indices) -> None:
        self._files = files
        self._positions = positions
        self.count = len(positions)
        self.bytes = files.bytes[positions]
        self.rows = files.rows[positions]
        self.modified = files.modified[positions]
        self.described = files.described[positions]

    @property
    def names(self) -> Sequence[str]:  # type: ignore[override]
        """Return the names of the columns that any of the other files has."""
        return self._files.names

    @property
    def paths(self) -> list[str]:
        """Return the paths."""
        return self._files.paths_at(self._positions)

    @property
    def arranged(self) -> tuple[Numbers, Numbers, Flags] | None:
        """Return cells, buckets, and which files are sorted."""
        arranged = self._files.arranged
        if arranged is None:
            return None
        cells, buckets, in_order = arranged
        return cells[self._positions], buckets[self._positions], in_order[self._positions]

    @property
    def field_ids(self) -> Numbers:
        """Return what is known of the field ids in each file."""
        return self._files.field_ids[self._positions]

    def statistics(self, name: str) -> StatisticsColumn | None:
        """Return the statistics of a column."""
        return self._files.statistics_at(name, self._positions)

    def take(self, positions: Indices) -> FileColumns:
        """Return some of these files."""
        return self._files.take(self._positions[positions])

    def narrow(self, positions: Indices, names: Collection[str] | None) -> FileColumns:
        """Return some of these files."""
        return self._files.narrow(self._positions[positions], names)

    def with_entries(self) -> Flags:
        """Return which files have statistics of any column."""
        return self._files.with_entries()[self._positions]
