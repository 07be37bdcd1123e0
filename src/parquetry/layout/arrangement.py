"""Records of how the rows of a partition are arranged: directories for heavy values, buckets, a sort order.

`ArrangementSpec` is the whole record, and explains the idea. `SkewMap` and `BucketSpec` are its parts. All
are immutable, and their constructors check them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any, Literal, TypeAlias

import msgspec

from parquetry.data_files import FileRecord
from parquetry.errors import ArrangementError
from parquetry.locations import is_absolute
from parquetry.texts import quantity
from parquetry.types import ColumnType, Value

Version = Literal[1, 2, "spark"]
REST = -1
"""The cell of files whose rows are all in none of a map's cells: the files of Hive's default directory."""

_ALL_DIGITS = Context(prec=200)  # more than a decimal(38, s) has


def _normalise(value: Any) -> Any:
    """Return a value as it is recorded. Equal values are recorded alike, so that records can be compared."""
    match value:
        case float() if math.isnan(value):
            return math.nan
        case float():
            return value + 0.0  # -0.0 becomes 0.0
        case Decimal():
            plain = format(value.normalize(_ALL_DIGITS), "f")
            return plain.removeprefix("-") if not value else plain
        case None | bool() | int() | str() | bytes():
            return value
    raise ArrangementError(
        f"A cell holds {value!r} of type {type(value).__name__}, which is no value of a column: give an internal value."
    )


CellKey: TypeAlias = tuple[tuple[type, Any], ...]


def cell_key(cell: Sequence[Any]) -> CellKey:
    """Return a key that identifies a cell by its recorded or internal values: 1 is not True, 0.0 is -0.0."""
    return tuple((type(value), value) for value in map(_normalise, cell))


def _check_columns(what: str, columns: Sequence[str]) -> None:
    if not columns:
        raise ArrangementError(f"{what} names no column: name one or more.")
    _check_distinct(what, columns)


def _check_distinct(what: str, columns: Sequence[str]) -> None:
    seen: set[str] = set()
    for name in columns:
        if name.lower() in seen:
            raise ArrangementError(f"{what} names the column {name!r} twice: name it once.")
        seen.add(name.lower())


MAX_CELLS = 1000
"""Most cells of a map, whether named or measured: each costs a comparison for every row that is written."""


class AutoSkew(msgspec.Struct, frozen=True, omit_defaults=True):
    """The limits for heavy values, in tables that measure them in each partition while it is loaded.

    Attributes:
        share: the least share of a partition's rows that a heavy tuple has; above 0, at most 1.
        most: greatest number of cells of a partition.

    Raises:
        ArrangementError: the share or the number is out of bounds.

    >>> AutoSkew(share=0.05, most=16)
    AutoSkew(share=0.05, most=16)
    """

    share: float
    most: int

    def __post_init__(self) -> None:
        if not 0 < self.share <= 1:
            raise ArrangementError(
                f"A heavy value has a share of {self.share} of the rows: give one above 0 and at most 1."
            )
        if not 1 <= self.most <= MAX_CELLS:
            raise ArrangementError(
                f"At most {self.most} values are to be heavy: give a number from 1 to {MAX_CELLS}."
            )


class SkewMap(msgspec.Struct, frozen=True, omit_defaults=True):
    """The heavy values of a partition: tuples of values with many rows each, perhaps with directories.

    Attributes:
        columns: physical names.
        cells: the heavy tuples, with values in the order of `columns`: internal values (`parquetry.types`),
            decimals as text. Empty if the rows were counted, and no tuple is heavy.
        directories: whether each cell has a directory of its own, and all other rows share one.
        locations: for each cell the absolute location of its directory, or None for the usual one; or empty.
        auto: the limits for measuring the cells of each new partition, or None if `cells` has them.

    Raises:
        ArrangementError: a column or a cell is named twice, a cell has a wrong number of values, or a value
            is no value of a column. Or a location is not absolute, or some cells lack one. Or there are cells
            although they are to be measured.
    """

    columns: tuple[str, ...]
    cells: tuple[tuple[Any, ...], ...] = ()
    directories: bool = False
    locations: tuple[str | None, ...] = ()
    auto: AutoSkew | None = None

    def __post_init__(self) -> None:
        _check_columns("A skew map", self.columns)
        if self.auto is not None and self.cells:
            raise ArrangementError(
                f"A skew map over {', '.join(self.columns)} has {len(self.cells)} cells, and is to measure them: give "
                "either."
            )
        cells = tuple(tuple(map(_normalise, cell)) for cell in self.cells)
        seen = set()
        for cell in cells:
            if len(cell) != len(self.columns):
                raise ArrangementError(
                    f"A skew map over {quantity(len(self.columns), 'column')} ({', '.join(self.columns)}) has the cell {cell!r} of "
                    f"{quantity(len(cell), 'value')}: give one value for each column."
                )
            key = cell_key(cell)
            if key in seen:
                raise ArrangementError(f"A skew map names the cell {cell!r} twice: name it once.")
            seen.add(key)
        if self.locations and len(self.locations) != len(cells):
            raise ArrangementError(
                f"A skew map has {len(self.locations)} locations for {len(cells)} cells: give one for each, or None."
            )
        for location in self.locations:
            if location is not None and not is_absolute(location):
                raise ArrangementError(
                    f"The location {location!r} of a cell is not absolute: begin it with / or a scheme."
                )
        msgspec.structs.force_setattr(self, "cells", cells)

    def numbers(self) -> dict[CellKey, int]:
        """Return the number of each cell by its key, see `cell_key`.

        >>> SkewMap(("x",), ((10,), (20,))).numbers()[cell_key((20,))]
        1
        """
        return {cell_key(cell): number for number, cell in enumerate(self.cells)}

    def with_cells(self, cells: Sequence[Sequence[Any]]) -> SkewMap:
        """Return the map with more cells, after its own."""
        if not cells:
            return self
        locations = (*self.locations, *(None,) * len(cells)) if self.locations else ()
        return SkewMap(
            self.columns, (*self.cells, *map(tuple, cells)), self.directories, locations, self.auto
        )

    def values(self, types: Sequence[ColumnType]) -> tuple[tuple[Value, ...], ...]:
        """Return the cells as internal values, given the columns' types."""
        return tuple(
            tuple(
                Decimal(value) if type.name == "decimal" and value is not None else value
                for type, value in zip(types, cell, strict=True)
            )
            for cell in self.cells
        )


class SortColumn(msgspec.Struct, frozen=True, omit_defaults=True):
    """A column that rows are sorted by: its physical name, and whether its order is descending."""

    column: str
    descending: bool = False


MAX_BUCKETS = 100_000
"""Most buckets of a partition; Spark's own tables have the same limit."""


class BucketSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """The buckets that rows are spread over by the hash of some columns.

    Attributes:
        columns: physical names.
        count: of the buckets.
        version: of the hash: 1 for Hive 1 and 2, 2 for Hive 3 and later, or ``spark``.
        sort: the columns that each bucket is sorted by.
        unsettled: whether equal values may be in different buckets, because another writer may resolve
            differently what the hash leaves open (`hashing.portability`). Then a file's bucket is only part
            of its name.

    Raises:
        ArrangementError: a column is named twice, the count is not from 1 to 100,000, or the version is
            unknown.
    """

    columns: tuple[str, ...]
    count: int
    version: Version = 2
    sort: tuple[SortColumn, ...] = ()
    unsettled: bool = False

    def __post_init__(self) -> None:
        _check_columns("A bucket spec", self.columns)
        _check_distinct("The sort order of a bucket spec", [each.column for each in self.sort])
        if not 1 <= self.count <= MAX_BUCKETS:
            raise ArrangementError(
                f"A bucket spec has a count of {self.count}: give a number from 1 to {MAX_BUCKETS}."
            )
        if self.version not in (1, 2, "spark"):
            raise ArrangementError(f"A bucket spec has the version {self.version!r}: give 1, 2 or 'spark'.")


class ArrangementSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """How the rows of a partition are arranged in files.

    ## What it is

    An arrangement has up to three parts: heavy values (`skew`), buckets (`buckets`) and a sort order
    (`sort`). A table has one, for new partitions. Each partition keeps the arrangement that its files were
    written in. A file's record says which cell and bucket all its rows belong to, and whether they are sorted
    (`data_files.records.FileRecord`).

    ## Example

    A partition has 6,000,000 rows. `x` is 10 in half of them and 20 in a third; the rest has 1,000 other
    values. Each of the two heavy values gets a directory, and the rest shares one. Within each directory, the
    hash of `id` spreads rows over 8 buckets, a file each:

    >>> arrangement = ArrangementSpec(
    ...     skew=SkewMap(("x",), ((10,), (20,)), directories=True), buckets=BucketSpec(("id",), 8)
    ... )
    >>> arrangement.columns
    ('x', 'id')

    | directory                              | cell | rows      | files | rows in a file |
    |----------------------------------------|------|-----------|-------|----------------|
    | `x=10`                                 | 0    | 3,000,000 | 8     | 375,000        |
    | `x=20`                                 | 1    | 2,000,000 | 8     | 250,000        |
    | `HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME` | -1   | 1,000,000 | 8     | 125,000        |

    The hash of `id = 7` is 3 modulo 8. So a query reads of these 24 files:

    | condition           | cells | buckets | files | rows read |
    |---------------------|-------|---------|-------|-----------|
    | `x = 10 AND id = 7` | 0     | 3       | 1     | 375,000   |
    | `x = 10`            | 0     | all     | 8     | 3,000,000 |
    | `x = 33`            | -1    | all     | 8     | 1,000,000 |
    | `id = 7`            | all   | 3       | 3     | 750,000   |

    A join or an aggregate by `id` needs no shuffle: equal values of `id` are in equal buckets.

    ## What it is not

    It is no plan: `prune.rules` decides what a query skips, and `spark.write` how rows get to their files. It
    is no promise about a file: a file that another program wrote may be in an unknown cell and bucket, and a
    reader then relies on its statistics. It is no list of paths either: NULL and `''` are two cells that
    share a directory, so a file's cell is in its record and not in its path. Hive's design excludes buckets
    together with directories: a table needs `list-bucketing-rules` = `relaxed` for both.

    ## Why not otherwise

    One arrangement for the whole table would be wrong for older files as soon as ALTER TABLE changes it,
    unless all partitions were rewritten. A copy in each file's record would repeat the map a thousand times.
    Columns go by their physical names (`data_files.records.TableColumn.physical`): RENAME COLUMN does not
    change these, so a million partitions' records stay valid.

    References: Hive's design document *List Bucketing*, and *Bucketed Tables* in Hive's language manual.

    Attributes:
        skew: the heavy values, or None.
        buckets: the buckets, or None.
        sort: the columns that each file is sorted by, apart from buckets.

    Raises:
        ArrangementError: a column is named twice in `sort`.
    """

    skew: SkewMap | None = None
    buckets: BucketSpec | None = None
    sort: tuple[SortColumn, ...] = ()

    def __post_init__(self) -> None:
        _check_distinct("A sort order", [each.column for each in self.sort])

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the physical names of all its columns, each once."""
        names: list[str] = []
        if self.skew is not None:
            names += self.skew.columns
        if self.buckets is not None:
            names += self.buckets.columns
            names += (each.column for each in self.buckets.sort)
        names += (each.column for each in self.sort)
        return tuple(dict.fromkeys(names))

    def require(self, file: FileRecord) -> None:
        """Make sure that a file's cell and bucket exist in this arrangement.

        Raises:
            ArrangementError: the file's record does not fit.
        """
        cells = -1 if self.skew is None else len(self.skew.cells)
        if file.cell is not None and not REST <= file.cell < cells:
            there = (
                "there are no cells" if self.skew is None else f"there are {cells} cells and the rest, {REST}"
            )
            raise ArrangementError(f"File {file.path} is of cell {file.cell}, and {there}.")
        if file.rest_of is not None and (file.cell is not None or not 0 < file.rest_of <= cells):
            raise ArrangementError(
                f"File {file.path} has no row of the first {file.rest_of} cells, and there are {max(cells, 0)}."
            )
        count = 0 if self.buckets is None else self.buckets.count
        if file.bucket is not None and not 0 <= file.bucket < count:
            raise ArrangementError(
                f"File {file.path} is of bucket {file.bucket}, and there are {count} buckets."
            )
        if file.sorted and not (self.sort or (self.buckets is not None and self.buckets.sort)):
            raise ArrangementError(f"File {file.path} is sorted, and no sort order is known.")


PLAIN = ArrangementSpec()
"""The arrangement without any part: rows are in files as they were written."""
