"""A condition by any function or expression of Spark's has plain Spark's rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from decimal import Decimal
from functools import reduce
from typing import Any

import pytest
from pyspark.sql import Column, DataFrame, SparkSession, functions as sf

from tests.spark.partitions.test_key_functions import COLUMNS, FORMS, FUNCTIONS, batched
from tests.support.effort import sampled

pytestmark = pytest.mark.newest("functions and expressions are listed for the newest series")

COMPARABLE = (bool, int, float, str, Decimal, date, datetime)
"""The types of values that a condition compares with."""
FILES = 7
CHANGING = ("aes_encrypt", "unix_timestamp()")
"""Functions that give another value each time."""


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[tuple[str, str]]:
    """A table of ours, with a file for each value of `k`, and one of plain Spark's."""
    spark.conf.set("spark.sql.timeType.enabled", "true")
    spark.sql("CREATE NAMESPACE lake.every_function")
    columns = ", ".join(f"{value} {name}" for name, value in COLUMNS.items())
    rows = f"SELECT id, {columns}, k FROM (SELECT id, CAST(id % {FILES} + 1 AS INT) k FROM range({FILES}))"
    spark.sql(f"CREATE TABLE every_function USING parquet AS {rows}")
    spark.sql(
        "CREATE TABLE lake.every_function.t USING parquet AS "
        f"SELECT /*+ REPARTITION_BY_RANGE({FILES}, k) */ * FROM every_function"
    )
    yield "lake.every_function.t", "every_function"
    spark.sql("DROP TABLE every_function")
    spark.sql("DROP NAMESPACE lake.every_function CASCADE")


def is_comparable(value: Any) -> bool:
    """Return whether a condition can compare with a value; PySpark makes no literal of an early date."""
    return isinstance(value, COMPARABLE) and not (isinstance(value, date) and value.year < 1000)


def conditions(spark: SparkSession, plain: str, keys: Sequence[str]) -> list[Column]:
    """Return comparisons of each key with its values in two of the rows."""
    values = ", ".join(f"({key}) AS c{i}" for i, key in enumerate(keys))
    frame = spark.sql(f"SELECT k, {values} FROM {plain}")
    months = [field.name for field in frame.schema if "interval" in field.dataType.simpleString()]
    # PySpark has no values of months
    rows = frame.withColumns({name: sf.lit(None) for name in months}).collect()
    by_k: dict[int, Any] = {row.k: row for row in rows}
    found = []
    for i, key in enumerate(keys):
        low, high = by_k[2][i + 1], by_k[5][i + 1]
        if is_comparable(low):
            found += [sf.expr(key) == sf.lit(low), sf.expr(key) <= sf.lit(low), sf.expr(key) != sf.lit(low)]
        if is_comparable(high):
            found.append(sf.expr(key).isin(high, low) if is_comparable(low) else sf.expr(key) > high)
    return found


def selected(frame: DataFrame, some: Sequence[Column]) -> list[Any]:
    """Return the rows that each of several conditions selects."""
    parts = [frame.where(each).select(sf.lit(i), "id") for i, each in enumerate(some)]
    return sorted(map(tuple, reduce(DataFrame.unionAll, parts).collect()))


def test_every_function(spark: SparkSession, tables: tuple[str, str]) -> None:
    """Comparisons of each function with its values select the rows of Spark's table."""
    ours, plain = tables
    assert spark.sql(f"SELECT DISTINCT _file FROM {ours}").count() == FILES
    keys = [
        key.replace("#.", "")
        for key in [*FUNCTIONS.values(), *FORMS]
        if not any(changing in key for changing in CHANGING)
    ]
    for some in batched(sampled(keys), 15):
        found = conditions(spark, plain, some)
        if found:
            assert selected(spark.table(ours), found) == selected(spark.table(plain), found), some
