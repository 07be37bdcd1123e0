"""Statistics of the directories of list-bucketed partitions, and their values.

A partition skewed by `(x, y)` on `(10, 'a')` and `(20, NULL)` has up to three directories:

| cell | x   | y    | tuples that its rows may have       |
|------|-----|------|-------------------------------------|
| 0    | 10  | 'a'  | `(10, 'a')`                         |
| 1    | 20  | NULL | `(20, NULL)`                        |
| REST | any | any  | all but `(10, 'a')`, `(20, NULL)`   |

A map that has grown may also have an earlier rest. Its rows exclude only the map's first tuples
(`DataFile.rest_of`).

Cells are judged by their values, as partitions are. The rest is known only by the tuples that it excludes: it
cannot hold an answer if a condition allows only tuples that have a cell (`guarantees`). Tuples are equal if
their `order_key`s are: NULL is a value, NaN is a value, and zero has no sign.

A file's record names its cell. `directories` finds the directories and evaluates conditions.

Spark gets the values of directories, and evaluates conditions that only it understands.

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

from collections.abc import Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import MAX_DAY, Numbers, TableColumn
from parquetry.errors import ValueTypeError
from parquetry.layout import SkewMap
from parquetry.metastore import PartitionSnapshot, TableMetadata, TableSnapshot
from parquetry.predicate import Bounds, Knowledge, Row
from parquetry.prune.rules.arrangements import skew_maps
from parquetry.types import ColumnType, Value, order_key, value_from_text

NO_CELL_COUNT = 1 << 62
"""A number of cells greater than any map has."""


class HeavyTuples:
    """The cells of several maps over the same columns, as values of the table's current column types.

    Each partition may have its own map, but most maps have the same tuples. `rows` has each tuple once, so it
    is judged once. Two maps:

        map    cells            added to `rows`    positions in `rows`
        0      (10,) (20,)      (10,) (20,)        0 1
        1      (20,) (30,)      (30,)              1 2

    Args:
        names: the columns' names in the table.
        maps: the tuples of each map.
    """

    def __init__(self, names: tuple[str, ...], maps: Sequence[Sequence[Row]]) -> None:
        self.names = names
        self.rows: list[Row] = []
        self._numbers: dict[tuple[object, ...], int] = {}
        flat = [self._number(row) for rows in maps for row in rows]
        self.sizes = np.array([len(rows) for rows in maps], np.int64)
        self._flat = np.array(flat, np.int64)
        self._starts = np.cumsum(self.sizes) - self.sizes

    def _number(self, row: Row) -> int:
        key = tuple(map(order_key, row))
        if key not in self._numbers:
            self._numbers[key] = len(self.rows)
            self.rows.append(row)
        return self._numbers[key]

    @cached_property
    def bounds(self) -> dict[str, Bounds]:
        """The bounds of each column in the cells of `rows`."""
        columns = zip(*self.rows, strict=True) if self.rows else ((),) * len(self.names)
        return {name: Bounds.from_values(values) for name, values in zip(self.names, columns, strict=True)}

    def numbers(self, maps: Numbers, cells: Numbers) -> Numbers:
        """Return the positions in `rows` of cells, by the numbers of their maps and of the cells within."""
        rows: Numbers = self._flat[self._starts[maps] + cells]
        return rows

    def map_rows(self, number: int) -> list[Row]:
        """Return the cells of a map, given its number."""
        start = self._starts[number]
        return [self.rows[position] for position in self._flat[start : start + self.sizes[number]].tolist()]

    def first_cells(self, rows: Collection[Row]) -> Numbers:
        """Return for each map how many of its first cells are needed to contain all of some distinct tuples.

        It is `NO_CELL_COUNT` for a map that has no cell for one of the tuples.
        """
        never = np.full(len(self.sizes), NO_CELL_COUNT, np.int64)
        keys = [tuple(map(order_key, row)) for row in rows]
        wanted = [self._numbers[key] for key in keys if key in self._numbers]
        if len(wanted) < len(keys):
            return never
        of_map = np.repeat(np.arange(len(self.sizes)), self.sizes)
        position = np.arange(len(self._flat)) - np.repeat(self._starts, self.sizes)
        there = np.isin(self._flat, wanted)
        # two cells that once differed by blanks, say, may be one tuple now; its rows may be in either cell
        needed = np.zeros(len(self.sizes), np.int64)
        np.maximum.at(needed, of_map[there], position[there] + 1)
        pairs = np.unique(of_map[there] * len(self.rows) + self._flat[there])
        counts = np.bincount(pairs // max(len(self.rows), 1), minlength=len(self.sizes))
        cells: Numbers = np.where(counts == len(wanted), needed, never)
        return cells


def heavy_tuples(
    metadata: TableMetadata, maps: Sequence[SkewMap]
) -> tuple[list[HeavyTuples], list[tuple[int, int] | None]]:
    """Return the cells of maps by columns, and for each map the number of its group and its number within.

    It is None for a map whose values do not fit the table's current columns.
    """
    columns = {column.physical: column for column in metadata.data_columns}
    groups: dict[tuple[str, ...], list[list[Row]]] = {}
    positions: list[tuple[int, int] | None] = []
    for skew in maps:
        rows = _rows(columns, skew)
        if rows is None:
            positions.append(None)
            continue
        names = tuple(columns[name].name for name in skew.columns)
        group = groups.setdefault(names, [])
        positions.append((list(groups).index(names), len(group)))
        group.append(rows)
    return [HeavyTuples(names, group) for names, group in groups.items()], positions


def _rows(columns: Mapping[str, TableColumn], skew: SkewMap) -> list[Row] | None:
    if any(name not in columns for name in skew.columns):
        return None
    types = [columns[name].column_type for name in skew.columns]
    try:
        return [tuple(map(_as_type, types, cell)) for cell in skew.cells]
    except ValueTypeError:
        return None


class WithinPartitions(Knowledge):
    """Containers within partitions, known only by the values of their partitions.

    Args:
        metadata: the table's metadata.
        partitions: the partitions of the scan.
        parts: the position of each container's partition.
    """

    def __init__(
        self, metadata: TableMetadata, partitions: Sequence[PartitionSnapshot], parts: Numbers
    ) -> None:
        self._partition_by = metadata.partition_by
        self._used, self._places = np.unique(parts, return_inverse=True)
        self._partitions = partitions
        self.count = len(parts)

    def bounds(self, column: str) -> Bounds | None:
        """Return the values of a partition column."""
        if column not in self._partition_by:
            return None
        position = self._partition_by.index(column)
        values = [self._partitions[part].values[position] for part in self._used.tolist()]
        return Bounds.from_values(values).take(self._places)


class CellKnowledge(Knowledge):
    """The values of cells and of their partitions.

    Args:
        heavy: the skewed tuples.
        numbers: the position of each container's tuple in `heavy.rows`.
        within: the containers' partitions, or None if they do not matter.
    """

    def __init__(self, heavy: HeavyTuples, numbers: Numbers, within: WithinPartitions | None = None) -> None:
        self._heavy = heavy
        self._numbers = numbers
        self._within = within
        self.count = len(numbers)

    def bounds(self, column: str) -> Bounds | None:
        """Return the values of a skewed or a partition column."""
        bounds = self._heavy.bounds.get(column)
        if bounds is not None:
            return bounds.take(self._numbers)
        return None if self._within is None else self._within.bounds(column)


class RestKnowledge(Knowledge):
    """Statistics of the rows in no cell: the tuples that they exclude, and their partitions' values.

    Args:
        heavy: the skewed tuples.
        maps: the number of each container's map.
        within: the containers' partitions, or None if they do not matter.
        firsts: for each container, the number of the map's first cells whose rows are not in it, or None for
            all cells.
    """

    def __init__(
        self,
        heavy: HeavyTuples,
        maps: Numbers,
        within: WithinPartitions | None = None,
        firsts: Numbers | None = None,
    ) -> None:
        self._heavy = heavy
        self._maps = maps
        self._within = within
        self._firsts = heavy.sizes[maps] if firsts is None else firsts
        self.count = len(maps)
        self.tuple_columns = (heavy.names,)

    def bounds(self, column: str) -> Bounds | None:
        """Return the values of a partition column."""
        return None if self._within is None else self._within.bounds(column)

    def may_hold(self, columns: tuple[str, ...], tuples: Collection[Row]) -> NDArray[np.bool_]:  # noqa: ARG002
        """Return the containers that may have one of some tuples, since it has no cell there."""
        found: NDArray[np.bool_] = self._heavy.first_cells(tuples)[self._maps] > self._firsts
        return found


def _as_type(type: ColumnType, value: Any) -> Value:
    """Convert a recorded value to its column's current type, which may be wider than the type at that time.

    Raises:
        ValueTypeError: the value is not one of the type, or its meaning is not known.
    """
    if value is None:
        return None
    facts, recorded = type.facts, value.__class__
    # microseconds, or days from the time when the column was a date
    is_ambiguous = facts.may_be_days and recorded is int and abs(value) <= MAX_DAY
    if recorded is facts.value and recorded is not Decimal and not is_ambiguous:
        known: Value = value.ljust(type.length) if type.name == "char" else value
        return known
    if recorded is int and facts.exact_bits and abs(value) <= 1 << facts.exact_bits:
        return float(value)
    if type.name == "decimal" and recorded in (int, str, Decimal):
        return value_from_text(type, str(value))
    raise ValueTypeError(f"Value {value!r}, recorded for a skewed tuple, is not a value of type {type}.")


MAX_EVALUATED_ROWS = 100_000
"""Rows of values that Spark evaluates for one condition; with more, the condition prunes no directory."""


class ColumnValues(NamedTuple):
    """The rows of values that columns have in directories for skewed values, or in files of one value."""

    columns: tuple[str, ...]
    rows: list[Row]


def directory_values(
    snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot], conditions: Sequence[Collection[str]]
) -> list[list[ColumnValues]]:
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
    heavy, positions = heavy_tuples(snapshot.metadata, maps.distinct)
    numbers = maps.numbers.tolist()

    def values(names: Collection[str], group: int) -> ColumnValues | None:
        tuples = heavy[group]
        own = [name for name in tuples.names if name in names]
        by = [name for name in partition_by if name in names]
        if not own:
            return None
        # partitions with the same map and the same values have the same rows
        different = {
            (positions[number], row)
            for number, row in zip(numbers, _partition_values(partitions, partition_by, by), strict=True)
            if number >= 0
        }
        numbered = (
            (position[1], row) for position, row in different if position is not None and position[0] == group
        )
        rows = _rows_of_values(tuples, own, numbered)
        return None if rows is None else ColumnValues((*by, *own), rows)

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
    positions = [partition_by.index(name) for name in names]
    return [
        tuple(row[position] for position in positions) for row in PartitionSnapshot.all_values(partitions)
    ]


def _rows_of_values(
    tuples: HeavyTuples, own: Sequence[str], numbered: Iterable[tuple[int, Row]]
) -> list[Row] | None:
    """Return the distinct rows of values, or None if they are too many.

    Args:
        tuples: the cells of maps.
        own: the wanted columns of the cells.
        numbered: pairs of a map's number and the values of partitions that have it.
    """
    positions = [tuples.names.index(name) for name in own]
    rows: dict[tuple[object, ...], Row] = {}
    for number, values in numbered:
        for cell in tuples.map_rows(number):
            heavy = tuple(cell[position] for position in positions)
            if any(isinstance(value, float) and value == 0 for value in heavy):
                continue  # the directory has rows with 0.0 and with -0.0, which functions distinguish
            row = (*values, *heavy)
            rows[tuple(map(order_key, row))] = row
        if len(rows) > MAX_EVALUATED_ROWS:
            return None
    return list(rows.values())
