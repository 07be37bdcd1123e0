"""dbt's own tests of adapters, for the server whose port is in the environment variable DBT_THRIFT_PORT.

pytest of dbt's environment runs this module; see `tests/spark/doors/test_dbt.py`. Each class of
dbt-tests-adapter that adapters are to inherit becomes a test, by its form for Spark in `adapted.py` if it has
one. `LEFT_OUT` and `LEFT_OUT_CLASSES` name the others; `failures.txt` has the tests that fail, with reasons.
"""

from __future__ import annotations

import importlib
import inspect
import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from dbt.tests import adapter
from dbt.tests.fixtures.project import TestProjInfo
from dbt.tests.util import get_connection, run_sql_with_adapter, write_file

sys.path.insert(0, str(Path(__file__).parent))
import adapted
from dialect import statements, text_for_spark

PAGE = Path(__file__).parents[3] / "docs" / "dbt.md"
LEFT_OUT = {
    "caching": "looks up dbt's cache by a name of a database, which dbt-spark does not have",
    "catalog": "is about relations that only the test knows",
    "catalog_integrations": "is about catalogs of other adapters",
    "column_types": "is about PostgreSQL's types",
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
LEFT_OUT_CLASSES = {
    "BaseConstraintsColumnsEqual": "has no models: others inherit it",
    "BaseContractSqlHeader": "has no models: others inherit it",
    "BaseEphemeralMulti": "compares the text of a statement with PostgreSQL's",
    "BaseEphemeralNested": "compares the text of a statement with PostgreSQL's",
    "BaseGetCatalogForSingleRelation": "dbt-spark does not implement what it calls",
    "BaseIncrementalOnSchemaChange": "is in adapted.py once for each strategy",
    "BaseSeedSpecificFormats": "takes dbt many minutes for a seed of 20,000 rows",
    "BaseSimpleCopyUppercase": "needs dbt's adapter for PostgreSQL",
}
"""Classes without a test here, and why."""


@pytest.fixture(scope="class")
def dbt_profile_target() -> dict[str, Any]:
    """Return the Thrift server, for as many threads as dbt's tests expect."""
    port = int(os.environ["DBT_THRIFT_PORT"])
    return {
        "type": "spark",
        "method": "thrift",
        "host": "127.0.0.1",
        "port": port,
        "user": "root",
        "threads": 4,
        "poll_interval": 1,  # in place of five seconds
    }


@pytest.fixture(scope="class")
def dbt_project_yml(project_root: Any, project_config_update: Any) -> dict[str, Any]:
    """Write a test's project with the settings of the page for dbt: snapshots as if they were of Delta."""
    config: dict[str, Any] = {
        "name": "test",
        "profile": "test",
        "flags": {"send_anonymous_usage_stats": False},
    }
    update = project_config_update
    config |= (yaml.safe_load(update) if isinstance(update, str) else update) or {}
    config["models"] = {"+file_format": "parquet"} | config.get("models", {})
    config["snapshots"] = {"+file_format": "delta"} | config.get("snapshots", {})
    write_file(yaml.safe_dump(config), project_root, "dbt_project.yml")
    return config


@pytest.fixture(scope="class", autouse=True)
def files_for_spark(project_root: Any, project_files: None) -> None:
    """Add the macros of the page for dbt, and write Spark's types in place of PostgreSQL's."""
    folder = Path(project_root)
    for path in [*folder.rglob("*.sql"), *folder.rglob("*.yml")]:
        path.write_text(text_for_spark(path.read_text()))
    (folder / "macros").mkdir(exist_ok=True)
    macros = r"`macros/(\w+\.sql)`:\n\n<!-- excerpt -->\n```sql\n(.*?)```"
    for name, text in re.findall(macros, PAGE.read_text(), re.DOTALL):
        (folder / "macros" / name).write_text(text)


def folder_of(test: type) -> Path:
    """Return the folder of the class of dbt-tests-adapter that a test inherits."""
    home = next(each for each in test.__mro__ if each.__module__.startswith(adapter.__name__))
    return Path(inspect.getfile(home)).parent


@pytest.fixture(scope="class")
def test_data_dir(request: pytest.FixtureRequest) -> Path:
    """Return the folder `data` beside dbt's class."""
    return folder_of(request.cls) / "data"


@pytest.fixture(scope="class")
def project(request: pytest.FixtureRequest, project: TestProjInfo) -> TestProjInfo:
    """Return the project, which looks for files beside dbt's class."""
    project.test_dir = str(folder_of(request.cls))
    return project


def run_sql(project: TestProjInfo, sql: str, fetch: str | None = None) -> Any:
    """Run PostgreSQL's statements by Spark, one at a time, and return the answer of the last."""
    done = None
    for statement in statements(sql, project.adapter.config.credentials.schema):
        done = run_sql_with_adapter(project.adapter, statement, fetch=fetch)
    return done


def kinds_of_relations(project: TestProjInfo) -> dict[str, str]:
    """Return the kind of each relation of a test, as Spark has no information_schema."""
    with get_connection(project.adapter):
        schema = project.adapter.Relation.create(schema=project.test_schema)
        relations = project.adapter.list_relations_without_caching(schema)
    return {each.identifier: str(each.type) for each in relations}


TestProjInfo.run_sql = run_sql
TestProjInfo.get_tables_in_schema = kinds_of_relations


def make_test(base: type) -> type:
    """Return a test that runs what a class of dbt's tests, or its form for Spark, runs."""
    form = getattr(adapted, base.__name__, base)
    return type(f"Test{base.__name__.removeprefix('Base')}", (form,), {"__doc__": f"{base.__name__} of dbt."})


def bases(module: ModuleType) -> Iterator[type]:
    """Yield the classes of a module that adapters are to inherit, and that have tests."""
    for base in vars(module).values():
        is_one = inspect.isclass(base) and base.__module__ == module.__name__
        if is_one and base.__name__[:4] != "Test" and any(name.startswith("test_") for name in dir(base)):
            yield base


FOLDER = Path(adapter.__path__[0])
named = {*LEFT_OUT, *LEFT_OUT_CLASSES, *(each.__name__ for each in bases(adapted))} - {"ChangeOfSchema"}
for path in sorted(FOLDER.rglob("*.py")):
    parts = path.relative_to(FOLDER).with_suffix("").parts
    named.discard(parts[0])
    if parts[0] not in LEFT_OUT:
        for each in bases(importlib.import_module(".".join((adapter.__name__, *parts)))):
            named.discard(each.__name__)
            if each.__name__ not in LEFT_OUT_CLASSES:
                globals().setdefault(f"Test{each.__name__.removeprefix('Base')}", make_test(each))
for each in adapted.FURTHER:
    named.discard(each.__name__)
    globals()[f"Test{each.__name__}"] = make_test(each)
if named:
    raise LookupError(f"dbt-tests-adapter has no {sorted(named)}: take them out of suite.py or adapted.py")
