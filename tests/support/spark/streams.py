"""Streaming queries for tests: they run until they have read all rows, and tests read what they wrote."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming import StreamingQuery

Rows = list[tuple[Any, ...]]


class FileSink:
    """Files that Spark's own sink writes, exactly once, and the checkpoint of the query that does.

    Args:
        spark: the session.
        folder: for both.
    """

    def __init__(self, spark: SparkSession, folder: Path) -> None:
        self._spark = spark
        self.files = folder / "out"
        self.checkpoint = folder / "checkpoint"

    def run(self, frame: DataFrame, **trigger: Any) -> StreamingQuery:
        """Run a query until it has read what there is, and return it."""
        writer = frame.writeStream.format("parquet").option("checkpointLocation", str(self.checkpoint))
        query = writer.trigger(**(trigger or {"availableNow": True})).start(str(self.files))
        query.awaitTermination()
        return query

    def rows(self) -> Rows:
        """Return the rows written so far, in order."""
        return sorted(tuple(row) for row in self._spark.read.parquet(str(self.files)).collect())


def into_table(
    frame: DataFrame, table: str, checkpoint: Path, mode: str = "append", by: Sequence[str] = ()
) -> StreamingQuery:
    """Write all rows into a table, and return the query.

    A missing table is made with these partition columns.
    """
    writer = frame.writeStream.outputMode(mode).option("checkpointLocation", str(checkpoint))
    query = (writer.partitionBy(*by) if by else writer).trigger(availableNow=True).toTable(table)
    query.awaitTermination()
    return query


def batches(query: StreamingQuery) -> list[int]:
    """Return how many rows each batch of a query read that had any."""
    return [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]


def forget_last_commit(checkpoint: Path) -> int:
    """Leave a checkpoint as after a crash between a query's commit and its record; return the batch."""
    last = max(
        (path for path in (checkpoint / "commits").iterdir() if path.name.isdigit()),
        key=lambda path: int(path.name),
    )
    last.unlink()
    (last.parent / f".{last.name}.crc").unlink(missing_ok=True)
    return int(last.name)


def in_order(rows: Iterable[Any]) -> Rows:
    """Return rows as sorted tuples."""
    return sorted(tuple(row) for row in rows)
