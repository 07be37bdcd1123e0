"""ANALYZE TABLE: show the statistics that every commit keeps, and count distinct values FOR COLUMNS."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from parquetry.data_files import TableColumn
from parquetry.errors import UnsupportedError
from parquetry.identifiers import join_name
from parquetry.metastore import TableSnapshot, Transaction, commit
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.signature import schema_of, wire_rows
from parquetry.planner.protocol import answers, questions
from parquetry.texts import quantity

_RESULT_SCHEMA = schema_of(
    (
        ("table", "string"),
        ("partitions", "long"),
        ("files", "long"),
        ("rows", "long"),
        ("bytes", "long"),
        ("detail", "string"),
    )
)
_NOTHING_TO_COMPUTE = "Every commit keeps the statistics: nothing was to be computed."


def _analyze(lake: Lake, q: questions.Analyze) -> answers.Called:
    """Return the statistics of tables, a row each.

    Raises:
        ColumnNotFoundError: a column is named that the table does not have.
        UnsupportedError: PARTITION names one that is no partition column.
    """
    rows = []
    for name in q.names:
        table = lake.metastore.table(lake.database(q.namespace), name)
        for column in (*q.columns, *q.partition_columns):
            table.metadata.column(column)
        for column in q.partition_columns:
            if table.metadata.column(column).name not in table.metadata.partition_by:
                raise UnsupportedError(
                    f"ANALYZE TABLE {lake.full_name(table)} PARTITION: {column} is no partition column; those are "
                    f"{', '.join(table.metadata.partition_by) or 'none'}."
                )
        detail = _NOTHING_TO_COMPUTE
        counted = _columns_to_count(table, q)
        if counted:
            table = _count(lake, table, counted)
            detail = f"Counted the distinct values of {quantity(len(counted), 'column')}."
        totals = table.totals
        unknown = (
            f" The rows of {quantity(totals.uncounted, 'partition')} are not known."
            if totals.uncounted
            else ""
        )
        shown = join_name((lake.name, table.database, table.name))
        rows.append((shown, totals.partitions, totals.files, totals.rows, totals.bytes, detail + unknown))
    return answers.Called(_RESULT_SCHEMA, wire_rows(rows), None)


def _columns_to_count(table: TableSnapshot, q: questions.Analyze) -> list[TableColumn]:
    """Return the columns whose distinct values the metastore does not have, and an optimizer can use."""
    data = table.metadata.data_columns
    named = {table.metadata.column(name).name for name in q.columns}
    return [
        column
        for column in data
        if (q.all_columns or column.name in named) and column.column_type.facts.counted
    ]


def _count(lake: Lake, table: TableSnapshot, columns: Sequence[TableColumn]) -> TableSnapshot:
    """Count distinct values, and commit them with the table's definition, unless they are what it has."""
    lake.metastore.require_owned()
    counts = lake.engine.count_distinct(lake.full_name(table), table, columns)
    names = {column.physical for column in columns}
    kept = tuple(each for each in table.metadata.counted if each.column not in names)
    metadata = msgspec.structs.replace(table.metadata, counted=(*kept, *counts))
    if set(metadata.counted) == set(table.metadata.counted):
        return table
    transaction = Transaction(table, "analyze")
    transaction.set_metadata(metadata)
    return commit(transaction)


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {questions.Analyze: _analyze}
