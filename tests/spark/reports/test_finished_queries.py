"""`last_reports` returns reports of finished queries, and does not keep their plans."""

from __future__ import annotations

import gc
import json
import time
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import parquetry
from parquetry.joins.plan.shuffle_reasons import SETTINGS
from parquetry.planner import report_from_facts
from parquetry.prune.report.report import Report


@pytest.fixture(scope="module")
def db(spark: SparkSession) -> Iterator[str]:
    """A table of 10 partitions, `sales`, and one of their first two days, `days`."""
    name = "lake.finished"
    spark.sql(f"CREATE NAMESPACE {name}")
    spark.sql(f"CREATE TABLE {name}.sales (id INT, day INT) USING parquet PARTITIONED BY (day)")
    spark.sql(f"INSERT INTO {name}.sales SELECT CAST(id AS INT), CAST(id % 10 AS INT) FROM range(100)")
    spark.sql(
        f"CREATE TABLE {name}.days USING parquet AS SELECT day FROM {name}.sales WHERE day < 2 GROUP BY day"
    )
    yield name
    spark.sql(f"DROP NAMESPACE {name} CASCADE")


def newest(spark: SparkSession, count: int = 1) -> list[tuple[str, Report]]:
    """The statements and reports of a session's last queries, as the planner gets them."""
    queries = spark._jvm.org.apache.spark.sql.parquetry.reports.FinishedQueries
    answer = json.loads(queries.reports(spark._jsparkSession, count, list(SETTINGS)))
    return [(each["statement"], report_from_facts(each["report"])) for each in answer]


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(id) FROM {db}.sales WHERE day < 3",
        "SELECT count(*) FROM {db}.sales JOIN {db}.days USING (day)",
        "SELECT day, count(*) FROM {db}.sales WHERE id > (SELECT min(day) FROM {db}.days) GROUP BY day",
    ],
)
def test_a_query(spark: SparkSession, db: str, query: str):
    """The report that is kept is the one that the query's DataFrame gives."""
    query = query.format(db=db)
    frame = spark.sql(query)
    frame.collect()
    assert newest(spark) == [(query, parquetry.report(frame))]


def test_a_report_is_given_for_text_and_refused_for_rows(spark: SparkSession, db: str):
    """SQL stands for its newest run, and is not run; collected rows have no query, which the error says."""
    query = f"SELECT sum(id) FROM {db}.sales WHERE day = 7"
    assert "has not run" in str(parquetry.report(query)).splitlines()[0]
    frame = spark.sql(query)
    rows = frame.collect()
    assert parquetry.report(query).scans == parquetry.report(frame).scans
    assert "has not run" not in str(parquetry.report(query))
    frame.where("true").show()
    assert newest(spark)[0][0].startswith(("a DataFrame of", "SELECT"))
    for wrong in (rows, rows[0], frame.toPandas()):
        with pytest.raises(
            TypeError,
            match=r"has rows, and not the query.*parquetry\.report\(query\) after query\.collect\(\)",
        ):
            parquetry.report(wrong)
    with pytest.raises(
        TypeError, match=r"17 is of type int: parquetry\.explain takes a DataFrame, or SQL as text"
    ):
        parquetry.explain(17)


@pytest.mark.parametrize("write", ["CREATE TABLE {db}.copy USING parquet AS", "INSERT INTO {db}.copy"])
def test_a_write(spark: SparkSession, db: str, write: str):
    """A write is one query, with the report of the query whose rows it writes."""
    select = f"SELECT id, day FROM {db}.sales JOIN {db}.days USING (day)"
    statement = f"{write.format(db=db)} {select}"
    spark.sql(statement).collect()

    found = newest(spark, 2)
    assert found[0] == (statement, parquetry.explain(select))
    assert found[1][0] != statement


def test_a_write_of_a_dataframe(spark: SparkSession, db: str):
    """Without a text, a query is named after the tables that its DataFrame reads, a write to a new table,
    too.
    """
    frame = spark.table(f"{db}.sales").join(spark.table(f"{db}.days"), "day")
    for write in (
        lambda: frame.write.saveAsTable(f"{db}.written"),
        lambda: frame.write.insertInto(f"{db}.written"),
        lambda: frame.write.mode("overwrite").saveAsTable(f"{db}.written"),
    ):
        write()
        assert newest(spark)[0][0] in {
            f"a DataFrame of {db}.sales, {db}.days",
            f"a DataFrame of {db}.written, {db}.sales, {db}.days",
        }


def test_a_merge(spark: SparkSession, db: str):
    """A MERGE is one query, which reads the files that it changes."""
    merge = f"MERGE INTO {db}.sales t USING (SELECT 11 AS id) s ON t.id = s.id WHEN MATCHED THEN UPDATE SET id = t.id"
    spark.sql(merge).collect()
    found = newest(spark, 2)
    assert found[0][0] == merge
    assert [(scan.table, scan.steps[-2].kept) for scan in found[0][1].scans] == [(f"{db}.sales", 1)]
    assert found[1][0] != merge


def test_a_cached_table(spark: SparkSession, db: str):
    """A query that uses a cache is reported with the scan that filled it before, which it did not read."""
    frame = spark.sql(f"SELECT id FROM {db}.sales WHERE day = 4").cache()
    try:
        frame.count()
        frame.where("id > 50").collect()
        ((_, found),) = newest(spark)
        (scan,) = found.scans
        assert (scan.table, scan.steps[0].kept) == (f"{db}.sales", 0)
        assert scan.not_read == "its rows came from a cache"
    finally:
        frame.unpersist()


def test_plans_are_not_kept(spark: SparkSession, db: str):
    """A physical plan, which keeps shuffle files, is freed with its DataFrame; its report stays available."""
    query = f"SELECT id, count(*) FROM {db}.sales GROUP BY id"
    frame = spark.sql(query)
    frame.collect()
    assert newest(spark)[0][0] == query
    plan = spark._jvm.java.lang.ref.WeakReference(frame._jdf.queryExecution().executedPlan())
    del frame
    deadline = time.monotonic() + 60
    # to get the plan would be to hold it, until Python's answer to the JVM that it is done with it
    while not plan.refersTo(None):
        assert time.monotonic() < deadline, "the plan is still there"
        gc.collect()
        spark._jvm.System.gc()
        time.sleep(0.1)
    assert newest(spark)[0][0] == query
