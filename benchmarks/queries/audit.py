"""The cost of an audit: queries with audit on, beside the same queries with audit off, by turns.

Two million rows are in 100 partitions. Bytes are the bytes that Spark's tasks read.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from benchmarks.lake import CATALOG, processor_seconds, start
from benchmarks.measure import BenchmarkFinding, Result, take_turns

_ROWS, _DAYS, _KEYS = 2_000_000, 100, 50_000
_ROUNDS = 5
_PLANS = 20
_JOBS = {
    "a partition of 100": "SELECT * FROM {0}.audited WHERE day = 7 AND x > 90",
    "a day's total": "SELECT day, sum(x) FROM {0}.audited WHERE day < 50 GROUP BY day",
    "a count": "SELECT count(*) FROM {0}.audited WHERE day > 20",
    "the first 100 of an order": "SELECT ts, id FROM {0}.audited ORDER BY ts DESC, id LIMIT 100",
    "a join with values": "SELECT a.* FROM {0}.audited a JOIN {0}.audit_days d ON a.day = d.day WHERE d.week = 3",
    "a join in buckets": "SELECT count(*), sum(l.v + r.v) FROM {0}.audit_left l JOIN {0}.audit_right r ON l.k = r.k",
}


def run(folder: Path, scale: float) -> Result:
    """Write the tables, and run each query with audit on and off."""
    spark = start(folder)
    result = Result("audit")
    _load(spark, scale)
    for job, query in _JOBS.items():
        _measure(spark, job, query.format(f"{CATALOG}.bench"), result)
    result.findings.append(
        BenchmarkFinding("off: part of planning that audit's rules take", _off(spark), 0.01)
    )
    spark.stop()
    return result


def _load(spark: SparkSession, scale: float) -> None:
    db, rows, keys = f"{CATALOG}.bench", int(_ROWS * scale), int(_KEYS * scale)
    if spark.catalog.tableExists(f"{db}.audited"):
        return
    spark.sql(f"CREATE TABLE {db}.audited (id BIGINT, ts BIGINT, x INT, day INT) PARTITIONED BY (day)")
    spark.sql(
        f"INSERT INTO {db}.audited SELECT id, id * 3, CAST(pmod(hash(id), 100) AS INT), CAST(id * {_DAYS} DIV {rows} AS INT) "
        f"FROM range({rows})"
    )
    spark.sql(
        f"CREATE TABLE {db}.audit_days AS SELECT CAST(id AS INT) AS day, CAST(id DIV 7 AS INT) AS week FROM range({_DAYS})"
    )
    for side in ("left", "right"):
        spark.sql(
            f"CREATE TABLE {db}.audit_{side} (k INT, v INT) CLUSTERED BY (k) SORTED BY (k) INTO 8 BUCKETS"
        )
        spark.sql(f"INSERT INTO {db}.audit_{side} SELECT id % {keys}, id FROM range({4 * keys})")


def _measure(spark: SparkSession, job: str, query: str, result: Result) -> None:
    def rows(audit: str) -> list[Any]:
        spark.conf.set("parquetry.audit", audit)
        answer: list[Any] = spark.sql(query).collect()
        return answer

    if sorted(rows("on")) != sorted(rows("off")):
        raise AssertionError(f"{job}: the answers differ")
    read = {audit: _bytes_of(spark, partial(rows, audit)) for audit in ("off", "on")}
    variants = {audit: partial(rows, audit) for audit in ("off", "on")}
    timing = take_turns(job, variants, _ROUNDS, warmups=2, processor=partial(processor_seconds, spark))
    result.timings.append(timing)
    result.details[job] = {"bytes": read}
    result.findings += [
        BenchmarkFinding(f"{job}: on / off, CPU", timing.processor_ratio("on", "off")),
        BenchmarkFinding(f"{job}: on / off, bytes read", read["on"] / max(1, read["off"])),
    ]


def _off(spark: SparkSession) -> float:
    """Return the part of planning that the audit's rules take while it is off, by Spark's own clock of rules.

    Spark does not time the rules of a plan that is about to run. Like the others, they look at one setting.
    """
    spark.conf.set("parquetry.audit", "off")
    queries = [query.format(f"{CATALOG}.bench") for query in _JOBS.values()]

    def plan() -> float:
        began = time.perf_counter()
        for query in queries:
            spark.sql(query)._jdf.queryExecution().executedPlan()
        return time.perf_counter() - began

    for _ in range(_PLANS):  # warms up
        plan()
    rules = spark._jvm.org.apache.spark.sql.catalyst.rules.RuleExecutor
    rules.resetMetrics()
    total = sum(plan() for _ in range(_PLANS))
    times = [line.split() for line in rules.dumpTimeSpent().splitlines() if ".parquetry.audit." in line]
    if not times:
        raise AssertionError("Spark's clock names no rule of the audit")
    return sum(int(nanoseconds) for _, _, _, nanoseconds, *_ in times) / 1e9 / total


def _bytes_of(spark: SparkSession, action: partial[list[Any]]) -> int:
    """Return the bytes that the tasks of an action read."""
    before = _bytes_read(spark)
    action()
    return _bytes_read(spark) - before


def _bytes_read(spark: SparkSession) -> int:
    spark._jsc.sc().listenerBus().waitUntilEmpty()
    executors = spark._jsc.sc().statusStore().executorList(False)
    return sum(executors.apply(place).totalInputBytes() for place in range(executors.size()))
