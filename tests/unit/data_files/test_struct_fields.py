"""Statistics of fields of structs: what is recorded of a file, and what it says of the table's fields."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from parquetry.data_files import (
    EXISTS_DEFAULT,
    PHYSICAL_NAME,
    ColumnStatistics,
    FileRecord,
    RecordedFiles,
    TableColumn,
    bound_fields,
    bounds_in_files,
    bounds_reader,
    footer_record,
    list_bounds_in_files,
    open_footer,
    project_files,
    read_parquet_footer,
    struct_fields,
    without_table_types,
)
from parquetry.identifiers import field_name
from parquetry.metastore.manifest.columns import ChunkColumns, encode_columns
from parquetry.metastore.manifest.summary import summarise, types_of


def struct(*fields: tuple[str, Any], **physical: str) -> dict[str, Any]:
    listed = [
        {
            "name": n,
            "type": t,
            "nullable": True,
            "metadata": {PHYSICAL_NAME: physical[n]} if n in physical else {},
        }
        for n, t in fields
    ]
    return {"type": "struct", "fields": listed}


KIND = struct(("a", "integer"), ("t", struct(("b", "string"))))
COLUMN = TableColumn("s", KIND)
ARROW = pa.struct([("a", pa.int32()), ("t", pa.struct([("b", pa.string())]))])


def record(folder: Path, column: pa.Array, name: str = "s", **options: Any) -> FileRecord:
    pq.write_table(pa.table({name: column}), folder / "f.parquet", **options)
    return read_parquet_footer(pafs.LocalFileSystem(), str(folder / "f.parquet"))


def bounds(column: TableColumn, file: FileRecord) -> tuple[Any, ...]:
    """Return the least and the greatest value and the NULLs, which one file and many have alike."""
    one = bounds_reader(column)(file)
    (many,) = list_bounds_in_files(column, RecordedFiles([file]))
    assert one == many
    return (None,) * 3 if one is None else (one.min, one.max, one.nulls)


def fields(column: TableColumn = COLUMN) -> dict[str, TableColumn]:
    return {field.name.replace("\x7f", "."): field for field in struct_fields([column])}


def test_null_structs_make_their_fields_null(tmp_path: Path) -> None:
    """A field's NULLs include rows without the struct; a struct's are unknown, unless a field has none."""
    rows = [{"a": 1, "t": {"b": "x"}}, None, {"a": 5, "t": None}, {"a": None, "t": {"b": None}}]
    file = record(tmp_path, pa.array(rows, ARROW))
    known = fields()
    assert bounds(known["s.a"], file) == (1, 5, 2)
    assert bounds(known["s.t.b"], file) == ("x", "x", 3)
    assert bounds(known["s.t"], file) == bounds(COLUMN, file) == (None, None, None)
    whole = record(tmp_path, pa.array([{"a": 1, "t": None}, {"a": 2, "t": {"b": None}}], ARROW))
    assert bounds(COLUMN, whole) == (None, None, 0)
    assert bounds(known["s.t"], whole) == (None, None, None)
    assert bounds(known["s.t.b"], whole) == (None, None, 2)


def test_required_fields_of_nullable_structs_can_be_null(tmp_path: Path) -> None:
    """A field that the file calls required is NULL where its struct is."""
    kind = pa.struct([pa.field("a", pa.int32(), nullable=False)])
    file = record(tmp_path, pa.array([{"a": 1}, None], kind))
    assert bounds(fields()["s.a"], file) == (1, 1, 1)
    required = pa.schema([pa.field("s", kind, nullable=False)])
    pq.write_table(pa.Table.from_pylist([{"s": {"a": 1}}], required), tmp_path / "f.parquet")
    every = read_parquet_footer(pafs.LocalFileSystem(), str(tmp_path / "f.parquet"))
    assert bounds(fields()["s.a"], every) == (1, 1, 0)


def test_arrays_and_maps_within_have_no_bounds(tmp_path: Path) -> None:
    """A field that is an array has an entry without statistics; what is within has none."""
    kind = pa.struct([("l", pa.list_(pa.int32())), ("m", pa.map_(pa.string(), ARROW))])
    file = record(tmp_path, pa.array([{"l": [1], "m": [("k", {"a": 1, "t": None})]}], kind))
    assert set(file.columns or {}) == {"s", "s\x7f", "s\x7fl", "s\x7fm"}
    column = TableColumn(
        "s", struct(("l", {"type": "array", "elementType": "integer", "containsNull": True}))
    )
    assert bounds(fields(column)["s.l"], file) == (None, None, None)


def test_counts_of_nulls_need_an_exact_writer(tmp_path: Path) -> None:
    """Bounds of an old Arrow count, its NULLs of fields do not: some versions counted them wrong."""
    record(tmp_path, pa.array([{"a": 1}, None], pa.struct([("a", pa.int32())])))
    footer = open_footer(pafs.LocalFileSystem(), str(tmp_path / "f.parquet"))

    of_old = footer_record(replace(footer, created_by="parquet-cpp-arrow version 13.0.0"), "f", 1, 1)
    assert bounds(fields()["s.a"], of_old) == (1, 1, None)
    unknown = footer_record(replace(footer, created_by="mine"), "f", 1, 1)
    assert bounds(fields()["s.a"], unknown) == (None, None, None)


@pytest.mark.parametrize("chunked", [False, True])
def test_fields_that_a_file_lacks_are_null(tmp_path: Path, chunked: bool) -> None:
    """A file without a field, or without the struct, has NULL there, if its record tells all fields."""
    column = TableColumn("s", struct(("a", "integer"), ("new", "integer")))
    new = fields(column)["s.new"]
    file = record(tmp_path, pa.array([{"a": 1, "t": None}], ARROW))
    old = msgspec.structs.replace(
        file, columns={name: each for name, each in (file.columns or {}).items() if "\x7f" not in name}
    )
    without = record(tmp_path, pa.array([1]), name="i")
    files = RecordedFiles([file, old, without, bound_fields(file, 1)])
    batch = (
        project_files(ChunkColumns(encode_columns(files)), np.arange(4), [new.physical]) if chunked else files
    )
    states = [each and each.all_null for each in list_bounds_in_files(new, batch)]
    assert states == [True, None, True, None]
    filled = fields(
        TableColumn("s", column.type, metadata={EXISTS_DEFAULT: "named_struct('a', 1, 'new', 2)"})
    )
    states = [each and each.all_null for each in list_bounds_in_files(filled["s.new"], batch)]
    assert states == [True, None, None, None]


def test_a_field_is_found_by_its_name_in_files(tmp_path: Path) -> None:
    """A renamed field keeps its statistics, in any letter case; a new field of the old name has none."""
    file = record(tmp_path, pa.array([{"a": 1, "t": {"b": "x"}}], ARROW), name="S")
    column = TableColumn(
        "now", struct(("a", "integer"), ("c", "integer"), c="A", a="a#2"), metadata={PHYSICAL_NAME: "s"}
    )
    known = fields(column)
    assert bounds(known["now.c"], file) == (1, 1, 0)
    assert bounds(known["now.a"], file) == (None, None, 1)


def test_names_with_dots_and_separators_are_no_fields(tmp_path: Path) -> None:
    """A column `s.a`, and names with our separator, have nothing of a field's statistics."""
    table = pa.table({"s": pa.array([{"a": 1}], pa.struct([("a", pa.int32())])), "s.a": [7], "s\x7fa": [9]})
    pq.write_table(table, tmp_path / "f.parquet")
    file = read_parquet_footer(pafs.LocalFileSystem(), str(tmp_path / "f.parquet"))
    assert bounds(fields()["s.a"], file) == (1, 1, 0)
    assert bounds(TableColumn("s.a", "long"), file) == (7, 7, 0)
    assert bounds(TableColumn("s\x7fa", "long"), file) == (None, None, None)
    assert (
        struct_fields(
            [TableColumn("s\x7fa", KIND), TableColumn("x", struct(("", "long"), ("a\x7f", "long")))]
        )
        == []
    )


def test_two_fields_of_one_name_have_no_statistics(tmp_path: Path) -> None:
    """Fields of one name, also in other letter case, cannot be distinguished."""
    for names in (("a", "a"), ("a", "A")):
        array = pa.StructArray.from_arrays([pa.array([1]), pa.array([7])], names=list(names))
        file = record(tmp_path, array)
        assert bounds(fields()["s.a"], file) == (None, None, None)


def test_a_number_or_names_limit_what_is_recorded(tmp_path: Path) -> None:
    """The first fields are kept, or the named ones with all within; the others are unknown."""
    file = record(tmp_path, pa.array([{"a": 1, "t": {"b": "x"}}], ARROW))
    kept = {limit: set(bound_fields(file, limit).columns or {}) for limit in (0, 1, 3)}
    assert kept == {0: {"s"}, 1: {"s", "s\x7fa"}, 3: set(file.columns or {})}
    assert set(bound_fields(file, [("S", "T")]).columns or {}) == {"s", "s\x7ft", "s\x7ft\x7fb"}


def test_a_summary_knows_no_more_than_its_files(tmp_path: Path) -> None:
    """The summary of a chunk has the fields' bounds, and calls no field absent that a file may have."""
    arrays = [pa.array([{"a": n, "t": {"b": f"x{n}"}}], ARROW) for n in (1, 7)]
    file, other = (without_table_types(record(tmp_path, array), [COLUMN]) for array in arrays)
    types = types_of([COLUMN])
    assert bounds(fields()["s.a"], summarise(RecordedFiles([file, other]), types)) == (1, 7, 0)
    assert bounds(fields()["s.t.b"], summarise(RecordedFiles([file, other]), types)) == ("x1", "x7", 0)
    mixed = summarise(RecordedFiles([file, bound_fields(other, 1)]), types)
    assert bounds(fields()["s.t.b"], mixed) == (None, None, None)
    assert bounds(fields()["s.a"], mixed) == (1, 7, 0)


def test_statistics_of_fields_in_arrays_are_those_of_single_files() -> None:
    """Many files are judged as one is, also where records lack fields."""
    (field,) = struct_fields([TableColumn("s", struct(("a", "integer")))])
    entries = [
        {"s": ColumnStatistics(), field.physical: ColumnStatistics(nulls=1, min=n, max=n + 1, trust=2)}
        if n % 3
        else {"s": ColumnStatistics(), "s\x7f": ColumnStatistics(nulls=n % 2, trust=1)}
        for n in range(100)
    ]
    files = RecordedFiles([FileRecord(f"f{n}", 1, 5, columns=known) for n, known in enumerate(entries)])
    many = bounds_in_files(field, files)
    assert many is not None
    read = bounds_reader(field)
    singles = [read(file) for file in files.records()]
    assert [each.null_state if each else 1 for each in singles] == np.asarray(many.bounds.nulls).tolist()
    assert field.physical == field_name(["s", "a"])
