"""Spark's settings that decide whether joins of bucketed tables shuffle.

`configure` sets these, and `doctor` shows them.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SparkSetting:
    """A setting of Spark's own that decides whether joins of bucketed tables shuffle.

    Attributes:
        name: in full.
        value: that `parquetry.configure` sets, unless the session has one; or None if it leaves the setting
            unchanged.
        text: its effect, or why it stays unchanged.
    """

    name: str
    value: str | None
    text: str


SPARK_SETTINGS = (
    SparkSetting(
        "spark.sql.sources.v2.bucketing.enabled",
        "true",
        "Spark uses the buckets that a table reports.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.pushPartValues.enabled",
        "true",
        "Tables are joined without a shuffle even if one has rows in buckets that are empty in the other.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.allowCompatibleTransforms.enabled",
        "true",
        "Tables of different numbers of buckets are joined in buckets of their greatest common divisor.",
    ),
    SparkSetting(
        "spark.sql.requireAllClusterKeysForCoPartition",
        "false",
        "A join may be on more columns than the tables are bucketed by.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.shuffle.enabled",
        None,
        "Only the side without buckets is shuffled, into the other's buckets. Spark 4.3 has known errors "
        "there, and evaluates the hash row by row. While it is on, tables bucketed by several columns do "
        "not report their buckets.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.partiallyClusteredDistribution.enabled",
        None,
        "Several tasks read a large bucket, and each of them reads the other side again. While it is on, "
        "tables of different numbers of buckets are joined with a shuffle.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.allowKeysSubsetOfPartitionKeys.enabled",
        None,
        "For tables partitioned by several expressions when a join names some of them. It cannot help with "
        "a hash of several columns: while it is on, tables bucketed by several columns do not report their "
        "buckets.",
    ),
    SparkSetting(
        "spark.sql.sources.v2.bucketing.preserveOrderingOnCoalesce.enabled",
        None,
        "Spark merges several sorted files of a bucket. Parquetry merges up to 64 by itself; this is for more.",
    ),
)
