"""Starts of the tests' JVMs: with flags for statements that run once, and an archive of Spark's classes.

The archive has the classes in their form in memory, and is stored in the environment. It is made beside the
first tests of the environment, and used by JVMs that start later. A JVM checks itself whether an archive fits
its jars and its version, and does without it otherwise.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from pyspark import SparkContext
from pyspark.sql import SparkSession

import parquetry
from tests.support.jars import java

# Each statement runs once: the time that a JVM spends on optimizing it is lost, and is half of all its time.
# Without the optimizing compiler the JVM has room for 48 MB of code, which Spark fills: searching for code to
# remove took an eighth of its time. Verifying the classes of Spark's jars takes five seconds. The JVM begins
# with so little room for new objects that it would collect garbage four times a second.
FLAGS = (
    "-Xmn400m -XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m "
    "-XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
)
MEMORY = "2g"
"""Memory of the driver of a session of many statements."""
_SILENT = "-Xlog:cds=off -Xlog:cds+dynamic=off"
_STATEMENTS = """
CREATE NAMESPACE lake.d
CREATE TABLE lake.d.t (a INT, s STRING, p INT) USING parquet PARTITIONED BY (p)
CREATE TABLE lake.d.o (a BIGINT, x DECIMAL(9, 2), at TIMESTAMP) USING orc
INSERT INTO lake.d.t VALUES (1, 'x', 1), (2, 'y', 2)
INSERT INTO lake.d.o SELECT a, 1.5, current_timestamp() FROM lake.d.t
SELECT p, count(*), max(s) FROM lake.d.t WHERE a > 0 GROUP BY p ORDER BY p
SELECT * FROM lake.d.t JOIN lake.d.o USING (a) WHERE x > 1
SELECT /*+ MERGE(o) */ p FROM lake.d.t t JOIN lake.d.o o ON t.a = o.a
EXPLAIN SELECT * FROM lake.d.t WHERE p IN (SELECT a FROM lake.d.o)
UPDATE lake.d.t SET s = 'z' WHERE a = 1
DESCRIBE EXTENDED lake.d.t
DROP NAMESPACE lake.d CASCADE
""".strip().split("\n")


def options(young: str = "400m") -> str:
    """Return the options of a JVM that starts now, to be said in SPARK_SUBMIT_OPTS.

    Args:
        young: its room for new objects.
    """
    archive, flags = _archive(), FLAGS.replace("-Xmn400m", f"-Xmn{young}")
    return f"{flags} -XX:SharedArchiveFile={archive} {_SILENT}" if archive.exists() else flags


def in_background() -> subprocess.Popen[bytes] | None:
    """Start to make the archive of this environment, unless it exists."""
    if _archive().exists():
        return None
    return subprocess.Popen(
        [sys.executable, "-m", __name__],
        cwd=Path(__file__).parents[3],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _archive() -> Path:
    found = Path(shutil.which(java()) or java()).resolve()
    key = f"{version('pyspark')} {found} {found.stat().st_mtime_ns}"
    return Path(sys.prefix, f"spark-{hashlib.sha256(key.encode()).hexdigest()[:12]}.jsa")


def _make(archive: Path, folder: Path) -> None:
    """Run statements of many kinds in a session whose JVM writes its classes down as it ends."""
    made = folder / "classes.jsa"
    os.environ["SPARK_SUBMIT_OPTS"] = f"{FLAGS} -XX:ArchiveClassesAtExit={made} {_SILENT}"
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    session = parquetry.configure(builder, "lake", folder / "lake").getOrCreate()
    for statement in _STATEMENTS:
        session.sql(statement).collect()
    gateway = SparkContext._gateway
    session.stop()
    gateway.shutdown()
    gateway.proc.stdin.close()
    gateway.proc.wait(120)
    made.rename(archive)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(dir=sys.prefix, prefix="classes-") as _folder:
        _make(_archive(), Path(_folder))
