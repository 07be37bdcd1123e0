"""Waiting times of a Spark session: the splits of a full scan of many files, the plan of a query of one."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession
from rich.console import Console

import parquetry
from benchmarks.files.planning import PlanningSession
from benchmarks.files.tables import FILE_BYTES, FileLayout, kept
from benchmarks.lake import CATALOG, drain, files, start
from benchmarks.measure import BenchmarkFinding, Result, take_turns
from benchmarks.metastore.table import DATABASE
from parquetry.spark.configuration import settings

_ENTRIES = "entries"
_ONE_FILE_TABLE = f"{CATALOG}.bench.one_file"
_ROWS_PER_FILE = 1_000
_ROUNDS, _WARM_UP = 31, 15
_SPLITS_TARGET = 0.5
_PLAN_TARGET = 10.0


def measure(folder: Path, shape: FileLayout, console: Console) -> Result:
    """Measure in one session.

    Args:
        folder: of the tables.
        shape: of the table that is scanned.
        console: shows how far it is.
    """
    warehouse = kept(folder, shape, console)
    result = Result("files")
    with console.status("planning in Spark"):
        spark = start(folder)
        for name, value in settings(_ENTRIES, warehouse).items():
            if name.startswith("spark.sql.catalog."):
                spark.conf.set(name, value)
        _full_scan(result, spark, warehouse, shape)
        _one_file(result, spark, folder)
        spark.stop()
    return result


def _full_scan(result: Result, spark: SparkSession, warehouse: Path, shape: FileLayout) -> None:
    """Plan a scan of all files until Spark has its splits; no file is opened, and none exists."""
    session = PlanningSession(str(warehouse), shape.name)

    def until_splits() -> None:
        frame = spark.table(f"{_ENTRIES}.{DATABASE}.{shape.name}").select("scattered", "ordered", "c0", "c3")
        # no more than four files of this size are put together
        if frame._jdf.queryExecution().toRdd().getNumPartitions() * 4 < shape.total:
            raise AssertionError(f"too few splits for {shape.total} files of {FILE_BYTES} bytes")

    def in_python() -> None:
        if session.plan_scan([]) != shape.total:
            raise AssertionError("a full scan leaves files out")

    variants = {"Python and Spark, until splits": until_splits, "of it Python": in_python}
    timing = take_turns(f"full scan of {shape}", variants, warmups=3)
    result.timings.append(timing)
    result.findings += [
        BenchmarkFinding(f"{timing.job}: {variant}", timing.median(variant), target, "s")
        for variant, target in zip(variants, (_SPLITS_TARGET, None), strict=True)
    ]


def _one_file(result: Result, spark: SparkSession, folder: Path) -> None:
    """Plan a query of a table of one file, and the same of that file; and run both."""
    if not spark.catalog.tableExists(_ONE_FILE_TABLE):
        spark.sql(
            f"CREATE TABLE {_ONE_FILE_TABLE} USING parquet AS SELECT id, id % 7 AS k FROM range(0, {_ROWS_PER_FILE}, 1, 1)"
        )
    (path,) = files(folder, "one_file")
    where = f"id >= {_ROWS_PER_FILE // 2} AND k = 3"

    def from_table() -> DataFrame:
        return spark.table(_ONE_FILE_TABLE).where(where)

    def from_file() -> DataFrame:
        return spark.read.parquet(path).where(where)

    def from_file_and_schema() -> DataFrame:
        return spark.read.schema("id BIGINT, k BIGINT").parquet(path).where(where)

    def explain() -> None:
        parquetry.explain(from_table())

    def plan(frame: Callable[[], DataFrame]) -> None:
        frame()._jdf.queryExecution().optimizedPlan()

    planned: dict[str, Callable[[], None]] = {
        "parquetry.explain": explain,
        "spark.read.parquet": partial(plan, from_file),
        # a job that reads the footer is most of the one above
        "spark.read.parquet, given the schema": partial(plan, from_file_and_schema),
    }
    timing = take_turns("plan of a query of one file", planned, _ROUNDS, _WARM_UP)
    result.timings.append(timing)
    ours, *others = planned
    for other, target in zip(others, (_PLAN_TARGET, None), strict=True):
        above = 1000 * (timing.median(ours) - timing.median(other))
        result.findings.append(BenchmarkFinding(f"{ours} of one file, above {other}", above, target, "ms"))
    run = {"parquetry": lambda: drain(from_table()), "spark": lambda: drain(from_file())}
    timing = take_turns("query of one file", run, _ROUNDS, _WARM_UP)
    result.timings.append(timing)
    result.findings.append(
        BenchmarkFinding("query of one file: parquetry / spark", timing.ratio("parquetry", "spark"))
    )
