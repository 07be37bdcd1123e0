"""Pruned queries: against the same over exactly the right files, and against Spark over the whole tree."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from benchmarks.lake import CATALOG, drain, files, start
from benchmarks.measure import BenchmarkFinding, Result, take_turns
from benchmarks.writing.loading import KEY, load, raw

_TABLE = f"{CATALOG}.bench.store_sales"
_QUERY = (
    "SELECT ss_item_sk, sum(ss_ext_sales_price) AS price, avg(ss_quantity) AS quantity, max(ss_net_profit) "
    "FROM {} WHERE {} GROUP BY ss_item_sk"
)
_SHORT_ROUNDS = 31
_SHORT_WARMUPS = 15
"""Queries of some tenths of a second vary by a third until the JVM has compiled what they run."""
_FILTERS = {
    "a month": f"{KEY} BETWEEN 2451911 AND 2451941",
    "a year": f"{KEY} BETWEEN 2451545 AND 2451910",
}


def run(folder: Path, scale: float) -> Result:
    """Run a query over a month and one over a year.

    Spark's variants come with their files listed and their schema read before the clock starts, which is
    more than a user can have; "from the start" includes both.
    """
    spark = start(folder)
    tree = _fill(spark, folder, scale)
    spark.read.parquet(str(tree)).createOrReplaceTempView("whole_tree")
    result = Result("pruning")
    for job, condition in _FILTERS.items():
        paths = files(folder, "store_sales", condition)
        base = str(folder / "warehouse" / "bench.db" / "store_sales")
        spark.read.option("basePath", base).parquet(*paths).createOrReplaceTempView("right_files")

        def ask(table: str, where: str = condition) -> None:
            drain(spark.sql(_QUERY.format(table, where)))

        def from_the_start(where: str = condition) -> None:
            spark.read.parquet(str(tree)).createOrReplaceTempView("listed_now")
            ask("listed_now", where)

        def planned(where: str = condition) -> None:
            ask(_TABLE, where)

        listed = {
            "parquetry": planned,
            "right files": lambda: ask("right_files", "true"),
            "whole tree": lambda: ask("whole_tree"),
        }
        # Listing takes seconds and leaves the driver much to clear up: it must not come between the others.
        timings = [
            take_turns(job, listed, rounds=_SHORT_ROUNDS, warmups=_SHORT_WARMUPS),
            take_turns(f"{job}, cold", {"parquetry": planned, "whole tree, from the start": from_the_start}),
        ]
        result.timings += timings
        targets = {"right files": 1.10, "whole tree": None, "whole tree, from the start": 1.0}
        result.findings += [
            BenchmarkFinding(
                f"query of {job}: parquetry / {other}", timing.ratio("parquetry", other), targets[other]
            )
            for timing in timings
            for other in timing.seconds
            if other in targets
        ]
    spark.stop()
    return result


def _fill(spark: SparkSession, folder: Path, scale: float) -> Path:
    """Have store_sales as a table and as a tree of Spark's; return the tree."""
    source = spark.read.parquet(str(raw(folder, scale).file("store_sales")))
    if not spark.catalog.tableExists(_TABLE):
        load(spark, source, _TABLE)
    tree = folder / "store_sales_tree"
    if not (tree / "_SUCCESS").exists():
        source.repartition(KEY).write.mode("overwrite").partitionBy(KEY).parquet(str(tree))
    return tree
