"""Joins of bucketed tables: what is cached, renamed columns, and reports.

`bucket_joins/joins.table` has the shapes of joins, with the nodes of their plans.
"""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.join_tables.made import MadeTables
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import settings

SHUFFLED = {"spark.sql.autoBroadcastJoinThreshold": -1}


@pytest.mark.newest("Spark 4.1 shuffles what is cached of a bucketed table")
def test_cached(spark: SparkSession, join_tables: MadeTables) -> None:
    """A cached bucketed table keeps its buckets."""
    table, view = join_tables["a"]
    spark.sql(f"CACHE TABLE hoard AS SELECT * FROM {table}")
    try:
        with settings(spark, SHUFFLED):
            found, nodes = plans.run(spark.sql(f"SELECT * FROM hoard l JOIN {table} r ON l.a = r.a"))
            wanted = spark.sql(f"SELECT * FROM {view} l JOIN {view} r ON l.a = r.a").collect()
        assert plans.comparable(found) == plans.comparable(wanted)
        assert nodes["Exchange"] == 0
    finally:
        spark.sql("UNCACHE TABLE hoard")


def test_renamed_columns(spark: SparkSession, db: str) -> None:
    """Columns go by their names of today, also odd ones."""
    spark.sql(f"CREATE TABLE {db}.t (k INT, n INT) CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS")
    spark.sql(f"INSERT INTO {db}.t SELECT id % 19, id FROM range(40)")
    spark.sql(f"ALTER TABLE {db}.t RENAME COLUMN k TO `a.b ``c`")
    with settings(spark, SHUFFLED):
        query = f"SELECT * FROM {db}.t l JOIN {db}.t r ON l.`a.b ``c` = r.`a.b ``c`"
        found, nodes = plans.run(spark.sql(query))
    assert (len(found), nodes["Exchange"], nodes["Sort"]) == (86, 0, 0)


def test_a_report_says_what_is_shuffled(spark: SparkSession, join_tables: MadeTables) -> None:
    """A report counts a join's shuffles and sorts, and says why. A scan in two parts is one scan."""
    eight, loose, mixed = (join_tables[name].table for name in ("eight", "loose", "mixed"))
    with settings(spark, SHUFFLED | {"parquetry.runtime-pruning": False}):
        found = parquetry.explain(f"SELECT * FROM {mixed} l LEFT JOIN {loose} r ON l.k = r.k AND l.s > r.s")
        (join,) = found.joins
        assert len(found.scans) == 2
        assert (join.shuffles, join.sorts) == (1, 2)
        assert join.outcome == (
            f"a part of the left side shuffled, 2 sorts ({mixed}: partition p=3 is not in buckets)"
        )
        (join,) = parquetry.explain(f"SELECT * FROM {eight} l JOIN range(99) r ON l.k = r.id").joins
    assert (join.shuffles, join.sorts) == (1, 1)
    assert join.outcome == (
        f"one side shuffled, the right, 1 sort (range() is not in buckets; {eight} stays in its buckets by k)"
    )


@pytest.mark.core
def test_what_is_said_of_hot_buckets(spark: SparkSession, join_tables: MadeTables) -> None:
    """EXPLAIN and the report name the bucket, its part of the rows, and the tasks or the reason against."""
    texts = {}
    with settings(spark, SHUFFLED | {"parquetry.hot-bucket-rows": 50}):
        for join in ("LEFT", "FULL"):
            query = join_tables.text(f"SELECT * FROM {{hot}} l {join} JOIN {{even}} r ON l.k = r.k")
            frame = spark.sql(query)
            frame.collect()
            texts[join] = str(parquetry.report(frame).joins[0])
            plan = frame._jdf.queryExecution().executedPlan().toString()
            assert ("in 2 tasks" in plan) is (join == "LEFT")
    assert "with 0.9" in texts["LEFT"]
    assert "of the rows in 2 tasks" in texts["LEFT"]
    assert (
        "of the rows in one task: a FULL OUTER join would pass rows of the other side once a task"
        in texts["FULL"]
    )
    with settings(spark, SHUFFLED | {"parquetry.hot-bucket-rows": 1000}):
        frame = spark.sql(join_tables.text("SELECT * FROM {hot} l JOIN {even} r ON l.k = r.k"))
        assert plans.nodes(frame)["HideBuckets"] == 0
