"""Queries read and shuffle, on a series of Spark that lacks a feature, what docs/versions.md says.

Each count is beside the count of a query that needs no such feature.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

import pytest
from pyspark.sql import DataFrame, SparkSession

import parquetry
from tests.support.spark import orc_times, plans
from tests.support.tables.bucketed_tables import settings

pytestmark = pytest.mark.core

D = "lake.planned"


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that does not broadcast by itself and adapts no plan, with a table of three partitions and
    tables of 4 and 8 buckets, each of two sorted files.
    """
    spark.sql(f"CREATE NAMESPACE {D}")
    spark.sql(f"CREATE TABLE {D}.t (id INT, v INT, p STRING) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {D}.t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c')")
    for buckets in (4, 8):
        spark.sql(
            f"CREATE TABLE {D}.b{buckets} (k BIGINT, s STRING) CLUSTERED BY (k) SORTED BY (k) INTO {buckets} BUCKETS"
        )
        for _ in range(2):
            spark.sql(f"INSERT INTO {D}.b{buckets} SELECT id, string(id) FROM range(0, 40, 1, 1)")
    with settings(spark, {"spark.sql.autoBroadcastJoinThreshold": -1, "spark.sql.adaptive.enabled": False}):
        yield spark
    spark.sql(f"DROP NAMESPACE {D} CASCADE")


def kept(frame: DataFrame, step: str) -> list[tuple[int, int]]:
    """Return how many partitions, or files or directories, each scan of a query reads, and of how many."""
    frame.collect()
    scans = parquetry.report(frame).to_dict()["scans"]
    return [(s["kept"], s["of"]) for scan in scans for s in scan["steps"] if s["name"] == step]


def shuffles_and_sorts(session: SparkSession, query: str) -> tuple[int, int]:
    """Return how many nodes for them the plan of a query has."""
    nodes = plans.nodes(session.sql(query))
    return nodes["Exchange"], nodes["Sort"]


@pytest.mark.lacks("functions of partitions")
def test_functions_of_partitions(session: SparkSession) -> None:
    """A function of a partition column prunes partitions in a query, an UPDATE and a MERGE, and Spark tests
    their rows by it again. With a subquery's value it prunes none.
    """
    query = f"SELECT v FROM {D}.t WHERE upper(p) ="
    frame = session.sql(f"{query} 'A'")
    assert kept(frame, "partitions") == [(1, 3)]
    assert plans.nodes(frame)["Filter"] == 1
    assert kept(session.sql(f"{query} (SELECT max(upper(p)) FROM {D}.t)"), "partitions")[0] == (3, 3)
    for statement in (
        f"UPDATE {D}.t SET v = v WHERE upper(p) = 'A'",
        f"MERGE INTO {D}.t t USING (SELECT 1 AS k) s ON t.id = s.k AND upper(t.p) = 'A' WHEN MATCHED THEN UPDATE SET v = t.v",
    ):
        execution = session.sql(statement)._jdf.queryExecution()
        plan = execution.commandExecuted().commandPhysicalPlan().toString()
        assert f"{D}.t: partitions 1 of 3 (upper(p) = 'A')" in plan, plan


@pytest.mark.lacks("values of subqueries")
def test_values_of_subqueries(session: SparkSession) -> None:
    """The value of a subquery leaves out no partition and no directory of heavy values; a constant leaves out
    both.
    """
    session.sql(
        f"CREATE TABLE {D}.heavy (x INT, p INT) PARTITIONED BY (p) SKEWED BY (x) ON (10, 20) STORED AS DIRECTORIES"
    )
    session.sql(f"INSERT OVERWRITE {D}.heavy VALUES (10, 1), (20, 1), (3, 1)")
    for table, step, column, value in (("t", "partitions", "p", "'c'"), ("heavy", "directories", "x", "20")):
        query = f"SELECT * FROM {D}.{table} WHERE {column} ="
        assert kept(session.sql(f"{query} {value}"), step) == [(1, 3)]
        subquery = f"(SELECT max({column}) FROM {D}.{table})"
        assert kept(session.sql(f"{query} {subquery}"), step)[0] == (3, 3)


@pytest.mark.lacks("scan merging")
def test_scan_merging(session: SparkSession) -> None:
    """Subqueries that differ only in their columns read the table once each."""
    asked = ", ".join(
        f"(SELECT {value} FROM {D}.t WHERE v > 10)" for value in ("sum(id)", "avg(v)", "sum(length(p))")
    )
    assert kept(session.sql(f"SELECT {asked}"), "files") == [(2, 3)] * 3


@pytest.mark.lacks("times in orc")
def test_times_in_orc(session: SparkSession) -> None:
    """A timestamp, with a time zone or without, leaves out a file and reads the other whole. A number reads
    one stripe of it.
    """
    orc_times.make(session, f"{D}.o")
    assert orc_times.rows_read(session, f"{D}.o") == [1000, 10_000, 10_000]


@pytest.mark.lacks("broadcasts of others")
def test_broadcasts_of_others(session: SparkSession) -> None:
    """A join in buckets shuffles if a side was joined with a broadcast of VALUES, and not if the broadcast is
    of a table of Parquetry.
    """
    for small, shuffles in ((f"{D}.t", 0), ("(SELECT * FROM VALUES (1, 10) AS s(id, v))", 2)):
        side = f"(SELECT /*+ BROADCAST(s) */ d.* FROM {D}.b8 d JOIN {small} s ON d.k = s.id WHERE s.v <> 7)"
        query = f"SELECT * FROM {D}.b8 l JOIN {side} r ON l.k = r.k"
        plan = "\n".join(plans.lines(session.sql(query)))
        assert len(re.findall(r"Exchange hashpartitioning", plan)) == shuffles, plan


@pytest.mark.lacks("exists with computed columns")
def test_exists_with_computed_columns(session: SparkSession) -> None:
    """UPDATE and DELETE rewrite all files for an EXISTS that compares a CHAR by =, and another column, too.
    For an EXISTS without the CHAR, they rewrite the file of their row.
    """
    session.sql(f"CREATE TABLE {D}.e (id INT, k CHAR(4), n INT, p INT) PARTITIONED BY (p)")
    session.sql(f"INSERT INTO {D}.e VALUES (1, 'ab', 0, 1), (2, 'ab', 0, 2), (3, 'cd', 0, 3)")
    session.sql(f"CREATE TABLE {D}.u (i INT, k CHAR(4))")
    session.sql(f"INSERT INTO {D}.u VALUES (2, 'ab')")
    for statement, condition, rewritten, left in (
        ("UPDATE {e} SET n = 1", "u.i = {e}.id", "1 of 3", [(1, 0), (2, 1), (3, 0)]),
        ("UPDATE {e} SET n = 2", "u.k = {e}.k AND u.i = {e}.id", "3 of 3", [(1, 0), (2, 2), (3, 0)]),
        ("DELETE FROM {e}", "u.k = {e}.k AND {e}.id < u.i", "3 of 3", [(2, 2), (3, 0)]),
    ):
        exists = f"EXISTS (SELECT 1 FROM {D}.u u WHERE {condition})"
        session.sql(f"{statement} WHERE {exists}".format(e=f"{D}.e"))
        (newest,) = session.sql(f"SELECT summary FROM {D}.e.history ORDER BY version DESC LIMIT 1").collect()
        assert json.loads(newest.summary)["files rewritten"] == rewritten, statement
        rows = session.sql(f"SELECT id, n FROM {D}.e ORDER BY id").collect()
        assert [tuple(row) for row in rows] == left
