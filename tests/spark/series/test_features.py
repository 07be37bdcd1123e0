"""Features that a series of Spark may lack, where it has them, and no other folder is about them."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.spark import orc_times

pytestmark = pytest.mark.core

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.mark.needs("hidden columns in merges")
def test_hidden_columns_in_merges(spark: SparkSession, db: str, rows: Rows) -> None:
    """A MERGE that names `_file` changes rows and inserts others."""
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS id, 10 AS v")
    spark.sql(
        f"MERGE INTO {db}.t t USING (SELECT explode(array(1, 2)) AS id) s ON t.id = s.id "
        "WHEN MATCHED AND t._file LIKE '%' THEN UPDATE SET v = 0 WHEN NOT MATCHED THEN INSERT (id, v) VALUES (s.id, 1)"
    )
    assert rows(f"SELECT * FROM {db}.t ORDER BY id") == [(1, 0), (2, 1)]


@pytest.mark.needs("void columns")
def test_void_columns(spark: SparkSession, db: str, rows: Rows) -> None:
    """A column of the type VOID is added, written and read: it is NULL."""
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS a")
    spark.sql(f"ALTER TABLE {db}.t ADD COLUMN b VOID")
    spark.sql(f"INSERT INTO {db}.t VALUES (2, NULL)")
    assert rows(f"SELECT * FROM {db}.t ORDER BY a") == [(1, None), (2, None)]


@pytest.mark.needs("show procedures")
def test_show_procedures(spark: SparkSession, rows: Rows) -> None:
    """SHOW PROCEDURES lists the procedures of `system`."""
    assert ("lake", ["system"], "history") in [
        row[:2] + row[-1:] for row in rows("SHOW PROCEDURES IN lake.system")
    ]


@pytest.mark.needs("times in orc")
def test_times_in_orc(spark: SparkSession, db: str) -> None:
    """A timestamp, with a time zone or without, reads one stripe of one file, as a number does."""
    orc_times.make(spark, f"{db}.o")
    assert orc_times.rows_read(spark, f"{db}.o") == [1000] * 3


@pytest.mark.needs("exists with computed columns")
def test_exists_with_computed_columns(spark: SparkSession, db: str, rows: Rows) -> None:
    """UPDATE and DELETE rewrite the file of their row for an EXISTS about a CHAR and another column."""
    spark.sql(f"CREATE TABLE {db}.e (id INT, k CHAR(4), p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.e VALUES (1, 'ab', 1), (2, 'ab', 2), (3, 'cd', 3)")
    spark.sql(f"CREATE TABLE {db}.u (i INT, k CHAR(4))")
    spark.sql(f"INSERT INTO {db}.u VALUES (2, 'ab')")
    condition = f"EXISTS (SELECT 1 FROM {db}.u u WHERE u.k = {db}.e.k AND {db}.e.id < u.i)"
    for statement, left in ((f"UPDATE {db}.e SET id = 0", [0, 2, 3]), (f"DELETE FROM {db}.e", [2, 3])):
        spark.sql(f"{statement} WHERE {condition}")
        [[summary]] = rows(f"SELECT summary FROM {db}.e.history ORDER BY version DESC LIMIT 1")
        assert json.loads(summary)["files rewritten"] == "1 of 3"
        assert [id for (id,) in rows(f"SELECT id FROM {db}.e ORDER BY id")] == left
