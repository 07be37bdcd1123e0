"""The statistics that footers of Parquet and ORC give a file's record, and how far they are trusted."""

import datetime as dt
import threading
from decimal import Decimal

import pyarrow as pa
import pyarrow.fs as pafs
import pyarrow.parquet as pq
import pytest

from parquetry.data_files.bounds import MAX_BOUND_LENGTH, FileBounds, bounds_reader, column_statistics
from parquetry.data_files.defaults import default_value
from parquetry.data_files.footers.parquet_statistics import from_bridge, read_footers, read_parquet_footer
from parquetry.data_files.records import Trust
from parquetry.errors import FileCorruptError, FileMissingError, WarehouseError
from parquetry.metastore.storage.model import ColumnStatistics, FileRecord, TableColumn
from tests.support.tables.statistics import exact

LOCAL = pafs.LocalFileSystem()
SPARK = {b"org.apache.spark.version": b"4.0.0"}


def write(path, columns, metadata=None, **options):
    table = pa.table(columns).replace_schema_metadata(metadata)
    pq.write_table(table, path, **options)
    return str(path)


def columns_of(path):
    return read_parquet_footer(LOCAL, str(path)).columns


def bounds(path, name="x"):
    found = columns_of(path)[name]
    return found.min, found.max


def test_reads_size_rows_time_and_every_top_level_column(tmp_path):
    """A footer gives rows, and each column's size, NULLs and bounds; a column of NULLs has no bounds."""
    path = write(
        tmp_path / "a.parquet", {"i": [1, None, 3], "s": ["b", "a", None], "n": pa.nulls(3, pa.int32())}
    )
    file = read_parquet_footer(LOCAL, path, name="a.parquet")
    assert (file.path, file.rows) == ("a.parquet", 3)
    assert file.bytes == (tmp_path / "a.parquet").stat().st_size
    assert file.modified == (tmp_path / "a.parquet").stat().st_mtime_ns // 1_000_000
    assert (file.columns["i"].nulls, file.columns["i"].min, file.columns["i"].max) == (1, 1, 3)
    assert (file.columns["s"].min, file.columns["s"].max, file.columns["s"].min_exact) == ("a", "b", True)
    assert (file.columns["n"].nulls, file.columns["n"].min) == (3, None)
    assert all(0 < column.size < file.bytes for column in file.columns.values())


@pytest.mark.parametrize(
    ("array", "low", "high"),
    [
        (pa.array([True, False, None]), False, True),
        (pa.array([-128, 127], pa.int8()), -128, 127),
        (pa.array([-(2**63), 2**63 - 1]), -(2**63), 2**63 - 1),
        (pa.array([1, 2**63 + 4], pa.uint64()), 1, 2**63 + 4),
        (pa.array([1, 2**31 + 4], pa.uint32()), 1, 2**31 + 4),
        (pa.array([1.5, None, -2.5], pa.float32()), -2.5, 1.5),
        (pa.array([1.5, float("nan"), -2.5]), -2.5, 1.5),
        (pa.array([float("nan")] * 2), None, None),
        (pa.array([float("-inf"), float("inf")]), float("-inf"), float("inf")),
        (pa.array([dt.date(2024, 2, 29), dt.date(1970, 1, 1)]), 0, 19782),
        (pa.array([5_000_000], pa.int32()).cast(pa.date32()), 5_000_000, 5_000_000),
        (pa.array([3, 7], pa.timestamp("us", "UTC")), 3, 7),
        (pa.array([3, 7], pa.timestamp("us")), 3, 7),
        (pa.array([3, 7], pa.timestamp("ms")), 3000, 7000),
        (pa.array([3, 10**15], pa.timestamp("ms", "UTC")), 3000, 10**18),
        (pa.array([3, 10**17], pa.timestamp("ms")), None, None),
        (pa.array([3, 7], pa.timestamp("ns")), None, None),
        (pa.array([3, 7], pa.time64("us")), None, None),
        (pa.array(["é", "z"]), "z", "é"),
        (pa.array([b"\xff", b""]), b"", b"\xff"),
        (pa.array([b"ab", b"cd"], pa.binary(2)), b"ab", b"cd"),
    ],
)
def test_bounds_by_type(tmp_path, array, low, high):
    """Bounds have the unit of their values in memory (days, microseconds).

    Types without trustworthy bounds have none.
    """
    assert bounds(write(tmp_path / "a", {"x": array})) == (low, high)


@pytest.mark.parametrize("precision", [9, 18, 38])
@pytest.mark.parametrize("as_integer", [True, False])
def test_decimals_in_every_encoding_are_text(tmp_path, precision, as_integer):
    """Stored as 4, 8 or 16 bytes, a bound is the number with its scale."""
    array = pa.array([Decimal("1.50"), None, Decimal("-2.25")], pa.decimal128(precision, 2))
    path = write(tmp_path / "a", {"x": array}, store_decimal_as_integer=as_integer)
    assert bounds(path) == ("-2.25", "1.50")


def test_decimals_of_38_digits_keep_them_all(tmp_path):
    """No digit is lost to the 28 of Python's context."""
    value = Decimal("-12345678901234567890.123456789012345678")
    assert bounds(write(tmp_path / "a", {"x": pa.array([value], pa.decimal128(38, 18))})) == (str(value),) * 2


def test_int96_has_no_bounds(tmp_path):
    """Its bytes do not sort as the times do, so what the footer has is not used."""
    array = pa.array([3, 7], pa.timestamp("us"))
    path = write(tmp_path / "a", {"x": array}, use_deprecated_int96_timestamps=True)
    assert bounds(path) == (None, None)
    assert columns_of(path)["x"].nulls in (0, None)


def test_nested_columns_have_the_size_of_their_leaves(tmp_path):
    """A struct's size is the sum over its leaves, and a column named `s.x` is not taken for one of them."""
    columns = {
        "s": pa.array([{"x": 1, "y": {"z": "a"}}] * 3),
        "l": pa.array([[1, 2]] * 3),
        "m": pa.array([[("k", 1)]] * 3, pa.map_(pa.string(), pa.int64())),
        "s.x": pa.array([1, 2, 3]),
    }
    path = write(tmp_path / "a", columns)
    footer = pq.read_metadata(path)
    sizes = [footer.row_group(0).column(index).total_compressed_size for index in range(footer.num_columns)]
    found = columns_of(path)
    assert [name for name in found if "\x7f" not in name] == ["s", "l", "m", "s.x"]
    assert found["s"] == exact(size=sizes[0] + sizes[1], nulls=0)
    assert found["l"] == exact(size=sizes[2])
    assert found["m"] == exact(size=sizes[3] + sizes[4])
    assert (found["s.x"].size, found["s.x"].min, found["s.x"].max) == (sizes[5], 1, 3)


def test_row_groups_are_merged(tmp_path):
    """The bounds are over all groups, NULLs are added, and a group of NULLs alone does not hinder."""
    columns = {"x": [None, None, 5, 1, None, 9], "n": pa.nulls(6, pa.string())}
    path = write(tmp_path / "a", columns, row_group_size=2)
    assert pq.read_metadata(path).num_row_groups == 3
    found = columns_of(path)
    assert (found["x"].min, found["x"].max, found["x"].nulls) == (1, 9, 3)
    assert (found["n"].min, found["n"].nulls) == (None, 6)


def test_one_row_group_without_bounds_spoils_them_all(tmp_path):
    """A group whose text is too long for the footer, or that is all NaN, leaves the file without bounds."""
    path = write(tmp_path / "a", {"x": ["a", "b", "z" * 5000, "c"]}, row_group_size=2)
    assert bounds(path) == (None, None)
    nan = write(tmp_path / "b", {"x": [1.0, 2.0, float("nan"), float("nan")]}, row_group_size=2)
    assert bounds(nan) == (None, None)


def test_files_without_statistics_or_rows(tmp_path):
    """Without statistics the size is known still; a file of no rows has no NULLs and no bounds."""
    found = columns_of(write(tmp_path / "a", {"x": [1, 2]}, write_statistics=False))
    assert (found["x"].min, found["x"].nulls, found["x"].size > 0) == (None, None, True)
    empty = read_parquet_footer(LOCAL, write(tmp_path / "b", {"x": pa.array([], pa.int64())}))
    assert (empty.rows, empty.columns["x"].nulls, empty.columns["x"].min) == (0, 0, None)


def test_two_columns_of_one_name_tell_nothing(tmp_path):
    """As it is not known whose statistics they are."""
    table = pa.Table.from_arrays([pa.array([1]), pa.array([9])], ["x", "x"])
    pq.write_table(table, tmp_path / "a")
    assert bounds(tmp_path / "a") == (None, None)
    assert columns_of(tmp_path / "a")["x"].nulls is None


@pytest.mark.parametrize(
    "long", ["x" * 100, "é" * 100, "a" * 63 + "\ud7ff" * 9, "a\U0010ffff" + "\U0010ffff" * 99]
)
def test_long_texts_are_shortened_outwards(tmp_path, long):
    """The minimum is cut, the maximum cut and raised to a valid text, and both are marked as inexact."""
    found = columns_of(write(tmp_path / "a", {"x": [long]}))["x"]
    assert found.min == long[:MAX_BOUND_LENGTH]
    assert found.max > long
    assert len(found.max) <= MAX_BOUND_LENGTH
    found.max.encode()
    assert (found.min_exact, found.max_exact) == (False, False)


def test_what_has_nothing_above_it_has_no_upper_bound():
    """A long run of the greatest character cannot be shortened upwards; what stands before it can."""
    found = column_statistics(1, 0, "a", "\U0010ffff" * 65, True, True)
    assert (found.min, found.max, found.min_exact, found.max_exact) == ("a", None, True, False)
    assert column_statistics(1, 0, b"a", b"\xff" * 65, True, True).max is None
    assert column_statistics(1, 0, b"a", b"b\x01" + b"\xff" * 65, True, True).max == b"b\x02"
    exact = "x" * MAX_BOUND_LENGTH
    assert column_statistics(1, 0, exact, exact, True, True) == ColumnStatistics(
        1, 0, exact, exact, True, True
    )


@pytest.mark.parametrize(
    ("metadata", "kept"),
    [
        (SPARK, True),
        ({b"org.apache.spark.version": b"2.4.8"}, False),
        (SPARK | {b"org.apache.spark.legacyDateTime": b""}, False),
        (SPARK | {b"org.apache.spark.legacyINT96": b""}, False),
        ({}, False),
    ],
)
def test_before_1900_only_a_modern_spark_is_believed(tmp_path, metadata, kept):
    """Dates and times before 1900 have bounds only if a modern Spark wrote the file.

    Other writers may have used the Julian calendar. Numbers always have bounds.
    """
    dates = [dt.date(1899, 12, 31), dt.date(2000, 1, 1)]
    times = pa.array([-(2**52), 0], pa.timestamp("us"))
    found = columns_of(write(tmp_path / "a", {"x": dates, "t": times, "y": [1, 2]}, metadata))
    assert (found["x"].min is not None, found["t"].min is not None, found["y"].min) == (kept, kept, 1)


def test_from_1900_on_dates_are_believed_of_all(tmp_path):
    """The calendars agree from then on."""
    path = write(tmp_path / "a", {"x": [dt.date(1900, 1, 1)]}, {b"org.apache.spark.legacyDateTime": b""})
    assert bounds(path) == (-25567, -25567)


def test_files_that_are_not_parquet_are_told(tmp_path):
    """Cut, empty and foreign files, a directory and a missing file each have an error with their path."""
    whole = write(tmp_path / "whole", {"x": [1] * 100})
    data = (tmp_path / "whole").read_bytes()
    broken = {
        "empty": b"",
        "cut": data[:-20],
        "head": data[:100],
        "text": b"hello, this is no Parquet file",
        "junk": b"PAR1" + b"x" * 100 + b"\x20\0\0\0PAR1",
    }
    for name, content in broken.items():
        (tmp_path / name).write_bytes(content)
        with pytest.raises(FileCorruptError, match=f"{tmp_path / name}"):
            read_parquet_footer(LOCAL, str(tmp_path / name))
    with pytest.raises(FileCorruptError, match="directory"):
        read_parquet_footer(LOCAL, str(tmp_path))
    with pytest.raises(FileMissingError, match="nothere"):
        read_parquet_footer(LOCAL, str(tmp_path / "nothere"))
    assert read_parquet_footer(LOCAL, whole).rows == 100


def test_a_file_that_may_not_be_read_is_not_called_corrupt():
    """A refusal of the file system is a WarehouseError that names the file."""

    class Forbidden(pafs.FileSystemHandler):
        def normalize_path(self, path):
            return path

        def get_file_info(self, paths):
            return [pafs.FileInfo(path, pafs.FileType.File, size=10) for path in paths]

        def open_input_file(self, path):
            raise PermissionError(13, "no")

    # The other methods of a file system are not needed to read a footer.
    Forbidden.__abstractmethods__ = frozenset()
    with pytest.raises(WarehouseError, match="'f'"):
        read_parquet_footer(pafs.PyFileSystem(Forbidden()), "f")


def test_many_footers_keep_their_order_and_tell_progress(tmp_path):
    """Threads read them; the caller's own thread hears of each, and one missing file is an error."""
    names = [f"{number}.parquet" for number in range(20)]
    for number, name in enumerate(names):
        write(tmp_path / name, {"x": [number]})
    told, threads = [], set()

    def progress(done, total):
        told.append((done, total))
        threads.add(threading.get_ident())

    files = read_footers(LOCAL, names, root=str(tmp_path), threads=4, progress=progress)
    assert [file.path for file in files] == names
    assert [file.columns["x"].min for file in files] == list(range(20))
    assert told == [(done, 20) for done in range(1, 21)]
    assert threads == {threading.get_ident()}
    with pytest.raises(FileMissingError, match="gone"):
        read_footers(LOCAL, [*names, "gone"], root=str(tmp_path))
    assert read_footers(LOCAL, []) == []


def column(kind, **options):
    return TableColumn("x", kind, **options)


def bounds_of(column: TableColumn, statistics: ColumnStatistics | None, rows: int) -> FileBounds | None:
    """Return the bounds of a column in a file that has these statistics of it, or none of anything."""
    columns = None if statistics is None else {column.physical: statistics}
    return bounds_reader(column)(FileRecord("f", 1, rows, columns=columns))


@pytest.mark.parametrize(
    ("kind", "low", "high", "expected"),
    [
        ("long", 1, 2, (1, 2)),
        ("integer", 1, 2**31, None),
        ("byte", -128, 127, (-128, 127)),
        ("byte", 0, 300, None),
        ("double", 1, 2, (1.0, 2.0)),
        ("double", 1, 2**53 + 2, None),
        ("float", 1, 2**24 + 2, None),
        ("double", 0.10000000149011612, 0.5, (0.10000000149011612, 0.5)),
        ("decimal(20,2)", 1, 2, (Decimal(1), Decimal(2))),
        ("decimal(10,4)", "1.50", "2.25", (Decimal("1.5"), Decimal("2.25"))),
        ("date", 1, 2, (1, 2)),
        ("timestamp", 1, 2, (1, 2)),
        ("timestamp_ntz", 10**15, 2 * 10**15, (10**15, 2 * 10**15)),
        ("timestamp_ntz", 1, 19_000, (1, 19_000 * 86_400_000_000)),
        ("timestamp_ntz", -5, 3, (-5 * 86_400_000_000, 3 * 86_400_000_000)),
        ("string", "a", "b", ("a", "b")),
        ("string", b"a", b"b", ("a", "b")),
        ("string", b"a", b"\xff", None),
        ("string", 1, 2, None),
        ("varchar(9)", "a", "b", ("a", "b")),
        ("char(9)", "a", "b\t", ("a", "b        ")),
        ("binary", "a", "é", (b"a", b"\xc3\xa9")),
        ("boolean", False, True, (False, True)),
        ("boolean", 0, 1, None),
        ("integer", False, True, None),
        ("date", "a", "b", None),
        ("decimal(5,0)", 1.0, 2.0, None),
        ("string collate UNICODE", "a", "b", None),
    ],
)
def test_bounds_take_the_type_the_column_has_today(kind, low, high, expected):
    """A bound that the type cannot hold exactly is dropped, and the NULL count stays."""
    found = bounds_of(column(kind), ColumnStatistics(9, 1, low, high), 5)
    if expected is None:
        assert found is None or (found.min, found.max, found.nulls) == (None, None, 1)
    else:
        assert (found.min, found.max) == expected
        assert [type(value) for value in (found.min, found.max)] == [type(value) for value in expected]
        assert (found.nulls, found.rows, found.all_null) == (1, 5, False)


def test_widened_bounds_near_1970_are_not_exact():
    """A small number may be a date's days or a timestamp's microseconds, so it is taken for both."""
    assert not bounds_of(column("timestamp_ntz"), exact(9, 0, 1, 19_000), 5).max_exact
    assert bounds_of(column("timestamp_ntz"), exact(9, 0, 10**15, 10**15), 5).max_exact


def test_bounds_know_columns_of_nulls_one_side_and_nothing():
    """As many NULLs as rows is a column of NULLs; without bounds or counts there is nothing to know."""
    assert bounds_of(column("long"), None, 5) is None
    assert bounds_of(column("long"), exact(9, 5), 5).all_null
    assert bounds_of(column("long"), exact(9), 5) is None
    assert bounds_of(column({"type": "array"}), exact(9, 0, 1, 2), 5) is None
    one_sided = bounds_of(column("string"), exact(9, 0, "a", None, True, False), 5)
    assert (one_sided.min, one_sided.max, one_sided.min_exact, one_sided.max_exact) == (
        "a",
        None,
        True,
        False,
    )


def test_a_column_missing_from_a_file_with_statistics_is_null():
    """The file was written before the column came. One with a default for old rows has it in each row."""
    read = bounds_reader(column("long"))
    other = {"y": ColumnStatistics(9, 0, 1, 2)}
    assert read(FileRecord("a", 10, 5, columns=other)).all_null
    assert read(FileRecord("a", 10, 5)) is None
    assert read(FileRecord("a", 10, 5, columns={})) is None
    # Spark fills such a column with its default instead.
    filled = bounds_reader(column("long", metadata={"EXISTS_DEFAULT": "7"}))
    assert filled(FileRecord("a", 10, 5, columns=other)) == FileBounds(7, 7, nulls=0, rows=5)
    unknown = bounds_reader(column("long", metadata={"EXISTS_DEFAULT": "length('x')"}))
    assert unknown(FileRecord("a", 10, 5, columns=other)) is None


@pytest.mark.parametrize(
    ("type", "text", "value"),
    [
        ("byte", "7Y", 7),
        ("integer", "-3", -3),
        ("long", "7L", 7),
        ("long", "7", 7),
        ("double", "1.5D", 1.5),
        ("double", "1E3", 1000.0),
        ("double", "CAST('NaN' AS DOUBLE)", None),
        ("decimal(9,2)", "1.50BD", Decimal("1.50")),
        ("boolean", "true", True),
        ("string", "'it\\'s'", "it's"),
        ("string", "''", ""),
        ("char(3)", "'a'", "a  "),
        ("date", "DATE '2026-01-01'", 20_454),
        ("timestamp_ntz", "TIMESTAMP_NTZ '2026-01-01 00:00:00'", 1_767_225_600_000_000),
        ("timestamp", "TIMESTAMP '1970-01-01 00:00:01'", None),
        ("integer", "CAST(NULL AS INT)", None),
        ("integer", "NULL", None),
    ],
)
def test_defaults_of_columns(type, text, value):
    """Spark's literals are understood, but no timestamp: its text depends on the reader's time zone."""
    found = column(type, metadata={"EXISTS_DEFAULT": text})
    assert default_value(found) == value
    in_file = bounds_reader(found)(FileRecord("a", 10, 5, columns={"y": ColumnStatistics(9, 0, 1, 2)}))
    if "NULL" in text:
        assert in_file == FileBounds(nulls=5, rows=5, all_null=True)
    else:
        assert (None if in_file is None else (in_file.min, in_file.max, in_file.nulls)) == (
            None if value is None else (value, value, 0)
        )


def test_names_in_files_are_found_in_any_case_but_never_guessed():
    """A file's column matches in any letter case, but two columns that differ only by case give no bounds.

    That holds also if one is spelled as the table spells it, because Spark reads neither.
    """
    read = bounds_reader(column("long"))
    one = ColumnStatistics(9, 0, 1, 2)
    assert read(FileRecord("a", 10, 5, columns={"X": one})).min == 1
    assert read(FileRecord("a", 10, 5, columns={"X": ColumnStatistics(9, 0, 7, 8), "x": one})) is None
    renamed = bounds_reader(column("long", metadata={"parquetry.physical": "X1"}))
    assert renamed(FileRecord("a", 10, 5, columns={"X1": one, "x": ColumnStatistics(9, 0, 7, 8)})).min == 1
    upper = bounds_reader(TableColumn("Xy", "long"))
    assert upper(FileRecord("a", 10, 5, columns={"XY": one, "xy": one})) is None


WRITER = {"writer": "ORC_JAVA", "writer_version": 9, "file_version": "0.12"}


def orc(columns=None, rows=3, **about):
    answer = {"path": "a.orc", "bytes": 10, "modified": 5, "rows": rows, "stripe_rows": rows} | WRITER
    return from_bridge(answer | {"columns": columns} | about)


def entry(kind, low, high, **more):
    entry = {"size": 7, "values": 2, "has_null": True, "min": low, "max": high, "exact": True, "type": kind}
    return entry | more


def test_orc_bounds_come_from_the_bridge_as_text():
    """ORC bounds are read by the type in the file.

    Bounds of times are widened by two days, as the instant depends on the reader's time zone.
    """
    file = orc(
        {
            "i": entry("bigint", "-1", "5"),
            "d": entry("decimal(10,2)", "1.50", "2.25"),
            "s": entry("string", "a", "b" * 99),
            "c": entry("date", "0", "19782"),
            "t": entry("timestamp", "3000", "7000"),
            "z": entry("timestamp with local time zone", "3000", "7000"),
            "w": entry("timestamp_ntz", "3000", "7000"),
            "b": entry("boolean", "false", "true"),
            "n": entry("int", None, None),
            "a": {"type": "array<int>", "size": 7},
        }
    )
    assert (file.path, file.bytes, file.modified, file.rows) == ("a.orc", 10, 5, 3)
    assert file.columns["i"] == ColumnStatistics(7, 1, -1, 5, True, True, Trust.EXACT, "orc bigint")
    assert (file.columns["d"].min, file.columns["d"].max) == ("1.50", "2.25")
    assert (file.columns["s"].max, file.columns["s"].max_exact) == ("b" * 63 + "c", False)
    assert (file.columns["c"].min, file.columns["c"].max) == (0, 19782)
    # ORC keeps what clocks showed, and which instant that is depends on the reader's time zone.
    day = 86_400_000_000
    times = file.columns["t"]
    assert (times.min, times.max, times.min_exact) == (3000 - 2 * day, 7000 + 2 * day, False)
    assert (file.columns["b"].min, file.columns["b"].max) == (False, True)
    assert (file.columns["n"].nulls, file.columns["n"].min) == (1, None)
    assert (file.columns["z"].min, file.columns["z"].max) == (times.min, times.max)
    assert (file.columns["w"].min, file.columns["w"].max_exact) == (3000, True)  # a plain number in ORC
    assert file.columns["a"] == ColumnStatistics(7, trust=Trust.EXACT, stored="orc array")


def test_orc_bounds_that_cannot_be_trusted_are_dropped():
    """A NaN may hide unless the sum tells, and before 1900 the calendar is not known; the counts stay."""
    file = orc(
        {
            "nan": entry("double", "1.0", "NaN", sum="3.0"),
            "hidden": entry("double", "1.0", "2.0", sum="NaN"),
            "unsummed": entry("double", "1.0", "2.0"),
            "fine": entry("float", "1.0", "2.0", sum="3.0"),
            "old": entry("date", "-25568", "0"),
            "ancient": entry("timestamp_ntz", str(-(2**52)), "0"),
            "inexact": entry("string", "a", "b", exact=False),
        }
    )
    for name in ("nan", "hidden", "unsummed", "old", "ancient"):
        assert (file.columns[name].nulls, file.columns[name].min, file.columns[name].max) == (1, None, None)
    assert (file.columns["fine"].min, file.columns["fine"].min_exact) == (1.0, True)
    assert (file.columns["inexact"].min, file.columns["inexact"].min_exact) == ("a", False)


@pytest.mark.parametrize(
    ("values", "has_null", "nulls"),
    [
        (2, True, 1),
        (3, False, 0),
        (0, True, 3),
        (2, None, 1),
        (0, False, None),  # a writer without indexes
        (0, None, None),
        (None, False, None),
        (None, None, None),
        (2, False, None),
        (3, True, None),
        (4, False, None),
        (-1, True, None),
    ],
)
def test_orc_counts_that_are_missing_or_contradict_are_unknown(values, has_null, nulls):
    """No count of values is no count of NULLs, and bounds beside it are not believed either."""
    found = orc({"i": entry("int", "1", "2", values=values, has_null=has_null)}).columns["i"]
    assert found.nulls == nulls
    assert (found.min is None) == (nulls in (None, 3))


def test_orc_counts_no_field_of_a_struct_that_is_null():
    """A field's NULLs are the rows without a value, also where ORC says that it has no NULL."""
    fields = {"a": entry("int", "1", "2", has_null=False), "l": {"type": "array<int>"}}
    struct = entry("struct<a:int,l:array<int>>", None, None) | {"fields": fields}
    found = orc({"s": struct}).columns
    assert list(found) == ["s", "s\x7f", "s\x7fa", "s\x7fl"]
    assert (found["s"].nulls, found["s\x7fa"].nulls, found["s\x7fa"].min) == (1, 1, 1)
    others = orc({"s": struct}, writer="ORC_CPP").columns["s\x7fa"]
    assert (others.nulls, others.min) == (None, 1)


@pytest.mark.parametrize(("in_stripes", "nulls"), [(2, 1), (1, None), (3, None)])
def test_an_orc_column_whose_stripes_count_other_values_is_unknown(in_stripes, nulls):
    """The footer and its stripes have to agree on the number of values."""
    found = orc({"i": entry("int", "1", "2", stripe_values=in_stripes)}).columns["i"]
    assert (found.nulls, found.min is None) == (nulls, nulls is None)


def test_orc_columns_without_statistics_are_there():
    """A file without statistics of a column still has the column.

    It does not count as a file from before the column was added.
    """
    assert orc({"i": {"type": "int"}}).columns["i"] == ColumnStatistics(
        None, None, None, None, True, True, Trust.EXACT, "orc int"
    )


@pytest.mark.parametrize(
    ("about", "kind", "trust", "bounded"),
    [
        ({}, "int", Trust.EXACT, True),
        ({"writer_version": 5}, "string", Trust.EXACT, True),
        ({"writer_version": 4}, "int", Trust.BOUNDS, True),
        ({"writer_version": 0}, "string", Trust.BOUNDS, False),
        ({"writer_version": 6}, "decimal(9,2)", Trust.EXACT, False),
        ({"writer_version": 5}, "timestamp", Trust.EXACT, False),
        ({"writer": "ORC_CPP", "writer_version": 6}, "int", Trust.BOUNDS, True),
        ({"writer": "UNKNOWN"}, "int", Trust.BOUNDS, False),
        ({"file_version": "UNSTABLE-PRE-2.0"}, "int", Trust.BOUNDS, False),
    ],
)
def test_orc_writers_are_believed_as_far_as_they_deserve(about, kind, trust, bounded):
    """Bounds of an ORC file are trusted only from writers whose known bugs leave that type right.

    ORC's issues say since when each type is right. Bounds of unknown writers are not trusted.
    """
    found = orc({"c": entry(kind, "1", "2")}, **about).columns["c"]
    assert (found.trust, found.min is not None) == (trust, bounded)
    assert found.min_exact or trust == Trust.BOUNDS or kind == "timestamp" or not bounded


def test_orc_files_that_contradict_themselves_tell_nothing():
    """Stripes with other rows than the footer: neither rows nor columns are known."""
    file = orc({"i": entry("int", "1", "2")}, stripe_rows=4)
    assert (file.rows, file.columns) == (None, None)


def test_orc_files_whose_columns_have_no_names_tell_nothing_of_columns():
    """Hive's `_col0` says which place a column had, not which column it is."""
    assert orc({"_col0": entry("int", "1", "2")}).columns is None
    assert from_bridge({"path": "a", "bytes": 1}).columns is None


def test_equal_bounds_occur_if_their_writer_is_believed():
    """A text or a number with equal bounds is exact even if the file leaves it open, a float is not. The
    bounds of a writer that is believed in bounds alone stay bounds.
    """
    columns = {
        "s": entry("string", "a", "a", exact=False),
        "i": entry("bigint", "5", "5", exact=False),
        "f": entry("double", "-0.0", "0.0", exact=False, sum="0.0"),
        "t": entry("string", "a", "b", exact=False),
    }
    for writer, expected in (("ORC_JAVA", {"s", "i"}), ("PRESTO", set())):
        found = orc(columns, writer=writer).columns
        assert {name for name, each in found.items() if each.min_exact} == expected
        assert {name for name, each in found.items() if each.max_exact} == expected


def test_transactional_files_of_hive_tell_nothing():
    """Spark's reader fails at single columns of such a file, so no query is answered without it."""
    names = ("operation", "originalTransaction", "bucket", "rowId", "currentTransaction")
    columns = {**{name: entry("bigint", "1", "2") for name in names}, "row": {"type": "struct<i:int>"}}
    assert (orc(columns).rows, orc(columns).columns) == (None, None)
    assert orc({**columns, "more": entry("int", "1", "2")}).rows == 3
