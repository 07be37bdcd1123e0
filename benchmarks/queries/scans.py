"""Full scans: the same files through Parquetry, through Spark's reader, and through Spark's own V2 source."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.lake import CATALOG, drain, files, start
from benchmarks.measure import BenchmarkFinding, Result, geometric_mean, take_turns

ROWS = 8_000_000
_TABLE = f"{CATALOG}.bench.scanned"
_QUERIES = {
    "numbers": "SELECT sum(id), sum(k), sum(d), sum(f) FROM {}",
    "strings": "SELECT sum(length(s)), sum(length(t)), count(DISTINCT t) FROM {}",
    "every column": "SELECT bit_xor(xxhash64(*)) FROM {}",
    "decimals and dates": "SELECT sum(price), sum(amount), max(day), bit_xor(unix_micros(ts)) FROM {}",
}


def run(folder: Path, scale: float) -> Result:
    """Scan all rows of one table, in four ways that lean on different columns."""
    spark = start(folder)
    _fill(spark, int(ROWS * scale))
    paths = files(folder, "scanned")
    spark.read.parquet(*paths).createOrReplaceTempView("by_spark")
    sources = spark.conf.get("spark.sql.sources.useV1SourceList")
    spark.conf.set("spark.sql.sources.useV1SourceList", "")
    spark.read.parquet(*paths).createOrReplaceTempView("by_spark_v2")
    spark.conf.set("spark.sql.sources.useV1SourceList", sources or "")

    def ask(sql: str) -> None:
        drain(spark.sql(sql))

    result = Result("scans")
    tables = {"parquetry": _TABLE, "spark": "by_spark", "spark v2": "by_spark_v2"}
    for job, query in _QUERIES.items():
        asked = {name: query.format(table) for name, table in tables.items()}
        timing = take_turns(job, {name: partial(ask, sql) for name, sql in asked.items()})
        result.timings.append(timing)
        result.findings.append(
            BenchmarkFinding(f"scan of {job}: parquetry / spark", timing.ratio("parquetry", "spark"))
        )
    for variant, target in (("parquetry", 1.05), ("spark v2", None)):
        mean = geometric_mean([timing.ratio(variant, "spark") for timing in result.timings])
        result.findings.append(
            BenchmarkFinding(f"full scans, geometric mean: {variant} / spark", mean, target)
        )
    spark.stop()
    return result


def _fill(spark: SparkSession, rows: int) -> None:
    if spark.catalog.tableExists(_TABLE):
        return
    spark.sql(
        f"""CREATE TABLE {_TABLE} USING parquet AS SELECT
          id, cast(id * 7919 % 1000003 AS INT) AS k, id * 0.37 AS d, cast(id % 9973 AS FLOAT) / 3 AS f,
          concat('customer number ', id * 104729 % 7368787) AS s,
          element_at(array('red', 'green', 'blue', 'ochre', 'umber'), cast(1 + id % 5 AS INT)) AS t,
          cast(id % 1000000 / 100 AS DECIMAL(9, 2)) AS price, cast(id * 1.2345 AS DECIMAL(24, 4)) AS amount,
          date_add(DATE '2000-01-01', cast(id % 9000 AS INT)) AS day,
          timestamp_micros(946684800000000 + id * 61000001) AS ts
        FROM range(0, {rows}, 1, 4)"""
    )
