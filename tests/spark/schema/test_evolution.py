"""Statements WITH SCHEMA EVOLUTION, which add the columns of their rows to a table first."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ArithmeticException
from pyspark.sql import SparkSession

Rows = Callable[..., list[tuple[Any, ...]]]


@pytest.mark.needs("evolving writes")
def test_insert_by_name(spark: SparkSession, rows: Rows, db: str) -> None:
    """INSERT WITH SCHEMA EVOLUTION adds columns and fields that its rows have and the table has not; old rows
    are NULL there.
    """
    spark.sql(f"CREATE TABLE {db}.t (id int, s struct<a:int>, p string) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, named_struct('a', 1), 'x')")
    spark.sql(
        f"INSERT WITH SCHEMA EVOLUTION INTO {db}.t BY NAME "
        "SELECT 2 AS id, named_struct('a', 2, 'b', 'two') AS s, 'x' AS p, 2.5D AS more"
    )
    assert spark.table(f"{db}.t").schema.simpleString() == (
        "struct<id:int,s:struct<a:int,b:string>,more:double,p:string>"
    )
    assert rows(f"SELECT id, s.b, more, p FROM {db}.t ORDER BY id") == [
        (1, None, None, "x"),
        (2, "two", 2.5, "x"),
    ]
    assert rows(f"SELECT id FROM {db}.t WHERE more > 2") == [(2,)]


@pytest.mark.needs("evolving writes")
def test_wider_numbers(spark: SparkSession, rows: Rows, db: str) -> None:
    """A column gets the wider type of the new values, which are stored exactly; older values are read in the
    wider type.
    """
    spark.sql(f"CREATE TABLE {db}.t (id int, n int)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1)")
    spark.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {db}.t BY NAME SELECT 2 AS id, 3000000000 AS n")
    assert spark.table(f"{db}.t").schema.simpleString() == "struct<id:int,n:bigint>"
    assert rows(f"SELECT n FROM {db}.t ORDER BY n") == [(1,), (3_000_000_000,)]


@pytest.mark.needs("evolving writes")
def test_overwrite(spark: SparkSession, rows: Rows, db: str) -> None:
    """INSERT OVERWRITE adds columns, too, and replaces the rows."""
    spark.sql(f"CREATE TABLE {db}.t (id int)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1)")
    spark.sql(f"INSERT WITH SCHEMA EVOLUTION OVERWRITE TABLE {db}.t BY NAME SELECT 2 AS id, 'b' AS more")
    assert rows(f"SELECT * FROM {db}.t") == [(2, "b")]


def test_without_the_clause(spark: SparkSession, db: str) -> None:
    """Rows with an unknown column are refused unless the statement allows it, and the table
    does not change.
    """
    spark.sql(f"CREATE TABLE {db}.t (id int)")
    with pytest.raises(AnalysisException, match="more"):
        spark.sql(f"INSERT INTO {db}.t BY NAME SELECT 1 AS id, 'a' AS more")
    assert spark.table(f"{db}.t").columns == ["id"]


@pytest.mark.needs("evolving merges")
def test_merge(spark: SparkSession, rows: Rows, db: str) -> None:
    """MERGE WITH SCHEMA EVOLUTION adds the source's columns; rows that no source row matches are NULL in
    them.
    """
    spark.sql(f"CREATE TABLE {db}.t (id int, n int)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 10), (2, 20)")
    spark.sql(
        "CREATE OR REPLACE TEMP VIEW source AS SELECT * FROM VALUES (2, 21, 'b'), (3, 31, 'c') AS s(id, n, more)"
    )
    spark.sql(
        f"MERGE WITH SCHEMA EVOLUTION INTO {db}.t t USING source s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    )
    assert rows(f"SELECT * FROM {db}.t ORDER BY id") == [(1, 10, None), (2, 21, "b"), (3, 31, "c")]


@pytest.mark.needs("evolving writes")
def test_types_that_cannot_change(spark: SparkSession, rows: Rows, db: str) -> None:
    """If a type cannot change, of a partition column or to a narrower one, values are cast, and too large
    ones fail.
    """
    spark.sql(f"CREATE TABLE {db}.t (id bigint, p int) PARTITIONED BY (p)")
    spark.sql(f"INSERT WITH SCHEMA EVOLUTION INTO {db}.t BY NAME SELECT 1 AS id, 2L AS p, 'a' AS more")
    assert spark.table(f"{db}.t").schema.simpleString() == "struct<id:bigint,more:string,p:int>"
    with pytest.raises(ArithmeticException, match="CAST_OVERFLOW"):
        spark.sql(
            f"INSERT WITH SCHEMA EVOLUTION INTO {db}.t BY NAME SELECT 2 AS id, 3000000000 AS p, 'b' AS more"
        )
    assert rows(f"SELECT * FROM {db}.t") == [(1, "a", 2)]
