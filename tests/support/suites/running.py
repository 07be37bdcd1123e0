"""Runs Spark's suites in a process with a session of ours: it reads a suite per line and prints its tests.

The suites set the JVM's time zone, and a mark that shows Spark that it is tested, so their JVM is no other
tests'.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import parquetry
from parquetry.spark import bridge_jar
from tests.support.jvm import quick_start
from tests.support.jvm.savings import remember_missing_classes, set_permissions_without_processes
from tests.support.suites.jars import class_path

_PACKAGE = "org.apache.spark.sql.parquetry.suites"


def session(folder: Path) -> SparkSession:
    """Return a session whose JVM knows Spark's suites, with all that they write in a folder."""
    os.environ["SPARK_SUBMIT_OPTS"] = quick_start.FLAGS
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    (folder / "warehouses").mkdir()
    options = {
        "derby.system.home": folder,
        "java.io.tmpdir": folder,
        "parquetry.suites.warehouses": folder / "warehouses",
    }
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", quick_start.MEMORY)
        .config("spark.sql.codegen.cache.maxEntries", "10000")
        .config("spark.buffer.pageSize", "1m")
        .config("spark.sql.timeType.enabled", "true")
        .config("spark.sql.warehouse.dir", str(folder / "spark-warehouse"))
        .config("spark.driver.extraClassPath", os.pathsep.join(map(str, [*class_path(), bridge_jar.jar()])))
        .config("spark.driver.extraJavaOptions", " ".join(f"-D{name}={of}" for name, of in options.items()))
    )
    parquetry.configure(builder, "lake", folder / "lake")
    remember_missing_classes(builder)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("OFF")
    set_permissions_without_processes(made)
    return made


def main() -> None:
    """Answer with a suite's tests, as JSON on a line, for each line that names one."""
    # What the JVM prints must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    with tempfile.TemporaryDirectory(dir=sys.argv[1], prefix="suites-") as folder:
        os.chdir(folder)
        made = session(Path(folder))
        package = made._jvm
        for part in _PACKAGE.split("."):
            package = getattr(package, part)
        for line in sys.stdin:
            print(package.Running.run(line.strip()), file=answers, flush=True)
        made.stop()


if __name__ == "__main__":
    main()
