"""Reading tests run without code generation, too: `make test-all` runs both ways, `make test` by turns."""

from __future__ import annotations

import zlib
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.effort import STEP

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
_WAYS = ("generated", "interpreted")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test a case for each way of running a query, or for one of them where a sample is run."""
    ways = _WAYS if STEP == 1 else [_WAYS[zlib.crc32(metafunc.function.__name__.encode()) % len(_WAYS)]]
    metafunc.parametrize("_code", ways, indirect=True)


@pytest.fixture(autouse=True)
def _code(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
    """Run a test's queries with generated code, or without."""
    settings = INTERPRETED if request.param == "interpreted" else {}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name in settings:
        spark.conf.unset(name)
