"""Conditions as Spark's plans print them, as SQL: `(day#5 = 2026-01-03)` is `day = DATE '2026-01-03'`.

Spark prints texts without quotes. The type of a column decides what a value is, or else the value's look.
What is not understood is kept as it is, without the numbers of columns.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from parquetry.sqltext import string
from parquetry.workload.model import QueryCondition

ATTRIBUTE = re.compile(r"(?P<name>[^\W\d]\w*)#(?P<id>\d+)L?(?P<fields>(?:\.[^\W\d]\w*)*)")
"""A column in a plan: its name, its number, and fields of a struct."""
_COMPARISON = re.compile(r"(?P<left>.+?) (?P<operator><=>|<=|>=|=|<|>) (?P<right>.*)", re.DOTALL)
_LIST = re.compile(r"(?P<left>\S+) (?:IN \((?P<few>.*)\)|INSET \(?(?P<many>.*?)\)?)", re.DOTALL)
_NULL_TEST = re.compile(r"(?P<kind>isnotnull|isnull)\((?P<column>.*)\)")
_MATCH = re.compile(r"(?P<kind>StartsWith|EndsWith|Contains)\((?P<column>[^,]*), (?P<text>.*)\)", re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:E-?\d+)?")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_TIMESTAMP = re.compile(r"\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}(?:\.\d+)?")
_WORDS = ("true", "false", "null")
_PATTERNS = {"StartsWith": "{}%", "EndsWith": "%{}", "Contains": "%{}%"}
_TYPED = {"date": "DATE {}", "timestamp": "TIMESTAMP {}", "timestamp_ntz": "TIMESTAMP_NTZ {}"}


def split_list(text: str) -> Iterator[str]:
    """Yield the parts of a list in brackets; commas within parentheses or brackets do not count.

    >>> list(split_list("[isnotnull(a#1), a#1 IN (1,2), (b#2 = x)]"))
    ['isnotnull(a#1)', 'a#1 IN (1,2)', '(b#2 = x)']
    """
    text = text.strip()
    text = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    depth, first = 0, 0
    for at, character in enumerate(text):
        depth += (character in "([{") - (character in ")]}")
        if character == "," and depth <= 0:
            yield text[first:at].strip()
            first = at + 1
    if text[first:].strip():
        yield text[first:].strip()


def conditions_in(text: str, types: Mapping[str, str]) -> Iterator[QueryCondition]:
    """Yield the conditions of a list, or of one expression; the parts of an AND are apart.

    Args:
        text: as a plan prints it.
        types: the known types of columns, by the columns' names in lower case.
    """
    for part in split_list(text):
        for each in _conjuncts(part):
            columns = dict.fromkeys(found["name"] + found["fields"] for found in ATTRIBUTE.finditer(each))
            if columns and "dynamicpruning" not in each.lower():
                yield QueryCondition(to_sql(each, types), tuple(columns))


def to_sql(text: str, types: Mapping[str, str]) -> str:
    """Return a condition in SQL.

    >>> to_sql("((day#5 = 2026-01-03) OR (name#2 > O'Neil))", {})
    "day = DATE '2026-01-03' OR name > 'O\\\\'Neil'"
    >>> to_sql("s#1.c IN (7,8)", {"s.c": "string"}), to_sql("StartsWith(n#1, 5%)", {}), to_sql("isnull(n#1)", {})
    ("s.c IN ('7', '8')", "n LIKE '5\\\\\\\\%%'", 'n IS NULL')
    """
    text = _bare(text)
    for word in (" OR ", " AND "):
        parts = _split_at(text, word)
        if len(parts) > 1:
            return word.join(_within(to_sql(part, types), word) for part in parts)
    if text.startswith("NOT "):
        return f"NOT ({to_sql(text[4:], types)})"
    if found := _NULL_TEST.fullmatch(text):
        return f"{_names(found['column'])} IS {'NOT ' if found['kind'] == 'isnotnull' else ''}NULL"
    if found := _MATCH.fullmatch(text):
        literal = re.sub(r"([\\%_])", r"\\\1", found["text"])
        return f"{_names(found['column'])} LIKE {string(_PATTERNS[found['kind']].format(literal))}"
    if found := _LIST.fullmatch(text):
        values = re.split(r", ?", found["few"] if found["many"] is None else found["many"])
        kind = types.get(_names(found["left"]).lower())
        return f"{_names(found['left'])} IN ({', '.join(_literal(each, kind) for each in values)})"
    if (found := _COMPARISON.fullmatch(text)) and ATTRIBUTE.search(found["left"]):
        left, right = _names(found["left"]), found["right"]
        kind = types.get(left.lower())
        return f"{left} {found['operator']} {_names(right) if ATTRIBUTE.search(right) else _literal(right, kind)}"
    return _names(text)


def _within(text: str, word: str) -> str:
    return f"({text})" if word == " AND " and " OR " in text else text


def _names(text: str) -> str:
    """Return an expression with columns by their names alone."""
    return ATTRIBUTE.sub(lambda found: found["name"] + found["fields"], _bare(text))


def _literal(text: str, kind: str | None) -> str:
    """Return a value as a literal.

    >>> _literal("5", None), _literal("5", "string"), _literal("2026-01-01", None), _literal("true", None)
    ('5', "'5'", "DATE '2026-01-01'", 'true')
    """
    if text.lower() == "null":
        return "NULL"
    if kind is None:
        kind = "date" if _DATE.fullmatch(text) else "timestamp" if _TIMESTAMP.fullmatch(text) else None
    if kind in _TYPED:
        return _TYPED[kind].format(string(text))
    if kind is None and (_NUMBER.fullmatch(text) or text.lower() in _WORDS):
        return text
    is_text = kind is None or kind in ("string", "binary") or kind.startswith(("char", "varchar"))
    return string(text) if is_text else text


def _conjuncts(text: str) -> Iterator[str]:
    parts = _split_at(_bare(text), " AND ")
    if len(parts) == 1:
        yield _bare(text)
        return
    for part in parts:
        yield from _conjuncts(part)


def _split_at(text: str, word: str) -> list[str]:
    """Split a text at a word outside of parentheses."""
    parts, depth, first = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0 and text.startswith(word, at):
            parts.append(text[first:at])
            first = at + len(word)
    return [*parts, text[first:]]


def _bare(text: str) -> str:
    """Take the parentheses off an expression that stands in nothing but them."""
    text = text.strip()
    while text.startswith("(") and text.endswith(")") and _first_closed(text) == len(text) - 1:
        text = text[1:-1].strip()
    return text


def _first_closed(text: str) -> int:
    """Return the position where the parenthesis at the beginning is closed; the end if it is not."""
    depth = 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if depth == 0:
            return at
    return len(text)
