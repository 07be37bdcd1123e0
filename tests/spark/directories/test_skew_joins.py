"""Heavy keys are joined apart: answers are right, and each branch reads its own directories."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import parquetry
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import settings

pytestmark = pytest.mark.core

JOINS = {
    "SELECT l.k, l.y, l.v, r.w FROM {l} l JOIN {r} r ON l.k = r.k": True,
    "SELECT l.k, l.v, r.w FROM {r} r JOIN {l} l ON l.k = r.k AND l.v > r.w": True,
    "SELECT l.k, l.v, r.k, r.w FROM {l} l LEFT JOIN {r} r ON l.k = r.k AND r.w > 2": True,
    "SELECT l.k, l.v, r.k, r.w FROM {r} r RIGHT JOIN {l} l ON l.k = r.k": True,
    "SELECT l.k, l.v FROM {l} l LEFT SEMI JOIN {r} r ON l.k = r.k AND l.v > r.w": True,
    "SELECT l.k, l.v FROM {l} l LEFT ANTI JOIN {r} r ON l.k = r.k": True,
    "SELECT l.k, l.v FROM {l} l WHERE l.v < 9 OR EXISTS (SELECT 1 FROM {r} r WHERE l.k = r.k)": True,
    "SELECT count(*), sum(l.v) FROM {l} l JOIN {r} r ON l.k = r.k AND l.y = r.y WHERE l.v % 3 = 0": True,
    "SELECT d.v, count(*) FROM (SELECT k + 0 AS k, k AS same, v FROM {l} WHERE v > 5) d JOIN {r} r ON d.same = r.k GROUP BY d.v": True,
    "SELECT a.k, a.v, b.v FROM {l} a JOIN {l} b ON a.k = b.k AND a.v = b.v": True,
    "SELECT l.k, r.k, l.v, r.w FROM {l} l FULL JOIN {r} r ON l.k = r.k": False,
    "SELECT l.k, r.k, l.v, r.w FROM {l} l RIGHT JOIN {r} r ON l.k = r.k": False,
    "SELECT l.k, l.v, r.w FROM {l} l JOIN {r} r ON l.k <=> r.k": False,
    "SELECT l.k, l.v FROM {l} l WHERE l.k NOT IN (SELECT k FROM {r} WHERE k IS NOT NULL)": False,
    "SELECT l.k, l.v, r.w FROM {l} l JOIN (SELECT * FROM {r} ORDER BY w LIMIT 5) r ON l.k = r.k": False,
}
"""Joins by the key of a skewed table `l`, and whether its heavy keys are joined apart."""

OF_PARQUET = pytest.mark.parametrize("tables", ["parquet"], indirect=True)
"""For what depends on no format, as the answers of joins show."""

LEFT = [
    (None if i % 11 == 0 else 10 if i % 2 else 20 if i % 4 == 0 else i % 40, "ab"[i % 3 % 2], i)
    for i in range(300)
]
RIGHT = [(None if i % 7 == 0 else i % 30, "ab"[i % 2], i) for i in range(60)]
KINDS = {
    "named": "SKEWED BY (k) ON (10, 20, NULL) STORED AS DIRECTORIES",
    "auto": "SKEWED BY (k) ON AUTO",
    "tuples": "SKEWED BY (k, y) ON ((10, 'a'), (10, 'b')) STORED AS DIRECTORIES",
    "declared": "SKEWED BY (k) ON (10, 20)",
}
"""Ways to say what is heavy."""


@pytest.fixture(scope="module", params=["parquet", "orc"])
def tables(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    """A database with a table of each of `KINDS`, a table `r` to join with, and views of the same rows."""
    db = f"lake.skew_joins_{request.param}"
    spark.sql(f"CREATE NAMESPACE {db}")
    spark.createDataFrame(LEFT, "k int, y string, v int").createOrReplaceTempView("left_rows")
    spark.createDataFrame(RIGHT, "k int, y string, w int").createOrReplaceTempView("right_rows")
    for name, clause in KINDS.items():
        spark.sql(
            f"CREATE TABLE {db}.{name} (k INT, y STRING, v INT) USING {request.param} {clause} "
            "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')"
        )
        spark.sql(f"INSERT INTO {db}.{name} SELECT * FROM left_rows")
    spark.sql(f"CREATE TABLE {db}.r (k INT, y STRING, w INT) USING {request.param}")
    spark.sql(f"INSERT INTO {db}.r SELECT * FROM right_rows")
    yield db
    spark.sql(f"DROP NAMESPACE {db} CASCADE")


@pytest.fixture(scope="module")
def plain_answers(spark: SparkSession) -> Callable[[str], list[Any]]:
    """Return the rows of a query on the views, which Spark runs once for all kinds of tables."""

    @functools.cache
    def rows(query: str) -> list[Any]:
        return plans.comparable(spark.sql(query.format(l="left_rows", r="right_rows")).collect())

    return rows


def splits(frame: DataFrame) -> list[dict[str, Any]]:
    """Return what the report says of heavy keys."""
    found: list[dict[str, Any]] = parquetry.report(frame).to_dict().get("heavy_keys", [])
    return found


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("kind", KINDS)
def test_answers_are_those_of_plain_spark(
    spark: SparkSession, tables: str, plain_answers: Callable[[str], list[Any]], kind: str, adaptive: str
) -> None:
    """Joins of every type, with NULL among the keys of both sides, give the rows of plain Spark."""
    chosen = {
        "spark.sql.adaptive.enabled": adaptive,
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "parquetry.skew-join": "always",
    }
    with settings(spark, chosen):
        for query, apart in JOINS.items():
            frame = spark.sql(query.format(l=f"{tables}.{kind}", r=f"{tables}.r"))
            assert plans.comparable(frame.collect()) == plain_answers(query), query
            if kind == "tuples" and "l.y = r.y" not in query:
                continue
            made = [each for each in splits(frame) if "keys" in each]
            assert bool(made) == apart, (query, str(parquetry.report(frame)))


@OF_PARQUET
def test_branches_read_their_own_directories(spark: SparkSession, tables: str) -> None:
    """The heavy rows are not shuffled, and their branch reads the heavy directories alone. The other branch
    reads the rest.
    """
    chosen = {"spark.sql.autoBroadcastJoinThreshold": "-1", "parquetry.skew-join": "always"}
    join = f"SELECT l.v, r.w FROM {tables}.named l JOIN {tables}.r r ON l.k = r.k"
    with settings(spark, chosen | {"spark.sql.adaptive.enabled": "false"}):
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
        assert (
            f"{tables}.named INNER JOIN {tables}.r: heavy keys joined apart by broadcast (k IN (10, 20): "
            in str(report)
        )


@OF_PARQUET
def test_when_heavy_keys_stay(spark: SparkSession, tables: str) -> None:
    """Joins of small tables, with hints, and with a broadcast are left alone, and the report says why."""
    join = f"SELECT {{}} l.v, r.w FROM {tables}.named l JOIN {tables}.r r ON l.k = r.k"
    never = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
    for chosen, hint, reason in (
        (never, "", "the heavy rows of"),
        (never, "/*+ MERGE(r) */", "the query has a hint for the join"),
        ({}, "", "Spark broadcasts a side, so nothing is shuffled"),
    ):
        with settings(spark, chosen):
            (said,) = splits(spark.sql(join.format(hint)))
            assert reason in said["reason"], said
            assert "keys" not in said
    with settings(spark, never):
        (said,) = splits(spark.sql(join.format("").replace(" JOIN ", " FULL JOIN ")))
        assert said["reason"] == "Spark broadcasts neither side of a FULL OUTER JOIN"
    with settings(spark, never | {"parquetry.skew-join": "off"}):
        assert splits(spark.sql(join.format(""))) == []


@OF_PARQUET
def test_chains_and_other_settings(spark: SparkSession, tables: str) -> None:
    """Chains, subqueries, unions, writes, and cached tables give plain Spark's rows with heavy keys apart."""
    chosen = {"spark.sql.autoBroadcastJoinThreshold": "-1", "parquetry.skew-join": "always"}
    queries = (
        "SELECT count(*), sum(l.v), sum(a.w), sum(b.w) FROM {l} l JOIN {r} a ON l.k = a.k LEFT JOIN {r} b ON l.k = b.k AND b.w < 9",
        "SELECT sum(x.v) FROM (SELECT l.v FROM {l} l JOIN {r} r ON l.k = r.k UNION ALL SELECT v FROM {l}) x JOIN {l} z ON x.v = z.v",
        "SELECT k, (SELECT max(l.v) FROM {l} l JOIN {r} r ON l.k = r.k AND r.w = o.w) FROM {r} o",
        "WITH c AS (SELECT l.k, count(*) AS n FROM {l} l JOIN {r} r ON l.k = r.k GROUP BY l.k) SELECT a.k, a.n + b.n FROM c a JOIN c b ON a.k = b.k",
        "SELECT l.k, count(*) FROM {l} l JOIN (SELECT k, sum(w) AS w FROM {r} GROUP BY k) r ON l.k = r.k GROUP BY l.k",
    )
    with settings(spark, chosen):
        for query in queries:
            frame = spark.sql(query.format(l=f"{tables}.named", r=f"{tables}.r"))
            plain = spark.sql(query.format(l="left_rows", r="right_rows"))
            assert plans.comparable(frame.collect()) == plans.comparable(plain.collect()), query
        spark.sql(
            f"CREATE TABLE {tables}.made AS SELECT l.v, r.w FROM {tables}.auto l JOIN {tables}.r r ON l.k = r.k"
        )
        assert plans.comparable(spark.table(f"{tables}.made").collect()) == plans.comparable(
            spark.sql("SELECT l.v, r.w FROM left_rows l JOIN right_rows r ON l.k = r.k").collect()
        )
        before = spark.table(f"{tables}.auto").count()
        spark.sql(
            f"MERGE INTO {tables}.auto l USING (SELECT k, max(w) AS w FROM {tables}.r WHERE k = 10 GROUP BY k) r ON l.k = r.k AND l.v < 100 "
            "WHEN MATCHED THEN DELETE"
        )
        assert before - spark.table(f"{tables}.auto").count() == len(
            [row for row in LEFT if row[0] == 10 and row[2] < 100]
        )
        cached = spark.table(f"{tables}.r").cache()
        try:
            frame = spark.sql(f"SELECT l.v, r.w FROM {tables}.named l JOIN {tables}.r r ON l.k = r.k")
            assert (
                len(frame.collect())
                == spark.sql("SELECT 1 FROM left_rows l JOIN right_rows r ON l.k = r.k").count()
            )
            assert [bool(each.get("keys")) for each in splits(frame)] == [True]
        finally:
            cached.unpersist()
