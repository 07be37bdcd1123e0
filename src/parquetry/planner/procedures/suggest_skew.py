"""`CALL system.suggest_skew`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Annotated

from parquetry.advice import suggestions
from parquetry.compaction.partition_condition import partition_condition
from parquetry.data_files import TableColumn
from parquetry.errors import DuplicateSkewedColumnError, UnsupportedError
from parquetry.layout import AutoSkew
from parquetry.metastore import TableSnapshot
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.procedure import Arguments, Procedure, Row
from parquetry.types import sql_literal


class SuggestSkew(Arguments, frozen=True, kw_only=True):
    """See `suggestions`."""

    columns: Annotated[
        list[str | None] | None,
        "Columns whose values are counted together; the default is the table's skewed columns, or else each "
        "column alone.",
    ] = None
    where: Annotated[str | None, "A condition on partition columns: only these partitions."] = None
    share: Annotated[float, "The least share of a partition's rows that a heavy value has."] = 0.05
    values: Annotated[int, "The most heavy values of a partition."] = 16


def _run(lake: Lake, arguments: SuggestSkew) -> Iterator[Row]:
    snapshot = lake.find(arguments.table)
    auto = AutoSkew(arguments.share, arguments.values)
    if arguments.where is not None:
        partition_condition(snapshot, arguments.where)  # refuses here what our grammar does not accept
    for columns in _together(snapshot, arguments.columns):
        yield from _rows(lake, snapshot, columns, arguments.where, auto)


def _together(snapshot: TableSnapshot, names: Sequence[str | None] | None) -> list[list[TableColumn]]:
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
            return [
                [column for name in skew.columns for column in metadata.columns if column.physical == name]
            ]
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


def _rows(
    lake: Lake, snapshot: TableSnapshot, columns: Sequence[TableColumn], where: str | None, auto: AutoSkew
) -> Iterator[Row]:
    names, types = [column.name for column in columns], [column.column_type for column in columns]
    found = lake.engine.heavy_values(lake.full_name(snapshot), snapshot, where, columns, auto.share)
    for counted in sorted(found, key=lambda each: snapshot.key_of(each.partition)):
        partition = snapshot.partition(counted.partition)
        if partition is None:
            continue  # an unpartitioned table without rows
        name = snapshot.describe(partition.key) if partition.values else None
        for each in suggestions(counted, partition.bytes, auto, names, types):
            cell = None if each.cell is None else ", ".join(map(sql_literal, types, each.cell))
            yield ", ".join(names), name, cell, each.rows, each.share, each.bytes, each.before


SUGGEST_SKEW = Procedure(
    "suggest_skew",
    "Shows the heavy values of each partition, and what a query on one would read if it had a directory.",
    SuggestSkew,
    (
        ("columns", "string"),
        ("partition", "string"),
        ("value", "string"),
        ("rows", "long"),
        ("share", "double"),
        ("bytes_read", "long"),
        ("bytes_read_now", "long"),
    ),
    _run,
    by_engine=True,
)
