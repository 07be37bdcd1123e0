"""Spark with its metastore on a server: queries, and streams that read and write."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from tests.support.jvm import quick_start

SESSION = """
import sys
from pathlib import Path
from pyspark.sql import SparkSession
import parquetry
folder, store = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.shuffle.partitions", "1")
builder = builder.config("spark.sql.warehouse.dir", folder + "/spark-warehouse")
spark = parquetry.configure(builder, "lake", folder + "/lake", store=store).getOrCreate()
parquetry.attach(spark)
"""

QUERIES = """
spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")
spark.sql("CREATE TABLE lake.db.t (x INT, ds STRING) PARTITIONED BY (ds)")
spark.sql("INSERT INTO lake.db.t VALUES (1, 'a'), (2, 'b'), (3, 'b')")
spark.sql("INSERT INTO lake.db.t VALUES (4, 'c')")
found = [tuple(row) for row in spark.sql("SELECT x, ds FROM lake.db.t WHERE ds >= 'b' ORDER BY x").collect()]
assert found == [(2, "b"), (3, "b"), (4, "c")], found
spark.stop()
"""

LOOK = """
import sys
from parquetry.metastore import Metastore
from parquetry.store import open_store
metastore = Metastore(open_store(sys.argv[2], sys.argv[1]), sys.argv[1])
table = metastore.table("db", "t")
assert [part.values for part in table.partitions()] == [("a",), ("b",), ("c",)]
assert table.totals.rows == 4, table.totals
"""

STREAMS = """
from tests.support.spark.streams import batches, forget_last_commit

spark.sql("CREATE NAMESPACE IF NOT EXISTS lake.db")
for name in ("read", "written"):
    spark.sql(f"CREATE TABLE lake.db.{name} (x INT, ds STRING) PARTITIONED BY (ds)")

def copy():
    # read a table as a stream into another, as far as there is anything, by one file a batch
    frame = spark.readStream.option("maxFilesPerTrigger", "1").table("lake.db.read")
    writer = frame.writeStream.option("checkpointLocation", folder + "/checkpoint").trigger(availableNow=True)
    query = writer.toTable("lake.db.written")
    query.awaitTermination()
    return batches(query)

def rows():
    return sorted(tuple(row) for row in spark.table("lake.db.written").collect())

def versions():
    return spark.table("lake.db.written.history").count()

spark.sql("INSERT INTO lake.db.read VALUES (1, 'a'), (2, 'b')")
assert copy() == [1, 1]
spark.sql("INSERT INTO lake.db.read VALUES (3, 'b'), (4, 'c')")
spark.sql("INSERT INTO lake.db.read VALUES (5, 'c')")
assert copy() == [1, 1, 1]
expected = [(1, "a"), (2, "b"), (3, "b"), (4, "c"), (5, "c")]
assert rows() == expected, rows()
assert copy() == []
assert rows() == expected, rows()
# a query that dies between its commit and the word of it runs its last batch again, which commits nothing
before = versions()
forget_last_commit(Path(folder, "checkpoint"))
assert copy() == [1]
assert (rows(), versions()) == (expected, before), (rows(), versions(), before)
spark.sql("INSERT OVERWRITE lake.db.read PARTITION (ds = 'c') SELECT 9")
try:
    copy()
except Exception as error:
    assert "took rows away or changed them" in str(error), error
else:
    raise AssertionError("the stream went on over rows that were taken away")
assert rows() == expected, rows()
spark.stop()
"""


def run(code: str, url: str, folder: Path) -> None:
    """Run a program in a process of its own, with its metastore on a server."""
    root = Path(__file__).parents[2]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root / "src"), str(root)])}
    environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_SUBMIT_OPTS": quick_start.options()}
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), url],
        env=environment,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-4000:]


def test_queries(url: str, tmp_path: Path) -> None:
    """A session makes a table, fills it and reads a part of it; another process finds the same metastore."""
    for code in (SESSION + QUERIES, LOOK):
        run(code, url, tmp_path)


def test_streams(url: str, tmp_path: Path) -> None:
    """A stream between two tables gives each row once, over restarts and a crash; it ends at removed rows."""
    run(SESSION + STREAMS, url, tmp_path)
