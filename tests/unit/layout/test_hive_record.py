"""What Hive's metastore is told of heavy values: directories only where Hive finds all rows by them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from parquetry.errors import UnsupportedError
from parquetry.layout.arrangement import REST, Arrangement, BucketSpec, SkewMap, SortColumn
from parquetry.layout.hive_record import HiveBuckets, hive_columns, hive_skew, hive_storage, statistics
from parquetry.layout.records import Column, DataFile
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
        ([("f", REST)], None),  # Hive looks in its default directory, wherever the rest lies
        ([("x=6/f", None)], None),  # it may hold anything
        ([(f"{REST_PLACE}/f", 0)], None),
        ([("x=6/f", 0), ("x=6/g", 1)], None),
    ],
)
def test_directories(
    files: list[tuple[str, int | None]], locations: tuple[tuple[tuple[str, ...], str], ...] | None
) -> None:
    """A cell in one directory, which holds nothing else, and the rest in the default one; else none are told."""
    told = hive_skew(MAP, X, "/p", [DataFile(path, 1, cell=cell) for path, cell in files])
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
    """Directories are told where what a query says of a heavy value can be no other text than its own."""
    kind = parse_type(type)
    skew = SkewMap(("x",), ((value,),), directories=True)
    assert hive_skew(skew, {"x": kind}, "/p", []).directories is directories


def test_a_plain_skewed_table_tells_its_values_only() -> None:
    """So that others may use them."""
    told = hive_skew(SkewMap(("x",), (("6",),)), X, "/p", [DataFile("f", 1)])
    assert (told.values, told.locations, told.directories) == ((("6",),), (), False)


@pytest.mark.parametrize(
    ("version", "files", "told"),
    [
        (2, [("000003_0", 3)], True),
        (1, [("000003_0", 3), ("000000_0", 0)], True),
        (2, [("pq-1-1", 3)], False),
        (2, [("000003_0", None)], False),
        (2, [("000003_0", 2)], False),
        ("spark", [("000003_0", 3)], False),
        (2, None, True),
    ],
)
def test_buckets(version: int, files: list[tuple[str, int | None]] | None, told: bool) -> None:
    """They are told where Hive hashes alike and reads the bucket from each name."""
    spec = BucketSpec(("x",), 4, version, (SortColumn("x", True),))  # type: ignore[arg-type]
    listed = None if files is None else [DataFile(path, 1, bucket=bucket) for path, bucket in files]
    storage = hive_storage("orc", "/p", X, Arrangement(buckets=spec), listed)
    assert storage.buckets == (HiveBuckets(("x",), 4, (("x", True),)) if told else None)
    assert storage.serde.endswith("OrcSerde")


def test_columns() -> None:
    """Types are Hive's, and one that Hive does not have is refused by name."""
    struct = {"type": "struct", "fields": [{"name": "a", "type": "decimal(9,2)"}]}
    (told,) = hive_columns("db.t", [Column("s", struct, metadata={"comment": "c"})])
    assert (told.name, told.type, told.comment) == ("s", "struct<a:decimal(9,2)>", "c")
    with pytest.raises(
        UnsupportedError, match=r"db\.t cannot be published.*column n, which is timestamp_ntz"
    ):
        hive_columns("db.t", [Column("n", "timestamp_ntz")])


def test_statistics() -> None:
    """Rows are told if they are known of all files."""
    assert statistics([DataFile("a", 1, 2), DataFile("b", 3)]) == {"numFiles": "2", "totalSize": "4"}
