"""Tables that tests leave are compared before their database is dropped (`tests.support.readers.sweep`)."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.support.readers import sweep
from tests.support.readers.table_readers import READERS


def test_a_dropped_database_is_compared(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every reader reads every table of it, in any spelling of the statement."""
    monkeypatch.setattr(sweep, "_is_chosen", lambda: True)
    for statement in ("DROP NAMESPACE {} CASCADE", "drop database if exists {}  cascade "):
        spark.sql("CREATE NAMESPACE lake.compared")
        for table in ("a", "b"):
            spark.sql(f"CREATE TABLE lake.compared.{table} AS SELECT id FROM range(3)")
        before = sweep.TOTAL.agreeing.copy()
        spark.sql(statement.format("lake.compared"))
        assert sweep.TOTAL.agreeing - before == dict.fromkeys(READERS, 2)


def test_other_rows_fail_the_test(spark: SparkSession, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A database with a table that a reader reads otherwise is not dropped in silence."""
    monkeypatch.setattr(sweep, "_is_chosen", lambda: True)
    spark.sql(f"CREATE TABLE {db}.t AS SELECT id FROM range(3)")
    monkeypatch.setattr(SparkSession, "table", lambda session, _: session.range(4))
    with pytest.raises(AssertionError, match=r"t scan arrow: 3 rows instead of 4"):
        spark.sql(f"DROP NAMESPACE {db} CASCADE")
