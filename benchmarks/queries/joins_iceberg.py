"""Joins in buckets beside Apache Iceberg's storage-partitioned joins of the same rows, in one session.

Iceberg has no runtime for Spark 4.3 yet, so this runs in an environment of a series that it has one for:

python -m benchmarks.queries.joins_iceberg --folder FOLDER --jar iceberg-spark-runtime-4.1_2.13-1.12.0.jar

20 million rows are joined to 10 million by a `BIGINT`. No side is broadcast. Both have 8 buckets. Every
variant gives the same answer, which is checked.

| variant | |
|---|---|
| ours | `CLUSTERED BY (k) SORTED BY (k) INTO 8 BUCKETS` |
| iceberg | `PARTITIONED BY (bucket(8, k))`, with the settings that its documentation names |
| shuffled | Parquetry's tables without buckets |
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.lake import CATALOG, processor_seconds, start
from benchmarks.measure import take_turns

_ROWS = 20_000_000
_SUM = "SELECT count(*), sum(l.v), sum(r.v) FROM {l} l"
_JOINS = {
    "equal counts": f"{_SUM} JOIN {{r}} r ON l.k = r.k",
    "left outer": f"{_SUM} LEFT JOIN {{r}} r ON l.k = r.k",
    "superset of the bucket's key": f"{_SUM} JOIN {{r}} r ON l.k = r.k AND l.g = r.g",
    "three tables": f"{_SUM} JOIN {{r}} r ON l.k = r.k JOIN {{r}} t ON l.k = t.k",
    "one side in buckets": f"{_SUM} JOIN {{plain}} r ON l.k = r.k",
}
_SETTINGS = {
    "spark.sql.autoBroadcastJoinThreshold": "-1",
    "spark.sql.adaptive.autoBroadcastJoinThreshold": "-1",
    "spark.sql.iceberg.planning.preserve-data-grouping": "true",
    "spark.sql.sources.v2.bucketing.enabled": "true",
    "spark.sql.sources.v2.bucketing.pushPartValues.enabled": "true",
    "spark.sql.requireAllClusterKeysForCoPartition": "false",
}


def main() -> None:
    """Write the tables, join them in each shape, and print seconds and ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--jar", type=Path, required=True, help="Iceberg's runtime for this Spark")
    parser.add_argument("--scale", type=float, default=1)
    arguments = parser.parse_args()
    folder = arguments.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    spark = start(folder, jar=arguments.jar.absolute())
    for key, value in _SETTINGS.items():
        spark.conf.set(key, value)
    spark.conf.set("spark.sql.catalog.ice", "org.apache.iceberg.spark.SparkCatalog")
    spark.conf.set("spark.sql.catalog.ice.type", "hadoop")
    spark.conf.set("spark.sql.catalog.ice.warehouse", str(folder / "iceberg"))
    _load(spark, int(_ROWS * arguments.scale))
    for name, sql in _JOINS.items():
        _measure(spark, name, sql)
    spark.stop()


def _load(spark: SparkSession, rows: int) -> None:
    spark.sql("CREATE NAMESPACE IF NOT EXISTS ice.bench")
    columns = "k BIGINT, g BIGINT, v BIGINT, s STRING"
    for side, count, step in (("left", rows, 1), ("right", rows // 2, 2)):
        spark.range(0, count, 1, 8).selectExpr(
            f"xxhash64(id * {step}) AS k",
            f"id * {step} % 1000 AS g",
            "id % 10007 AS v",
            "md5(CAST(id AS STRING)) AS s",
        ).createOrReplaceTempView("rows")
        ours, plain, iceberg = (_name(side, variant) for variant in ("ours", "shuffled", "iceberg"))
        for table in (ours, plain, iceberg):
            spark.sql(f"DROP TABLE IF EXISTS {table} PURGE")
        spark.sql(f"CREATE TABLE {plain} ({columns})")
        spark.sql(f"CREATE TABLE {ours} ({columns}) CLUSTERED BY (k) SORTED BY (k) INTO 8 BUCKETS")
        spark.sql(f"CREATE TABLE {iceberg} ({columns}) USING iceberg PARTITIONED BY (bucket(8, k))")
        for table in (plain, ours, iceberg):
            spark.sql(f"INSERT INTO {table} SELECT * FROM rows")


def _name(side: str, variant: str) -> str:
    return f"{'ice' if variant == 'iceberg' else CATALOG}.bench.spj_{side}_{variant}"


def _measure(spark: SparkSession, name: str, sql: str) -> None:
    turns = {}
    answers = set()
    for variant in ("ours", "iceberg", "shuffled"):
        text = sql.format(
            l=_name("left", variant), r=_name("right", variant), plain=_name("right", "shuffled")
        )
        frame = spark.sql(text)
        answers.add(str(frame.collect()))
        initial = str(frame._jdf.queryExecution().executedPlan()).partition("== Initial Plan ==")[0]
        print(f"{name}, {variant}: {initial.count('hashpartitioning')} exchanges by hash")
        turns[variant] = partial(lambda query: spark.sql(query).collect(), text)
    if len(answers) != 1:
        raise AssertionError(f"{name}: the answers differ: {answers}")
    timing = take_turns(name, turns, rounds=3, warmups=0, processor=partial(processor_seconds, spark))
    print(name, {variant: round(timing.median(variant), 2) for variant in turns})
    for other in ("iceberg", "shuffled"):
        ratios = timing.ratio("ours", other), timing.processor_ratio("ours", other)
        print(f"{name}: ours / {other}: time {ratios[0]:.2f}, CPU {ratios[1]:.2f}", flush=True)


if __name__ == "__main__":
    main()
