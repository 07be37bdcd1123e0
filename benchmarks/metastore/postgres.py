"""A PostgreSQL server for the time of a benchmark, if there is one on the machine, and its JDBC driver."""

from __future__ import annotations

import contextlib
import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmarks.metastore.hive import Backend
from tests.support.hbase.launcher import free_ports
from tests.support.jars import SETTINGS, java, pyspark_jars

_DRIVER = ("org.postgresql", "postgresql", "42.7.4")
_UNPRIVILEGED = "postgres"
"""The user that Debian's package makes; root may not run the server itself."""


class MissingPostgresError(Exception):
    """There is no PostgreSQL, or no driver for it; the message says how to have it."""


def _programs() -> Path:
    """Return the folder of `initdb` and `pg_ctl`."""
    places = sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    found = shutil.which("initdb")
    if found is not None:
        places.append(Path(found).parent)
    for place in places:
        if (place / "initdb").exists() and (place / "pg_ctl").exists():
            return place
    raise MissingPostgresError("there is none on this machine; Debian, Ubuntu: apt install postgresql")


@contextlib.contextmanager
def server(cache: Path) -> Iterator[Backend]:
    """Run a server with its data in a temporary folder, on 127.0.0.1, and give it as Hive is told of it.

    Args:
        cache: folder to keep the driver in.

    Raises:
        MissingError: it cannot be run here.
    """
    bin, jar = _programs(), _driver(cache)
    (port,) = free_ports(1)
    folder = Path(tempfile.mkdtemp(prefix="parquetry-postgres-"))
    user = None
    if os.geteuid() == 0:
        user = _UNPRIVILEGED
        os.chown(folder, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)

    def run(program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(bin / program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            user=user,
            cwd=folder,
            check=False,
        )
        if done.returncode:
            log = folder / "log"
            raise RuntimeError(f"{program} failed: {done.stderr} {log.read_text() if log.exists() else ''}")

    data = str(folder / "data")
    options = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder}"
    try:
        run("initdb", "-D", data, "-U", "hive", "-A", "trust", "-E", "UTF8", "--locale=C")
        run("pg_ctl", "-D", data, "-l", str(folder / "log"), "-o", options, "-w", "start")
        try:
            run("createdb", "-h", "127.0.0.1", "-p", str(port), "-U", "hive", "metastore")
            yield Backend(
                "PostgreSQL",
                f"jdbc:postgresql://127.0.0.1:{port}/metastore",
                "org.postgresql.Driver",
                "hive",
                jar,
                "COPY {table} FROM '{file}' WITH (FORMAT csv)",
                'ANALYZE "{table}"',
                folder,
            )
        finally:
            run("pg_ctl", "-D", data, "-m", "fast", "-w", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _driver(cache: Path) -> Path:
    """Return the JDBC driver, fetched by Ivy (which is in PySpark's jars) if need be."""
    organisation, name, revision = _DRIVER
    wanted = cache / f"{name}-{revision}.jar"
    if not wanted.exists():
        command = [java(), "-cp", str(pyspark_jars() / "*"), "org.apache.ivy.Main"]
        if os.environ.get(SETTINGS):
            command += ["-settings", os.environ[SETTINGS]]
        command += ["-dependency", organisation, name, revision, "-confs", "master", "-types", "jar"]
        with tempfile.TemporaryDirectory() as ivy:
            command += ["-cache", ivy, "-retrieve", str(cache / "[artifact]-[revision].[ext]")]
            ivy_run = subprocess.run(
                command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
            )
        if not wanted.exists():
            raise RuntimeError(
                f"the JDBC driver of PostgreSQL could not be fetched\n{ivy_run.stdout[-2000:]}"
            )
    return wanted
