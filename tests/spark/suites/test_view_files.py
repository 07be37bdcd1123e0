"""Spark's SQL files about views that follow their tables run on our views: each statement answers as with
Spark's own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.support.suites.jars import sql_statements
from tests.support.tables.bucketed_tables import settings

FILES = ("evolution", "type-evolution", "compensation", "binding", "binding-config")
SHOWN = ("Type", "View Text", "View Schema Mode", "View Query Output Columns")
"""The rows of a view in `DESCRIBE EXTENDED`, beside its columns, that do not depend on the catalog."""

CHANGED = (
    "spark.sql.legacy.viewSchemaBindingMode",
    "spark.sql.legacy.viewSchemaCompensation",
    "spark.sql.ansi.enabled",
)
"""Settings that the files change."""

UNNAMED = ("UNSUPPORTED", "BINDING")
"""Texts about a view's mode that depend on the kind of catalog, for views made without one, and for the
default.

If a view takes all of its query's columns, Spark names these in its own catalog only.
"""


pytestmark = pytest.mark.needs("views")


@pytest.fixture
def databases(spark: SparkSession, db: str, stock: str) -> Iterator[tuple[str, str]]:
    """Databases in our catalog and in Spark's own, for USE; afterwards the session returns to its earlier
    database.
    """
    where = spark.sql("SELECT current_catalog(), current_schema()").collect()[0]
    yield db, stock
    spark.sql(f"USE {where[0]}.{where[1]}")


def answer(spark: SparkSession, statement: str) -> list[Any]:
    """Return the columns and rows that a statement gives, or its error's class."""
    try:
        frame = spark.sql(statement)
        rows = [tuple(row) for row in frame.collect()]
    except PySparkException as error:
        return [error.getCondition()]
    if statement.startswith("DESCRIBE EXTENDED"):
        end = next((place for place, row in enumerate(rows) if not row[0]), len(rows))
        details = {
            row[0]: row[1].replace("`", "") for row in rows[end:] if row[0] in SHOWN
        }  # V2 quotes names
        if details.get("View Schema Mode") in UNNAMED:
            del details["View Schema Mode"]
        if details.get("View Schema Mode") == "EVOLUTION":
            details.pop("View Query Output Columns", None)
        return [*rows[:end], details]
    if statement.startswith("SELECT"):
        return [frame.schema.simpleString(), *rows]
    return []


@pytest.mark.parametrize("name", FILES)
def test_each_statement_answers_as_with_views_of_sparks_own(
    spark: SparkSession, databases: tuple[str, str], name: str
) -> None:
    """Columns, rows, descriptions and error classes are the same; the files have about 20 queries each."""
    answers = []
    for database in databases:
        spark.sql(f"USE {database}")
        with settings(spark, {key: spark.conf.get(key) for key in CHANGED}):
            answers.append([(each, answer(spark, each)) for each in sql_statements(f"view-schema-{name}")])
    ours, stock = answers
    assert len(ours) > 20
    assert sum(each.startswith("SELECT") for each, _ in ours) > 3
    differing = [
        f"ours  {one}\nstock {other}" for one, other in zip(ours, stock, strict=True) if one != other
    ]
    assert not differing, "\n".join(differing)
