"""Each of several simultaneous queries gets its own values, also over one table, one plan or
one DataFrame.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.effort import STEP
from tests.support.tables.bucketed_tables import settings

DATABASE = "lake.run_time_at_once"
THREADS = 6


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession) -> Iterator[None]:
    spark.sql(f"CREATE NAMESPACE {DATABASE}")
    spark.sql(f"CREATE TABLE {DATABASE}.parts (v int, k int) PARTITIONED BY (k)")
    spark.sql(f"INSERT INTO {DATABASE}.parts SELECT id, id % 20 FROM range(400)")
    spark.sql(f"CREATE TABLE {DATABASE}.files (v int, k int) TBLPROPERTIES ('distribution' = 'none')")
    spark.sql(f"INSERT INTO {DATABASE}.files SELECT id, id DIV 20 FROM range(0, 400, 1, 10)")
    spark.sql(f"CREATE TABLE {DATABASE}.dim (k int, name string)")
    spark.sql(f"INSERT INTO {DATABASE}.dim SELECT id, concat('n', id) FROM range(0, 20, 1, 1)")
    yield
    spark.sql(f"DROP NAMESPACE {DATABASE} CASCADE")


def query(table: str, key: int) -> str:
    hint = ("", "/*+ MERGE(d) */", "/*+ BROADCAST(d) */")[key % 3]
    return (
        f"SELECT {hint} count(*), sum(f.v) FROM {DATABASE}.{table} f JOIN {DATABASE}.dim d ON f.k = d.k "
        f"WHERE d.name IN ('n{key}', 'n{key + 1}')"
    )


def answer(table: str, key: int) -> tuple[int, int]:
    rows = [v for v in range(400) if (v % 20 if table == "parts" else v // 20) in (key, key + 1)]
    return len(rows), sum(rows)


@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "planned"])
def test_queries_at_once(spark: SparkSession, adaptive: bool) -> None:
    """Each query returns its own rows, and its report shows its own values."""

    def run(case: tuple[str, int]) -> tuple[tuple[int, ...], int]:
        frame = spark.sql(query(*case))
        found = tuple(frame.collect()[0])
        (scan,) = [each for each in parquetry.report(frame).scans if not each.table.endswith("dim")]
        step = scan.step("partitions" if case[0] == "parts" else "files")
        assert step is not None
        return found, step.kept

    cases = [(table, key) for key in range(0, 18, 2 if STEP == 1 else 4) for table in ("parts", "files")]
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}), ThreadPoolExecutor(THREADS) as pool:
        for case, (found, kept) in zip(cases, pool.map(run, cases), strict=True):
            assert found == answer(*case), case
            assert kept == (2 if case[0] == "parts" else 1), case


@pytest.mark.parametrize(
    "adaptive",
    [True, pytest.param(False, marks=pytest.mark.exhaustive("test_queries_at_once is also run without"))],
    ids=["adaptive", "planned"],
)
def test_one_frame_at_once(spark: SparkSession, adaptive: bool) -> None:
    """A DataFrame that several threads collect has the same rows in each; so has what is made of it."""
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}), ThreadPoolExecutor(THREADS) as pool:
        frame = spark.sql(query("parts", 4))
        for row in pool.map(lambda _: frame.collect()[0], range(THREADS)):
            assert tuple(row) == answer("parts", 4)
        joined = spark.sql(
            f"SELECT f.k, f.v, d.name FROM {DATABASE}.files f JOIN {DATABASE}.dim d ON f.k = d.k"
        )
        counts = pool.map(lambda key: joined.where(f"name = 'n{key}'").count(), range(THREADS))
        assert list(counts) == [20] * THREADS
