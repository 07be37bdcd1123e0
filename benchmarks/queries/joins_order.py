"""Joins of sorted buckets by more keys than the order has, of several files a bucket, and of a hot bucket.

20 million rows are joined to 10 million. No side is broadcast. Every variant gives the same answer, which is
checked.

| join | variants |
|---|---|
| more keys | files sorted by `k` (one a bucket, or five, which are merged), buckets without an order, and shuffled |
| another order | files sorted by `g` and `k` in buckets by `k`, joined on `k` and `g` |
| hot key | half of the rows have one key: in several tasks, or in one |

For the hot key, the planner counts on eight cores, and the longest task is compared: on two cores, the whole
join is as long either way.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.lake import CATALOG, processor_seconds, start
from benchmarks.measure import BenchmarkFinding, Result, take_turns

_ROWS = 20_000_000
_FILES = 5
_SETTINGS = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
}
_TABLES = {
    "sorted": ("CLUSTERED BY (k) SORTED BY (k) INTO 8 BUCKETS", 1),
    "merged": ("CLUSTERED BY (k) SORTED BY (k) INTO 8 BUCKETS", _FILES),
    "swapped": ("CLUSTERED BY (k) SORTED BY (g, k) INTO 8 BUCKETS", 1),
    "unsorted": ("CLUSTERED BY (k) INTO 8 BUCKETS", 1),
    "plain": ("", 1),
}
"""The clause of each table, and how many inserts write it."""

_BOTH = "SELECT count(*), sum(l.v), sum(r.v) FROM {l} l JOIN {r} r ON l.k = r.k AND l.g = r.g"
_HOT = "SELECT count(*), sum(l.v), sum(r.v) FROM {l} l LEFT JOIN {r} r ON l.k = r.k"


def run(folder: Path, scale: float) -> Result:
    """Write the tables, and join them."""
    spark = start(folder)
    for key, value in _SETTINGS.items():
        spark.conf.set(key, value)
    result = Result("joins_order")
    count = int(_ROWS * scale)
    for side, rows in (("left", count), ("right", count // 2)):
        spark.range(0, rows, 1, 8).selectExpr(
            "xxhash64(id DIV 2) AS k", "id * 7919 % 1000 AS g", "id % 10007 AS v"
        ).createOrReplaceTempView("rows")
        for name, (clause, files) in _TABLES.items():
            _load(spark, f"{side}_{name}", clause, files)
        hot = "IF(id % 2 = 0, 1, xxhash64(id))" if side == "left" else "IF(id = 0, 1, xxhash64(id))"
        spark.range(0, rows, 1, 8).selectExpr(
            f"{hot} AS k", "id % 1000 AS g", "id % 10007 AS v"
        ).createOrReplaceTempView("rows")
        _load(spark, f"{side}_hot", _TABLES["sorted"][0], 1)
    _compare(spark, "more keys than the order", ("sorted", "merged", "unsorted", "plain"), result)
    _compare(spark, "the keys in another order", ("swapped", "unsorted"), result)
    _measure_hot_key(spark, result)
    spark.stop()
    return result


def _name(table: str) -> str:
    return f"{CATALOG}.bench.order_{table}"


def _load(spark: SparkSession, table: str, clause: str, files: int) -> None:
    spark.sql(f"DROP TABLE IF EXISTS {_name(table)} PURGE")
    spark.sql(f"CREATE TABLE {_name(table)} (k BIGINT, g BIGINT, v BIGINT) USING parquet {clause}")
    for i in range(files):
        spark.sql(f"INSERT INTO {_name(table)} SELECT * FROM rows WHERE v % {files} = {i}")


def _compare(spark: SparkSession, name: str, variants: tuple[str, ...], result: Result) -> None:
    asked = {each: _BOTH.format(l=_name(f"left_{each}"), r=_name(f"right_{each}")) for each in variants}
    answers = {each: str(spark.sql(sql).collect()) for each, sql in asked.items()}
    if len(set(answers.values())) != 1:
        raise AssertionError(f"{name}: the answers differ: {answers}")
    timing = take_turns(
        name,
        {each: partial(_run, spark, sql) for each, sql in asked.items()},
        rounds=3,
        warmups=0,
        processor=partial(processor_seconds, spark),
    )
    result.timings.append(timing)
    for each in variants[:-1]:
        result.findings += [
            BenchmarkFinding(f"{name}: {each} / {variants[-1]}, time", timing.ratio(each, variants[-1])),
            BenchmarkFinding(
                f"{name}: {each} / {variants[-1]}, CPU", timing.processor_ratio(each, variants[-1])
            ),
        ]


def _measure_hot_key(spark: SparkSession, result: Result) -> None:
    spark.sparkContext._jsc.sc().conf().set("spark.default.parallelism", "8")
    sql = _HOT.format(l=_name("left_hot"), r=_name("right_hot"))
    rows = {"several tasks": "1000", "one task": "1000000000000"}
    longest, answers = {}, {}
    for variant, least in rows.items():
        spark.conf.set("parquetry.hot-bucket-rows", least)
        _run(spark, sql)  # for the classes of the query
        before = _newest_job(spark)
        answers[variant] = str(spark.sql(sql).collect())
        longest[variant] = _longest_task(spark, before)
        result.findings.append(
            BenchmarkFinding(f"hot key, {variant}: longest task", longest[variant], unit="ms")
        )
    if len(set(answers.values())) != 1:
        raise AssertionError(f"hot key: the answers differ: {answers}")
    ratio = longest["several tasks"] / longest["one task"]
    result.findings.append(BenchmarkFinding("hot key: longest of several tasks / of one", ratio, 0.6))


def _run(spark: SparkSession, sql: str) -> None:
    spark.sql(sql).collect()


def _newest_job(spark: SparkSession) -> int:
    return int(spark.sparkContext._jsc.sc().statusStore().jobsList(None).head().jobId())


def _longest_task(spark: SparkSession, after: int) -> float:
    """Return the milliseconds of the longest task of the jobs after a job; a query has several."""
    store = spark.sparkContext._jsc.sc().statusStore()
    jobs, longest = store.jobsList(None), 0
    for job in (jobs.apply(i) for i in range(jobs.size())):
        stages = job.stageIds()
        for stage in (stages.apply(i) for i in range(stages.size() if job.jobId() > after else 0)):
            tasks = store.taskList(stage, 0, 1000)
            times = [tasks.apply(i).taskMetrics() for i in range(tasks.size())]
            longest = max([longest, *(each.get().executorRunTime() for each in times if each.isDefined())])
    return float(longest)
