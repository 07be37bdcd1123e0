"""INSERTs that need no clustering, beside the same into Spark's own tables: CPU time, and bytes written."""

from __future__ import annotations

import shutil
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

import parquetry
from benchmarks.lake import CATALOG, processor_seconds
from benchmarks.measure import BenchmarkFinding, Result, take_turns

_OURS, _OWN = f"{CATALOG}.bench", "spark_catalog.default"
_MOST_TIME, _MOST_BYTES = 1.05, 1.02
"""How many times as much as into Spark's own tables it may be."""


class _Job(NamedTuple):
    """A statement, as the table's name completes it, and its numbers of untimed and timed runs per table."""

    what: str
    table: str
    partitioned: str
    statement: str
    warmups: int
    rounds: int


def measure(spark: SparkSession, folder: Path, key: str, result: Result) -> None:
    """Insert all rows of the view `to_load`, one row, and the rows of one partition.

    Args:
        spark: the session.
        folder: of the benchmarks.
        key: a column of whole numbers in the view.
        result: to add to.
    """
    columns = spark.table("to_load").columns
    others = ", ".join(name for name in columns if name != key)
    jobs = (
        _Job("INSERT of all rows", "plain", "", "INSERT INTO {} SELECT * FROM to_load", 3, 7),
        _Job("INSERT of a row", "single", "", f"INSERT INTO {{}} ({columns[0]}) VALUES (1)", 30, 40),
        _Job(
            "INSERT OVERWRITE of a partition",
            "daily",
            f"PARTITIONED BY ({key})",
            f"INSERT OVERWRITE {{}} PARTITION ({key} = 7) SELECT {others} FROM to_load WHERE {key} % 100 = 7",
            20,
            20,
        ),
    )
    for job in jobs:
        tables = {"parquetry": f"{_OURS}.{job.table}", "spark": f"{_OWN}.{job.table}"}
        own = folder / "spark-warehouse" / job.table
        for table in tables.values():
            spark.sql(f"DROP TABLE IF EXISTS {table}")
        shutil.rmtree(own, ignore_errors=True)
        for table in tables.values():
            spark.sql(
                f"CREATE TABLE {table} USING parquet {job.partitioned} AS SELECT * FROM to_load LIMIT 0"
            )
        runs = {who: partial(spark.sql, job.statement.format(table)) for who, table in tables.items()}
        timing = take_turns(job.what, runs, job.rounds, job.warmups, clock=partial(processor_seconds, spark))
        result.timings.append(timing)
        result.findings.append(
            BenchmarkFinding(
                f"{job.what}, processor: parquetry / spark", timing.ratio("parquetry", "spark"), _MOST_TIME
            )
        )
        if job.table == "plain":
            with parquetry.open(folder / "warehouse") as catalog:
                ours = sum(file.bytes for file in catalog.files(f"bench.{job.table}"))
            theirs = sum(path.stat().st_size for path in own.rglob("*.parquet"))
            result.findings.append(
                BenchmarkFinding(f"{job.what}, bytes: parquetry / spark", ours / theirs, _MOST_BYTES)
            )
        for table in tables.values():
            spark.sql(f"DROP TABLE {table}")
