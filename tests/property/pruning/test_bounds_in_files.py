"""The bounds known of many files at once equal the bounds in each file's record."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import event, given, settings, strategies as st

from parquetry.data_files.bounds import FileBounds, bounds_reader
from parquetry.data_files.bounds_vectorized import bounds_in_files, list_bounds_in_files
from parquetry.data_files.many_files.file_batch import FileColumns, RecordedFiles
from parquetry.data_files.many_files.projected_files import Interleaving, interleave_files, project_files
from parquetry.data_files.records import ColumnStatistics, FileRecord, TableColumn
from parquetry.metastore.manifest.entries import encode_files
from parquetry.metastore.manifest.inline import files_in_lists
from parquetry.predicate.pruning.held_values import as_list
from parquetry.predicate.pruning.knowledge import Bounds
from parquetry.predicate.pruning.truth_sets import MAX_LISTED_CONTAINERS
from tests.support.effort import examples

TYPES = [
    "boolean", "byte", "short", "integer", "long", "float", "double", "decimal(10,2)", "decimal(20,0)", "string",
    "varchar(5)", "char(3)", "binary", "date", "timestamp", "timestamp_ntz", {"type": "array"},
]  # fmt: skip
DAY = 86_400_000_000
INTEGERS = st.one_of(
    st.integers(-200, 200),
    st.sampled_from([n + d for n in (2**15, 2**24, 2**31, 2**53, 2**63, 106_751_991) for d in (-1, 0, 1)]),
    st.sampled_from([-(2**15), -(2**31), -(2**31) - 1, -(2**63), -106_751_991, -106_751_992, 19_000, 10**15]),
)
FLOATS = st.sampled_from([0.0, -0.0, 1.5, -1.5, float("nan"), float("inf"), 2.0**60])
DECIMALS = st.sampled_from(["1.50", "-2", "0", "10.25", "NaN", "x"])
TEXTS = st.text("ab\x00é", max_size=2)
KINDS = [INTEGERS, INTEGERS, FLOATS, st.booleans(), DECIMALS, TEXTS, TEXTS.map(str.encode)]
UNKNOWN = ColumnStatistics(9, 0, None, None, False, False)
COUNTS = st.none() | st.sampled_from([0, 0, 5, 5, 7])


def statistics(values: st.SearchStrategy[Any]) -> st.SearchStrategy[ColumnStatistics]:
    """Statistics with values of one kind, which are in order, or are not, or are not known."""
    either = st.none() | values
    pairs = st.one_of(
        st.tuples(values, values), st.tuples(values, values), st.tuples(either, either), st.just((None, None))
    )
    return st.builds(
        lambda pair, nulls, exact, trust, stored: ColumnStatistics(
            9, nulls, *pair, exact, exact, trust, stored
        ),
        pairs,
        COUNTS,
        st.booleans(),
        st.sampled_from([0, 1, 2]),
        st.sampled_from([None, None, "parquet INT32", "parquet INT64 TIMESTAMP(MILLIS)", "parquet DOUBLE"]),
    )


@st.composite
def tables(draw: st.DrawFn) -> tuple[TableColumn, list[FileRecord]]:
    """Return a column, and files from several times of its life.

    Most files are of one kind, and spell the column as the table does.
    """
    kind = draw(st.sampled_from(TYPES))
    metadata = draw(st.sampled_from([{}, {}, {"EXISTS_DEFAULT": "7"}, {"parquetry.physical": "X"}]))
    kinds = draw(st.lists(st.sampled_from(KINDS), min_size=1, max_size=2))
    usual = draw(st.booleans())
    names = ["x"] if usual else draw(st.lists(st.sampled_from(["x", "X", "y"]), min_size=1, max_size=3))
    entries = st.one_of([statistics(each) for each in kinds])
    columns = st.dictionaries(st.sampled_from(names), entries, min_size=int(usual), max_size=3)
    files = st.builds(lambda rows, found: FileRecord("f", 9, rows, 1, found), COUNTS, st.none() | columns)
    some = draw(st.lists(files, min_size=1, max_size=8))
    known = [file.columns.keys() for file in some if file.columns]
    if all({"x", "X"} & each for each in known) and any({"x", "X"} <= each for each in known):
        # Many such files are decoded without a look at other names. Adoption refuses such files.
        some.append(FileRecord("f", 9, 1, 1, {"y": UNKNOWN}))
    return TableColumn("x", kind, metadata=metadata), some * draw(
        st.sampled_from([1, 4 * MAX_LISTED_CONTAINERS])
    )


@pytest.mark.filterwarnings("ignore:Generating overly large repr")
@settings(max_examples=examples(600), deadline=None)
@given(tables())
def test_all_at_once_is_one_by_one(table: tuple[TableColumn, list[FileRecord]]) -> None:
    """Bounds of files in arrays equal the bounds that `bounds_reader` gives of each record, in any form."""
    event("nothing known" if check(*table) is None else "known")


def test_two_spellings_in_each_file_tell_nothing() -> None:
    """Nor do they where many records are held in arrays."""
    twice = FileRecord("f", 9, 1, 1, {"X": UNKNOWN, "x": UNKNOWN})
    assert check(TableColumn("x", "boolean"), [twice] * (4 * MAX_LISTED_CONTAINERS)) is None


def check(column: TableColumn, records: list[FileRecord]) -> Bounds | None:
    """Compare what files tell together with what each tells alone, and return it."""
    alone = [bounds_reader(column)(record) for record in records]
    expected = _bounds(column, alone)
    for files in _held_in_all_ways(column, records):
        found = bounds_in_files(column, files)
        assert (found is None) == (expected is None)
        assert repr(list_bounds_in_files(column, files)) == repr(alone)
        if found is not None and expected is not None:
            assert _told(found.bounds) == _told(expected)
            assert found.some == any(
                each.all_null or each.min is not None for each in alone if each is not None
            )
    return expected


def _held_in_all_ways(column: TableColumn, records: list[FileRecord]) -> list[FileColumns]:
    names = [column.physical]
    recorded = RecordedFiles(records)
    half = len(records) // 2
    lists = [encode_files(records[:half]), encode_files(records[half:])]
    inline = files_in_lists(lists, [half, len(records) - half], names)
    everything = [list(range(half)), list(range(half, len(records)))]
    parts = [project_files(inline, np.array(places, np.intp), names) for places in everything]
    turns = Interleaving([np.full(part.count, place, np.int32) for place, part in enumerate(parts)])
    return [recorded, inline, interleave_files(parts, names, turns)]


def _bounds(column: TableColumn, found: list[FileBounds | None]) -> Bounds | None:
    if not any(found):
        return None
    known = [each or FileBounds() for each in found]
    return Bounds.from_statistics(
        column.column_type,
        [each.min for each in known],
        [each.max for each in known],
        [each.null_state for each in known],
    )


def _told(bounds: Bounds) -> list[str]:
    kinds = [getattr(each, "dtype", list) for each in (bounds.least, bounds.greatest)]
    return [repr(each) for each in (kinds, *map(as_list, (bounds.least, bounds.greatest, bounds.nulls)))]
