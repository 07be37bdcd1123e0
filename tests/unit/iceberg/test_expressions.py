"""Filters of Iceberg's REST protocol as filters of ours."""

from __future__ import annotations

from typing import Any

import pytest

from parquetry.iceberg.planning.expressions import FilterColumns, filter_from_iceberg
from parquetry.types import parse_type

TYPES = {
    name: parse_type(kind)
    for name, kind in {
        "a": "int", "d": "date", "t": "timestamp", "n": "timestamp_ntz", "m": "decimal(9,2)", "f": "float", "s": "string", "x": "binary",
        "b": "boolean",
    }.items()
}  # fmt: skip
COLUMNS = FilterColumns(TYPES, {1: "a", 2: "d"})
EQ = {"type": "eq", "term": "a", "value": 1}


def text(expression: Any, columns: FilterColumns = COLUMNS) -> str:
    return str(filter_from_iceberg(expression, columns))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (True, "TRUE"),
        (False, "FALSE"),
        ({"type": "false"}, "FALSE"),
        ({"type": "not", "child": True}, "FALSE"),
        (EQ, "a = 1"),
        ({"type": "not", "child": EQ}, "a != 1 OR a IS NULL"),
        ({"type": "gt", "left": {"type": "literal", "value": 5, "data-type": "int"}, "right": {"type": "reference", "id": 1}}, "a < 5"),
        ({"type": "in", "child": {"type": "reference", "name": "a"}, "values": {"type": "literals", "data-type": "int", "values": [2, 1]}}, "a IN (1, 2)"),
        ({"type": "not-in", "term": "a", "values": [{"type": "literal", "value": 2}]}, "a != 2 OR a IS NULL"),
        ({"type": "lt", "term": "a", "value": 2.5}, "a <= 2"),
        ({"type": "eq", "term": "d", "value": "2026-11-27"}, "d = DATE '2026-11-27'"),
        ({"type": "eq", "term": "d", "value": 20784}, "d = DATE '2026-11-27'"),
        ({"type": "gt", "term": "t", "value": "2026-11-27T01:02:03.5+00:00"}, "t > TIMESTAMP '2026-11-27 01:02:03.5 UTC'"),
        ({"type": "gt", "term": "t", "value": "2026-11-27T01:02:03+02:00"}, "t > TIMESTAMP '2026-11-26 23:02:03 UTC'"),
        ({"type": "gt", "term": "n", "value": "2026-11-27T01:02:03"}, "n > TIMESTAMP_NTZ '2026-11-27 01:02:03'"),
        ({"type": "eq", "term": "m", "value": "1.5"}, "m = 1.50"),
        ({"type": "eq", "term": "x", "value": "00FF"}, "x = X'00FF'"),
        ({"type": "eq", "term": "b", "value": True}, "b = true"),
        ({"type": "eq", "term": "f", "value": 0.1}, "f = 0.10000000149011612"),
        ({"type": "is-nan", "term": "f"}, "f = 'NaN'"),
        ({"type": "starts-with", "term": "s", "value": "a%"}, r"s LIKE 'a\\%%'"),
        ({"type": "not-starts-with", "term": "s", "value": "a"}, "s NOT LIKE 'a%' OR s IS NULL"),
        ({"type": "eq", "term": {"type": "transform", "transform": "identity", "term": "a"}, "value": 1}, "a = 1"),
    ],
)  # fmt: skip
def test_all_forms_are_read(expression: Any, expected: str) -> None:
    """Old forms and new ones, literals on either side, and values in each type's form."""
    assert text(expression) == expected


@pytest.mark.parametrize(
    "part",
    [
        {"type": "eq", "term": "unknown", "value": 1},
        {"type": "eq", "term": "s.field", "value": 1},
        {"type": "eq", "term": "A", "value": 1},
        {"type": "eq", "term": {"type": "transform", "transform": "bucket[4]", "term": "a"}, "value": 1},
        {"type": "eq", "left": {"type": "apply", "function": "abs", "arguments": ["a"]}, "right": 1},
        {"type": "eq", "left": {"type": "reference", "id": 1}, "right": {"type": "reference", "id": 2}},
        {"type": "eq", "term": "a", "value": "x"},
        {"type": "eq", "term": "a", "value": True},
        {"type": "eq", "term": "d", "value": "today"},
        {"type": "eq", "term": "t", "value": "2026-11-27T01:02:03"},
        {"type": "in", "term": "x", "values": ["no"]},
        {"type": "st-intersects", "term": "a", "value": 1},
        {"type": "is-nan", "term": "a"},
        {"type": 7},
        "a = 1",
        None,
    ],
)
def test_what_is_not_understood_keeps_every_row(part: Any) -> None:
    """Alone, negated, or in an OR; beside AND the other part still counts."""
    assert text(part) == text({"type": "not", "child": part}) == "TRUE"
    assert text({"type": "or", "left": EQ, "right": part}) == "TRUE"
    assert text({"type": "and", "left": part, "right": EQ}) == "a = 1"


def test_names_in_any_case() -> None:
    """Names count in letter case only if the request says so."""
    assert text({**EQ, "term": "A"}, FilterColumns(TYPES, {}, case_sensitive=False)) == "a = 1"


def test_a_filter_of_any_depth_is_answered() -> None:
    """A filter that is nested too deep keeps every row."""
    deep: Any = EQ
    for _ in range(5_000):
        deep = {"type": "not", "child": deep}
    assert text(deep) == "TRUE"
    alternating: Any = EQ
    for kind in ("and", "or") * 90:
        alternating = {"type": kind, "left": alternating, "right": EQ}
    assert text(alternating) == "TRUE"
