"""Ranges of functions of texts hold the results for all texts within the range of the argument."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from parquetry.predicate import KnownValues, Match, match
from parquetry.predicate.bind import bind
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.filter import Filter
from parquetry.predicate.functions.table import ranges
from parquetry.predicate.functions.values import NO_NULL, Range
from parquetry.predicate.nodes import Opaque
from parquetry.predicate.normalise import normalise
from parquetry.predicate.reading.spark_json import expression_from_json, from_json
from parquetry.types import parse_type
from tests.support.effort import STEP

X = {"col": ["x"]}
COLUMNS = {"x": parse_type("string"), "y": parse_type("string"), "n": parse_type("int")}
ALPHABET = " -/aAbBzé"
TEXTS = sorted("".join(some) for length in range(4) for some in product(ALPHABET, repeat=length))


def text(value: str) -> dict[str, Any]:
    return {"lit": value, "type": "string"}


def whole(value: int) -> dict[str, Any]:
    return {"lit": str(value), "type": "int"}


def call(of_class: str, *arguments: Any, type: str = "string", fn: str = "f") -> dict[str, Any]:
    return {"fn": fn, "class": of_class, "type": type, "args": [X, *arguments]}


def split(regexp: str, position: int, limit: int = -1) -> dict[str, Any]:
    array = {"fn": "split", "class": "StringSplit", "args": [X, text(regexp), whole(limit)]}
    return {"fn": "getarrayitem", "class": "GetArrayItem", "args": [array, whole(position)]}


def split_part(delimiter: str, position: int) -> dict[str, Any]:
    array = {"fn": "split_part", "class": "StringSplitSQL", "args": [X, text(delimiter)]}
    return {"fn": "element_at", "class": "ElementAt", "args": [array, whole(position)]}


def locate(part: str, start: int = 1) -> dict[str, Any]:
    return {"fn": "locate", "class": "StringLocate", "type": "int", "args": [text(part), X, whole(start)]}


def item(value: str, delimiter: str, position: int) -> str | None:
    items = value.split(delimiter)
    return items[position] if position < len(items) else None


def before(value: str, delimiter: str, count: int) -> str:
    return delimiter.join(value.split(delimiter)[:count])


FUNCTIONS: dict[str, tuple[dict[str, Any], Callable[[str], Any]]] = {
    "rtrim(x)": (call("StringTrimRight"), lambda x: x.rstrip(" ")),
    "rtrim('-/', x)": (call("StringTrimRight", text("-/")), lambda x: x.rstrip("-/")),
    "rtrim('', x)": (call("StringTrimRight", text("")), lambda x: x),
    "ltrim('-a', x)": (call("StringTrimLeft", text("-a")), lambda x: x.lstrip("-a")),
    "regexp_replace(x, '^a', 'z')": (
        call("RegExpReplace", text("^a"), text("z"), whole(1)),
        lambda x: re.sub("^a", "z", x),
    ),
    "regexp_replace(x, '^a-', '')": (
        call("RegExpReplace", text("^a-"), text(""), whole(1)),
        lambda x: x.removeprefix("a-"),
    ),
    "replace(x, 'a-', '')": (call("StringReplace", text("a-"), text("")), lambda x: x.replace("a-", "")),
    "ltrim(x)": (call("StringTrimLeft"), lambda x: x.lstrip(" ")),
    "trim(x)": (call("StringTrim"), lambda x: x.strip(" ")),
    "trim('a', x)": (call("StringTrim", text("a")), lambda x: x.strip("a")),
    "substring_index(x, '-', 1)": (call("SubstringIndex", text("-"), whole(1)), lambda x: before(x, "-", 1)),
    "substring_index(x, 'a', 2)": (call("SubstringIndex", text("a"), whole(2)), lambda x: before(x, "a", 2)),
    "substring_index(x, 'a-', 1)": (
        call("SubstringIndex", text("a-"), whole(1)),
        lambda x: before(x, "a-", 1),
    ),
    "split(x, '-')[0]": (split("-", 0), lambda x: item(x, "-", 0)),
    "split(x, '[/]')[1]": (split("[/]", 1), lambda x: item(x, "/", 1)),
    "split_part(x, '-', 1)": (split_part("-", 1), lambda x: item(x, "-", 0)),
    "split_part(x, 'a', 2)": (split_part("a", 2), lambda x: item(x, "a", 1) or ""),
    "split_part(x, 'é', 1)": (split_part("é", 1), lambda x: item(x, "é", 0)),
    "instr(x, 'a')": (call("StringInstr", text("a"), type="int"), lambda x: x.find("a") + 1),
    "locate('a-', x)": (locate("a-"), lambda x: x.find("a-") + 1),
    "find_in_set(x, 'b,a,,a-,a')": (
        call("FindInSet", text("b,a,,a-,a"), type="int"),
        lambda x: ["b", "a", "", "a-", "a"].index(x) + 1 if x in ("b", "a", "", "a-") else 0,
    ),
    "upper(x)": (call("Upper"), str.upper),
    "lower(x)": (call("Lower"), str.lower),
    "substr(x, 2)": (call("Substring", whole(2), whole(2**31 - 1)), lambda x: x[1:]),
    "substr(x, 2, 1)": (call("Substring", whole(2), whole(1)), lambda x: x[1:2]),
    "x RLIKE '^[aé]-|^b'": (
        call("RLike", text("^[aé]-|^b"), type="boolean"),
        lambda x: x.startswith(("a-", "é-", "b")),
    ),
    "x RLIKE '(?i)^ab'": (
        call("RLike", text("(?i)^ab"), type="boolean"),
        lambda x: x[:2] in ("ab", "aB", "Ab", "AB"),
    ),
}
"""Functions of one text, with their values."""


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_are_within_the_range(name: str) -> None:
    """The range of results has room for the function of each text between two texts."""
    tree, function = FUNCTIONS[name]
    expression = expression_from_json(tree, COLUMNS)
    assert expression is not None
    dice = random.Random(name)
    known = 0
    for _ in range(4_000 // STEP):
        at = dice.randrange(len(TEXTS))
        high_at = min(at + dice.choice((0, 1, 2, 5, 20, 100)), len(TEXTS) - 1)
        low, high = TEXTS[at], TEXTS[high_at] + dice.choice(("", "", "!", "é"))
        found = ranges(expression, {"x": Range(low, high, NO_NULL)})
        if any(each.fails for each in found):
            continue
        known += any(each.low not in ("", None, False) or each.high not in (None, True) for each in found)
        for value in dice.sample(TEXTS[at : high_at + 1], min(high_at + 1 - at, 10)):
            result = function(value)
            fits = [
                (each.low is None or each.low <= result) and (each.high is None or result <= each.high)
                for each in found
            ]
            assert any(fits), (low, high, value, result, found)
    assert known > 50 // STEP


@pytest.mark.parametrize("name", FUNCTIONS)
def test_implied_conditions_hold(name: str) -> None:
    """A condition on a column that a comparison implies is TRUE for each text with a TRUE comparison."""
    tree, function = FUNCTIONS[name]
    type = expression_from_json(tree, COLUMNS).type  # type: ignore[union-attr]
    assert type is not None
    dice = random.Random(name)
    tests: dict[str, Callable[[Any, Any], bool]] = {
        "=": lambda a, b: a == b, "<": lambda a, b: a < b, ">": lambda a, b: a > b, "<=": lambda a, b: a <= b, ">=": lambda a, b: a >= b,
    }  # fmt: skip
    for op, holds in tests.items():
        for value in dice.sample(TEXTS, 200 // STEP):
            result = function(value)
            if result is None or isinstance(result, bool):
                continue
            literal = {"lit": str(result), "type": type.name}
            condition = from_json({"fn": op, "args": [tree, literal]}, COLUMNS)
            if not isinstance(condition, Opaque) or condition.implied is None:
                continue
            implied = bind(condition.implied, COLUMNS)
            for other in dice.sample(TEXTS, 100):
                got = function(other)
                if got is not None and holds(got, result):
                    assert evaluate(implied, {"x": other}) is True, (op, result, other, str(implied))


IMPLIED = [
    ({"fn": "=", "args": [call("StringTrimRight"), text("ab")]}, "x LIKE 'ab%'"),
    ({"fn": ">", "args": [call("StringTrimRight"), text("ab")]}, "x >= 'ab'"),
    ({"fn": "IN", "args": [split("-", 0), text("a"), text("b")]}, "x LIKE 'a%' OR x LIKE 'b%'"),
    ({"fn": "=", "args": [split("\\|", 0), text("a")]}, "x LIKE 'a%'"),
    ({"fn": "=", "args": [split("-|x", 0), text("a")]}, "None"),
    ({"fn": "=", "args": [split("-", 0, limit=2), text("a")]}, "None"),
    ({"fn": "=", "args": [split_part("-", 1), text("aé")]}, "x LIKE 'a%'"),
    ({"fn": "=", "args": [split_part("-", 2), text("a")]}, "None"),
    ({"fn": "=", "args": [call("SubstringIndex", text("-"), whole(-1)), text("a")]}, "None"),
    ({"fn": ">", "args": [call("FindInSet", text("b,a,b"), type="int"), whole(0)]}, "x IN ('a', 'b')"),
    ({"fn": "=", "args": [call("FindInSet", text("b,a"), type="int"), whole(0)]}, "None"),
    (call("RLike", text("^(a|b)c"), fn="RLIKE"), "x LIKE 'ac%' OR x LIKE 'bc%'"),
    (call("RLike", text("^[0-9][0-9]"), fn="RLIKE"), "x >= '00' AND x < '9:'"),
    (call("RLike", text("(?i)^a"), fn="RLIKE"), "None"),
    (call("RLike", {"lit": None, "type": "string"}, fn="RLIKE"), "None"),
]  # fmt: skip


@pytest.mark.parametrize(("tree", "implied"), IMPLIED)
def test_conditions_on_the_column(tree: dict[str, Any], implied: str) -> None:
    """A comparison of a text's part, or an expression, implies a condition on the column."""
    condition = from_json(tree, COLUMNS)
    assert isinstance(condition, Opaque)
    assert str(condition.implied) == implied


def array(*items: dict[str, Any]) -> dict[str, Any]:
    return {"fn": "array", "class": "CreateArray", "args": [*items]}


Y = {"col": ["y"]}
NULL = {"lit": None, "type": "string"}
SETS = [
    ({"fn": "IN", "args": [text("a"), X, Y]}, "x = 'a' OR y = 'a'"),
    ({"fn": "IN", "args": [text("a"), X, text("b")]}, "x = 'a' OR "),
    ({"fn": "array_contains", "class": "ArrayContains", "args": [array(X, Y), text("a")]}, "x = 'a' OR y = 'a'"),
    ({"fn": "array_contains", "class": "ArrayContains", "args": [array(text("a"), text("b")), X]}, "x IN ('a', 'b')"),
    ({"fn": "array_contains", "class": "ArrayContains", "args": [array(), X]}, "f"),
    ({"fn": "arrays_overlap", "class": "ArraysOverlap", "args": [array(X), array(text("a"), NULL)]}, "x IN ('a', NULL)"),
    ({"fn": "arrays_overlap", "class": "ArraysOverlap", "args": [array(text("a"), text("b")), array(X, Y)]}, "x IN ('a', 'b') OR y IN ('a', 'b')"),
    ({"fn": "arrays_overlap", "class": "ArraysOverlap", "args": [array(X), array()]}, "f"),
    ({"fn": "array_contains", "class": "MyUdf", "args": [array(X, Y), text("a")]}, "f"),
]  # fmt: skip


@pytest.mark.parametrize(("tree", "expected"), SETS)
def test_set_tests_are_equalities(tree: dict[str, Any], expected: str) -> None:
    """Tests whether a set has a value are read as equalities, with the same truth for NULL."""
    found = from_json(tree, COLUMNS)
    if expected == "f":
        assert isinstance(found, Opaque)
    else:
        assert str(normalise(found)).startswith(expected)


def test_positions_in_arrays() -> None:
    """ARRAY_POSITION is the first equal item's position, 0 without one, and NULL for NULL."""
    place = {"fn": "array_position", "class": "ArrayPosition", "args": [array(text("b"), NULL, text("d")), X]}
    values = ["a", "b", "d", None]
    kept = {}
    for wanted in (0, 1, 2, 3):
        tree = {"fn": "=", "args": [place, {"lit": str(wanted), "type": "bigint"}]}
        verdicts = match(
            Filter(normalise(from_json(tree, COLUMNS))), KnownValues(("x",), [(each,) for each in values])
        ).tolist()
        kept[wanted] = [
            value for value, verdict in zip(values, verdicts, strict=True) if verdict != Match.CANNOT
        ]
    assert kept == {0: ["a"], 1: ["b"], 2: [], 3: ["d"]}


def test_trimmed_characters_beyond_ascii_limit_nothing() -> None:
    """Spark trims the byte C3, which is no text and less than `ß`, where it trims `é`, the bytes C3 A9."""
    for name in ("StringTrim", "StringTrimLeft", "StringTrimRight"):
        expression = expression_from_json(call(name, text("é")), COLUMNS)
        assert expression is not None
        found = [ranges(expression, {"x": Range("z", high, NO_NULL)})[0] for high in ("ß", "z")]
        assert [each.fails for each in found] == [True, False]


def test_invalid_texts_limit_nothing_beyond_ascii() -> None:
    """SPLIT replaces bytes that are no text by U+FFFD, which may be below or above the bytes."""
    for tree in (split("-", 0), split_part("-", 1)):
        expression = expression_from_json(tree, COLUMNS)
        assert expression is not None
        (found,) = ranges(expression, {"x": Range("aé", "aé\U0010ffff-", NO_NULL)})
        assert (found.low, found.high) == ("a", "b")


def test_a_search_that_overlaps_itself() -> None:
    """REPLACE searches from the left: `aa` in `baaa` leaves an `a`, which is replaced if an `a` follows."""
    for search, low, high in (
        ("aa", "baaaa", "baaab"),
        ("aba", "xababaa", "xababab"),
        ("00", "100", "1000001"),
    ):
        tree = call("StringReplace", text(search), text(""))
        expression = expression_from_json(tree, COLUMNS)
        assert expression is not None
        (found,) = ranges(expression, {"x": Range(low, high, NO_NULL)})
        for each in (low, low + "a", low + search, high):
            result = each.replace(search, "")
            assert (low <= each <= high) <= (
                found.low <= result and (found.high is None or result <= found.high)
            )
