"""Buckets by parameters and by DataFrames, and errors that stay Spark's own. Statements are in
`statements.test`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import IllegalArgumentException, ParseException
from pyspark.sql import SparkSession, functions as sf

from parquetry import metastore as ms
from parquetry.layout.bucket_spec import BucketSpec
from parquetry.layout.part import SortColumn

Rows = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def buckets(warehouse: Path, db: str) -> Callable[..., Any]:
    """Return what the record of a table says, or of its partitions."""

    def of(table: str, partitions: bool = False) -> Any:
        with ms.open_metastore(str(warehouse / "lake")) as metastore:
            found = metastore.table(db.split(".")[1], table)
            if partitions:
                return {part.values: part.arrangement.buckets for part in found.partitions()}
            return found.metadata.arrangement.buckets

    return of


@pytest.mark.needs("parameters")
def test_the_number_may_be_a_parameter(spark: SparkSession, db: str, buckets: Callable[..., Any]) -> None:
    """By name and by place."""
    columns = "(a INT, p INT) USING parquet PARTITIONED BY (p)"
    spark.sql(f"CREATE TABLE {db}.named {columns} CLUSTERED BY (a) INTO :n BUCKETS", {"n": 6})
    spark.sql(f"CREATE TABLE {db}.placed {columns} CLUSTERED BY (a) INTO ? BUCKETS", [6])
    assert buckets("named") == buckets("placed") == BucketSpec(("a",), 6)


def test_sparks_own_ways_say_the_same(
    spark: SparkSession, rows: Rows, db: str, buckets: Callable[..., Any]
) -> None:
    """`bucket(n, …)` among the partition columns and DataFrames with `bucket` and `bucketBy` make buckets and
    keep the rows.
    """
    spark.sql(f"CREATE TABLE {db}.t (a INT, b STRING, p INT) PARTITIONED BY (bucket(8, a, b), p)")
    assert buckets("t") == BucketSpec(("a", "b"), 8)
    frame = spark.sql("SELECT CAST(id AS INT) AS a, CAST(id % 3 AS STRING) AS b, id % 2 AS p FROM range(20)")
    frame.writeTo(f"{db}.u").partitionedBy(sf.col("p"), sf.partitioning.bucket(4, "a")).tableProperty(
        "bucketing_version", "1"
    ).create()
    assert buckets("u") == BucketSpec(("a",), 4, 1)
    frame.write.partitionBy("p").bucketBy(4, "b").sortBy("a").saveAsTable(f"{db}.v")
    assert buckets("v") == BucketSpec(("b",), 4, 2, (SortColumn("a"),))
    for write in (frame.write.partitionBy("p"), frame.write.partitionBy("p").bucketBy(5, "b").sortBy("a")):
        with pytest.raises(
            IllegalArgumentException, match=r"provided: identity\(p\)[^$]*table: identity\(p\), "
        ):
            write.mode("append").saveAsTable(f"{db}.v")
    spark.sql(rows(f"SHOW CREATE TABLE {db}.v")[0][0].replace(f"{db}.v", f"{db}.w"))
    frame.write.mode("append").partitionBy("p").bucketBy(4, "b").sortBy("a").saveAsTable(f"{db}.w")
    for table in ("u", "v", "w"):
        assert sorted(rows(f"SELECT a, b, p FROM {db}.{table}")) == sorted(
            tuple(row) for row in frame.collect()
        )
        assert rows(f"SHOW PARTITIONS {db}.{table}") == [("p=0",), ("p=1",)]
        assert buckets(table, partitions=True) == dict.fromkeys([(0,), (1,)], buckets(table))


def test_tables_of_others_are_left_to_spark(spark: SparkSession, rows: Rows, db: str) -> None:
    """Spark's own buckets work as before. Its error texts do not change, also for errors after a clause of
    ours.
    """
    spark.sql("CREATE TABLE bucketed (x INT) USING parquet CLUSTERED BY (x) SORTED BY (x) INTO 4 BUCKETS")
    try:
        assert ("Num Buckets", "4", "") in rows("DESCRIBE FORMATTED bucketed")
    finally:
        spark.sql("DROP TABLE bucketed")
    plain = spark._jvm.org.apache.spark.sql.execution.SparkSqlParser()
    for statement in (
        "CREATE TABLE s (x INT)\n  CLUSTERED BY (x) SORTED BY (x DESC) INTO 4 BUCKETS",
        "ALTER TABLE spark_catalog.default.s NOT CLUSTERED",
        "ALTER TABLE s INTO 4 BUCKETS",
        f"CREATE TABLE {db}.s (x INT) CLUSTERED BY x INTO 4 BUCKETS",
        f"CREATE TABLE {db}.s (x INT) CLUSTERED BY (x)",
        f"ALTER TABLE {db}.s NOT SORTED BY (x)",
    ):
        with pytest.raises(ParseException) as alone:
            plain.parsePlan(statement)
        with pytest.raises(ParseException) as ours:
            spark.sql(statement)
        assert str(ours.value) == str(alone.value)
    with pytest.raises(ParseException, match=r"(?s)near 'USNIG'.*line 3, pos 2"):
        spark.sql(f"CREATE TABLE {db}.s (x INT)\n  CLUSTERED BY (x) INTO 4 BUCKETS\n  USNIG orc")
