"""Which Spark this library works with, and the settings of Spark that decide whether joins of bucketed tables shuffle.

These settings are given by `configure`, and shown by `doctor`.
"""

from __future__ import annotations

from dataclasses import dataclass

SPARK_SERIES = "4.3"
"""The Spark releases whose interfaces the bridge is written for."""


@dataclass(frozen=True, slots=True)
class SparkSetting:
    """A setting of Spark's own that decides whether joins of bucketed tables shuffle.

    Attributes:
        name: whole.
        value: that `parquetry.configure` gives it, if nobody else has; None: it is left alone.
        text: what it is for, or why it is left alone.
    """

    name: str
    value: str | None
    text: str


SPARK_SETTINGS = (
    SparkSetting(
        "spark.sql.sources.v2.bucketing.enabled",
        "true",
        "Spark uses what a table says of its buckets.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.pushPartValues.enabled",
        "true",
        "Tables of which one has rows in buckets where the other has none are joined without a shuffle.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.allowCompatibleTransforms.enabled",
        "true",
        "Tables of different numbers of buckets are joined in as many as their greatest common divisor.",
    ),
    SparkSetting(
        "spark.sql.requireAllClusterKeysForCoPartition",
        "false",
        "A join may be on more columns than the tables are bucketed by.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.shuffle.enabled",
        None,
        "Only the side without buckets is shuffled, into those of the other. Spark 4.3 has known errors there, and evaluates the "
        "hash row by row; tables bucketed by several columns say nothing of their buckets while it is on.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.partiallyClusteredDistribution.enabled",
        None,
        "Large buckets are read by several tasks, for each of which the other side is read again. While it is on, different "
        "numbers of buckets are not joined without a shuffle.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.allowKeysSubsetOfPartitionKeys.enabled",
        None,
        "For tables partitioned by several expressions of which a join names some. It cannot help with a hash of several "
        "columns: tables bucketed by more than one say nothing of their buckets while it is on.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.preserveOrderingOnCoalesce.enabled",
        None,
        "Several sorted files of a bucket are merged in their order instead of sorted anew.",
    ),
)
