"""`suggest_skew`: the heavy values of a table, and what directories for them would save.

Their gain is estimated: how much queries read with directories and without them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, NamedTuple

from parquetry import layout, metastore as ms
from parquetry.errors import DuplicateSkewedColumnError, UnsupportedError
from parquetry.layout import AutoSkew, Counted, Heavy, choose
from parquetry.operations.operation import Context, TableName, Where, operation
from parquetry.types import ColumnType, sql_literal


class HeavyValue(NamedTuple):
    """A heavy value of a partition, and the bytes that a query on it would read, and reads now.

    `value` is None for all other values, and `partition` for a table without partition columns.
    """

    columns: str
    partition: str | None
    value: str | None
    rows: int
    share: float
    bytes_read: int
    bytes_read_now: int


@operation(
    "Shows the heavy values of each partition, and what a query on one would read if it had a directory.",
    by_engine=True,
)
def suggest_skew(
    context: Context,
    table: TableName,
    columns: Annotated[
        list[str | None] | None,
        "Columns whose values are counted together; the default is the table's skewed columns, or else each "
        "column alone.",
    ] = None,
    where: Where = None,
    share: Annotated[float, "The least share of a partition's rows that a heavy value has."] = 0.05,
    values: Annotated[int, "The most heavy values of a partition."] = 16,
) -> Iterator[HeavyValue]:
    """Count values, and show the heavy ones; see `suggestions`."""
    from parquetry.compaction import partition_condition

    snapshot, auto = context.find(table), layout.AutoSkew(share, values)
    if where is not None:
        partition_condition(snapshot, where)  # refuses here what our grammar does not accept
    for together in _together(snapshot, columns):
        yield from _heavy_values(context, snapshot, together, where, auto)


def _together(snapshot: ms.TableSnapshot, names: Sequence[str | None] | None) -> list[list[ms.TableColumn]]:
    """Return the columns to look at. The values of columns in one list are counted together.

    Raises:
        ColumnNotFoundError: the table has no such column.
        UnsupportedError: a column is not in the files, or its values cannot be compared.
        DuplicateSkewedColumnError: a column is named twice.
    """
    metadata = snapshot.metadata
    skew = metadata.arrangement.skew
    if not names:
        if skew is not None:
            return [skew.columns_among(metadata.columns)]
        return [[column] for column in metadata.data_columns if column.column_type.primitive]
    columns = [metadata.column(str(name)) for name in names]
    for i, column in enumerate(columns):
        if column in columns[:i]:
            raise DuplicateSkewedColumnError(
                f"Duplicate skewed column name: {names[i]}. Name it once in columns."
            )
        if column not in metadata.data_columns or not column.column_type.primitive:
            raise UnsupportedError(
                f"Table {snapshot.label} cannot be skewed by {column.name}, which is a partition column or of a type whose "
                "values make no names of directories: name another column."
            )
    return [columns]


def _heavy_values(
    context: Context,
    snapshot: ms.TableSnapshot,
    columns: Sequence[ms.TableColumn],
    where: str | None,
    auto: layout.AutoSkew,
) -> Iterator[HeavyValue]:
    names, types = [column.name for column in columns], [column.column_type for column in columns]
    counts = context.engine.heavy_values(context.full_name(snapshot), snapshot, where, columns, auto.share)
    for counted in sorted(counts, key=lambda suggestion: snapshot.key_of(suggestion.partition)):
        partition = snapshot.partition(counted.partition)
        if partition is None:
            continue  # an unpartitioned table without rows
        name = snapshot.describe(partition.key) if partition.values else None
        for suggestion in suggestions(counted, partition.bytes, auto, names, types):
            cell = None if suggestion.cell is None else ", ".join(map(sql_literal, types, suggestion.cell))
            yield HeavyValue(
                ", ".join(names),
                name,
                cell,
                suggestion.rows,
                suggestion.share,
                suggestion.bytes,
                suggestion.before,
            )


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
