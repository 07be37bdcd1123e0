"""A served warehouse, asked by Hive's own clients of versions 2.3 to 4.1, without Hive and without Spark."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pyarrow as pa
import pytest

from tests.support.clients.hive import client, served
from tests.support.jars import fetched, java, pyspark_jars
from tests.support.processes import ROOT
from tests.support.readers.python_tables import PythonLake

NEEDED = (
    *(
        "hadoop-client-*",
        "slf4j-api*",
        "jcl-over*",
        "commons-*",
        "guava*",
        "failureaccess*",
        "log4j-*",
        "jackson-*",
    ),
    *("joda*", "stax*", "libfb303*", "httpclient*", "httpcore*"),
)
"""Jars of PySpark that Hive's client needs. Others have classes of another version of Hive."""
OPENED = ("--add-opens=java.base/java.net=ALL-UNNAMED", "--add-opens=java.base/java.lang=ALL-UNNAMED")
NAMES = [f"p={p}/s={s}" for p in range(3) for s in ("a b", "x%2Fy")]
ANSWERS = {
    "databases": "[default]",
    "tables": "[e, t]",
    "pattern": "[t]",
    "table": "2",
    "columns": "3",
    "objects": "2",
    "partitions": "6",
    "names": f"[{', '.join(NAMES)}]",
    "some": "2",
    "some names": "2",
    "filter": "2",
    "count": "2",
    "by names": "1",
    "by name": "[1, x/y]",
    "by expression": "6 true",
    "event": "true",
    "message": "ALTER_TABLE t 2",
    "setting": "false",
    "exists": "true false",
    "still": "[default]",
}
REFUSED = ("create", "drop", "alter", "add")


@pytest.mark.exhaustive("test_hive_clients has Hive 2.3's client, in Spark")
@pytest.mark.parametrize("version", ["2.3.10", "3.1.3", "4.0.1", "4.1.0"])
def test_hives_own_client(tmp_path: Path, version: str) -> None:
    """Hive's client gets what it asks for, and errors in words for what would change a table."""
    lake = PythonLake(tmp_path / "lake")
    lake.create("t", {"p": "integer", "s": "string", "a": "long"}, ["p", "s"])
    for name in NAMES:
        lake.put("t", f"{name}/f.parquet", pa.table({"a": [1]}))
    lake.sync("t")
    lake.create("e", {"a": "long"})
    module = tmp_path / "hive-exec.xml"
    module.write_text((ROOT / "tests/support/hive/hive-exec.xml").read_text().replace("${hive}", version))
    hive = sorted(fetched(module, "Hive", "up to 75 MB").glob("*.jar"))
    path = os.pathsep.join(
        map(str, [*hive, *(jar for each in NEEDED for jar in pyspark_jars().glob(f"{each}.jar"))])
    )
    with served(lake.folder) as port, client(port) as hms:
        event = hms.get_current_notificationEventId().eventId
        lake.alter("t", comment="changed")
        command = [
            java(),
            "-Xmx400m",
            *OPENED,
            "-cp",
            path,
            str(ROOT / "tests/support/hive/HiveClientMain.java"),
            str(port),
            str(event),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=200)
    answers = dict(line.split("=", 1) for line in done.stdout.splitlines() if "=" in line)
    assert {name: answers.get(name) for name in ANSWERS} == ANSWERS, done.stderr[-2000:]
    for name in REFUSED:
        assert "is refused: this metastore is a warehouse of Parquetry" in answers[name]
    assert lake.metastore.tables("default") == ["e", "t"]
