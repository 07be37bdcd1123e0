"""Spark's own joins of partitioned tables gave wrong answers to some queries in 2026, under some settings.

Over tables of Parquetry these queries have the rows of plain Spark, on each series.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.support.effort import STEP
from tests.support.tables.bucketed_tables import OnDemand, Twins, agree, make, settings, spare_classes

pytestmark = pytest.mark.core

V2 = "spark.sql.sources.v2.bucketing"
SUBSETS = {
    f"{V2}.allowKeysSubsetOfPartitionKeys.enabled": True,
    f"{V2}.allowJoinKeysSubsetOfPartitionKeys.enabled": True,
}
"""One setting, by its name since Spark 4.3 and its name before."""

SKEW = {
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "1b",
    "spark.sql.adaptive.skewJoin.skewedPartitionFactor": "1.0",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "64b",
    "spark.sql.adaptive.coalescePartitions.enabled": False,
    "spark.sql.adaptive.forceOptimizeSkewedJoin": True,
    "spark.sql.shuffle.partitions": "3",
}
"""With these settings adaptive execution takes all partitions for skewed, and plans a query anew."""


class Defect(NamedTuple):
    """Settings of Spark, and queries that had wrong answers under them."""

    settings: dict[str, Any]
    queries: tuple[str, ...]


PARTIAL = {f"{V2}.partiallyClusteredDistribution.enabled": True}
DEFECTS = {
    "SPARK-55848: rows made distinct above a join of split buckets": Defect(
        PARTIAL,
        (
            "SELECT DISTINCT l.k FROM {split} l JOIN {whole} r ON l.k = r.k",
            "SELECT k, v FROM (SELECT l.k, l.v, row_number() OVER (PARTITION BY l.k ORDER BY l.v, r.v) AS n "
            "FROM {split} l JOIN {whole} r ON l.k = r.k) WHERE n = 1",
            "SELECT l.k, count(*), max(r.v) FROM {whole} l JOIN {split} r ON l.k = r.k GROUP BY l.k",
        ),
    ),
    "SPARK-53074: groups below a join of split buckets": Defect(
        PARTIAL,
        (
            "SELECT * FROM (SELECT k, count(*) AS c FROM {split} GROUP BY k) l JOIN {split} r ON l.k = r.k",
            "SELECT * FROM {whole} l JOIN (SELECT DISTINCT k FROM {split}) r ON l.k = r.k",
            "SELECT * FROM (SELECT k, v, row_number() OVER (PARTITION BY k ORDER BY v) AS n FROM {split}) l "
            "JOIN {whole} r ON l.k = r.k WHERE l.n < 3",
        ),
    ),
    "SPARK-58996: a join of split buckets that is planned twice": Defect(
        PARTIAL | SKEW,
        (
            "SELECT l.k, l.v, s.w FROM {split} l JOIN {whole} r ON l.k = r.k JOIN {skewed} s ON l.v = s.w",
            "SELECT x.k, s.k FROM (SELECT l.k, r.v FROM {whole} l LEFT JOIN {split} r ON l.k = r.k) x "
            "JOIN {skewed} s ON x.v = s.w",
        ),
    ),
    "SPARK-58968: groups by some of the bucket columns": Defect(
        SUBSETS,
        (
            "SELECT a, b, n FROM (SELECT a, b, row_number() OVER (PARTITION BY a ORDER BY b, v) AS n FROM {pair}) WHERE n = 1",
            "SELECT a, sum(v) OVER (PARTITION BY a) FROM {pair}",
            "SELECT a, sum(v) FROM {pair} GROUP BY a",
            "SELECT l.a, count(*) FROM {pair} l JOIN {pair} r ON l.a = r.a AND l.b = r.b GROUP BY l.a",
        ),
    ),
    "SPARK-59121: buckets of both sides folded": Defect(
        {},
        (
            "SELECT x.k, y.k FROM (SELECT a.k FROM {twelve} a JOIN {eight} b ON a.k = b.k) x "
            "JOIN (SELECT c.k FROM {twelve} c JOIN {eighteen} d ON c.k = d.k) y ON x.k = y.k",
            "SELECT a.k FROM {twelve} a JOIN {eight} b ON a.k = b.k JOIN {six} c ON b.k = c.k",
            "SELECT a.k FROM {twelve} a JOIN {eight} b ON a.k = b.k JOIN {six} c ON a.k = c.k",
            "SELECT x.k, y.k FROM (SELECT a.k FROM {twelve} a JOIN {eight} b ON a.k = b.k UNION ALL SELECT k FROM {twelve}) x "
            "JOIN {twelve} y ON x.k = y.k",
            "SELECT x.k, count(*) FROM (SELECT k, count(*) FROM {twelve} GROUP BY k) x JOIN (SELECT k, count(*) FROM {eight} "
            "GROUP BY k) y ON x.k = y.k JOIN (SELECT k, count(*) FROM {eighteen} GROUP BY k) z ON x.k = z.k GROUP BY x.k",
        ),
    ),
    "SPARK-59050: one side shuffled, with keys that the other has not": Defect(
        {f"{V2}.shuffle.enabled": True},
        (
            "SELECT p.k, t.k FROM {plain} p LEFT JOIN {few} f ON p.k = f.k LEFT JOIN {whole} t ON p.k = t.k",
            "SELECT p.k, t.v FROM {few} f RIGHT JOIN {plain} p ON p.k = f.k JOIN {eight} t ON p.k = t.k",
            "SELECT p.k, count(*) FROM {plain} p LEFT JOIN {few} f ON p.k = f.k GROUP BY p.k",
        ),
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that does not broadcast, with a database for the tables of this module."""
    spare_classes(spark)
    spark.sql("CREATE NAMESPACE lake.defects")
    with settings(
        spark,
        {"spark.sql.autoBroadcastJoinThreshold": -1, "spark.sql.adaptive.autoBroadcastJoinThreshold": -1},
    ):
        yield spark
    spark.sql("DROP NAMESPACE lake.defects CASCADE")


@pytest.fixture(scope="module")
def tables(session: SparkSession) -> OnDemand:
    """Tables with one and with several files a bucket, and with other numbers of buckets."""
    rows = [(n % 24 if n % 7 else None, n % 4) for n in range(96)]
    heavy = [(n, 0 if n % 3 else n % 4) for n in range(40)]
    pairs = [(n % 5, n % 3, n) for n in range(45)]
    given: dict[str, tuple[str, str, list[Any], int]] = {
        "split": ("k bigint, v int", "(k) SORTED BY (k) INTO 4 BUCKETS", rows, 3),
        "whole": ("k bigint, v int", "(k) SORTED BY (k) INTO 4 BUCKETS", rows[:60], 1),
        "skewed": ("k bigint, w int", "(k) INTO 3 BUCKETS", heavy, 1),
        "pair": ("a bigint, b int, v int", "(a, b) INTO 8 BUCKETS", pairs, 2),
        "six": ("k bigint, v int", "(k) INTO 6 BUCKETS", rows, 1),
        "eight": ("k bigint, v int", "(k) INTO 8 BUCKETS", rows, 1),
        "twelve": ("k bigint, v int", "(k) INTO 12 BUCKETS", rows, 1),
        "eighteen": ("k bigint, v int", "(k) INTO 18 BUCKETS", rows, 1),
        "few": ("k bigint, v int", "(k) INTO 4 BUCKETS", [(1, 1), (2, 2)], 1),
        "plain": ("k bigint, v int", "(v) INTO 2 BUCKETS", rows, 1),
    }

    def made(name: str) -> Twins:
        columns, clause, all_rows, files = given[name]
        twins = make(session, f"lake.defects.{name}", columns, clause, all_rows)
        for _ in range(files - 1):
            session.sql(f"INSERT INTO {twins.table} SELECT * FROM {twins.view}")
        if files > 1:
            copies = " UNION ALL ".join([f"SELECT * FROM {twins.view}"] * files)
            session.sql(f"CREATE OR REPLACE TEMP VIEW {twins.view}_copies AS {copies}")
            return Twins(twins.table, f"{twins.view}_copies")
        return twins

    return OnDemand(made)


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("defect", DEFECTS)
def test_a_defect_of_spark_changes_no_answer(
    session: SparkSession, tables: OnDemand, defect: str, adaptive: bool
) -> None:
    """Under the settings of a defect, a query has the rows of plain Spark."""
    given = DEFECTS[defect]
    known: dict[str, list[tuple[Any, ...]]] = {}
    with settings(session, given.settings):
        for query in given.queries if STEP == 1 or adaptive else given.queries[:1]:
            agree(session, query, tables, adaptive, known)
