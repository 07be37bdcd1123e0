"""SQL reads metadata tables of many rows page by page, and only as many pages as it needs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from parquetry.metastore import FileRecord, TableColumn, TableMetadata, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.planner import statements
from parquetry.planner.metadata_tables import ROWS_PER_PAGE
from parquetry.spark.configuration import BRIDGE_PACKAGE
from parquetry.spark.serving.callbacks import PlannerGateway

Rows = Callable[[str], list[tuple[Any, ...]]]
FILES = 2 * ROWS_PER_PAGE + 500


class Counting(PlannerGateway):
    """The planner, with a count of the pages of metadata tables that were requested."""

    def __init__(self) -> None:
        super().__init__()
        self.pages = 0
        self.before_page: Callable[[int], None] | None = None

    def ask(self, question: str) -> str:
        if json.loads(question)["op"] == "read_metadata_table":
            self.pages += 1
            if self.before_page is not None:
                self.before_page(self.pages)
        return super().ask(question)


@pytest.fixture
def door(spark: SparkSession) -> Iterator[Counting]:
    """The planner of the session, until the test is over."""
    bridge = getattr(spark._jvm, BRIDGE_PACKAGE).protocol.Bridge
    counting = Counting()
    bridge.install(counting, list(statements.STATEMENT_WORDS))
    yield counting
    bridge.install(PlannerGateway(), list(statements.STATEMENT_WORDS))


@pytest.fixture
def table(db: str, warehouse: Path) -> str:
    """A table of two partitions, which lists files that are not there: three pages, the last one short."""
    database = db.removeprefix("lake.")
    with open_metastore(str(warehouse / "lake")) as metastore:
        location = metastore.table_location(database, "t")
        metadata = TableMetadata(
            (TableColumn("id", "long"), TableColumn("p", "integer")), ("p",), "parquet", location
        )
        transaction = Transaction(metastore.create_table(database, "t", metadata), "append")
        for p in (1, 2):
            files = [FileRecord(f"{n}.parquet", 10, n) for n in range(p, FILES + 1, 2)]
            transaction.append((p,), files)
        commit(transaction)
    return f"{db}.t"


def test_many_rows_are_asked_for_page_by_page(rows: Rows, table: str, door: Counting) -> None:
    """The first page says that more follow; the task then requests them one after the other, beginning with
    the first.
    """
    query = f"SELECT p, count(*), count(DISTINCT path), sum(rows), sum(bytes) FROM {table}.files GROUP BY p ORDER BY p"
    half = FILES // 2
    assert rows(query) == [
        (1, half, half, half * half, 10 * half),
        (2, half, half, half * (half + 1), 10 * half),
    ]
    assert door.pages == 1 + 3


def test_a_few_rows_are_asked_for_once(spark: SparkSession, rows: Rows, table: str, door: Counting) -> None:
    """Rows that fit into one page are local rows of the plan, and no task runs."""
    frame = spark.sql(f"SELECT p, files FROM {table}.partitions")
    assert [tuple(row) for row in frame.collect()] == [(1, FILES // 2), (2, FILES // 2)]
    assert "LocalTableScan" in frame._jdf.queryExecution().executedPlan().toString()
    assert door.pages == 1


def test_limit_asks_for_no_more_than_it_needs(rows: Rows, table: str, door: Counting) -> None:
    """One page is enough for ten rows; for more than a page, the task stops when it has them."""
    assert len(rows(f"SELECT path FROM {table}.files LIMIT 10")) == 10
    assert door.pages == 1
    door.pages = 0
    assert len(rows(f"SELECT path FROM {table}.files LIMIT {ROWS_PER_PAGE + 1}")) == ROWS_PER_PAGE + 1
    assert door.pages == 1 + 2


def test_a_limit_behind_a_condition_counts_what_the_condition_leaves(
    rows: Rows, table: str, door: Counting
) -> None:
    """Rows that it takes away do not fill the limit."""
    assert rows(f"SELECT rows FROM {table}.files WHERE rows = {FILES} LIMIT 1") == [(FILES,)]
    assert door.pages == 1 + 3


def test_a_condition_on_partition_columns_reads_no_others(
    spark: SparkSession, rows: Rows, db: str, door: Counting
) -> None:
    """EXPLAIN names the condition, which selects the same rows as on all rows; Spark evaluates what is not
    about keys.
    """
    spark.sql(f"CREATE TABLE {db}.c (id INT, d DATE, r CHAR(3)) USING parquet PARTITIONED BY (d, r)")
    spark.sql(
        f"INSERT INTO {db}.c SELECT CAST(id AS INT), date_add(DATE'2026-01-01', CAST(id AS INT)), "
        "IF(id % 2 = 0, 'eu', NULL) FROM range(8)"
    )
    for condition, pushed in (
        ("d = DATE'2026-01-03'", "d = DATE '2026-01-03'"),
        ("d >= '2026-01-05' AND r = 'eu'", "d >= DATE '2026-01-05', r = 'eu '"),
        ("r IS NULL", "r IS NULL"),
        ("d = DATE'2026-01-03' AND rows > 0", "d = DATE '2026-01-03'"),
        ("d = DATE'2026-01-03' AND rows > 1", "d = DATE '2026-01-03'"),
        ("d = DATE'2026-01-03' OR rows > 1", None),
        ("rows > 0", None),
        ("bytes = NULL AND d > '2026-01-01'", None),
    ):
        for kind in ("files", "partitions"):
            frame = spark.sql(f"SELECT * FROM {db}.c.{kind} WHERE {condition}")
            plan = frame._jdf.queryExecution().executedPlan().toString()
            told = plan.split("pushed filters: [")[1].split("]")[0] if "pushed filters" in plan else None
            assert (
                condition,
                told and told.replace("d IS NOT NULL, ", "").replace("r IS NOT NULL, ", ""),
            ) == (
                condition,
                pushed,
            )
            spark.sql(f"SELECT * FROM {db}.c.{kind}").createOrReplaceTempView("every")
            every = spark.createDataFrame(spark.table("every").collect(), frame.schema)
            assert sorted(map(str, frame.collect())) == sorted(map(str, every.where(condition).collect()))
    assert rows(f"SELECT version FROM {db}.c.history WHERE version < 1 OR version = 1") == [(1,), (0,)]
    door.pages = 0
    assert rows(f"SELECT count(*) FROM {db}.c.files WHERE d = DATE'2026-01-03' LIMIT 5") == [(1,)]
    assert door.pages == 1


def test_a_table_that_is_dropped_in_the_middle(
    rows: Rows, table: str, door: Counting, warehouse: Path
) -> None:
    """The query fails, and says why."""
    database, name = table.removeprefix("lake.").split(".")

    def drop(page: int) -> None:
        if page == 3:
            with open_metastore(str(warehouse / "lake")) as metastore:
                metastore.drop_table(database, name)

    door.before_page = drop
    message = rf"Table {database}\.t was dropped or replaced while it was being read\."
    with pytest.raises(PySparkException, match=message):
        rows(f"SELECT count(*), max(path) FROM {table}.files")
    assert door.pages == 3
