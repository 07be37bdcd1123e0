"""Batches of streaming queries: which table they are for, and what becomes of one that was committed before.

That a batch is committed once is the commit's own affair (`metastore.storage.model.StreamBatch`).
"""

from __future__ import annotations

from pyspark.sql import DataFrame

from parquetry.errors import StreamError, UnsupportedError
from parquetry.identifiers import part_text
from parquetry.metastore.storage import StreamBatch
from parquetry.metastore.versions import TableSnapshot
from parquetry.planner import Lake
from parquetry.planner.protocol import questions


def batch_of(lake: Lake, snapshot: TableSnapshot, batch: questions.Batch) -> StreamBatch:
    """Return the batch that is to be written.

    Args:
        lake: the catalog.
        snapshot: the table that has the name now.
        batch: what Spark says of the batch.

    Raises:
        StreamError: another table had the name when the query began.
        UnsupportedError: a constraint is enforced in the table.
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
    """Have rows made and given away: a query that keeps state comes to that of the batch only by making its rows."""
    rows.write.format("noop").mode("overwrite").save()
