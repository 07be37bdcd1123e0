"""Small writes and loads, in turns with the same into Spark's own tables and into Apache Iceberg's.

One session has all three, so the Spark is the same. Spark's own tables are plain Parquet, and overwrite only
the partitions that get rows. Iceberg has a runtime for Spark 4.1 at most, so on other series it is left out:
`make bench SPARK=4.1 BENCH=writes`.
"""

from __future__ import annotations

import itertools
import os
import shutil
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyspark
from pyspark.sql import SparkSession
from rich.console import Console

import parquetry
from benchmarks.lake import CATALOG, processor_seconds, settings
from benchmarks.measure import BenchmarkFinding, Result, take_turns
from parquetry.config import series_of
from tests.support.jars import fetched

ROWS = 2_000_000
SERIES_WITH_ICEBERG = "4.1"
_MAX_RATIO = 1.05
_OURS, _STOCK, _ICEBERG = "parquetry", "spark", "iceberg"
_SCHEMAS = {_OURS: f"{CATALOG}.writes", _STOCK: "spark_catalog.writes", _ICEBERG: "ice.writes"}
_FORMATS = {_OURS: "parquet", _STOCK: "parquet", _ICEBERG: "iceberg"}
_CLUSTERED = {_OURS: "", _STOCK: "/*+ REPARTITION(p) */", _ICEBERG: ""}
"""A hint for loads, so that each partition gets one file: Spark's own INSERT does not cluster rows."""


class _Job(NamedTuple):
    """A statement that all sides run.

    Attributes:
        what: it does.
        statement: with `{table}`, `{hint}` and `{rows}` to complete.
        partitions: of the table; 0 for a table without.
        loaded: whether the table has its rows before.
        fresh: whether each run has a table of its own.
        warmups: rounds that are not timed.
        rounds: that are timed.
    """

    what: str
    statement: str
    partitions: int
    loaded: bool
    fresh: bool
    warmups: int
    rounds: int


_LOAD = "INSERT INTO {table} SELECT {hint} * FROM {rows}"
_JOBS = (
    _Job("INSERT of a row", "INSERT INTO {table} VALUES (1, 2, 3.0, 'a', 4)", 0, False, False, 20, 20),
    _Job(
        "INSERT OVERWRITE of a partition of 100",
        "INSERT OVERWRITE {table} PARTITION (p = 7) SELECT id, item, amount, name FROM {rows} WHERE p = 7",
        100,
        True,
        False,
        10,
        12,
    ),
    _Job("load of 100 partitions", _LOAD, 100, False, True, 3, 5),
    _Job("load of 2,000 partitions", _LOAD, 2_000, False, True, 1, 2),
)


def run(folder: Path, scale: float) -> Result:
    """Run each job on all sides in turns."""
    result = Result("writes")
    spark = _start(folder / "writes")
    sides = _sides()
    for job in _JOBS:
        Console(highlight=False).print(f"{job.what} …")
        timing = take_turns(
            job.what,
            {side: _runs(spark, folder / "writes", job, side, int(ROWS * scale)) for side in sides},
            job.rounds,
            job.warmups,
            processor=partial(processor_seconds, spark),
        )
        result.timings.append(timing)
        for what, ratio in (("processor", timing.processor_ratio), ("time", timing.ratio)):
            others = [(ratio(_OURS, side), side) for side in sides if side != _OURS]
            worst, _ = max(others)
            for value, side in others:
                target = _MAX_RATIO if value == worst else None
                result.findings.append(
                    BenchmarkFinding(f"{job.what}, {what}: parquetry / {side}", value, target)
                )
    spark.stop()
    return result


def _sides() -> list[str]:
    if series_of(pyspark.__version__) == SERIES_WITH_ICEBERG:
        return [_OURS, _STOCK, _ICEBERG]
    return [_OURS, _STOCK]


def iceberg_runtime() -> Path:
    """Return the jar of Iceberg's runtime for `SERIES_WITH_ICEBERG`, fetched if it is not there."""
    (runtime,) = fetched(Path(__file__).with_name("iceberg.xml"), "Iceberg", "50 MB").glob("*.jar")
    return runtime


def _start(folder: Path) -> SparkSession:
    """Start a session with the catalogs of all sides, empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").appName("Parquetry benchmarks")
    chosen = settings(folder) | {
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.sources.partitionOverwriteMode": "dynamic",
    }
    if _ICEBERG in _sides():
        chosen |= {
            "spark.jars": str(iceberg_runtime()),
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalog.ice": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.ice.type": "hadoop",
            "spark.sql.catalog.ice.warehouse": str(folder / "ice"),
        }
    for name, value in chosen.items():
        builder = builder.config(name, value)
    spark = parquetry.configure(builder, catalog=CATALOG, warehouse=folder / "warehouse").getOrCreate()
    for side in _sides():
        spark.sql(f"CREATE NAMESPACE {_SCHEMAS[side]}")
    return spark


def _runs(spark: SparkSession, folder: Path, job: _Job, side: str, rows: int) -> Callable[[], object]:
    """Make the tables of a job, and return what runs its statement once."""
    source = _source(spark, folder, max(job.partitions, 1), rows)
    count = job.warmups + job.rounds if job.fresh else 1
    layout = f"USING {_FORMATS[side]} {'PARTITIONED BY (p)' if job.partitions else ''}"
    names = [f"{job.what.replace(' ', '_').replace(',', '')}_{number}" for number in range(count)]
    tables = [f"{_SCHEMAS[side]}.{name}" for name in names]
    for table in tables:
        spark.sql(f"CREATE TABLE {table} (id bigint, item int, amount double, name string, p int) {layout}")
    values = {"hint": _CLUSTERED[side], "rows": source}
    if job.loaded:
        for table in tables:
            spark.sql(_LOAD.format(table=table, **values))
    each: Iterator[str] = iter(tables) if job.fresh else itertools.repeat(tables[0])
    return lambda: spark.sql(job.statement.format(table=next(each), **values))


def _source(spark: SparkSession, folder: Path, partitions: int, rows: int) -> str:
    """Return a view of files whose rows belong to all partitions, in no order."""
    path = folder / f"rows-{partitions}"
    if not path.exists():
        spark.range(0, rows, 1, 4).selectExpr(
            "id",
            "int(id * 7 % 5000) item",
            "id * 0.01D amount",
            "concat('name ', id % 1000) name",
            f"int(id * 13 % {partitions}) p",
        ).write.parquet(str(path))
    name = f"rows_{partitions}"
    spark.read.parquet(str(path)).createOrReplaceTempView(name)
    return name
