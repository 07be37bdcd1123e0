"""Servers of Spark that are started once for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from tests.support.spark import doors


class RunningServer(NamedTuple):
    """A server, with the folder of its warehouse."""

    port: int
    folder: Path
    process: psutil.Process


@pytest.fixture(scope="module")
def connect(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A Spark Connect server, as its script starts it."""
    folder, port = tmp_path_factory.mktemp("connect"), doors.free_port()
    settings = {
        "spark__connect__grpc__binding__port": str(port),
        "spark__connect__grpc__binding__address": "127.0.0.1",
    }
    arguments = [*doors.flags(folder, **settings), "--master", "local[2]"]
    with doors.server(
        "org.apache.spark.sql.connect.service.SparkConnectServer", arguments, folder, port
    ) as process:
        yield RunningServer(port, folder, process)


@pytest.fixture(scope="module")
def thrift(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A Thrift server, as its script starts it."""
    folder, port = tmp_path_factory.mktemp("thrift"), doors.free_port()
    settings = {
        "spark__hadoop__hive__server2__thrift__port": str(port),
        "spark__hadoop__hive__server2__thrift__bind__host": "127.0.0.1",
    }
    arguments = [*doors.flags(folder, **settings), "--master", "local[2]"]
    with doors.server(
        "org.apache.spark.sql.hive.thriftserver.HiveThriftServer2", arguments, folder, port
    ) as process:
        yield RunningServer(port, folder, process)
