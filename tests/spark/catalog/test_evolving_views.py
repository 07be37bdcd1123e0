"""Views WITH SCHEMA EVOLUTION and WITH SCHEMA TYPE EVOLUTION follow their tables, as Spark's own do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

Rows = Callable[[str], list[tuple[Any, ...]]]
pytestmark = pytest.mark.needs("views")
CHANGES = [
    "DROP TABLE {t}; CREATE TABLE {t} (a BIGINT, b STRING) USING parquet",
    "DROP TABLE {t}; CREATE TABLE {t} (a INT, b STRING, c DOUBLE) USING parquet",
    "DROP TABLE {t}; CREATE TABLE {t} (b STRING, a DOUBLE) USING parquet",
    "DROP TABLE {t}; CREATE TABLE {t} (a STRUCT<x: INT>, b DATE, d INT) USING parquet",
    "ALTER TABLE {t} ADD COLUMN e INT COMMENT 'new'",
]
READ = {
    "whole": "SELECT * FROM {v}",
    "in a subquery": "SELECT (SELECT count(*) FROM {v}) AS n",
    "in a view": "SELECT * FROM {v}_of",
    "in a join": "SELECT count(*) FROM {v} l JOIN {v} r ON l.b = r.b",
}


def state(spark: SparkSession, rows: Rows, view: str) -> list[Any]:
    """Return the columns of a reader and the recorded columns of a view."""
    found = spark.sql(f"SELECT * FROM {view}").schema
    described = [row[:3] for row in rows(f"DESCRIBE {view}")]
    return [[(f.name, f.dataType.simpleString(), f.nullable) for f in found], described]


@pytest.mark.parametrize("how", READ)
@pytest.mark.parametrize("mode", ["EVOLUTION", "TYPE EVOLUTION"])
def test_views_follow_their_tables(
    spark: SparkSession, db: str, stock: str, rows: Rows, mode: str, how: str
) -> None:
    """After each change, a view's columns and its record equal Spark's own view, for every statement that
    reads it first.
    """
    for each in (db, stock):
        spark.sql(f"CREATE TABLE {each}.t (a INT, b STRING) USING parquet")
        spark.sql(f"CREATE VIEW {each}.v WITH SCHEMA {mode} AS SELECT * FROM {each}.t")
        spark.sql(f"CREATE VIEW {each}.v_of WITH SCHEMA {mode} AS SELECT * FROM {each}.v")
    for change in CHANGES:
        found = []
        for each in (db, stock):
            for statement in change.format(t=f"{each}.t").split("; "):
                spark.sql(statement)
            answer = str(rows(READ[how].format(v=f"{each}.v")))
            found.append([answer, *state(spark, rows, f"{each}.v"), *state(spark, rows, f"{each}.v_of")])
        assert found[0] == found[1], change
