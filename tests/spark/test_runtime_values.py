"""Values that a join finds at run time narrow every table that anything is known of, by whichever column they are of."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.bucketed_tables import settings

LAYOUTS = {
    "files": "TBLPROPERTIES ('distribution' = 'none')",
    "orc": "USING orc TBLPROPERTIES ('distribution' = 'none')",
    "buckets": "CLUSTERED BY (k) INTO 16 BUCKETS",
    "heavy": "SKEWED BY (k) ON (1, 11, 21) STORED AS DIRECTORIES TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')",
    "partitions": "PARTITIONED BY (k)",
}


@pytest.fixture(scope="module")
def fact(spark: SparkSession) -> Iterator[str]:
    """Tables of 100 rows in each layout, and a table of Spark's own, `run_time_dim`, with 100 rows of other columns."""
    spark.sql("CREATE NAMESPACE lake.run_time")
    columns = {"partitions": "v bigint, s string, k int"}
    for name, clause in LAYOUTS.items():
        spark.sql(
            f"CREATE TABLE lake.run_time.{name} ({columns.get(name, 'k int, v bigint, s string')}) {clause}"
        )
        rows = spark.range(0, 100, 1, 10).selectExpr(
            "CAST(id AS INT) k", "id v", "concat('s', lpad(id, 3, '0')) s"
        )
        rows.select(*spark.table(f"lake.run_time.{name}").columns).writeTo(f"lake.run_time.{name}").append()
    spark.range(100).selectExpr(
        "CAST(id AS INT) k", "CAST(id % 10 AS INT) a", "CAST(id DIV 10 AS INT) b"
    ).write.saveAsTable("run_time_dim")
    yield "lake.run_time"
    spark.sql("DROP TABLE run_time_dim")
    spark.sql("DROP NAMESPACE lake.run_time CASCADE")


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize(
    ("layout", "told"),
    [
        ("files", "files 3 of 10 (run-time values k IN (1, 11, 21))"),
        ("orc", "files 3 of 10 (run-time values k IN (1, 11, 21))"),
        ("buckets", "buckets 3 of 16 (run-time values k IN (1, 11, 21))"),
        ("heavy", "directories 3 of 4 (run-time values k IN (1, 11, 21))"),
        ("partitions", "partitions 3 of 100 (run-time values k IN (1, 11, 21))"),
    ],
)
def test_each_layout_is_narrowed(
    spark: SparkSession, fact: str, layout: str, told: str, adaptive: bool
) -> None:
    """Partitions, directories, buckets or files are left out by the values of the dimension."""
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(
            f"SELECT /*+ BROADCAST(d) */ sum(v) FROM {fact}.{layout} f JOIN run_time_dim d ON f.k = d.k "
            "WHERE d.a = 1 AND d.b < 3"
        )
        assert frame.collect() == [(33,)]
    assert told in str(parquetry.report(frame))
