"""Joins of a table with heavy keys: these joined apart, beside Spark's adaptive skew join of the same rows.

20 million rows are joined to 10 million by a `BIGINT`, or to half a million (`few`). Half of the rows have
one key (`hot`), or keys follow Zipf's law with s = 1.1 (`zipf`). No side is broadcast as a whole. Spark's
skew join may split every partition of 16 MiB that is five times the median. Every variant gives the same
answer, which is checked.

| variant | |
|---|---|
| apart | `SKEWED BY (k) ON AUTO`, by default settings |
| adaptive | the same rows in a table that is not skewed: Spark's adaptive execution splits large partitions |
| adaptive, directories | the skewed table with `skew-join` = `off` |
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.lake import CATALOG, processor_seconds, start
from benchmarks.measure import BenchmarkFinding, Result, take_turns

_ROWS = 20_000_000
_SETTINGS = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.skewJoin.skewedPartitionThresholdInBytes": "16MB",
    "spark.sql.adaptive.advisoryPartitionSizeInBytes": "16MB",
}
_KEYS = {
    "hot": "IF(id % 2 = 0, 7, id * 7919 % {keys})",
    "zipf": "CAST(pow(1 - (id * 7919 % {rows}) / {rows} * (1 - pow({keys}, -0.1)), -10) AS BIGINT)",
}
"""Keys of the rows 0, 1, …: half of them 7, or ranks by Zipf's law with s = 1.1."""
_OTHERS = {"others": 2, "few": 40}
"""The other tables, and the rows of the first ones for each row of theirs."""
_TARGET = 1 / 1.7


def run(folder: Path, scale: float) -> Result:
    """Write the tables, and join them in each variant."""
    spark = start(folder)
    for key, value in _SETTINGS.items():
        spark.conf.set(key, value)
    result = Result("skew joins")
    _load(spark, int(_ROWS * scale), result)
    for name in _KEYS:
        for kind in ("JOIN", "LEFT JOIN"):
            for other in _OTHERS:
                _measure(spark, name, kind, other, result)
    spark.stop()
    return result


def _table(name: str) -> str:
    return f"{CATALOG}.bench.{name}"


def _load(spark: SparkSession, rows: int, result: Result) -> None:
    for other, part in _OTHERS.items():
        spark.sql(f"DROP TABLE IF EXISTS {_table(other)} PURGE")
        spark.sql(
            f"CREATE TABLE {_table(other)} AS SELECT id AS k, id % 97 AS w, uuid() AS text FROM range({rows // part})"
        )
    for name, key in _KEYS.items():
        source = (
            f"SELECT {key.format(rows=rows, keys=rows // 2)} AS k, id % 1000 AS v, md5(CAST(id AS STRING)) AS text "
            f"FROM range({rows})"
        )
        writes = {
            "not skewed": partial(_write, spark, f"{name}_plain", "", source),
            "skewed": partial(_write, spark, name, "SKEWED BY (k) ON AUTO", source),
            "skewed, light values as written": partial(
                _write,
                spark,
                name,
                "SKEWED BY (k) ON AUTO TBLPROPERTIES ('light-values' = 'as-written')",
                source,
            ),
        }
        timing = take_turns(f"write {name}", writes, rounds=1, warmups=0)
        result.timings.append(timing)
        _write(spark, name, "SKEWED BY (k) ON AUTO TBLPROPERTIES ('auto-skew-share' = '0.02')", source)


def _write(spark: SparkSession, name: str, clause: str, source: str) -> None:
    spark.sql(f"DROP TABLE IF EXISTS {_table(name)} PURGE")
    spark.sql(f"CREATE TABLE {_table(name)} (k BIGINT, v BIGINT, text STRING) {clause}")
    spark.sql(f"INSERT INTO {_table(name)} {source}")


def _measure(spark: SparkSession, name: str, kind: str, other: str, result: Result) -> None:
    sql = f"SELECT count(*), sum(l.v), sum(r.w), max(l.text), max(r.text) FROM {{}} l {kind} {_table(other)} r ON l.k = r.k"
    asked = {
        "apart": (sql.format(_table(name)), "auto"),
        "adaptive": (sql.format(_table(f"{name}_plain")), "off"),
        "adaptive, directories": (sql.format(_table(name)), "off"),
    }
    answers = {variant: _run(spark, *each) for variant, each in asked.items()}
    if len(set(answers.values())) != 1:
        raise AssertionError(f"{name}, {kind} {other}: the answers differ: {answers}")
    turns = {variant: partial(_run, spark, *each) for variant, each in asked.items()}
    timing = take_turns(
        f"{name}, {kind} {other}", turns, rounds=3, warmups=0, processor=partial(processor_seconds, spark)
    )
    result.timings.append(timing)
    for variant in ("adaptive", "adaptive, directories"):
        target, ratio = (
            _TARGET if variant == "adaptive" else None,
            f"{name}, {kind} {other}: apart / {variant}",
        )
        result.findings += [
            BenchmarkFinding(f"{ratio}, time", timing.ratio("apart", variant), target),
            BenchmarkFinding(f"{ratio}, CPU", timing.processor_ratio("apart", variant)),
        ]


def _run(spark: SparkSession, sql: str, mode: str) -> str:
    spark.conf.set("parquetry.skew-join", mode)
    return str(spark.sql(sql).collect())
