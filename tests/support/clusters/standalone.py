"""Spark's standalone cluster: a master and workers, each a process of its own."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.support.clusters import gates
from tests.support.jvm import quick_start
from tests.support.spark import doors

HOSTS = ("127.0.0.1", "127.0.0.2")
"""Hosts of the workers. Spark speculates only on another host than the first attempt's."""


@contextlib.contextmanager
def cluster(folder: Path, hosts: Sequence[str] = HOSTS) -> Iterator[str]:
    """Run a master and a worker of one core on each host; give the master's URL.

    Args:
        folder: to be made, for the workers' files and the log.
        hosts: addresses of this machine.
    """
    port = doors.free_port()
    folder.mkdir()
    daemons = {"SPARK_DAEMON_JAVA_OPTS": quick_start.options(young="100m"), "SPARK_WORKER_DIR": str(folder)}
    with (folder / "log").open("w") as log, contextlib.ExitStack() as running:

        def start(role: str, *arguments: str) -> None:
            process = subprocess.Popen(
                [str(doors.SPARK / "bin" / "spark-class"), f"org.apache.spark.deploy.{role}", "--webui-port", "0", *arguments],
                cwd=folder, env=doors.environment(**gates.variables(), **daemons), stdout=log, stderr=log,
            )  # fmt: skip
            running.callback(process.wait)
            running.callback(process.kill)

        start("master.Master", "--host", "127.0.0.1", "--port", str(port))
        doors.wait_until_it_listens(port)
        url = f"spark://127.0.0.1:{port}"
        for host in hosts:
            start("worker.Worker", "--host", host, "--cores", "1", "--memory", "1g", url)
        yield url
