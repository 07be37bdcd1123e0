"""The SQL files with which Spark tests how views follow their tables, on views of ours: each statement answers as with Spark's own."""

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
"""What `DESCRIBE EXTENDED` says of a view beside its columns that does not depend on the catalog."""

CHANGED = (
    "spark.sql.legacy.viewSchemaBindingMode",
    "spark.sql.legacy.viewSchemaCompensation",
    "spark.sql.ansi.enabled",
)
"""Settings that the files change."""

UNNAMED = ("UNSUPPORTED", "BINDING")
"""What Spark says of a view's mode, or leaves out, by the kind of catalog: of views made while they had none, and of the default.

Of views that take all their query's columns it names these for its own catalog alone.
"""


pytestmark = pytest.mark.needs("views")


@pytest.fixture
def databases(spark: SparkSession, db: str, stock: str) -> Iterator[tuple[str, str]]:
    """Databases of ours and of Spark's own, in which one may be; afterwards the session is where it was."""
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
    """Columns, rows, what is described and classes of errors are the same; the files ask about 20 times each."""
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
