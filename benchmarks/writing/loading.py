"""Loading store_sales partitioned by day: INSERT through Parquetry, and Spark's own partitioned write.

Then INSERTs that need no clustering are measured.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from benchmarks.lake import CATALOG, start
from benchmarks.measure import BenchmarkFinding, Result, take_turns
from benchmarks.writing import unclustered
from demo import tpcds

KEY = "ss_sold_date_sk"


def run(folder: Path, scale: float) -> Result:
    """Load all rows five times by each way, each time from nothing."""
    spark = start(folder)
    source = spark.read.parquet(str(raw(folder, scale).file("store_sales")))
    table, tree = f"{CATALOG}.bench.loaded", folder / "loaded"

    def through_parquetry() -> None:
        load(spark, source, table)
        spark.sql(f"DROP TABLE {table} PURGE")

    def by_spark() -> None:
        write(source, tree)
        shutil.rmtree(tree)

    spark.sql(f"DROP TABLE IF EXISTS {table}")  # of an interrupted run
    shutil.rmtree(tree, ignore_errors=True)
    timing = take_turns("load", {"parquetry": through_parquetry, "spark": by_spark})
    result = Result("loading", [timing])
    result.findings.append(
        BenchmarkFinding("load of store_sales: parquetry / spark", timing.ratio("parquetry", "spark"), 1.25)
    )
    unclustered.measure(spark, folder, KEY, result)
    spark.stop()
    return result


def raw(folder: Path, scale: float) -> tpcds.Raw:
    """Return TPC-DS's raw files, made if they are not there yet."""
    return tpcds.make(folder / "raw", scale)


def load(spark: SparkSession, source: DataFrame, table: str) -> None:
    """Create a table partitioned by day and insert the rows."""
    columns = ", ".join(f"{field.name} {field.dataType.simpleString()}" for field in source.schema)
    spark.sql(f"CREATE TABLE {table} ({columns}) USING parquet PARTITIONED BY ({KEY})")
    source.createOrReplaceTempView("to_load")
    spark.sql(f"INSERT INTO {table} BY NAME SELECT * FROM to_load")


def write(source: DataFrame, tree: Path) -> None:
    """Write the rows as Spark's users do who want one file a partition."""
    source.repartition(KEY).write.partitionBy(KEY).parquet(str(tree))
