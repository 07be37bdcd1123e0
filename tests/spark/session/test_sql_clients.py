"""Clients of SQL reach a catalog through a Thrift server that a Python session has started."""

from __future__ import annotations

import re
import shutil
import socket
import subprocess
from pathlib import Path

import pyspark
from pyspark.sql import SparkSession

from tests.support.jvm import quick_start

PAGE = Path(__file__).parents[3] / "docs" / "sql-clients.md"


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


def beeline(port: int, *statements: str) -> subprocess.CompletedProcess[str]:
    """Run statements in the client that PySpark's own jars bring."""
    java = shutil.which("java")
    assert java is not None
    asked = [part for statement in statements for part in ("-e", statement)]
    url = f"jdbc:hive2://127.0.0.1:{port}/;transportMode=binary"
    options = ["--silent=true", "--outputformat=csv2", "-n", "anyone", "-u", url]
    classes = str(Path(pyspark.__path__[0]) / "jars" / "*")
    command = [
        java,
        *quick_start.FLAGS.split(),
        "-cp",
        classes,
        "org.apache.hive.beeline.BeeLine",
        *options,
        *asked,
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)


def test_beeline_reads_and_writes(spark: SparkSession, db: str) -> None:
    """The page's lines start a server; beeline creates a table there, fills, changes and reads it, and shows
    readable errors.
    """
    (typed,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    start = typed[typed.index("jvm = ") :]
    port = free_port()
    settings = {"hive.server2.thrift.port": str(port), "hive.server2.thrift.bind.host": "127.0.0.1"}
    for name, value in settings.items():
        spark.conf.set(name, value)
    names: dict[str, object] = {"spark": spark}
    exec(start, names)
    server = names["server"]
    try:
        done = beeline(
            port,
            f"CREATE TABLE {db}.c (id INT, day INT) USING parquet PARTITIONED BY (day)",
            f"INSERT INTO {db}.c VALUES (1, 1), (2, 1), (3, 2)",
            f"UPDATE {db}.c SET id = 20 WHERE id = 2",
            f"SELECT id, day FROM {db}.c WHERE day = 1 ORDER BY id",
            f"SHOW PARTITIONS {db}.c",
            f"SELECT nothing FROM {db}.c",
        )
        lines = [line.rpartition("> ")[2] for line in done.stdout.splitlines()]  # what comes behind a prompt
        said = [line for line in lines if line.strip()]
        found = said[said.index("id,day") :][:6]
        assert found == ["id,day", "1,1", "20,1", "partition", "day=1", "day=2"], done
        assert "UNRESOLVED_COLUMN" in done.stdout + done.stderr
        assert [tuple(row) for row in spark.sql(f"SELECT sum(id) FROM {db}.c").collect()] == [(24,)]
    finally:
        server.stop()  # type: ignore[attr-defined]
        for name in settings:
            spark.conf.unset(name)
