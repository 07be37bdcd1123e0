"""Runtime values of a join prune row groups where Spark's readers do so soundly; the rows are right in any
case.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.spark import plans
from tests.support.tables.bucketed_tables import settings

pytestmark = pytest.mark.core

HINT = "/*+ BROADCAST(d) */"
ROWS = "id k, CAST(id AS STRING) s, CAST(id / 4 AS DECIMAL(12,2)) n, date_add(DATE'1970-01-01', CAST(id AS INT)) d, CAST(id AS DOUBLE) g"
SMALL = (
    "TBLPROPERTIES ('parquet.block.size' = '64', 'parquet.page.size' = '64', 'parquet.block.size.row.check.min' = '100', "
    "'parquet.page.size.row.check.min' = '100', 'sort-by' = 'k')"
)


@pytest.fixture(scope="module")
def fact(spark: SparkSession) -> Iterator[str]:
    """Tables of one file of 4,000 rows in small row groups: plain, in buckets, and with a column of another
    name in the file.
    """
    db = "lake.run_groups"
    spark.sql(f"CREATE NAMESPACE {db}")
    columns = "k bigint, s string, n decimal(12,2), d date, g double"
    for name, clause in (("plain", ""), ("buckets", "CLUSTERED BY (k) INTO 2 BUCKETS"), ("renamed", "")):
        spark.sql(f"CREATE TABLE {db}.{name} ({columns}) {clause} {SMALL}")
        spark.sql(f"INSERT INTO {db}.{name} SELECT {ROWS} FROM range(0, 4000, 1, 1)")
    spark.sql(
        f"CREATE TABLE {db}.orc ({columns}) USING orc TBLPROPERTIES ('orc.row.index.stride' = '1000', 'sort-by' = 'k')"
    )
    spark.sql(f"INSERT INTO {db}.orc SELECT {ROWS} FROM range(0, 4000, 1, 1)")
    spark.sql(f"ALTER TABLE {db}.renamed RENAME COLUMN s TO t")
    spark.sql(f"ALTER TABLE {db}.renamed RENAME COLUMN k TO s")
    spark.sql(f"CREATE TABLE rg_dim USING parquet AS SELECT {ROWS} FROM range(0, 4000, 1, 1)")
    yield db
    spark.sql("DROP TABLE rg_dim")
    spark.sql(f"DROP NAMESPACE {db} CASCADE")


@pytest.mark.parametrize(
    ("table", "key", "of", "fewer"),
    [
        ("plain", "k", "k", True),
        ("plain", "n", "n", True),
        ("plain", "d", "d", True),
        ("plain", "s", "s", True),
        ("plain", "g", "g", False),
        ("buckets", "k", "k", True),
        ("renamed", "s", "k", True),
        ("renamed", "t", "s", True),
        ("orc", "k", "k", True),
        ("orc", "d", "d", True),
        ("orc", "n", "n", None),  # Spark 4.3 reads all row groups for decimals of ORC
        ("orc", "g", "g", False),
    ],
)
def test_row_groups_are_left_out(
    spark: SparkSession, fact: str, table: str, key: str, of: str, fewer: bool | None
) -> None:
    """A few values read few rows of a file that is sorted by them; for floats they read all, as the two zeros
    differ there.
    """
    with settings(spark, {"spark.sql.adaptive.enabled": False}):
        for where, count in (("d.k IN (7, 8, 3900)", 3), ("d.k % 500 = 3 AND d.k BETWEEN 9 AND 2000", 3)):
            query = f"SELECT {HINT} f.n FROM {{}} f JOIN rg_dim d ON f.{key} = d.{of} WHERE {where}"
            frame = spark.sql(query.format(f"{fact}.{table}"))
            plain = f"SELECT {HINT} f.n FROM rg_dim f JOIN rg_dim d ON f.{of} = d.{of} WHERE {where}"
            found = plans.comparable(frame.collect())
            assert found == plans.comparable(spark.sql(plain).collect())
            assert len(found) == count
            assert fewer is None or (plans.rows_read(frame, f"{fact}.{table}") < 2500) == fewer, where


@pytest.mark.parametrize(
    ("table", "condition", "count"),
    [
        ("plain", "year(d) = 1975 AND month(d) = 3", 31),
        ("plain", "s RLIKE '^390'", 11),
        ("plain", "k + 1 = 500", 1),
        ("plain", "CAST(n AS STRING) = '20.25'", 1),
        ("plain", "lpad(CAST(k AS STRING), 6, '0') IN ('000017', '003999')", 2),
        ("renamed", "substr(t, 1, 3) = '390'", 11),
        ("orc", "year(d) = 1975 AND month(d) = 3", 31),
    ],
)
def test_functions_leave_row_groups_out(
    spark: SparkSession, fact: str, table: str, condition: str, count: int
) -> None:
    """A function, which readers do not know, leaves row groups out by the range that it implies."""
    frame = spark.sql(f"SELECT n FROM {fact}.{table} WHERE {condition}")
    assert len(frame.collect()) == count
    assert plans.rows_read(frame, f"{fact}.{table}") < 2500


def test_many_sparse_values_are_looked_up(spark: SparkSession, fact: str) -> None:
    """Each row group has values from the whole range, so ranges prune none; but dictionaries show that most
    have no value of the set.
    """
    table = f"{fact}.tickets"
    spark.sql(f"CREATE TABLE {table} (k bigint, t bigint, w string, n decimal(12,2)) {SMALL}")
    spark.sql(
        f"INSERT INTO {table} SELECT id, t, CAST(t AS STRING), CAST(t AS DECIMAL(12,2)) FROM "
        "(SELECT id, CASE id % 100 WHEN 0 THEN 0 WHEN 1 THEN 9999999 ELSE 10000 * (id DIV 10) END t FROM range(0, 8000, 1, 1))"
    )
    wanted = [k for k in range(2000, 5000) if k // 10 % 2 == 0 and k % 100 > 1]
    for column, of, rows in (
        ("t", "10000 * id", wanted),
        ("w", "CAST(10000 * id AS STRING)", wanted),
        ("n", "CAST(10000 * id AS DECIMAL(12,2))", wanted),
        ("t", "7 + 10000 * id", []),
    ):
        dim = f"(SELECT {of} v FROM range(200, 500) WHERE id % 2 = 0)"
        query = f"SELECT {HINT} f.k FROM {table} f JOIN {dim} d ON f.{column} = d.v"
        with settings(spark, {"spark.sql.adaptive.enabled": False}):
            frame = spark.sql(query)
            assert sorted(row.k for row in frame.collect()) == rows, column
            assert plans.rows_read(frame, table) <= (3200 if rows else 100), column


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_files_from_before_a_column_was_widened(spark: SparkSession, fact: str, format: str) -> None:
    """Values that the narrower type of such a file cannot hold leave none of its rows out."""
    table = f"{fact}.widened_{format}"
    spark.sql(
        f"CREATE TABLE {table} (k int, n decimal(7,2), v int) USING {format} TBLPROPERTIES ('distribution' = 'none')"
    )
    steps = "CAST(id AS INT) k, CAST(id / 100000 AS DECIMAL(7,2)) n, CAST(id DIV 50000000 AS INT) v"
    spark.sql(f"INSERT INTO {table} SELECT {steps} FROM range(-2000000000, 2000000001, 50000000, 1)")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN k TYPE bigint")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN n TYPE decimal(20,2)")
    for column, key in (("k", "d.id"), ("n", "CAST(d.id / 100000 AS DECIMAL(20,2))")):
        query = f"SELECT {HINT} f.v FROM {table} f JOIN range(-5000000000, 5000000001, 50000000, 1) d ON f.{column} = {key}"
        found = spark.sql(query).collect()
        assert sorted(row.v for row in found) == list(range(-40, 41)), column
