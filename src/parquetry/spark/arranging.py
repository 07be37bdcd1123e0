"""How the rows of a write are arranged: cast to what the files hold, clustered into tasks, sorted.

Rows are clustered by partition, so that a partition gets one file for each `target-file-size` and not one for
each task. Which arrangement a write asks for is the caller's to say; the files are written in `writes`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as sf
from pyspark.sql.types import DataType, StructType

from parquetry.identifiers import quoted
from parquetry.layout.schema_json import physical_schema
from parquetry.metastore.model import TableMetadata
from parquetry.metastore.snapshot import TableSnapshot
from parquetry.planner.column_settings import sort_paths
from parquetry.precedence import Settings
from parquetry.spark.row_slots import RowSlots

_SHUFFLED_TO_WRITTEN = 2
"""Shuffled rows are about twice as large as the files they end in."""
_CLUSTERS = 1000
"""The least number of tasks that rows are shuffled into; adaptive execution then packs small tasks together.

With 4 tasks, 300 partitions of 2 MB make tasks of 150 MB. Where a task may have 128 MB, each is split, and the cut goes
through the middle of a partition. With 1,000 tasks most hold one partition or none.
"""


@dataclass(frozen=True, slots=True)
class RowArrangement:
    """How the rows of one write are arranged.

    Attributes:
        partition_columns: the partition columns' names in the files; rows of a partition come together. The number of
            a row's slot is the last of them, where there are slots (`row_slots`).
        sort_by: names in the files, as SQL writes them, of the columns and fields that rows are sorted by, within a partition.
        file_bytes: size to aim at for one file.
        clustered: whether rows are shuffled at all; if not, they stay in the tasks that they are in.
        split: whether rows that come together may be more than one task's.
        empty_buckets: whether buckets without rows get files; None: those of version 1 alone.
    """

    partition_columns: tuple[str, ...]
    sort_by: tuple[str, ...]
    file_bytes: int
    clustered: bool
    split: bool = True
    empty_buckets: bool | None = None

    @classmethod
    def of(cls, metadata: TableMetadata, settings: Settings) -> RowArrangement:
        """Return the arrangement that the settings of a write ask for.

        Raises:
            ConfigurationError: a setting of the session cannot be used.
            PropertyError: an option or a property cannot, or `sort-by` names no column that has an order.
        """
        return cls(
            tuple(column.physical for column in metadata.partition_columns),
            tuple(".".join(map(quoted, path)) for path in sort_paths(metadata, settings)),
            settings["target-file-size"],
            settings["distribution"] == "auto",
            empty_buckets=settings["empty-buckets"],
        )

    def by_slot(self, slots: RowSlots) -> RowArrangement:
        """Return the same with the rows of each slot together, if there are slots; all the rows of a bucket are one task's."""
        if len(slots.places) == 1:
            return self
        columns = (*self.partition_columns, slots.column)
        if not slots.bucketed:
            return replace(self, partition_columns=columns)
        return replace(self, partition_columns=columns, clustered=True, split=False)

    def apply(self, rows: DataFrame, order: Sequence[Column] = ()) -> DataFrame:
        """Return rows, with the columns of the files, clustered and sorted; a query's own order is left alone.

        Args:
            rows: to arrange.
            order: of the rows of one slot, before `sort_by`.
        """
        named = self.partition_columns or self.sort_by
        if self.clustered and (named or not _is_arranged(rows)):
            rows = self._cluster(rows)
        if named:
            first = [sf.col(quoted(name)) for name in self.partition_columns]
            then = [sf.col(name) for name in self.sort_by]
            rows = rows.sortWithinPartitions(*first, *order, *then)
        return rows

    def _cluster(self, rows: DataFrame) -> DataFrame:
        spark = rows.sparkSession
        door = spark._jvm.org.apache.spark.sql.parquetry.FileWriter
        ranges = [] if self.partition_columns else list(self.sort_by)
        size = _SHUFFLED_TO_WRITTEN * self.file_bytes
        settings = _settings(spark, self)
        return DataFrame(door.cluster(rows._jdf, list(self.partition_columns), ranges, size, settings), spark)


def _settings(spark: SparkSession, arrangement: RowArrangement) -> dict[str, str]:
    """Return the settings of Spark that clustering rows needs, whatever the session's own are."""
    adaptive = "spark.sql.adaptive"
    known = f"{adaptive}.coalescePartitions.initialPartitionNum", "spark.sql.shuffle.partitions"
    clusters = max(_CLUSTERS, *(int(spark.conf.get(key, None) or 0) for key in known))
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


def _is_arranged(frame: DataFrame) -> bool:
    """Return whether the query says itself how its rows are arranged (ORDER BY, DISTRIBUTE BY, a hint)."""
    plan = frame._jdf.queryExecution().analyzed()
    while plan.nodeName() in ("Project", "SubqueryAlias", "View", "Filter", "GlobalLimit", "LocalLimit"):
        plan = plan.children().head()
    return plan.nodeName() in ("Sort", "Repartition", "RepartitionByExpression", "RebalancePartitions")


def stored_columns(snapshot: TableSnapshot, given: list[str]) -> list[Column]:
    """Return expressions that make of the given columns those of the files."""
    metadata = snapshot.metadata
    physical = StructType.fromJson(physical_schema(metadata.columns))
    in_path = {column.physical for column in metadata.partition_columns}
    columns = []
    for name, field in zip(given, physical.fields, strict=True):
        column = sf.col(quoted(name)).cast(field.dataType)
        if field.name in in_path:
            column = _in_path(snapshot, field.name, column, field.dataType)
        columns.append(column.alias(field.name))
    return columns


def _in_path(snapshot: TableSnapshot, name: str, column: Column, type_: DataType) -> Column:
    """Return a partition column as a directory's name holds it, which fails a task where it cannot."""
    kind = type_.typeName()
    if kind not in ("string", "varchar", "char", "binary"):
        return column
    refusal = (
        f"{unnameable(snapshot)}{name} is given: bytes that are not UTF-8 text, or the character NUL. "
        "Write them as text, with hex() or base64(). Nothing was written."
    )
    text = column.cast("string")
    fits = sf.is_valid_utf8(text) & ~sf.contains(text, sf.lit("\0"))
    column = sf.when(~fits, sf.raise_error(sf.lit(refusal)).cast(type_)).otherwise(column)
    if kind == "binary":
        return column
    return sf.nullif(column, sf.lit(""))  # a directory's name cannot hold it; Hive and Spark do the same


def unnameable(snapshot: TableSnapshot) -> str:
    """Return how the error of a task begins that met a value which makes no name of a directory."""
    return f"Table {snapshot.label}: a directory's name cannot hold what partition column "
