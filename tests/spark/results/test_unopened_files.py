"""Files are not opened for queries that read only partition columns, or skewed ones, of a table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import local_view, plainly, settings

DATABASE = "lake.unopened"
ROWS = (
    "SELECT int(id) v, IF(id % 5 = 4, NULL, date_add(date'2026-01-01', int(id % 5))) day, "
    "CAST(id % 3 AS decimal(10, 2)) price, IF(id % 7 = 6, NULL, concat('s', int(id % 7))) s FROM range(420)"
)
"""Rows with NULL for a partition column and for a skewed one."""
PARTITION_COLUMNS = (
    "SELECT d.name, count(*), min(f.day), sum(f.price) FROM {f} f JOIN {d} d ON f.day = d.day GROUP BY d.name",
    "SELECT d.name, f.price FROM {f} f LEFT SEMI JOIN {d} e ON f.price = e.price JOIN {d} d ON f.day <=> d.day",
    "SELECT day, count(*), sum(price) FROM {f} GROUP BY day",
    "SELECT DISTINCT day, price FROM {f}",
    "SELECT count(DISTINCT f.price) FROM {f} f JOIN {d} d ON f.day = d.day",
    "SELECT day, price, row_number() OVER (ORDER BY day, price) FROM {f} WHERE price > 0",
)
SKEWED_COLUMNS = (
    "SELECT d.name, count(*) FROM {f} f JOIN {d} d ON f.s = d.name AND f.day = d.day GROUP BY d.name",
    "SELECT s, day, count(*) FROM {f} WHERE s = 's1' OR s IS NULL GROUP BY s, day",
)


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[dict[str, str]]:
    """A table by days and decimals, skewed by texts; a small table; and views of their rows."""
    spark.sql(f"CREATE NAMESPACE {DATABASE}")
    spark.sql(
        f"CREATE TABLE {DATABASE}.f (v INT, s STRING, day DATE, price DECIMAL(10, 2)) PARTITIONED BY (day, price) "
        "SKEWED BY (s) ON ('s1', 's2', NULL) STORED AS DIRECTORIES"
    )
    spark.sql(f"INSERT OVERWRITE {DATABASE}.f SELECT v, s, day, price FROM ({ROWS})")
    spark.sql(f"CREATE TABLE {DATABASE}.d (name STRING, day DATE, price DECIMAL(10, 2))")
    spark.sql(
        f"INSERT INTO {DATABASE}.d VALUES ('s1', date'2026-01-01', 1), ('s2', date'2026-01-03', 0), ('s1', NULL, NULL)"
    )
    names = {name: f"{DATABASE}.{name}" for name in ("f", "d")}
    for name, table in names.items():
        local_view(spark.table(table), f"plain_unopened_{name}")
    yield names
    spark.sql(f"DROP NAMESPACE {DATABASE} CASCADE")


@contextmanager
def hidden(files: list[Path]) -> Iterator[None]:
    """Hide files, so that opening one is an error."""
    for file in files:
        file.rename(file.with_name(f"hidden {file.name}"))
    try:
        yield
    finally:
        for file in files:
            file.with_name(f"hidden {file.name}").rename(file)


def files_of(spark: SparkSession, table: str, where: str) -> list[Path]:
    """Return the files of a table with rows that satisfy a condition."""
    rows = spark.sql(f"SELECT DISTINCT _file FROM {table} WHERE {where}").collect()
    return [Path(unquote(urlparse(row[0]).path)) for row in rows]


def report_of(frame: Any) -> dict[str, Any]:
    """Return what the report says of the scan of f."""
    scans: list[dict[str, Any]] = parquetry.report(frame).to_dict()["scans"]
    return next(scan for scan in scans if scan["table"] == f"{DATABASE}.f")


@pytest.mark.unaudited("the audit opens files that are hidden")
@pytest.mark.parametrize("vectorized", [True, False])
@pytest.mark.parametrize("adaptive", [True, False])
def test_partition_columns(
    spark: SparkSession, tables: dict[str, str], vectorized: bool, adaptive: bool
) -> None:
    """Joins, groups and windows of partition columns have plain Spark's rows without any file."""
    with settings(
        spark,
        {"spark.sql.adaptive.enabled": adaptive, "spark.sql.parquet.enableVectorizedReader": vectorized},
    ):
        expected = [
            plainly(spark, query.format(f="plain_unopened_f", d="plain_unopened_d"))
            for query in PARTITION_COLUMNS
        ]
        with hidden(files_of(spark, tables["f"], "true")):
            for query, rows in zip(PARTITION_COLUMNS, expected, strict=True):
                assert plans.comparable(spark.sql(query.format(**tables)).collect()) == rows, query


@pytest.mark.unaudited("the audit opens files that are hidden")
@pytest.mark.parametrize("vectorized", [True, False])
def test_skewed_columns(spark: SparkSession, tables: dict[str, str], vectorized: bool) -> None:
    """Files of directories for single values are not opened for skewed columns. The report counts them."""
    with settings(spark, {"spark.sql.parquet.enableVectorizedReader": vectorized}):
        expected = [
            plainly(spark, query.format(f="plain_unopened_f", d="plain_unopened_d"))
            for query in SKEWED_COLUMNS
        ]
        with hidden(files_of(spark, tables["f"], "s IN ('s1', 's2') OR s IS NULL")):
            for query, rows in zip(SKEWED_COLUMNS, expected, strict=True):
                frame = spark.sql(query.format(**tables))
                assert plans.comparable(frame.collect()) == rows, query
                assert report_of(frame)["counted"] > 0
        query = "SELECT s, count(*), count(DISTINCT day) FROM {f} GROUP BY s"
        frame = spark.sql(query.format(**tables))
        assert plans.comparable(frame.collect()) == plainly(spark, query.format(f="plain_unopened_f"))
        assert report_of(frame)["counted"] == 45
        assert next(step["kept"] for step in report_of(frame)["steps"] if step["name"] == "files") == 60
        assert "rows of 45 files from the metastore, without opening them" in str(parquetry.report(frame))


def test_other_columns_are_read(spark: SparkSession, tables: dict[str, str]) -> None:
    """Another column, or the file of a row, is read from files; `input_file_name` names files unopened."""
    for query in (
        "SELECT day, max(v) FROM {f} GROUP BY day",
        "SELECT day, count(*) FROM {f} WHERE v > 100 GROUP BY day",
    ):
        frame = spark.sql(query.format(**tables))
        assert plans.comparable(frame.collect()) == plainly(spark, query.format(f="plain_unopened_f"))
        assert "counted" not in report_of(frame)
    names = spark.sql(
        f"SELECT count(DISTINCT name), count(day) FROM (SELECT input_file_name() name, day FROM {DATABASE}.f)"
    ).collect()
    files = spark.sql(f"SELECT count(DISTINCT _file), count(day) FROM {DATABASE}.f").collect()
    assert names == files
    assert names[0][0] == 60
