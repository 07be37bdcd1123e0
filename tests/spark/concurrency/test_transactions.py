"""Transactions of several tables around a session's statements, while another session reads and writes."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import parquetry
from parquetry.metastore import Draft, Metastore, Transaction
from parquetry.metastore.commits.committer import commit
from tests.support.effort import examples

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
    """MERGE, TRUNCATE, overwrites, new columns and compaction are part of it; databases are refused."""
    with parquetry.transaction("lake", spark):
        for refused in (
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


def _names(spark: SparkSession) -> list[str]:
    return [name for _, name, _ in rows(spark, "SHOW TABLES IN lake.dbt")]


def run_of_dbt(spark: SparkSession) -> None:
    """Build two models as dbt does: a table beside the old one, which gives its name to it."""
    for model, query in (
        ("a", "SELECT id + 10 AS id FROM lake.dbt.a"),
        ("b", "SELECT count(*) AS n FROM lake.dbt.a"),
    ):
        spark.sql(f"CREATE TABLE lake.dbt.{model}__tmp USING parquet AS {query}")
        spark.sql(f"ALTER TABLE lake.dbt.{model} RENAME TO lake.dbt.{model}__backup")
        spark.sql(f"ALTER TABLE lake.dbt.{model}__tmp RENAME TO lake.dbt.{model}")
        spark.sql(f"DROP TABLE lake.dbt.{model}__backup")
    spark.sql("CREATE OR REPLACE TABLE lake.dbt.c USING parquet AS SELECT max(id) AS id FROM lake.dbt.a")


@pytest.fixture(autouse=True)
def _no_transaction_stays(spark: SparkSession) -> Iterator[None]:
    """A test that fails within a transaction leaves none to the next one."""
    yield
    with contextlib.suppress(PySparkException):
        spark.sql("CALL lake.system.rollback()")


@pytest.mark.core
def test_tables_are_made_renamed_and_dropped(spark: SparkSession) -> None:
    """A run of dbt over several tables is seen as a whole, again and again; a rollback undoes it."""
    other = spark.newSession()
    spark.sql("CREATE NAMESPACE lake.dbt")
    for name in "abc":
        spark.sql(f"CREATE TABLE lake.dbt.{name} USING parquet AS SELECT * FROM VALUES (1), (2) AS t (id)")
    before = {name: rows(other, f"SELECT * FROM lake.dbt.{name}") for name in "abc"}
    spark.sql("CALL lake.system.begin()")
    run_of_dbt(spark)
    assert _names(spark) == ["a", "b", "c"]
    assert rows(spark, "SELECT * FROM lake.dbt.c") == [(12,)]
    assert _names(other) == ["a", "b", "c"]
    assert {name: rows(other, f"SELECT * FROM lake.dbt.{name}") for name in "abc"} == before
    spark.sql("CALL lake.system.rollback()")
    assert {name: rows(spark, f"SELECT * FROM lake.dbt.{name}") for name in "abc"} == before
    for number in (1, 2):
        with parquetry.transaction("lake", spark) as id:
            run_of_dbt(spark)
        assert _names(other) == ["a", "b", "c"]
        assert sorted(rows(other, "SELECT * FROM lake.dbt.a")) == [(10 * number + 1,), (10 * number + 2,)]
        assert rows(other, "SELECT n, id FROM lake.dbt.b, lake.dbt.c") == [(2, 10 * number + 2)]
        ((summary,),) = rows(spark, "SELECT summary FROM lake.dbt.a.history ORDER BY version DESC LIMIT 1")
        assert f'"transaction": "{id}"' in summary
    spark.sql("CALL lake.system.begin()")
    spark.sql("CREATE TABLE lake.dbt.d USING parquet AS SELECT 1 AS id")
    other.sql("CREATE TABLE lake.dbt.d (id INT) USING parquet")
    with pytest.raises(Exception, match=r"Table dbt\.d was made by others"):
        spark.sql("CALL lake.system.commit()")
    assert rows(spark, "SELECT * FROM lake.dbt.d") == []
    spark.sql("DROP NAMESPACE lake.dbt CASCADE")


@pytest.mark.needs("views")
def test_views_are_made_and_replaced(spark: SparkSession) -> None:
    """A view is made over a table of the same transaction, and dropped in another."""
    other = spark.newSession()
    spark.sql("CREATE NAMESPACE lake.dbt")
    with parquetry.transaction("lake", spark):
        spark.sql("CREATE TABLE lake.dbt.c AS SELECT 7 AS id")
        spark.sql("CREATE VIEW lake.dbt.v AS SELECT id + 1 AS next FROM lake.dbt.c")
        assert rows(spark, "SELECT * FROM lake.dbt.v") == [(8,)]
        assert _names(other) == []
    assert rows(other, "SELECT * FROM lake.dbt.v") == [(8,)]
    with parquetry.transaction("lake", spark):
        spark.sql("DROP VIEW lake.dbt.v")
        spark.sql("CREATE VIEW lake.dbt.v AS SELECT id FROM lake.dbt.c")
        assert rows(other, "SELECT * FROM lake.dbt.v") == [(8,)]
    assert rows(other, "SELECT * FROM lake.dbt.v") == [(7,)]
    spark.sql("DROP NAMESPACE lake.dbt CASCADE")


SOURCES = ("merged_from_a", "merged_from_b", "merged_from_c")


def _merge(spark: SparkSession, number: int) -> None:
    """Run a MERGE of three sources: two tables and a view."""
    spark.sql(
        f"MERGE INTO lake.default.merged t USING (SELECT {number} AS id, a.n AS a, b.n AS b, c.n AS c "
        f"FROM lake.default.{SOURCES[0]} a, lake.default.merged_from_view b, lake.default.{SOURCES[2]} c) s "
        "ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
    )


@pytest.mark.needs("views")
def test_a_merge_sees_three_sources_at_one_moment(spark: SparkSession, store: Metastore) -> None:
    """While another session commits all three sources together, each MERGE sees all of a commit or nothing.

    An error within a MERGE leaves the target as it was.
    """
    for name in SOURCES:
        spark.sql(f"CREATE OR REPLACE TABLE lake.default.{name} AS SELECT 0 AS n")
    spark.sql(
        f"CREATE OR REPLACE VIEW lake.default.merged_from_view AS SELECT * FROM lake.default.{SOURCES[1]}"
    )
    spark.sql("CREATE OR REPLACE TABLE lake.default.merged (id INT, a INT, b INT, c INT)")
    over, commits = threading.Event(), []

    def change_all() -> None:
        other = spark.newSession()
        versions = [
            [store.table("default", name)] for name in SOURCES
        ]  # of the numbers 0 and 1, put in place of each other
        with parquetry.transaction("lake", other):
            for name in SOURCES:
                other.sql(f"INSERT OVERWRITE lake.default.{name} VALUES (1)")
        for known, name in zip(versions, SOURCES, strict=True):
            known.append(store.table("default", name))
        while not over.is_set():
            number = len(commits) % 2
            draft = Draft(store)
            for known in versions:
                table = draft.metastore.table("default", known[number].name)
                back = Transaction(table, "restore")
                for partition in known[number].partitions():
                    back.restore(known[number], partition)
                commit(back)
            draft.commit()
            commits.append(number)

    thread = threading.Thread(target=change_all)
    thread.start()
    try:
        for number in range(examples(20, 8)):
            _merge(spark, number)
    finally:
        over.set()
        thread.join()
    seen = rows(spark, "SELECT a, b, c FROM lake.default.merged")
    assert {*seen} <= {(0, 0, 0), (1, 1, 1)}
    assert len(commits) > len(seen)
    before = rows(spark, "SELECT count(*) FROM lake.default.merged.history")
    with pytest.raises(Exception, match="USER_RAISED_EXCEPTION"):
        spark.sql(
            f"MERGE INTO lake.default.merged t USING lake.default.{SOURCES[0]} s ON t.id = s.n "
            "WHEN MATCHED THEN UPDATE SET a = raise_error('within')"
        )
    assert rows(spark, "SELECT count(*) FROM lake.default.merged.history") == before


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
