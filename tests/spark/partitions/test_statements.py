"""Partitions by name: the files of dropped ones, and the classes of errors. Statements are in
`statements.test`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

Rows = Callable[..., list[tuple[Any, ...]]]


def folder_of(rows: Rows, table: str) -> Path:
    """Return the folder of a table."""
    return Path(
        next(row[1] for row in rows(f"DESCRIBE EXTENDED {table}") if row[0] == "Location").removeprefix(
            "file:"
        )
    )


def test_what_was_dropped_does_not_come_back(spark: SparkSession, rows: Rows, db: str) -> None:
    """A partition that is dropped and added again is empty, though older versions keep its old files there.

    PURGE deletes them.
    """
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} PARTITIONED BY (p) AS SELECT 1 AS id, 1 AS p")
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (p = 1)")
    assert len(list((folder_of(rows, table) / "p=1").glob("pq-*"))) == 1
    spark.sql(f"ALTER TABLE {table} ADD PARTITION (p = 1)")
    assert rows(f"SELECT * FROM {table}") == []
    assert rows(f"SELECT count(*) FROM {table} WHERE p = 1") == [(0,)]
    spark.sql(f"INSERT INTO {table} VALUES (2, 1)")
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (p = 1) PURGE")
    assert len(list((folder_of(rows, table) / "p=1").glob("pq-*"))) == 1


@pytest.mark.parametrize(
    ("statement", "condition", "kind"),
    [
        ("ALTER TABLE {} DROP PARTITION (p = 9)", "PARTITIONS_NOT_FOUND", "NoSuchPartitionsException"),
        ("ALTER TABLE {} DROP IF EXISTS PARTITION (p = 9)", None, None),
        ("TRUNCATE TABLE {} PARTITION (p = 9)", "PARTITIONS_NOT_FOUND", "NoSuchPartitionException"),
        (
            "ALTER TABLE {} PARTITION (p = 9) RENAME TO PARTITION (p = 8)",
            "PARTITIONS_NOT_FOUND",
            "NoSuchPartitionException",
        ),
        (
            "ALTER TABLE {} PARTITION (p = 1) RENAME TO PARTITION (p = 2)",
            "PARTITIONS_ALREADY_EXIST",
            "PartitionsAlreadyExistException",
        ),
        (
            "ALTER TABLE {} ADD PARTITION (p = 2)",
            "PARTITIONS_ALREADY_EXIST",
            "PartitionsAlreadyExistException",
        ),
        ("ALTER TABLE {} ADD IF NOT EXISTS PARTITION (p = 2)", None, None),
    ],
)
def test_partitions_missing_or_there_already_raise_sparks_own_exceptions(
    spark: SparkSession, db: str, rows: Rows, statement: str, condition: str | None, kind: str | None
) -> None:
    """Errors have the classes of Spark's own tables, and name table and partition; the table
    does not change.
    """
    stock = "spark_catalog.default.partition_errors"
    tables = (f"{db}.t", stock)
    try:
        for table in tables:
            spark.sql(f"CREATE TABLE {table} (id int, p int) USING parquet PARTITIONED BY (p)")
            spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
            if condition is None:
                spark.sql(statement.format(table))
            else:
                with pytest.raises(AnalysisException) as caught:
                    spark.sql(statement.format(table))
                assert caught.value.getCondition() == condition
                if table != stock:
                    assert caught.value._origin.getClass().getSimpleName() == kind
                    assert "`t`" in str(caught.value)
            assert sorted(rows(f"SELECT id, p FROM {table}")) == [(1, 1), (2, 2)]
            assert rows(f"SHOW PARTITIONS {table}") == [("p=1",), ("p=2",)]
    finally:
        spark.sql(f"DROP TABLE IF EXISTS {stock}")
