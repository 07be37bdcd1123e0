"""Callers ask the parts of an arrangement, so a kind of part that they do not know passes through them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set as AbstractSet
from typing import Any

import msgspec
import pytest

from parquetry.compaction.compact import worth_rewriting
from parquetry.data_files.records import FileRecord, TableColumn
from parquetry.errors import ArrangementError
from parquetry.joins.runtime.tuples import placement_columns
from parquetry.layout.arrangement import PLAIN, ArrangementSpec
from parquetry.layout.bucket_spec import BucketSpec
from parquetry.layout.cells import REST
from parquetry.layout.part import ArrangementPart, FileOrder, SortColumn
from parquetry.layout.skew_map import SkewMap
from parquetry.layout.slots import NO_SLOT, SlotLayout, SlotNumbers
from parquetry.metastore.manifest.chunks import sort_column
from parquetry.metastore.storage.model import TableMetadata
from parquetry.types import ColumnType

COLUMNS = (TableColumn("x", "integer"), TableColumn("id", "long"), TableColumn("day", "date"))
TYPES = {column.physical: column.column_type for column in COLUMNS}
SKEW = SkewMap(("x",), ((10,), (20,)), directories=True, locations=(None, "file:/far"))
BUCKETS = BucketSpec(("id",), 4)


class RangedFile(FileRecord, frozen=True, array_like=True, omit_defaults=True, gc=False):
    """A file's record that also names a range."""

    range: int | None = None


class Ranges(ArrangementPart, msgspec.Struct, frozen=True, omit_defaults=True):
    """A third kind of part: rows are in ranges of a column's values, each sorted by the column."""

    column: str
    bounds: tuple[int, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def sort(self) -> tuple[SortColumn, ...]:
        return (SortColumn(self.column),)

    @property
    def slots(self) -> int:
        return len(self.bounds) + 1

    def record_slot(self, file: FileRecord, slot: int) -> FileRecord:
        return msgspec.structs.replace(file, range=slot)

    def slot_of(self, file: FileRecord) -> int | None:
        return file.range if isinstance(file, RangedFile) else None

    def is_in_slot(self, file: FileRecord, types: Mapping[str, ColumnType], location: str) -> bool:
        return self.slot_of(file) is not None

    def require(self, file: FileRecord) -> None:
        slot = self.slot_of(file)
        if slot is not None and not 0 <= slot < self.slots:
            raise ArrangementError(f"File {file.path} is of range {slot}, and there are {self.slots} ranges.")

    def choosing_columns(self, columns: AbstractSet[str]) -> AbstractSet[str]:
        return columns & {self.column}

    def describe(self, columns: Sequence[TableColumn], location: str | None = None) -> list[tuple[str, str]]:
        return [("Ranges", f"{self.column} < {', '.join(map(str, self.bounds))}")]

    def properties(self, columns: Sequence[TableColumn]) -> dict[str, str]:
        return {"ranges": str(self.bounds)}


class WiderSpec(ArrangementSpec, frozen=True, omit_defaults=True):
    """An arrangement that has a field for the third kind."""

    ranges: Ranges | None = None


RANGES = Ranges("day", (100, 200))
ALL = WiderSpec(SKEW, BUCKETS, ranges=RANGES)


def test_slots_of_a_third_part() -> None:
    """Slots divide the slots of the parts before: directories first, then buckets, then ranges."""
    numbers = SlotNumbers(TYPES)
    layout = numbers.add(ALL)
    assert layout is not None
    assert (layout.count, layout.slots_of_directory, layout.sort) == (36, 12, (SortColumn("day"),))
    assert [(each.first, len(each.slots), each.directory) for each in numbers.directories] == [
        (0, 1, ""),
        (1, 12, "HIVE_DEFAULT_LIST_BUCKETING_DIR_NAME"),
        (13, 12, "x=10"),
        (25, 12, "file:/far"),
    ]
    file = numbers.record(RangedFile("f", 1), 25 + 3 * 3 + 2, ALL)
    assert file == RangedFile("f", 1, cell=1, bucket=3, range=2)
    other = numbers.record(RangedFile("f", 1), 25, WiderSpec(SKEW, BUCKETS))
    assert other == RangedFile("f", 1), "the slot is none of its partition's"


@pytest.mark.parametrize(
    "arrangement",
    [
        ArrangementSpec(SKEW),
        ArrangementSpec(SkewMap(("x",), directories=True)),
        ArrangementSpec(buckets=BucketSpec(("id",), 1, sort=(SortColumn("x"),))),
        ArrangementSpec(SkewMap(("x",), ((10,),)), BUCKETS),
        ArrangementSpec(SKEW, BUCKETS, (SortColumn("day"),)),
        ALL,
    ],
)
def test_records_name_their_slots(arrangement: ArrangementSpec) -> None:
    """A file's record names the slot that it was made for, is allowed, and may hold no other slot's rows."""
    layout = SlotLayout.from_arrangement(arrangement)
    assert layout is not None
    for slot in range(layout.count):
        file = layout.record(RangedFile("f", 1), slot)
        arrangement.require(file)
        assert layout.slot_of(file) == slot
        for part, own in zip(layout.parts, layout.slots_of_parts(slot), strict=True):
            assert [other for other in range(part.slots) if part.may_hold(file, other)] == [own]


@pytest.mark.parametrize(
    "arrangement", [PLAIN, ArrangementSpec(SkewMap(("x",), ((10,),))), ArrangementSpec(sort=RANGES.sort)]
)
def test_arrangements_without_slots(arrangement: ArrangementSpec) -> None:
    """Heavy values without directories and an order of files divide no rows, and record nothing."""
    numbers = SlotNumbers(TYPES)
    assert numbers.add(arrangement) is None
    assert [each.first for each in numbers.directories] == [NO_SLOT]
    assert numbers.record(FileRecord("f", 1), NO_SLOT, arrangement) == FileRecord("f", 1)


def test_an_earlier_rest_may_hold_later_cells() -> None:
    """A file that excludes the first cell may hold rows of the second cell, and of the rest."""
    held = {
        first: [slot for slot in range(3) if SKEW.may_hold(FileRecord("f", 1, rest_of=first), slot)]
        for first in (None, 1, 2)
    }
    assert held == {None: [0, 1, 2], 1: [0, 2], 2: [0]}


def test_description_of_a_third_part() -> None:
    """DESCRIBE has the innermost part first, and each part gives the table properties that define it."""
    names = [name for name, _ in ALL.describe(COLUMNS, "/t/p=1")]
    assert names == [
        "Ranges",
        "Num Buckets",
        "Bucket Columns",
        "Sort Columns",
        "bucketing_version",
        "Stored As SubDirectories",
        "Skewed Columns",
        "Skewed Values",
        "Skewed Value to Truncated Path",
    ]
    assert ALL.properties(COLUMNS) == {
        "ranges": "(100, 200)",
        "clustered-by": "(id) INTO 4 BUCKETS",
        "bucketing-version": "2",
        "hive-compatible": "true",
        "skewed-by": "(x) ON (10, 20) STORED AS DIRECTORIES",
        "skewed-locations": "(20 = 'file:/far')",
    }


@pytest.mark.parametrize(
    ("file", "message"),
    [
        (RangedFile("f", 1, range=3), "is of range 3, and there are 3 ranges"),
        (RangedFile("f", 1, bucket=4, range=1), "is of bucket 4, and there are 4 buckets"),
        (RangedFile("f", 1, cell=2, range=1), "is of cell 2, and there are 2 cells and the rest, -1"),
    ],
)
def test_check_of_a_third_part(file: RangedFile, message: str) -> None:
    """Each part refuses a file whose record names a slot that it has not."""
    ALL.require(RangedFile("f", 1, cell=REST, bucket=3, sorted=True, range=2))
    with pytest.raises(ArrangementError, match=message):
        ALL.require(file)


def test_third_part_outside_of_layouts() -> None:
    """Compaction, runtime filters, sort orders of lists, and checks of columns ask the parts alone."""
    files = [
        RangedFile(path, size, 1, cell=REST, bucket=0, range=slot)
        for path, size, slot in [("a", 60, 0), ("b", 60, 1), ("c", 60, 1)]
    ]
    only = WiderSpec(ranges=RANGES)
    assert worth_rewriting(files, only, TYPES, "/t", 128) == [1, 2]
    assert worth_rewriting([*files, FileRecord("d", 1, 1)], only, TYPES, "/t", 128) == [0, 1, 2, 3]
    unsorted = [
        RangedFile("x=9/e", 1, 1, cell=0, bucket=1, range=1),
        RangedFile("x=9/f", 1, 1, cell=0, bucket=1, range=2),
    ]
    kept = RangedFile("x=10/g", 100, 1, cell=0, bucket=1, range=2)
    both = WiderSpec(SKEW, ranges=RANGES)
    assert worth_rewriting([*unsorted, kept], both, TYPES, "/t", 128) == [0, 1]
    assert worth_rewriting([unsorted[0], msgspec.structs.replace(kept, bytes=1)], both, TYPES, "/t", 128) == [
        0
    ]
    assert worth_rewriting([*unsorted, msgspec.structs.replace(kept, bytes=1)], both, TYPES, "/t", 128) == [
        0,
        1,
        2,
    ]
    metadata = TableMetadata(COLUMNS, (), "parquet", "file:/t", arrangement=ALL)
    assert placement_columns(metadata).used_together(frozenset(("day", "x", "y"))) == {"day", "x"}
    assert sort_column(metadata, ALL) == "day"
    assert (ALL.columns, ALL.locations, ALL.divides) == (("x", "id", "day"), {"file:/far"}, True)
    with pytest.raises(ArrangementError, match="'day' is not the physical name of a column in the files"):
        replace_columns(metadata, COLUMNS[:2]).require_arrangeable(ALL)


def replace_columns(metadata: TableMetadata, columns: Sequence[TableColumn]) -> TableMetadata:
    return msgspec.structs.replace(metadata, columns=tuple(columns), arrangement=PLAIN)


def test_third_part_is_stored() -> None:
    """A part is stored as a field of its arrangement; what has no third part is stored as before."""
    coded = msgspec.msgpack.encode(ALL)
    assert msgspec.msgpack.decode(coded, type=WiderSpec) == ALL
    for parts in ({}, {"skew": SKEW}, {"buckets": BUCKETS, "sort": RANGES.sort}):
        fields: dict[str, Any] = parts
        assert msgspec.msgpack.encode(WiderSpec(**fields)) == msgspec.msgpack.encode(
            ArrangementSpec(**fields)
        )


def test_order_of_files_is_a_part() -> None:
    """The order of files counts before the order of buckets, as it holds for whole files."""
    by_id, by_day = SortColumn("id"), SortColumn("day", descending=True)
    both = ArrangementSpec(buckets=replace_sort(BUCKETS, by_id), sort=(by_day,))
    assert both.parts == (replace_sort(BUCKETS, by_id), FileOrder((by_day,)))
    assert both.order == (by_day,)
    assert not FileOrder((by_day,)).slots


def replace_sort(buckets: BucketSpec, *sort: SortColumn) -> BucketSpec:
    return msgspec.structs.replace(buckets, sort=sort)
