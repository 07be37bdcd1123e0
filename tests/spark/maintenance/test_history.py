"""The history of Spark's statements: who made each version, by what, and how much it changed."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from parquetry.metastore import user_name

Rows = Callable[[str], list[tuple[Any, ...]]]
_COUNTS = "rows_added, rows_removed, files_added, files_removed, partitions_added, partitions_removed, partitions_replaced"


def newest(rows: Rows, table: str, columns: str) -> tuple[Any, ...]:
    return rows(f"SELECT {columns} FROM {table}.history ORDER BY version DESC LIMIT 1")[0]


def test_who_and_how_much(spark: SparkSession, rows: Rows, db: str) -> None:
    """Statements and DataFrames have user, application, door and counts; a setting leaves out the text."""
    table, context = f"{db}.t", spark.sparkContext
    spark.sql(f"CREATE TABLE {table} (id INT, v INT, p INT) PARTITIONED BY (p)")
    insert = f"INSERT INTO {table} VALUES (1, 1, 1), (2, 1, 1), (3, 1, 2)"
    spark.sql(insert)
    made = newest(rows, table, "user_name, application_id, application_name, door, statement")
    assert made == (user_name(), context.applicationId, context.appName, "sql", insert)
    assert newest(rows, table, _COUNTS) == (3, 0, 2, 0, 2, 0, 0)
    spark.sql(f"UPDATE {table} SET v = 2 WHERE id = 1")
    assert newest(rows, table, f"operation, {_COUNTS}") == ("update", 2, 2, 1, 1, 0, 0, 1)
    spark.conf.set("parquetry.history-statements", "false")
    try:
        spark.sql(f"DELETE FROM {table} WHERE p = 2")
    finally:
        spark.conf.unset("parquetry.history-statements")
    assert newest(rows, table, f"door, statement, {_COUNTS}") == ("sql", None, 0, 1, 0, 1, 0, 1, 0)
    spark.createDataFrame([(9, 9, 9)], "id INT, v INT, p INT").writeTo(table).append()
    assert newest(rows, table, "door, statement, rows_added") == ("dataframe", None, 1)
    call = f"CALL lake.system.rollback('{table.removeprefix('lake.')}', 1)"
    spark.sql(call)
    assert newest(rows, table, "door, statement, rows_added, rows_removed") == ("sql", call, 3, 3)
    spark.sql(f"CREATE OR REPLACE TABLE {table} AS SELECT 1 AS x")
    replaced = newest(rows, table, "statement, rows_added, rows_removed, partitions_removed")
    assert replaced == (f"CREATE OR REPLACE TABLE {table} AS SELECT 1 AS x", 1, 3, 2)


@pytest.mark.unaudited("an audited write says so in the history")
def test_a_static_overwrite_says_what_it_takes_out(
    spark: SparkSession, rows: Rows, db: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Log (once) and history name the partitions without new rows, and the rollback to type."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id INT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2), (3, 3)")
    with caplog.at_level(logging.WARNING, "parquetry"):
        spark.sql(f"INSERT OVERWRITE {table} VALUES (4, 3)")
        spark.sql(f"INSERT OVERWRITE {table} VALUES (5, 4)")
    warnings = [each.getMessage() for each in caplog.records if "took out" in each.getMessage()]
    assert len(warnings) == 1
    undo = f"CALL lake.system.rollback('{table.removeprefix('lake.')}', 1)"
    assert "took out 2 partitions without new rows" in warnings[0]
    assert undo in warnings[0]
    (summary,) = rows(f"SELECT summary FROM {table}.history WHERE version = 2")[0]
    assert json.loads(summary)["undo"] == undo
    assert rows(f"SELECT {_COUNTS} FROM {table}.history WHERE version = 2") == [(1, 3, 1, 3, 0, 2, 1)]
    spark.sql(json.loads(summary)["undo"])
    assert rows(f"SELECT count(*) FROM {table}") == [(3,)]
    spark.sql(f"INSERT OVERWRITE {table} PARTITION (p) SELECT 6, 1 WHERE false")
    (emptied,) = newest(rows, table, "summary")
    assert "3 partitions" in json.loads(emptied)["partitions taken out"]
    (time,) = rows(f"SELECT committed_at FROM {table}.history WHERE version = 1")[0]
    spark.sql(f"RESTORE TABLE {table} TO TIMESTAMP AS OF '{time}'")
    assert sorted(rows(f"SELECT id FROM {table}")) == [(1,), (2,), (3,)]
    chosen = spark.createDataFrame([(7, 1)], "id INT, p INT").write.mode("overwrite")
    chosen.option("replaceWhere", "p < 3").insertInto(table)
    assert newest(rows, table, "operation, summary") == ("overwrite", None)
