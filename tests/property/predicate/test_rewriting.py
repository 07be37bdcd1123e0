"""Rewriting a condition, fitting it to its columns, or writing it as text changes its truth for no row."""

from __future__ import annotations

import math
import re
from decimal import Decimal

from hypothesis import HealthCheck, given, settings, strategies as st

from parquetry.predicate.bind import NUMBER_TYPE, bind
from parquetry.predicate.evaluate import compare, evaluate
from parquetry.predicate.nodes import OPERATORS, Compare, Not
from parquetry.predicate.normalise import normalise
from parquetry.predicate.reading.parse import parse_condition
from parquetry.types import ColumnType, Value, parse_type
from tests.support.effort import examples
from tests.support.tables.generated_tables import POOLS, predicates, rows, tables

_QUOTED_DATE = re.compile(r"DATE '(\d{4}-\d{2}-\d{2})'")
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
    """`parse_condition(str(p))` has the value of `p` for every row, also without quotes around dates.

    `IS TRUE`, `IS FALSE` and their negations of this text are two-valued.
    """
    columns = data.draw(tables())
    predicate = normalise(data.draw(predicates(columns)))
    text, types = str(predicate), dict(columns)
    read = parse_condition(text, types)
    assert parse_condition(_QUOTED_DATE.sub(r"\1", text), types) == read
    told = {
        (truth, negated): parse_condition(f"({text}) IS {'NOT ' * negated}{truth}", types)
        for truth in (True, False)
        for negated in (True, False)
    }
    for row in data.draw(rows(columns)):
        named = dict(zip("abc", row, strict=False))
        expected = evaluate(predicate, named)
        assert evaluate(read, named) is expected
        for (truth, negated), condition in told.items():
            assert evaluate(condition, named) is ((expected is truth) is not negated), condition


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
    bound = bind(Compare(op, "A", number, NUMBER_TYPE), {"a": type})
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
