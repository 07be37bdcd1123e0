"""Files in columns say what their records say."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st

from parquetry.data_files.many_files.file_batch import UNKNOWN, Bound, FileColumns, RecordedFiles
from parquetry.data_files.records import ColumnStatistics, FileRecord

_BOUNDS: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.integers(-(1 << 64), 1 << 64),
    st.floats(allow_nan=False),
    st.booleans(),
    st.text(max_size=3),
    st.binary(max_size=3),
)
_SIZES = st.none() | st.integers(0, 1 << 40)
_STATISTICS = st.builds(
    ColumnStatistics, _SIZES, _SIZES, _BOUNDS, _BOUNDS, st.booleans(), st.booleans(), distinct=_SIZES
)
FILES = st.lists(
    st.builds(
        FileRecord,
        st.text(min_size=1, max_size=5),
        st.integers(0, 1 << 40),
        _SIZES,
        _SIZES,
        st.none() | st.dictionaries(st.sampled_from(["a", "A", "b"]), _STATISTICS),
        st.none() | st.integers(-1, 9),
        st.none() | st.integers(0, 9),
        st.booleans(),
        st.none() | st.integers(1, 9),
    ).map(lambda file: file if file.cell is None else msgspec.structs.replace(file, rest_of=None)),
    max_size=6,
)


@given(FILES, st.data())
def test_records_come_back(records: list[FileRecord], data: st.DataObject) -> None:
    """From columns come the records that they were made of, of all files and of some, by type and value."""
    files = RecordedFiles(records)
    assert list(map(told, FileColumns.records(files))) == list(map(told, records))
    places = data.draw(st.lists(st.sampled_from(range(len(records))), max_size=4)) if records else []
    taken = files.take(np.array(places, np.intp))
    assert list(map(told, taken.records())) == [told(records[place]) for place in places]
    again = taken.take(np.arange(len(places))[::-1])
    assert again.paths == [records[place].path for place in reversed(places)]


def told(file: FileRecord) -> str:
    """Return a text of a file's types and values that ignores the order of its columns."""
    columns = None if file.columns is None else dict(sorted(file.columns.items()))
    return repr(msgspec.structs.replace(file, columns=columns))


@pytest.mark.parametrize(
    ("values", "kind"), [([1, None], np.int64), ([0.5, 2.0], np.float64), ([True, False], np.bool_)]
)
def test_numbers_of_one_type_are_arrays(values: list[Any], kind: Any) -> None:
    """Numbers are held in arrays even where some are missing; mixed types are not."""
    held = Bound.from_values(values)
    assert isinstance(held.values, np.ndarray)
    assert held.values.dtype == kind
    assert held.to_list() == values
    assert isinstance(Bound.from_values([1, 0.5]).values, list)


def test_what_is_unknown() -> None:
    """A file without a row count, or without statistics of a column, says UNKNOWN there."""
    files = RecordedFiles(
        [FileRecord("f", 1, None, None, {"a": ColumnStatistics(4, None, 1, 2)}), FileRecord("g", 2, 3)]
    )
    assert files.rows.tolist() == [UNKNOWN, 3]
    found = files.statistics("a")
    assert found is not None
    assert found.there.tolist() == [True, False]
    assert found.nulls.tolist() == [UNKNOWN, UNKNOWN]
    assert files.statistics("b") is None
    assert files.described.tolist() == [True, False]
