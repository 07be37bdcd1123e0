"""A running server, as the command starts it: several processes, and cached answers of the right version."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest

from parquetry.iceberg import IcebergCatalog
from tests.support.clients.iceberg import ask, served
from tests.support.readers.python_tables import PythonLake

JAVA = {"X-Client-Version": "Apache Iceberg 1.12.0"}
TABLE = "namespaces/default/tables/t"


@pytest.fixture
def lake(tmp_path: Path) -> PythonLake:
    made = PythonLake(tmp_path / "lake")
    made.create("t", {"p": "integer", "a": "long"}, ["p"])
    made.write("t", "p=1/f.parquet", [{"a": 1}])
    return made


@contextmanager
def running(lake: PythonLake, *options: str) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Run the command within a block; yield the server's address and its process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "parquetry.cli.main", "serve-iceberg", "-w", str(lake.folder)]
    process = subprocess.Popen([*command, "--port", str(port), *options], stderr=subprocess.DEVNULL)
    try:
        address = f"http://127.0.0.1:{port}"
        _wait(address, process)
        yield address, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)


def _wait(address: str, process: subprocess.Popen[bytes]) -> None:
    for _ in range(600):
        assert process.poll() is None, "the server has ended"
        try:
            ask(address, "config")
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise AssertionError("the server does not answer")


def workers_of(process: subprocess.Popen[bytes], count: int) -> list[psutil.Process]:
    """Return the processes that answer for a server, which begin one after the other."""
    for _ in range(600):
        children = psutil.Process(process.pid).children(recursive=True)
        workers = [each for each in children if "spawn_main" in str(each.cmdline())]
        if len(workers) == count:
            return workers
        time.sleep(0.05)
    raise AssertionError(f"{len(workers)} of {count} workers have begun")


def files_of(address: str, body: dict[str, Any]) -> list[str]:
    """Return the names of the files of a plan."""
    _, plan = ask(address, f"{TABLE}/plan", body, JAVA)
    return [task["data-file"]["file-path"].rpartition("/p=")[2] for task in plan["file-scan-tasks"]]


def test_several_workers_answer(lake: PythonLake) -> None:
    """Each worker opens the warehouse, and gives the newest version; all end with the server."""
    with running(lake, "--workers", "2") as (address, process):
        workers = workers_of(process, 2)
        assert files_of(address, {}) == ["1/f.parquet"]
        lake.write("t", "p=2/f.parquet", [{"a": 2}])
        assert {tuple(files_of(address, {})) for _ in range(8)} == {("1/f.parquet", "2/f.parquet")}
    assert [each for each in workers if each.is_running() and each.status() != psutil.STATUS_ZOMBIE] == []


def test_cached_answers_are_of_their_version(lake: PythonLake) -> None:
    """After a commit, the same request has new files, and one for a snapshot the same ones."""
    with served(IcebergCatalog(lake.metastore)) as address:
        first = lake.table("t").version
        assert [files_of(address, body) for body in ({}, {}, {"snapshot-id": first})] == [["1/f.parquet"]] * 3
        lake.write("t", "p=2/f.parquet", [{"a": 2}])
        assert files_of(address, {}) == ["1/f.parquet", "2/f.parquet"]
        assert files_of(address, {"snapshot-id": first}) == ["1/f.parquet"]


def test_a_table_of_the_same_name_has_its_own_answers(lake: PythonLake) -> None:
    """After a table is dropped and another is made, no cached file of the first one is planned."""
    with served(IcebergCatalog(lake.metastore)) as address:
        assert files_of(address, {}) == ["1/f.parquet"]
        lake.metastore.drop_table("default", "t")
        os.rename(lake.folder / "default.db" / "t", lake.folder / "away")
        lake.create("t", {"p": "integer", "a": "long"}, ["p"])
        lake.write("t", "p=7/g.parquet", [{"a": 1}])
        assert files_of(address, {"snapshot-id": lake.table("t").version}) == ["7/g.parquet"]


def test_too_long_a_request_is_refused(lake: PythonLake) -> None:
    """A request of more than 16 MB gets an error, and the next one an answer."""
    with served(IcebergCatalog(lake.metastore)) as address:
        status, error = ask(address, f"{TABLE}/plan", {"filter": "x" * (17 << 20)}, JAVA)
        assert (status, error["error"]["message"]) == (413, "The request is too long.")
        assert files_of(address, {}) == ["1/f.parquet"]
