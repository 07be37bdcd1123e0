"""Transactions of several tables around a session's statements, while another session reads and writes."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry

SUM = "SELECT a.balance, b.balance FROM lake.default.transfers_here a JOIN lake.default.transfers_there b USING (id)"


def rows(spark: SparkSession, text: str) -> list[tuple[Any, ...]]:
    """Return the rows of a statement."""
    return [tuple(row) for row in spark.sql(text).collect()]


@pytest.fixture
def banks(spark: SparkSession) -> None:
    """Two tables with an account each."""
    spark.sql(
        "CREATE OR REPLACE TABLE lake.default.transfers_here (id INT, balance INT, p INT) PARTITIONED BY (p)"
    )
    spark.sql("CREATE OR REPLACE TABLE lake.default.transfers_there (id INT, balance INT)")
    spark.sql("INSERT INTO lake.default.transfers_here VALUES (1, 100, 1)")
    spark.sql("INSERT INTO lake.default.transfers_there VALUES (1, 0)")


def transfer(spark: SparkSession, amount: int) -> None:
    """Move money from one table to the other."""
    spark.sql(f"UPDATE lake.default.transfers_here SET balance = balance - {amount} WHERE id = 1")
    spark.sql(f"UPDATE lake.default.transfers_there SET balance = balance + {amount} WHERE id = 1")


@pytest.mark.core
@pytest.mark.usefixtures("banks")
def test_a_transfer_is_seen_as_a_whole(spark: SparkSession) -> None:
    """The session sees its own changes at once, another one sees all of them after the commit."""
    other = spark.newSession()
    with parquetry.transaction("lake", spark) as id:
        transfer(spark, 30)
        spark.sql("INSERT INTO lake.default.transfers_here VALUES (2, 5, 2)")
        assert rows(spark, SUM) == [(70, 30)]
        assert rows(spark, "SELECT count(*), max(balance) FROM lake.default.transfers_here") == [(2, 70)]
        assert rows(spark, "SELECT operation FROM lake.default.transfers_here.history LIMIT 2") == [
            ("append",),
            ("update",),
        ]
        assert rows(other, SUM) == [(100, 0)]
    assert rows(other, SUM) == rows(spark, SUM) == [(70, 30)]
    for table in ("here", "there"):
        ((summary,),) = rows(
            spark, f"SELECT summary FROM lake.default.transfers_{table}.history ORDER BY version DESC LIMIT 1"
        )
        assert f'"transaction": "{id}"' in summary
    undone = rows(other, f"CALL lake.system.rollback_transaction('{id}')")
    assert [table for table, _, _ in undone] == [
        f"lake.default.transfers_{each}" for each in ("here", "there")
    ]
    assert rows(spark, SUM) == [(100, 0)]
    with pytest.raises(Exception, match="has moved on"):
        rows(spark, f"CALL lake.system.rollback_transaction('{id}')")


def _fail_within(spark: SparkSession) -> None:
    with parquetry.transaction("lake", spark):
        transfer(spark, 30)
        raise ZeroDivisionError


@pytest.mark.usefixtures("banks")
def test_what_ends_a_transaction(spark: SparkSession) -> None:
    """An error in the block, a rollback and a conflict leave both tables; then the session can begin anew."""
    other = spark.newSession()
    with pytest.raises(ZeroDivisionError):
        _fail_within(spark)
    assert rows(spark, SUM) == [(100, 0)]
    spark.sql("CALL lake.system.begin()")
    transfer(spark, 30)
    assert rows(spark, "CALL lake.system.rollback()") == [
        ("default.transfers_here",),
        ("default.transfers_there",),
    ]
    assert rows(spark, SUM) == [(100, 0)]
    spark.sql("CALL lake.system.begin()")
    transfer(spark, 30)
    other.sql("UPDATE lake.default.transfers_there SET balance = 7")
    with pytest.raises(Exception, match=r"PARQUETRY_COMMIT_CONFLICT.*default\.transfers_there"):
        spark.sql("CALL lake.system.commit()")
    assert rows(spark, SUM) == [(100, 7)]
    for call, words in (("commit", "No transaction of catalog lake"), ("rollback", "table")):
        with pytest.raises(Exception, match=words):
            spark.sql(f"CALL lake.system.{call}()")


@pytest.mark.usefixtures("banks")
def test_statements_that_a_transaction_has_and_refuses(spark: SparkSession) -> None:
    """MERGE, TRUNCATE, overwrites, new columns and compaction are part of it; new tables are refused."""
    with parquetry.transaction("lake", spark):
        for refused in (
            "CREATE TABLE lake.default.transfers_new (id INT)",
            "DROP TABLE lake.default.transfers_there",
            "ALTER TABLE lake.default.transfers_there RENAME TO lake.default.elsewhere",
            "CREATE NAMESPACE lake.transfers",
            "CALL lake.system.vacuum('lake.default.transfers_here')",
            "CALL lake.system.begin()",
        ):
            with pytest.raises(Exception, match=r"transaction|Transaction"):
                spark.sql(refused)
        spark.sql("ALTER TABLE lake.default.transfers_there ADD COLUMN note STRING")
        spark.sql(
            "MERGE INTO lake.default.transfers_there t USING lake.default.transfers_here s ON t.id = s.id "
            "WHEN MATCHED THEN UPDATE SET balance = s.balance, note = 'merged'"
        )
        spark.sql("TRUNCATE TABLE lake.default.transfers_here")
        spark.sql("INSERT OVERWRITE lake.default.transfers_here VALUES (9, 9, 9)")
        spark.sql("CALL lake.system.compact('lake.default.transfers_here')")
    assert rows(spark, "SELECT * FROM lake.default.transfers_here") == [(9, 9, 9)]
    assert rows(spark, "SELECT * FROM lake.default.transfers_there") == [(1, 100, "merged")]
    assert not spark.catalog.tableExists("lake.default.transfers_new")


@pytest.mark.usefixtures("banks")
def test_serializable_counts_reads_of_other_tables(spark: SparkSession) -> None:
    """A partition of another table that an INSERT has read counts; another partition of it does not."""
    other = spark.newSession()
    spark.conf.set("parquetry.isolation", "serializable")
    try:
        for partition, conflicts in ((2, False), (1, True)):
            spark.sql("CALL lake.system.begin()")
            spark.sql(
                "INSERT INTO lake.default.transfers_there "
                "SELECT 7, sum(balance) FROM lake.default.transfers_here WHERE p = 1"
            )
            other.sql(f"INSERT INTO lake.default.transfers_here VALUES (3, 1, {partition})")
            if conflicts:
                with pytest.raises(
                    Exception, match="partition p=1, which was read for it, was changed by version"
                ):
                    spark.sql("CALL lake.system.commit()")
            else:
                spark.sql("CALL lake.system.commit()")
    finally:
        spark.conf.unset("parquetry.isolation")
    assert rows(spark, "SELECT count(*) FROM lake.default.transfers_there WHERE id = 7") == [(1,)]
