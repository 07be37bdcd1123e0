"""Examples of the values of some columns that a condition allows."""

from __future__ import annotations

import pytest

from parquetry.predicate.nodes import Not, Opaque, equal
from parquetry.predicate.pruning.guarantees import allowed_values
from parquetry.predicate.reading.parse import parse_filter
from parquetry.types import parse_type

INT = parse_type("int")
TYPES = dict.fromkeys("abc", INT)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a = 1 and b in (2, 3)", {(1, 2), (1, 3)}),
        ("b = 2 and c > 5 and a = 1", {(1, 2)}),
        ("(a, b) in ((1, 2), (3, null))", {(1, 2)}),
        ("(c, a) in ((1, 2), (3, 4)) and b <=> null", {(2, None), (4, None)}),
        ("a = 1 and b = 2 or a = 5 and b is null", {(1, 2), (5, None)}),
        ("a = 1 and b = 2 or a = 5 and a = 6", {(1, 2)}),
        ("(a = 1 and b > 2 or a = 2) and b = 3", {(1, 3), (2, 3)}),
        ("(a, b) in ((1, 1), (2, 2)) and a in (2, 3, 4, 5, 6, 7, 8, 9)", {(2, 2)}),
        ("not (a != 1 or b != 2)", {(1, 2)}),
        ("a = 1 and a = 2 and b > 7", set()),
        ("a = null", set()),
        ("c = null and a > 1", set()),
        ("a in (1, 2) and b > 7", None),
        ("a = 1", None),
        ("a = 1 or b = 2", None),
        ("a = 1 and b not in (1, 2)", None),
        ("a in (1, 2, 3) and b in (1, 2, 3)", None),
        ("true", None),
    ],
)
def test_what_is_allowed(text: str, found: set[tuple[int | None, ...]] | None) -> None:
    """The result is the values of (a, b) that a condition allows, or None for more than eight of them."""
    assert allowed_values(parse_filter(text, TYPES).node, ("a", "b"), 8) == found


def test_what_is_not_understood_allows_what_it_implies() -> None:
    """And its contrary allows anything."""
    unknown = Opaque("f(a)", ("a",), "function on the column")
    known = Opaque("f(a)", ("a",), "function on the column", equal("a", 1, INT))
    assert allowed_values(unknown, ("a",), 8) is None
    assert allowed_values(known, ("a",), 8) == {(1,)}
    assert allowed_values(Not(known), ("a",), 8) is None
