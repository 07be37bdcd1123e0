"""A LIMIT, the first rows in an order, and aggregates get every row that they need, from whichever files.

Tables are of random files, with statistics that are exact, wider than the values, in doubt, or missing.
"""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import msgspec
from hypothesis import HealthCheck, event, given, settings, strategies as st
from msgspec.structs import replace

from parquetry.data_files import ColumnStatistics, Trust
from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import And, Compare, In, IsNull, Not, Or
from parquetry.prune.condition import Condition
from parquetry.prune.needed_rows import AggregateFunction, FirstRows, SortKey, WholeAggregate
from parquetry.prune.rule import PruningRequest, Remaining
from parquetry.prune.rules.results.file_order import file_order, order_columns
from parquetry.prune.select import Selection, select_for
from parquetry.store.memory import MemoryStore
from parquetry.types import order_key
from tests.support.effort import examples
from tests.support.planning.filters import make_filter

DEFAULT = {"EXISTS_DEFAULT": "1", "CURRENT_DEFAULT": "1"}
COLUMNS = (
    TableColumn("v", "integer"),
    TableColumn("f", "double"),
    TableColumn("s", "string"),
    TableColumn("c", "char(3)"),
    TableColumn("later", "integer"),
    TableColumn("filled", "integer", metadata=DEFAULT),
    TableColumn("p", "integer"),
)
TYPES = {column.name: column.column_type for column in COLUMNS}
SMALL = st.integers(-2, 4)
STEPS = 8
"""Files have small numbers, plus a multiple of this."""
TEXT = st.sampled_from(["", "a", "a\t", "b", "ab", "b\x00", "é", "\U0001f600"])
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "v": SMALL,
    "f": st.sampled_from([0.0, -0.0, 1.0, -1.0, math.nan, math.inf]),
    "s": TEXT,
    "c": TEXT,
    "later": SMALL,
    "filled": SMALL,
}
ROW = st.fixed_dictionaries({name: st.none() | values for name, values in VALUES.items()})
EXACT = dict.fromkeys(VALUES, "exact")
FILE = st.tuples(
    st.none() | st.integers(0, 1),
    st.lists(ROW, max_size=5),
    st.just(EXACT)
    | st.dictionaries(
        st.sampled_from(sorted(VALUES)),
        st.sampled_from(["wide", "no nulls", "doubted", "missing"]),
        max_size=2,
    ).map(lambda kinds: EXACT | kinds),
    st.sets(st.sampled_from(["later", "filled"]), max_size=1),
    st.sampled_from([True, True, True, False]),
    st.integers(0, 2),
    st.booleans(),
).map(lambda drawn: _apart(*drawn))


def _apart(p: Any, rows: Any, kinds: Any, absent: Any, counted: bool, apart: int, full: bool) -> Any:
    """Return a file with other numbers than most files have, and perhaps without NULL."""
    filled = [
        {name: 0 if full and name == "v" and value is None else value for name, value in row.items()}
        for row in rows
    ]
    moved = [row | {"v": row["v"] if row["v"] is None else row["v"] + STEPS * apart} for row in filled]
    return p, moved, kinds, absent, counted


FILES = st.lists(FILE, min_size=1, max_size=6)


def statistics(values: list[Any], kind: str) -> ColumnStatistics:
    """Return the statistics of a column: NaN is in no bound, and bounds may be wider than the values."""
    there = [value for value in values if value is not None and value == value]
    nulls = None if kind == "no nulls" else sum(value is None for value in values)
    low, high = (min(there), max(there)) if there else (None, None)
    trust = Trust.BOUNDS if kind == "doubted" else Trust.EXACT
    if kind == "wide" and there:
        if isinstance(low, str):
            return ColumnStatistics(9, nulls, low[:1], high + "z", False, False, trust)
        return ColumnStatistics(9, nulls, low - 1, high + 2, False, False, trust)
    return (
        ColumnStatistics(9) if kind == "missing" else ColumnStatistics(9, nulls, low, high, True, True, trust)
    )


def make(files: list[Any]) -> tuple[TableSnapshot, dict[str, list[dict[str, Any]]]]:
    """Return a table of some files, and the rows of each file as Spark reads them."""
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    table = metastore.create_table("db", "t", TableMetadata(COLUMNS, ("p",), "parquet", "/lake/db.db/t"))
    transaction = Transaction(table, "append")
    rows_of = {}
    for number, (p, rows, kinds, absent, counted) in enumerate(files):
        columns = {
            name: statistics([row[name] for row in rows], kind)
            for name, kind in kinds.items()
            if name not in absent
        }
        name = f"{number}.parquet"
        read = [{**row, "p": p} | dict.fromkeys(absent & {"later"}) for row in rows]
        rows_of[name] = [row | dict.fromkeys(absent & {"filled"}, 1) for row in read]
        transaction.append((p,), [FileRecord(name, 100, len(rows) if counted else None, 1, columns)])
    return commit(transaction), rows_of


@st.composite
def leaves(draw: st.DrawFn) -> Any:
    """Return a condition on one column."""
    name = draw(st.sampled_from(["v", "f", "s", "later", "filled", "p"]))
    values = VALUES.get(name, SMALL) if name != "v" else st.integers(-2, 3 * STEPS)
    shape = draw(st.sampled_from(["compare", "compare", "in", "null"]))
    if shape == "compare":
        return Compare(
            draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">="])), name, draw(values), TYPES[name]
        )
    return (
        IsNull(name) if shape == "null" else In(name, tuple(draw(st.lists(values, max_size=3))), TYPES[name])
    )


CONDITIONS = st.recursive(
    leaves(),
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(lambda nodes: And(tuple(nodes))),
        st.lists(inner, min_size=1, max_size=3).map(lambda nodes: Or(tuple(nodes))),
        inner.map(Not),
    ),
    max_leaves=4,
).map(make_filter)
WHERE = st.lists(CONDITIONS, max_size=1)
FAST = settings(
    max_examples=examples(400, least=30),
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def select(table: TableSnapshot, where: list[Filter], **needs: Any) -> Selection:
    """Return the selection of a scan that is needed for some rows."""
    conditions = tuple(map(Condition.from_filter, where))
    scan = PruningRequest(table, conditions, None, frozenset(("p",)), None)
    return select_for(replace(scan, **needs), about=())


def rows_in(
    rows_of: dict[str, list[dict[str, Any]]], where: list[Filter], names: Any
) -> list[dict[str, Any]]:
    """Return the rows of some files that satisfy all conditions."""
    return [
        row
        for name in names
        for row in rows_of[name]
        if all(evaluate(each.node, row) is True for each in where)
    ]


def paths(selection: Selection) -> list[str]:
    """Return the selected files."""
    return [file.file.path for file in selection.files]


@FAST
@given(FILES, WHERE, st.integers(1, 12))
def test_a_limit_gets_enough_rows(files: list[Any], where: list[Filter], count: int) -> None:
    """The files that are kept have as many matching rows as the LIMIT wants, or all that there are."""
    table, rows_of = make(files)
    kept = paths(select(table, where, first=FirstRows(count)))
    every = paths(select(table, where))
    event(f"kept {'all' if len(kept) == len(every) else 'fewer'}")
    wanted = min(count, len(rows_in(rows_of, where, rows_of)))
    assert len(rows_in(rows_of, where, kept)) >= wanted
    assert len(kept) == len(every) or len(kept) <= count


def position(key: SortKey, value: Any) -> tuple[Any, ...]:
    """Return what sorts as Spark sorts a value: NULL first or last, NaN above all, a char with its blanks."""
    if value is None:
        return (0 if key.nulls_first else 2,)
    shown = value.ljust(3) if key.column == "c" else value
    return (1, _Reversed(shown)) if key.descending else (1, order_key(shown))


class _Reversed:
    """A value that sorts the other way round."""

    def __init__(self, value: Any) -> None:
        self.key = order_key(value)

    def __lt__(self, other: _Reversed) -> bool:
        return bool(other.key < self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Reversed) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


def call(function: str, *args: Any, kind: str = "int") -> dict[str, Any]:
    """Return the tree of a function, as the bridge sends it, of columns and literals."""
    trees = [
        arg if isinstance(arg, dict) else {"col": [arg]} if isinstance(arg, str) else literal(arg)
        for arg in args
    ]
    return {"fn": function, "class": function, "type": kind, "args": trees}


def literal(value: float) -> dict[str, Any]:
    """Return the tree of a number."""
    return {"lit": str(value), "type": "double" if isinstance(value, float) else "int"}


def strictly(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that is None where an argument is."""
    return lambda *values: None if None in values else function(*values)


def first_value(*values: Any) -> Any:
    """Return the first value that is not None."""
    return next((value for value in values if value is not None), None)


def greatest(*values: Any) -> Any:
    """Return the greatest value that is not None."""
    return max((value for value in values if value is not None), key=order_key, default=None)


EXPRESSIONS: dict[str, tuple[dict[str, Any], Callable[..., Any], tuple[str, ...]]] = {
    "v + 1": (call("+", "v", 1), strictly(lambda v: v + 1), ("v",)),
    "- v": (call("UNARYMINUS", "v"), strictly(lambda v: -v), ("v",)),
    "3 - v": (call("-", 3, "v"), strictly(lambda v: 3 - v), ("v",)),
    "v * -2": (call("*", "v", -2), strictly(lambda v: v * -2), ("v",)),
    "abs(v)": (call("ABS", "v"), strictly(abs), ("v",)),
    "coalesce(v, 0)": (call("COALESCE", "v", 0), lambda v: first_value(v, 0), ("v",)),
    "coalesce(later, filled)": (call("COALESCE", "later", "filled"), first_value, ("later", "filled")),
    "greatest(v, later)": (call("GREATEST", "v", "later"), greatest, ("v", "later")),
    "v + p": (call("+", "v", "p"), strictly(lambda v, p: v + p), ("v", "p")),
    "double(v)": (call("CAST", "v", kind="double"), strictly(float), ("v",)),
    "f + 1.0": (call("+", "f", 1.0, kind="double"), strictly(lambda f: f + 1.0), ("f",)),
    "coalesce(f, 0.0)": (call("COALESCE", "f", 0.0, kind="double"), lambda f: first_value(f, 0.0), ("f",)),
    "substring(s, 1, 1)": (call("SUBSTRING", "s", 1, 1, kind="string"), strictly(lambda s: s[:1]), ("s",)),
}
"""Sort keys that are no columns: each with its tree, its value by brute force, and its columns."""


def key_of(key: SortKey, row: dict[str, Any]) -> Any:
    """Return the value of a sort key in a row."""
    if key.column is not None:
        return row[key.column]
    _, function, columns = EXPRESSIONS[key.text]
    return function(*(row[name] for name in columns))


COLUMN_KEYS = st.builds(
    SortKey,
    column=st.sampled_from(["v", "v", "v", *VALUES, "p"]),
    text=st.just("key"),
    descending=st.booleans(),
    nulls_first=st.booleans(),
    padded=st.just(True),
)
EXPRESSION_KEYS = st.builds(
    lambda text, descending, nulls_first: SortKey(
        None, text, descending, nulls_first, tree=EXPRESSIONS[text][0]
    ),
    st.sampled_from(sorted(EXPRESSIONS)),
    st.booleans(),
    st.booleans(),
)
KEYS = COLUMN_KEYS | EXPRESSION_KEYS


@FAST
@given(FILES, WHERE, KEYS, st.integers(1, 8), st.booleans())
def test_the_first_rows_of_an_order_are_kept(
    files: list[Any], where: list[Filter], key: SortKey, count: int, ties: bool
) -> None:
    """The first keys are the same as of all files; with ties, so is each row that may be among the first."""
    table, rows_of = make(files)
    kept = paths(select(table, where, first=FirstRows(count, key, ties)))
    event(f"kept {'all' if len(kept) == len(paths(select(table, where))) else 'fewer'}")
    every = sorted(position(key, key_of(key, row)) for row in rows_in(rows_of, where, rows_of))
    found = sorted(position(key, key_of(key, row)) for row in rows_in(rows_of, where, kept))
    assert found[:count] == every[:count]
    if ties and len(every) >= count:
        last = every[count - 1]
        assert Counter(each for each in found if not last < each) == Counter(
            each for each in every if not last < each
        )


@FAST
@given(FILES, WHERE, KEYS, st.integers(1, 8))
def test_readers_may_skip_rows_beyond_the_threshold(
    files: list[Any], where: list[Filter], key: SortKey, count: int
) -> None:
    """The rows of the kept files that are not beyond the threshold have the first keys, with all ties."""
    table, rows_of = make(files)
    selection = select(table, where, first=FirstRows(count, key, ties=True))
    event("no threshold" if selection.threshold is None else "a threshold")
    if selection.threshold is None:
        return
    rows = [
        row for row in rows_in(rows_of, where, paths(selection)) if evaluate(selection.threshold, row) is True
    ]
    every = sorted(position(key, key_of(key, row)) for row in rows_in(rows_of, where, rows_of))
    read = sorted(position(key, key_of(key, row)) for row in rows)
    wanted = sum(not every[count - 1] < each for each in every)
    assert read[:wanted] == every[:wanted]


@FAST
@given(FILES, WHERE, KEYS, st.integers(1, 5))
def test_the_rows_of_the_first_distinct_values_are_kept(
    files: list[Any], where: list[Filter], key: SortKey, count: int
) -> None:
    """Where distinct values are counted, every row with one of the first values is in a kept file."""
    table, rows_of = make(files)
    kept = paths(select(table, where, first=FirstRows(count, key, ties=True, distinct=True)))
    event(f"kept {'all' if len(kept) == len(paths(select(table, where))) else 'fewer'}")
    every = sorted(position(key, key_of(key, row)) for row in rows_in(rows_of, where, rows_of))
    read = sorted(position(key, key_of(key, row)) for row in rows_in(rows_of, where, kept))
    last = list(itertools.islice((each for each, _ in itertools.groupby(every)), count))[-1:]
    wanted = sum(not last[0] < each for each in every) if last else 0
    assert read[:wanted] == every[:wanted]


@FAST
@given(FILES, WHERE, KEYS, st.integers(1, 4), st.booleans())
def test_files_in_their_order_may_be_read_until_no_other_can_have_a_first_row(
    files: list[Any], where: list[Filter], key: SortKey, count: int, ties: bool
) -> None:
    """A file's bound is not after any of its keys, so reading may end before a bound after the last key."""
    table, rows_of = make(files)
    first = FirstRows(count, key, ties)
    scan = PruningRequest(
        table, tuple(map(Condition.from_filter, where)), None, frozenset(("p",)), None, first=first
    )
    selection = select_for(scan, about=order_columns(scan))
    found = file_order(scan, Remaining(selection.partitions, certain=selection.certain), selection.block)
    event("no order" if found is None else "an order")
    if found is None:
        return
    assert len(found.bounds) == max(found.ranks.tolist()) + 1
    as_it_is = msgspec.structs.replace(key, column=None)  # the bound of a char has fewer blanks
    for name, rank in zip(paths(selection), found.ranks.tolist(), strict=True):
        for row in rows_in(rows_of, where, [name]):
            for bound in found.bounds[rank]:
                assert not position(key, key_of(key, row)) < position(as_it_is, bound)
    known = [position(as_it_is, bound[0]) for bound in found.bounds if bound]
    assert all(not later < earlier for earlier, later in itertools.pairwise(known))


FUNCTIONS = st.one_of(
    st.just(AggregateFunction("count", None)),
    st.builds(AggregateFunction, st.sampled_from(["count", "min", "max"]), st.sampled_from([*VALUES, "p"])),
)


def aggregated(functions: list[AggregateFunction], rows: list[dict[str, Any]]) -> list[Any]:
    """Return the functions of rows by brute force."""
    answers: list[Any] = []
    for each in functions:
        values = (
            rows
            if each.column is None
            else [row[each.column] for row in rows if row[each.column] is not None]
        )
        if each.function == "count":
            answers.append(len(values))
        else:
            answers.append((min if each.function == "min" else max)(values, key=order_key, default=None))
    return answers


@FAST
@given(FILES, WHERE, st.lists(FUNCTIONS, min_size=1, max_size=3))
def test_a_partial_aggregate_and_the_files_that_are_left_make_the_whole(
    files: list[Any], where: list[Filter], functions: list[AggregateFunction]
) -> None:
    """The metastore's values together with the values of the kept files are the values of all files."""
    table, rows_of = make(files)
    selection = select(table, where, aggregate=WholeAggregate(functions))
    event("not answered" if selection.answer is None else f"{len(paths(selection))} files left")
    read = aggregated(functions, rows_in(rows_of, where, paths(selection)))
    for each, known, value, whole in zip(
        functions,
        selection.answer or [0 if each.function == "count" else None for each in functions],
        read,
        aggregated(functions, rows_in(rows_of, where, rows_of)),
        strict=True,
    ):
        if each.function == "count":
            assert known + value == whole
        else:
            both = [one for one in (known, value) if one is not None]
            found = (min if each.function == "min" else max)(both, key=order_key, default=None)
            assert order_key(found) == order_key(whole)
