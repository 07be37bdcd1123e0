"""A filter of Iceberg's keeps at least the rows that Iceberg's own rules keep."""

from __future__ import annotations

import operator
from typing import Any

from hypothesis import given, strategies as st

from parquetry.iceberg.planning.expressions import FilterColumns, filter_from_iceberg
from parquetry.predicate.evaluate import evaluate
from parquetry.types import parse_type

TYPES = {"a": parse_type("int"), "b": parse_type("string"), "f": parse_type("float")}
VALUES = {
    "a": [None, -1, 0, 1, 2],
    "b": [None, "", "x", "xy", "y"],
    "f": [None, -0.5, 0.0, 0.10000000149011612],
}
COMPARE = {
    "eq": operator.eq, "not-eq": operator.ne, "lt": operator.lt, "lt-eq": operator.le, "gt": operator.gt, "gt-eq": operator.ge,
}  # fmt: skip
LITERALS = {"a": [-1, 0, 1, 5, 10**20], "b": ["", "x", "xy"], "f": [-0.5, 0.1, 2]}
IDS = {"a": 1, "b": 2, "f": 3}
STARTS = ("starts-with", "not-starts-with")


@st.composite
def leaves(draw: st.DrawFn) -> dict[str, Any]:
    name = draw(st.sampled_from(list(TYPES)))
    literal = st.sampled_from(LITERALS[name])
    term = draw(
        st.sampled_from([name, {"type": "reference", "name": name}, {"type": "reference", "id": IDS[name]}])
    )
    kind = draw(
        st.sampled_from([*COMPARE, "in", "not-in", "is-null", "not-null", *(STARTS if name == "b" else ())])
    )
    if kind in ("is-null", "not-null"):
        return {"type": kind, draw(st.sampled_from(["term", "child"])): term}
    if kind in ("in", "not-in"):
        return {"type": kind, "term": term, "values": draw(st.lists(literal, min_size=1, max_size=3))}
    value = draw(literal)
    if draw(st.booleans()):
        return {"type": kind, "term": term, "value": value}
    return {"type": kind, "left": term, "right": {"type": "literal", "value": value}}


EXPRESSIONS = st.recursive(
    leaves() | st.sampled_from([True, False, {"type": "literal", "value": True}, {"type": "false"}]),
    lambda inner: st.one_of(
        st.builds(lambda child: {"type": "not", "child": child}, inner),
        st.builds(
            lambda kind, left, right: {"type": kind, "left": left, "right": right},
            st.sampled_from(["and", "or"]),
            inner,
            inner,
        ),
    ),
    max_leaves=6,
)


def column(term: Any) -> str:
    if isinstance(term, str):
        return term
    return str(term.get("name") or {number: name for name, number in IDS.items()}[term["id"]])


def iceberg(expression: Any, row: dict[str, Any]) -> bool:
    """Evaluate as Iceberg's evaluators do; a comparison with NULL is false, and its negation true."""
    match expression:
        case bool():
            return expression
        case {"type": "literal", "value": value}:
            return bool(value)
        case {"type": "false"}:
            return False
        case {"type": "not", "child": child}:
            return not iceberg(child, row)
        case {"type": "and", "left": left, "right": right} if (
            not isinstance(right, dict) or right.get("type") != "literal" or isinstance(right["value"], bool)
        ):
            return iceberg(left, row) and iceberg(right, row)
        case {"type": "or", "left": left, "right": right}:
            return iceberg(left, row) or iceberg(right, row)
    kind = expression["type"]
    name = column(expression.get("term", expression.get("child", expression.get("left"))))
    value = row[name]
    if kind in ("is-null", "not-null"):
        return (value is None) == (kind == "is-null")
    if kind in ("in", "not-in"):
        values = [number(name, each) for each in expression["values"]]
        return (value in values) == (kind == "in")
    literal = number(name, expression["value"] if "value" in expression else expression["right"]["value"])
    if kind in STARTS:
        return (value is not None and value.startswith(literal)) == (kind == "starts-with")
    if value is None:
        return kind == "not-eq"
    return bool(COMPARE[kind](value, literal))


def number(name: str, literal: Any) -> Any:
    """Return a literal as Iceberg binds it to a column: a float's with single precision."""
    return {0.1: 0.10000000149011612}.get(literal, literal) if name == "f" else literal


@given(EXPRESSIONS, st.fixed_dictionaries({name: st.sampled_from(values) for name, values in VALUES.items()}))
def test_a_filter_keeps_what_iceberg_keeps(expression: Any, row: dict[str, Any]) -> None:
    """NOT of a comparison with NULL is true in Iceberg, unless NOT stands before an order of values."""
    condition = filter_from_iceberg(
        expression, FilterColumns(TYPES, {number: name for name, number in IDS.items()})
    )
    if iceberg(expression, row) and not compares_null(expression, row):
        assert evaluate(condition.node, row) is True


def compares_null(expression: Any, row: dict[str, Any]) -> bool:
    """Return whether an order of values is compared with NULL: Iceberg's evaluators differ there."""
    if not isinstance(expression, dict):
        return False
    if expression.get("type") in ("lt", "lt-eq", "gt", "gt-eq"):
        return row[column(expression.get("term", expression.get("left")))] is None
    return any(compares_null(expression.get(side), row) for side in ("left", "right", "child"))
