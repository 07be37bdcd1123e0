"""Files are read with the names, types, defaults and partitions of the table, or refused."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.orc as orc
import pyarrow.parquet as pq
import pytest

from parquetry.data_files import ColumnStatistics, FileRecord, TableColumn
from parquetry.errors import FileCorruptError, FileMissingError, UnsupportedError
from parquetry.predicate import parse_filter
from parquetry.rows import FileRows, ReadRequest, read_file, stored_file
from parquetry.rows.stored_file import StoredFile
from tests.support.readers.encrypted_files import encryption_of

EXISTS = "EXISTS_DEFAULT"
PHYSICAL = "parquetry.physical"


def column(name: str, type: Any, **metadata: Any) -> TableColumn:
    return TableColumn(name, type, metadata=metadata)


def rows_of(
    path: Path,
    columns: Sequence[TableColumn],
    *,
    where: str | None = None,
    partition: Sequence[tuple[TableColumn, Any]] = (),
    record: FileRecord | None = None,
    zone: str | None = None,
) -> list[dict[str, Any]]:
    """Return the rows of a file, as Python's values."""
    by = tuple(each for each, _ in partition)
    every = (*columns, *by)
    more = {} if where is None else {"filter": parse_filter(where, {c.name: c.column_type for c in every})}
    request = ReadRequest(path.suffix[1:], every, tuple(columns), by, zone=zone, **more)
    file = FileRows(str(path), record or FileRecord(path.name, 1), tuple(value for _, value in partition))
    return [row for batch in read_file(request, file) for row in batch.to_pylist()]


@pytest.fixture
def parquet(tmp_path: Path) -> Path:
    return tmp_path / "f.parquet"


def test_columns_have_their_names_of_now(parquet: Path) -> None:
    """A column is found by its physical name in any case, also within lists of structs."""
    kind = pa.list_(pa.struct([("q", pa.int32()), ("gone", pa.int32())]))
    pq.write_table(pa.table({"Old": [1], "l": pa.array([[{"q": 2, "gone": 3}, None]], kind)}), parquet)
    fields = [
        {"name": "new", "type": "long", "nullable": True, "metadata": {PHYSICAL: "q"}},
        {"name": "later", "type": "string", "nullable": True, "metadata": {}},
    ]
    nested = {"type": "array", "elementType": {"type": "struct", "fields": fields}, "containsNull": True}
    columns = [column("renamed", "long", **{PHYSICAL: "old"}), column("l", nested)]
    assert rows_of(parquet, columns) == [{"renamed": 1, "l": [{"new": 2, "later": None}, None]}]


@pytest.mark.parametrize(
    ("stored", "type", "value"),
    [
        (pa.array([5], pa.int8()), "integer", 5),
        (pa.array([5], pa.uint16()), "long", 5),
        (pa.array([5], pa.int32()), "double", 5.0),
        (pa.array([1.5], pa.float32()), "double", 1.5),
        (pa.array([Decimal("1.50")], pa.decimal128(5, 2)), "decimal(12,4)", Decimal("1.5000")),
        (pa.array([7], pa.int32()), "decimal(20,2)", Decimal("7.00")),
        (pa.array([dt.date(2024, 2, 29)]), "timestamp_ntz", dt.datetime(2024, 2, 29)),
        (pa.array(["x"]).dictionary_encode(), "string", "x"),
        (pa.array(["x"], pa.large_string()), "binary", b"x"),
        (pa.array([b"x"]), "string", "x"),
        (pa.array(["é"]), "char(3)", "é  "),
        (pa.array(["abcd"]), "char(3)", "abcd"),
        (pa.array([5], pa.timestamp("ms")), "timestamp", dt.datetime(1970, 1, 1, 0, 0, 0, 5000, dt.UTC)),
        (pa.array([5], pa.timestamp("us", "UTC")), "timestamp_ntz", dt.datetime(1970, 1, 1, 0, 0, 0, 5)),
        (pa.array([5], pa.duration("us")), "long", 5),
        (pa.array([5], pa.int64()), "interval day to second", dt.timedelta(microseconds=5)),
    ],
    ids=str,
)  # fmt: skip
def test_values_have_the_tables_type(parquet: Path, stored: pa.Array, type: str, value: Any) -> None:
    """A value that Spark keeps in another type has the table's type, and NULL stays NULL."""
    pq.write_table(pa.table({"v": pa.concat_arrays([stored, pa.nulls(1, stored.type)])}), parquet)
    assert rows_of(parquet, [column("v", type)]) == [{"v": value}, {"v": None}]


def test_int96_is_an_instant(parquet: Path) -> None:
    """An INT96 beyond the years of nanoseconds is read, too, and is rounded down to microseconds."""
    far = pa.table({"t": pa.array([dt.datetime(3000, 1, 1, 0, 0, 0, 1)], pa.timestamp("us"))})
    pq.write_table(far, parquet, use_deprecated_int96_timestamps=True)
    assert rows_of(parquet, [column("t", "timestamp")]) == [
        {"t": dt.datetime(3000, 1, 1, 0, 0, 0, 1, dt.UTC)}
    ]
    pq.write_table(
        pa.table({"t": pa.array([-1], pa.timestamp("ns"))}), parquet, use_deprecated_int96_timestamps=True
    )
    assert rows_of(parquet, [column("t", "timestamp_ntz")]) == [
        {"t": dt.datetime(1969, 12, 31, 23, 59, 59, 999999)}
    ]


def test_missing_columns_have_their_default_or_null(parquet: Path) -> None:
    """A default is the one from when the column was added; partition values are literals, NULL among them."""
    pq.write_table(pa.table({"id": [1, 2], "p": ["not", "this"]}), parquet)
    columns = [
        column("id", "long"),
        column("n", "integer"),
        column("d", "integer", **{EXISTS: "7"}),
        column("c", "char(3)", **{EXISTS: "'a'"}),
        column("m", "decimal(5,2)", **{EXISTS: "1.5BD"}),
    ]
    partition = [
        (column("p", "string"), "a/b=é"),
        (column("q", "date"), None),
        (column("z", "char(2)"), "x "),
    ]
    row = {"n": None, "d": 7, "c": "a  ", "m": Decimal("1.50"), "p": "a/b=é", "q": None, "z": "x "}
    assert rows_of(parquet, columns, partition=partition) == [{"id": 1, **row}, {"id": 2, **row}]
    assert rows_of(
        parquet, columns, partition=partition, where="id = 2 AND d = 7 AND c = 'a' AND q IS NULL"
    ) == [{"id": 2, **row}]
    assert rows_of(parquet, columns[1:2], partition=partition[1:2]) == [{"n": None, "q": None}] * 2


@pytest.mark.parametrize(
    ("stored", "columns", "reason"),
    [
        (pa.table({"v": ["5"]}), [column("v", "integer")], "has it as BYTE_ARRAY STRING, and the table as int"),
        (pa.table({"v": [5]}), [column("v", "date")], "has it as INT64, and the table as date"),
        (pa.table({"v": pa.array([5], pa.timestamp("ns"))}), [column("v", "timestamp")], r"TIMESTAMP\(NANOS\)"),
        (pa.table({"v": [300]}).cast(pa.schema([("v", pa.int32())])), [column("v", "byte")], "does not fit"),
        (pa.table({"v": [b"\xff"]}), [column("v", "string")], "does not fit"),
        (pa.table({"v": [1], "V": [2]}), [column("v", "long")], "has it as v and as V"),
        (pa.table({"v": [1]}), [column("w", {"type": "array", "elementType": "integer", "containsNull": True}, **{EXISTS: "array(1)"})], "default is an expression"),
        (pa.table({"v": [1]}), [column("w", "timestamp", **{EXISTS: "TIMESTAMP '2024-01-01'"})], "default is an expression"),
        (pa.table({"v": [{"b": 1}]}), [column("v", {"type": "struct", "fields": [{"name": "a", "type": "long", "nullable": True, "metadata": {}}]})], "none of the fields"),
        (pa.table({"v": [{"a": 1}]}), [column("v", {"type": "struct", "fields": [{"name": "a", "type": "string", "nullable": True, "metadata": {}}]})], "INT64, and the table as string"),
        (pa.table({"v": [[1]]}), [column("v", "long")], "has it as list"),
        (pa.table({"v": [1]}), [column("v", {"type": "array", "elementType": "long", "containsNull": True})], "has it as int64, and the table as array"),
    ],
    ids=str,
)  # fmt: skip
def test_what_spark_reads_otherwise_is_refused(
    parquet: Path, stored: pa.Table, columns: list[TableColumn], reason: str
) -> None:
    """The error names the file, the column and a remedy, and no row is given."""
    pq.write_table(stored, parquet)
    with pytest.raises(UnsupportedError, match=reason) as caught:
        rows_of(parquet, columns)
    assert str(parquet) in caught.value.message
    assert f"Column {columns[0].name} " in caught.value.message
    assert "CALL system.compact" in caught.value.message


@pytest.mark.parametrize("type", ["interval year to month", "variant"])
def test_types_of_spark_alone_are_refused(parquet: Path, type: str) -> None:
    """A column that Arrow cannot hold is named; the others can be selected."""
    pq.write_table(pa.table({"v": [1]}), parquet)
    with pytest.raises(
        UnsupportedError, match=f"Column w is {type}, which is read by Spark alone: select other"
    ):
        rows_of(parquet, [column("v", "long"), column("w", type)])


def test_old_days_of_old_writers_are_refused(parquet: Path) -> None:
    """Spark 2 counted days by the Julian calendar, and writes of today can; later days are certain."""
    days = pa.table({"d": pa.array([dt.date(1500, 1, 1), dt.date(2024, 1, 1)])})
    for metadata in ({"org.apache.spark.version": "2.4.8"}, {"org.apache.spark.legacyDateTime": ""}):
        pq.write_table(days.replace_schema_metadata(metadata), parquet)
        with pytest.raises(UnsupportedError, match="before 1582"):
            rows_of(parquet, [column("d", "date")])
        pq.write_table(days.slice(1).replace_schema_metadata(metadata), parquet)
        assert rows_of(parquet, [column("d", "date")]) == [{"d": dt.date(2024, 1, 1)}]
    pq.write_table(days.replace_schema_metadata({"org.apache.spark.version": "4.0.0"}), parquet)
    assert rows_of(parquet, [column("d", "date")])[0] == {"d": dt.date(1500, 1, 1)}


def test_row_groups_are_left_out_by_their_statistics(parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A condition reads one of four row groups, which alone may have its rows."""
    pq.write_table(pa.table({"id": list(range(40)), "s": ["x"] * 40}), parquet, row_group_size=10)
    read: list[int] = []
    batches = StoredFile.batches

    def look(
        self: StoredFile, names: Sequence[str], parts: Sequence[int], **more: bool
    ) -> Iterator[pa.RecordBatch]:
        read.extend(parts)
        return batches(self, names, parts, **more)

    monkeypatch.setattr(StoredFile, "batches", look)
    columns = [column("id", "long"), column("s", "string")]
    assert [row["id"] for row in rows_of(parquet, columns, where="id IN (25, 27)")] == [25, 27]
    assert rows_of(parquet, columns, where="s > 'x'") == []
    assert len(rows_of(parquet, columns)) == 40
    assert read == [2, 0, 1, 2, 3]


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_a_dot_is_part_of_a_name(tmp_path: Path, file_format: str) -> None:
    """A column `a.b` is not the field `b` of a column `a`."""
    path = tmp_path / f"f.{file_format}"
    rows = pa.table({"a": [{"b": 7}], "a.b": [1], "c": [2]})
    (orc if file_format == "orc" else pq).write_table(rows, path)
    columns = [column("a.b", "long"), column("c", "long")]
    assert rows_of(path, columns) == [{"a.b": 1, "c": 2}]
    fields = [{"name": "b", "type": "long", "nullable": True, "metadata": {}}]
    assert rows_of(path, [column("a", {"type": "struct", "fields": fields}), *columns]) == rows.to_pylist()


def test_large_row_groups_come_in_batches(parquet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A small row group is one batch. A large one comes in batches of a fixed number of rows."""
    pq.write_table(pa.table({"id": list(range(25))}), parquet, row_group_size=20)
    columns = (column("id", "long"),)
    file = FileRows(str(parquet), FileRecord("f", 1), ())

    def sizes() -> list[int]:
        return [batch.num_rows for batch in read_file(ReadRequest("parquet", columns, columns, ()), file)]

    assert sizes() == [20, 5]
    monkeypatch.setattr(stored_file, "MAX_BYTES_AT_ONCE", 10)
    monkeypatch.setattr(stored_file, "ROWS_PER_BATCH", 8)
    assert sizes() == [8, 8, 4, 5]


def test_orc_needs_the_zone_of_its_times(tmp_path: Path) -> None:
    """ORC's timestamps are local: without a zone they are refused, with one they are instants."""
    path = tmp_path / "f.orc"
    orc.write_table(pa.table({"t": pa.array([dt.datetime(2024, 7, 1, 12)], pa.timestamp("us"))}), path)
    with pytest.raises(UnsupportedError, match="time_zone="):
        rows_of(path, [column("t", "timestamp")])
    assert rows_of(path, [column("t", "timestamp")], zone="Europe/Berlin") == [
        {"t": dt.datetime(2024, 7, 1, 10, tzinfo=dt.UTC)}
    ]
    orc.write_table(pa.table({"t": pa.array([dt.datetime(2024, 10, 27, 2, 30)], pa.timestamp("us"))}), path)
    with pytest.raises(UnsupportedError, match="does not fit"):  # which of the two hours is not known
        rows_of(path, [column("t", "timestamp")], zone="Europe/Berlin")


def test_times_that_pyarrow_does_not_read_are_no_damage(tmp_path: Path) -> None:
    """PyArrow reads ORC's times in nanoseconds. A file with another time is refused, and stays."""
    path = tmp_path / "f.orc"
    orc.write_table(pa.table({"t": pa.array([-62_135_769_600], pa.timestamp("s")), "a": [1]}), path)
    with pytest.raises(UnsupportedError, match="which PyArrow does not read in ORC"):
        rows_of(path, [column("t", "timestamp")], zone="UTC")
    assert rows_of(path, [column("a", "long")]) == [{"a": 1}]


def test_orc_without_names_goes_by_position(tmp_path: Path) -> None:
    """Hive's old writers named columns `_col0`; the table's order of columns in files counts."""
    path = tmp_path / "f.orc"
    orc.write_table(pa.table({"_col0": [1], "_col1": ["x"]}), path)
    columns = [column("a", "long"), column("b", "string"), column("c", "date")]
    assert rows_of(path, columns) == [{"a": 1, "b": "x", "c": None}]


def test_blanks_of_orc_may_be_those_of_a_char(tmp_path: Path) -> None:
    """A text of ORC that ends with a blank is refused unless the record says that it is no CHAR."""
    path = tmp_path / "f.orc"
    orc.write_table(pa.table({"s": ["a "]}), path)
    with pytest.raises(UnsupportedError, match="CHAR"):
        rows_of(path, [column("s", "string")])
    own = FileRecord("f.orc", 1, columns={"s": ColumnStatistics()})
    assert rows_of(path, [column("s", "string")], record=own) == [{"s": "a "}]
    theirs = FileRecord("f.orc", 1, columns={"s": ColumnStatistics(stored="orc char(5)")})
    with pytest.raises(UnsupportedError, match="CHAR"):
        rows_of(path, [column("s", "string")], record=theirs)


@pytest.mark.parametrize("plaintext_footer", [True, False])
def test_encrypted_files_are_named(parquet: Path, plaintext_footer: bool) -> None:
    """A file whose columns or footer are encrypted is not called damaged, as only its keys are missing."""
    keys = encryption_of("secret", plaintext_footer=plaintext_footer)
    table = pa.table({"open": [1], "secret": ["x"]})
    with pq.ParquetWriter(parquet, table.schema, encryption_properties=keys) as writer:
        writer.write_table(table)
    with pytest.raises(UnsupportedError, match="is encrypted, and only Spark has the keys"):
        rows_of(parquet, [column("open", "long"), column("secret", "string")])


def test_files_that_cannot_be_read_are_named(tmp_path: Path) -> None:
    """A file that is missing and one that is broken raise errors of their own."""
    with pytest.raises(FileMissingError, match=r"nowhere\.parquet"):
        rows_of(tmp_path / "nowhere.parquet", [column("v", "long")])
    broken = tmp_path / "crypto" / "broken.parquet"
    broken.parent.mkdir()
    broken.write_bytes(b"PAR1nothingPAR1")
    with pytest.raises(FileCorruptError, match=r"broken\.parquet"):
        rows_of(broken, [column("v", "long")])
