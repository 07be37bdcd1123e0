"""Executors in JVMs of their own: the bridge's classes and the scans reach them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import parquetry
from tests.support.effort import sampled

_FORMATS = sampled(("parquet", "orc"), "cluster")
_SCRIPT = """
import os
import sys
from pyspark.sql import SparkSession
import parquetry
from parquetry.metastore import FileRecord, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.planner.metadata_tables import ROWS_PER_PAGE

builder = (
    SparkSession.builder.master("local-cluster[2,1,1024]")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .config("spark.executor.extraJavaOptions", os.environ["SPARK_SUBMIT_OPTS"])
    .config("spark.sql.warehouse.dir", sys.argv[1] + "/plain")
)
spark = parquetry.configure(builder, "lake", sys.argv[1] + "/lake").getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.sql("CREATE NAMESPACE lake.db")
FORMATS = sys.argv[2:]
for file_format in FORMATS:
    table = f"lake.db.{file_format}"
    spark.sql(f"CREATE TABLE {table} (id int, s string, p int) USING {file_format} PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), concat('s', id), CAST(id % 4 AS INT) FROM range(0, 400, 1, 4)")
    frame = spark.sql(f"SELECT count(s), sum(id) FROM {table} WHERE p IN (1, 2) AND id < 100")
    row = frame.collect()[0]
    step = parquetry.report(frame).to_dict()["scans"][0]["steps"][0]
    print("RESULT", row[0], row[1], step["name"], step["kept"], step["of"], flush=True)
spark.sql("CREATE TABLE lake.db.dim (p int, name string)")
spark.sql("INSERT INTO lake.db.dim VALUES (3, 'three'), (0, 'zero')")
frame = spark.sql(f"SELECT count(id) FROM lake.db.{FORMATS[0]} JOIN lake.db.dim USING (p) WHERE name = 'three'")
count = frame.collect()[0][0]
scan = next(s for s in parquetry.report(frame).to_dict()["scans"] if s["table"] == f"lake.db.{FORMATS[0]}")
print("RESULT", count, scan["steps"][0]["kept"], scan["steps"][0]["of"], flush=True)
for file_format in FORMATS:
    table = f"lake.db.wide_{file_format}"
    spark.sql(f"CREATE TABLE {table} (k int, v int) USING {file_format} TBLPROPERTIES ('distribution' = 'none')")
    spark.sql(f"INSERT INTO {table} SELECT id DIV 10, id FROM range(0, 4000, 1, 4)")
    for condition in ("f.k = d.p", "f.k < d.p"):
        frame = spark.sql(f"SELECT count(*), sum(v) FROM {table} f JOIN lake.db.dim d ON {condition}")
        row = frame.collect()[0]
        scan = next(s for s in parquetry.report(frame).to_dict()["scans"] if s["table"] == table)
        files = next(step for step in scan["steps"] if step["name"] == "files")
        print("RESULT", row[0], row[1], files["kept"], files["of"], flush=True)
with open_metastore(sys.argv[1] + "/lake") as metastore:
    transaction = Transaction(metastore.table("db", "dim"), "append")
    transaction.append((), [FileRecord(f"{n}.parquet", 10, 7) for n in range(2 * ROWS_PER_PAGE)])
    commit(transaction)
count, paths = spark.sql("SELECT count(*), count(DISTINCT path) FROM lake.db.dim.files WHERE rows = 7").collect()[0]
print("RESULT", count - 2 * ROWS_PER_PAGE, paths - 2 * ROWS_PER_PAGE, flush=True)
spark.stop()
"""


def test_a_local_cluster_creates_inserts_queries_and_reports(tmp_path: Path) -> None:
    """On `local-cluster[2,1,1024]`, tables are made, filled and read in both formats, and runtime values
    prune, by any column.

    Executors cannot reach the planner: the driver reads a metadata table of several pages.
    """
    source = Path(parquetry.__file__).parents[1]
    environment = {**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(source)}
    done = subprocess.run(
        [sys.executable, "-c", _SCRIPT, str(tmp_path), *_FORMATS],
        capture_output=True, text=True, env=environment, timeout=600, check=False, cwd=tmp_path,
    )  # fmt: skip
    results = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    expected = sum(n for n in range(100) if n % 4 in (1, 2))
    equal, less = sum([*range(10), *range(30, 40)]), sum(range(30))
    assert results == [
        *[f"RESULT 50 {expected} partitions 2 4"] * len(_FORMATS),
        "RESULT 100 1 4",
        *[f"RESULT 20 {equal} 1 4", f"RESULT 30 {less} 1 4"] * len(_FORMATS),
        "RESULT 0 0",
    ], done.stderr[-3000:]
