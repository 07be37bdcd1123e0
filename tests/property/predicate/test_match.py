"""An answer about many containers at once agrees with their rows, and with the answer about each alone."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from random import Random

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from numpy.typing import NDArray

from parquetry.data_files.bounds import FileBounds
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import OPERATORS, Compare, In, Not, Predicate, TupleIn
from parquetry.predicate.normalise import normalise
from parquetry.predicate.pruning.guarantees import Row
from parquetry.predicate.pruning.knowledge import Bounds, Knowledge, KnownValues
from parquetry.predicate.pruning.match import Match, match
from parquetry.types import ColumnType, Value, order_key
from tests.support.effort import examples
from tests.support.planning.knowledge import answer, stated
from tests.support.tables.generated_tables import (
    POOLS,
    SHAPES,
    Columns,
    literals,
    predicates,
    rows,
    tables,
    types,
    values,
)

RELAXED = settings(
    max_examples=examples(300),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
Holds = Callable[[Row], bool]


@dataclass
class Container:
    """Some rows, and what is said of them.

    Attributes:
        rows: all of them.
        shared: values that all of them have.
        statistics: of the other columns; None where there are none.
        may_hold: whether a tuple of the tuple columns can be among them.
    """

    rows: list[Row] = field(default_factory=list)
    shared: dict[str, Value] = field(default_factory=dict)
    statistics: dict[str, FileBounds | None] = field(default_factory=dict)
    may_hold: Holds = lambda _: True


class Described(Knowledge):
    """Statistics that describe containers."""

    def __init__(
        self, columns: Columns, containers: Sequence[Container], tuple_columns: Sequence[tuple[str, ...]] = ()
    ) -> None:
        self._types = dict(columns)
        self.count = len(containers)
        self.tuple_columns = tuple_columns
        self._containers = containers

    def bounds(self, column: str) -> Bounds | None:
        if all(column in each.shared for each in self._containers):
            return Bounds.from_values([each.shared[column] for each in self._containers])
        return stated(self._types, [each.statistics for each in self._containers]).bounds(column)

    def may_hold(self, columns: tuple[str, ...], tuples: Collection[Row]) -> NDArray[np.bool_]:
        assert columns in self.tuple_columns
        assert tuples
        return np.array([any(map(each.may_hold, tuples)) for each in self._containers], np.bool_)


def key(row: Sequence[Value]) -> tuple[object, ...]:
    """Give what is the same for equal values."""
    return tuple(map(order_key, row))


def statistics(chance: Random, type: ColumnType, column: list[Value]) -> FileBounds | None:
    """Return statistics as a writer might: exact, widened, cut off, uncounted or none.

    NaN is not in them, and 0.0 may be written as -0.0.
    """
    if chance.random() < 0.1:
        return None
    present = sorted((value for value in column if value is not None and value == value), key=order_key)
    low, high = (present[0], present[-1]) if present else (None, None)
    if isinstance(low, float) and low == 0:
        low = chance.choice((0.0, -0.0))
    exact = chance.random() < 0.7
    if not exact and low is not None:
        pool = [value for value in POOLS[str(type)] if value == value]
        low = chance.choice([value for value in pool if order_key(value) <= order_key(low)])
        high = chance.choice([value for value in pool if order_key(value) >= order_key(high)])
        if isinstance(low, str | bytes):
            low = low[: chance.randint(0, len(low))]
    nulls = sum(value is None for value in column)
    return FileBounds(
        None if chance.random() < 0.15 else low,
        None if chance.random() < 0.15 else high,
        nulls=nulls if chance.random() < 0.5 else None,
        rows=len(column) if chance.random() < 0.5 else None,
        min_exact=exact,
        max_exact=exact,
        all_null=nulls == len(column) and chance.random() < 0.5,
    )


def describe(chance: Random, columns: Columns, containers: list[Container]) -> list[Container]:
    """Say something of the columns that rows do not share."""
    for container in containers:
        for place, (name, type) in enumerate(columns):
            if name not in container.shared:
                column = [row[place] for row in container.rows]
                container.statistics[name] = statistics(chance, type, column)
    return containers


@st.composite
def by_files(draw: st.DrawFn, columns: Columns) -> list[Container]:
    """Spread rows over containers that each have some values of their own."""
    found = draw(rows(columns))
    chance = Random(draw(st.integers(0, 2**32)))
    shared = [name for name, _ in columns if chance.random() < 0.4]
    containers = []
    for _ in range(draw(st.integers(0, 40))):
        own = {name: chance.choice([None, *POOLS[str(type)]]) for name, type in columns if name in shared}
        mine = [
            tuple(own.get(name, value) for (name, _), value in zip(columns, row, strict=True))
            for row in found
            if chance.random() < 0.1
        ]
        containers.append(Container(mine, own))
    return describe(chance, columns, containers)


@st.composite
def by_tuples(draw: st.DrawFn, columns: Columns) -> tuple[list[Container], tuple[str, ...]]:
    """Put rows where their tuple belongs: the cell of a heavy one, else the default one; or a bucket."""
    found = draw(rows(columns))
    chance = Random(draw(st.integers(0, 2**32)))
    names = tuple(chance.sample([name for name, _ in columns], chance.randint(1, len(columns))))
    places = [[name for name, _ in columns].index(name) for name in names]

    def of(row: Row) -> Row:
        return tuple(row[place] for place in places)

    containers: list[Container]
    if chance.random() < 0.5:
        buckets = chance.choice((2, 5, 30))
        containers = [
            Container(
                [row for row in found if bucket(of(row), buckets) == number],
                may_hold=in_bucket(number, buckets),
            )
            for number in range(buckets)
        ]
    else:
        heavy = {key(of(row)) for row in found if chance.random() < 0.4}
        containers = [
            Container([row for row in found if key(of(row)) == cell], may_hold=one_of({cell}))
            for cell in heavy
        ]
        rest = [row for row in found if key(of(row)) not in heavy]
        containers.append(Container(rest, may_hold=none_of(heavy)))
    return describe(chance, columns, containers), names


def bucket(values: Row, buckets: int) -> int:
    """Hash a tuple of any values so that equal tuples meet."""
    return sum(map(ord, repr([0 if each == (1, 0) else each for each in key(values)]))) % buckets


def in_bucket(number: int, buckets: int) -> Holds:
    return lambda values: bucket(values, buckets) == number


def one_of(cells: set[tuple[object, ...]]) -> Holds:
    return lambda values: key(values) in cells


def none_of(cells: set[tuple[object, ...]]) -> Holds:
    return lambda values: key(values) not in cells


def check(
    columns: Columns, node: Predicate, containers: list[Container], together: Sequence[tuple[str, ...]]
) -> None:
    """Compare the answers with the rows, and with the answers about each container alone."""
    answers = match(Filter(node), Described(columns, containers, together)).tolist()
    for container, found in zip(containers, answers, strict=True):
        truths = [
            evaluate(node, dict(zip([name for name, _ in columns], row, strict=True)))
            for row in container.rows
        ]
        if found == Match.CANNOT:
            assert True not in truths
        if found == Match.MUST:
            assert all(truth is True for truth in truths)
        assert match(Filter(node), Described(columns, [container], together)).tolist() == [found]


@RELAXED
@given(st.data())
def test_no_row_is_lost_by_what_files_tell(data: st.DataObject) -> None:
    """CANNOT only where no row is TRUE, MUST only where every row is; by values, statistics, or both."""
    columns = data.draw(tables())
    containers = data.draw(by_files(columns))
    for predicate in data.draw(st.lists(predicates(columns), min_size=1, max_size=3)):
        check(columns, data.draw(st.sampled_from((predicate, normalise(predicate)))), containers, ())


@pytest.mark.parametrize(
    "shape", [shape for shape in SHAPES if len(shape) == 1], ids=lambda shape: str(shape[0][1])
)
@settings(RELAXED, max_examples=examples(40))
@given(st.data())
def test_no_row_of_any_type_is_lost(shape: Columns, data: st.DataObject) -> None:
    """No row is lost for one column of each type, by leaves and their negations.

    NaN, zeros of either sign and texts that are cut off are among the values.
    """
    containers = data.draw(by_files(shape))
    ((name, type),) = shape
    literal = data.draw(literals(type))
    for op in OPERATORS:
        check(shape, Compare(op, name, literal, type), containers, ())
    check(shape, Not(In(name, (literal,), type)), containers, ())


@RELAXED
@given(st.data())
def test_no_row_is_lost_by_the_tuples_that_may_be_there(data: st.DataObject) -> None:
    """The same of cells, of what is in none of them, and of buckets, with statistics beside."""
    columns = data.draw(tables())
    containers, names = data.draw(by_tuples(columns))
    for predicate in data.draw(st.lists(predicates(columns), min_size=1, max_size=3)):
        check(columns, data.draw(st.sampled_from((predicate, normalise(predicate)))), containers, [names])


@RELAXED
@given(st.data())
def test_known_values_decide(data: st.DataObject) -> None:
    """With all values known: MUST exactly where TRUE, else CANNOT; with some: never against a full row."""
    columns = data.draw(tables())
    predicate = data.draw(predicates(columns))
    names = [name for name, _ in columns]
    some = data.draw(st.lists(st.sampled_from(range(len(names))), unique=True))
    found = data.draw(rows(columns))
    wanted = [
        Match.MUST if evaluate(predicate, dict(zip(names, row, strict=True))) is True else Match.CANNOT
        for row in found
    ]
    assert match(Filter(predicate), KnownValues(names, found)).tolist() == wanted
    partly = KnownValues([names[place] for place in some], [[row[place] for place in some] for row in found])
    for answered, right in zip(match(Filter(predicate), partly).tolist(), wanted, strict=True):
        assert answered in (right, Match.MIGHT)


@settings(RELAXED, max_examples=examples(200))
@given(st.data())
def test_one_value_is_decided_by_its_statistics(data: st.DataObject) -> None:
    """Bounds with one value and no NULL decide a comparison, except where NaN may hide."""
    type = data.draw(types)
    value, literal = (data.draw(values(type).filter(lambda v: v is not None)) for _ in range(2))
    node = Compare(data.draw(st.sampled_from(OPERATORS)), "a", literal, type)
    found = answer(node, {"a": type}, {"a": FileBounds(value, value, nulls=0, rows=3)})
    if not type.floating:
        assert found is (Match.MUST if evaluate(node, {"a": value}) else Match.CANNOT)


@settings(RELAXED, max_examples=examples(200))
@given(st.data())
def test_a_value_that_may_be_there_is_all_that_in_and_equals_ask_of_tuples(data: st.DataObject) -> None:
    """Where only tuples are known, `=` and IN keep exactly containers that may hold one of their values."""
    type = data.draw(types)
    listed = data.draw(st.lists(literals(type), min_size=1, max_size=4))
    node = In("a", tuple(listed), type) if data.draw(st.booleans()) else Compare("=", "a", listed[0], type)
    wanted = listed if isinstance(node, In) else listed[:1]
    containers = [Container(may_hold=in_bucket(number, 7)) for number in range(7)]
    found = match(Filter(node), Described((("a", type),), containers, [("a",)])).tolist()
    assert found == [
        Match.MIGHT if any(map(each.may_hold, zip(wanted))) else Match.CANNOT for each in containers
    ]


@pytest.mark.parametrize("count", [1, 2000])
def test_a_long_tuple_list_is_compared_in_pieces(count: int) -> None:
    """3,000 tuples are compared with 2,000 containers in several pieces: each finds its own alone."""
    int_ = ColumnType("int")
    node = TupleIn(("a", "b"), tuple((n, 7 * n) for n in range(3000)), (int_, int_))
    ranges = [
        {"a": FileBounds(n, n + 2, nulls=0), "b": FileBounds(7 * n + 8 * (n % 2), 7 * n + 10)}
        for n in range(count)
    ]
    wanted = [Match.MIGHT if n % 2 == 0 else Match.CANNOT for n in range(count)]
    assert match(Filter(node), stated({"a": int_, "b": int_}, ranges)).tolist() == wanted
