"""`suggest_skew`: the heavy values of a table, and what directories for them would save."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated, NamedTuple

from parquetry import advice, layout, metastore as ms
from parquetry.errors import DuplicateSkewedColumnError, UnsupportedError
from parquetry.operations.operation import Context, TableName, Where, operation
from parquetry.types import sql_literal


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
    """Count values, and show the heavy ones; see `advice.suggestions`."""
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
        for suggestion in advice.suggestions(counted, partition.bytes, auto, names, types):
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
