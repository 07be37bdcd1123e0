"""COUNT, MIN and MAX that the metastore answers alone: right, and without a scan; else with one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry

Rows = Callable[[str], list[tuple[Any, ...]]]

_COLUMNS = "i int, l bigint, s string, f double, d date, t timestamp, m decimal(10,2), b boolean, bin binary, a array<int>"


@pytest.fixture(scope="module", params=["parquet", "orc"])
def table(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    """Four partitions of three kinds of rows, a column of NULL only in one of them.

    The view `plain_rows` has the same rows.
    """
    name = f"lake.aggregates_{request.param}.t"
    spark.sql(f"CREATE NAMESPACE lake.aggregates_{request.param}")
    spark.sql(
        f"CREATE TABLE {name} ({_COLUMNS}, p int, q string) USING {request.param} PARTITIONED BY (p, q)"
    )
    spark.sql(
        f"INSERT INTO {name} SELECT CAST(id AS INT), nullif(id, 3), concat('s', id), CAST(id AS DOUBLE),"
        " date_add(DATE'2024-01-01', CAST(id AS INT)), timestamp_micros(id * 1000001), CAST(id / 3 AS DECIMAL(10,2)),"
        " id % 2 = 0, CAST(concat('b', id) AS BINARY), array(1), CAST(id % 2 AS INT), 'x' FROM range(10)"
    )
    nulls = ", ".join(["NULL"] * _COLUMNS.count(", "))
    values = ", ".join(
        f"({i}, {nulls}, {p_q})" for i, p_q in ((100, "NULL, 'y'"), ("NULL", "7, NULL"), (101, "NULL, 'y'"))
    )
    spark.sql(f"INSERT INTO {name} VALUES {values}")
    rows = spark.table(name)
    spark.createDataFrame(rows.toArrow(), rows.schema).createOrReplaceTempView("plain_rows")
    yield name
    spark.sql(f"DROP NAMESPACE lake.aggregates_{request.param} CASCADE")


def _answered(spark: SparkSession, query: str) -> tuple[bool, list[tuple[Any, ...]]]:
    """Return whether a query opens no file, and what it gives."""
    frame = spark.sql(query)
    plan = frame._jdf.queryExecution().executedPlan().toString()
    found = [tuple(row) for row in frame.collect()]
    if "BatchScan" not in plan:
        files = next(
            s for s in parquetry.report(frame).to_dict()["scans"][0]["steps"] if s["name"] == "files"
        )
        assert files["kept"] == 0
        assert files["by"][-1].endswith("the metastore")
    return "BatchScan" not in plan, sorted(found, key=str)


@pytest.mark.parametrize(
    ("what", "alone"),
    [
        ("count(*)", True),
        ("count(1), count(l), count(s), count(q), count(p)", True),
        ("count(f), count(d), count(t), count(b), count(bin)", True),
        ("count(NULL)", None),
        ("count(a)", None),
        ("min(i), max(i), min(l), max(l), min(d), max(d), min(m), max(m), min(b), max(b)", True),
        ("min(p), max(p), min(q), max(q)", True),
        ("max(p), count(*), min(p)", True),
        ("min(f)", False),
        ("max(f), count(*)", False),
        ("sum(i)", False),
        ("avg(i), count(*)", False),
        ("count(DISTINCT p)", True),
        ("count(DISTINCT q), count(DISTINCT p), count(*)", True),
        ("count(DISTINCT i)", False),
        ("count(*) FILTER (WHERE i > 3)", False),
        ("max(i + 1)", False),
    ],
)
def test_what_the_metastore_answers_is_what_the_rows_say(
    spark: SparkSession, table: str, what: str, alone: bool | None
) -> None:
    """An aggregate answered alone equals the same over all rows; one that cannot be exact is computed."""
    for where in ("", "WHERE p = 1", "WHERE p IS NULL", "WHERE q IN ('y', 'nowhere') OR p = 0"):
        found_alone, found = _answered(spark, f"SELECT {what} FROM {table} {where}")
        expected = [tuple(row) for row in spark.sql(f"SELECT {what} FROM plain_rows {where}").collect()]
        assert found == expected, where
        if alone is not None:
            assert found_alone == alone, where
    _, found = _answered(spark, f"SELECT {what} FROM {table} WHERE i > 5")
    assert found == [tuple(row) for row in spark.sql(f"SELECT {what} FROM plain_rows WHERE i > 5").collect()]


@pytest.mark.parametrize("keys", ["p", "q", "q, p", "p, q"])
def test_groups_of_partition_columns_are_answered_alone(spark: SparkSession, table: str, keys: str) -> None:
    """GROUP BY partition columns gives a row for each group that has rows, NULL among them."""
    alone, found = _answered(spark, f"SELECT {keys}, count(*), max(i), count(s) FROM {table} GROUP BY {keys}")
    assert alone
    whole = f"(SELECT /*+ REPARTITION(1) */ * FROM {table})"
    assert (
        found
        == _answered(spark, f"SELECT {keys}, count(*), max(i), count(s) FROM {whole} GROUP BY {keys}")[1]
    )
    alone, found = _answered(spark, f"SELECT count(*) FROM {table} WHERE p = 0 GROUP BY {keys}")
    assert (alone, found) == (True, [(5,)])
    alone, found = _answered(spark, f"SELECT DISTINCT {keys} FROM {table}")
    assert (alone, found) == (True, _answered(spark, f"SELECT DISTINCT {keys} FROM {whole}")[1])
    alone, found = _answered(spark, f"SELECT p, count(DISTINCT q) FROM {table} GROUP BY p")
    assert (alone, found) == (True, [(0, 1), (1, 1), (7, 0), (None, 1)])


def test_groups_of_other_columns_are_computed(spark: SparkSession, table: str) -> None:
    """GROUP BY a data column, or by an expression, is not for the metastore to answer."""
    assert not _answered(spark, f"SELECT i, count(*) FROM {table} GROUP BY i")[0]
    found = _answered(spark, f"SELECT p % 2, count(*) FROM {table} GROUP BY p % 2")
    assert found[1] == [(0, 5), (1, 6), (None, 2)]


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_changed_partitions_are_counted_as_they_are(
    spark: SparkSession, db: str, rows: Rows, file_format: str
) -> None:
    """After DELETE, INSERT OVERWRITE, TRUNCATE and an empty partition added, only what is live counts."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (i int, p int) USING {file_format} PARTITIONED BY (p)")
    query = f"SELECT count(*), min(i), max(i), min(p), max(p) FROM {table}"
    assert _answered(spark, query) == (True, [(0, None, None, None, None)])
    assert _answered(spark, f"SELECT p, count(*) FROM {table} GROUP BY p") == (True, [])
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2), (3, 3), (4, NULL)")
    assert _answered(spark, query) == (True, [(4, 1, 4, 1, 3)])
    spark.sql(f"DELETE FROM {table} WHERE p = 1")
    assert _answered(spark, query) == (True, [(3, 2, 4, 2, 3)])
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (p = 3) VALUES (30), (31)")
    assert _answered(spark, query) == (True, [(4, 2, 31, 2, 3)])
    spark.sql(f"ALTER TABLE {table} ADD PARTITION (p = 9)")
    assert _answered(spark, query) == (True, [(4, 2, 31, 2, 3)])
    assert _answered(spark, f"SELECT p, count(*) FROM {table} GROUP BY p")[1] == [(2, 1), (3, 2), (None, 1)]
    spark.sql(f"TRUNCATE TABLE {table} PARTITION (p = 3)")
    assert _answered(spark, query) == (True, [(2, 2, 4, 2, 2)])
    spark.sql(f"TRUNCATE TABLE {table}")
    assert _answered(spark, query) == (True, [(0, None, None, None, None)])


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_long_strings_are_not_answered_from_shortened_bounds(
    spark: SparkSession, db: str, file_format: str
) -> None:
    """A maximum that is kept shortened is computed, and comes back whole."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (s string, p int) USING {file_format} PARTITIONED BY (p)")
    long = "x" * 2000
    spark.sql(f"INSERT INTO {table} VALUES ('{long}1', 1), ('{long}2', 1), ('short', 1), ('a', 2), ('b', 2)")
    assert _answered(spark, f"SELECT max(s), count(s) FROM {table}") == (False, [(long + "2", 5)])
    assert _answered(spark, f"SELECT min(s) FROM {table} WHERE p = 2") == (True, [("a",)])


def test_floats_are_computed_so_that_nan_is_the_greatest(spark: SparkSession, db: str) -> None:
    """MAX of a column with NaN is NaN, and a partition column of floats is grouped as Spark groups."""
    spark.sql(f"CREATE TABLE {db}.t (f double, g double) PARTITIONED BY (g)")
    spark.sql(
        f"INSERT INTO {db}.t VALUES (1, 0.0), (CAST('NaN' AS DOUBLE), -0.0D), (2, CAST('NaN' AS DOUBLE))"
    )
    alone, found = _answered(spark, f"SELECT max(f), min(f), max(g), min(g) FROM {db}.t")
    assert (alone, str(found)) == (False, "[(nan, 1.0, nan, 0.0)]")
    assert sorted(map(str, spark.sql(f"SELECT g, count(*) FROM {db}.t GROUP BY g").collect())) == [
        "Row(g=0.0, count(1)=2)",
        "Row(g=nan, count(1)=1)",
    ]


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_decimals_of_all_their_digits(spark: SparkSession, db: str, file_format: str) -> None:
    """Python's default context has 28 digits, a decimal up to 38."""
    table = f"{db}.decimals_{file_format}"
    least, greatest = (Decimal(f"{sign}1234567890123456789012345678.0123456789") for sign in ("-", ""))
    spark.sql(f"CREATE TABLE {table} (m DECIMAL(38,10), p INT) USING {file_format} PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} VALUES ({least}BD, 1), ({greatest}BD, 1)")
    assert spark.sql(f"SELECT p, min(m), max(m) FROM {table} GROUP BY p").collect() == [(1, least, greatest)]


@pytest.mark.parametrize(
    ("what", "where", "files"),
    [
        ("count(*), max(i)", "i >= 13", 1),
        ("count(*), max(i)", "i >= 20", 0),
        ("max(i) + count(s) AS both", "i >= 13 AND s > 'a'", 1),
        ("min(i), max(i)", "i < 27", 1),
        ("max(s)", "i > 11", 0),
        ("max(f), count(*)", "i >= 20", 2),
        ("count(*)", "i >= 13 AND i % 2 = 0", 3),
        ("count(*)", "i > 1000", 0),
        ("count(*), (SELECT min(i) FROM {0} WHERE i > 15)", "i >= 20", 0),
        (
            "count(*) + (SELECT count(*) + max(f) FROM {0} WHERE i >= 13) + (SELECT count(s) FROM {0} WHERE i >= 13) AS n",
            "i >= 13",
            None,
        ),
        (
            "(SELECT max(i) FROM {0} WHERE i % 5 = 3) - (SELECT min(i) FROM {0} WHERE i % 5 = 3) + max(i) AS n",
            "i % 5 = 3",
            None,
        ),
    ],
)
def test_files_that_match_fully_are_not_read(
    spark: SparkSession, db: str, what: str, where: str, files: int | None
) -> None:
    """Under a WHERE, the part of files whose rows all match is known, and only the others are read."""
    spark.sql(f"CREATE TABLE {db}.t (i int, s string, f double)")
    for low in range(0, 40, 10):
        rows = (
            f"SELECT CAST(id AS INT), concat('s', id), CAST(id AS DOUBLE) FROM range({low}, {low + 10}, 1, 1)"
        )
        spark.sql(f"INSERT INTO {db}.t {rows}")
    plain = "(SELECT CAST(id AS INT) i, concat('s', id) s, CAST(id AS DOUBLE) f FROM range(40))"
    for adaptive in ("true", "false"):
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        frame = spark.sql(f"SELECT {what.format(f'{db}.t')} FROM {db}.t WHERE {where}")
        steps = parquetry.explain(frame).to_dict()["scans"][0]["steps"]
        assert files in (None, next(step["kept"] for step in steps if step["name"] == "files"))
        expected = spark.sql(f"SELECT {what.format(plain)} FROM {plain} WHERE {where}")
        assert frame.collect() == expected.collect()
        assert frame.schema == expected.schema
    spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.mark.parametrize(
    ("what", "where", "reason"),
    [
        ("max(f)", "i >= 13", "not by max(f): statistics for type double are not exact"),
        ("count(*)", "i % 2 = 1", "not by count(*): no file is known to have only rows that match"),
        ("min(f), count(*)", "i >= 13", "not by min(f), count(*): statistics for type double are not exact"),
        ("count(*)", "i >= 13 AND hash(i) <> 3", "not by count(*): a row may fail"),
    ],
)
def test_the_report_says_why_the_metastore_has_no_part_of_an_aggregate(
    spark: SparkSession, db: str, what: str, where: str, reason: str
) -> None:
    """All files that may match are read, the answer is right, and the first reason is in the report."""
    spark.sql(f"CREATE TABLE {db}.t (i int, f double)")
    for low in range(0, 40, 10):
        spark.sql(
            f"INSERT INTO {db}.t SELECT CAST(id AS INT), CAST(id AS DOUBLE) FROM range({low}, {low + 10}, 1, 1)"
        )
    frame = spark.sql(f"SELECT {what} FROM {db}.t WHERE {where}")
    assert reason in str(parquetry.explain(frame))
    plain = "(SELECT CAST(id AS INT) i, CAST(id AS DOUBLE) f FROM range(40))"
    assert frame.collect() == spark.sql(f"SELECT {what} FROM {plain} WHERE {where}").collect()
