"""Choose the values of a partition's rows that are frequent enough for a directory of their own.

Pure functions: others count the values, and write the rows. Neither of them needs the exact counts of light
values.

In tables `SKEWED BY … ON AUTO`, the maps of partitions are measured from their rows.

A new partition gets a map of the values that are heavy in its rows. The maps of some partitions follow their
rows afterwards: they gain and lose values. Callers count the values, and give and take whole arrangements.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import msgspec

from parquetry.data_files import MAX_DAY, TableColumn
from parquetry.layout.arrangement import ArrangementSpec
from parquetry.layout.cells import AutoSkew, cell_key
from parquetry.layout.skew_map import SkewMap
from parquetry.locations import MAX_NAME_BYTES
from parquetry.locations.partition_path import partition_path
from parquetry.types import ColumnType, Value, order_key

Heavy = tuple[Value, ...]


@dataclass(frozen=True, slots=True)
class Counted:
    """How often values occur in one partition.

    Attributes:
        partition: values of the partition columns.
        rows: of the partition.
        counts: by value, for values that are frequent enough.
    """

    partition: tuple[Value, ...]
    rows: int
    counts: dict[Heavy, int]


def least_count(rows: int, share: float) -> int:
    """Return how often a value has to occur to have a share of the rows, whose decimal digits are exact.

    >>> least_count(1000, 0.05), least_count(100, 0.07), least_count(10, 0.25), least_count(3, 1.0)
    (50, 7, 3, 3)
    """
    return max(1, math.ceil(rows * Fraction(repr(share))))


def choose(
    counts: Mapping[Heavy, int],
    rows: int,
    auto: AutoSkew,
    columns: Sequence[str],
    types: Sequence[ColumnType],
) -> tuple[Heavy, ...]:
    """Return the heavy tuples among some, the most frequent first.

    Among equally frequent tuples the least comes first.

    A tuple is not heavy if the name of its directory would be too long.

    Args:
        counts: how often tuples occur, by their internal values. Tuples below the share may be missing.
        rows: of the partition, including rows whose values are missing in `counts`.
        auto: the limits for heavy values.
        columns: whose values these are.
        types: of the columns.

    Half of 1,000 rows have the value 10, and 49 the value 30. The share is a twentieth, 50 rows, so 30 is too
    light:

    >>> from parquetry.types import parse_type
    >>> counts = {(10,): 500, (20,): 50, (30,): 49, (None,): 300}
    >>> choose(counts, 1000, AutoSkew(0.05, 16), ["x"], [parse_type("int")])
    ((10,), (None,), (20,))
    >>> choose(counts, 1000, AutoSkew(0.05, 1), ["x"], [parse_type("int")])
    ((10,),)
    """
    least = least_count(rows, auto.share)
    heavy = [
        values
        for values, count in counts.items()
        if count >= least and _fits_directory_name(columns, types, values)
    ]
    heavy.sort(key=lambda values: (-counts[values], tuple(map(order_key, values))))
    return tuple(heavy[: auto.most])


def make_measured_map(skew: SkewMap, cells: Sequence[Heavy]) -> SkewMap:
    """Return the map of a new partition from its measured tuples, in a table that measures heavy values.

    >>> make_measured_map(SkewMap(("x",), (), directories=True, auto=AutoSkew(0.05, 16)), [(10,)]).cells
    ((10,),)
    """
    return SkewMap(skew.columns, tuple(cells), skew.directories)


def extend_map(skew: SkewMap, counted: Counted, auto: AutoSkew, types: Sequence[ColumnType]) -> SkewMap:
    """Return the map of a partition with the tuples that are heavy by now, as long as it has room.

    Args:
        skew: the partition's map.
        counted: how often tuples occur at least, and the partition's rows.
        auto: the limits for heavy values.
        types: of the columns.

    >>> from parquetry.types import parse_type
    >>> skew, int_ = SkewMap(("x",), ((10,),), directories=True), parse_type("int")
    >>> extend_map(skew, Counted((), 100, {(10,): 50, (20,): 30, (30,): 5}), AutoSkew(0.05, 2), [int_]).cells
    ((10,), (20,))
    """
    there = skew.numbers()
    others = {cell: count for cell, count in counted.counts.items() if cell_key(cell) not in there}
    cells = choose(others, counted.rows, auto, skew.columns, types)
    return skew.with_cells(cells[: max(0, auto.most - len(skew.cells))])


def _fits_directory_name(columns: Sequence[str], types: Sequence[ColumnType], values: Heavy) -> bool:
    names = partition_path(columns, types, values).split("/")
    return all(len(name.encode()) <= MAX_NAME_BYTES for name in names)


@dataclass(frozen=True, slots=True)
class Measuring:
    """How a table measures heavy values.

    Attributes:
        arrangement: the arrangement of new partitions, whose map is to be measured.
        skew: this map.
        auto: the limits that make a value heavy.
        columns: the skewed columns.
    """

    arrangement: ArrangementSpec
    skew: SkewMap
    auto: AutoSkew
    columns: Sequence[TableColumn]

    @classmethod
    def from_table(cls, arrangement: ArrangementSpec, columns: Sequence[TableColumn]) -> Measuring | None:
        """Return how a table measures heavy values, or None if it does not.

        Args:
            arrangement: the table's.
            columns: all columns of the table.
        """
        skew = arrangement.skew
        if skew is None or skew.auto is None:
            return None
        return cls(arrangement, skew, skew.auto, skew.columns_among(columns))

    @property
    def types(self) -> list[ColumnType]:
        """Return the types of the columns."""
        return [column.column_type for column in self.columns]

    def is_due(self, arrangement: ArrangementSpec) -> bool:
        """Return whether the map of a partition is still to be measured."""
        return arrangement.skew is not None and arrangement.skew.auto is not None

    def follows(self, arrangement: ArrangementSpec) -> bool:
        """Return whether a partition's map gains and loses values as its rows change.

        The map does so if it has directories for values of the same columns, in their current types. After a
        change of type, the meaning of older values is uncertain.
        """
        own = arrangement.skew
        return (
            self.skew.directories
            and own is not None
            and own.directories
            and own.auto is None
            and own.columns == self.skew.columns
            and all(
                _is_recorded(column.column_type, value)
                for cell in own.cells
                for column, value in zip(self.columns, cell, strict=True)
            )
        )

    def new_arrangement(self, counted: Counted) -> ArrangementSpec:
        """Return the arrangement of a new partition, given how often values occur in its rows."""
        cells = choose(counted.counts, counted.rows, self.auto, self.skew.columns, self.types)
        return msgspec.structs.replace(self.arrangement, skew=make_measured_map(self.skew, cells))

    def extend(self, arrangement: ArrangementSpec, counted: Counted) -> ArrangementSpec:
        """Return a partition's arrangement with the values that are heavy by now.

        Args:
            arrangement: the partition's, which follows its rows.
            counted: how often values occur at least, and the partition's rows.
        """
        own = arrangement.skew
        assert own is not None  # else it does not follow
        return msgspec.structs.replace(arrangement, skew=extend_map(own, counted, self.auto, self.types))


def _is_recorded(type: ColumnType, value: Any) -> bool:
    """Return whether a value of a cell certainly belongs to a type; see `SkewMap.cells`."""
    if value is None:
        return True
    if type.facts.may_be_days and value.__class__ is int:
        return bool(abs(value) > MAX_DAY)  # a smaller number may count days
    return value.__class__ is (str if type.name == "decimal" else type.facts.value)
