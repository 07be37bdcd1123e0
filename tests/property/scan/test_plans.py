"""A plan finds what the brute-force evaluator finds, over generated tables, rows and conditions."""

from __future__ import annotations

import bisect
from collections.abc import Iterator

from hypothesis import HealthCheck, given, settings, strategies as st

from parquetry.key_schema import KeySchema
from parquetry.keys import successor
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.nodes import FALSE, TRUE, And, BooleanConstant, Not, Opaque, Or, Predicate
from parquetry.predicate.normalise import normalise
from parquetry.scan import EVERYTHING, compile_residual, plan_scan
from parquetry.scan.plan import ScanPlan
from tests.support.effort import examples
from tests.support.planning.filters import make_filter
from tests.support.planning.keys import read_plan
from tests.support.tables.generated_tables import Columns, predicates, rows, tables

VERSION = b"\x00\x00\x00\x00\x00\x00\x00\x07"
RELAXED = settings(
    max_examples=examples(350),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)


class Stored:
    """Keys in order, each with a version after it, as the metastore keeps them."""

    def __init__(self, keys: set[bytes]) -> None:
        self.keys = sorted(key + VERSION for key in keys)

    def scan(self, start: bytes, stop: bytes | None) -> Iterator[bytes]:
        first = bisect.bisect_left(self.keys, start)
        last = len(self.keys) if stop is None else bisect.bisect_left(self.keys, stop)
        return (key[: -len(VERSION)] for key in self.keys[first:last])


def directions(columns: Columns) -> st.SearchStrategy[list[bool]]:
    """Return whether each column is in descending order."""
    return st.lists(st.booleans(), min_size=len(columns), max_size=len(columns))


def as_possible(node: Predicate, positive: bool = True) -> Predicate:
    """Put TRUE for what is not understood where TRUE lets more rows in, and FALSE where FALSE does."""
    match node:
        case And(children):
            return And(tuple(as_possible(child, positive) for child in children))
        case Or(children):
            return Or(tuple(as_possible(child, positive) for child in children))
        case Not(child):
            return Not(as_possible(child, not positive))
        case Opaque():
            return TRUE if positive else FALSE
    return node


def check_shape(plan: ScanPlan) -> None:
    """Ranges are disjoint and in order, and gets are keys with their successor."""
    end: bytes | None = b""
    for scan in plan.scans:
        assert end is not None
        assert scan.start >= end
        assert scan.stop is None or scan.start < scan.stop
        if scan.kind == "get":
            assert scan.stop == successor(scan.start)
        end = scan.stop
    assert len(plan.scans) <= 1 or plan.scans[0].start != b"" or plan.scans[0].stop is not None


@RELAXED
@given(st.data())
def test_a_plan_finds_exactly_the_rows_that_satisfy_the_condition(data: st.DataObject) -> None:
    """With everything understood: each row where the condition is TRUE, no other, each once, in key order."""
    columns = data.draw(tables())
    names = [name for name, _ in columns]
    schema = KeySchema.from_columns(columns, data.draw(directions(columns)))
    keys = set(map(schema.encode, data.draw(rows(columns))))
    predicate = data.draw(predicates(columns))

    plan = plan_scan(make_filter(predicate), schema)
    found = list(read_plan(plan, schema, Stored(keys).scan))

    check_shape(plan)
    assert plan.exact
    wanted = [
        key
        for key in sorted(keys)
        if evaluate(predicate, dict(zip(names, schema.decode(key), strict=True))) is True
    ]
    assert found == wanted


@settings(RELAXED, max_examples=examples(150))
@given(st.data())
def test_what_is_not_understood_lets_rows_in(data: st.DataObject) -> None:
    """With `Opaque` parts no row is lost, and `exact` is claimed only where it holds."""
    columns = data.draw(tables(max_columns=2))
    names = [name for name, _ in columns]
    schema = KeySchema.from_columns(columns)
    keys = set(map(schema.encode, data.draw(rows(columns))))
    predicate = data.draw(predicates(columns, opaque=True))

    plan = plan_scan(make_filter(predicate), schema)
    found = set(read_plan(plan, schema, Stored(keys).scan))

    check_shape(plan)
    possible, certain = as_possible(predicate), as_possible(predicate, positive=False)
    for key in keys:
        row = dict(zip(names, schema.decode(key), strict=True))
        if evaluate(certain, row) is True or (not plan.exact and evaluate(possible, row) is True):
            assert key in found
        if evaluate(possible, row) is not True:
            assert key not in found


@settings(RELAXED, max_examples=examples(120))
@given(st.data())
def test_a_residual_on_bytes_says_what_the_evaluator_says(data: st.DataObject) -> None:
    """A compiled residual agrees with the evaluator, with bytes before and after the key."""
    columns = data.draw(tables())
    schema = KeySchema.from_columns(columns, data.draw(directions(columns)))
    predicate = data.draw(predicates(columns))
    test = compile_residual(make_filter(predicate), schema, prefix=3, suffix=len(VERSION))
    for row in data.draw(rows(columns)):
        key = b"db." + schema.encode(row) + VERSION
        named = dict(zip([name for name, _ in columns], row, strict=True))
        assert test(key) is (evaluate(predicate, named) is True)


@settings(RELAXED, max_examples=examples(60))
@given(st.data())
def test_a_constant_needs_no_keys_or_all(data: st.DataObject) -> None:
    """A condition that folds to a constant plans everything or nothing."""
    columns = data.draw(tables(max_columns=1))
    predicate = data.draw(predicates(columns))
    match normalise(predicate):
        case BooleanConstant(True):
            assert plan_scan(make_filter(predicate), KeySchema.from_columns(columns)) == EVERYTHING
        case BooleanConstant():
            assert plan_scan(make_filter(predicate), KeySchema.from_columns(columns)).scans == ()
