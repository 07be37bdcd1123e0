"""A Delta log that follows a table stays with it; what would leave it behind is refused before it is done."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parquetry.data_files import EXISTS_DEFAULT
from parquetry.errors import UnsupportedError
from parquetry.iceberg import IcebergCatalog
from parquetry.iceberg.clients import Client
from parquetry.metastore import FileRecord, Transaction, commit, open_metastore, vacuum
from parquetry.publishing import publish_delta
from tests.support.readers.cases import STRUCT
from tests.support.spark.asked_lake import BridgeLake

COLUMNS = {"x": "integer", "y": "string", "s": STRUCT, "p": "integer"}
DEFAULT = {EXISTS_DEFAULT: "5", "CURRENT_DEFAULT": "5"}


def add(name: str, kind: str = "integer", **metadata: str) -> dict[str, Any]:
    return {"change": "add_column", "column": [name], "type": kind, "nullable": True, "comment": None, "position": None, "metadata": metadata}  # fmt: skip


def widen(*path: str, to: str) -> dict[str, Any]:
    return {"change": "update_type", "column": list(path), "type": to, "metadata": {}}


def rename(name: str, to: str) -> dict[str, Any]:
    return {"change": "rename_column", "column": [name], "to": to}


CHANGES = {
    "a default": (add("c", **DEFAULT), "lack column c"),
    "a type": (widen("x", to="double"), "was integer before it was double"),
    "a type that Iceberg promotes": (widen("x", to="long"), "was integer before it was long"),
    "the type of a field": (widen("s", "x", to="long"), "s.x was integer before it was long"),
    "a name": (rename("x", "z"), "column z was renamed"),
    "a type that Delta lacks": (add("c", "char(3)"), "would not pad"),
    "a name that Delta lacks": (add("a b"), "a character in its name"),
}


@pytest.fixture
def lake(tmp_path: Path) -> Iterator[BridgeLake]:
    """A table with one file, which a log follows."""
    with open_metastore(str(tmp_path / "lake"), create=True) as metastore:
        made = BridgeLake(tmp_path / "lake", metastore)
        made.create(columns=COLUMNS, properties={"publish": "delta"})
        transaction = Transaction(made.table(), "append")
        transaction.append((1,), [FileRecord("f.parquet", 9, 1, 1, {}, field_ids=1)])
        commit(transaction)
        yield made


def log_of(lake: BridgeLake) -> list[dict[str, Any]]:
    """Return the actions of the commits of the log, in order."""
    files = sorted((lake.folder / "t" / "_delta_log").glob("*.json"))
    return [msgspec.json.decode(line) for file in files for line in file.read_text().splitlines()]


def last_version(lake: BridgeLake) -> int:
    return int([each["commitInfo"] for each in log_of(lake) if "commitInfo" in each][-1]["parquetry.version"])


@pytest.mark.every_case
@pytest.mark.parametrize("name", CHANGES)
def test_a_change_that_the_log_cannot_follow_is_refused(lake: BridgeLake, name: str) -> None:
    """The error says why and how to go on; without the property the change is made, and not published."""
    change, reason = CHANGES[name]
    answer = lake.alter(change)
    assert reason in answer["message"]
    assert "would stay at version 1" in answer["message"]
    assert "UNSET TBLPROPERTIES ('publish')" in answer["message"]
    assert (lake.table().version, last_version(lake)) == (1, 1)
    assert "schema" in lake.alter({"change": "remove_property", "key": "publish"}, change)
    assert (lake.table().version, last_version(lake)) == (2, 1)
    with pytest.raises(UnsupportedError):
        publish_delta(lake.table())
    if name != "a default":  # which only the records of files tell
        assert "would stay" in lake.alter(publish="delta")["message"]


@pytest.mark.every_case
@pytest.mark.parametrize(
    "change",
    [add("c"), {"change": "drop_column", "column": ["y"], "if_exists": False}, add("t", "timestamp_ntz")],
)
def test_other_changes_are_followed(lake: BridgeLake, change: dict[str, Any]) -> None:
    """The log is at the table's version, and asks for a later protocol where a type needs one."""
    assert "schema" in lake.alter(change)
    assert last_version(lake) == lake.table().version == 2
    versions = [each["protocol"]["minReaderVersion"] for each in log_of(lake) if "protocol" in each]
    assert versions == ([1, 3] if change["column"] == ["t"] else [1])


def test_a_table_without_files_may_get_a_default(lake: BridgeLake) -> None:
    """No file lacks the column, and the log shows it."""
    transaction = Transaction(lake.table(), "drop")
    transaction.drop((1,))
    commit(transaction)
    assert "schema" in lake.alter(add("c", **DEFAULT))
    assert last_version(lake) == lake.table().version


@pytest.mark.every_case
@pytest.mark.parametrize("path", [("x",), ("s", "x")])
def test_a_vacuum_does_not_hide_a_former_type(lake: BridgeLake, path: tuple[str, ...]) -> None:
    """The table has files of before when no version has the column's former type any more."""
    lake.alter({"change": "remove_property", "key": "publish"}, widen(*path, to="double"))
    vacuum(lake.table(), keep_from=lake.table().version)
    for read in (publish_delta, lambda table: load(lake)):
        with pytest.raises(UnsupportedError, match="was integer before it was double"):
            read(lake.table())


def load(lake: BridgeLake) -> bytes:
    with open_metastore(str(lake.folder)) as metastore:
        return IcebergCatalog(metastore).load_table("default", "t", Client.JAVA)


HIVE = {"publish": "thrift://127.0.0.1:1/db.t"}
"""A metastore that is never reached: commits hold."""
HIVE_CHANGES = {
    "a default": ((add("c", **DEFAULT),), "its clients would read NULL there"),
    "a type": ((widen("x", to="double"),), "was integer before it was double"),
    "a type that Hive lacks": ((add("c", "timestamp_ntz"),), "which Hive has not"),
    "a name of another column": ((rename("x", "z"), rename("y", "x")), "as another column is now"),
    "a field's name": (
        ({"change": "rename_column", "column": ["s", "x"], "to": "z"},),
        "field s.z was renamed",
    ),
}


@pytest.mark.parametrize("name", HIVE_CHANGES)
def test_a_change_that_a_metastore_cannot_follow_is_refused(lake: BridgeLake, name: str) -> None:
    """The error says why and how to go on; without the property the change is made."""
    changes, reason = HIVE_CHANGES[name]
    assert "schema" in lake.alter(**HIVE)
    version = lake.table().version
    answer = lake.alter(*changes)
    assert reason in answer["message"]
    assert f"followed by a Hive metastore, which would stay at version {version}" in answer["message"]
    assert lake.table().version == version
    assert "schema" in lake.alter({"change": "remove_property", "key": "publish"}, *changes)


@pytest.mark.parametrize("change", [widen("x", to="long"), rename("x", "z"), add("c")])
def test_other_changes_are_followed_by_a_metastore(lake: BridgeLake, change: dict[str, Any]) -> None:
    """Hive's readers promote numbers, and find columns by their names in the files."""
    assert "schema" in lake.alter(**HIVE)
    assert "schema" in lake.alter(change)


@pytest.mark.parametrize(
    "value", ["hive", "thrift://host", "thrift://host/t", "thrift://host/a.b.c", "thrift:///a.b"]
)
def test_a_value_that_names_no_follower_is_refused(lake: BridgeLake, value: str) -> None:
    """The error shows the form."""
    assert "thrift://host:9083/database.table" in lake.alter(publish=value)["message"]
