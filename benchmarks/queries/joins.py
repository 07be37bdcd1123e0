"""Joins of bucketed tables: without a shuffle, beside the same joins shuffled, and beside Spark's own tables.

20 million rows are joined to 10 million by a `BIGINT`, and TPC-DS's store sales to their returns by item and
ticket. No side is broadcast. Every variant gives the same answer, which is checked; bytes shuffled and
exchanges by hash are counted once. Spark's own tables are bucketed, too.

| variant | |
|---|---|
| buckets | Parquetry's bucketed tables |
| shuffled | the same rows in tables without buckets |
| spark's | Spark's own `bucketBy … sortBy`, where it can do without a shuffle |
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

from pyspark.sql import SparkSession

from benchmarks.lake import CATALOG, files, processor_seconds, start
from benchmarks.measure import BenchmarkFinding, Result, take_turns
from demo import tpcds

_ROWS = 20_000_000
_LARGE, _SMALL = 8, 4
_SUM = "SELECT count(*), sum(l.v), sum(r.w) FROM"
_SALES = "ss_item_sk, ss_ticket_number, ss_quantity, ss_sales_price"
_RETURNS = "sr_item_sk, sr_ticket_number, sr_return_quantity, sr_return_amt"


class _BucketJoin(NamedTuple):
    """A join: its SQL over names of tables, and Spark's own tables that join without a shuffle, if any.

    `exchanges` is the number of exchanges by a hash over the bucketed tables.
    """

    sql: str
    buckets: Mapping[str, str]
    plain: Mapping[str, str]
    sparks: Mapping[str, str] | None = None
    settings: Mapping[str, str] | None = None
    target: float | None = None
    exchanges: int = 0


def run(folder: Path, scale: float) -> Result:
    """Write the tables, and join them in each shape."""
    spark = start(folder)
    for key, value in _SETTINGS.items():
        spark.conf.set(key, value)
    result = Result("joins")
    _load(spark, folder, scale, result)
    for name, shape in _shapes().items():
        _measure(spark, name, shape, result)
    spark.stop()
    return result


_SETTINGS = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
}


def _ours(table: str) -> str:
    return f"{CATALOG}.bench.{table}"


def _shapes() -> dict[str, _BucketJoin]:
    by_k = f"{_SUM} {{l}} l JOIN {{r}} r ON l.k = r.k"
    plain = {"l": _ours("left_plain"), "r": _ours("right_plain"), "third": _ours("right_plain")}
    left, right, fewer = _ours("left_8"), _ours("right_8"), _ours("right_4")
    sparks = {"l": "spark_left_8", "r": "spark_right_8"}
    tickets = (
        "SELECT count(*), sum(l.ss_quantity), sum(r.sr_return_quantity) FROM {l} l JOIN {r} r "
        "ON l.ss_item_sk = r.sr_item_sk AND l.ss_ticket_number = r.sr_ticket_number"
    )
    return {
        "equal counts": _BucketJoin(by_k, {"l": left, "r": right}, plain, sparks, target=1 / 3),
        "8 and 4 folded to 4": _BucketJoin(
            by_k, {"l": left, "r": fewer}, plain, {"l": "spark_left_8", "r": "spark_right_4"}
        ),
        "8 and 4 read as 8": _BucketJoin(
            by_k, {"l": left, "r": fewer}, plain, settings={"parquetry.bucket-join": "larger"}
        ),
        "left outer": _BucketJoin(
            f"{_SUM} {{l}} l LEFT JOIN {{r}} r ON l.k = r.k",
            {"l": left, "r": right},
            plain,
            sparks,
        ),
        "superset of the bucket's key": _BucketJoin(
            f"{_SUM} {{l}} l JOIN {{r}} r ON l.k = r.k AND l.g = r.g", {"l": left, "r": right}, plain, sparks
        ),
        "three tables": _BucketJoin(
            f"{_SUM} {{l}} l JOIN {{r}} r ON l.k = r.k JOIN {{third}} t ON l.k = t.k",
            {"l": left, "r": right, "third": fewer},
            plain,
            sparks | {"third": sparks["r"]},
        ),
        "one side in buckets": _BucketJoin(
            by_k,
            {"l": left, "r": plain["r"]},
            plain,
            {"l": "spark_left_8", "r": plain["r"]},
            target=2 / 3,
            exchanges=1,
        ),
        "one partition of ten without buckets": _BucketJoin(
            by_k, {"l": _ours("left_mixed"), "r": right}, plain, target=1 / 2, exchanges=1
        ),
        "both sides so": _BucketJoin(
            by_k, {"l": _ours("left_mixed"), "r": _ours("right_mixed")}, plain, target=1 / 2, exchanges=2
        ),
        "4 and 6": _BucketJoin(by_k, {"l": _ours("left_6"), "r": fewer}, plain),
        "3 and 8": _BucketJoin(by_k, {"l": left, "r": _ours("right_3")}, plain, exchanges=1),
        "1 and 8, a small table": _BucketJoin(
            by_k, {"l": left, "r": _ours("few_1")}, {"l": plain["l"], "r": "rows_few"}
        ),
        "three tables of 8, 6 and 4": _BucketJoin(
            f"{_SUM} {{l}} l JOIN {{r}} r ON l.k = r.k JOIN {{third}} t ON l.k = t.k",
            {"l": left, "r": _ours("right_6"), "third": fewer},
            plain,
        ),
        "GROUP BY": _BucketJoin(
            "SELECT count(*), sum(v), sum(w) FROM (SELECT k, sum(v) AS v, count(*) AS w FROM {l} GROUP BY k)",
            {"l": left},
            plain,
            {"l": "spark_left_8"},
        ),
        "sales and returns, two columns": _BucketJoin(
            tickets,
            {"l": _ours("sales_8"), "r": _ours("returns_8")},
            {"l": _ours("sales_plain"), "r": _ours("returns_plain")},
            {"l": "spark_sales_8", "r": "spark_returns_8"},
        ),
    }


def _measure(spark: SparkSession, name: str, shape: _BucketJoin, result: Result) -> None:
    asked = {"buckets": shape.sql.format(**shape.buckets), "shuffled": shape.sql.format(**shape.plain)}
    if shape.sparks is not None:
        asked["spark's"] = shape.sql.format(**shape.sparks)
    for key, value in (shape.settings or {}).items():
        spark.conf.set(key, value)
    answers = {}
    for variant, sql in asked.items():
        before = _shuffled_bytes(spark)
        frame = spark.sql(sql)
        answers[variant] = frame.collect()
        plan = frame._jdf.queryExecution().executedPlan().toString()
        initial = plan.partition("== Initial Plan ==")[0]
        result.findings += [
            BenchmarkFinding(
                f"{name}: exchanges by hash, {variant}",
                len(re.findall(r"Exchange (?:hashpartitioning|buckets)\(", initial)),
                shape.exchanges if variant == "buckets" else None,
                "exchanges",
            ),
            BenchmarkFinding(
                f"{name}: shuffled, {variant}", (_shuffled_bytes(spark) - before) / (1 << 20), unit="MiB"
            ),
        ]
    if len({str(rows) for rows in answers.values()}) != 1:
        raise AssertionError(f"{name}: the answers differ: {answers}")
    # each has run once by now, for its answer
    turns = {variant: partial(_run, spark, sql) for variant, sql in asked.items()}
    timing = take_turns(name, turns, rounds=3, warmups=0, processor=partial(processor_seconds, spark))
    result.timings.append(timing)
    for other in [variant for variant in asked if variant != "buckets"]:
        target = shape.target
        if other == "spark's" and target is not None:
            target = 1.05
        result.findings += [
            BenchmarkFinding(f"{name}: buckets / {other}, time", timing.ratio("buckets", other), target),
            BenchmarkFinding(f"{name}: buckets / {other}, CPU", timing.processor_ratio("buckets", other)),
        ]
    for key in shape.settings or {}:
        spark.conf.unset(key)


def _run(spark: SparkSession, sql: str) -> None:
    spark.sql(sql).collect()


def _shuffled_bytes(spark: SparkSession) -> int:
    """Return the bytes that have been written into shuffles since the session began."""
    executors = spark.sparkContext._jsc.sc().statusStore().executorList(False)
    return sum(executors.apply(i).totalShuffleWrite() for i in range(executors.size()))


def _load(spark: SparkSession, folder: Path, scale: float, result: Result) -> None:
    count = int(_ROWS * scale)
    _rows(spark, folder, "left", count, "v")
    _rows(spark, folder, "right", count // 2, "w")
    raw = tpcds.make(folder / "tpcds", scale)
    spark.read.parquet(str(raw.file("store_sales"))).selectExpr(*_SALES.split(", ")).createOrReplaceTempView(
        "rows_sales"
    )
    spark.read.parquet(str(raw.file("store_returns"))).selectExpr(
        *_RETURNS.split(", ")
    ).createOrReplaceTempView("rows_returns")
    keys = {
        "left": "k",
        "right": "k",
        "sales": "ss_item_sk, ss_ticket_number",
        "returns": "sr_item_sk, sr_ticket_number",
    }
    for rows, key in keys.items():
        spark.sql(f"DROP TABLE IF EXISTS {_ours(rows)}_plain PURGE")
        spark.sql(f"CREATE TABLE {_ours(rows)}_plain AS SELECT * FROM rows_{rows}")
        _create_spark_table(spark, rows, key, _LARGE)
        _create(spark, rows, key, _LARGE)
    _create_spark_table(spark, "right", "k", _SMALL)
    _rows(spark, folder, "few", max(count // 5000, 1), "w")
    for name, buckets in (("right", _SMALL), ("left", 6), ("right", 6), ("right", 3), ("few", 1)):
        _create(spark, name, "k", buckets)
    _create_mixed(spark, "left")
    _create_mixed(spark, "right")
    writing = take_turns(
        "write 8 buckets",
        {
            "buckets": partial(_create, spark, "left", "k", _LARGE),
            "spark's after a repartition": partial(_create_spark_table, spark, "left", "k", _LARGE),
        },
        rounds=3,
        warmups=0,
    )
    result.timings.append(writing)
    tasks = spark.table("rows_left").rdd.getNumPartitions()
    spark.table("rows_left").write.bucketBy(_LARGE, "k").sortBy("k").mode("overwrite").saveAsTable(
        "spark_unarranged"
    )
    unarranged = len(spark.table("spark_unarranged").inputFiles())
    result.findings += [
        BenchmarkFinding(
            "writing: buckets / spark's after a repartition",
            writing.ratio("buckets", "spark's after a repartition"),
            1.2,
        ),
        BenchmarkFinding("files of 8 buckets", len(files(folder, "left_8")), _LARGE, "files"),
        BenchmarkFinding(f"files of Spark's bucketBy by {tasks} tasks", unarranged, unit="files"),
    ]


def _rows(spark: SparkSession, folder: Path, name: str, count: int, value: str) -> None:
    """Make a view of rows in random order, kept as files."""
    path = folder / f"joins_{name}"
    if not (path / "_SUCCESS").exists():
        spark.range(0, count, 1, 8).selectExpr(
            "xxhash64(id) AS k" if name == "left" else "xxhash64(id * 2) AS k",
            "id % 1000 AS g" if name == "left" else "id * 2 % 1000 AS g",
            f"id % 10007 AS {value}",
            "md5(CAST(id AS STRING)) AS s",
        ).write.mode("overwrite").parquet(str(path))
    spark.read.parquet(str(path)).createOrReplaceTempView(f"rows_{name}")


def _create(spark: SparkSession, rows: str, key: str, count: int) -> None:
    table = f"{_ours(rows)}_{count}"
    spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")
    spark.sql(
        f"CREATE TABLE {table} CLUSTERED BY ({key}) SORTED BY ({key}) INTO {count} BUCKETS AS SELECT * FROM rows_{rows}"
    )


def _create_mixed(spark: SparkSession, rows: str) -> None:
    """Make a table of ten partitions, one of them not in buckets."""
    table = f"{_ours(rows)}_mixed"
    spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")
    spark.sql(
        f"CREATE TABLE {table} PARTITIONED BY (part) CLUSTERED BY (k) SORTED BY (k) INTO {_LARGE} BUCKETS "
        f"AS SELECT *, g DIV 2 % 10 AS part FROM rows_{rows} WHERE g DIV 2 % 10 < 9"
    )
    spark.sql(f"ALTER TABLE {table} NOT CLUSTERED")
    spark.sql(f"INSERT INTO {table} SELECT *, g DIV 2 % 10 AS part FROM rows_{rows} WHERE g DIV 2 % 10 = 9")


def _create_spark_table(spark: SparkSession, rows: str, key: str, count: int) -> None:
    columns = key.split(", ")
    frame = spark.table(f"rows_{rows}").repartition(count, *columns)
    frame.write.bucketBy(count, *columns).sortBy(*columns).mode("overwrite").saveAsTable(
        f"spark_{rows}_{count}"
    )
