"""Columns that are dropped or replaced: which columns may go, and which names their files block.

No new column gets a name that a dropped column has in the files.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parquetry.definition.drop_columns import require_droppable
from parquetry.errors import CommitConflictError, UnsupportedError
from parquetry.metastore import ArrangementSpec, BucketSpec, FileRecord, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from tests.support.spark.asked_lake import BridgeLake

NESTED = {
    "type": "array",
    "containsNull": True,
    "elementType": {
        "type": "struct",
        "fields": [{"name": n, "type": "integer", "nullable": True, "metadata": {}} for n in "xy"],
    },
}
COLUMNS = {"x": "integer", "y": "string", "a": NESTED, "p": "integer"}


@pytest.fixture
def lake(tmp_path: Path) -> Any:
    """A table `t` of columns x, y, a (an array of structs of x and y) and the partition column p."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        lake = BridgeLake(tmp_path, metastore)
        lake.create(columns=COLUMNS, properties={})
        yield lake


def drop(*path: str, if_exists: bool = False) -> dict[str, Any]:
    return {"change": "drop_column", "column": list(path), "if_exists": if_exists}


def add(*path: str, type: Any = "integer", **more: Any) -> dict[str, Any]:
    fields = {"type": type, "nullable": True, "comment": None, "position": None, "metadata": {}}
    return {"change": "add_column", "column": list(path), **fields, **more}


def replacing(*added: dict[str, Any], of: str = "xyap") -> list[dict[str, Any]]:
    """REPLACE COLUMNS as Spark tells it."""
    return [*(drop(name) for name in of), *added]


def files_names(answer: dict[str, Any]) -> list[str]:
    return [field["name"] for field in (answer.get("physical_schema") or answer["schema"])["fields"]]


def names(answer: dict[str, Any]) -> list[str]:
    return [field["name"] for field in answer["schema"]["fields"]]


def test_a_name_is_never_used_twice_in_the_files(lake: BridgeLake) -> None:
    """However often a column is dropped and made again, renamed in between, or made in another case."""
    lake.alter(drop("x"))
    assert files_names(lake.alter(add("x"))) == ["y", "a", "x_1", "p"]
    lake.alter(drop("x"))
    lake.alter({"change": "rename_column", "column": ["y"], "to": "X"})
    assert files_names(lake.alter(add("y"))) == ["y", "a", "y_1", "p"]
    lake.alter(drop("X"))
    answer = lake.alter(add("Y_2"), drop("y"), add("x"), add("Y"))
    assert names(answer) == ["a", "Y_2", "x", "Y", "p"]
    assert files_names(answer) == ["a", "Y_2", "x_2", "Y_3", "p"]
    assert lake.table().metadata.dropped == (("x",), ("x_1",), ("y",), ("y_1",))


def test_nor_in_a_struct(lake: BridgeLake) -> None:
    """A field of the elements of an array keeps to the same, by the names of the files on its way."""
    lake.alter({"change": "rename_column", "column": ["a"], "to": "b"})
    lake.alter(drop("b", "element", "X"))
    answer = lake.alter(add("b", "element", "x"))
    fields = answer["physical_schema"]["fields"][2]["type"]["elementType"]["fields"]
    assert [field["name"] for field in fields] == ["y", "x_1"]
    assert lake.table().metadata.dropped == (("a", "element", "x"),)
    assert files_names(lake.alter(drop("b"), add("a", type=NESTED)))[2] == "a_1"
    fields = lake.ask("load_table", namespace=["default"], name="t")["physical_schema"]["fields"]
    assert [field["name"] for field in fields[2]["type"]["elementType"]["fields"]] == ["x", "y"]


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ([drop("p")], "Column p is a partition column of table default.t, .* make another table"),
        ([drop("X"), drop("nope")], "Column nope is not there; known are y, a, p"),
        ([drop("x"), drop("y"), drop("a")], "Column a is the last that is in the files"),
        (
            [drop("a", "element", "x"), drop("a", "element", "y")],
            "Field a.element.y is the last of its struct",
        ),
        (replacing(), "Column p is a partition column|is the last"),
        (replacing(add("p")), "Column a is the last that is in the files"),
        (replacing(add("y", type="string", nullable=False)), "Column y cannot become NOT NULL"),
        (replacing(add("z", nullable=False)), "Column z cannot be NOT NULL"),
        (replacing(add("y", type="integer")), "Column y is string and cannot become int"),
        (replacing(add("y", type="string"), add("p", type="string")), "p is a partition column: its type"),
    ],
)
def test_what_is_refused_changes_nothing(lake: BridgeLake, changes: list[dict[str, Any]], says: str) -> None:
    """Not even what of the same statement could be done."""
    before = lake.table().metadata
    refused = lake.alter(*changes)
    assert "code" in refused
    assert re.search(says, refused["message"]), refused["message"]
    assert lake.table().metadata == before


def test_if_exists(lake: BridgeLake) -> None:
    """IF EXISTS skips a missing column, and blocks no name for it."""
    assert names(
        lake.alter(drop("nope", if_exists=True), drop("a", "element", "nope", if_exists=True))
    ) == list("xyap")
    assert lake.table().metadata.dropped == ()


def test_a_column_that_a_property_names_stays(lake: BridgeLake) -> None:
    """The error names the property, until it names other columns."""
    for name, value in (("sort-by", "y, `x`"), ("bloom-filter-columns", "X")):
        assert "code" not in lake.alter({"change": "set_property", "key": name, "value": value})
        refused = lake.alter(drop("x"))
        assert f"as the property '{name}' of table default.t names it" in refused["message"]
        lake.alter({"change": "remove_property", "key": name})
    assert names(lake.alter(drop("x"))) == ["y", "a", "p"]


def test_columns_that_are_named_again_stay(lake: BridgeLake) -> None:
    """REPLACE COLUMNS keeps the values of columns that it names again, and the partition columns.

    The other columns are dropped, and the order is the statement's.
    """
    lake.alter({"change": "rename_column", "column": ["x"], "to": "was_x"})
    dropped = [drop(name) for name in ("was_x", "y", "a", "p")]
    answer = lake.alter(*dropped, add("new"), add("WAS_X", type="long", comment="c"))
    assert names(answer) == ["new", "was_x", "p"]
    assert files_names(answer) == ["new", "x", "p"]
    fields = answer["schema"]["fields"]
    assert (fields[1]["type"], fields[1]["metadata"]) == ("long", {"comment": "c"})
    assert lake.table().metadata.dropped == (("y",), ("a",))
    answer = lake.alter(
        *(drop(name) for name in ("new", "was_x", "p")), add("p"), add("was_x", type="long"), add("y")
    )
    assert names(answer) == ["p", "was_x", "y"]
    assert files_names(answer) == ["p", "x", "y_1"]


def test_nobody_arranges_rows_by_it_meanwhile(lake: BridgeLake) -> None:
    """Adding a partition in buckets by a column conflicts with dropping that column, in either order."""
    table = lake.table()

    def adding() -> Any:
        transaction = Transaction(lake.table(), "append")
        transaction.add(
            (1,), None, [FileRecord("f", 1, bucket=1)], ArrangementSpec(buckets=BucketSpec(("x",), 4))
        )
        return transaction

    dropping = Transaction(table, "alter")
    columns = tuple(column for column in table.metadata.columns if column.name != "x")
    dropping.set_metadata(msgspec.structs.replace(table.metadata, columns=columns, dropped=(("x",),)))
    commit(adding())
    with pytest.raises(CommitConflictError, match="how its partitions are arranged"):
        commit(dropping)
    transaction = Transaction(lake.table(), "drop")
    transaction.drop((1,))
    commit(transaction)
    late = adding()
    lake.alter(drop("x"))
    with pytest.raises(CommitConflictError, match="the type of a column that rows are arranged by"):
        commit(late)


def test_a_field_that_is_called_key(tmp_path: Path) -> None:
    """A field named `key` can be dropped from a struct, also below a map's values.

    No field within the keys of a map can be dropped.
    """
    pair = {
        "type": "struct",
        "fields": [{"name": n, "type": "integer", "nullable": True, "metadata": {}} for n in ("key", "v")],
    }
    of_pairs = {"type": "map", "keyType": pair, "valueType": pair, "valueContainsNull": True}
    with open_metastore(str(tmp_path), create=True) as metastore:
        lake = BridgeLake(tmp_path, metastore)
        lake.create(columns={"s": pair, "m": of_pairs, "p": "integer"}, properties={})
        before = metastore.table("default", "t")
        for path in (("s", "key"), ("m", "value", "KEY"), ("m", "value")):
            require_droppable(before, before.metadata, path)
        for path in (("m", "key", "v"), ("m", "KEY", "key")):
            with pytest.raises(UnsupportedError, match="part of the keys of a map"):
                require_droppable(before, before.metadata, path)
