"""A table of ORC whose files have several stripes: what numbers and timestamps read of it."""

from __future__ import annotations

from pyspark.sql import SparkSession

import parquetry
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import settings

_STRIPES = "'orc.row.index.stride' = '1000', 'orc.stripe.size' = '64', 'orc.stripe.row.count' = '1000'"
_CONDITIONS = ("n = 5", "t = TIMESTAMP'1970-01-01 00:08:20'", "u = TIMESTAMP_NTZ'1970-01-01 00:08:20'")


def make(spark: SparkSession, table: str) -> None:
    """Make a table of two files with ten stripes each, of 1,000 rows."""
    spark.sql(
        f"CREATE TABLE {table} (n INT, t TIMESTAMP, u TIMESTAMP_NTZ) USING orc TBLPROPERTIES ({_STRIPES})"
    )
    for first in (0, 10_000):
        spark.sql(
            f"INSERT INTO {table} SELECT int(id), timestamp_seconds(id * 100), "
            f"CAST(timestamp_seconds(id * 100) AS TIMESTAMP_NTZ) FROM range({first}, {first + 10_000}, 1, 1)"
        )


def rows_read(spark: SparkSession, table: str) -> list[int]:
    """Return how many rows readers give for a number, a timestamp, and one without a time zone.

    Each is in one of the two files, and in one stripe.
    """
    found = []
    with settings(spark, {"spark.sql.adaptive.enabled": False}):
        for condition in _CONDITIONS:
            frame = spark.sql(f"SELECT n FROM {table} WHERE {condition}")
            assert len(frame.collect()) == 1
            files = parquetry.report(frame).scans[0].step("files")
            assert files is not None
            assert (files.kept, files.of) == (1, 2), condition
            found.append(plans.rows_read(frame, table))
    return found
