"""Estimate the gain of directories for heavy values: how much queries read with and without them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parquetry.layout import AutoSkew, Counted, Heavy, choose
from parquetry.types import ColumnType


@dataclass(frozen=True, slots=True)
class Suggestion:
    """The bytes that a query on one value of a partition would read, with and without directories.

    Attributes:
        partition: the values of the partition columns.
        cell: the heavy values, or None for any light value.
        rows: number of rows with these values; for None, with any light value.
        share: their fraction of the partition's rows.
        bytes: bytes that the query would read with directories, if all rows have the same size.
        before: bytes that it reads without directories: the whole partition.
    """

    partition: Heavy
    cell: Heavy | None
    rows: int
    share: float
    bytes: int
    before: int


def suggestions(
    counted: Counted, size: int, auto: AutoSkew, columns: Sequence[str], types: Sequence[ColumnType]
) -> Iterator[Suggestion]:
    """Yield a suggestion for each heavy value of a partition, and one for all light values.

    If no value is heavy, yield nothing.

    Args:
        counted: how often values occur.
        size: the total bytes of the partition's files.
        auto: the limits that make a value heavy.
        columns: the skewed columns.
        types: the types of the columns.

    In a partition of 100 MB, half of the rows have the value 10, and a quarter 20. A query on 10 would read
    50 MB, and a query on 33 the other 25 MB:

    >>> from parquetry.types import parse_type
    >>> counted = Counted((1,), 1000, {(10,): 500, (20,): 250})
    >>> for each in suggestions(counted, 100, AutoSkew(0.05, 16), ["x"], [parse_type("int")]):
    ...     print(each.cell, each.share, each.bytes, each.before)
    (10,) 0.5 50 100
    (20,) 0.25 25 100
    None 0.25 25 100
    """
    heavy = choose(counted.counts, counted.rows, auto, columns, types)
    if not heavy:
        return
    told: list[tuple[Heavy | None, int]] = [(cell, counted.counts[cell]) for cell in heavy]
    told.append((None, counted.rows - sum(rows for _, rows in told)))
    for cell, rows in told:
        yield Suggestion(
            counted.partition, cell, rows, rows / counted.rows, round(size * rows / counted.rows), size
        )
