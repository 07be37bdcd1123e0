"""No table, partition or database can be in the metastore's folder.

A store that does not own the warehouse changes no table in it.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parquetry.metastore import open_metastore
from parquetry.operations import OPERATIONS
from parquetry.planner.engine import NoEngine
from parquetry.planner.lake import table_ref
from parquetry.planner.planner import Planner
from parquetry.planner.protocol.codec import PROTOCOL
from tests.support.spark.asked_lake import BridgeLake
from tests.support.tables.owned_files import make, write


@pytest.fixture
def lake(tmp_path: Path) -> BridgeLake:
    """A catalog with a table `kept`."""
    (tmp_path / "link").symlink_to(tmp_path / "lake" / "_parquetry")
    opened = BridgeLake(tmp_path / "lake", open_metastore(str(tmp_path / "lake"), create=True))
    assert opened.create("kept", properties={})["table"]["database"] == "default"
    return opened


SPELLINGS = [
    "{0}/_parquetry",
    "file:{0}/_parquetry",
    "file://{0}/_parquetry/",
    "{0}//_parquetry",
    "{0}/x/../_parquetry",
    "_parquetry",
    "./x/../_parquetry/t",
    "{0}/_parquetry/t/u",
    "{0}/../link",
    "{0}/../link/t",
    "{0}",
    "{0}/..",
    "/",
]
"""At, in and above the folder."""


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_no_location_in_the_metastores_folder(spelling: str, lake: BridgeLake) -> None:
    """Tables, partitions and new locations at, in or above the metastore's folder are refused.

    The refusals change no file.
    """
    location = spelling.format(lake.folder)
    before = sorted(lake.folder.rglob("*"))
    external = {"location": location, "external": "true"}
    assert lake.create("t", properties=external)["code"] == "LOCATION_TAKEN"
    assert lake.create("t", op="stage_table", mode="create", properties=external)["code"] == "LOCATION_TAKEN"
    made = lake.create("e", properties={"location": f"{lake.folder.parent}/elsewhere", "external": "true"})
    assert lake.alter(name="e", location=location)["code"] == "LOCATION_TAKEN"
    if location.startswith(("/", "file:")):  # a relative one begins in the table's folder
        place = {"location": location}
        added = lake.ask("add_partitions", table=made["table"], partitions=[["1"]], properties=[place])
        assert added["code"] == "LOCATION_TAKEN"
    assert sorted(lake.folder.rglob("*")) == before


@pytest.mark.parametrize("spelling", [each for each in SPELLINGS if "_parquetry" in each or "link" in each])
def test_no_database_in_the_metastores_folder(spelling: str, lake: BridgeLake) -> None:
    """A database at or in the metastore's folder is refused.

    A database above it places its tables elsewhere.
    """
    location = spelling.format(lake.folder)
    answer = lake.ask("create_namespace", namespace=["d"], properties={"location": location})
    assert answer["code"] == "LOCATION_TAKEN"
    assert f"cannot be at file:{lake.folder.parent}" in answer["message"]
    above = lake.ask(
        "create_namespace", namespace=["above"], properties={"location": str(lake.folder.parent)}
    )
    assert "code" not in above
    made = lake.ask(
        "create_table", namespace=["above"], name="lake", partitioning=[], properties={},
        schema={"type": "struct", "fields": [{"name": "x", "type": "integer", "nullable": True, "metadata": {}}]},
    )  # fmt: skip
    assert made["properties"]["location"].startswith(f"file:{lake.folder}-")


def test_a_store_file_elsewhere(tmp_path: Path) -> None:
    """A SQLite file elsewhere must not be in a table's folder, at any depth.

    A folder beside the file may be a table's.
    """
    file = tmp_path / "meta" / "deep" / "store.sqlite"
    file.parent.mkdir(parents=True)
    options = {"warehouse": str(tmp_path / "lake"), "store": f"sqlite://{file}"}
    planner = Planner(NoEngine("UTC"))

    def create(location: Path) -> Any:
        question = {
            "protocol": PROTOCOL, "op": "create_table", "catalog": "lake", "options": options, "namespace": ["default"], "name": "t",
            "schema": {"type": "struct", "fields": [{"name": "x", "type": "integer", "nullable": True, "metadata": {}}]}, "partitioning": [],
            "properties": {"location": str(location), "external": "true"},
        }  # fmt: skip
        answer = json.loads(planner.ask(json.dumps(question)))
        return answer.get("ok", answer.get("error"))

    for location in (file.parent, tmp_path / "meta"):
        assert create(location)["code"] == "LOCATION_TAKEN"
    assert create(file.parent / "beside")["table"]["database"] == "default"


CALLS: dict[str, dict[str, Any]] = {
    "rollback": {"version": "0"},
    "rollback_transaction": {"transaction": "0"},
    "tag": {"name": "first"},
    "drop_tag": {"name": "first"},
    "branch": {"name": "first"},
    "publish_branch": {"name": "first"},
    "drop_branch": {"name": "first"},
    "compact": {},
    "rebucket": {},
    "create_partition_index": {"columns": ["d"]},
    "drop_partition_index": {"columns": ["d"]},
    "rebuild_partition_index": {"columns": ["d"]},
    "compact_metadata": {},
    "sync": {},
    "vacuum": {},
    "erase": {"condition": "d = 1"},
    "maintain": {},
    "fsck": {"repair": "true"},
}


def test_every_question_that_changes_is_refused(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """With a store that does not own the warehouse, each changing statement or procedure is refused.

    No folder is made.
    """
    folder, url = tmp_path / "lake", f"sqlite://{tmp_path}/other.sqlite"
    other = open_metastore(str(folder), url, create=True)
    make(other)
    write(other, "one")
    (folder / "_parquetry_metastore.json").unlink()
    with open_metastore(str(folder), create=True) as owner:
        make(owner, "mine")
    before = sorted(folder.rglob("*"))
    planner = Planner(NoEngine("UTC"))

    def ask(op: str, **question: Any) -> Any:
        options = {"warehouse": str(folder), "store": url}
        text = json.dumps({"protocol": PROTOCOL, "op": op, "catalog": "lake", "options": options, **question})
        answer = json.loads(planner.ask(text))
        return answer.get("ok", answer.get("error"))

    ref = msgspec.to_builtins(table_ref(other.table("default", "t")))
    schema = {
        "type": "struct",
        "fields": [{"name": "x", "type": "integer", "nullable": True, "metadata": {}}],
    }
    refused = [
        ask("create_table", namespace=["default"], name="u", schema=schema, partitioning=[], properties={}),
        ask("drop_table", namespace=["default"], name="t", purge=False),
        ask("rename_table", namespace=["default"], name="t", to=["default", "u"]),
        ask(
            "alter_table",
            namespace=["default"],
            name="t",
            changes=[{"change": "set_property", "key": "a", "value": "b"}],
        ),
        ask("create_namespace", namespace=["n"], properties={}),
        ask("drop_namespace", namespace=["default"], cascade=True),
        ask("truncate", table=ref, predicates=[]),
        ask("repair", table=ref, add=True, drop=True),
    ]
    changing = {name for name, operation in OPERATIONS.items() if operation.changes}
    assert changing == CALLS.keys()
    assert {*OPERATIONS} - changing == {
        "history", "tags", "branches", "detail", "verify", "publish", "suggest_skew", "advise", "explain", "explain_json", "last_reports", "doctor", "claim", "status",
    }  # fmt: skip
    where = {"current_catalog": "lake", "current_namespace": ["default"]}
    for name, arguments in CALLS.items():
        refused.append(
            ask(
                "call",
                name=name,
                arguments=arguments
                if name in ("maintain", "rollback_transaction")
                else {"table": "default.t", **arguments},
                **where,
            )
        )
    for answer in refused:
        assert answer["code"] == "FOREIGN_WAREHOUSE", answer
    assert sorted(folder.rglob("*")) == before
    assert ask("load_table", namespace=["default"], name="t")["table"]["version"] == 1
    assert caplog.text == ""
    dry = ask(
        "call",
        name="vacuum",
        arguments={"table": "default.t", "dry_run": "true"},
        **where,
    )
    assert "rows" in dry
    claimed = ask("call", name="claim", arguments={}, **where)
    assert claimed["rows"][0][:2] == [str(folder), url]
    assert "code" not in ask("drop_table", namespace=["default"], name="t", purge=False)
    shutil.rmtree(folder)


def test_a_catalog_that_is_out_of_date_is_told_in_the_log(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A session is warned as it opens if its store is new in another metastore's warehouse, or retired."""
    folder = tmp_path / "lake"
    with open_metastore(str(folder), create=True) as owner:
        make(owner)
    planner = Planner(NoEngine("UTC"))

    def ask(store: str, op: str, **question: Any) -> Any:
        options = {"warehouse": str(folder), "store": store}
        text = json.dumps({"protocol": PROTOCOL, "op": op, "catalog": "lake", "options": options, **question})
        return json.loads(planner.ask(text))["ok"]

    other = f"sqlite://{tmp_path}/other.sqlite"
    assert ask(other, "list_tables", namespace=["default"])["names"] == []
    assert "catalog lake may be out of date: The warehouse" in caplog.text
    caplog.clear()
    assert ask("sqlite", "list_tables", namespace=["default"])["names"] == ["t"]
    assert caplog.text == ""
    ask(
        other,
        "call",
        name="claim",
        arguments={},
        current_catalog="lake",
        current_namespace=[],
    )
    assert ask("sqlite", "list_tables", namespace=["default"])["names"] == ["t"]
    planner = Planner(NoEngine("UTC"))
    assert ask("sqlite", "list_tables", namespace=["default"])["names"] == ["t"]
    assert "This metastore may only be read" in caplog.text
