"""The planner answers without an engine: pyspark and py4j are never imported."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import parquetry.planner
from parquetry.planner.engine import NoEngine
from parquetry.planner.lake import Lake
from parquetry.planner.planner import Planner

MODULES = sorted(
    module.name for module in pkgutil.walk_packages(parquetry.planner.__path__, "parquetry.planner.")
)


def test_no_module_of_the_planner_needs_pyspark() -> None:
    """Each module of the planner can be imported without pyspark and py4j."""
    assert len(MODULES) > 20
    program = (
        "import importlib, sys\n"
        "for name in ('pyspark', 'py4j'): sys.modules[name] = None\n"
        f"for name in {MODULES!r}: importlib.import_module(name)\n"
        "print(len([name for name in sys.modules if name.startswith('parquetry.planner')]))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == len(MODULES) + 1


@pytest.fixture
def ask(tmp_path: Path) -> Any:
    """Ask a planner that no engine stands behind; the answer is what `ok` holds, or the error."""
    planner = Planner(NoEngine("UTC"))

    def ask(op: str, **question: Any) -> Any:
        asked = {
            "protocol": parquetry.planner.protocol.codec.PROTOCOL,
            "op": op,
            "catalog": "lake",
            **question,
        }
        answer = json.loads(planner.ask(json.dumps({**asked, "options": {"warehouse": str(tmp_path)}})))
        return answer["ok"] if "ok" in answer else answer["error"]

    return ask


def test_a_table_is_made_and_its_history_called(ask: Any) -> None:
    """The results of CALL are texts, numbers too; the procedure defines the types of its arguments."""
    fields = [{"name": name, "type": "long", "nullable": True, "metadata": {}} for name in ("id", "day")]
    made = ask(
        "create_table", namespace=["default"], name="t", schema={"type": "struct", "fields": fields},
        partitioning=[{"name": "identity", "columns": [["day"]], "arguments": [{"col": ["day"]}], "text": "day"}],
        properties={},
    )  # fmt: skip
    assert made["table"]["table"] == "t"
    session = {"current_catalog": "lake", "current_namespace": ["default"]}
    called = ask("call", name="HISTORY", arguments={"table": "t"}, **session)
    assert [row[0] for row in called["rows"]] == ["0"]
    arguments = {"table": "lake.default.t", "older_than": None, "dry_run": "true"}
    ((kind, _, count, *_),) = ask("call", name="vacuum", arguments=arguments, **session)["rows"]
    assert kind == "kept versions"
    assert count == "0"


def test_parameters_of_a_procedure_are_the_fields_of_its_arguments(ask: Any) -> None:
    """Names, types in DDL, and defaults in SQL; a parameter without a default has to be given."""
    loaded = ask("load_procedure", namespace=["system"], name="vacuum")
    assert [(each["name"], each["type"], each["default"]) for each in loaded["parameters"]] == [
        ("table", "string", None),
        ("older_than", "timestamp", "CAST(NULL AS TIMESTAMP)"),
        ("dry_run", "boolean", "false"),
        ("grace_hours", "bigint", "CAST(NULL AS BIGINT)"),
        ("force", "boolean", "false"),
        ("retain_hours", "bigint", "CAST(NULL AS BIGINT)"),
        ("allow_recent", "boolean", "false"),
    ]


def test_columns_cannot_be_inferred_without_an_engine(ask: Any, tmp_path: Path) -> None:
    """The error says what to do instead, and no table is made."""
    failure = ask(
        "create_table", namespace=["default"], name="t", schema={"type": "struct", "fields": []},
        partitioning=[], properties={"location": str(tmp_path / "tree")},
    )  # fmt: skip
    assert failure["code"] == "UNSUPPORTED"
    assert "name them" in failure["message"]
    assert ask("list_tables", namespace=["default"]) == {"names": []}


def test_a_parser_asks_without_a_catalog() -> None:
    """A statement arrives before its catalog is known; the answer null leaves it unchanged."""
    asked = {
        "protocol": parquetry.planner.protocol.codec.PROTOCOL,
        "op": "rewrite_statement",
        "text": "SELECT 1",
    }
    assert json.loads(Planner(NoEngine("UTC")).ask(json.dumps(asked))) == {"ok": {"text": None}}


def test_a_transform_is_refused_with_what_it_says(ask: Any) -> None:
    """Only columns can be partitioned by, and only `bucket` puts rows into buckets."""
    field = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    transform = {"name": "years", "columns": [["id"]], "arguments": [{"col": ["id"]}], "text": "text"}
    failure = ask(
        "create_table", namespace=["default"], name="t", schema={"type": "struct", "fields": [field]},
        partitioning=[transform], properties={},
    )  # fmt: skip
    assert failure["code"] == "UNSUPPORTED"
    assert failure["message"].startswith(
        "PARTITIONED BY (text) is not supported: it takes columns of the table"
    )
    assert "Give the table a column with that value" in failure["message"]


def test_a_change_of_spark_that_is_not_known(ask: Any) -> None:
    """A change that Parquetry does not know is refused by its name in Spark."""
    field = {"name": "id", "type": "long", "nullable": True, "metadata": {}}
    schema = {"type": "struct", "fields": [field]}
    name = {"namespace": ["default"], "name": "t"}
    ask("create_table", **name, schema=schema, partitioning=[], properties={})
    failure = ask("alter_table", **name, changes=[{"change": "other", "text": "SomethingNew"}])
    assert failure["message"] == "ALTER TABLE … SomethingNew is not supported."


def test_a_new_warehouse_beside_another_is_told(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A mistyped path makes an empty warehouse, which is logged once with the existing one nearby."""

    def told(*path: str) -> list[str]:
        caplog.clear()
        Lake.open("lake", {"warehouse": str(tmp_path.joinpath(*path))}, NoEngine("UTC"))
        return [record.getMessage() for record in caplog.records]

    assert told("lake") == []
    (beside,) = told("lak")
    assert (
        f"{tmp_path / 'lak'} of the catalog lake is new and empty. An existing one is at {tmp_path / 'lake'}:"
        in beside
    )
    assert told("lak") == []
    (within,) = told("lake", "sales")
    assert f"An existing one is at {tmp_path / 'lake'}:" in within
