"""A Parquet footer of any bytes is read or refused, and a statistic that contradicts it is not trusted."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings, strategies as st

from parquetry.data_files import ArrowFooters, Trust
from parquetry.data_files.footers import parquet_schema
from parquetry.data_files.footers.parquet_footer import ParquetFooter
from parquetry.data_files.footers.parquet_schema import UNCLEAR
from parquetry.data_files.footers.parquet_statistics import (
    FooterVisitor,
    footer_record,
    open_footer,
    parse_tail,
    read_parquet_footer,
)
from parquetry.data_files.footers.parquet_writers import parquet_writer
from parquetry.data_files.footers.thrift import decode_struct
from parquetry.errors import FileCorruptError

LOCAL = pafs.LocalFileSystem()
ODD_FILES = Path(__file__).parents[2] / "fixtures" / "odd-files"


def footer_bytes(path: Path) -> bytes:
    """Return the end of a file: its footer, the footer's length, and the magic number."""
    content = path.read_bytes()
    return content[-8 - int.from_bytes(content[-8:-4], "little") :]


@pytest.fixture(scope="module")
def tail(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("footers") / "a.parquet"
    table = pa.table({"a": [1, None, 3], "s": ["x", "y", None], "n": [{"b": [1.5]}] * 3})
    pq.write_table(table, path, row_group_size=2)
    return footer_bytes(path)


@settings(max_examples=300, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_a_struct_or_no_struct(data: bytes) -> None:
    """The decoder returns, or says that it is none; it neither hangs nor fails otherwise."""
    try:
        _, position = decode_struct(data)
    except ValueError:
        return
    assert 0 < position <= len(data)


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_damaged_footers_are_read_or_refused(tail: bytes, data: st.DataObject) -> None:
    """A footer with bytes changed, left out or doubled is refused, or gives a consistent record."""
    damaged = bytearray(tail[:-8])
    for _ in range(data.draw(st.integers(1, 6))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))
    end = len(damaged).to_bytes(4, "little") + b"PAR1"
    try:
        footer = parse_tail(bytes(damaged) + end, 10_000)
    except ValueError:
        return
    record = footer_record(footer, "a", 10_000, None)
    assert record.rows is None or record.rows >= 0
    for statistics in (record.columns or {}).values():
        assert statistics.nulls is None or 0 <= statistics.nulls <= (record.rows or 0)


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_a_known_schema_changes_no_footer(tail: bytes, data: st.DataObject) -> None:
    """A footer, also a damaged one, is the same after a footer with its schema as after none."""
    damaged = bytearray(tail[:-8])
    for _ in range(data.draw(st.integers(0, 3))):
        place = data.draw(st.integers(0, len(damaged) - 1))
        damaged[place : place + data.draw(st.integers(0, 2))] = data.draw(st.binary(max_size=2))

    def parse() -> ParquetFooter | str:
        try:
            return ParquetFooter.parse(bytes(damaged))
        except ValueError as error:
            return str(error)

    parquet_schema._recent_schemas = ()
    alone = parse()
    parquet_schema._recent_schemas = ()
    whole = ParquetFooter.parse(tail[:-8])
    known = parquet_schema.find_schema(tail[:-8])
    assert known is not None
    assert known.columns == whole.columns
    assert parse() == alone


def test_a_second_schema_in_a_footer_counts(tail: bytes) -> None:
    """The second of two schemas in a footer counts, also if the first one is known."""
    known = parquet_schema.find_schema(tail[:-8])
    assert known is not None
    only_root = b"\x09\x04\x1c\x48\x01r\x00"  # a list, the number 2 written out, one struct, its name
    rows = b"\x16\x06\x00"
    footer = ParquetFooter.parse(known.beginning.data + only_root + rows)
    assert footer.columns == ()


def test_a_long_list_is_not_allocated() -> None:
    """A list of 2^60 elements, announced in a few bytes, is refused before anything is made of it."""
    with pytest.raises(ValueError, match="announced"):
        decode_struct(b"\x19\xf5\xff\xff\xff\xff\xff\xff\xff\xff\x0f\x00")


def test_structs_within_structs_without_end_are_refused() -> None:
    """The decoder limits the nesting itself, before Python reaches its recursion limit."""
    with pytest.raises(ValueError, match="nested"):
        decode_struct(b"\x1c" * 10_000)


def test_encrypted_footers_are_no_broken_files(tmp_path: Path) -> None:
    """A file that ends with PARE is whole: its record knows its size, and nothing else."""
    path = tmp_path / "a.parquet"
    path.write_bytes(b"PARE" + b"x" * 50 + b"\x20\0\0\0PARE")
    seen: list[ParquetFooter] = []
    record = read_parquet_footer(
        LOCAL, str(path), visitor=FooterVisitor(lambda _, footer: seen.append(footer))
    )
    assert (record.rows, record.columns, record.bytes) == (None, None, path.stat().st_size)
    assert [footer.has_encrypted_columns for footer in seen] == [True]


def test_encrypted_columns_have_no_statistics() -> None:
    """PyArrow ends the process at this file. Its plain columns are believed, its rows counted."""
    seen: list[ParquetFooter] = []
    path = str(ODD_FILES / "encrypted_columns.parquet")
    record = read_parquet_footer(LOCAL, path, visitor=FooterVisitor(lambda _, footer: seen.append(footer)))
    assert record.rows == 50
    assert seen[0].has_encrypted_columns
    columns = record.columns or {}
    encrypted = [name for name in ("double_field", "float_field") if name in columns]
    assert encrypted
    assert all(columns[name].min is None and columns[name].nulls in (None, 0) for name in encrypted)


def test_a_footer_that_counts_other_rows_than_its_groups_tells_nothing() -> None:
    """The footer says 0, the row group 6: neither is recorded, so both are read."""
    record = read_parquet_footer(LOCAL, str(ODD_FILES / "repeated_no_annotation.parquet"))
    assert (record.rows, record.columns) == (None, None)


def test_deprecated_bounds_of_decimals_are_not_recorded() -> None:
    """parquet-mr of before 1.10 compared their bytes as signed ones."""
    record = read_parquet_footer(LOCAL, str(ODD_FILES / "fixed_length_decimal.parquet"))
    column = (record.columns or {})["value"]
    assert (record.rows, column.min, column.max) == (24, None, None)
    assert column.stored == "parquet FIXED_LEN_BYTE_ARRAY DECIMAL(25,2)"
    assert column.trust == Trust.BOUNDS


def test_a_fuzzed_file_is_refused_by_its_name() -> None:
    """The error names the file, and is the one of broken files."""
    with pytest.raises(FileCorruptError, match=r"fuzzed\.parquet"):
        read_parquet_footer(LOCAL, str(ODD_FILES / "fuzzed.parquet"))


def test_names_that_are_no_text_are_shown(tail: bytes) -> None:
    """Bytes that are no UTF-8 are shown as such, and name no column of a table."""
    footer = parse_tail(tail.replace(b"\x18\x01s", b"\x18\x01\xff"), 10_000)
    assert [column.name for column in footer.columns] == ["a", "\\xff", "n"]


@pytest.mark.parametrize(
    ("array", "stored"),
    [
        (pa.array([1], pa.int8()), "INT32 INT(8)"),
        (pa.array([1], pa.uint32()), "INT32 UINT(32)"),
        (pa.array([1], pa.timestamp("ms")), "INT64 TIMESTAMP(MILLIS)"),
        (pa.array([1], pa.timestamp("ns", "UTC")), "INT64 TIMESTAMP(NANOS)"),
        (pa.array([1], pa.time64("us")), "INT64 TIME(MICROS)"),
        (pa.array(["a"]), "BYTE_ARRAY STRING"),
        (pa.array([b"a"]), "BYTE_ARRAY"),
        (pa.array([Decimal(1)], pa.decimal128(20, 2)), "FIXED_LEN_BYTE_ARRAY DECIMAL(20,2)"),
    ],
)
def test_types_are_those_of_the_file(tmp_path: Path, array: pa.Array, stored: str) -> None:
    """Physical type and annotation, as Parquet names them."""
    pq.write_table(pa.table({"x": array}), tmp_path / "a")
    (column,) = open_footer(LOCAL, str(tmp_path / "a")).columns
    assert column.stored_type == stored


def test_annotations_that_contradict_are_unclear(tmp_path: Path) -> None:
    """A column that is an INT(8) in the old form and an INT(16) in the new one is neither."""
    pq.write_table(pa.table({"x": pa.array([1], pa.int8())}), tmp_path / "a")
    tail = footer_bytes(tmp_path / "a")
    old = bytes([0x25, 0x1E])  # converted type 15, a zigzag number, as the field after the name
    assert tail.count(old) == 1
    footer = parse_tail(tail.replace(old, bytes([0x25, 0x20])), 10_000)
    assert footer.columns[0].annotation == UNCLEAR


@pytest.mark.parametrize(
    ("name", "trust", "shortens"),
    [
        ("parquet-mr version 1.17.0 (build 1)", Trust.EXACT, True),
        ("parquet-mr version 1.10.0", Trust.EXACT, True),
        ("parquet-mr version 1.9.0", Trust.BOUNDS, True),
        ("parquet-mr", Trust.BOUNDS, True),
        ("parquet-mr compatible Photon version 0.2", Trust.BOUNDS, True),
        ("parquet-cpp-arrow version 26.0.1", Trust.EXACT, False),
        ("parquet-cpp-arrow version 14.0.2", Trust.BOUNDS, True),
        ("parquet-cpp-arrow version 5.0.0", Trust.BOUNDS, True),
        ("parquet-cpp-velox version 1.0", Trust.BOUNDS, True),
        ("parquet-cpp version 1.5.1-SNAPSHOT", Trust.BOUNDS, True),
        ("impala version 2.12", Trust.BOUNDS, True),
        ("", Trust.UNKNOWN, True),
        ("somebody's own", Trust.UNKNOWN, True),
        ("Parquet.Net version 4.25.0 (build 6)", Trust.UNKNOWN, True),
        ("hyparquet", Trust.UNKNOWN, True),
    ],
)
def test_writers(name: str, trust: Trust, shortens: bool) -> None:
    """Who is not known is not believed."""
    writer = parquet_writer(name)
    assert (writer.trust, writer.shortens) == (trust, shortens)


@pytest.mark.parametrize(
    ("version", "believed"),
    [
        ("parquet-cpp-arrow version 26.0.1", True),
        ("parquet-cpp-arrow version 12.0.0", True),
        ("parquet-cpp-arrow version 11.0.0", False),
        ("parquet-cpp-arrow version 4.0.1", False),
        ("parquet-cpp version 1.5.1-SNAPSHOT", False),
    ],
)
def test_texts_of_old_arrow_are_not_known(tmp_path: Path, version: str, believed: bool) -> None:
    """Bounds and NULLs of texts are unknown before Arrow 12. Numbers are not concerned."""
    pq.write_table(pa.table({"n": [1, None], "s": ["a", None]}), tmp_path / "a")
    footer = replace(open_footer(LOCAL, str(tmp_path / "a")), created_by=version)
    columns = footer_record(footer, "a", 1, None).columns
    assert columns is not None
    assert (columns["n"].min, columns["n"].nulls) == (1, 1)
    assert (columns["s"].min, columns["s"].nulls) == (("a", 1) if believed else (None, None))


@pytest.mark.parametrize(
    ("codec", "trust"), [("snappy", Trust.EXACT), ("zstd", Trust.EXACT), ("brotli", Trust.BOUNDS)]
)
def test_a_codec_that_spark_lacks_answers_nothing(tmp_path: Path, codec: str, trust: Trust) -> None:
    """Spark's reader fails at such a column, so its statistics only leave files out."""
    pq.write_table(pa.table({"v": [1, 2]}), tmp_path / "f.parquet", compression=codec)
    (record,) = ArrowFooters("UTC").data_files("parquet", f"file:{tmp_path}", ["f.parquet"])
    assert record.columns is not None
    statistics = record.columns["v"]
    assert (statistics.trust, statistics.min, statistics.min_exact) == (trust, 1, trust == Trust.EXACT)


def test_a_changed_last_byte_is_no_encryption(tmp_path: Path) -> None:
    """An encrypted file begins with PARE, too. One that only ends so is damaged, of any size."""
    path = tmp_path / "f.parquet"
    for rows in (2, 200_000):
        pq.write_table(pa.table({"v": range(rows)}), path, compression="none", use_dictionary=False)
        path.write_bytes(path.read_bytes()[:-1] + b"E")
        with pytest.raises(FileCorruptError, match="ends with PARE, as an encrypted one does"):
            ArrowFooters("UTC").data_files("parquet", f"file:{tmp_path}", ["f.parquet"])
    path.write_bytes(b"PARE" + path.read_bytes()[4:])
    (record,) = ArrowFooters("UTC").data_files("parquet", f"file:{tmp_path}", ["f.parquet"])
    assert record.rows is None
