"""Constraints of a table are stored and reported as they were written.

They block changes that would make them untrue.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parquetry.errors import CommitConflictError
from parquetry.metastore import FileRecord, Metastore, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from tests.support.spark.asked_lake import BridgeLake

POSITIVE = {"name": "Positive", "kind": "check", "predicate": "`x` > 0 AND s.a < 9", "enforced": True}
KEY = {"name": "pk", "kind": "primary_key", "columns": [["p"], ["y"]], "rely": True}
OTHER = {
    "name": "fk", "kind": "foreign_key", "columns": [["x"]], "references": ["db", "o"], "referenced": [["id"]],
    "status": "VALID",
}  # fmt: skip
DEFAULTS = {
    "predicate": None, "columns": [], "references": [], "referenced": [], "enforced": False, "rely": False,
    "status": "UNVALIDATED",
}  # fmt: skip
STRUCT = {"type": "struct", "fields": [{"name": "a", "type": "integer", "nullable": True, "metadata": {}}]}
COLUMNS = {"x": "integer", "y": "string", "s": STRUCT, "z": "integer", "p": "integer"}


@pytest.fixture
def metastore(tmp_path: Path) -> Iterator[Metastore]:
    """An empty metastore."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        yield metastore


@pytest.fixture
def lake(tmp_path: Path, metastore: Metastore) -> BridgeLake:
    """A catalog with a table `t` that has constraints of three kinds."""
    lake = BridgeLake(tmp_path, metastore)
    lake.create(columns=COLUMNS, properties={}, constraints=[POSITIVE, KEY, OTHER])
    return lake


def add(constraint: dict[str, Any], version: str | None = None) -> dict[str, Any]:
    return {"change": "add_constraint", "constraint": constraint, "version": version}


def drop(name: str, if_exists: bool = False) -> dict[str, Any]:
    return {"change": "drop_constraint", "name": name, "if_exists": if_exists}


def told(answer: dict[str, Any]) -> list[str]:
    return [each["name"] for each in answer.get("constraints", [])]


def test_they_are_told_as_they_were_given(lake: BridgeLake) -> None:
    """The answer has each field of each constraint, in the order of definition; new constraints follow."""
    found = lake.ask("load_table", namespace=["default"], name="t")
    given = [POSITIVE, KEY, OTHER]
    assert found["constraints"] == [DEFAULTS | each for each in given]
    given.append({"name": "u", "kind": "unique", "columns": [["z"]]})
    assert lake.alter(add(given[-1]))["constraints"] == [DEFAULTS | each for each in given]
    assert told(lake.alter(drop("POSITIVE"), drop("nope", if_exists=True))) == ["pk", "fk", "u"]


def test_names_are_unique(lake: BridgeLake) -> None:
    """Names of constraints are unique in any letter case, also within one statement.

    A table has at most one primary key.
    """
    refused = lake.alter(add({**POSITIVE, "name": "POSITIVE"}))
    assert refused["code"] == "CONSTRAINT_EXISTS"
    assert "DROP CONSTRAINT Positive before" in refused["message"]
    twice = lake.create("u", columns=COLUMNS, properties={}, constraints=[POSITIVE, POSITIVE])
    assert twice["code"] == "CONSTRAINT_EXISTS"
    assert "Table default.t has a primary key, pk" in lake.alter(add({**KEY, "name": "k"}))["message"]
    missing = lake.alter(drop("nope"))
    assert missing["code"] == "CONSTRAINT_NOT_FOUND"
    assert "has no constraint nope; there are: Positive, pk, fk." in missing["message"]
    assert told(lake.alter()) == ["Positive", "pk", "fk"]


@pytest.mark.parametrize(
    ("path", "by"),
    [(["X"], "Positive"), (["s", "a"], "Positive"), (["s"], "Positive"), (["y"], "pk"), (["z"], None)],
)
def test_columns_that_are_named_stay(lake: BridgeLake, path: list[str], by: str | None) -> None:
    """A column that a constraint names can be neither dropped nor renamed.

    The text of a CHECK would then mean another column, or none.
    """
    for change in (
        {"change": "rename_column", "column": path, "to": "new"},
        {"change": "drop_column", "column": path, "if_exists": False},
    ):
        answer = lake.alter(change)
        if by is None:
            assert "code" not in answer
            return
        assert answer["code"] == "CONSTRAINED_COLUMN_CHANGE"
        assert f"as constraint {by} of table default.t names it" in answer["message"]


def test_rows_are_tested_of_the_version_that_is_altered(lake: BridgeLake) -> None:
    """A check that was tested on an older version is refused, because later rows were not tested."""
    tested = str(lake.table().version)
    lake.alter(k="1")
    new = {"name": "n", "kind": "check", "predicate": "z > 0", "enforced": True}
    refused = lake.alter(add(new, tested))
    assert refused["code"] == "COMMIT_CONFLICT"
    assert f"while the rows of version {tested} were tested by constraint n" in refused["message"]
    assert told(lake.alter(add(new, str(lake.table().version)))) == ["Positive", "pk", "fk", "n"]


def test_rows_do_not_slip_past_a_new_check(lake: BridgeLake) -> None:
    """Rows written for a version before a check are refused, and so is a check if rows came meanwhile.

    New keys refuse no rows.
    """
    append = Transaction(lake.table(), "append")
    append.append((1,), [FileRecord("a", 1, 1)])
    lake.alter(add({"name": "n", "kind": "check", "predicate": "z > 0", "enforced": True}))
    with pytest.raises(CommitConflictError, match="constraints or properties was changed"):
        commit(append)
    base = lake.table()
    alter = Transaction(base, "alter")
    alter.set_metadata(msgspec.structs.replace(base.metadata, constraints=()))
    other = Transaction(lake.table(), "append")
    other.append((1,), [FileRecord("b", 1, 1)])
    commit(other)
    with pytest.raises(CommitConflictError):
        commit(alter)
    append = Transaction(lake.table(), "append")
    append.append((2,), [FileRecord("c", 1, 1)])
    lake.alter(add({"name": "u", "kind": "unique", "columns": [["z"]]}))
    commit(append)
