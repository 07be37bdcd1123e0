"""Queries that need few rows, beside Spark on the same files: LIMIT, the first rows of an order, extremes.

Ten million rows are in 1,000 files: sorted by time, partitioned by day, or in no order. Spark has the list of
files and their schema before the clock starts. The answers are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, SparkSession

import parquetry
from benchmarks.lake import CATALOG, files, processor_seconds, start
from benchmarks.measure import BenchmarkFinding, Result, take_turns

_ROWS, _FILES, _DAYS = 10_000_000, 1_000, 100
_ROUNDS = 5
_FEW_FILES, _MIN_SPEED, _MAX_RATIO = 0.01, 10.0, 1.05
"""The targets: the fraction of files, and the speed, where files are in order; elsewhere, the time."""


class _Layout(NamedTuple):
    """How the rows are put into files, and whether the files are in the order of time."""

    is_ordered: bool
    clause: str
    arrange: Callable[[DataFrame, int], DataFrame]


_LAYOUTS = {
    "sorted": _Layout(True, "", lambda rows, count: rows.repartitionByRange(count, "ts")),
    "by_day": _Layout(
        True, "PARTITIONED BY (day)", lambda rows, count: rows.repartition(count, "day", (rows.id % 10))
    ),
    "random": _Layout(False, "", lambda rows, count: rows.repartition(count)),
}


class _Job(NamedTuple):
    """A query, and whether its rows are any that match."""

    sql: str
    any_rows: bool = False


_JOBS = {
    "LIMIT 10 with a filter of 1 %": _Job("SELECT id FROM {} WHERE x = 7 LIMIT 10", any_rows=True),
    "top 100": _Job("SELECT ts, id, amount FROM {} ORDER BY ts DESC, id LIMIT 100"),
    "top 100 with a filter of 1 %": _Job("SELECT ts, id FROM {} WHERE x = 7 ORDER BY ts DESC, id LIMIT 100"),
    "max with a filter of 1 %": _Job("SELECT max(ts) FROM {} WHERE x = 7"),
}


def run(folder: Path, scale: float) -> Result:
    """Write the tables, and run each query on each, beside Spark."""
    spark = start(folder)
    result = Result("topk")
    for name, layout in _LAYOUTS.items():
        _load(spark, folder, name, layout, scale)
        for job, query in _JOBS.items():
            _measure(spark, f"{name}: {job}", name, query, layout, result)
    spark.stop()
    return result


def _load(spark: SparkSession, folder: Path, name: str, layout: _Layout, scale: float) -> None:
    table = f"{CATALOG}.bench.topk_{name}"
    count = max(20, int(_FILES * scale))
    if not spark.catalog.tableExists(table):
        spark.sql(
            f"CREATE TABLE {table} (id bigint, ts timestamp, x int, amount double, day int) {layout.clause}"
        )
        rows = spark.range(int(_ROWS * scale)).selectExpr(
            "id",
            f"timestamp_micros(id * {_DAYS * 86_400_000_000 // int(_ROWS * scale)}) AS ts",
            "CAST(pmod(hash(id), 100) AS INT) AS x",
            "rand(7) AS amount",
            f"CAST(id * {_DAYS} DIV {int(_ROWS * scale)} AS INT) AS day",
        )
        layout.arrange(rows, count).writeTo(table).append()
    base = str(folder / "warehouse" / "bench.db" / f"topk_{name}")
    spark.read.option("basePath", base).parquet(*files(folder, f"topk_{name}")).createOrReplaceTempView(
        f"plain_{name}"
    )


def _measure(spark: SparkSession, job: str, name: str, query: _Job, layout: _Layout, result: Result) -> None:
    tables = {"parquetry": f"{CATALOG}.bench.topk_{name}", "Spark": f"plain_{name}"}

    def answer(table: str) -> list[Any]:
        rows: list[Any] = spark.sql(query.sql.format(table)).collect()
        return rows

    ours, plain = (answer(table) for table in tables.values())
    if len(ours) != len(plain) or not (query.any_rows or ours == plain):
        raise AssertionError(f"{job}: the answers differ")
    frame = spark.sql(query.sql.format(tables["parquetry"]))
    frame.collect()
    steps = parquetry.report(frame).to_dict()["scans"][0]["steps"]
    step = next(each for each in steps if each["name"] == "files")
    of = max(each["of"] for each in steps if each["name"] == "files")
    variants = {side: partial(answer, table) for side, table in tables.items()}
    timing = take_turns(job, variants, _ROUNDS, warmups=2, processor=partial(processor_seconds, spark))
    cpu = timing.processor_ratio("parquetry", "Spark")
    result.timings.append(timing)
    result.details[job] = {"files": step["kept"], "of": of, "cpu": cpu}
    fraction = step["kept"] / of
    result.findings += [
        BenchmarkFinding(f"{job}: files read", fraction, _FEW_FILES if layout.is_ordered else None),
        BenchmarkFinding(
            f"{job}: Spark / parquetry, time",
            timing.ratio("Spark", "parquetry"),
            _target(layout),
            at_least=True,
        ),
        BenchmarkFinding(f"{job}: parquetry / Spark, CPU", cpu, None if layout.is_ordered else _MAX_RATIO),
    ]


def _target(layout: _Layout) -> float:
    return _MIN_SPEED if layout.is_ordered else 1 / _MAX_RATIO
