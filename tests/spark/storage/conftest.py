"""Tests that run on a local disk, on HDFS and on S3 by one fixture; a sample runs each on one server only."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.effort import STEP, sampled
from tests.support.s3.launcher import S3Server, shared_server
from tests.support.spark.storages import NAMES, Storage, open_storage

_SERVERS = tuple(name for name in NAMES if name != "local")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test with the fixture `storage` on each storage, or on one."""
    if "storage" in metafunc.fixturenames:
        names = NAMES if STEP == 1 else sampled(_SERVERS, metafunc.function.__name__)
        marked = [
            pytest.param(name, marks=getattr(pytest.mark, name, ()) if name in _SERVERS else ())
            for name in names
        ]
        metafunc.parametrize("storage", marked, indirect=True)


@pytest.fixture
def storage(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path) -> Storage:
    """A storage with a database of its own."""
    return open_storage(request.param, spark, tmp_path)


@pytest.fixture
def s3(spark: SparkSession, tmp_path: Path) -> Storage:
    """The storage S3."""
    return open_storage("s3", spark, tmp_path)


@pytest.fixture
def server() -> Iterator[S3Server]:
    """The server of the storage S3; its proxy disturbs no request after the tests."""
    yield shared_server()
    shared_server().proxy.undisturbed()
