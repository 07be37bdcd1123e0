"""The command `serve-hive`, with several processes, and clients of Python as their users have them."""

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

import psutil
import pytest
from pyiceberg.catalog.hive import HiveCatalog
from pyiceberg.exceptions import NoSuchPropertyException

from tests.support.clients.hive import client, served
from tests.support.readers.python_tables import PythonLake


@contextmanager
def running(lake: PythonLake, *options: str) -> Iterator[tuple[int, subprocess.Popen[str]]]:
    """Run the command within a block; yield its port and its process."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-m",
        "parquetry.cli.main",
        "serve-hive",
        "-w",
        str(lake.folder),
        "--port",
        str(port),
    ]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    try:
        assert f"thrift://127.0.0.1:{port}" in process.stderr.readline()
        yield port, process
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(30)
        process.stderr.close()


def test_several_processes_answer(lake: PythonLake) -> None:
    """Each process answers with the newest version, and logs the keys of a filter; all end together."""
    with running(lake, "--workers", "2", "-v") as (port, process):
        pids: list[int] = []
        for _ in range(400):
            children = psutil.Process(process.pid).children(recursive=True)
            pids = [each.pid for each in children if "spawn_main" in str(each.cmdline())]
            if pids:
                break
            time.sleep(0.05)
        assert len(pids) == 1
        for number in range(6):
            lake.write("t", f"p={number + 5}/s=new/f.parquet", [{"a": number}])
            with client(port) as hms:
                assert len(hms.get_partitions_by_filter("default", "t", "s = 'new'", -1)) == number + 1
        assert process.stderr is not None
        assert "default.t: s = 'new': 1 partitions, 10 keys examined" in process.stderr.readline()
    assert not any(
        psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE for pid in pids
    )


def test_a_port_in_use_is_an_error(lake: PythonLake) -> None:
    """A second server on a port says so in one sentence."""
    with served(lake.folder) as port:
        command = [
            sys.executable,
            "-m",
            "parquetry.cli.main",
            "serve-hive",
            "-w",
            str(lake.folder),
            "--port",
            str(port),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 1
    assert done.stderr.startswith(f"parquetry: Nothing can listen on 127.0.0.1:{port}")


def test_pyiceberg_lists_tables(lake: PythonLake) -> None:
    """PyIceberg's client of Hive's metastore finds the databases, and no table that is Iceberg's."""
    lake.create("local_times", {"a": "timestamp_ntz"})
    with served(lake.folder) as port:
        catalog = HiveCatalog("lake", uri=f"thrift://127.0.0.1:{port}")
        assert catalog.list_namespaces() == [("default",)]
        assert catalog.list_tables("default") == []
        with pytest.raises(NoSuchPropertyException):
            catalog.load_table("default.t")


def test_a_restored_warehouse_is_opened_again(lake: PythonLake, tmp_path: Path) -> None:
    """If another metastore takes the warehouse's place, the next call is answered from it."""
    other = PythonLake(tmp_path / "other")
    other.create("x", {"a": "long"})
    other.metastore.close()
    with served(lake.folder) as port, client(port) as hms:
        assert hms.get_all_tables("default") == ["e", "t"]
        os.rename(lake.folder / "_parquetry", tmp_path / "away")
        os.rename(tmp_path / "other" / "_parquetry", lake.folder / "_parquetry")
        assert hms.get_all_tables("default") == ["x"]
