"""A Hive metastore server of its own, on Derby: of the version in PySpark's jars, or of Hive 4."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.support.hbase.launcher import free_ports
from tests.support.jars import fetched, java, pyspark_jars
from tests.support.processes import ROOT

OPENED = (
    *("java.lang", "java.lang.reflect", "java.util", "java.util.concurrent", "java.util.concurrent.atomic"),
    *("java.net", "java.nio", "java.io", "java.time", "java.text", "java.util.regex", "sun.nio.ch"),
)
"""Packages of Java's that Hive reads by reflection."""
_START_SECONDS = 120.0
_NEEDED = (
    *("hadoop-client-*", "slf4j-api*", "jcl-over*", "log4j-*", "commons-*", "woodstox*", "stax2*", "re2j*"),
    "derby*",
)
"""Jars of PySpark that Hive 4's server needs beside its own."""


def hive_4_jars() -> list[Path]:
    """Return the jars of Hive 4's server, fetched if need be (80 MB)."""
    own = sorted(fetched(ROOT / "benchmarks/metastore/hive-server.xml", "Hive", "80 MB").glob("*.jar"))
    return [*own, *(jar for each in _NEEDED for jar in pyspark_jars().glob(f"{each}.jar"))]


@contextlib.contextmanager
def metastore_server(work: Path, jars: Sequence[Path] = ()) -> Iterator[int]:
    """Run a server within a block, with its database in a folder; yield its port.

    Args:
        work: the folder, which may have the database of an earlier server.
        jars: of the server's version of Hive, or none for the one in PySpark's jars.
    """
    work.mkdir(parents=True, exist_ok=True)
    (port,) = free_ports(1)
    settings = {
        "javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={work}/derby;create=true",
        "javax.jdo.option.ConnectionDriverName": "org.apache.derby.jdbc.EmbeddedDriver",
        "datanucleus.schema.autoCreateAll": "true",
        "hive.metastore.schema.verification": "false",
        "metastore.schema.verification": "false",
        "hive.metastore.warehouse.dir": (work / "warehouse").as_uri(),
        "metastore.warehouse.dir": (work / "warehouse").as_uri(),
        "metastore.warehouse.external.dir": (work / "warehouse").as_uri(),
        "fs.defaultFS": "file:///",
        "hive.async.log.enabled": "false",  # it needs a jar more
    }
    path = [*jars] if jars else [pyspark_jars() / "*"]
    command = [java(), "-Xmx512m", *(f"--add-opens=java.base/{each}=ALL-UNNAMED" for each in OPENED)]
    command += [f"-D{name}={value}" for name, value in settings.items()]
    command += [f"-Dderby.stream.error.file={work / 'derby.log'}", "-cp", os.pathsep.join(map(str, path))]
    command += ["org.apache.hadoop.hive.metastore.HiveMetaStore", "-p", str(port)]
    log = work / "hive.log"
    with open(log, "a", encoding="utf-8") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, cwd=work)
        try:
            await_server(port, process, log)
            yield port
        finally:
            process.terminate()
            process.wait()


def await_server(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Wait until a server answers.

    Raises:
        RuntimeError: it has ended, or takes too long; with the end of its log.
    """
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            with socket.create_connection(("127.0.0.1", port)):
                return
        except OSError:
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"The server does not start:\n{log.read_text()[-3000:]}") from None
            time.sleep(0.2)
