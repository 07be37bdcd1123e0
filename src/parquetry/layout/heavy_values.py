"""Choose the values of a partition's rows that are frequent enough for a directory of their own.

Pure functions: others count the values, and write the rows. Neither of them needs the exact counts of light
values.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

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
