"""Heavy keys are joined apart: answers are right, and each branch reads its own directories."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import parquetry
from tests.support.join_tables.made import MadeTables
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import settings

pytestmark = pytest.mark.core

NEVER = {"spark.sql.autoBroadcastJoinThreshold": "-1"}


def splits(frame: DataFrame) -> list[dict[str, Any]]:
    """Return what the report says of heavy keys."""
    found: list[dict[str, Any]] = parquetry.report(frame).to_dict().get("heavy_keys", [])
    return found


def test_branches_read_their_own_directories(spark: SparkSession, join_tables: MadeTables) -> None:
    """The heavy rows are not shuffled, and their branch reads the heavy directories alone. The other branch
    reads the rest.
    """
    named, r = join_tables["named"].table, join_tables["skew_r"].table
    join = f"SELECT l.v, r.w FROM {named} l JOIN {r} r ON l.k = r.k"
    with settings(spark, NEVER | {"parquetry.skew-join": "always"} | {"spark.sql.adaptive.enabled": "false"}):
        frame = spark.sql(join)
        nodes = plans.nodes(frame)
        assert (
            nodes["SortMergeJoin"],
            nodes["BroadcastHashJoin"],
            nodes["Exchange"],
            nodes["BroadcastExchange"],
        ) == (1, 1, 2, 1)
        frame.collect()
        report = parquetry.report(frame)
        assert [
            (step["kept"], step["of"])
            for scan in report.to_dict()["scans"]
            for step in scan["steps"]
            if step["name"] == "directories"
        ] == [(1, 4), (2, 4)], "the join drops the rows with NULL"
        ((split),) = splits(frame)
        assert split["keys"] == "k IN (10, 20)"
        assert f"{named} INNER JOIN {r}: heavy keys joined apart by broadcast (k IN (10, 20): " in str(report)


def test_when_heavy_keys_stay(spark: SparkSession, join_tables: MadeTables) -> None:
    """Joins of small tables, with hints, and with a broadcast are left alone, and the report says why."""
    join = "SELECT {} l.v, r.w FROM {named} l JOIN {r} r ON l.k = r.k".replace(
        "{named}", join_tables["named"].table
    )
    join = join.replace("{r}", join_tables["skew_r"].table)
    for chosen, hint, reason in (
        (NEVER, "", "the heavy rows of"),
        (NEVER, "/*+ MERGE(r) */", "the query has a hint for the join"),
        ({}, "", "Spark broadcasts a side, so nothing is shuffled"),
    ):
        with settings(spark, chosen):
            (said,) = splits(spark.sql(join.format(hint)))
            assert reason in said["reason"], said
            assert "keys" not in said
    with settings(spark, NEVER):
        (said,) = splits(spark.sql(join.format("").replace(" JOIN ", " FULL JOIN ")))
        assert said["reason"] == "Spark broadcasts neither side of a FULL OUTER JOIN"
    with settings(spark, NEVER | {"parquetry.skew-join": "off"}):
        assert splits(spark.sql(join.format(""))) == []


def test_writes_and_cached_tables(spark: SparkSession, join_tables: MadeTables, db: str) -> None:
    """Writes and cached tables have plain Spark's rows with heavy keys apart."""
    (auto, left_rows), (r, right_rows) = join_tables["auto"], join_tables["skew_r"]
    query = "SELECT l.v, r.w FROM {} l JOIN {} r ON l.k = r.k"
    plain = plans.comparable(spark.sql(query.format(left_rows, right_rows)).collect())
    with settings(spark, NEVER | {"parquetry.skew-join": "always"}):
        spark.sql(f"CREATE TABLE {db}.made AS {query.format(auto, r)}")
        assert plans.comparable(spark.table(f"{db}.made").collect()) == plain
        spark.sql(f"CREATE TABLE {db}.auto (k INT, y STRING, v INT) SKEWED BY (k) ON AUTO")
        spark.sql(f"INSERT INTO {db}.auto SELECT * FROM {left_rows}")
        spark.sql(
            f"MERGE INTO {db}.auto l USING (SELECT k, max(w) AS w FROM {r} WHERE k = 10 GROUP BY k) r "
            "ON l.k = r.k AND l.v < 100 WHEN MATCHED THEN DELETE"
        )
        rest = f"SELECT * FROM {left_rows} WHERE NOT coalesce(k = 10 AND v < 100, false)"
        assert plans.comparable(spark.table(f"{db}.auto").collect()) == plans.comparable(
            spark.sql(rest).collect()
        )
        cached = spark.table(r).cache()
        try:
            frame = spark.sql(query.format(join_tables["named"].table, r))
            assert plans.comparable(frame.collect()) == plain
            assert [bool(each.get("keys")) for each in splits(frame)] == [True]
        finally:
            cached.unpersist()
