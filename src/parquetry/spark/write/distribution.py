"""Arrange the rows of a write: cast them to the files' types, cluster them into tasks, and sort them.

Rows are clustered by partition, so that a partition gets one file for each `target-file-size`, and not one
for each task. If there is nothing to cluster by, as in a table without partitions and sort columns, rows are
not shuffled. A shuffle costs as much as the rest of the write, and destroys an order that helps readers prune
files. If such a write is small, fewer tasks write it.

The caller chooses the arrangement, and `insert` writes the files.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession, functions as sf
from pyspark.sql.types import DataType, StructType

from parquetry.config import Settings
from parquetry.definition import sorted_by
from parquetry.identifiers import quote_part
from parquetry.layout import physical_schema
from parquetry.metastore import TableMetadata, TableSnapshot
from parquetry.spark.active import bridge_class
from parquetry.spark.write.slots import RowSlots

_SHUFFLED_BYTES_PER_WRITTEN = 2
"""Bytes of shuffled rows for each byte in files. Shuffled rows are about twice as large as their files."""
_MIN_SHUFFLE_TASKS = 1000
"""The least number of tasks that rows are shuffled into. Adaptive execution then packs small tasks together.

With 4 tasks, 300 partitions of 2 MB make tasks of 150 MB. If a task may have 128 MB, each is split, in the
middle of a partition. With 1,000 tasks most have one partition or none.
"""
_MIN_CLUSTERED_TASK_BYTES = 1 << 16
"""The least bytes of shuffled rows for a task that writes partitions, while cores are idle.

Such a task makes a file for each of its partitions, and a file takes a millisecond, however few its rows are.
Spark's least, a megabyte, has one task write two thousand partitions of fifty rows.
"""
_MIN_TASK_BYTES = 1 << 20
"""The least bytes of rows for a task, if rows are not shuffled and Spark can estimate their bytes.

Adaptive execution packs the tasks of a shuffle to the same size. To start a task costs as much as to write a
megabyte.
"""
_MAX_EXAMINED_TASKS = 10_000
"""A query with rows for more tasks of `_MIN_TASK_BYTES` keeps its own tasks: it has enough rows for them."""
_CURVE_COLUMN = "__parquetry_curve"
"""The column of keys on a curve; longer if the rows have such a column."""


class ArrangedRows(NamedTuple):
    """The rows of a write, ready to be written.

    Attributes:
        rows: with the columns of the files.
        tasks: the most tasks that write, each the rows of consecutive tasks of the query, or 0 for no limit.
        one_partition: whether all rows are of one partition, so that they need no order.
    """

    rows: DataFrame
    tasks: int = 0
    one_partition: bool = False


@dataclass(frozen=True, slots=True)
class RowArrangement:
    """How the rows of one write are arranged.

    Attributes:
        partition_columns: names of the partition columns in the files. Rows of a partition come together. If
            rows have slots (`slots`), the number of the slot is the last of these columns.
        sort_by: SQL with names in the files: the columns and fields that rows of a partition are sorted by.
        is_curve: whether rows are sorted along a curve through these, and not by one after the other.
        single: whether all rows are of one partition, so that sorted ones are divided by ranges of `sort_by`.
        file_bytes: target size of a file.
        clustered: whether rows may be shuffled. If not, they stay in their tasks.
        gathered: whether rows are shuffled even without columns to cluster by. This is for rows of many small
            files that are to become few, and for rows of a stream's batch, whose number is unknown.
        split: whether rows that come together may be written by several tasks.
        empty_buckets: whether buckets without rows get files; None means yes, but only with version 1.
        light_sorted: whether rows of values without a directory are sorted by the skewed columns.
    """

    partition_columns: tuple[str, ...]
    sort_by: tuple[str, ...]
    file_bytes: int
    clustered: bool
    gathered: bool = False
    split: bool = True
    empty_buckets: bool | None = None
    light_sorted: bool = False
    is_curve: bool = False
    single: bool = False

    @property
    def by_ranges(self) -> bool:
        """Return whether each task gets a range of `sort_by`, so that files do not overlap."""
        return bool(self.sort_by) and (self.single or not self.partition_columns)

    @classmethod
    def from_settings(
        cls, metadata: TableMetadata, settings: Settings, *, gathered: bool = False
    ) -> RowArrangement:
        """Return the arrangement by the settings of a write.

        Args:
            metadata: of the table.
            settings: of the write.
            gathered: see the attribute.

        Raises:
            ConfigurationError: a setting of the session cannot be used.
            PropertyError: an option or property cannot be used, or `sort-by` names a column without an order.
        """
        order = sorted_by(metadata, settings)
        sort_by = tuple(".".join(map(quote_part, path)) for path in order.paths)
        return cls(
            tuple(column.physical for column in metadata.partition_columns),
            sort_by,
            settings["target-file-size"],
            settings["distribution"] == "auto",
            gathered,
            empty_buckets=settings["empty-buckets"],
            light_sorted=settings["light-values"] == "sorted" and not sort_by,
            is_curve=order.is_curve,
        )

    def by_slot(self, slots: RowSlots) -> RowArrangement:
        """Return the arrangement that also clusters rows by slot, if any; one task writes a bucket's rows."""
        if not slots.has_slots:
            return self
        by_slot = replace(self, partition_columns=(*self.partition_columns, slots.column), single=False)
        return replace(by_slot, clustered=True, split=False) if slots.one_file_per_slot else by_slot

    def apply(self, rows: DataFrame, order: Sequence[Column] = ()) -> ArrangedRows:
        """Return rows clustered and sorted. Without columns to arrange by, a query's own order stays.

        Args:
            rows: with the columns of the files.
            order: the order of the rows of one slot, before `sort_by`.
        """
        if self.is_curve:
            return self._along_curve(rows, order)
        if self.partition_columns or self.sort_by:
            if self._is_one_partition(rows):
                return ArrangedRows(rows, self._tasks(rows), one_partition=True)
            if self.clustered:
                rows = self._cluster(rows)
            first = [sf.col(quote_part(name)) for name in self.partition_columns]
            then = [sf.col(name) for name in self.sort_by]
            return ArrangedRows(rows.sortWithinPartitions(*first, *order, *then))
        if self.gathered:
            return ArrangedRows(
                self._cluster(rows) if self.clustered and not _facts(rows).arranged(rows._jdf) else rows
            )
        return ArrangedRows(rows, self._tasks(rows))

    def _along_curve(self, rows: DataFrame, order: Sequence[Column]) -> ArrangedRows:
        """Return rows sorted by their keys on the curve, which are a column as long as rows are arranged."""
        key = _CURVE_COLUMN
        while any(name.lower().startswith(key) for name in rows.columns):
            key += "_"
        door = bridge_class(rows.sparkSession._jvm, "write.CurveKeys")
        keyed = DataFrame(door.add(rows._jdf, list(self.sort_by), key), rows.sparkSession)
        by_key = replace(self, sort_by=(quote_part(key),), is_curve=False)
        return ArrangedRows(by_key.apply(keyed, order).rows.drop(key))

    def _is_one_partition(self, rows: DataFrame) -> bool:
        """Return whether the query shows that all rows are of one partition, and they need no order there."""
        if self.sort_by or self.gathered or not self.split:
            return False
        return bool(_facts(rows).constant(rows._jdf, list(self.partition_columns)))

    def _tasks(self, rows: DataFrame) -> int:
        """Return the most tasks that write rows without a shuffle, or 0 if every task writes."""
        if not self.clustered:
            return 0
        size = _facts(rows).bytes(rows._jdf)
        return (
            0
            if not 0 <= size <= _MAX_EXAMINED_TASKS * _MIN_TASK_BYTES
            else max(1, -(-size // _MIN_TASK_BYTES))
        )

    def _cluster(self, rows: DataFrame) -> DataFrame:
        spark = rows.sparkSession
        door = bridge_class(spark._jvm, "datafiles.FileWriter")
        ranges = list(self.sort_by) if self.by_ranges else []
        size = _SHUFFLED_BYTES_PER_WRITTEN * self.file_bytes
        settings = _settings(spark, self)
        return DataFrame(door.cluster(rows._jdf, list(self.partition_columns), ranges, size, settings), spark)


def _settings(spark: SparkSession, arrangement: RowArrangement) -> dict[str, str]:
    """Return the settings of Spark for clustering rows. They replace the session's own."""
    adaptive = "spark.sql.adaptive"
    known = f"{adaptive}.coalescePartitions.initialPartitionNum", "spark.sql.shuffle.partitions"
    clusters = max(_MIN_SHUFFLE_TASKS, *(int(spark.conf.get(key, None) or 0) for key in known))
    settings = {
        f"{adaptive}.enabled": "true",  # the number of files is known only after the rows
        f"{adaptive}.coalescePartitions.enabled": "true",
        # a split partition would be sorted in pieces
        f"{adaptive}.optimizeSkewsInRebalancePartitions.enabled": "true"
        if arrangement.split and not arrangement.sort_by
        else "false",
    }
    if arrangement.partition_columns or arrangement.sort_by:
        settings[f"{adaptive}.coalescePartitions.initialPartitionNum"] = str(clusters)
    if arrangement.partition_columns and not arrangement.by_ranges:
        # more tasks do not divide a partition here, so use all cores
        settings[f"{adaptive}.coalescePartitions.parallelismFirst"] = "true"
        settings[f"{adaptive}.coalescePartitions.minPartitionSize"] = str(_MIN_CLUSTERED_TASK_BYTES)
    else:  # each task makes a file
        settings[f"{adaptive}.coalescePartitions.minPartitionNum"] = "1"
    return settings


def _facts(rows: DataFrame) -> Any:
    return bridge_class(rows.sparkSession._jvm, "write.RowsFacts")


def stored_rows(snapshot: TableSnapshot, rows: DataFrame) -> DataFrame:
    """Return rows with the columns of the files, cast from the given columns in order.

    A value that the files cannot hold is replaced by the value that readers will see: buckets, directories
    and orders go by that one (`bridge/hash/ReadBack.scala`).
    """
    metadata = snapshot.metadata
    schema = physical_schema(metadata.columns)
    spark = rows.sparkSession
    door = bridge_class(spark._jvm, "write.StoredRows")
    names = [column.physical for column in metadata.partition_columns]
    rows = DataFrame(door.of(rows._jdf, json.dumps(schema), metadata.format, names), spark)
    in_path = {each.physical for each in metadata.partition_columns if each.column_type.facts.empty_is_null}
    floats = {each.physical for each in metadata.partition_columns if each.column_type.floating}
    if not in_path | floats:
        return rows
    columns = []
    for field in StructType.fromJson(schema).fields:
        column = sf.col(quote_part(field.name))
        if field.name in in_path:
            column = _in_path(snapshot, field.name, column, field.dataType).alias(field.name)
        elif field.name in floats:
            # -0.0 is sorted like 0.0, but Spark's writers would begin a file wherever the sign changes
            zero = sf.lit(0.0).cast(field.dataType)
            column = sf.when(column == zero, zero).otherwise(column).alias(field.name)
        columns.append(column)
    return rows.select(*columns)


def _in_path(snapshot: TableSnapshot, name: str, column: Column, type_: DataType) -> Column:
    """Return a partition column of texts as in directory names. A value without a name fails its task."""
    refusal = (
        f"{unnameable(snapshot)}{name} is given: bytes that are not UTF-8 text, or the character NUL. "
        "Write them as text, with hex() or base64(). Nothing was written."
    )
    text = column.cast("string")
    fits = sf.is_valid_utf8(text) & ~sf.contains(text, sf.lit("\0"))
    column = sf.when(~fits, sf.raise_error(sf.lit(refusal)).cast(type_)).otherwise(column)
    if type_.typeName() == "binary":
        return column
    return sf.nullif(column, sf.lit(""))  # no directory can be named '': Hive and Spark do the same


def unnameable(snapshot: TableSnapshot) -> str:
    """Return the beginning of the error for a value that cannot be a directory's name."""
    return f"Table {snapshot.label}: a directory's name cannot hold what partition column "
