"""Pruning never loses a row, and rewriting a condition changes its truth for none."""

from __future__ import annotations

import math
from decimal import Decimal

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parquetry.predicate.bind import NUMBER, bind
from parquetry.predicate.evaluate import compare, evaluate
from parquetry.predicate.match import Bounds, Match, match_bounds, match_values
from parquetry.predicate.nodes import OPERATORS, Compare, Not
from parquetry.predicate.normalise import normalise
from parquetry.predicate.parse import parse_condition
from parquetry.types import ColumnType, Value, order_key, parse_type
from tests.support.effort import examples
from tests.support.generated_tables import POOLS, predicates, rows, tables, types, values

RELAXED = settings(
    max_examples=examples(200),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


@RELAXED
@given(st.data())
def test_normalising_changes_no_truth(data: st.DataObject) -> None:
    """For every row the normalised condition is TRUE, FALSE or NULL as before, and so is its contrary."""
    columns = data.draw(tables())
    predicate = data.draw(predicates(columns))
    normal, contrary = normalise(predicate), normalise(Not(predicate))
    assert normalise(normal) == normal
    for row in data.draw(rows(columns)):
        named = dict(zip("abc", row, strict=False))
        truth = evaluate(predicate, named)
        assert evaluate(normal, named) is truth
        assert evaluate(contrary, named) is (None if truth is None else not truth)


@settings(RELAXED, max_examples=examples(120))
@given(st.data())
def test_a_condition_can_be_read_back_from_its_text(data: st.DataObject) -> None:
    """`parse_condition(str(p))` says for every row what `p` says."""
    columns = data.draw(tables())
    predicate = normalise(data.draw(predicates(columns)))
    read = parse_condition(str(predicate), dict(columns))
    for row in data.draw(rows(columns)):
        named = dict(zip("abc", row, strict=False))
        assert evaluate(read, named) is evaluate(predicate, named)


@RELAXED
@given(st.data())
def test_known_values_decide(data: st.DataObject) -> None:
    """With all values known: MUST exactly where TRUE, else CANNOT; with some: never against a full row."""
    columns = data.draw(tables())
    predicate = data.draw(predicates(columns))
    known = data.draw(st.sets(st.sampled_from([name for name, _ in columns])))
    for row in data.draw(rows(columns)):
        named = dict(zip("abc", row, strict=False))
        wanted = Match.MUST if evaluate(predicate, named) is True else Match.CANNOT
        assert match_values(predicate, named) is wanted
        some = match_values(predicate, {name: value for name, value in named.items() if name in known})
        assert some in (wanted, Match.MIGHT)


def bounds_of(data: st.DataObject, type: ColumnType, column: list[Value]) -> Bounds | None:
    """Give statistics as a writer might: exact, widened, uncounted or none; no NaN, perhaps -0.0 for 0.0."""
    if data.draw(st.integers(0, 9)) == 0:
        return None
    present = sorted((v for v in column if v is not None and v == v), key=order_key)
    low, high = (present[0], present[-1]) if present else (None, None)
    if isinstance(low, float) and low == 0 and data.draw(st.booleans()):
        low = -0.0
    low_exact = high_exact = True
    if data.draw(st.integers(0, 3)) == 0 and low is not None:
        below = [v for v in POOLS[str(type)] if order_key(v) <= order_key(low)]
        above = [v for v in POOLS[str(type)] if v == v and order_key(v) >= order_key(high)]
        low, high = data.draw(st.sampled_from(below)), data.draw(st.sampled_from(above))
        low_exact = high_exact = False
    if data.draw(st.integers(0, 5)) == 0:
        low = None
    if data.draw(st.integers(0, 5)) == 0:
        high = None
    nulls = sum(v is None for v in column)
    return Bounds(
        low,
        high,
        nulls=nulls if data.draw(st.booleans()) else None,
        rows=len(column) if data.draw(st.booleans()) else None,
        min_exact=low_exact,
        max_exact=high_exact,
        all_null=nulls == len(column) and data.draw(st.booleans()),
    )


@settings(RELAXED, max_examples=examples(500))
@given(st.data())
def test_file_statistics_never_lose_a_row(data: st.DataObject) -> None:
    """CANNOT only where no row is TRUE, MUST only where every row is."""
    columns = data.draw(tables())
    table = data.draw(rows(columns))
    predicate = data.draw(predicates(columns, opaque=False))
    known = {
        name: bounds_of(data, type, [row[position] for row in table])
        for position, (name, type) in enumerate(columns)
    }
    answer = match_bounds(predicate, known.get)
    truths = [evaluate(predicate, dict(zip("abc", row, strict=False))) for row in table]
    if answer is Match.CANNOT:
        assert True not in truths
    if answer is Match.MUST:
        assert all(truth is True for truth in truths)


@settings(RELAXED, max_examples=examples(200))
@given(st.data())
def test_one_value_is_decided_by_its_statistics(data: st.DataObject) -> None:
    """Bounds with one value and no NULL decide a comparison, except where NaN may hide."""
    type = data.draw(types)
    value, literal = (data.draw(values(type).filter(lambda v: v is not None)) for _ in range(2))
    op = data.draw(st.sampled_from(OPERATORS))
    node = Compare(op, "a", literal, type)
    answer = match_bounds(node, {"a": Bounds(value, value, nulls=0, rows=3)}.get)
    if not type.floating:
        assert answer is (Match.MUST if evaluate(node, {"a": value}) else Match.CANNOT)


NUMERIC = [
    parse_type(t) for t in ("tinyint", "int", "bigint", "decimal(5,2)", "decimal(38,0)", "float", "double")
]
NUMBERS = st.one_of(
    st.decimals(-(10**6), 10**6, places=3),
    st.integers(-(2**70), 2**70).map(Decimal),
    st.sampled_from(
        [Decimal(t) for t in ("1e20", "-1e20", "1e400", "2.5", "0.1", "1e-9", "-0.0", "127", "999.995")]
    ),
)


@settings(RELAXED, max_examples=examples(120))
@given(st.sampled_from(NUMERIC), st.sampled_from(OPERATORS), NUMBERS, st.data())
def test_numbers_of_any_type_are_compared_as_numbers(
    type: ColumnType, op: str, number: Decimal, data: st.DataObject
) -> None:
    """A literal that the column cannot hold is compared as the number that it is."""
    bound = bind(Compare(op, "A", number, NUMBER), {"a": type})
    pool = POOLS.get(str(type), [Decimal(-1), Decimal(0), Decimal(10**38 - 1)])
    for value in [None, *pool, data.draw(st.sampled_from(pool))]:
        literal: Value = float(number) if type.floating else number
        expected = compare(op, value, literal)
        assert evaluate(bound, {"a": value}) is expected, (bound, value)


@settings(RELAXED, max_examples=examples(120))
@given(st.floats(), st.sampled_from(OPERATORS))
def test_a_float_column_meets_a_double(number: float, op: str) -> None:
    """A double between two single-precision numbers falls between them."""
    type = ColumnType("float")
    bound = bind(Compare(op, "a", number, ColumnType("double")), {"a": type})
    for value in (None, -math.inf, -1.5, 0.0, 0.10000000149011612, 3.0, math.inf, math.nan):
        assert evaluate(bound, {"a": value}) is compare(op, value, number)
