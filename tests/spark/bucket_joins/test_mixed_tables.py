"""Random joins over mixed tables have the rows of plain Spark over the same rows.

Run with PARQUETRY_TEST_SAMPLE=1, these are 1,000 joins of 40 tables: in buckets, in others, in none, with
heavy keys, in several formats, by every type of join and under many settings. `python -m
tests.support.random_joins` runs more of them.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.effort import examples
from tests.support.random_joins.beside import MixedTables, databases

pytestmark = pytest.mark.core

SEEDS = 10
QUERIES = 100
"""Queries of each seed."""


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session with the databases of mixed tables."""
    with databases(spark):
        yield spark


@pytest.mark.parametrize("seed", range(SEEDS))
def test_joins_have_the_rows_of_plain_spark(session: SparkSession, seed: int) -> None:
    """A join of any type, over tables that are arranged in any way, has the rows of plain Spark."""
    mixed = MixedTables(session, seed)
    for number in range(examples(QUERIES, least=8)):
        joined = mixed.join(number)
        assert not joined.problem, (seed, number, *joined, mixed.statements())


def test_joins_by_expressions_have_the_rows_of_plain_spark(session: SparkSession) -> None:
    """So has a join by computed keys, of values at the edges of calendars, below nodes that use both keys."""
    mixed = MixedTables(session, 1, expressions=True)
    for number in range(examples(14, least=8)):
        joined = mixed.join(number)
        assert not joined.problem, (number, *joined, mixed.statements())
