"""Changes to columns, as pure functions of Spark's JSON."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from parquetry.data_files.records import PHYSICAL_NAME, TableColumn
from parquetry.definition.changes import ColumnChange
from parquetry.definition.schema_changes import change_columns
from parquetry.errors import ColumnExistsError, ColumnNotFoundError, UnsupportedError
from parquetry.layout.schema_json import declare_columns, logical_schema, physical_schema
from parquetry.metastore.storage.model import TableMetadata
from parquetry.types import type_text


def struct(*fields: tuple[str, Any]) -> dict[str, Any]:
    """Return Spark's JSON of a struct."""
    return {
        "type": "struct",
        "fields": [{"name": n, "type": t, "nullable": True, "metadata": {}} for n, t in fields],
    }


def table(
    *columns: tuple[str, Any], partition_by: tuple[str, ...] = (), file_format: Any = "parquet"
) -> TableMetadata:
    """Return the metadata of a table."""
    return TableMetadata(tuple(TableColumn(n, t) for n, t in columns), partition_by, file_format, "/t")


def change(kind: str, *path: str, **more: Any) -> ColumnChange:
    """Return a change, read as the bridge sends it."""
    fields: dict[str, Any] = {
        "add_column": {"nullable": True, "comment": None, "position": None, "metadata": {}},
        "update_type": {"metadata": {}},
    }.get(kind, {})
    found: ColumnChange = msgspec.convert(
        {"change": kind, "column": list(path), **fields, **more}, ColumnChange
    )
    return found


def names(columns: Any) -> list[str]:
    """Return the names of columns."""
    return [column.name for column in columns]


def test_the_files_names_outlive_any_number_of_renamings() -> None:
    """After renamings in a circle each column still has the name under which it was first written."""
    metadata = table(("a", "long"), ("b", "string"), ("s", struct(("x", "long"), ("y", "long"))))
    for path, to in (
        (("a",), "tmp"),
        (("b",), "a"),
        (("tmp",), "b"),
        (("s", "x"), "t"),
        (("s", "y"), "x"),
        (("s", "t"), "y"),
    ):
        columns = change_columns(metadata, change("rename_column", *path, to=to))
        metadata = table()
        metadata = TableMetadata(columns, (), "parquet", "/t")
    assert names(metadata.columns) == ["b", "a", "s"]
    logical, physical = logical_schema(metadata.columns), physical_schema(metadata.columns)
    assert [f["name"] for f in physical["fields"]] == ["a", "b", "s"]
    assert [f["name"] for f in logical["fields"][2]["type"]["fields"]] == ["y", "x"]
    assert [f["name"] for f in physical["fields"][2]["type"]["fields"]] == ["x", "y"]
    assert PHYSICAL_NAME not in repr(logical)
    assert PHYSICAL_NAME not in repr(physical)


def test_a_new_column_under_a_name_that_files_use() -> None:
    """A column added under the former name of another gets another name in the files, again and again."""
    metadata = table(("a", "long"))
    for step in range(3):
        metadata = TableMetadata(
            change_columns(metadata, change("rename_column", "a", to=f"old{step}")), (), "parquet", "/t"
        )
        metadata = TableMetadata(
            change_columns(metadata, change("add_column", "A", type="long")), (), "parquet", "/t"
        )
        metadata = TableMetadata(
            change_columns(metadata, change("rename_column", "A", to="a")), (), "parquet", "/t"
        )
    physical = [column.physical.lower() for column in metadata.columns]
    assert len(set(physical)) == 4
    assert physical[0] == "a"


def test_what_is_given_is_left_alone() -> None:
    """A change makes new columns and touches neither the old ones nor the change, nested types included."""
    metadata = table(("s", struct(("x", "long"))), ("t", "long"))
    before = repr(metadata)
    for each in (
        change("add_column", "s", "y", type="long"), change("rename_column", "s", "x", to="z"),
        change("update_comment", "s", "x", comment="c"), change("update_position", "t", position=""),
        change("update_nullability", "t", nullable=True),
    ):  # fmt: skip
        change_columns(metadata, each)
    assert repr(metadata) == before


@pytest.mark.parametrize(
    ("position", "order"),
    [(None, ["a", "b", "n"]), ("", ["n", "a", "b"]), ("A", ["a", "n", "b"]), ("b", ["a", "b", "n"])],
)
def test_places(position: str | None, order: list[str]) -> None:
    """A column goes to the end, to the front, or after another, whose case does not matter."""
    assert (
        names(
            change_columns(
                table(("a", "long"), ("b", "long")), change("add_column", "n", type="long", position=position)
            )
        )
        == order
    )


def test_moving_a_column_after_itself_fails() -> None:
    """A column cannot be moved after itself or after a missing column; the columns stay unchanged."""
    metadata = table(("a", "long"), ("b", "long"))
    for position in ("a", "nope"):
        with pytest.raises(ColumnNotFoundError, match=f"Column {position} is not there"):
            change_columns(metadata, change("update_position", "a", position=position))


WIDENINGS = {
    ("byte", "short"): "both", ("byte", "long"): "both", ("integer", "long"): "both", ("float", "double"): "both",
    ("decimal(5,2)", "decimal(6,2)"): "both", ("varchar(3)", "varchar(4)"): "both", ("varchar(3)", "string"): "both",
    ("decimal(5,2)", "decimal(7,4)"): "parquet", ("integer", "double"): "parquet", ("integer", "decimal(10,0)"): "parquet",
    ("long", "decimal(20,0)"): "parquet", ("date", "timestamp_ntz"): "parquet", ("short", "decimal(12,2)"): "parquet",
    ("byte", "decimal(3,0)"): "", ("short", "decimal(5,0)"): "", ("long", "decimal(19,0)"): "",
    ("long", "integer"): "", ("double", "float"): "", ("long", "double"): "", ("integer", "float"): "",
    ("integer", "decimal(9,0)"): "", ("decimal(5,2)", "decimal(4,2)"): "", ("decimal(5,2)", "decimal(6,4)"): "",
    ("decimal(5,2)", "decimal(6,1)"): "", ("string", "varchar(3)"): "", ("varchar(4)", "varchar(3)"): "",
    ("integer", "string"): "", ("string", "binary"): "", ("date", "timestamp"): "", ("timestamp", "timestamp_ntz"): "",
    ("boolean", "integer"): "", ("char(3)", "char(4)"): "",
}  # fmt: skip


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
@pytest.mark.parametrize(("types", "where"), WIDENINGS.items())
def test_widening(types: tuple[str, str], where: str, file_format: str) -> None:
    """A type may change only if files of the format can be read as the new type.

    The error names the column and its types.
    """
    old, new = types
    metadata = table(("c", old), ("s", struct(("x", old))), file_format=file_format)
    for path in (("c",), ("s", "x")):
        update = change("update_type", *path, type=new)
        if where in ("both", file_format):
            assert new in repr(change_columns(metadata, update))
        else:
            with pytest.raises(UnsupportedError, match=rf"Column {'.'.join(path)} is .* and cannot become"):
                change_columns(metadata, update)


@pytest.mark.parametrize(
    ("each", "error", "says"),
    [
        (change("add_column", "A", type="long"), ColumnExistsError, "Column A is already there"),
        (change("add_column", "s", "X", type="long"), ColumnExistsError, "Column s.X is already there"),
        (change("add_column", "n", type="long", nullable=False), UnsupportedError, "Column n cannot be NOT NULL"),
        (change("add_column", "a", "x", type="long"), ColumnNotFoundError, "a.x names a field of something that is not a struct"),
        (change("add_column", "n", type="string", metadata={"__COLLATIONS": {"n": "x"}}), UnsupportedError, "column n has a collation"),
        (change("rename_column", "nope", to="x"), ColumnNotFoundError, "Column nope is not there; known are a, s, p"),
        (change("rename_column", "a", to="S"), ColumnExistsError, "Column S is already there"),
        (change("update_type", "P", type="long"), UnsupportedError, "P is a partition column"),
        (change("update_nullability", "a", nullable=False), UnsupportedError, "Column a cannot become NOT NULL"),
        (change("drop_column", "s", "x"), UnsupportedError, "Field s.x is the last of its struct"),
        (change("drop_column", "nope"), ColumnNotFoundError, "Column nope is not there"),
        (change("drop_column", "s", "nope"), ColumnNotFoundError, "Column s.nope is not there; known are x"),
    ],
)  # fmt: skip
def test_refusals(each: ColumnChange, error: type[Exception], says: str) -> None:
    """An impossible change raises an error that names the column."""
    with pytest.raises(error, match=says):
        change_columns(
            table(("a", "long"), ("s", struct(("x", "long"))), ("p", "integer"), partition_by=("p",)), each
        )


def test_declared_columns() -> None:
    """A new table takes no physical names from the table that its columns came from.

    It refuses two names that differ only in letter case.
    """
    fields = struct(("a", "long"), ("s", struct(("x", "long"))))["fields"]
    fields[0]["metadata"] = {PHYSICAL_NAME: "old", "comment": "c"}
    fields[1]["type"]["fields"][0]["metadata"] = {PHYSICAL_NAME: "old"}
    columns = declare_columns(fields, "parquet")
    assert columns[0].metadata == {"comment": "c"}
    assert PHYSICAL_NAME not in repr(columns)
    array = {"type": "array", "elementType": struct(("x", "long"), ("X", "long")), "containsNull": True}
    with pytest.raises(
        ColumnExistsError, match=r"Columns a\.element\.x and a\.element\.X differ in letter case only"
    ):
        declare_columns(struct(("a", array))["fields"], "parquet")


@pytest.mark.parametrize(
    ("type_", "parquet_only"), [("variant", True), ("void", True), ("long", False), ("interval day", False)]
)
def test_types_that_orc_has_not(type_: str, parquet_only: bool) -> None:
    """A type that ORC lacks is refused when the table is made, at any depth."""
    fields = struct(
        (
            "m",
            {
                "type": "map",
                "keyType": "string",
                "valueType": struct(("v", type_)),
                "valueContainsNull": True,
            },
        )
    )
    declare_columns(fields["fields"], "parquet")
    if not parquet_only:
        declare_columns(fields["fields"], "orc")
        return
    with pytest.raises(
        UnsupportedError,
        match=rf"Column m\.value\.v is of type {type_}, which ORC has not: say USING parquet",
    ):
        declare_columns(fields["fields"], "orc")


def test_types_as_text() -> None:
    """A type is shown as DDL writes it."""
    nested = {
        "type": "map",
        "keyType": "string",
        "valueType": {"type": "array", "elementType": struct(("a b", "decimal(5,2)"))},
    }
    assert type_text(nested) == "map<string,array<struct<a b:decimal(5,2)>>>"
    assert type_text("integer") == "int"


def moved(metadata: TableMetadata, *changes: ColumnChange) -> list[str]:
    """Return the names of a table's columns after some changes."""
    for one in changes:
        metadata = TableMetadata(change_columns(metadata, one), metadata.partition_by, metadata.format, "/t")
    return names(metadata.columns)


def added(name: str, position: str | None = None) -> ColumnChange:
    """Return the change that adds a column; position is None, "" (FIRST) or the name of a column."""
    return change("add_column", name, type="long", position=position)


def placed(name: str, position: str) -> ColumnChange:
    """Return the change that moves a column."""
    return change("update_position", name, position=position)


def test_new_columns_come_before_the_partition_columns_at_the_end() -> None:
    """New columns of one statement keep their order, and FIRST and AFTER place them.

    Fields of structs go to the end.
    """
    metadata = table(
        ("id", "long"), ("s", struct(("q", "long"))), ("p", "long"), ("q", "string"), partition_by=("P", "q")
    )
    assert moved(metadata, added("a"), added("b")) == ["id", "s", "a", "b", "p", "q"]
    assert moved(metadata, added("a", ""), added("b", "a"), added("c")) == [
        "a",
        "b",
        "id",
        "s",
        "c",
        "p",
        "q",
    ]
    assert moved(metadata, added("a", "S")) == ["id", "s", "a", "p", "q"]
    columns = change_columns(metadata, change("add_column", "s", "n", type="long"))
    assert [field["name"] for field in columns[1].type["fields"]] == ["q", "n"]
    assert names(columns) == ["id", "s", "p", "q"]
    assert moved(table(("id", "long"), ("v", "long")), added("a")) == ["id", "v", "a"]


def test_partition_columns_elsewhere_keep_the_declared_order() -> None:
    """Only partition columns at the end stay at the end.

    A partition column in the middle keeps its declared position, as in Spark's V2.
    """
    middle = table(("id", "long"), ("p", "long"), ("v", "long"), partition_by=("p",))
    assert moved(middle, added("a"), added("b", "p")) == ["id", "p", "b", "v", "a"]
    assert moved(middle, placed("p", "")) == ["p", "id", "v"]
    assert moved(middle, placed("p", "v"), added("a")) == ["id", "v", "a", "p"]
    mixed = table(("p", "long"), ("id", "long"), ("q", "long"), partition_by=("p", "q"))
    assert moved(mixed, added("a"), added("b", "p")) == ["p", "b", "id", "a", "q"]
    assert moved(mixed, placed("p", "q"), added("a")) == ["id", "a", "q", "p"]


@pytest.mark.parametrize(
    "one", [added("a", "p"), added("a", "q"), placed("id", "q"), placed("id", "P")], ids=str
)
def test_nothing_comes_behind_partition_columns_at_the_end(one: ColumnChange) -> None:
    """Nor between them: the error names them and the remedy."""
    metadata = table(("id", "long"), ("v", "long"), ("p", "long"), ("q", "long"), partition_by=("p", "q"))
    with pytest.raises(UnsupportedError, match=r"\(p, q\) stay there.*Say FIRST or AFTER another column"):
        moved(metadata, one)
    assert moved(metadata, placed("id", "v")) == ["v", "id", "p", "q"]


def test_a_partition_column_goes_where_it_is_told_to() -> None:
    """A partition column moves among the partition columns at the end, or away from the end.

    Afterwards only the partition columns that are still at the end stay there.
    """
    metadata = table(("id", "long"), ("p", "long"), ("q", "long"), partition_by=("p", "q"))
    assert moved(metadata, placed("p", "q"), added("a")) == ["id", "a", "q", "p"]
    assert moved(metadata, placed("P", ""), added("a"), added("b", "p")) == ["p", "b", "id", "a", "q"]


def test_a_struct_without_fields_gets_advice_for_files_that_are_there() -> None:
    """Files of a LOCATION cannot become ORC, so the error also says to name the other columns."""
    struct = {"type": "struct", "fields": []}
    fields = [{"name": "id", "type": "long"}, {"name": "odd", "type": struct}]
    with pytest.raises(UnsupportedError, match=r"Column odd .*LOCATION, name the others"):
        declare_columns(fields, "parquet")
    assert [column.name for column in declare_columns(fields, "orc")] == ["id", "odd"]
