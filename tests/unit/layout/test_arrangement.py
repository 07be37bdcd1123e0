"""How rows are arranged is recorded as it is meant, and what cannot be is refused when it is said."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import msgspec
import pytest

from parquetry.data_files.records import FileRecord
from parquetry.errors import ArrangementError, MetastoreDamagedError, ParquetryError
from parquetry.layout.arrangement import PLAIN, ArrangementSpec
from parquetry.layout.bucket_spec import BucketSpec
from parquetry.layout.cells import REST, AutoSkew
from parquetry.layout.part import SortColumn
from parquetry.layout.skew_map import SkewMap
from parquetry.metastore.storage.wire import decode_arrangement, encode_arrangement
from parquetry.types import parse_type
from tests.support.tables.arrangements import MEASURED, OWN, SKEW, TABLES

SORT = (SortColumn("a"), SortColumn("b", descending=True))


@pytest.mark.parametrize(
    "arrangement",
    [PLAIN, TABLES, OWN, MEASURED, ArrangementSpec(SkewMap(("x",))), ArrangementSpec(sort=SORT)],
)
def test_there_and_back(arrangement: ArrangementSpec) -> None:
    """The decoded record equals the encoded one, also with NaN, decimals and bytes.

    Partitions with equal records share one object.
    """
    data = encode_arrangement(arrangement)
    assert decode_arrangement(data) == arrangement
    assert hash(decode_arrangement(data)) == hash(arrangement)
    assert decode_arrangement(msgspec.Raw(bytes(data))) is decode_arrangement(data)


def test_a_plain_one_takes_a_byte() -> None:
    """Nothing to say is the empty map that format 1 has there."""
    assert bytes(encode_arrangement(PLAIN)) == b"\x80"
    assert decode_arrangement(msgspec.Raw(b"\x80")) == PLAIN
    assert decode_arrangement(msgspec.Raw(msgspec.msgpack.encode({"key": "of format 1"}))) == PLAIN


def test_equal_values_are_recorded_alike() -> None:
    """Equal values are written in one way in the record, so that records can be compared."""
    one = SkewMap(("f", "d"), ((-0.0, Decimal("100")), (float("nan"), Decimal("-0.0"))))
    other = SkewMap(("f", "d"), ((0.0, Decimal("1E+2")), (math.nan, Decimal("0"))))
    assert one == other
    assert repr(one.cells) == "((0.0, '100'), (nan, '0'))"
    assert SkewMap(("d",), ((Decimal("1.50"),),)).cells == (("1.5",),)
    widest = Decimal("1234567890123456789.1234567890123456789")
    assert SkewMap(("d",), ((widest,),)).cells == ((str(widest),),)


def test_values() -> None:
    """Cells come back as internal values of the columns' types."""
    types = list(map(parse_type, ("bigint", "decimal(9,2)", "double", "binary", "string")))
    assert repr(SKEW.values(types)) == repr(
        (
            (10, Decimal("1.5"), math.nan, b"\x00\xff", "a/b=c"),
            (None, None, None, None, None),
            (-1, Decimal("-0.01"), -math.inf, b"", ""),
        )
    )


def test_columns() -> None:
    """All columns that an arrangement speaks of, each once."""
    assert OWN.columns == ("x", "price", "share", "raw", "was")
    assert ArrangementSpec(buckets=BucketSpec(("b",), 1, sort=SORT)).columns == ("b", "a")
    assert PLAIN.columns == ()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: SkewMap((), ()), "names no column"),
        (lambda: SkewMap(("x", "X"), ()), "names the column 'X' twice"),
        (lambda: SkewMap(("x", "y"), ((1,),)), r"over 2 columns \(x, y\) has the cell \(1,\) of 1 value:"),
        (lambda: SkewMap(("x",), ((1, 2),)), "of 2 values"),
        (lambda: SkewMap(("x",), ((1,), (2,), (1,))), r"names the cell \(1,\) twice"),
        (lambda: SkewMap(("x",), ((math.nan,), (float("nan"),))), r"names the cell \(nan,\) twice"),
        (lambda: SkewMap(("x",), ((0.0,), (-0.0,))), r"names the cell \(0.0,\) twice"),
        (lambda: SkewMap(("x",), (([1],),)), r"\[1\] of type list, which is no value"),
        (lambda: SkewMap(("x",), ((1,),), locations=("/a", "/b")), "2 locations for 1 cells"),
        (lambda: SkewMap(("x",), ((1,),), locations=("a/b",)), "location 'a/b' of a cell is not absolute"),
        (
            lambda: SkewMap(("x",), ((1,),), auto=AutoSkew(0.1, 4)),
            "over x has 1 cells, and is to measure them",
        ),
        (lambda: AutoSkew(0.0, 4), "a share of 0.0 of the rows"),
        (lambda: AutoSkew(1.01, 4), "a share of 1.01"),
        (lambda: AutoSkew(math.nan, 4), "a share of nan"),
        (lambda: AutoSkew(0.5, 0), "At most 0 values are to be heavy"),
        (lambda: AutoSkew(0.5, 1001), "a number from 1 to 1000"),
        (lambda: BucketSpec((), 4), "names no column"),
        (lambda: BucketSpec(("a", "b", "a"), 4), "names the column 'a' twice"),
        (lambda: BucketSpec(("a",), 0), "a count of 0"),
        (lambda: BucketSpec(("a",), 1, 3), "the version 3"),  # type: ignore[arg-type]
        (lambda: BucketSpec(("a",), 1, sort=(*SORT, SortColumn("B"))), "names the column 'B' twice"),
        (lambda: ArrangementSpec(sort=(*SORT, SortColumn("a"))), "sort order names the column 'a' twice"),
    ],
)
def test_what_cannot_be(make: Callable[[], Any], says: str) -> None:
    """A contradictory arrangement is refused when it is made, with the value in the message."""
    with pytest.raises(ArrangementError, match=says) as caught:
        make()
    assert isinstance(caught.value, ParquetryError)
    assert caught.value.message[0].isupper()
    assert caught.value.message.endswith(".")


def test_values_of_two_types_are_two_cells() -> None:
    """True and 1 are equal in Python, and two values."""
    assert len(SkewMap(("x",), ((True,), (1,))).cells) == 2


def test_what_cannot_be_is_damage_in_a_store() -> None:
    """Bytes of an impossible arrangement are reported as damage of the metastore."""
    for wrong in ({"buckets": {"columns": ["a"], "count": 0}}, {"skew": {"columns": []}}, {"sort": 1}):
        with pytest.raises(MetastoreDamagedError, match="cannot be read as Arrangement"):
            decode_arrangement(msgspec.Raw(msgspec.msgpack.encode(wrong)))


@pytest.mark.parametrize(
    ("file", "says"),
    [
        (FileRecord("f", 1, cell=3), "of cell 3, and there are 3 cells and the rest, -1"),
        (FileRecord("f", 1, cell=-2), "of cell -2"),
        (FileRecord("f", 1, cell=0, rest_of=1), "no row of the first 1 cells"),
        (FileRecord("f", 1, rest_of=4), "no row of the first 4 cells, and there are 3"),
        (FileRecord("f", 1, bucket=8), "of bucket 8, and there are 8 buckets"),
        (FileRecord("f", 1, bucket=-1), "of bucket -1"),
    ],
)
def test_files_have_their_place(file: FileRecord, says: str) -> None:
    """A file is of a cell and a bucket that its partition has, and sorted only by what is known."""
    for fitting in (
        FileRecord("f", 1, cell=2, bucket=7, sorted=True),
        FileRecord("f", 1, cell=REST),
        FileRecord("f", 1, rest_of=3),
    ):
        OWN.require(fitting)
    with pytest.raises(ArrangementError, match=says):
        OWN.require(file)
    for arranged in (
        FileRecord("f", 1, cell=REST),
        FileRecord("f", 1, bucket=0),
        FileRecord("f", 1, sorted=True),
    ):
        with pytest.raises(ArrangementError, match="File f is"):
            PLAIN.require(arranged)
    TABLES.require(FileRecord("f", 1, bucket=3))
    ArrangementSpec(buckets=BucketSpec(("a",), 1, sort=SORT)).require(FileRecord("f", 1, sorted=True))
