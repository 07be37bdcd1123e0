"""Several tasks read a bucket that has most of the rows, and joins have the rows of plain Spark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.effort import sampled
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import OnDemand, Twins, agree, local_frame, make, settings

pytestmark = pytest.mark.core

JOINS = ("INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")
COLUMNS = "k bigint, v int"
CLAUSES = {
    "hot": "(k) INTO 4 BUCKETS",
    "ordered": "(k) SORTED BY (k) INTO 4 BUCKETS",
    "even": "(k) SORTED BY (k) INTO 4 BUCKETS",
    "pair": "(k, v) SORTED BY (k) INTO 4 BUCKETS",
    "fellow": "(k, v) INTO 4 BUCKETS",
}
FILES = {"hot": 5, "ordered": 3}
SPLIT = {"INNER": 1, "LEFT": 1, "LEFT SEMI": 1, "LEFT ANTI": 1, "RIGHT": 0, "FULL": 0}
"""Whether a join of each type splits buckets of its left side."""


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that does not broadcast, and splits buckets of a few rows."""
    spark.sql("CREATE NAMESPACE lake.hot")
    given = {"spark.sql.autoBroadcastJoinThreshold": "-1", "parquetry.hot-bucket-rows": "50"}
    with settings(spark, given):
        yield spark
    spark.sql("DROP NAMESPACE lake.hot CASCADE")


@pytest.fixture(scope="module")
def tables(session: SparkSession) -> Callable[[str], dict[str, Twins]]:
    """Tables by file format; in three of them, most rows have one key."""

    def of(fmt: str) -> dict[str, Twins]:
        def made(name: str) -> Twins:
            if name in ("even", "fellow"):
                rows = [(None if n == 5 else n % 20, 1 if name == "fellow" else n) for n in range(60)]
            else:
                rows = [(7 if n % 10 else n % 19 or None, n if name != "pair" else 1) for n in range(400)]
            twins = make(session, f"lake.hot.{name}_{fmt}", COLUMNS, CLAUSES[name], [], format=fmt)
            files = FILES.get(name, 1)
            for i in range(files):
                local_frame(session, rows[i::files], COLUMNS).createOrReplaceTempView("some_rows")
                session.sql(f"INSERT INTO {twins.table} SELECT * FROM some_rows")
            local_frame(session, rows, COLUMNS).createOrReplaceTempView(twins.view)
            return twins

        return OnDemand(made)

    made = {fmt: of(fmt) for fmt in ("parquet", "orc")}
    return lambda fmt: made[fmt]


KNOWN: dict[str, list[tuple[Any, ...]]] = {}
SHAPES = {
    "several files": "SELECT * FROM {hot} l {join} JOIN {even} r ON l.k = r.k",
    "sorted files": "SELECT * FROM {ordered} l {join} JOIN {even} r ON l.k = r.k",
    "a condition and projections": "SELECT * FROM (SELECT k + 0 AS s, k, v FROM {ordered} WHERE v > 3) l {join} JOIN "
    "(SELECT k, v * 2 AS w FROM {even}) r ON l.k = r.k AND l.s <> r.w",
    "two columns in one file": "SELECT * FROM {pair} l {join} JOIN {fellow} r ON l.v = r.v AND l.k = r.k",
    "a hash join": "SELECT /*+ SHUFFLE_HASH(r) */ * FROM {hot} l {join} JOIN {even} r ON l.k = r.k",
}  # fmt: skip


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_hot_bucket_is_split_where_that_is_right(
    session: SparkSession, tables: Callable[[str], dict[str, Twins]], shape: str, fmt: str
) -> None:
    """Two tasks read a bucket with nine of ten rows of the preserved side, without a shuffle."""
    for join, adaptive in sampled(list(product(JOINS, (True, False))), shape, fmt):
        query = SHAPES[shape].replace("{join}", join)
        nodes = agree(session, query, tables(fmt), adaptive, KNOWN)
        assert (nodes["Exchange"], nodes["HideBuckets"]) == (0, SPLIT[join]), (query, adaptive)
    named = {name: tables(fmt)[name].table for name in CLAUSES if f"{{{name}}}" in SHAPES[shape]}
    frame = session.sql(SHAPES[shape].format(join="LEFT", **named))
    assert plans.tasks(frame) == 5


OTHERS = {
    "SELECT l.v, count(*), sum(r.v) FROM {hot} l JOIN {even} r ON l.k = r.k GROUP BY l.v": (1, 1),
    "SELECT l.k, count(*) FROM {hot} l JOIN {even} r ON l.k = r.k GROUP BY l.k": (0, 0),
    "SELECT DISTINCT l.k FROM {hot} l JOIN {even} r ON l.k = r.k": (0, 0),
    "SELECT l.k, row_number() OVER (PARTITION BY r.k ORDER BY l.v, r.v) FROM {hot} l JOIN {even} r ON l.k = r.k": (0, 0),
    "SELECT l.v, rank() OVER (PARTITION BY r.v ORDER BY l.v) FROM {hot} l JOIN {even} r ON l.k = r.k": (1, 1),
    "SELECT * FROM {hot} l JOIN {even} r ON l.k = r.k JOIN {ordered} t ON l.k = t.k WHERE t.v < 9": (0, 1),
    "SELECT l.v, t.v FROM {even} r JOIN {hot} l ON l.k = r.k LEFT JOIN {even} t ON l.k = t.k": (0, 1),
    "SELECT l.v, t.v FROM {hot} l JOIN {even} r ON l.k = r.k FULL JOIN {even} t ON l.k = t.k": (0, 0),
    "SELECT r.v, l.c FROM (SELECT k, count(*) AS c FROM {hot} GROUP BY k) l JOIN {even} r ON l.k = r.k": (0, 0),
    "SELECT l.v, r.v FROM {hot} l JOIN {even} r ON l.v = r.v": (2, 0),
    "SELECT /*+ BROADCAST(t) */ * FROM {hot} l JOIN {even} r ON l.k = r.k JOIN {ordered} t ON l.v = t.v": (0, 1),
    "SELECT * FROM {hot} l JOIN (SELECT k, rand() * 0 AS c FROM {even}) r ON l.k = r.k": (0, 0),
    "SELECT * FROM {even} l RIGHT JOIN {hot} r ON l.k = r.k": (0, 1),
    "SELECT * FROM {hot} l JOIN {ordered} r ON l.k = r.k WHERE r.v < 30": (0, 1),
    "SELECT * FROM {hot} WHERE k IN (SELECT k FROM {even} WHERE v > 5)": (0, 1),
    "SELECT /*+ BROADCAST(r) */ * FROM {hot} l JOIN {even} r ON l.k = r.k": (0, 0),
}  # fmt: skip


@pytest.mark.parametrize("adaptive", [True, False])
def test_nodes_above_a_split_bucket(
    session: SparkSession, tables: Callable[[str], dict[str, Twins]], adaptive: bool
) -> None:
    """A node that wants equal keys in one task keeps buckets whole, or shuffles by other columns."""
    for query, (exchanges, split) in OTHERS.items():
        nodes = agree(session, query, tables("parquet"), adaptive, KNOWN)
        assert (nodes["Exchange"], nodes["HideBuckets"]) == (exchanges, split), query


@pytest.mark.newest("earlier series keep buckets whole beside an aggregate")
def test_an_aggregate_beside_a_split_bucket(
    session: SparkSession, tables: Callable[[str], dict[str, Twins]]
) -> None:
    """Each task of a hot bucket gets the other side's rows of it, which are aggregated."""
    grouped = "SELECT k, count(*) AS c FROM {even} GROUP BY k"
    query = f"SELECT l.v, r.c FROM {{hot}} l LEFT JOIN ({grouped}) r ON l.k = r.k"
    nodes = agree(session, query, tables("parquet"), True, KNOWN)
    assert (nodes["Exchange"], nodes["HideBuckets"]) == (0, 1)


@pytest.mark.parametrize(
    "setting",
    [
        "spark.sql.sources.v2.bucketing.enabled",
        "spark.sql.sources.v2.bucketing.pushPartValues.enabled",
        "spark.sql.sources.bucketing.autoBucketedScan.enabled",
    ],
)
def test_a_setting_that_shuffles_the_join(
    session: SparkSession, tables: Callable[[str], dict[str, Twins]], setting: str
) -> None:
    """No row is in the result twice if Spark shuffles what was to be joined in place."""
    query = "SELECT * FROM {hot} l LEFT JOIN {even} r ON l.k = r.k"
    with settings(session, {setting: False}):
        agree(session, query, tables("parquet"), known=KNOWN)


def test_what_is_said_of_hot_buckets(
    session: SparkSession, tables: Callable[[str], dict[str, Twins]]
) -> None:
    """EXPLAIN and the report name the bucket, its part of the rows, and the tasks or the reason against."""
    of = {name: tables("parquet")[name].table for name in ("hot", "even")}
    texts = {}
    for join in ("LEFT", "FULL"):
        frame = session.sql("SELECT * FROM {hot} l {join} JOIN {even} r ON l.k = r.k".format(join=join, **of))
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
    with settings(session, {"parquetry.hot-bucket-rows": 1000}):
        frame = session.sql("SELECT * FROM {hot} l JOIN {even} r ON l.k = r.k".format(**of))
        assert plans.nodes(frame)["HideBuckets"] == 0
