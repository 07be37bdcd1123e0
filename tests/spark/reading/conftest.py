"""Reading tests run without code generation, too.

`make test` runs each test at least once in each way, since both are cases of it (`tests.support.effort`).
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
_WAYS = ("generated", "interpreted")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test a case for each way of running a query."""
    metafunc.parametrize("_code", _WAYS, indirect=True)


@pytest.fixture(autouse=True)
def _code(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
    """Run a test's queries with generated code, or without."""
    settings = INTERPRETED if request.param == "interpreted" else {}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name in settings:
        spark.conf.unset(name)
