"""ANALYZE TABLE: show the statistics of tables. Every commit keeps them; there is no computation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from parquetry.errors import UnsupportedError
from parquetry.identifiers import join_name
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
        totals = table.totals
        unknown = (
            f" The rows of {quantity(totals.uncounted, 'partition')} are not known."
            if totals.uncounted
            else ""
        )
        shown = join_name((lake.name, table.database, table.name))
        rows.append(
            (shown, totals.partitions, totals.files, totals.rows, totals.bytes, _NOTHING_TO_COMPUTE + unknown)
        )
    return answers.Called(_RESULT_SCHEMA, wire_rows(rows), None)


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {questions.Analyze: _analyze}
