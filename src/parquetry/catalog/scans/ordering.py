"""Sort the rows of a scan in Spark's order, and keep the first of them.

NULL comes first, and last in a descending order. NaN is the greatest number, and -0.0 equals 0.0. With a
limit, memory holds the first rows and some batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

_ROWS_PER_SORT = 1 << 20
"""Rows that are gathered before those beyond the limit are dropped."""


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The order of a scan's rows.

    Attributes:
        column: the column that they are sorted by.
        descending: whether the greatest values come first.
    """

    column: str
    descending: bool


def sort_rows(
    batches: Iterable[pa.RecordBatch], order: RowOrder, limit: int | None, names: tuple[str, ...]
) -> Iterator[pa.RecordBatch]:
    """Yield rows in an order.

    Args:
        batches: the rows, with the column of the order.
        order: how to sort them.
        limit: how many at most, or None for all.
        names: the columns to give.
    """
    gathered: list[pa.RecordBatch] = []
    count = 0
    for batch in batches:
        gathered.append(batch)
        count += batch.num_rows
        if limit is not None and count > limit + _ROWS_PER_SORT:
            gathered = _first(gathered, order, limit).to_batches()
            count = limit
    if gathered:
        yield from _first(gathered, order, limit).select(list(names)).to_batches()


def _first(batches: list[pa.RecordBatch], order: RowOrder, limit: int | None) -> pa.Table:
    table = pa.Table.from_batches(batches)
    keys = _sort_keys(table.column(order.column))
    way = "descending" if order.descending else "ascending"
    positions = pc.sort_indices(pa.table(keys), sort_keys=[(name, way) for name in keys])
    return table.take(positions if limit is None else positions[:limit])


def _sort_keys(column: pa.ChunkedArray) -> dict[str, pa.ChunkedArray]:
    """Return keys that have Spark's order together: no NULL, NaN, value."""
    keys = {"known": pc.is_valid(column).cast(pa.int8())}
    if pa.types.is_floating(column.type):
        keys["nan"] = pc.fill_null(pc.is_nan(column), False).cast(pa.int8())
        column = pc.add(column, pa.scalar(0.0, column.type))
    elif pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    return keys | {"value": column}
