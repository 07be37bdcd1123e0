"""A chunk that its summary rules out has no file that its own record does not rule out."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from itertools import compress
from typing import Any

import pytest
from hypothesis import event, given, settings, strategies as st

from parquetry.data_files.bounds_vectorized import bounds_in_files
from parquetry.data_files.many_files.file_batch import RecordedFiles
from parquetry.data_files.records import ColumnStatistics, FileRecord, TableColumn
from parquetry.metastore.manifest.summary import summarise, types_of
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import And, Compare, In, IsNull, Not, Or, Predicate
from parquetry.predicate.pruning.knowledge import Bounds, Knowledge
from parquetry.predicate.pruning.match import Match, match
from tests.support.effort import examples
from tests.support.planning.filters import make_filter
from tests.support.tables.statistics import exact

_DAY = 86_400_000_000
_INTS = st.integers(-3, 3) | st.sampled_from([-(1 << 31), 1 << 31, (1 << 24) + 1, (1 << 63) - 1, -(1 << 63)])
_FLOATS = st.sampled_from([0.0, -0.0, 1.5, -1.5, math.inf, math.nan])
_TEXT = st.sampled_from(["", "a", "b", "é", "z", "\U0001f600", "\uffff"])
_BYTES = _TEXT.map(str.encode) | st.sampled_from([b"\xff", b"a\xc3"])
_CENTS = st.integers(-120, 120).map(lambda n: format(Decimal(n).scaleb(-1), "f"))
_TIMES = st.sampled_from(
    [-(1 << 40), -1, 0, 1, 20_000, 3_000_000, (1 << 31) - 1, 1 << 31, 1_700_000_000_000_000]
)

# name: the types as the summary was written, and as it is read; what files state; and what is asked.
SCHEMA: dict[str, tuple[str, str, st.SearchStrategy[Any], st.SearchStrategy[Any]]] = {
    "i": ("integer", "long", _INTS, _INTS),
    "w": ("integer", "double", _INTS | _FLOATS, _FLOATS),
    "v": ("integer", "decimal(12,1)", _INTS | _CENTS, _CENTS.map(Decimal)),
    "m": ("decimal(10,1)", "decimal(12,1)", _CENTS | _INTS, _CENTS.map(Decimal)),
    "f": ("double", "double", _FLOATS | _INTS, _FLOATS),
    "s": ("string", "string", _TEXT | _BYTES, _TEXT),
    "x": ("binary", "binary", _BYTES | _TEXT, _BYTES),
    "b": ("boolean", "boolean", st.booleans(), st.booleans()),
    "d": ("date", "timestamp_ntz", _TIMES, _TIMES.map(lambda n: n * _DAY if abs(n) < 1 << 31 else n)),
    "z": ("timestamp_ntz", "timestamp_ntz", _TIMES, _TIMES),
    "t": ("timestamp", "timestamp", _TIMES, _TIMES),
}
WRITTEN = [TableColumn(name, kinds[0]) for name, kinds in SCHEMA.items()]
READ = {name: TableColumn(name, kinds[1]) for name, kinds in SCHEMA.items()}
READ["added"] = TableColumn("added", "integer")
READ["default"] = TableColumn("default", "integer", metadata={"EXISTS_DEFAULT": "1"})
READ["dropped"] = TableColumn("dropped", "integer")
ASKED = {name: kinds[3] for name, kinds in SCHEMA.items()} | dict.fromkeys(
    ["added", "default", "dropped"], _INTS
)


@st.composite
def _statistics(draw: st.DrawFn, stated: st.SearchStrategy[Any], rows: int | None) -> ColumnStatistics:
    nulls = draw(st.none() | st.sampled_from([0, 0, 1, rows, rows, 9]))
    size = draw(st.none() | st.integers(0, 9))
    trust = draw(st.sampled_from([0, 1, 2, 2]))
    low = draw(stated | st.none())
    if low is None:
        return ColumnStatistics(size, nulls, trust=trust)
    high = draw(stated.filter(lambda value: type(value) is type(low)))
    if not draw(st.integers(0, 5)):
        return ColumnStatistics(size, nulls, low, high, trust=trust)
    if low == low and high == high and (not isinstance(low, str) or draw(st.booleans())):
        low, high = sorted((low, high))  # as text, decimals are in another order
    return ColumnStatistics(size, nulls, low, high, draw(st.booleans()), draw(st.booleans()), trust)


@st.composite
def _file(draw: st.DrawFn, names: Sequence[str]) -> FileRecord:
    rows = draw(st.none() | st.sampled_from([0, 1, 5, 5, 5]))
    if not draw(st.integers(0, 30)):
        return FileRecord("f", 1, rows, None, draw(st.none() | st.just({})))
    columns = {}
    for name in names:
        stated = _INTS if name == "dropped" else SCHEMA[name][2]
        spelt = name if draw(st.integers(0, 20)) else name.upper()
        if draw(st.integers(0, 9)):
            columns[spelt] = draw(_statistics(stated, rows))
    return FileRecord("f", 1, rows, None, columns)


@st.composite
def _leaf(draw: st.DrawFn, names: Sequence[str]) -> Predicate:
    name = draw(st.sampled_from(names))
    kind, values = READ[name].column_type, ASKED[name]
    shape = draw(st.sampled_from(["compare", "compare", "in", "null"]))
    if shape == "compare":
        return Compare(
            draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "<=>"])), name, draw(values), kind
        )
    if shape == "in":
        return In(name, tuple(draw(st.lists(values, max_size=3))), kind, draw(st.booleans()))
    return IsNull(name)


def _conditions(names: Sequence[str]) -> st.SearchStrategy[Filter]:
    return st.recursive(
        _leaf(names),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=2).map(lambda nodes: And(tuple(nodes))),
            st.lists(inner, min_size=1, max_size=2).map(lambda nodes: Or(tuple(nodes))),
            inner.map(Not),
        ),
        max_leaves=3,
    ).map(make_filter)


@st.composite
def _cases(draw: st.DrawFn) -> tuple[list[FileRecord], list[Filter]]:
    """Return files with statistics of two columns, and conditions on those and on others."""
    names = draw(st.lists(st.sampled_from([*SCHEMA, "dropped"]), min_size=1, max_size=2))
    files = draw(st.lists(_file(names), min_size=1, max_size=4))
    asked = [*names, *names, "added", "default"]
    return files, draw(st.lists(_conditions(asked), min_size=1, max_size=8))


class _Files(Knowledge):
    def __init__(self, files: Sequence[FileRecord]) -> None:
        self.count = len(files)
        self._files = files

    def bounds(self, column: str) -> Bounds | None:
        found = bounds_in_files(READ[column], RecordedFiles(self._files))
        return None if found is None else found.bounds


@settings(max_examples=examples(800), deadline=None)
@given(_cases())
def test_what_a_summary_rules_out(case: tuple[list[FileRecord], list[Filter]]) -> None:
    """If no row of the summary can satisfy a condition, none of any file can; if all must, all of each must.

    A file without rows cannot have a matching row, so its own answer does not count.
    """
    files, conditions = case
    with_rows = [file.rows != 0 for file in files]
    summary = summarise(RecordedFiles(files), types_of(WRITTEN))
    for condition in conditions:
        judged = match(condition, _Files([summary]))[0]
        each = set(compress(match(condition, _Files(files)).tolist(), with_rows))
        event(f"summary says {Match(int(judged)).name}")
        if judged != Match.MIGHT:
            assert each <= {judged}


def _summary(*records: tuple[int | None, ColumnStatistics], type: str = "integer") -> ColumnStatistics:
    files = [FileRecord("f", 1, rows, None, {"c": record}) for rows, record in records]
    found = summarise(RecordedFiles(files), types_of([TableColumn("C", type)])).columns
    assert found is not None
    return found["c"]


def test_the_example() -> None:
    """A summary has sums, the least minimum and the greatest maximum; files of NULLs do not affect bounds."""
    files = [
        FileRecord("a", 100, 10, 1, {"c": exact(7, 0, 3, 9)}),
        FileRecord("b", 200, 5, 2, {"c": exact(8, 5)}),
        FileRecord("c", 300, 20, None, {"c": exact(9, 1, -2, 4, False)}),
    ]
    assert summarise(RecordedFiles(files), types_of([TableColumn("c", "integer")])) == FileRecord(
        "", 600, 35, None, {"c": exact(24, 6, -2, 9, False, True)}
    )


@pytest.mark.parametrize(
    ("type", "bounds", "wanted"),
    [
        ("integer", [(1, 2), (None, None)], (None, None)),
        ("double", [(1.0, 2.0), (0.5, math.nan)], (None, None)),
        ("double", [(1.0, 2.0), (1, 2)], (None, None)),
        ("integer", [(1, 2), (4, 3)], (None, None)),
        ("decimal(5,1)", [("9.5", "10.5"), ("10.0", "100.0")], ("9.5", "100.0")),
        ("decimal(5,1)", [("9.5", "10.5"), (10, 100)], (None, None)),
        ("string", [("9.5", "95"), ("10.0", "900")], ("10.0", "95")),
        ("string", [(b"a", b"b"), (b"\xff", b"\xff")], (None, None)),
        ("binary", [(b"a", b"b"), (b"\xff", b"\xff")], (b"a", b"\xff")),
        ("integer", [("1", "2"), ("10", "20")], (None, None)),
        ("timestamp_ntz", [(1, 2), (3, 1 << 50)], (None, None)),
        ("timestamp_ntz", [(1 << 40, 1 << 41), (1 << 42, 1 << 50)], (1 << 40, 1 << 50)),
        ("timestamp_ntz", [(1, 2), (3, 4)], (1, 4)),
        ("timestamp", [(1, 2), (3, 1 << 50)], (1, 1 << 50)),
        ("boolean", [(False, False), (True, True)], (False, True)),
        ("char(3)", [("a", "b"), ("c ", "c ")], ("a", "c ")),
        ({"type": "array", "elementType": "integer", "containsNull": True}, [(1, 2)], (None, None)),
    ],
)
def test_which_bounds_a_summary_has(
    type: Any, bounds: list[tuple[Any, Any]], wanted: tuple[Any, Any]
) -> None:
    """Bounds are unknown if files state them in different types, or in an order that the type lacks."""
    found = _summary(*((3, ColumnStatistics(1, 0, low, high)) for low, high in bounds), type=type)
    assert (found.min, found.max) == wanted
    assert found.nulls == 0


def test_what_is_not_known_of_a_file_is_not_of_the_chunk() -> None:
    """Unknown or impossible numbers of NULLs and rows make the sum unknown.

    A column that a file lacks has no known statistics.
    """
    known = ColumnStatistics(1, 1, 1, 2)
    assert _summary((3, known), (3, ColumnStatistics(1, None, 1, 2))).nulls is None
    assert _summary((3, known), (0, known)).nulls is None
    types = types_of([TableColumn("c", "integer")])
    without = RecordedFiles(
        [FileRecord("a", 1, 3, None, {"c": known}), FileRecord("b", 1, 3, None, {"d": known})]
    )
    assert summarise(without, types).columns == {"c": ColumnStatistics(), "d": ColumnStatistics()}
    spelt = RecordedFiles(
        [FileRecord("a", 1, 3, None, {"c": known}), FileRecord("b", 1, None, None, {"C": known})]
    )
    assert summarise(spelt, types) == FileRecord(
        "", 2, None, None, {"c": ColumnStatistics(), "C": ColumnStatistics()}
    )
    for columns in (None, {}):
        undescribed = RecordedFiles(
            [FileRecord("a", 1, 3, None, {"c": known}), FileRecord("b", 1, 3, None, columns)]
        )
        assert summarise(undescribed, types).columns is None
    assert summarise(RecordedFiles([FileRecord("a", 1, 3, None, {"old": known})]), types).columns == {
        "old": ColumnStatistics(1, 1)
    }
