"""dbt's own tests of adapters, for the server whose port is in the environment variable DBT_THRIFT_PORT.

pytest of dbt's environment runs this module; see `tests/spark/doors/test_dbt.py`. Each class of
dbt-tests-adapter that adapters are to inherit becomes a test, apart from the folders in `LEFT_OUT`.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from dbt.tests import adapter
from dbt.tests.util import write_file

PAGE = Path(__file__).parents[3] / "docs" / "dbt.md"
LEFT_OUT = {
    "catalog": "is about relations that only the test knows",
    "catalog_integrations": "is about catalogs of other adapters",
    "dbt_clone": "needs CLONE, which Spark does not have",
    "dbt_debug": "needs no table",
    "functions": "dbt-spark makes no functions",
    "grants": "needs GRANT and users of the server",
    "materialized_view": "needs materialized views, which Spark does not have",
    "python_model": "needs clusters of Databricks",
    "sample_mode": "is written for PostgreSQL's times",
    "utils": "is about functions of SQL, and needs no table",
}
"""Folders of dbt-tests-adapter without a test here, and why."""


@pytest.fixture(scope="class")
def dbt_profile_target() -> dict[str, Any]:
    """Return the Thrift server."""
    port = int(os.environ["DBT_THRIFT_PORT"])
    return {
        "type": "spark",
        "method": "thrift",
        "host": "127.0.0.1",
        "port": port,
        "user": "dbt",
        "threads": 2,
    }


@pytest.fixture(scope="class")
def dbt_project_yml(project_root: Any, project_config_update: Any) -> dict[str, Any]:
    """Write a test's project with the settings of the page for dbt: snapshots as if they were of Delta."""
    flags = {"send_anonymous_usage_stats": False}
    config: dict[str, Any] = {"name": "test", "profile": "test", "flags": flags}
    update = project_config_update
    config |= (yaml.safe_load(update) if isinstance(update, str) else update) or {}
    config["snapshots"] = {"+file_format": "delta"} | config.get("snapshots", {})
    write_file(yaml.safe_dump(config), project_root, "dbt_project.yml")
    return config


@pytest.fixture(scope="class", autouse=True)
def macros_of_the_page(project_root: Any, project_files: None) -> None:
    """Write the macros of the page for dbt, which each project with Parquetry has, beside a test's own."""
    folder = Path(project_root) / "macros"
    folder.mkdir(exist_ok=True)
    macros = r"`macros/(\w+\.sql)`:\n\n<!-- excerpt -->\n```sql\n(.*?)```"
    for name, text in re.findall(macros, PAGE.read_text(), re.DOTALL):
        (folder / name).write_text(text)


def make_test(base: type) -> type:
    """Return a test that runs what a class of dbt's tests."""
    return type(f"Test{base.__name__.removeprefix('Base')}", (base,), {"__doc__": f"{base.__name__} of dbt."})


def bases(module: ModuleType) -> Iterator[type]:
    """Yield the classes of a module that adapters are to inherit, and that have tests."""
    for base in vars(module).values():
        is_one = inspect.isclass(base) and base.__module__ == module.__name__
        if is_one and base.__name__[:4] != "Test" and any(name.startswith("test_") for name in dir(base)):
            yield base


FOLDER = Path(adapter.__path__[0])
for path in sorted(FOLDER.rglob("*.py")):
    parts = path.relative_to(FOLDER).with_suffix("").parts
    if parts[0] not in LEFT_OUT:
        for each in bases(importlib.import_module(".".join((adapter.__name__, *parts)))):
            globals().setdefault(f"Test{each.__name__.removeprefix('Base')}", make_test(each))
