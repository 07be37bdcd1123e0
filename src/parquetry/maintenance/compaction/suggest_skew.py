"""What directories for heavy values would be worth: which values there are, and what queries would read with and without."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parquetry.layout import AutoSkew, Counted, Heavy, choose
from parquetry.types import ColumnType


@dataclass(frozen=True, slots=True)
class Suggestion:
    """What a query on one value of a partition reads.

    Attributes:
        partition: values of the partition columns.
        cell: the heavy values; None: any other, a light one.
        rows: with these values; of light ones all together.
        share: of the partition's rows.
        bytes: what these rows take of the partition's files, if all rows take the same: what the query would read.
        before: what it reads where nothing is known of values.
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
    """Yield what each heavy value of a partition, and a light one, would have a query read; nothing if none is heavy.

    Args:
        counted: how often values occur.
        size: bytes of the partition's files.
        auto: what is heavy enough.
        columns: of the values.
        types: of the columns.

    Of 100 MB, 10 is half of the rows and 20 a quarter. A query on 10 would read 50 MB, one on 33 the 25 MB of the rest:

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
