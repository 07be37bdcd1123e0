"""Field ids of tables, and their comparison with the ids in files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from parquetry.data_files import (
    PHYSICAL_NAME,
    SPARK_FIELD_ID,
    FooterVisitor,
    IdsInFile,
    ParquetFooter,
    TableColumn,
    assign_field_ids,
    ids_in_footer,
    read_parquet_footer,
)
from parquetry.data_files.field_ids import Path as ColumnPath

STRUCT = {
    "type": "struct",
    "fields": [
        {"name": "x", "type": "integer", "nullable": True, "metadata": {}},
        {"name": "y", "type": {"type": "array", "elementType": "long", "containsNull": True}, "nullable": True,
         "metadata": {PHYSICAL_NAME: "z"}},
    ],
}  # fmt: skip
MAP = {"type": "map", "keyType": "string", "valueType": STRUCT, "valueContainsNull": True}
NESTED = {
    ("s",): 1,
    ("s", "x"): 2,
    ("s", "z"): 3,
    ("s", "z", "element"): 4,
    ("m",): 5,
    ("m", "key"): 6,
    ("m", "value"): 7,
    ("m", "value", "x"): 8,
    ("m", "value", "z"): 9,
    ("m", "value", "z", "element"): 10,
    ("p",): 11,
}


def test_every_column_and_field_has_an_id() -> None:
    """Elements, keys and values have one, too, under their names in files; partition columns come last."""
    columns = [TableColumn("p", "date"), TableColumn("s", STRUCT), TableColumn("m", MAP)]
    assert assign_field_ids(columns, ["P"], {}) == NESTED


def test_an_id_is_given_once() -> None:
    """A new column never gets an id of an earlier one, also if that one was dropped."""
    earlier = {("a",): 1, ("b",): 2}
    now = assign_field_ids([TableColumn("a", "long"), TableColumn("c", "long")], [], earlier, [("b",)])
    assert now == {("a",): 1, ("b",): 2, ("c",): 3}
    columns = [TableColumn("a", "long"), TableColumn("b", "long", metadata={PHYSICAL_NAME: "b_1"})]
    assert assign_field_ids(columns, [], now)[("b_1",)] == 4


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ([7, None, 1], [7, 2, 1]),
        ([5, 5, None], [5, 1, 2]),
        (["5", -1, 0], [1, 2, 3]),
        ([2**31 - 1, None, 2**31 - 201], [1, 2, 2**31 - 201]),
    ],
)
def test_ids_in_spark_metadata_are_kept(own: list[Any], expected: list[int]) -> None:
    """Numbers that cannot be ids, and the second use of an id, are not."""
    columns = [
        TableColumn(name, "long", metadata={} if number is None else {SPARK_FIELD_ID: number})
        for name, number in zip("abc", own, strict=True)
    ]
    ids = assign_field_ids(columns, [], {})
    assert [ids[(name,)] for name in "abc"] == expected


def ids_of_file(path: Path, schema: pa.Schema, ids: dict[ColumnPath, int]) -> IdsInFile:
    pq.write_table(schema.empty_table(), path)
    seen: list[ParquetFooter] = []
    read_parquet_footer(
        pafs.LocalFileSystem(), str(path), visitor=FooterVisitor(lambda _, footer: seen.append(footer))
    )
    return ids_in_footer(seen[0], ids)


def numbered(name: str, kind: Any, number: int | None) -> pa.Field:
    metadata = None if number is None else {"PARQUET:field_id": str(number)}
    return pa.field(name, kind, metadata=metadata)


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ({"a": 1, "b": 2}, IdsInFile.OURS),
        ({"B": 2, "a": 1}, IdsInFile.OURS),
        ({"b": 2}, IdsInFile.OURS),
        ({"a": 2, "b": 1}, IdsInFile.FOREIGN),
        ({"a": 1, "b": None}, IdsInFile.FOREIGN),
        ({"a": 1, "x": 7}, IdsInFile.FOREIGN),
        ({"a": None, "b": None}, IdsInFile.BY_POSITION),
        ({"a": None}, IdsInFile.BY_POSITION),
        ({"b": None, "a": None}, IdsInFile.ABSENT),
        ({"a": None, "b": None, "x": None}, IdsInFile.ABSENT),
        ({"b": None}, IdsInFile.ABSENT),
    ],
)
def test_ids_in_a_file(tmp_path: Path, numbers: dict[str, int | None], expected: IdsInFile) -> None:
    """All ids have to agree; without any, positions have to."""
    schema = pa.schema([numbered(name, pa.int64(), number) for name, number in numbers.items()])
    assert ids_of_file(tmp_path / "f.parquet", schema, {("a",): 1, ("b",): 2, ("p",): 3}) == expected


@pytest.mark.parametrize(
    ("element", "value", "expected"),
    [(4, 7, IdsInFile.OURS), (7, 4, IdsInFile.FOREIGN), (4, None, IdsInFile.FOREIGN)],
)
def test_ids_within_a_file(tmp_path: Path, element: int, value: int | None, expected: IdsInFile) -> None:
    """Ids of elements, keys and values count as well."""
    inner = [
        numbered("x", pa.int32(), 2),
        numbered("z", pa.list_(numbered("element", pa.int64(), element)), 3),
    ]
    pairs = pa.map_(
        pa.field("key", pa.string(), nullable=False, metadata={"PARQUET:field_id": "6"}),
        numbered("value", pa.struct([numbered("x", pa.int32(), 8)]), value),
    )
    schema = pa.schema([numbered("s", pa.struct(inner), 1), numbered("m", pairs, 5)])
    assert ids_of_file(tmp_path / "f.parquet", schema, NESTED) == expected


def test_positions_say_nothing_of_nested_columns(tmp_path: Path) -> None:
    """A reader that goes by position finds no fields within them."""
    schema = pa.schema([pa.field("s", pa.struct([pa.field("x", pa.int32())]))])
    assert ids_of_file(tmp_path / "f.parquet", schema, NESTED) == IdsInFile.ABSENT
