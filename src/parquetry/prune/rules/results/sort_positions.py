"""The positions of files in an order: between which places the sort keys of their rows are.

A position is a number: 0 for the value that comes first, and so on. NULL has a position before all values or
after them. For `ORDER BY v DESC NULLS LAST` and three files of eight rows that all match:

| file | least | greatest | NULLs | no row is before | rows that are not after a position |
|------|-------|----------|-------|------------------|------------------------------------|
| 0    | 10    | 30       | 0     | 1                | 8 rows not after 3                 |
| 1    | 20    | 40       | 3     | 0                | 5 rows not after 2, 3 not after 4  |
| 2    | –     | –        | all   | 4                | 8 rows not after 4                 |

Here 40 is position 0, 30 is 1, 20 is 2, 10 is 3, and NULL is 4. Bounds may be wider than the values, so a
file promises its rows at its last position only.

Where distinct values are counted, as for `GROUP BY v ORDER BY v LIMIT k`, files promise values. An exact
bound is a value. Of intervals that do not overlap, each has a value.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import Flags, Indices, Numbers, list_bounds_in_files
from parquetry.metastore import FileBlock, TableMetadata
from parquetry.predicate import NO_NULL, ONLY_NULL, SOME_NULL, direction_in
from parquetry.prune.needed_rows import FirstRows, SortKey
from parquetry.prune.rule import PruningRequest, Remaining
from parquetry.prune.rules.file_knowledge import FileKnowledge, names_identify_columns
from parquetry.prune.rules.results.sort_keys import KeyBounds, key_bounds, sort_expression
from parquetry.types import ColumnType, Value, sql_literal

ANYWHERE = -2
"""The position before which a file is if it has to be read in any case; NULL's may be -1."""
_INT64_ENDS = (-(1 << 63), (1 << 63) - 1)
"""Stand-ins for integers that are not known."""
_VALUE_TYPES = (int, float, str, bytes, Decimal)
"""Types of values. Other stand-ins have another type."""


@dataclass(frozen=True, slots=True)
class Promise:
    """Rows of files that are certainly not after a position: parallel arrays, in the order of positions.

    Where distinct values are counted, `rows` counts values.
    """

    positions: Numbers
    rows: Numbers
    files: Indices

    @property
    def total(self) -> int:
        """Return the number of rows."""
        return int(self.rows.sum())


@dataclass(frozen=True, slots=True)
class SortPositions:
    """The positions of files in the order of a sort key.

    Attributes:
        first: for each file, the position before which it has no row.
        last: for each file, the position after which it has no row, but for NULLs.
        promise: the rows that are certainly not after a position.
        values: the values by ascending order; for a descending key, the last one is position 0.
        descending: whether the key is descending.
        nullable: for each file, whether the key may be NULL in some rows.
    """

    first: Numbers
    last: Numbers
    promise: Promise
    values: NDArray[Any]
    descending: bool
    nullable: Flags

    @property
    def has_nan(self) -> bool:
        """Return whether a file may have NaN, which is then the last value."""
        return bool(len(self.values)) and self.values[-1] != self.values[-1]

    def bound(self, position: int) -> tuple[Value] | tuple[()]:
        """Return the value at a position, which may be NULL, or an empty tuple if it is not known."""
        if position == ANYWHERE:
            return ()
        if not 0 <= position < len(self.values):
            return (None,)
        value = self.values[len(self.values) - 1 - position if self.descending else position]
        value = value.item() if isinstance(value, np.generic) else value
        known = isinstance(value, _VALUE_TYPES) and value not in _INT64_ENDS
        return (value,) if known else ()

    def value_text(self, position: int, kind: ColumnType) -> str | None:
        """Return the value at a position as SQL, or None if it is not known."""
        bound = self.bound(position)
        return sql_literal(kind, bound[0]) if bound else None


def sort_positions(
    scan: PruningRequest, remaining: Remaining, block: FileBlock, first: FirstRows, matching: Flags
) -> SortPositions | None:
    """Return the positions of files, or None if there are no statistics of the key.

    Args:
        scan: the request.
        remaining: the candidates; the files are in its partitions.
        block: the files.
        first: the wanted rows, with a sort key that `refusal` does not refuse.
        matching: the files that have only rows that match, as `fully_matching` returns them.
    """
    key, metadata = first.key, scan.snapshot.metadata
    if key is None:
        return None
    bounds = key_bounds(scan, FileKnowledge(metadata, remaining.partitions, block), key)
    if bounds is None:
        return None
    values, least, greatest = _ranks(bounds)
    count = len(values)
    before, last = (count - 1 - greatest, count - 1 - least) if key.descending else (least, greatest)
    null = -1 if key.nulls_first else count
    only_null, some_null = bounds.nulls == ONLY_NULL, bounds.nulls == SOME_NULL
    before, last = np.where(only_null, null, before), np.where(only_null, null, last)
    proved = matching & bounds.proof
    rows = block.files.rows
    whole = np.flatnonzero(proved & ((bounds.nulls == NO_NULL) | only_null))
    mixed = np.flatnonzero(proved & some_null)
    of_nulls = _null_counts(metadata, block, key, mixed)
    if first.distinct:
        valued = np.concatenate([whole[~only_null[whole]], mixed[(of_nulls >= 0) & (of_nulls < rows[mixed])]])
        nulled = np.concatenate([whole[only_null[whole]], mixed[of_nulls > 0]])
        points = _exact_ends(metadata, block, key, np.flatnonzero(proved))
        ends = (count - 1 - least, count - 1 - greatest) if key.descending else (least, greatest)
        parts = [(before[valued], last[valued], valued), (np.full(len(nulled), null),) * 2 + (nulled,)]
        parts += [(end[files], end[files], files) for end, files in zip(ends, points, strict=True)]
        promise = _distinct_values(parts, rows)
    else:
        unknown = of_nulls < 0
        # without a count of NULLs, every row is either NULL or not after the last value
        with_value = np.where(unknown, rows[mixed] if key.nulls_first else 0, rows[mixed] - of_nulls)
        with_null = np.where(unknown, 0 if key.nulls_first else rows[mixed], of_nulls)
        promise = _promise(
            np.concatenate([last[whole], last[mixed], np.full(len(mixed), null)]),
            np.concatenate([rows[whole], with_value, with_null]),
            np.concatenate([whole, mixed, mixed]),
        )
    if key.nulls_first:
        before = np.where(some_null, null, before)
    before = np.where(bounds.fails, ANYWHERE, before)
    return SortPositions(before, last, promise, values, key.descending, only_null | some_null)


def _promise(positions: Numbers, rows: Numbers, files: Indices) -> Promise:
    order = np.lexsort((-rows, positions))
    return Promise(positions[order], rows[order], files[order])


def _distinct_values(intervals: Sequence[tuple[Numbers, Numbers, Indices]], rows: Numbers) -> Promise:
    """Return one value for each of the most intervals that do not overlap.

    Args:
        intervals: first and last positions between which a file has a value, and the file's index.
        rows: of all files; one without rows has no value.
    """
    starts, ends, files = (np.concatenate([each[part] for each in intervals]) for part in (0, 1, 2))
    order = np.lexsort((-starts, ends))
    order = order[rows[files[order]] > 0]
    chosen: list[int] = []
    for index, start in zip(order.tolist(), starts[order].tolist(), strict=True):
        if not chosen or start > ends[chosen[-1]]:
            chosen.append(index)
    return Promise(ends[chosen], np.ones(len(chosen), np.int64), files[chosen])


def _exact_ends(
    metadata: TableMetadata, block: FileBlock, key: SortKey, files: Indices
) -> tuple[Indices, Indices]:
    """Return the files whose least bound is a value, and the files whose greatest bound is one."""
    none = np.zeros(0, np.int64)
    column = None if key.column is None else metadata.column(key.column)
    if column is None or column.name in metadata.partition_by or not column.column_type.facts.plain:
        return none, none
    bounds = list_bounds_in_files(column, block.files.take(files))
    return (
        files[
            [each is not None and each.proof and each.min is not None and each.min_exact for each in bounds]
        ],
        files[
            [each is not None and each.proof and each.max is not None and each.max_exact for each in bounds]
        ],
    )


def _null_counts(metadata: TableMetadata, block: FileBlock, key: SortKey, files: Indices) -> Numbers:
    """Return how many rows of some files have a key that is NULL, or -1 where it is not known.

    A monotone expression is NULL where its column is.
    """
    expression = sort_expression(metadata, key)
    source = None if expression is None else direction_in(expression)
    if not len(files) or source is None or not names_identify_columns(metadata):
        return np.full(len(files), -1, np.int64)
    bounds = list_bounds_in_files(metadata.column(source[0].name), block.files.take(files))
    return np.array([-1 if each is None or each.nulls is None else each.nulls for each in bounds], np.int64)


def _ranks(bounds: KeyBounds) -> tuple[NDArray[Any], Numbers, Numbers]:
    """Return the distinct bounds in order, and the index of each least and greatest bound among them."""
    least, greatest = bounds.least, bounds.greatest
    values, ranks = np.unique(np.concatenate([least, greatest]), return_inverse=True)
    return values, ranks[: len(least)].astype(np.int64), ranks[len(least) :].astype(np.int64)
