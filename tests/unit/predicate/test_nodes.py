"""Conditions as values and as text; LIKE; the plain evaluator; normal forms."""

from __future__ import annotations

import math

import pytest

from parquetry.errors import UnsupportedError
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.like import Rest, contains, ends_with, head, matcher, misplaced_escape, starts_with
from parquetry.predicate.nodes import (
    FALSE,
    NULL,
    TRUE,
    And,
    Compare,
    In,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    Predicate,
    TupleIn,
    all_of,
    any_of,
    columns_of,
    equal,
    opaque_parts,
    truth_of,
)
from parquetry.predicate.normalise import conjuncts, normalise
from parquetry.types import STRING, parse_type

INT = parse_type("int")
A, B = equal("a", 1, INT), equal("b", 2, INT)


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (And((A, Or((B, IsNull("b"))))), "a = 1 AND (b = 2 OR b IS NULL)"),
        (Or((And((A, B)), Not(And((A, B))))), "(a = 1 AND b = 2) OR NOT (a = 1 AND b = 2)"),
        (In("a", (3, 1, 3), INT, True), "a IN (1, 3, NULL)"),
        (Not(TupleIn(("a", "my b"), ((1, None),), (INT, INT))), "(a, `my b`) NOT IN ((1, NULL))"),
        (Not(Like("s", "50!%%", "!")), "s NOT LIKE '50!%%' ESCAPE '!'"),
        (Not(IsNull("in")), "`in` IS NOT NULL"),
        (Compare("<=>", "a", None, INT), "a <=> NULL"),
        (And(()), "TRUE"),
        (Or(()), "FALSE"),
        (NULL, "NULL"),
        (Opaque("abs(a) > 1", ("a",), "function on the column"), "abs(a) > 1"),
    ],
)
def test_a_condition_is_written_as_sql(node: Predicate, text: str) -> None:
    """With parentheses where they are needed."""
    assert str(node) == text


def test_nodes_are_values() -> None:
    """Equal by what they say; lists are in order, once each, one NaN and one zero."""
    assert In("a", (2, 1, 2), INT) == In("a", (1, 2), INT)
    assert In("f", (math.nan, 0.0, -0.0, float("nan")), parse_type("double")).values[1:] != ()
    assert len(In("f", (math.nan, 0.0, -0.0, float("nan")), parse_type("double")).values) == 2
    assert len({A, equal("a", 1, INT), B}) == 2
    assert columns_of(And((A, Not(Or((B, TupleIn(("c", "d"), (), ()))))))) == {"a", "b", "c", "d"}
    assert all_of([]) == TRUE
    assert any_of([]) == FALSE
    assert all_of([A]) == A
    assert conjuncts(And((A, B))) == (A, B)
    assert conjuncts(A) == (A,)


def test_parts_that_are_not_understood_are_listed() -> None:
    """With their reasons, for the report."""
    part = Opaque("f(a)", ("a",), "function on the column")
    assert opaque_parts(And((A, Or((B, Not(part)))))) == (part,)
    assert opaque_parts(A) == ()
    with pytest.raises(UnsupportedError, match="function on the column"):
        evaluate(part, {"a": 1})


@pytest.mark.parametrize(
    ("pattern", "matching", "others"),
    [
        ("abc", ["abc"], ["abcd", "ABC", ""]),
        ("C%", ["C", "CA"], ["AC"]),  # Hive took it for a regular expression, which matches "C%" alone
        ("a.c", ["a.c"], ["abc"]),
        ("%", ["", "a", "a\nb"], []),
        ("_", ["a", "\n", "😀"], ["", "ab"]),
        ("a%c", ["ac", "abc"], ["a", "c", "acd"]),
        ("a%a", ["aa", "aba"], ["a"]),
        ("%b%", ["b", "abc"], ["ac"]),
        ("%a%b%", ["ab", "xaxbx"], ["ba"]),
        ("%b", ["b", "ab"], ["ba"]),
        ("a\\%", ["a%"], ["ab", "a"]),
        ("a\\_%", ["a_", "a_b"], ["ab"]),
        ("\\\\%", ["\\", "\\a"], ["a"]),
        ("a_%", ["ab", "abc"], ["a"]),
    ],
)
def test_like_is_sqls(pattern: str, matching: list[str], others: list[str]) -> None:
    """The whole text, `%`, `_` and the escape."""
    test = matcher(pattern, "\\")
    assert [text for text in matching + others if test(text)] == matching
    begins, rest = head(pattern, "\\")
    assert all(text.startswith(begins) for text in matching)
    if rest is Rest.ANYTHING:
        assert test(begins + "anything")


def test_texts_become_patterns() -> None:
    """Wildcards in them are escaped."""
    for node, wanted in [
        (starts_with("a", "5%_\\"), [True, False, False]),
        (ends_with("a", "5%_\\"), [False, True, False]),
        (contains("a", "5%_\\"), [True, True, True]),
    ]:
        assert [evaluate(node, {"a": text}) for text in ("5%_\\x", "x5%_\\", "x5%_\\x")] == wanted
    assert misplaced_escape("a\\bc", "\\") == 1
    assert misplaced_escape("a\\", "\\") == 1
    assert misplaced_escape("a\\\\b", "\\") is None
    assert matcher("a\\%", "")("a\\bc")


def test_like_takes_no_longer_for_being_tried() -> None:
    """A pattern that nearly matches in many ways is decided by one pass."""
    assert not matcher("%a%a%a%a%a%a%a%a_ab", "\\")("a" * 5000)
    assert matcher("%a%a%a%a%a%a%a%a_ab", "\\")("a" * 5000 + "b")


def test_three_truth_values() -> None:
    """NULL is neither, and only NULL-safe equality and IS NULL see it."""
    null = {"a": None, "b": 2}
    assert evaluate(A, null) is None
    assert evaluate(And((A, equal("b", 3, INT))), null) is False
    assert evaluate(Or((A, B)), null) is True
    assert evaluate(Not(A), null) is None
    assert evaluate(Compare("<=>", "a", None, INT), null) is True
    assert evaluate(Compare("<=>", "a", 1, INT), null) is False
    assert evaluate(In("a", (1,), INT), null) is None
    assert evaluate(In("b", (1,), INT, has_null=True), null) is None
    assert evaluate(In("a", (), INT), null) is False
    assert evaluate(Not(In("b", (1,), INT, has_null=True)), null) is None
    assert evaluate(TupleIn(("a", "b"), ((1, 3),), (INT, INT)), null) is False
    assert evaluate(TupleIn(("a", "b"), ((1, 2),), (INT, INT)), null) is None


def test_floats_are_in_sparks_order() -> None:
    """NaN equals itself and is above all; the zeros are one."""
    double = parse_type("double")
    nan = {"f": math.nan}
    assert evaluate(Compare("=", "f", math.nan, double), nan) is True
    assert evaluate(Compare(">", "f", math.inf, double), nan) is True
    assert evaluate(Compare("<=", "f", 5.0, double), nan) is False
    assert evaluate(In("f", (math.nan,), double), nan) is True
    assert evaluate(Compare("=", "f", 0.0, double), {"f": -0.0}) is True


@pytest.mark.parametrize(
    ("node", "text"),
    [
        (Not(Or((A, Compare("<", "b", 2, INT)))), "a != 1 AND b >= 2"),
        (Not(In("a", (1, 2), INT, has_null=True)), "a NOT IN (1, 2) AND NULL"),
        (Not(In("a", (1,), INT, has_null=True)), "a != 1 AND NULL"),
        (Not(Compare("<=>", "a", 1, INT)), "a IS NULL OR a != 1"),
        (Compare("<=>", "a", None, INT), "a IS NULL"),
        (Not(Compare("<=>", "a", None, INT)), "a IS NOT NULL"),
        (Compare("=", "a", None, INT), "NULL"),
        (Not(NULL), "NULL"),
        (Not(Not(A)), "a = 1"),
        (Not(truth_of("f")), "f != true"),
        (Or((A, equal("a", 3, INT), B, In("a", (2, 3), INT))), "a IN (1, 2, 3) OR b = 2"),
        (Or((In("a", (1,), INT, has_null=True), equal("a", 2, INT))), "a IN (1, 2, NULL)"),
        (And((A, And((B, TRUE)), A)), "a = 1 AND b = 2"),
        (And((A, FALSE, NULL)), "FALSE"),
        (Or((A, TRUE)), "TRUE"),
        (Or((FALSE, NULL)), "NULL"),
        (And((TRUE,)), "TRUE"),
        (In("a", (), INT), "FALSE"),
        (In("a", (), INT, has_null=True), "NULL"),
        (TupleIn(("a",), ((1,), (None,)), (INT,)), "a IN (1, NULL)"),
        (Not(Like("s", "a%")), "s NOT LIKE 'a%'"),
        (Not(And((Opaque("f(x)", ("x",), "?"), IsNull("s")))), "NOT (f(x)) OR s IS NOT NULL"),
    ],
)
def test_normal_forms(node: Predicate, text: str) -> None:
    """NOT at the leaves, flat, folded, equalities united; three truth values kept."""
    assert str(normalise(node)) == text


def test_a_condition_on_a_text_column_keeps_its_type() -> None:
    """LIKE's default is a string."""
    assert Like("s", "a%").type == STRING
    assert evaluate(Like("d", "2024-02%", type=parse_type("date")), {"d": 19_782}) is True
