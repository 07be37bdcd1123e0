"""Read the constants of Hive's clauses: their kind and their text, before their column's type is known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Any

from parquetry.errors import SkewedValueError
from parquetry.sqltext.tokens import TokenCursor
from parquetry.types import TIME_NAMES


@dataclass(frozen=True, slots=True)
class LiteralConstant:
    """A constant.

    Attributes:
        kind: `null`, `number`, `text`, or the type that it is written as: `boolean`, `binary`, or a name of a
            date or timestamp.
        text: its content: a text without quotes and escapes, or the hexadecimal digits of a binary.
        start: its position in the statement.
    """

    kind: str
    text: str
    start: int


def read_constant(cursor: TokenCursor) -> LiteralConstant | None:
    """Take the next token if it is a constant; otherwise take nothing and return None.

    >>> [read_constant(TokenCursor(text)).text for text in ("-1.5e3", "'it''s' ' me'", "DATE '2026-01-01'", "x'00ff'")]
    ['-1.5e3', "it's me", '2026-01-01', '00ff']
    """
    token, start = cursor.next, cursor.next.start
    if token.word in ("-", "+"):
        if cursor.tokens[cursor.at + 1].kind != "NUMBER":
            return None
        cursor.advance()
        return LiteralConstant("number", ("-" if token.word == "-" else "") + cursor.advance().text, start)
    if token.quoted:
        return LiteralConstant("text", _text(cursor), start)
    if token.kind == "NUMBER":
        return LiteralConstant("number", cursor.advance().text, start)
    if token.kind == "HEX_STRING" and cursor.text[start] in "xX":
        return LiteralConstant("binary", cursor.advance().text, start)
    if token.word == "null":
        cursor.advance()
        return LiteralConstant("null", "", start)
    if token.word in ("true", "false"):
        cursor.advance()
        return LiteralConstant("boolean", token.word, start)
    if token.word in TIME_NAMES and cursor.tokens[cursor.at + 1].quoted:
        cursor.advance()
        return LiteralConstant(TIME_NAMES[token.word], _text(cursor), start)
    return None


def constants(value: Any) -> tuple[LiteralConstant, ...]:
    """Return a Python value, or a tuple or list of several, as constants.

    Raises:
        SkewedValueError: a value's type has no constants.

    >>> [(each.kind, each.text) for each in constants((1, None, "a"))]
    [('number', '1'), ('null', ''), ('text', 'a')]
    """
    return tuple(map(_constant, value if isinstance(value, tuple | list) else (value,)))


def _constant(value: Any) -> LiteralConstant:
    match value:
        case None:
            return LiteralConstant("null", "", 0)
        case bool():
            return LiteralConstant("boolean", str(value).lower(), 0)
        case int() | Decimal():
            return LiteralConstant("number", str(value), 0)
        case float() if math.isfinite(value):
            return LiteralConstant("number", repr(value), 0)
        case str() | float():
            return LiteralConstant("text", str(value), 0)
        case bytes():
            return LiteralConstant("binary", value.hex(), 0)
        case datetime():
            kind = "timestamp_ntz" if value.tzinfo is None else "timestamp"
            return LiteralConstant(kind, value.isoformat(sep=" "), 0)
        case date():
            return LiteralConstant("date", value.isoformat(), 0)
    raise SkewedValueError(
        f"{value!r} of type {type(value).__name__} can be no skewed value: give a number, a text, None, a boolean, bytes, "
        "a date or a datetime."
    )


def _text(cursor: TokenCursor) -> str:
    """Take adjacent texts, which Spark reads as one."""
    parts = [cursor.advance().text]
    while cursor.next.quoted:
        parts.append(cursor.advance().text)
    return "".join(parts)
