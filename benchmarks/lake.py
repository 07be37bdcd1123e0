"""The session and the catalog that the benchmarks on Spark share, and the files of its tables."""

from __future__ import annotations

import os
import time
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

import parquetry

CATALOG = "lake"
LOG_SETTINGS = Path(__file__).parents[1] / "demo" / "log4j2.properties"
_LOGGING = f"-Dlog4j2.configurationFile={LOG_SETTINGS.as_uri()}"


def settings(folder: Path) -> dict[str, str]:
    """Return the settings of Spark that all variants have."""
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": "8g",
        # Spark keeps plans and metrics of that many queries: 1,600 plans of TPC-DS take more than 8 GB
        "spark.sql.ui.retainedExecutions": "20",
        "spark.ui.retainedJobs": "20",
        "spark.ui.retainedStages": "20",
        "spark.ui.retainedTasks": "1000",
        "spark.driver.extraJavaOptions": _LOGGING,
        "spark.sql.shuffle.partitions": "8",
        "spark.sql.warehouse.dir": str((folder / "spark-warehouse").absolute()),
    }


def start(folder: Path, jar: Path | None = None, hive: Path | None = None) -> SparkSession:
    """Start Spark on two cores, with a catalog in a folder.

    Args:
        folder: of the data.
        jar: of the benchmark's own, if it has one.
        hive: the folder of a Hive metastore, if Spark's own catalog is to keep its tables in one, as it does
            where they outlive a session.
    """
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master("local[2]").appName("Parquetry benchmarks")
    for name, value in settings(folder).items():
        builder = builder.config(name, value)
    if jar is not None:
        builder = builder.config("spark.jars", str(jar))
    if hive is not None:
        hive.mkdir(parents=True, exist_ok=True)
        url = f"jdbc:derby:;databaseName={hive / 'derby'};create=true"
        builder = builder.enableHiveSupport().config("spark.hadoop.javax.jdo.option.ConnectionURL", url)
        log = f"-Dderby.stream.error.file={hive / 'derby.log'}"
        builder = builder.config("spark.driver.extraJavaOptions", f"{_LOGGING} {log}")
    spark = parquetry.configure(builder, catalog=CATALOG, warehouse=folder / "warehouse").getOrCreate()
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {CATALOG}.bench")
    return spark


def processor_seconds(spark: SparkSession) -> float:
    """Return how long the processor has worked for the session, in Python and in the JVM."""
    jvm = spark._jvm.java.lang.ProcessHandle.current().info().totalCpuDuration().get()
    return time.process_time() + float(jvm.toNanos()) / 1e9


def planning_seconds(spark: SparkSession) -> float:
    """Return the processor's time in Python, and in the JVM's thread that works for this thread of Python.

    Other threads of the JVM are left out, above all its compilers. In the first minutes of a session they
    take as much of the processor as the queries do.
    """
    threads = spark._jvm.java.lang.management.ManagementFactory.getThreadMXBean()
    return time.process_time() + float(threads.getCurrentThreadCpuTime()) / 1e9


def files(folder: Path, table: str, where: str | None = None) -> list[str]:
    """Return the paths of the data files of a table, or of those partitions that a filter selects."""
    with parquetry.open(folder / "warehouse") as catalog:
        return [file.path for file in catalog.files(f"bench.{table}", where)]


def drain(frame: DataFrame) -> None:
    """Run a query to its end and throw its rows away."""
    frame.collect()
