"""Spark with its metastore on HBase."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.hbase.launcher import HBaseServer
from tests.support.jvm import quick_start

QUERIES = """
import sys
from pyspark.sql import SparkSession
import parquetry
folder, store = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.shuffle.partitions", "1")
builder = builder.config("spark.sql.warehouse.dir", folder + "/spark-warehouse")
spark = parquetry.configure(builder, "lake", folder + "/lake", store=store).getOrCreate()
parquetry.attach(spark)
spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")
spark.sql("CREATE TABLE lake.db.t (x INT, ds STRING) PARTITIONED BY (ds)")
spark.sql("INSERT INTO lake.db.t VALUES (1, 'a'), (2, 'b'), (3, 'b')")
spark.sql("INSERT INTO lake.db.t VALUES (4, 'c')")
found = [tuple(row) for row in spark.sql("SELECT x, ds FROM lake.db.t WHERE ds >= 'b' ORDER BY x").collect()]
assert found == [(2, "b"), (3, "b"), (4, "c")], found
spark.stop()
"""


def test_spark_on_hbase(hbase: HBaseServer, table: str, tmp_path: Path) -> None:
    """A session makes a table, fills it and reads a part of it; another process finds the same metastore."""
    source = str(Path(__file__).parents[2] / "src")
    environment = {**os.environ, "PYTHONPATH": source, "SPARK_LOCAL_IP": "127.0.0.1"}
    environment["SPARK_SUBMIT_OPTS"] = quick_start.options()
    for code in (QUERIES, LOOK):
        done = subprocess.run(
            [sys.executable, "-c", code, str(tmp_path), hbase.url(table)],
            env=environment,
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr[-4000:]


LOOK = """
import sys
from parquetry.metastore import Metastore
from parquetry.store import open_store
metastore = Metastore(open_store(sys.argv[2], sys.argv[1]), sys.argv[1])
table = metastore.table("db", "t")
assert [part.values for part in table.partitions()] == [("a",), ("b",), ("c",)]
assert table.totals.rows == 4, table.totals
"""
