"""Batches of streaming queries: check their table, and run a batch that was committed before.

The commit itself ensures that a batch is committed once (`metastore.storage.model.StreamBatch`).
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from parquetry.errors import StreamError, UnsupportedError
from parquetry.identifiers import part_text
from parquetry.metastore import StreamBatch, TableSnapshot
from parquetry.planner import Lake
from parquetry.planner.protocol import questions


def batch_of(lake: Lake, snapshot: TableSnapshot, batch: questions.Batch) -> StreamBatch:
    """Return the batch to write.

    Args:
        lake: the catalog.
        snapshot: the table that has the name now.
        batch: Spark's description of the batch.

    Raises:
        StreamError: another table had the name when the query began.
        UnsupportedError: the table enforces a constraint.
    """
    if snapshot.id.hex() != batch.table:
        raise StreamError(
            f"Table {lake.full_name(snapshot)} was dropped or replaced since the streaming query {batch.query} began, and one of the same "
            "name was made: start the query again to write into that one."
        )
    if snapshot.metadata.checks:
        names = ", ".join(part_text(each.name) for each in snapshot.metadata.checks)
        raise UnsupportedError(
            f"A streaming query cannot write into table {lake.full_name(snapshot)}, as Spark tests the rows of statements alone by its "
            f"constraints ({names}): write each batch by a statement, with foreachBatch, or say ALTER TABLE … DROP CONSTRAINT."
        )
    return StreamBatch(batch.query, batch.number)


def evaluate(rows: DataFrame) -> None:
    """Compute rows and discard them. A query with state needs this to reach the batch's state."""
    rows.write.format("noop").mode("overwrite").save()
