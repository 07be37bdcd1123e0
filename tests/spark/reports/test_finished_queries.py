"""Finished queries that are kept for `system.last_reports`: they keep no plan of Spark's, and so no shuffle."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import pytest
from py4j.java_gateway import JavaObject
from pyspark.sql import SparkSession

Rows = Callable[[str], list[tuple[Any, ...]]]

QUERIES = {
    "shuffle": ("SELECT x, count(*) FROM {t} GROUP BY x", 1),
    "broadcast": ("SELECT /*+ BROADCAST(u) */ sum(t.x) FROM {t} t JOIN {t} u USING (p) WHERE u.x = 2", 2),
    "changed_rows": ("UPDATE {t} SET x = 9 WHERE x = 8", 1),
}


def becomes(spark: SparkSession, holds: Callable[[], bool]) -> bool:
    """Return whether a condition soon holds, while both garbage collectors run."""
    deadline = time.monotonic() + 60
    while not holds() and time.monotonic() < deadline:
        gc.collect()
        spark._jvm.java.lang.System.gc()
        time.sleep(0.1)
    return holds()


def plan_of(spark: SparkSession, statement: str) -> JavaObject:
    """Run a statement, and return a weak reference to its physical plan."""
    frame = spark.sql(statement)
    frame.collect()
    return spark._jvm.java.lang.ref.WeakReference(frame._jdf.queryExecution().executedPlan())


@pytest.mark.parametrize("kind", QUERIES)
def test_a_plan_is_collected(spark: SparkSession, db: str, rows: Rows, kind: str) -> None:
    """The plan of a query can be collected when its frame is dropped, and its report is still there, as it was."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (x INT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} SELECT id, id % 4 FROM range(40)")
    statement, scans = QUERIES[kind]
    plan = plan_of(spark, statement.format(t=table))
    before = rows("CALL lake.system.last_reports(1)")
    assert len({(row[4], row[5]) for row in before if row[6] == "partitions"}) == scans
    assert becomes(spark, lambda: plan.get() is None)
    assert rows("CALL lake.system.last_reports(1)") == before
