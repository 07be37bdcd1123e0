"""How the rows of a partition are arranged: directories for heavy values, buckets, a sort order.

Plain immutable records, checked when they are made. A table has one, for the partitions made from now on; each
partition has its own, which stays when the table's is changed; a file says in which cell and bucket its rows are
(`data_files.records.FileRecord`). Who lays rows out so, and what a query may skip, is decided elsewhere.

Columns go by their physical names (`data_files.records.Column.physical`): a column that is renamed keeps that one, so that no
partition's record has to be rewritten, were there a million.

Example: `x` is 10 in half of the rows, and 20 in a third of them; the rest has 1,000 other values. Each of the two
gets a directory, the rest shares one, in 8 buckets by `id`:

>>> arrangement = ArrangementSpec(
...     skew=SkewMap(("x",), ((10,), (20,)), directories=True), buckets=BucketSpec(("id",), 8)
... )
>>> arrangement.columns
('x', 'id')
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
from parquetry.types import ColumnType, Value

Version = Literal[1, 2, "spark"]
REST = -1
"""The cell of files with all rows that are in none: those of Hive's default directory."""

_ALL_DIGITS = Context(prec=200)  # more than a decimal(38, s) has


def _recorded(value: Any) -> Any:
    """Return a value as it is recorded: equal ones alike, so that records can be compared."""
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
    """Return what tells a cell from others, given its values as they are recorded or internal: 1 is not True, 0.0 is -0.0."""
    return tuple((type(value), value) for value in map(_recorded, cell))


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
"""More cells than this a map has neither by hand nor measured: each costs a comparison for every row that is written."""


class AutoSkew(msgspec.Struct, frozen=True, omit_defaults=True):
    """What is heavy enough for a cell, where each partition's map is measured while it is loaded.

    Attributes:
        share: of a partition's rows that a tuple of values has at least; above 0, at most 1.
        most: greatest number of cells of a partition.

    Raises:
        ArrangementError: the share or the number is not within its bounds.

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
    """Which values of some columns are so frequent that their rows are kept apart, or known for it at least.

    Attributes:
        columns: physical names.
        cells: of each heavy tuple its values, in the order of `columns`: internal values (`parquetry.types`), decimals
            as text. None of them: the rows were looked through, and no tuple is heavy.
        directories: whether each cell has a directory of its own, and the rest one together.
        locations: of each cell the absolute place that was given to its directory, None for the usual; or empty.
        auto: the cells of each partition made from now on are measured, and are none yet; None: they are those above.

    Raises:
        ArrangementError: a column or a cell is named twice, a cell has too many or too few values, one is no value,
            the locations are not one for each cell and absolute, or there are cells although they are to be measured.
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
        cells = tuple(tuple(map(_recorded, cell)) for cell in self.cells)
        seen = set()
        for cell in cells:
            if len(cell) != len(self.columns):
                raise ArrangementError(
                    f"A skew map over {len(self.columns)} columns ({', '.join(self.columns)}) has the cell {cell!r} of "
                    f"{len(cell)} values: give one value for each column."
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
        """Return the number of each cell by what tells it from others, `cell_key`.

        >>> SkewMap(("x",), ((10,), (20,))).numbers()[cell_key((20,))]
        1
        """
        return {cell_key(cell): number for number, cell in enumerate(self.cells)}

    def with_cells(self, cells: Sequence[Sequence[Any]]) -> SkewMap:
        """Return the map with more cells, behind its own."""
        if not cells:
            return self
        places = (*self.locations, *(None,) * len(cells)) if self.locations else ()
        return SkewMap(self.columns, (*self.cells, *map(tuple, cells)), self.directories, places, self.auto)

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
    """A column that rows are sorted by: its physical name, and whether downwards."""

    column: str
    descending: bool = False


MAX_BUCKETS = 100_000
"""More buckets than this a partition does not have, as in Spark's own tables."""


class BucketSpec(msgspec.Struct, frozen=True, omit_defaults=True):
    """Into how many buckets rows are spread by the hash of some columns.

    Attributes:
        columns: physical names.
        count: of the buckets.
        version: of the hash: Hive's of its versions 1 and 2, Hive's since 3, or Spark's own.
        sort: what each bucket is sorted by.
        unsettled: whether equal values may lie in different buckets: others wrote the rows, who are not known to have settled
            what the hash leaves open (`hashing.portability`). Then the files' buckets are no more than names.

    Raises:
        ArrangementError: a column is named twice, the count is not from 1 to 100,000, or the version is not known.
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
    """How the rows of a partition are arranged; nothing of it for a plain one, which is `PLAIN`.

    Attributes:
        skew: the heavy values.
        buckets: the buckets.
        sort: what each file is sorted by, apart from buckets.

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
        """Return the physical names of all columns that it speaks of, each once."""
        names: list[str] = []
        if self.skew is not None:
            names += self.skew.columns
        if self.buckets is not None:
            names += self.buckets.columns
            names += (each.column for each in self.buckets.sort)
        names += (each.column for each in self.sort)
        return tuple(dict.fromkeys(names))

    def require(self, file: FileRecord) -> None:
        """Make sure that a file lies in a cell and a bucket that there are.

        Raises:
            ArrangementError: it does not.
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
"""Rows lie as they come."""
