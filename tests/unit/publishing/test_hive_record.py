"""The record for Hive's metastore has directories only if Hive finds all rows by them."""

from __future__ import annotations

from decimal import Decimal

import msgspec
import pytest

from parquetry.data_files.records import FileRecord, TableColumn
from parquetry.errors import UnsupportedError
from parquetry.layout.arrangement import ArrangementSpec
from parquetry.layout.bucket_spec import BucketSpec, Version
from parquetry.layout.cells import REST
from parquetry.layout.part import SortColumn
from parquetry.layout.skew_map import SkewMap
from parquetry.publishing.hive_record import (
    HiveBuckets,
    hive_buckets,
    hive_columns,
    hive_skew,
    hive_storage,
    statistics,
)
from parquetry.types import parse_type

X = {"x": parse_type("string")}
MAP = SkewMap(("x",), (("6",), ("a/b",)), directories=True)
REST_PLACE = "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"


@pytest.mark.parametrize(
    ("files", "locations"),
    [
        ([], ()),
        ([("x=6/f", 0), ("x=6/g", 0), (f"{REST_PLACE}/f", REST)], ((("6",), "/p/x=6"),)),
        ([("/far/f", 0), ("x=a%2Fb/f", 1)], ((("6",), "/far"), (("a/b",), "/p/x=a%2Fb"))),
        ([("x=6/f", 0), ("x=6_copy_1/f", 0)], None),  # Hive's map has one place for a cell
        ([("f", REST)], None),  # Hive looks in its default directory, also if the rest is elsewhere
        ([("x=6/f", None)], None),  # it may hold anything
        ([("x=6/f", 0), ("x=a%2Fb/f", 1), (f"{REST_PLACE}/g", None)], None),  # as of a map that has grown
        ([(f"{REST_PLACE}/f", 0)], None),
        ([("x=6/f", 0), ("x=6/g", 1)], None),
    ],
)
def test_directories(
    files: list[tuple[str, int | None]], locations: tuple[tuple[tuple[str, ...], str], ...] | None
) -> None:
    """The record has directories if each cell has one directory alone, and the rest has the default one.

    Otherwise it has no directories.
    """
    told = hive_skew(MAP, X, "/p", [FileRecord(path, 1, cell=cell) for path, cell in files])
    assert told.values == (("6",), ("a/b",))
    assert (told.directories, told.locations) == (locations is not None, locations or ())


def test_cells_that_hive_cannot_tell_apart() -> None:
    """NULL and the empty text are one value to Hive."""
    told = hive_skew(SkewMap(("x",), ((None,), ("",)), directories=True), X, "/p", [])
    assert (told.values, told.directories) == ((("__HIVE_DEFAULT_PARTITION__",),) * 2, False)


@pytest.mark.parametrize(
    ("type", "value", "directories"),
    [
        ("int", 10, True),
        ("bigint", None, True),
        ("date", 0, True),
        ("boolean", False, True),
        ("varchar(3)", "A", True),
        ("decimal(9,2)", Decimal("10.00"), False),  # x = 10
        ("double", 1e10, False),
        ("timestamp", 0, False),
        ("char(3)", "a  ", False),
        ("string", "", False),  # x = '' is not x = '__HIVE_DEFAULT_PARTITION__'
        ("string", None, False),
        ("string", "__HIVE_DEFAULT_PARTITION__", False),
        ("string", "HIVE_DEFAULT_LIST_BUCKETING_KEY", False),
    ],
)
def test_hive_compares_texts(type: str, value: object, directories: bool) -> None:
    """The record has directories if the value has only one text in a query.

    Hive compares texts.
    """
    kind = parse_type(type)
    skew = SkewMap(("x",), ((value,),), directories=True)
    assert hive_skew(skew, {"x": kind}, "/p", []).directories is directories


def test_a_plain_skewed_table_tells_its_values_only() -> None:
    """So that others may use them."""
    told = hive_skew(SkewMap(("x",), (("6",),)), X, "/p", [FileRecord("f", 1)])
    assert (told.values, told.locations, told.directories) == ((("6",),), (), False)


@pytest.mark.parametrize(
    ("version", "files", "told"),
    [
        (2, [("000003_0", 3)], True),
        (1, [("000003_0", 3), ("000000_0", 0)], True),
        (2, [("000003_0_copy_1", 3), ("000003_1", 3), ("00003_0_part-00000-ab_00003.c000", 3)], True),
        (2, [("x=6/000003_0", 3)], True),
        (2, [("000003_0_pq-1-1_00003.c000.snappy.parquet", 3)], True),
        (2, [("pq-1-1", 3)], False),
        (
            2,
            [("part-00000-ab_00003.c000.snappy.parquet", 3)],
            False,
        ),  # Spark's name, which Hive does not read
        (2, [("000003_0", None)], False),
        (2, [("000003_0", 2)], False),
        (2, [("000003_0", 3), ("000002_0", None)], False),
        ("spark", [("000003_0", 3)], False),
        (2, None, True),
    ],
)
def test_buckets(version: Version, files: list[tuple[str, int | None]] | None, told: bool) -> None:
    """The record has buckets if Hive computes the same hashes and reads the bucket from each file's name."""
    spec = BucketSpec(("x",), 4, version)
    listed = None if files is None else [FileRecord(path, 1, bucket=bucket) for path, bucket in files]
    storage = hive_storage(
        "orc", "/p", X, ArrangementSpec(buckets=spec), listed, ArrangementSpec(buckets=spec)
    )
    assert storage.buckets == (HiveBuckets(("x",), 4, ()) if told else None)
    assert storage.serde.endswith("OrcSerde")


@pytest.mark.parametrize(
    ("type", "version_1", "version_2"),
    [
        ("int", True, True),
        ("string", True, True),
        ("decimal(9,2)", True, True),
        ("date", True, True),
        ("varchar(3)", True, True),
        ("char(3)", True, True),
        ("binary", True, False),  # Hive hashes what is behind the value, too
        ("double", True, False),  # x = -0.0 would be searched in another bucket than 0.0
        ("timestamp", False, False),  # by the clock of Hive's zone
    ],
)
def test_hive_hashes_alike(type: str, version_1: bool, version_2: bool) -> None:
    """The record has no buckets if Hive would search a value of the column's type in another bucket."""
    columns = {"x": parse_type(type)}
    for version, told in ((1, version_1), (2, version_2)):
        spec = BucketSpec(("x",), 4, version)  # type: ignore[arg-type]
        assert (hive_buckets(spec, columns, [], spec) is not None) is told
        theirs = msgspec.structs.replace(spec, unsettled=True)
        assert hive_buckets(theirs, columns, [], spec) is None


def test_partitions_whose_buckets_are_not_the_tables() -> None:
    """Hive has version and columns once for all partitions, and a number of buckets for each."""
    columns = {"x": parse_type("int"), "Y": parse_type("int")}
    tables = BucketSpec(("x",), 8)
    told = [BucketSpec(("x",), 8), BucketSpec(("x",), 4)]
    untold = [BucketSpec(("x",), 8, 1), BucketSpec(("Y",), 8), BucketSpec(("x", "Y"), 8)]
    assert [hive_buckets(spec, columns, [], tables) is not None for spec in told] == [True, True]
    assert [hive_buckets(spec, columns, [], tables) for spec in untold] == [None, None, None]
    assert hive_buckets(tables, columns, [], None) is None
    spec = BucketSpec(("Y",), 2)
    assert hive_buckets(spec, columns, [], spec) == HiveBuckets(("y",), 2, ())  # Hive's names are lower-case


def test_a_sort_order_is_told_if_every_file_has_it() -> None:
    """The record has the declared sort order, descending or ascending, if every file is sorted.

    Hive would merge unsorted files wrongly.
    """
    spec = BucketSpec(("x",), 4, sort=(SortColumn("x", True), SortColumn("Y")))
    columns = {"x": parse_type("int"), "Y": parse_type("int")}
    files = [
        FileRecord("000003_0", 1, bucket=3, sorted=True),
        FileRecord("000001_0", 1, bucket=1, sorted=True),
    ]
    order = (("x", True), ("y", False))
    assert hive_buckets(spec, columns, files, spec) == HiveBuckets(("x",), 4, order)
    assert hive_buckets(spec, columns, None, spec) == HiveBuckets(("x",), 4, order)
    files.append(FileRecord("000001_0_copy_1", 1, bucket=1))
    assert hive_buckets(spec, columns, files, spec) == HiveBuckets(("x",), 4, ())


def test_columns() -> None:
    """Types are Hive's, and one that Hive does not have is refused by name."""
    struct = {"type": "struct", "fields": [{"name": "a", "type": "decimal(9,2)"}]}
    (told,) = hive_columns("db.t", [TableColumn("s", struct, metadata={"comment": "c"})])
    assert (told.name, told.type, told.comment) == ("s", "struct<a:decimal(9,2)>", "c")
    with pytest.raises(
        UnsupportedError, match=r"db\.t cannot be published.*column n, which is timestamp_ntz"
    ):
        hive_columns("db.t", [TableColumn("n", "timestamp_ntz")])


@pytest.mark.parametrize("type", ["time(6)", "interval day", "variant", "void", "geometry(4326)", "new(3)"])
def test_types_that_hive_lacks_are_refused_by_type(type: str) -> None:
    """Hive lacks a type wherever it is nested, and has a field of the same name."""
    nested = {"type": "array", "elementType": type, "containsNull": True}
    with pytest.raises(UnsupportedError, match="Hive has no type for column c"):
        hive_columns("db.t", [TableColumn("c", nested)])
    named = {"type": "struct", "fields": [{"name": type.partition("(")[0], "type": "integer"}]}
    assert hive_columns("db.t", [TableColumn("c", named)])[0].type.endswith(":int>")


def test_statistics() -> None:
    """The record has the number of rows only if it is known for all files."""
    assert statistics([FileRecord("a", 1, 2), FileRecord("b", 3)]) == {"numFiles": "2", "totalSize": "4"}
