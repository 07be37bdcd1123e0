"""Finished queries that are kept for `system.last_reports`: they keep no plan of Spark's, and so no shuffle."""

from __future__ import annotations

from pathlib import Path

from tests.support.processes import run_python

PROGRAM = """
import gc, sys, time
from pyspark.sql import SparkSession
import parquetry

builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.shuffle.partitions", "2")
spark = parquetry.configure(builder, "lake", sys.argv[1]).getOrCreate()
spark.sql("CREATE TABLE lake.default.t (x INT, p INT) PARTITIONED BY (p)")
spark.sql("INSERT INTO lake.default.t SELECT id, id % 4 FROM range(40)")

def run(statement):
    "Run a statement, and return a weak reference to its physical plan."
    frame = spark.sql(statement)
    frame.collect()
    return spark._jvm.java.lang.ref.WeakReference(frame._jdf.queryExecution().executedPlan())

def reported():
    return [tuple(row) for row in spark.sql("CALL lake.system.last_reports(1)").collect()]

def goes(plan):
    "Return whether a plan is soon collected, while both garbage collectors run."
    deadline = time.monotonic() + 60
    while plan.get() is not None and time.monotonic() < deadline:
        gc.collect()
        spark._jvm.java.lang.System.gc()
        time.sleep(0.1)
    return plan.get() is None

for kind, statement, scans in (
    ("shuffle", "SELECT x, count(*) FROM {t} GROUP BY x", 1),
    ("broadcast", "SELECT /*+ BROADCAST(u) */ sum(t.x) FROM {t} t JOIN {t} u USING (p) WHERE u.x = 2", 2),
    ("changed rows", "UPDATE {t} SET x = 9 WHERE x = 8", 1),
):
    plan = run(statement.format(t="lake.default.t"))
    before = reported()
    found = len({(row[4], row[5]) for row in before if row[6] == "partitions"})
    print(kind, "scans", found == scans, "collected", goes(plan), "same", reported() == before)
"""


def test_plans_are_collected(tmp_path: Path) -> None:
    """The plan of a query can be collected when its frame is dropped, and its report is still there, as it was.

    It has a process of its own: what else has run in a session may hold plans.
    """
    said = run_python(PROGRAM, tmp_path, str(tmp_path / "lake"))
    lines = [line for line in said.splitlines() if " collected " in line]
    assert lines == [
        f"{kind} scans True collected True same True" for kind in ("shuffle", "broadcast", "changed rows")
    ], said
