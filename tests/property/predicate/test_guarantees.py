"""The values that a condition guarantees of some columns include all that the brute-force evaluator finds."""

from __future__ import annotations

from hypothesis import HealthCheck, event, given, settings, strategies as st

from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.nodes import And, Compare, In, IsNull, Or, Predicate, TupleIn
from parquetry.predicate.normalise import normalise
from parquetry.predicate.pruning.guarantees import allowed_values
from parquetry.types import Value, order_key, parse_type
from tests.support.effort import examples
from tests.support.tables.generated_tables import POOLS, predicates, rows, tables

RELAXED = settings(
    max_examples=examples(400),
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much],
)
INT = parse_type("int")
SMALL: list[Value] = [None, 0, 1, 2]


def keys(found: frozenset[tuple[Value, ...]]) -> set[tuple[object, ...]]:
    """Return sort keys of the rows: equal values have the same key."""
    return {tuple(map(order_key, row)) for row in found}


@RELAXED
@given(st.data())
def test_no_row_has_other_values_than_those_allowed(data: st.DataObject) -> None:
    """If a condition is TRUE, normal or not, its columns have one of the combinations, and these are few."""
    columns = data.draw(tables())
    predicate = data.draw(predicates(columns))
    predicate = data.draw(st.sampled_from((predicate, normalise(predicate))))
    names = data.draw(st.lists(st.sampled_from([name for name, _ in columns]), min_size=1, unique=True))
    limit = data.draw(st.integers(0, 30))
    found = allowed_values(predicate, names, limit)
    event("unknown" if found is None else "none" if not found else "some")
    if found is None:
        return
    assert len(found) <= limit
    allowed = keys(found)
    for row in data.draw(rows(columns)):
        named = dict(zip([name for name, _ in columns], row, strict=True))
        if evaluate(predicate, named) is True:
            assert tuple(order_key(named[name]) for name in names) in allowed


def leaves() -> st.SearchStrategy[Predicate]:
    """Conditions on `a` and `b` that list the values of each column they are about."""
    name, value = st.sampled_from("ab"), st.sampled_from(SMALL)
    some = st.lists(st.sampled_from(SMALL[1:]), max_size=3).map(tuple)
    pairs = st.lists(st.tuples(value, value), max_size=3).map(tuple)
    return st.one_of(
        st.builds(Compare, st.sampled_from(("=", "<=>")), name, value, st.just(INT)),
        st.builds(In, name, some, st.just(INT), st.booleans()),
        st.builds(TupleIn, st.just(("a", "b")), pairs, st.just((INT, INT))),
        st.builds(IsNull, name),
    )


def both() -> st.SearchStrategy[Predicate]:
    """Return conditions whose parts each list the values of both columns."""
    known = st.tuples(leaves(), leaves()).filter(
        lambda pair: isinstance(pair[0], TupleIn) or {*map(column_of, pair)} == {"a", "b"}
    )
    return st.recursive(
        known.map(And),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(lambda found: And(tuple(found))),
            st.lists(inner, min_size=1, max_size=3).map(lambda found: Or(tuple(found))),
        ),
        max_leaves=6,
    )


def column_of(leaf: Predicate) -> str:
    return leaf.column if isinstance(leaf, Compare | In | IsNull) else "a and b"


@RELAXED
@given(both())
def test_of_listed_values_exactly_those_that_satisfy_are_allowed(predicate: Predicate) -> None:
    """Where each part lists values, also NULL, exactly the combinations that satisfy it are allowed."""
    wanted = {(a, b) for a in SMALL for b in SMALL if evaluate(predicate, {"a": a, "b": b}) is True}
    assert allowed_values(predicate, ("a", "b"), 16) == wanted
    assert allowed_values(predicate, ("b", "a"), 16) == {(b, a) for a, b in wanted}


@settings(RELAXED, max_examples=examples(50))
@given(st.sampled_from(sorted(POOLS)), st.data())
def test_values_of_every_type_are_allowed_as_they_are(text: str, data: st.DataObject) -> None:
    """A list of literals of any type is what it allows, NaN included."""
    type = parse_type(text)
    values = data.draw(st.lists(st.sampled_from(POOLS[text]), min_size=1, max_size=5))
    found = allowed_values(In("a", tuple(values), type), ("a",), 5)
    assert found is not None
    assert keys(found) == {(order_key(value),) for value in values}
