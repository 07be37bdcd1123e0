"""Runtime values of any type return the right answer, also in statements that write the result of a join."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import local_view, plainly, settings

HINT = "/*+ BROADCAST(d) */"
COLUMNS = {
    "b": ("boolean", "id % 2 = 0"),
    "y": ("tinyint", "CAST(id - 20 AS TINYINT)"),
    "i": ("int", "CAST(id * 100000 - 2000000 AS INT)"),
    "l": ("bigint", "id * 10000000000 - 200000000000"),
    "f": ("float", "CASE id % 8 WHEN 1 THEN float('NaN') WHEN 2 THEN float('-0.0') WHEN 3 THEN float('0.0') ELSE CAST(id AS FLOAT) END"),
    "g": ("double", "CASE id % 8 WHEN 1 THEN double('NaN') WHEN 2 THEN double('-0.0') ELSE id / 4 END"),
    "n": ("decimal(12,2)", "CAST(id / 4 AS DECIMAL(12,2))"),
    "s": ("string", "IF(id % 3 = 0, concat('Grün ', id), concat('grün ', id))"),
    "v": ("varchar(12)", "concat('v', id, repeat(' ', CAST(id % 3 AS INT)))"),
    "x": ("binary", "CAST(concat('x', id) AS BINARY)"),
    "d": ("date", "date_add(DATE'1969-12-20', CAST(id AS INT))"),
    "t": ("timestamp", "TIMESTAMP'1969-12-31 23:00:00.123456' + make_interval(0, 0, 0, 0, 0, CAST(id AS INT) * 10, 0)"),
    "z": ("timestamp_ntz", "TIMESTAMP_NTZ'2026-03-29 01:30:00.5' + make_interval(0, 0, 0, 0, CAST(id AS INT), 0, 0)"),
}  # fmt: skip
"""Columns by name: the type, and the value of row `id`."""


@pytest.fixture(scope="module")
def fact(spark: SparkSession) -> Iterator[str]:
    """Forty rows of all types in ten files, with a NULL in each column, as Parquet and ORC; Spark's own
    tables of these rows and of every fifth.
    """
    spark.sql("CREATE NAMESPACE lake.run_types")
    listed = ", ".join(f"{name} {type}" for name, (type, _) in COLUMNS.items())
    rows = spark.range(0, 40, 1, 10).selectExpr(
        "id", *[f"IF(id = 17, NULL, {value}) {name}" for name, (_, value) in COLUMNS.items()]
    )
    for format in ("parquet", "orc"):
        spark.sql(
            f"CREATE TABLE lake.run_types.{format} (id bigint, {listed}) USING {format} TBLPROPERTIES ('distribution' = 'none')"
        )
        rows.writeTo(f"lake.run_types.{format}").append()
    local_view(rows, "rty_fact")
    spark.table("rty_fact").where("id % 8 IN (1, 2) OR id = 17").write.saveAsTable("rty_dim")
    yield "lake.run_types"
    spark.sql("DROP TABLE rty_dim")
    spark.sql("DROP NAMESPACE lake.run_types CASCADE")


def told(frame: Any, table: str) -> tuple[dict[str, Any], int]:
    """Return what run-time values did for a table, and how many files were read."""
    scan = next(each for each in parquetry.report(frame).to_dict()["scans"] if each["table"] == table)
    files = next(step["kept"] for step in scan["steps"] if step["name"] == "files")
    return scan.get("run_time", {}), files


@pytest.mark.parametrize("format", ["parquet", "orc"])
@pytest.mark.parametrize("name", COLUMNS)
def test_values_of_every_type(spark: SparkSession, fact: str, name: str, format: str) -> None:
    """The rows are plain Spark's, including NaN, zeros of both signs, NULL, blanks and letter case; most
    files are pruned.
    """
    query = f"SELECT {HINT} f.id, d.id FROM {{}} f JOIN rty_dim d ON f.{name} = d.{name} WHERE d.id < 12"
    expected = plainly(spark, query.format("rty_fact"))
    assert expected
    frame = spark.sql(query.format(f"{fact}.{format}"))
    assert plans.comparable(frame.collect()) == expected
    run_time, files = told(frame, f"{fact}.{format}")
    if name in ("f", "g"):  # Spark compares floats by an expression of its own, if it hands them over at all
        return
    assert [each["column"] for each in run_time["values"]] == [name]
    wide = name in ("b", "s", "x") or (name, format) == (
        "t",
        "orc",
    )  # least and greatest of each file say little
    assert wide or files <= 6


def test_chars(spark: SparkSession, db: str) -> None:
    """A char is padded between table and join, in files, in partitions, and if the small side's type is
    shorter or longer.
    """
    spark.sql(f"CREATE TABLE {db}.small (c char(2), w char(6), a int)")
    spark.sql(f"INSERT INTO {db}.small VALUES ('a', 'a', 1), ('b', 'b', 1), ('c', 'c', 2)")
    for clause in ("", "PARTITIONED BY (c)", "CLUSTERED BY (c) INTO 4 BUCKETS"):
        spark.sql(f"CREATE OR REPLACE TABLE {db}.t (v int, c char(4)) {clause}")
        spark.sql(f"INSERT INTO {db}.t VALUES (1, 'a'), (2, 'b '), (3, 'c'), (4, 'B'), (5, NULL)")
        for key in ("c", "w"):
            frame = spark.sql(
                f"SELECT {HINT} f.v FROM {db}.t f JOIN {db}.small d ON f.c = d.{key} WHERE d.a = 1"
            )
            assert sorted(row.v for row in frame.collect()) == [1, 2], (clause, key)


@pytest.mark.parametrize("adaptive", [True, False])
def test_statements_that_write_what_a_join_gives(spark: SparkSession, db: str, adaptive: bool) -> None:
    """An INSERT of a join, an overwrite of the table that is read, and what is counted after a DELETE."""
    spark.sql(f"CREATE TABLE {db}.t (v int, k int, p int) PARTITIONED BY (p)")
    spark.sql(
        f"INSERT INTO {db}.t SELECT CAST(id AS INT), CAST(id % 10 AS INT), CAST(id DIV 10 AS INT) FROM range(40)"
    )
    spark.sql(f"CREATE TABLE {db}.d (k int, n string)")
    spark.sql(f"INSERT INTO {db}.d VALUES (1, 'a'), (2, 'a'), (3, 'b')")
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        joined = f"SELECT {HINT} f.v, f.k, f.p FROM {db}.t f JOIN {db}.d d ON f.p = d.k WHERE d.n = 'a'"
        spark.sql(f"CREATE TABLE {db}.copy AS {joined}")
        assert spark.table(f"{db}.copy").count() == 20
        spark.sql(f"INSERT OVERWRITE {db}.t {joined}")
        assert [
            tuple(row) for row in spark.sql(f"SELECT p, count(*) FROM {db}.t GROUP BY p ORDER BY p").collect()
        ] == [(1, 10), (2, 10)]
        spark.sql(f"DELETE FROM {db}.t WHERE p = 1")
        assert spark.sql(joined).count() == 10
        query = (
            f"SELECT count(*), min(f.v), max(f.v) FROM {db}.t f JOIN {db}.d d ON f.p = d.k WHERE d.n = 'a'"
        )
        assert spark.sql(query).first() == (10, 20, 29)
        # the metastore answers the aggregate of a table; the values of a join above it prune nothing there
        query = (
            f"SELECT {HINT} c.p, c.n FROM (SELECT p, count(*) n FROM {db}.t GROUP BY p) c JOIN {db}.d d ON c.p = d.k "
            "WHERE d.n = 'a'"
        )
        assert [tuple(row) for row in spark.sql(query).collect()] == [(2, 10)]


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_texts_that_are_longer_than_the_column_may_hold(
    spark: SparkSession, db: str, rows: Callable[[str], list[tuple[Any, ...]]], format: str
) -> None:
    """A `varchar(3)` joined with longer texts: these match no row, but its readers get them as filters."""
    spark.sql(f"CREATE TABLE {db}.t (k STRING, v VARCHAR(3)) USING {format} TBLPROPERTIES ('sort-by' = 'v')")
    for values in ("('a longer text', 'x')", "('abc', 'é')", "('x', NULL)", "('1', 'abc')"):
        spark.sql(f"INSERT INTO {db}.t VALUES {values}")
    query = f"SELECT {HINT} a.v FROM {db}.t a JOIN {db}.t d ON a.v = d.k"
    assert sorted(rows(query)) == [("abc",), ("x",)]
    assert sorted(rows(f"SELECT v FROM {db}.t WHERE v IN (SELECT k FROM {db}.t)")) == [("abc",), ("x",)]
