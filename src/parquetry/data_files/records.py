"""Records of columns and of data files.

They are plain and immutable, and the metastore stores them as msgpack. A new field is added at the end, with
a default, so that older records stay readable.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Protocol

import msgspec

from parquetry.types import ColumnType, type_from_json

PHYSICAL_NAME = "parquetry.physical"
"""Key in a column's metadata: the column's name in the files, if it differs from its name in the table."""

CURRENT_DEFAULT = "CURRENT_DEFAULT"
"""Spark's key in a column's metadata: the expression, as SQL, for rows that are inserted without a value."""

EXISTS_DEFAULT = "EXISTS_DEFAULT"
"""Spark's key in a column's metadata: the value, as SQL, that Spark reads from files without the column.

It never changes."""


NO_CELL = -2
"""The cell number of a file that may have rows of any cell. `NO_CELL - n` excludes the first n cells."""


def physical_name(field: Mapping[str, Any]) -> str:
    """Return the name in files of a column or field in Spark's JSON."""
    return str((field.get("metadata") or {}).get(PHYSICAL_NAME, field["name"]))


class TableColumn(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column of a table.

    Attributes:
        name: as the user wrote it; compared case-insensitively.
        type: Spark's JSON type, e.g. ``"integer"`` or ``{"type": "struct", …}``.
        nullable: whether NULL may occur.
        metadata: Spark's column metadata, with `comment`, the physical name and default values.
    """

    name: str
    type: Any
    nullable: bool = True
    metadata: dict[str, Any] = msgspec.field(default_factory=dict)

    @property
    def comment(self) -> str | None:
        """Return the user's comment."""
        comment = self.metadata.get("comment")
        return None if comment is None else str(comment)

    @property
    def physical(self) -> str:
        """Return the name of the column in the files and in the paths of partitions."""
        return str(self.metadata.get(PHYSICAL_NAME, self.name))

    @property
    def column_type(self) -> ColumnType:
        """Return the type as `parquetry.types` knows it."""
        return type_from_json(self.type)


class Trust(IntEnum):
    """How far the statistics of a column in a file are believed, which one module decides for each format.

    | trust   | may leave the file out | may answer `min`, `max`, `count`, and prove that all rows match |
    |---------|------------------------|------------------------------------------------------------------|
    | UNKNOWN | no                     | no                                                               |
    | BOUNDS  | yes                    | no                                                               |
    | EXACT   | yes                    | yes                                                              |
    | NO_NAN  | as EXACT, and no row of a float column is NaN                                             ||

    The numbers are stored. A later rule takes new ones, so a record says under which rule it was made.
    """

    UNKNOWN = 0
    """No statistic is believed. In a record: it was made before records had a trust (`earlier_records`)."""
    BOUNDS = 1
    """No row is beyond the bounds. The NULL count says only, as to Spark's reader: no row, or every row."""
    EXACT = 2
    """The writer is known to be right about this type."""
    NO_NAN = 3
    """As EXACT, of floats. The writer has NaN as a bound if a row is NaN, and these bounds are numbers."""


class IdsInFile(IntEnum):
    """Knowledge of the field ids in a file. The numbers are stored."""

    OURS = 1
    """Every column has the table's id."""
    BY_POSITION = 2
    """The file has no ids, and the position of each column, from 1 on, is the table's id."""
    ABSENT = 3
    """The file has no ids, and columns have to be found by their names."""
    FOREIGN = 4
    """The file has ids of another table. A reader that goes by ids would read wrong columns."""
    WITH_PARTITION_COLUMNS = 5
    """Every column has the table's id, and the file has the partition columns, too."""
    OLD_CALENDAR = 6
    """The file may have early days of another calendar, which only Spark converts. It may have any ids."""
    ENCRYPTED = 7
    """The file, or columns of it, are encrypted, and only Spark has the keys. It may have any ids."""
    OLD_LISTS = 8
    """Lists or maps are in a form of older writers, and some readers find NULL there. It may have any ids."""

    @property
    def for_spark_alone(self) -> bool:
        """Return whether Spark alone reads the file right."""
        return self in (IdsInFile.OLD_CALENDAR, IdsInFile.ENCRYPTED, IdsInFile.OLD_LISTS)


class ColumnStatistics(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, gc=False):
    """The statistics of one top-level column in one file.

    Attributes:
        size: compressed bytes, or None if they are unknown.
        nulls: number of NULLs, or None if it is unknown.
        min: lower bound, or None if it is unknown; an internal value (`parquetry.types`), decimals as text.
        max: upper bound, likewise.
        min_exact: whether `min` occurs in the file; a truncated string is only a bound.
        max_exact: whether `max` occurs in the file.
        trust: how far all of this is believed, a `Trust`. What is not believed at all is None.
        stored: the type in the file, such as ``parquet INT32`` or ``orc bigint``, if it is not the one that
            the table's column had when the file was recorded.
        distinct: about how many distinct values it has, or None if nothing tells. For estimates alone.
    """

    size: int | None = None
    nulls: int | None = None
    min: Any = None
    max: Any = None
    min_exact: bool = True
    max_exact: bool = True
    trust: int = 0
    stored: str | None = None
    distinct: int | None = None


class FileRecord(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True, gc=False):
    """A data file of a partition.

    Attributes:
        path: relative to the partition's location, or absolute (starts with ``/`` or a URI scheme).
        bytes: size of the file.
        rows: number of rows, or None if it is unknown.
        modified: the file system's time of change, in milliseconds since the epoch, or None if it is unknown.
        columns: statistics by the columns' physical names, or None if they were not collected.
        cell: the cell of the partition's skew map (`arrangement`) that all rows belong to, `arrangement.REST`
            if no row belongs to any cell, or None if it is unknown.
        bucket: the bucket that all rows belong to, or None if it is unknown.
        sorted: whether the rows have the sort order of the partition's arrangement.
        rest_of: the number of cells that the map had when the file was written as its rest, or None. Example:
            the map had 2 cells, and has 5 now. Then `rest_of` is 2: no row belongs to the first 2 cells, and
            rows may belong to the other 3. `cell` is None. Older libraries ignore `rest_of` and prune by the
            statistics alone, which loses no row.
        field_ids: what is known of the field ids in the file, an `IdsInFile`, or None if the record
            is from before field ids.
    """

    path: str
    bytes: int
    rows: int | None = None
    modified: int | None = None
    columns: dict[str, ColumnStatistics] | None = None
    cell: int | None = None
    bucket: int | None = None
    sorted: bool = False
    rest_of: int | None = None
    field_ids: int | None = None

    @property
    def is_arranged(self) -> bool:
        """Return whether the record says where the rows belong in the partition's arrangement."""
        return self.cell is not None or self.bucket is not None or self.sorted or self.rest_of is not None

    @property
    def cell_number(self) -> int | None:
        """Return the cell, or -2 - n if the rows belong to none of the first n cells (`rest_of`)."""
        return self.cell if self.rest_of is None else NO_CELL - self.rest_of


class SizeAndTime(Protocol):
    """The size and the time of a file. They distinguish it from another file at the same path."""

    @property
    def bytes(self) -> int:
        """Return the file's size."""

    @property
    def modified(self) -> int | None:
        """Return the time of change in milliseconds since the epoch, or None if it is unknown."""


def is_same(recorded: SizeAndTime, size: int, modified: int | None) -> bool:
    """Return whether a file is the recorded one, judged by its size and its time.

    Args:
        recorded: the recorded size and time.
        size: the file's bytes now.
        modified: the file's time of change now, in milliseconds since the epoch, or None if the file system
            does not say.
    """
    return recorded.bytes == size and (None in (recorded.modified, modified) or recorded.modified == modified)
