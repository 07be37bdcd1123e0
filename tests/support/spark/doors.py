"""Spark that is started without a Python driver: `spark-sql`, servers, shells and applications of the JVM."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pyspark

import parquetry
from tests.support.jvm import quick_start
from tests.support.processes import ROOT

SPARK = Path(pyspark.__path__[0])
_STARTING_SECONDS = 120


def flags(folder: Path, **settings: str) -> list[str]:
    """Return the flags that make `folder/lake` the catalog `lake`, as `parquetry conf --flags` prints them.

    Args:
        folder: for all that is written.
        settings: more of them; the names have `__` for a point.
    """
    effective = {
        **parquetry.settings("lake", folder / "lake"),
        "spark.parquetry.python": sys.executable,
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.sql.catalogImplementation": "in-memory",  # Hive's own metastore takes two seconds to start
        "spark.sql.warehouse.dir": str(folder / "plain"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={folder}/derby;create=true",
        **{name.replace("__", "."): value for name, value in settings.items()},
    }
    return [part for name, value in effective.items() if value for part in ("--conf", f"{name}={value}")]


def environment(**more: str) -> dict[str, str]:
    """Return the variables of a machine on which Spark is installed, and nothing of ours is named."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYSPARK", "SPARK"))}
    env |= {"SPARK_HOME": str(SPARK), "SPARK_LOCAL_IP": "127.0.0.1", "PYTHONPATH": str(ROOT / "src")}
    quick = dict.fromkeys(
        ("SPARK_SUBMIT_OPTS", "SPARK_DAEMON_JAVA_OPTS", "SPARK_BEELINE_OPTS"), quick_start.options()
    )
    return env | quick | more


def run(
    program: str, arguments: list[str], folder: Path, text: str | None = None, **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run one of Spark's programs to its end, with its errors apart."""
    return subprocess.run(
        [str(SPARK / "bin" / program), *arguments],
        cwd=folder, env=environment(**variables), input=text, text=True, capture_output=True, timeout=400, check=False,
    )  # fmt: skip


def free_port() -> int:
    """Return a port of 127.0.0.1 that no process listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextlib.contextmanager
def server(class_name: str, arguments: list[str], folder: Path, port: int) -> Iterator[psutil.Process]:
    """Run a class of Spark's that serves, until the block ends; it is ready when its port is open.

    Raises:
        RuntimeError: it ended, or does not listen in time; the message has what it printed.
    """
    log = folder / f"{class_name.rpartition('.')[2]}.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [str(SPARK / "bin" / "spark-submit"), *arguments, "--class", class_name, "spark-internal"],
            cwd=folder, env=environment(), stdout=output, stderr=subprocess.STDOUT, start_new_session=True,
        )  # fmt: skip
    try:
        deadline = time.monotonic() + _STARTING_SECONDS
        while not _listens(port):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{class_name} does not listen:\n{log.read_text()[-4000:]}")
            time.sleep(0.2)
        yield psutil.Process(process.pid)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


def wait_until_it_listens(port: int) -> None:
    """Wait until somebody listens on a port.

    Raises:
        TimeoutError: no process does.
    """
    deadline = time.monotonic() + _STARTING_SECONDS
    while not _listens(port):
        if time.monotonic() > deadline:
            raise TimeoutError(f"nobody listens on port {port}")
        time.sleep(0.2)


def _listens(port: int) -> bool:
    with contextlib.closing(socket.socket()) as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def planners(process: psutil.Process) -> list[psutil.Process]:
    """Return the planners that a JVM has started."""
    return [child for child in process.children(recursive=True) if _is_planner(child)]


def _is_planner(process: psutil.Process) -> bool:
    with contextlib.suppress(psutil.Error):
        return "parquetry.spark.serve" in process.cmdline()
    return False


def wait_until_gone(processes: list[psutil.Process]) -> bool:
    """Return whether processes end within some seconds."""
    return not psutil.wait_procs(processes, timeout=20)[1]
