"""Joins in buckets beside Apache Iceberg's storage-partitioned joins and Spark's own buckets, in one session.

Iceberg has a runtime for Spark 4.1 at most, so this runs there: `make bench SPARK=4.1 BENCH=joins_iceberg`.

20 million rows are joined to 10 million by a `BIGINT`. No side is broadcast. Tables have 8 buckets, unless
the join is named by other counts. Every variant gives the same answer, which is checked; exchanges by hash
are counted once.

| variant | |
|---|---|
| ours | `CLUSTERED BY (k) SORTED BY (k) INTO 8 BUCKETS` |
| iceberg | `PARTITIONED BY (bucket(8, k))`, with the settings that its documentation names |
| spark's | Spark's own `bucketBy(8, 'k').sortBy('k')`, one file a bucket |
| shuffled | Parquetry's tables without buckets; adaptive execution splits partitions of 16 MiB that are skewed |

Keys of the skewed tables: half of the rows have one key (`hot`), or keys follow Zipf's law with s = 1.1.
"""

from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyspark
from pyspark.sql import SparkSession

from benchmarks.lake import CATALOG, processor_seconds, start
from benchmarks.measure import BenchmarkFinding, Result, take_turns
from benchmarks.writing.writes import SERIES_WITH_ICEBERG, iceberg_runtime
from parquetry.config import series_of

_ROWS = 20_000_000
_SUM = "SELECT count(*), sum(l.v), sum(r.v) FROM {left} l"
_BY_K = f"{_SUM} JOIN {{right}} r ON l.k = r.k"


class _Shape(NamedTuple):
    """A join of tables, each named by its rows and its number of buckets (0: none)."""

    sql: str
    left: tuple[str, int] = ("left", 8)
    right: tuple[str, int] = ("right", 8)
    target: float | None = None


_HOT_TARGET = 1 / 1.7
_SHAPES = {
    "equal counts": _Shape(_BY_K),
    "left outer": _Shape(f"{_SUM} LEFT JOIN {{right}} r ON l.k = r.k"),
    "more keys, in another order": _Shape(f"{_SUM} JOIN {{right}} r ON l.g = r.g AND l.k = r.k"),
    "three tables": _Shape(f"{_BY_K} JOIN {{right}} t ON l.k = t.k"),
    "4 and 6": _Shape(_BY_K, ("left", 6), ("right", 4)),
    "one side in buckets": _Shape(_BY_K, right=("right", 0)),
    "hot": _Shape(_BY_K, ("hot", 8), target=_HOT_TARGET),
    "hot, left outer": _Shape(f"{_SUM} LEFT JOIN {{right}} r ON l.k = r.k", ("hot", 8), target=_HOT_TARGET),
    "zipf": _Shape(_BY_K, ("zipf", 8), target=_HOT_TARGET),
}
_KEYS = {
    "left": "xxhash64(id)",
    "right": "xxhash64(id * 2)",
    "hot": "xxhash64(IF(id % 2 = 0, 14, id * 7919 % {rows}))",
    "zipf": "xxhash64(2 * CAST(pow(1 - (id * 7919 % {rows}) / {rows} * (1 - pow({rows} / 2, -0.1)), -10) AS BIGINT))",
}
"""Keys of the rows 0, 1, …; the right side has the keys of even numbers."""
_SETTINGS = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "16MB",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16MB",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
    "spark.sql.sources.v2.bucketing.allowCompatibleTransforms.enabled": "true",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
}
_VARIANTS = ("ours", "iceberg", "spark's", "shuffled")


def run(folder: Path, scale: float) -> Result:
    """Write the tables, and join them in each shape.

    Raises:
        ValueError: Iceberg has no runtime for this Spark.
    """
    if series_of(pyspark.__version__) != SERIES_WITH_ICEBERG:
        raise ValueError(
            f"Run this with SPARK={SERIES_WITH_ICEBERG}: Iceberg has no runtime for {pyspark.__version__}."
        )
    spark = start(folder, jar=iceberg_runtime())
    for key, value in _SETTINGS.items():
        spark.conf.set(key, value)
    spark.conf.set("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set("spark.sql.catalog.ice.type", "hadoop")
    spark.conf.set("spark.sql.catalog.ice.warehouse", str(folder / "iceberg"))
    result = Result("joins_iceberg")
    _load(spark, int(_ROWS * scale))
    for name, shape in _SHAPES.items():
        _measure(spark, name, shape, result)
    spark.stop()
    return result


def _load(spark: SparkSession, rows: int) -> None:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.bench")
    for name, key in _KEYS.items():
        count, step = (rows // 2, 2) if name == "right" else (rows, 1)
        spark.range(0, count, 1, 8).selectExpr(
            f"{key.format(rows=rows)} AS k",
            f"id * {step} % 1000 AS g",
            "id % 10007 AS v",
            "md5(CAST(id AS STRING)) AS s",
        ).createOrReplaceTempView("rows")
        tables = {table for shape in _SHAPES.values() for table in (shape.left, shape.right)}
        _create(spark, "shuffled", name, 0)
        for buckets in {buckets for of, buckets in tables if of == name and buckets}:
            for variant in _VARIANTS[:3]:
                _create(spark, variant, name, buckets)


def _create(spark: SparkSession, variant: str, name: str, buckets: int) -> None:
    table = _name(variant, name, buckets)
    spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")
    if variant == "spark's":
        frame = spark.table("rows").repartition(buckets, "k")
        frame.write.bucketBy(buckets, "k").sortBy("k").mode("overwrite").saveAsTable(table)
        return
    clauses = {
        "ours": f"CLUSTERED BY (k) SORTED BY (k) INTO {buckets} BUCKETS",
        "iceberg": f"USING iceberg PARTITIONED BY (bucket({buckets}, k))",
        "shuffled": "",
    }
    spark.sql(f"CREATE TABLE {table} (k BIGINT, g BIGINT, v BIGINT, s STRING) {clauses[variant]}")
    spark.sql(f"INSERT INTO {table} SELECT * FROM rows")


def _name(variant: str, name: str, buckets: int) -> str:
    """Return the name of a table; a table without buckets is ours in each variant."""
    if variant == "shuffled" or not buckets:
        return f"{CATALOG}.bench.spj_{name}_plain"
    if variant == "spark's":
        return f"spj_{name}_{buckets}"
    return f"{'ice' if variant == 'iceberg' else CATALOG}.bench.spj_{name}_{buckets}"


def _measure(spark: SparkSession, name: str, shape: _Shape, result: Result) -> None:
    asked = {
        variant: shape.sql.format(left=_name(variant, *shape.left), right=_name(variant, *shape.right))
        for variant in _VARIANTS
    }
    answers = set()
    for variant, sql in asked.items():
        frame = spark.sql(sql)
        answers.add(str(frame.collect()))
        initial = frame._jdf.queryExecution().executedPlan().toString().partition("== Initial Plan ==")[0]
        count = len(re.findall(r"Exchange (?:hashpartitioning|buckets)\(", initial))
        result.findings.append(
            BenchmarkFinding(f"{name}: exchanges by hash, {variant}", count, unit="exchanges")
        )
    if len(answers) != 1:
        raise AssertionError(f"{name}: the answers differ: {answers}")
    # each has run once by now, for its answer
    turns = {variant: partial(_collect, spark, sql) for variant, sql in asked.items()}
    timing = take_turns(name, turns, rounds=3, warmups=0, processor=partial(processor_seconds, spark))
    result.timings.append(timing)
    for other in _VARIANTS[1:]:
        result.findings += [
            BenchmarkFinding(
                f"{name}: ours / {other}, time",
                timing.ratio("ours", other),
                shape.target if other == "shuffled" else None,
            ),
            BenchmarkFinding(f"{name}: ours / {other}, CPU", timing.processor_ratio("ours", other)),
        ]


def _collect(spark: SparkSession, sql: str) -> None:
    spark.sql(sql).collect()
