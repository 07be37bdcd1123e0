"""Random queries that need only some rows have the answers of plain Spark over all rows of the table.

Run with PARQUETRY_TEST_SAMPLE=1, these are 2,000 queries of 50 tables, each with adaptive execution and
without it.
"""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.effort import examples
from tests.support.planning.random_results import Query, RandomTable

TABLES = 50
QUERIES = 40
"""Queries of each table."""


@pytest.mark.parametrize("seed", range(TABLES))
def test_queries_of_some_rows_are_answered_as_from_all(spark: SparkSession, db: str, seed: int) -> None:
    """A query that needs some rows has the answer of plain Spark over the whole table."""
    chance = random.Random(seed)
    table = RandomTable(spark, f"{db}.t", chance)
    table.fill()
    whole = spark.table(table.name)
    spark.createDataFrame(whole.toArrow(), whole.schema).createOrReplaceTempView("random_results")
    for _ in range(examples(QUERIES, least=2)):
        query = table.query()
        for adaptive in ("true", "false"):
            spark.conf.set("spark.sql.adaptive.enabled", adaptive)
            answer = rows(spark, query.text.format(table.name))
            assert is_right(spark, query, answer), (seed, adaptive, query.text, answer)
    spark.conf.unset("spark.sql.adaptive.enabled")


def rows(spark: SparkSession, query: str) -> list[tuple[Any, ...]]:
    """Return a query's rows, with one zero and one NaN."""
    return [tuple(map(comparable, row)) for row in spark.sql(query).collect()]


def comparable(value: Any) -> Any:
    """Return a value that equals itself, and the other zero."""
    return repr(value + 0.0) if isinstance(value, float) else value


def is_right(spark: SparkSession, query: Query, answer: list[tuple[Any, ...]]) -> bool:
    """Return whether an answer is plain Spark's, or has as many rows of the table."""
    expected = rows(spark, query.text.format("random_results"))
    if not query.any_rows:
        return answer == expected
    every = rows(spark, query.every.format("random_results"))
    return len(answer) == len(expected) and not Counter(answer) - Counter(every)
