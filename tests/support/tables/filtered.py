"""Many conditions on one table in one query: a statement for each would cost as much as all of them do."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.sql import SparkSession


def found(spark: SparkSession, table: str, conditions: Sequence[str], key: str = "id") -> list[list[Any]]:
    """Return for each condition the keys of the rows that it selects, in order: each has a scan of its own.

    Args:
        spark: a session.
        table: its name.
        conditions: each as in a WHERE clause.
        key: a column, or an expression.
    """
    union = " UNION ALL ".join(
        f"SELECT {number} AS number, {key} AS key FROM {table} WHERE {condition}"
        for number, condition in enumerate(conditions)
    )
    answers: list[list[Any]] = [[] for _ in conditions]
    for number, value in spark.sql(union).collect():
        answers[number].append(value)
    return [sorted(each) for each in answers]


def evaluated(spark: SparkSession, table: str, conditions: Sequence[str]) -> list[list[Any]]:
    """Return the same as `found`, but evaluate the conditions on each row: then nothing can be pruned."""
    values = ", ".join(f"coalesce({condition}, false)" for condition in conditions)
    rows = spark.sql(f"SELECT id, {values} FROM {table}").collect()
    return [sorted(row[0] for row in rows if row[number + 1]) for number in range(len(conditions))]


def differences(
    conditions: Sequence[str], ours: Sequence[list[Any]], theirs: Sequence[list[Any]]
) -> list[tuple[str, list[Any], list[Any]]]:
    """Return the conditions with two answers, with both."""
    return [
        (condition, one, other)
        for condition, one, other in zip(conditions, ours, theirs, strict=True)
        if one != other
    ]
