"""A separate run for values has a time limit; after it, the table is read without the values, and the report
says so.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import parquetry
from tests.support.tables.bucketed_tables import plainly, settings

ALONE = {
    "spark.sql.autoBroadcastJoinThreshold": -1,
    "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": False,
    "spark.sql.optimizer.dynamicPartitionPruning.fallbackFilterRatio": 1000,
}
"""Spark joins without a broadcast, and reads the small table once more for its values."""
WAIT = "parquetry.runtime-pruning-max-wait"
SLOW = "aggregate(sequence(1, 1000000 + n), 0L, (sum, x) -> sum + x % 7) > 0"
"""A condition that takes long at each row, and holds."""


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[str]:
    """A table of 10 files, one of 10 partitions, and a small one with a row for each of four keys."""
    spark.sql("CREATE NAMESPACE lake.waiting")
    rows = spark.range(0, 100, 1, 10).selectExpr("CAST(id AS INT) k", "id v", "CAST(id DIV 10 AS INT) p")
    spark.sql(
        "CREATE TABLE lake.waiting.files (k int, v bigint, p int) TBLPROPERTIES ('distribution' = 'none')"
    )
    rows.writeTo("lake.waiting.files").append()
    spark.sql("CREATE TABLE lake.waiting.parts (k int, v bigint, p int) PARTITIONED BY (p)")
    rows.coalesce(1).writeTo("lake.waiting.parts").append()
    spark.range(4).selectExpr("CAST(id AS INT) k", "CAST(id + 20 AS INT) n", "1 a").coalesce(
        1
    ).write.saveAsTable("waiting_dim")
    yield "lake.waiting"
    spark.sql("DROP TABLE waiting_dim")
    spark.sql("DROP NAMESPACE lake.waiting CASCADE")


def scan(frame: DataFrame, table: str) -> dict[str, Any]:
    """Return what the report says of the scan of a table."""
    told: list[dict[str, Any]] = parquetry.report(frame).to_dict()["scans"]
    return next(each for each in told if each["table"] == table)


def kept(told: dict[str, Any]) -> int:
    """Return how many files a scan read."""
    return next(int(step["kept"]) for step in told["steps"] if step["name"] == "files")


PAIRS = "SELECT sum(v), max(p), max(q) FROM {f} f JOIN waiting_dim d ON f.p = d.k AND f.q = d.k WHERE d.a = 1"


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize(("most", "read"), [("100ms", 10), ("60s", 4)])
def test_slow_tuples(spark: SparkSession, tables: str, adaptive: bool, most: str, read: int) -> None:
    """Values of two keys that come together have the time limit of one key's values."""
    spark.sql(f"CREATE OR REPLACE TABLE {tables}.pairs (v bigint, p int, q int) PARTITIONED BY (p, q)")
    spark.sql(f"INSERT INTO {tables}.pairs SELECT id, int(id), int(id) FROM range(10)")
    query = PAIRS.format(f=f"{tables}.pairs")
    changed = {"spark.sql.autoBroadcastJoinThreshold": -1, "spark.sql.adaptive.enabled": adaptive, WAIT: most}
    with settings(spark, changed):
        frame = spark.sql(f"{query} AND {SLOW}")
        assert frame.collect() == [(6, 3, 3)]
        found = scan(frame, f"{tables}.pairs")
        report = str(parquetry.report(frame))
    assert kept(found) == read
    assert ("no values of (p, q) within 0.1 s" in report) == (read == 10)
    assert ("run time: (p, q) → 4 tuples" in report) == (read == 4)


JOIN = "SELECT sum(v) FROM {f} f JOIN waiting_dim d ON {key} = d.k WHERE d.a = 1"


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize(
    ("name", "key", "told"), [("files", "f.k", "k"), ("parts", "f.p", "p"), ("parts", "f.p + 1", "(p + 1)")]
)
def test_a_slow_small_side_is_given_up(
    spark: SparkSession, tables: str, adaptive: bool, name: str, key: str, told: str
) -> None:
    """If a condition takes long, the join reads all files and returns the right answer.

    Report and plan name the values that were late.
    """
    query = JOIN.format(f=f"{tables}.{name}", key=key)
    expected = plainly(spark, query)
    with settings(spark, {**ALONE, "spark.sql.adaptive.enabled": adaptive, WAIT: "100ms"}):
        frame = spark.sql(f"{query} AND {SLOW}")
        assert frame.collect() == expected
        found = scan(frame, f"{tables}.{name}")
        assert found["run_time"]["missed"] == [{"condition": told, "milliseconds": 100}]
        assert kept(found) == 10
        assert f"run time: no values of {told} within 0.1 s: nothing less is read" in str(
            parquetry.report(frame)
        )
        assert "given up" in frame._jdf.queryExecution().executedPlan().toString()


@pytest.mark.parametrize(
    "most", ["60s", pytest.param("none", marks=pytest.mark.exhaustive("a minute is shown to be enough"))]
)
def test_a_small_side_that_is_in_time_is_waited_for(spark: SparkSession, tables: str, most: str) -> None:
    """The same values, given more time, leave out what they can."""
    with settings(spark, {**ALONE, WAIT: most}):
        frame = spark.sql(f"{JOIN.format(f=f'{tables}.files', key='f.k')} AND {SLOW}")
        assert frame.collect()[0][0] == 0 + 1 + 2 + 3
        found = scan(frame, f"{tables}.files")
    assert "missed" not in found["run_time"]
    assert kept(found) == 1


def test_what_parquetry_asks_for_is_given_up_as_well(spark: SparkSession, tables: str) -> None:
    """If a small table runs once more for its values, with a slow condition, the join's line says why none
    arrived.
    """
    query = f"SELECT sum(v) FROM waiting_dim d LEFT JOIN {tables}.files f ON d.k = f.k WHERE {SLOW}"
    with settings(spark, {WAIT: "20ms", "spark.sql.autoBroadcastJoinThreshold": -1}):
        frame = spark.sql(query)
        assert frame.collect()[0][0] == 0 + 1 + 2 + 3
        report = parquetry.report(frame)
    line = "was not there within 0.02 s, the runtime-pruning-max-wait"
    assert line in str(report)
    assert kept(scan(frame, f"{tables}.files")) == 10


def test_what_is_given_up_does_not_go_on(spark: SparkSession, tables: str) -> None:
    """The jobs of a small side that was given up are stopped: what other queries need is free."""
    with settings(spark, {**ALONE, WAIT: "100ms"}):
        frame = spark.sql(f"{JOIN.format(f=f'{tables}.files', key='f.k')} AND {SLOW}")
        frame.collect()
    tracker = spark.sparkContext.statusTracker()
    until = time.monotonic() + 10
    while tracker.getActiveJobsIds() and time.monotonic() < until:
        time.sleep(0.05)
    assert tracker.getActiveJobsIds() == []
    assert scan(frame, f"{tables}.files")["run_time"]["missed"]


@pytest.mark.parametrize("adaptive", [True, False])
def test_the_same_values_are_waited_for_once(spark: SparkSession, tables: str, adaptive: bool) -> None:
    """If two tables take values from one small table, it runs for them once, and both read only the remaining
    files.
    """
    query = (
        f"SELECT sum(f.v), sum(p.v) FROM {tables}.files f JOIN {tables}.parts p ON f.k = p.p "
        "JOIN waiting_dim d ON f.k = d.k WHERE d.a = 1"
    )
    expected = spark.sql(query).collect()
    with settings(spark, {**ALONE, "spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(query)
        assert frame.collect() == expected
        plan = frame._jdf.queryExecution().executedPlan().toString()
        assert kept(scan(frame, f"{tables}.files")) == 1
        assert kept(scan(frame, f"{tables}.parts")) == 4
    assert "ReusedSubquery" in plan
