"""Audit of where rows are: each claim about buckets and orders that Spark relies on is checked row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from parquetry.counters import COUNTERS
from tests.support.exchanged_files import alike, exchange, replace
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import Twins, make, plainly, settings, spare_classes

pytestmark = [pytest.mark.core, pytest.mark.every_case]

AUDITED = {"parquetry.audit": "on", "spark.sql.autoBroadcastJoinThreshold": -1}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[dict[str, Twins]]:
    """Tables of the same rows, in buckets and orders of their own."""
    spare_classes(spark)
    spark.sql("CREATE NAMESPACE lake.located")
    columns = "k int, j int, v int"
    rows = [(None if n % 17 == 0 else n % 23, n % 5, n) for n in range(120)]
    yield {
        "eight": make(spark, "lake.located.eight", columns, "(k) SORTED BY (k) INTO 8 BUCKETS", rows),
        "same": make(spark, "lake.located.same", columns, "(k) SORTED BY (k) INTO 8 BUCKETS", rows[:70]),
        "four": make(spark, "lake.located.four", columns, "(k) INTO 4 BUCKETS", rows[20:]),
        "two": make(spark, "lake.located.two", columns, "(k, j) INTO 6 BUCKETS", rows[:90], version=1),
        "plain": make(spark, "lake.located.plain", columns, "(v) INTO 1 BUCKETS", rows[::3]),
        "spark": make(spark, "lake.located.spark", columns, "(k) INTO 4 BUCKETS", rows, version="spark"),
        "other": make(spark, "lake.located.other", columns, "(k) INTO 4 BUCKETS", rows[40:], version="spark"),
    }
    for row in spark.sql("SHOW TABLES IN lake.located").collect():
        # one by one: some files hold other rows than recorded, and no reader is compared by them
        spark.sql(f"DROP TABLE lake.located.{row.tableName}")
    spark.sql("DROP NAMESPACE lake.located")


def claims(frame: DataFrame) -> list[str]:
    """Return the claims that a query has checked, without the names of tables."""
    lines = [line.split("CheckedRows ", 1)[1] for line in plans.lines(frame) if "CheckedRows " in line]
    return sorted(re.sub(r"rows of .*? are ", "", claim) for line in lines for claim in line.split("; "))


QUERIES = {
    "both sides in place": (
        "SELECT l.k, l.v, r.v FROM {eight} l JOIN {same} r ON l.k = r.k",
        {"buckets": 2, "orders": 2},
    ),
    "one side in place": (
        "SELECT l.k, r.v FROM {eight} l LEFT JOIN {plain} r ON l.k = r.k",
        {"buckets": 2, "orders": 2},
    ),
    "a FULL join, grouped": (
        "SELECT coalesce(l.k, r.k) k, count(*) FROM {plain} l FULL JOIN {four} r ON l.k = r.k GROUP BY 1",
        {"buckets": 5, "orders": 0},
    ),
    "two columns, one of them by NULL": (
        "SELECT l.k, r.v FROM {two} l LEFT JOIN {plain} r ON l.k = r.k AND l.j <=> r.j",
        {"buckets": 3, "orders": 0},
    ),
    "a part of an order": (
        "SELECT l.v, r.v FROM {eight} l JOIN {same} r ON l.k = r.k AND l.j = r.j",
        {"buckets": 4, "orders": 4},
    ),
    "unequal counts": (
        "SELECT l.v, r.v FROM {eight} l JOIN {four} r ON l.k = r.k",
        {"buckets": 3, "orders": 1},
    ),
    "a window": (
        "SELECT k, v, rank() OVER (PARTITION BY k ORDER BY v) FROM {eight}",
        {"buckets": 2, "orders": 2},
    ),
}
"""Queries, and how many claims of each kind Spark relies on in them."""


@pytest.mark.parametrize("adaptive", [False, True])
@pytest.mark.parametrize("name", QUERIES)
def test_claims_that_hold(spark: SparkSession, tables: dict[str, Twins], name: str, adaptive: bool) -> None:
    """A right query gives its rows with the audit on, and each claim in it is checked."""
    query, expected = QUERIES[name]
    with settings(spark, {**AUDITED, "spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(query.format(**{key: twins.table for key, twins in tables.items()}))
        found = plans.comparable(frame.collect())
        checked = claims(frame)
    assert found == plainly(spark, query.format(**{key: twins.view for key, twins in tables.items()}))
    counts = {
        "buckets": sum("buckets by hash" in claim for claim in checked),
        "orders": sum("in the order" in claim for claim in checked),
    }
    assert counts == expected, checked


def data_files(spark: SparkSession, table: str) -> list[Path]:
    """Return the files of a table, by their sizes."""
    paths = [
        row[0].removeprefix("file:") for row in spark.sql(f"SELECT DISTINCT _file FROM {table}").collect()
    ]
    return sorted(map(Path, paths), key=lambda path: (path.stat().st_size, path.name))


def refusal(spark: SparkSession, query: str) -> str:
    """Return the error of a query that is audited; without the audit it gives rows. The metric counts it."""
    before = COUNTERS.values()["audits_failed"]
    with settings(spark, {**AUDITED, "parquetry.audit": "off"}):
        spark.sql(query).collect()
    with settings(spark, AUDITED), pytest.raises(PySparkException) as caught:
        spark.sql(query).collect()
    spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty(60_000)
    assert COUNTERS.values()["audits_failed"] == before + 1
    return str(caught.value)


@pytest.mark.parametrize("version", [2, "spark"])
def test_a_file_of_another_bucket(spark: SparkSession, tables: dict[str, Twins], version: str | int) -> None:
    """Rows in the file of another bucket are found where a join relies on the buckets.

    The error names bucket, key and file.
    """
    rows = [(n, n % 3, n) for n in range(8)]
    table = make(
        spark,
        f"lake.located.swapped_{version}",
        "k int, j int, v int",
        "(k) INTO 8 BUCKETS",
        rows,
        version=version,
    ).table
    files = alike(spark, table)
    exchange(*files)
    for query in (
        f"SELECT l.v, r.v FROM {table} l LEFT JOIN {tables['plain'].table} r ON l.k = r.k",
        f"SELECT k, count(*) FROM {table} GROUP BY k",
    ):
        error = refusal(spark, query)
        assert "[PARQUETRY_AUDIT]" in error
        words = r"rows of lake\.located\.swapped_\w+ are in bucket \d of 8 by hash of k, and the row with k = \d belongs in"
        assert re.search(words, error), error
        assert any(path.name in error for path in files)


def test_a_file_in_another_order(spark: SparkSession, tables: dict[str, Twins]) -> None:
    """Rows that are not in the recorded order of their file are found where a sort was left out."""
    rows = [(n, 0, n) for n in range(40)]
    table = make(
        spark, "lake.located.unsorted", "k int, j int, v int", "(k) SORTED BY (k) INTO 2 BUCKETS", rows
    ).table
    for path in data_files(spark, table):
        data = pq.read_table(path)
        sink = pa.BufferOutputStream()
        pq.write_table(data.take(list(range(data.num_rows - 1, -1, -1))), sink)
        replace(path, sink.getvalue().to_pybytes())
    query = f"SELECT l.v, r.v FROM {table} l JOIN {tables['eight'].table} r ON l.k = r.k"
    error = refusal(spark, query)
    assert "[PARQUETRY_AUDIT]" in error
    assert re.search(
        r"rows of lake\.located\.unsorted are in the order of k ASC NULLS FIRST, and after \(\d+\) comes k = \d+",
        error,
    ), error
