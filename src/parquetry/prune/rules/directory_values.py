"""List the values of directories for Spark, which evaluates conditions that only it understands.

All rows in the directory of a skewed tuple have the values of that tuple and of their partition. So a
condition on these columns is TRUE for all of them or for none. Two partitions, skewed by `(x, y)`:

    day = 1: (10, 'a') (20, NULL)      day = 2: (10, 'a') (30, 'b')

| condition                     | columns  | rows of values                     |
|-------------------------------|----------|------------------------------------|
| `upper(y) = 'A'`              | `y`      | 'a', NULL, 'b'                     |
| `x + day = 32`                | `day, x` | (1, 10), (1, 20), (2, 10), (2, 30) |
| `upper(y) = 'A' OR v + 1 = 3` | `y`      | 'a', NULL, 'b', for any `v`        |
| `v + 1 = 3`                   |          | none                               |

Each row is listed once, even if many partitions have it. `planner.predicates` uses Spark's answers.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from parquetry.metastore import PartitionSnapshot, TableSnapshot
from parquetry.predicate import Row
from parquetry.prune.rules.arrangements import skew_maps
from parquetry.prune.rules.directory_knowledge import HeavyTuples, heavy_tuples
from parquetry.types import order_key

MAX_EVALUATED_ROWS = 100_000
"""Rows of values that Spark evaluates for one condition; with more, the condition prunes no directory."""


class DirectoryValues(NamedTuple):
    """The rows of values that some columns have in directories for skewed values."""

    columns: tuple[str, ...]
    rows: list[Row]


def directory_values(
    snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot], conditions: Sequence[Collection[str]]
) -> list[list[DirectoryValues]]:
    """Return for each condition the values of its columns, once for each choice of skewed columns.

    Args:
        snapshot: the version of the table.
        partitions: the candidate partitions.
        conditions: the columns of each condition.
    """
    maps = skew_maps(snapshot, partitions)
    if maps is None:
        return [[] for _ in conditions]
    partition_by = snapshot.metadata.partition_by
    heavy, places = heavy_tuples(snapshot.metadata, maps.distinct)
    numbers = maps.numbers.tolist()

    def values(names: Collection[str], group: int) -> DirectoryValues | None:
        tuples = heavy[group]
        own = [name for name in tuples.names if name in names]
        by = [name for name in partition_by if name in names]
        if not own:
            return None
        # partitions with the same map and the same values have the same rows
        different = {
            (places[number], row)
            for number, row in zip(numbers, _partition_values(partitions, partition_by, by), strict=True)
            if number >= 0
        }
        numbered = ((place[1], row) for place, row in different if place is not None and place[0] == group)
        rows = _rows(tuples, own, numbered)
        return None if rows is None else DirectoryValues((*by, *own), rows)

    return [
        [chosen for group in range(len(heavy)) if (chosen := values(names, group)) is not None]
        for names in conditions
    ]


def _partition_values(
    partitions: Sequence[PartitionSnapshot], partition_by: Sequence[str], names: Sequence[str]
) -> Sequence[Row]:
    """Return the values of some partition columns for each partition."""
    if not names:
        return ((),) * len(partitions)
    places = [partition_by.index(name) for name in names]
    return [tuple(row[place] for place in places) for row in PartitionSnapshot.all_values(partitions)]


def _rows(tuples: HeavyTuples, own: Sequence[str], numbered: Iterable[tuple[int, Row]]) -> list[Row] | None:
    """Return the distinct rows of values, or None if they are too many.

    Args:
        tuples: the cells of maps.
        own: the wanted columns of the cells.
        numbered: pairs of a map's number and the values of partitions that have it.
    """
    places = [tuples.names.index(name) for name in own]
    rows: dict[tuple[object, ...], Row] = {}
    for number, values in numbered:
        for cell in tuples.map_rows(number):
            heavy = tuple(cell[place] for place in places)
            if any(isinstance(value, float) and value == 0 for value in heavy):
                continue  # the directory has rows with 0.0 and with -0.0, which functions distinguish
            row = (*values, *heavy)
            rows[tuple(map(order_key, row))] = row
        if len(rows) > MAX_EVALUATED_ROWS:
            return None
    return list(rows.values())
