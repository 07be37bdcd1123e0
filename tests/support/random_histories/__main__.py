"""Run cases for a while, and tell where tables differed from their models.

python -m tests.support.random_histories --seconds 7200 --seed 1
python -m tests.support.random_histories --seed 17 --cases 1
PARQUETRY_TEST_AUDIT=1 python -m tests.support.random_histories  # each query is audited, here and in random_joins
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from pyspark.sql import SparkSession

import parquetry
from tests.support.jvm import quick_start
from tests.support.random_histories.case import Case
from tests.support.spark import audit

SECONDS_PER_PROGRESS = 60
"""Seconds between two lines about how far it has come."""


def session(folder: Path) -> SparkSession:
    """Return a session with the catalog `lake` in a folder."""
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ["SPARK_SUBMIT_OPTS"] = quick_start.options()
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", quick_start.MEMORY)
        .config("spark.buffer.pageSize", "1m")
        .config("spark.sql.codegen.cache.maxEntries", "2000")
        .config("spark.sql.warehouse.dir", str(folder / "spark"))
        .config("spark.driver.extraJavaOptions", f"-Dderby.system.home={folder}")
    )
    found = parquetry.configure(builder, "lake", folder / "lake").getOrCreate()
    found.sparkContext.setLogLevel("OFF")
    if audit.is_on():
        found.sql("SET `parquetry.audit` = on")
    logging.disable()  # PySpark logs each error, and many are meant
    return found


def main() -> int:
    """Run cases from a seed on, and return 1 if any table differed from its model."""
    parser = argparse.ArgumentParser(description="Random tables beside rows in memory, case by case.")
    parser.add_argument("--seconds", type=float, default=600, help="begin no case later than that (600)")
    parser.add_argument("--seed", type=int, default=1, help="of the first case (1); each has the next")
    parser.add_argument("--cases", type=int, default=None, help="end after so many")
    asked = parser.parse_args()
    seen: Counter[str] = Counter()
    refused: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="histories-") as folder:
        spark = session(Path(folder))
        began = told = time.monotonic()
        while time.monotonic() - began < asked.seconds and seen["cases"] != asked.cases:
            case = Case(spark, asked.seed + seen["cases"], Path(folder))
            for difference in case.run():
                print(f"DIFFERENCE {difference}", flush=True)
                seen["differences"] += 1
            seen.update(case.seen)
            refused = {**case.refused, **refused}
            seen["cases"] += 1
            if time.monotonic() - told > SECONDS_PER_PROGRESS:
                told = time.monotonic()
                print(
                    f"{told - began:.0f} s: {seen['cases']} cases, {seen['compared']} compared, {seen['differences']} differences",
                    flush=True,
                )
        spark.stop()
    for name, count in sorted(seen.items()):
        print(f"{count:8} {name}")
    for condition, example in sorted(refused.items()):
        print(f"{condition}: {example}")
    return 1 if seen["differences"] else 0


if __name__ == "__main__":
    sys.exit(main())
