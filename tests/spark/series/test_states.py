"""Queries and DataFrames read the version, column and cache that docs/versions.md says for a series of Spark
that lacks a feature.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession

from tests.support.spark import series

pytestmark = pytest.mark.core

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.mark.lacks("newer versions")
def test_newer_versions(spark: SparkSession, db: str) -> None:
    """A DataFrame reads the version that its table had when the DataFrame was made; a new one reads the
    newest.
    """
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS id")
    frame, filtered = spark.table(f"{db}.t"), spark.table(f"{db}.t").where("id > 0")
    spark.sql(f"INSERT INTO {db}.t VALUES (2)")
    assert [frame.count(), filtered.count(), spark.table(f"{db}.t").count()] == [1, 1, 2]


@pytest.mark.lacks("kept caches")
def test_kept_caches(spark: SparkSession, db: str) -> None:
    """Cached data is used until the table changes, and is no longer used then."""
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS id")

    def query() -> DataFrame:
        return spark.table(f"{db}.t").where("id > 0")

    def is_cached() -> bool:
        return "InMemoryRelation" in query()._jdf.queryExecution().withCachedData().toString()

    query().cache()
    try:
        assert (query().count(), is_cached()) == (1, True)
        spark.sql(f"INSERT INTO {db}.t VALUES (2)")
        assert (query().count(), is_cached()) == (2, False)
    finally:
        spark.catalog.clearCache()


@pytest.mark.lacks("column ids")
def test_column_ids(spark: SparkSession, db: str) -> None:
    """A DataFrame from before a column was dropped and added again reads the new column, without an error. If
    it keeps its table's version, it reads the old one.
    """
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS id, 10 AS c")
    frame = spark.table(f"{db}.t")
    spark.sql(f"ALTER TABLE {db}.t DROP COLUMN c")
    spark.sql(f"ALTER TABLE {db}.t ADD COLUMN c INT")
    old = not series.has("newer versions")
    assert f"reads the {'old' if old else 'new'} column" in series.LACKING["column ids"].text
    assert [tuple(row) for row in frame.collect()] == [(1, 10 if old else None)]
    assert [tuple(row) for row in spark.table(f"{db}.t").collect()] == [(1, None)]


@pytest.mark.lacks("options of each table")
def test_options_by_place(spark: SparkSession, db: str, rows: Rows) -> None:
    """A query that names a table twice reads both with the options of the first place. Wrong options of the
    second place raise no error.
    """
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS id")
    wrong = "WITH ('runtime-pruning' = 'perhaps')"
    query = f"SELECT count(*) FROM {db}.t {{}} a JOIN {db}.t {{}} b ON a.id = b.id"
    assert rows(query.format("", wrong)) == [(1,)]
    for places in ((wrong, ""), (wrong, "WITH ('runtime-pruning' = 'true')")):
        with pytest.raises(AnalysisException, match="Option 'runtime-pruning' is 'perhaps'"):
            spark.sql(query.format(*places)).collect()
