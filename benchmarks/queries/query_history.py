"""The processor's time that the history of queries takes for each query, in a session and in a plain scan.

A session's queries are recorded by three threads: Spark's listener, the one that hands queries over, and the
one of Python that writes them. Their time with the history on is compared with their time with it off. So the
query's own work, which varies more than this, is left out.
"""

from __future__ import annotations

import os
import statistics
import time
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import parquetry
from benchmarks.lake import CATALOG, start
from benchmarks.measure import BenchmarkFinding, Result
from parquetry.workload import HistoryWriter

_QUERIES, _WARMUPS = 1_000, 300
_ROUNDS = 5
_DAYS = 100
_SETTING = "parquetry.pruning-history"
_MILLISECONDS = 1.0
"""The most that a query's record may take."""
_THREADS = ("spark-listener-group-shared", "parquetry-history")
_JOBS = {
    "a point query": "SELECT sum(x) FROM {0}.recorded WHERE day = {1} AND id = {1}",
    "a join": "SELECT count(*) FROM {0}.recorded r JOIN {0}.record_days d ON r.day = d.day WHERE d.week = 3 AND r.id > {1}",
}


def run(folder: Path, scale: float) -> Result:
    """Write the tables, and run queries with the history on and off."""
    spark = start(folder)
    result = Result("query_history")
    _load(spark)
    recording = _Recording()
    for job, query in _JOBS.items():
        _run(spark, query, int(_WARMUPS * scale), "on")
        off = _seconds(spark, recording, query, int(_QUERIES * scale), "off")
        on = _seconds(spark, recording, query, int(_QUERIES * scale), "on")
        result.findings.append(
            BenchmarkFinding(f"{job} in a session", 1000 * (on - off), _MILLISECONDS, "ms")
        )
    spark.stop()
    result.findings.append(BenchmarkFinding("a plain scan", _of_a_scan(folder, scale), _MILLISECONDS, "ms"))
    return result


class _Recording:
    """Counts the processor's time of the planner's thread that records queries."""

    def __init__(self) -> None:
        self.seconds = 0.0
        record = HistoryWriter.write

        def timed(function: Any) -> Any:
            def call(*arguments: Any) -> Any:
                began = time.thread_time()
                try:
                    return function(*arguments)
                finally:
                    self.seconds += time.thread_time() - began

            return call

        HistoryWriter.write = timed(record)  # type: ignore[method-assign]


def _load(spark: SparkSession) -> None:
    db = f"{CATALOG}.bench"
    if not spark.catalog.tableExists(f"{db}.recorded"):
        spark.sql(f"CREATE TABLE {db}.recorded (id BIGINT, x INT, day INT) PARTITIONED BY (day)")
        spark.sql(
            f"INSERT INTO {db}.recorded SELECT id, CAST(id % 7 AS INT), CAST(id % {_DAYS} AS INT) FROM range(10000)"
        )
        spark.sql(
            f"CREATE TABLE {db}.record_days AS SELECT CAST(id AS INT) day, CAST(id DIV 7 AS INT) week FROM range({_DAYS})"
        )


def _run(spark: SparkSession, query: str, count: int, mode: str) -> None:
    spark.conf.set(_SETTING, mode)
    for number in range(count):
        spark.sql(query.format(f"{CATALOG}.bench", number % _DAYS)).collect()
    spark._jvm.org.apache.spark.sql.parquetry.reports.FinishedQueries.flushHistory()


def _seconds(spark: SparkSession, recording: _Recording, query: str, count: int, mode: str) -> float:
    """Return the time of the threads that record queries, for one query."""
    began, of_python = _thread_seconds(spark), recording.seconds
    _run(spark, query, count, mode)
    return (_thread_seconds(spark) - began + recording.seconds - of_python) / count


def _thread_seconds(spark: SparkSession) -> float:
    threads = spark._jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    infos = [threads.getThreadInfo(id) for id in threads.getAllThreadIds()]
    mine = [each for each in infos if each is not None and each.getThreadName().startswith(_THREADS)]
    return float(sum(threads.getThreadCpuTime(each.getThreadId()) for each in mine)) / 1e9


def _of_a_scan(folder: Path, scale: float) -> float:
    """Return the milliseconds that a plain scan's record takes: the median of some rounds.

    The first scans of a process take longer by modules that they import, so they are not counted.
    """
    for mode in ("on", "off"):
        _scan_seconds(folder, int(_WARMUPS * scale), mode)
    rounds = []
    for _ in range(_ROUNDS):
        on, off = (_scan_seconds(folder, int(_QUERIES * scale), mode) for mode in ("on", "off"))
        rounds.append(1000 * (on - off))
    return statistics.median(rounds)


def _scan_seconds(folder: Path, count: int, mode: str) -> float:
    """Return the processor's time of a plain scan."""
    os.environ["PARQUETRY_PRUNING_HISTORY"] = mode
    with parquetry.open(folder / "warehouse") as lake:
        began = time.process_time()
        for number in range(count):
            lake.scan("bench.recorded", f"day = {number % _DAYS} AND id = {number}").files()
        lake.queries(limit=1)
        return (time.process_time() - began) / count
