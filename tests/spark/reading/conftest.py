"""Reading tests run without code generation, too.

`make test` runs a test without cases in both ways, and the cases of another test in turn with generated code and
without. `make test-all` runs all cases in both ways.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.effort import STEP

INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
_WAYS = ("generated", "interpreted")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give each test a case for each way of running a query."""
    metafunc.parametrize("_code", _WAYS, indirect=True)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave half of the cases out, unless all cases are to run."""
    here = Path(__file__).parent
    seen: Counter[tuple[str, str]] = Counter()
    kept, left_out = [], []
    cases = Counter(_function(item) for item in items)
    for item in items:
        if item.path.parent != here or STEP == 1 or cases[_function(item)] <= len(_WAYS):
            kept.append(item)
            continue
        way = _WAYS.index(item.callspec.params["_code"])  # type: ignore[attr-defined]
        number = seen[_function(item), _WAYS[way]]
        seen[_function(item), _WAYS[way]] += 1
        (kept if number % len(_WAYS) == way else left_out).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=left_out)


@pytest.fixture(autouse=True)
def _code(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[None]:
    """Run a test's queries with generated code, or without."""
    settings = INTERPRETED if request.param == "interpreted" else {}
    for name, value in settings.items():
        spark.conf.set(name, value)
    yield
    for name in settings:
        spark.conf.unset(name)


def _function(item: pytest.Item) -> tuple[str, str]:
    return str(item.path), item.originalname  # type: ignore[attr-defined]
