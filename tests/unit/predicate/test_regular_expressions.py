"""The beginnings of regular expressions: each text that one is found in begins so."""

from __future__ import annotations

import random
import re

import pytest

from parquetry.predicate import Filter, KnownValues, Match, match
from parquetry.predicate.normalise import normalise
from parquetry.predicate.reading.spark_json import from_json
from parquetry.predicate.regular_expression import MAX_BEGINNINGS, Beginnings, beginnings, only_text
from parquetry.types import parse_type
from tests.support.effort import STEP

BEGINNINGS = {
    # an anchor and plain characters
    "^a": "a", "^user_1": "user_1", "a": "", "": "", "^": "", "^$": "", r"\Aab": "ab", "^^ab": "ab", "^a ": "a ",
    "^é😀": "é😀", "^a^b": "ab", "$a": "", "^]}": "]}", "^a#b": "a#b",
    # quantifiers
    "^ab*": "a", "^ab?": "a", "^ab?c": "a", "^ab+": "ab", "^ab+c": "ab", "^ab{0,2}": "a", "^ab{0}": "a", "^ab{2}": "ab",
    "^ab{1,}": "ab", "^ab*?c": "a", "^ab++c": "ab", "^a*": "", "^*ab": "", "^?ab": "", "^é😀*": "é", "^a{": "", "^a{b}": "",
    # alternatives, groups
    "^a|b": "", "^a|^b": "a b", "b|^a": "", "^ab|^a": "a", "^(ab|cd)e": "abe cde", "^(?:ab|cd)": "ab cd", "(^a|^b)c": "ac bc",
    "(^a|b)c": "", "^(a|)b": "ab b", "^(abc)": "abc", "^(abc)?d": "", "^(abc)*": "", "^(abc)+d": "abc", "^x(ab|c)?d": "x",
    "(a)?^b": "", "(^a)?b": "", "^((((a))))b": "ab", "^(?<n>a)b": "ab", "^(?>a|ab)c": "abc ac", "^a(b": "a", "^a)b": "",
    "^a()b": "ab", "^|a": "", "^a||b": "",
    # classes
    "^a.c": "a", "^[ab]c": "ac bc", "^x[a-c-e]z": "x-z xaz xbz xcz xez", "^[a-]": "- a", "^a[^b]c": "a", "^[^a]": "",
    "^a[b[c]]d": "a", "^a[b&&c]d": "a", "^a[b|c]d": "abd acd a|d", "^a[^b|c]": "", "^[]a]b": "", r"^a[\d]b": "a", r"^a[\]]b": "a",
    "^a[ -\uffff]b": "a", "^a[b": "a",
    # escapes
    r"^a\.b": "a.b", r"^a\\b": r"a\b", r"^\^a": "^a", r"^a\|b": "a|b", r"^a\tb": "a\tb", r"^a\nb": "a\nb", r"^a\db": "a", r"^a\d|x": "",
    r"^a\bc": "ac", r"^a\b{g}c": "a", r"^\p{Lu}b": "", r"^a\p{Lu}|^b": "a b", r"^a\x41": "a", r"^a\u0041": "a", r"^a\1b": "a",
    r"^\Qa.b\E": "a.b", r"^\Qa|b\Ec": "a|bc", r"^\Qab\E*": "a", r"^\Qa|b": "a|b", r"^a\\Qb": r"a\Qb", r"^[\Qab\E]": "a b",
    r"^a\Ab": "ab", "^a\\": "a", r"^a\Z": "a", "^a\\é": "aé",
    # flags
    "(?i)^AB1": "ab1", "(?i)^aéb": "a", "(?i)^é": "", "(?s)^a.b": "a", "(?is)^A": "a", "(?m)^a": "", "(?x)^a b": "", "(?im)^a": "",
    "(?-i)^a": "", "^a(?i)b": "a", "^a(?i:b)c": "a", "^a(?x) b|c": "", "(?u)^a": "",
    # tests of what is around
    "^a$": "a", "^(?=b)a": "a", "^(?!a|b)cd": "cd", "^a(?<=a)b": "ab", "(?<=^a)b": "", "(?=^)a": "", "^a(?=b)*c": "a",
    # bytes that are no text look like this character
    "^a\ufffdb": "a", "^\ufffd": "",
}  # fmt: skip
"""Expressions, and their beginnings with blanks between, or nothing."""
EXACT = {"^a", "^ab*", "^ab+", "^a|^b", "^(ab|cd)", "^a.*", r"^\Qa.b\E", "^[ab]c", "^ab?c*(d|e)?", "(?s)^a.*"}
INEXACT = {
    "^ab?c",
    "^ab{2}",
    "^a.*$",
    "^a.",
    "^a$",
    "(?i)^a",
    r"^a\b",
    "^(?>a|ab)c",
    "^a|^b$",
    "^ab*c",
    "^a(?!b)",
    r"^a\d",
}


@pytest.mark.parametrize("pattern", BEGINNINGS)
def test_beginnings(pattern: str) -> None:
    """An expression's beginnings end before what may be left out, or may be another character."""
    found = beginnings(pattern)
    expected = BEGINNINGS[pattern]
    assert (found.texts if found else ()) == (
        (expected,) if expected == "a " else tuple(expected.split(" ")) if expected else ()
    )


def test_exact_beginnings() -> None:
    """An expression is found in each text with its beginning only if nothing has to follow."""
    exact = {pattern for pattern in EXACT | INEXACT if (found := beginnings(pattern)) and found.exact}
    assert exact == EXACT
    assert beginnings("(?i)^A") == Beginnings(("a",), exact=False, ignores_case=True)


def test_many_beginnings() -> None:
    """A part that has too many beginnings counts as any text; alternatives without a group have none."""
    texts = [f"{number:04d}" for number in range(MAX_BEGINNINGS + 1)]
    few, many = ("^x({})".format("|".join(some)) for some in (texts[:-1], texts))
    assert beginnings(few) == Beginnings(tuple(f"x{text}" for text in texts[:-1]), exact=True)
    assert beginnings(many) == Beginnings(("x",), exact=False)
    assert beginnings("|".join(f"^{text}" for text in texts)) is None
    assert beginnings("^a" + "(" * 3000) == Beginnings(("a",), exact=False)


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("-", "-"),
        (", ", ", "),
        (r"\|", "|"),
        ("[.]", "."),
        (r"\Q.\E", "."),
        (r"\t", "\t"),
        ("", ""),
        (r"\s", None),
        ("a|b", None),
    ]
    + [
        (pattern, None)
        for pattern in ("a+", "a?", "$", "^a", ".", "[ab]", "(?i)a", "(?=a)", "\ufffd", "a{2}")
    ],
)
def test_the_only_text(pattern: str, text: str | None) -> None:
    """A delimiter is a text if the expression matches no other one."""
    assert only_text(pattern) == text


PARTS = ["a", "b", "^", "$", ".", "|", "(", ")", "*", "?", "+", "{0,1}", "{2}", "[ab]", "[^a]", r"\.", r"\b", "(?:", "(?=", "(?!", "(?i)", "(?s)", r"\A", r"\d", "\n", "[a-c]", "B"]  # fmt: skip
SMALL = [first + second + third for first in ("", "a", "b", "B", "\n", ".", "1") for second in ("", "a", "b", "A") for third in ("", "a", "b", "\n", "c", "ab")]  # fmt: skip


def test_random_expressions() -> None:
    """A text that an expression is found in begins so, and vice versa if the beginnings are exact."""
    dice = random.Random(7)
    known = 0
    for _ in range(40_000 // STEP):
        pattern = dice.choice(("^", "^", r"\A", "(?i)^", "(^", "")) + "".join(
            dice.choices(PARTS, k=dice.randint(1, 7))
        )
        try:
            expression = re.compile(
                pattern.replace("(?i)", "(?ai)", 1) if pattern.startswith("(?i)") else pattern
            )
        except re.error:
            continue
        found = beginnings(pattern)
        if found is None:
            continue
        known += 1
        for text in SMALL:
            begins = (text.lower() if found.ignores_case else text).startswith(found.texts)
            is_found = expression.search(text) is not None
            assert begins or not is_found, (pattern, found, text)
            assert is_found or not (begins and found.exact), (pattern, found, text)
    assert known > 2_000 // STEP


@pytest.mark.parametrize(
    "pattern", [each for each in BEGINNINGS if not any(java in each for java in (r"\p", r"\E", "&&"))]
)
def test_verdicts(pattern: str) -> None:
    """No text that RLIKE finds is left out, and its negation leaves out none that RLIKE does not find."""
    try:
        expression = re.compile(pattern, re.ASCII)
    except (re.error, ValueError):
        return
    tree = {"fn": "RLIKE", "class": "RLike", "args": [{"col": ["x"]}, {"lit": pattern, "type": "string"}]}
    for holds, condition in ((True, tree), (False, {"fn": "NOT", "args": [tree]})):
        filter = Filter(normalise(from_json(condition, {"x": parse_type("string")})))
        verdicts = match(filter, KnownValues(("x",), [(text,) for text in SMALL])).tolist()
        for text, verdict in zip(SMALL, verdicts, strict=True):
            true = (expression.search(text) is not None) is holds
            assert verdict != (Match.CANNOT if true else Match.MUST), (condition, text)
