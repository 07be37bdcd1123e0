"""How the rows of a write are arranged: cast to what the files hold, clustered into tasks, sorted.

Rows are clustered by partition, so that a partition gets one file for each `target-file-size` and not one for
each task. Where there is nothing to cluster by they are not shuffled, which costs as much as all the rest of a write and
destroys an order that lets readers leave out files: a write of little is done by fewer tasks instead. Which arrangement a write
asks for is the caller's to say; the files are written in `insert`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, StructType

from parquetry.config import Settings
from parquetry.definition import sort_paths
from parquetry.identifiers import quoted
from parquetry.layout import physical_schema
from parquetry.metastore.storage import TableMetadata
from parquetry.metastore.versions import TableSnapshot
from parquetry.spark.write.slots import RowSlots

_SHUFFLED_BYTES_PER_WRITTEN = 2
"""Shuffled rows are about twice as large as the files they end in."""
_MIN_SHUFFLE_TASKS = 1000
"""The least number of tasks that rows are shuffled into; adaptive execution then packs small tasks together.

With 4 tasks, 300 partitions of 2 MB make tasks of 150 MB. Where a task may have 128 MB, each is split, and the cut goes
through the middle of a partition. With 1,000 tasks most hold one partition or none.
"""
_MIN_TASK_BYTES = 1 << 20
"""The bytes of rows that a task has at least where rows are not shuffled and Spark knows how few there are.

It is the least to which adaptive execution packs the tasks of a shuffle. A task for a megabyte costs as much as the megabyte.
"""
_MAX_EXAMINED_TASKS = 10_000
"""No query is looked at that would have more tasks of this size: it makes rows enough for those that it has."""
_TEXT_TYPES = frozenset(("string", "varchar", "char", "binary"))


class ArrangedRows(NamedTuple):
    """The rows of a write, ready to be written.

    Attributes:
        rows: with the columns of the files.
        tasks: how many tasks write at most, each what some tasks of the query, one after the other, have made; 0: each of these writes.
        one_partition: whether all rows are of one partition, so that they need no order.
    """

    rows: DataFrame
    tasks: int = 0
    one_partition: bool = False


@dataclass(frozen=True, slots=True)
class RowArrangement:
    """How the rows of one write are arranged.

    Attributes:
        partition_columns: the partition columns' names in the files; rows of a partition come together. The number of
            a row's slot is the last of them, where there are slots (`slots`).
        sort_by: names in the files, as SQL writes them, of the columns and fields that rows are sorted by, within a partition.
        file_bytes: size to aim at for one file.
        clustered: whether rows are shuffled at all; if not, they stay in the tasks that they are in.
        gathered: whether they are so where nothing tells which belong together: rows of many small files, of which few are to
            become, and rows of a stream's batch, of which nobody knows how few they are.
        split: whether rows that come together may be more than one task's.
        empty_buckets: whether buckets without rows get files; None: those of version 1 alone.
    """

    partition_columns: tuple[str, ...]
    sort_by: tuple[str, ...]
    file_bytes: int
    clustered: bool
    gathered: bool = False
    split: bool = True
    empty_buckets: bool | None = None

    @classmethod
    def from_settings(
        cls, metadata: TableMetadata, settings: Settings, *, gathered: bool = False
    ) -> RowArrangement:
        """Return the arrangement that the settings of a write ask for.

        Args:
            metadata: of the table.
            settings: that hold for the write.
            gathered: as the attribute says.

        Raises:
            ConfigurationError: a setting of the session cannot be used.
            PropertyError: an option or a property cannot, or `sort-by` names no column that has an order.
        """
        return cls(
            tuple(column.physical for column in metadata.partition_columns),
            tuple(".".join(map(quoted, path)) for path in sort_paths(metadata, settings)),
            settings["target-file-size"],
            settings["distribution"] == "auto",
            gathered,
            empty_buckets=settings["empty-buckets"],
        )

    def by_slot(self, slots: RowSlots) -> RowArrangement:
        """Return the same with the rows of each slot together, if there are slots; all the rows of a bucket are one task's."""
        if len(slots.directories) == 1:
            return self
        columns = (*self.partition_columns, slots.column)
        if not slots.bucketed:
            return replace(self, partition_columns=columns)
        return replace(self, partition_columns=columns, clustered=True, split=False)

    def apply(self, rows: DataFrame, order: Sequence[Column] = ()) -> ArrangedRows:
        """Return rows, with the columns of the files, clustered and sorted; a query's own order is left alone.

        Args:
            rows: to arrange.
            order: of the rows of one slot, before `sort_by`.
        """
        if self.partition_columns or self.sort_by:
            if self._is_one_partition(rows):
                return ArrangedRows(rows, self._tasks(rows), one_partition=True)
            if self.clustered:
                rows = self._cluster(rows)
            first = [sf.col(quoted(name)) for name in self.partition_columns]
            then = [sf.col(name) for name in self.sort_by]
            return ArrangedRows(rows.sortWithinPartitions(*first, *order, *then))
        if self.gathered:
            return ArrangedRows(self._cluster(rows) if self.clustered and not _is_arranged(rows) else rows)
        return ArrangedRows(rows, self._tasks(rows))

    def _is_one_partition(self, rows: DataFrame) -> bool:
        """Return whether a query says that its rows are all of one partition, in which they have no order."""
        if self.sort_by or self.gathered or not self.split:
            return False
        return bool(_facts(rows).constant(rows._jdf, list(self.partition_columns)))

    def _tasks(self, rows: DataFrame) -> int:
        """Return the most tasks that are to write rows which are not shuffled; 0: as many as there are."""
        if not self.clustered or _is_arranged(rows):
            return 0
        size = _facts(rows).bytes(rows._jdf)
        return (
            0
            if not 0 <= size <= _MAX_EXAMINED_TASKS * _MIN_TASK_BYTES
            else max(1, -(-size // _MIN_TASK_BYTES))
        )

    def _cluster(self, rows: DataFrame) -> DataFrame:
        spark = rows.sparkSession
        door = spark._jvm.org.apache.spark.sql.parquetry.datafiles.FileWriter
        ranges = [] if self.partition_columns else list(self.sort_by)
        size = _SHUFFLED_BYTES_PER_WRITTEN * self.file_bytes
        settings = _settings(spark, self)
        return DataFrame(door.cluster(rows._jdf, list(self.partition_columns), ranges, size, settings), spark)


def _settings(spark: SparkSession, arrangement: RowArrangement) -> dict[str, str]:
    """Return the settings of Spark that clustering rows needs, whatever the session's own are."""
    adaptive = "spark.sql.adaptive"
    known = f"{adaptive}.coalescePartitions.initialPartitionNum", "spark.sql.shuffle.partitions"
    clusters = max(_MIN_SHUFFLE_TASKS, *(int(spark.conf.get(key, None) or 0) for key in known))
    settings = {
        f"{adaptive}.enabled": "true",  # how many files there are to be is known only once the rows are
        f"{adaptive}.coalescePartitions.enabled": "true",
        # a split partition would be sorted piece by piece
        f"{adaptive}.optimizeSkewsInRebalancePartitions.enabled": "true"
        if arrangement.split and not arrangement.sort_by
        else "false",
    }
    if arrangement.partition_columns or arrangement.sort_by:
        settings[f"{adaptive}.coalescePartitions.initialPartitionNum"] = str(clusters)
    if arrangement.partition_columns:
        # a partition stays in one task, however many there are: keep all cores busy
        settings[f"{adaptive}.coalescePartitions.parallelismFirst"] = "true"
    else:  # each task makes a file
        settings[f"{adaptive}.coalescePartitions.minPartitionNum"] = "1"
    return settings


def _facts(rows: DataFrame) -> Any:
    return rows.sparkSession._jvm.org.apache.spark.sql.parquetry.write.RowsFacts


def _is_arranged(frame: DataFrame) -> bool:
    """Return whether the query says itself how its rows are arranged (ORDER BY, DISTRIBUTE BY, a hint)."""
    plan = frame._jdf.queryExecution().analyzed()
    while plan.nodeName() in ("Project", "SubqueryAlias", "View", "Filter", "GlobalLimit", "LocalLimit"):
        plan = plan.children().head()
    return plan.nodeName() in ("Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions")


def stored_rows(snapshot: TableSnapshot, rows: DataFrame) -> DataFrame:
    """Return rows with the columns of the files, made of the given ones in their order."""
    metadata = snapshot.metadata
    schema = physical_schema(metadata.columns)
    spark = rows.sparkSession
    door = spark._jvm.org.apache.spark.sql.parquetry.write.StoredRows
    rows = DataFrame(door.of(rows._jdf, json.dumps(schema)), spark)
    in_path = {each.physical for each in metadata.partition_columns if each.column_type.name in _TEXT_TYPES}
    if not in_path:
        return rows
    columns = []
    for field in StructType.fromJson(schema).fields:
        column = sf.col(quoted(field.name))
        if field.name in in_path:
            column = _in_path(snapshot, field.name, column, field.dataType).alias(field.name)
        columns.append(column)
    return rows.select(*columns)


def _in_path(snapshot: TableSnapshot, name: str, column: Column, type_: DataType) -> Column:
    """Return a partition column of texts as a directory's name holds it, which fails a task where it cannot."""
    refusal = (
        f"{unnameable(snapshot)}{name} is given: bytes that are not UTF-8 text, or the character NUL. "
        "Write them as text, with hex() or base64(). Nothing was written."
    )
    text = column.cast("string")
    fits = sf.is_valid_utf8(text) & ~sf.contains(text, sf.lit("\0"))
    column = sf.when(~fits, sf.raise_error(sf.lit(refusal)).cast(type_)).otherwise(column)
    if type_.typeName() == "binary":
        return column
    return sf.nullif(column, sf.lit(""))  # a directory's name cannot hold it; Hive and Spark do the same


def unnameable(snapshot: TableSnapshot) -> str:
    """Return how the error of a task begins that met a value which makes no name of a directory."""
    return f"Table {snapshot.label}: a directory's name cannot hold what partition column "
