"""Cached tables, views and queries are right after every statement, and stay cached if Spark's
own tables do.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.support.spark import series

_STATEMENTS = {
    "ALTER TABLE {} SET TBLPROPERTIES ('k' = 'v')": [(1, 1), (2, 2)],
    "ALTER TABLE {} ADD COLUMNS (n int)": [(1, 1), (2, 2)],
    "ALTER TABLE {} ADD PARTITION (p = 7)": [(1, 1), (2, 2)],
    "ALTER TABLE {} DROP PARTITION (p = 1)": [(2, 2)],
    "ALTER TABLE {} PARTITION (p = 1) RENAME TO PARTITION (p = 9)": [(1, 9), (2, 2)],
    "TRUNCATE TABLE {} PARTITION (p = 1)": [(2, 2)],
    "TRUNCATE TABLE {}": [],
    "INSERT INTO {} VALUES (3, 3)": [(1, 1), (2, 2), (3, 3)],
    "INSERT OVERWRITE {} VALUES (4, 4)": [(4, 4)],
    "DELETE FROM {} WHERE p = 1": [(2, 2)],
    "MSCK REPAIR TABLE {}": [(1, 1), (1, 5), (2, 2)],
    "CALL lake.system.sync('{}')": [(1, 1), (1, 5), (2, 2)],
    "CALL lake.system.rollback('{}', 0)": [],
    "CALL lake.system.history('{}')": [(1, 1), (2, 2)],
    "CALL lake.system.sync('{}', dry_run => true)": [(1, 1), (2, 2)],
}


@pytest.fixture(autouse=True)
def _no_cache(spark: SparkSession) -> Iterator[None]:
    yield
    spark.catalog.clearCache()


def from_cache(frame: DataFrame) -> bool:
    """Return whether a query reads cached data."""
    return "InMemoryRelation" in frame._jdf.queryExecution().withCachedData().toString()


def found(frame: DataFrame) -> list[tuple[int, int]]:
    """Return a query's rows, in order."""
    return sorted((row[0], row[1]) for row in frame.collect())


def made(spark: SparkSession, table: str, place: Path) -> None:
    """Make a table of two partitions, and a folder that it does not know."""
    spark.sql(f"CREATE TABLE {table} (id int, p int) USING parquet PARTITIONED BY (p) LOCATION '{place}'")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
    (place / "p=5").mkdir()
    (written,) = (place / "p=1").glob("*.parquet")
    shutil.copy(written, place / "p=5" / "foreign.parquet")


def _changes_nothing(statement: str) -> bool:
    return "history" in statement or "dry_run" in statement


@pytest.mark.parametrize("statement", _STATEMENTS)
def test_what_is_cached_is_right_and_cached_still(
    spark: SparkSession, db: str, tmp_path: Path, statement: str
) -> None:
    """The table itself, a view over it and a query over it give the new rows, and from the cache."""
    table, expected = f"{db}.t", _STATEMENTS[statement]
    made(spark, table, tmp_path / "t")
    spark.sql(f"CREATE OR REPLACE TEMP VIEW over_t AS SELECT id, p FROM {table} WHERE id > 0")
    try:
        spark.sql("CACHE TABLE over_t")
        per_partition = "SELECT p, count(*) FROM {} GROUP BY p"
        spark.sql(per_partition.format(table)).cache().count()
        spark.sql(statement.format(table))
        assert found(spark.table("over_t")) == expected
        # after ADD COLUMNS, Spark's own tables are not cached either
        kept = "ADD COLUMNS" not in statement and (series.has("kept caches") or _changes_nothing(statement))
        assert from_cache(spark.table("over_t")) is kept
        counted = spark.sql(per_partition.format(table))
        assert found(counted) == [(p, 1) for p in sorted(p for _, p in expected)]
        assert from_cache(counted) is kept
    finally:
        spark.catalog.dropTempView("over_t")
    spark.catalog.clearCache()


@pytest.mark.parametrize(
    "statement", [s for s in _STATEMENTS if "sync" in s or "MSCK" in s or "rollback" in s]
)
def test_a_cached_table_is_not_left_behind(
    spark: SparkSession, db: str, tmp_path: Path, statement: str
) -> None:
    """CACHE TABLE keeps a table's version; MSCK and procedures, which Spark does not notice, replace it."""
    table = f"{db}.t"
    made(spark, table, tmp_path / "t")
    spark.sql(f"CACHE TABLE {table}")
    spark.sql(statement.format(table))
    assert found(spark.table(table).select("id", "p")) == _STATEMENTS[statement]
    assert from_cache(spark.table(table)) is (series.has("kept caches") or _changes_nothing(statement))


def test_another_versions_rows_are_not_taken_from_the_cache(
    spark: SparkSession, db: str, tmp_path: Path
) -> None:
    """Time travel beside a cached table or query reads its own version."""
    table = f"{db}.t"
    made(spark, table, tmp_path / "t")
    spark.sql(f"CACHE TABLE {table}")
    spark.sql(f"INSERT INTO {table} VALUES (3, 3)")
    assert found(spark.sql(f"SELECT id, p FROM {table} VERSION AS OF 1")) == [(1, 1), (2, 2)]
    assert found(spark.sql(f"SELECT id, p FROM {table} VERSION AS OF 2")) == [(1, 1), (2, 2), (3, 3)]
    spark.sql(f"CREATE OR REPLACE TABLE {table} (id int, p int) PARTITIONED BY (p)")
    assert found(spark.table(table)) == []
