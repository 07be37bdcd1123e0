"""Find the numbers whose text is a given one: casts to STRING, and such texts with zeros before them."""

from __future__ import annotations

import re
from decimal import Decimal

from parquetry.predicate import bind
from parquetry.predicate.expression import ColumnReference, FunctionCall
from parquetry.predicate.nodes import Predicate, any_of
from parquetry.types import ColumnType

_BIGINT = ColumnType("bigint")
_MOST_PLAIN_DIGITS = 6
"""Digits after the point. With more, Spark may write an exponent."""
_DECIMAL = re.compile(r"-?[0-9]+(\.[0-9]+)?")


def number_of_text(call: FunctionCall, value: str) -> Predicate | None:
    """Return the condition that a call's only column is the number that is written so, or None if not known.

    >>> text = FunctionCall("CAST", (ColumnReference("n", ColumnType("int")),), ColumnType("string"))
    >>> str(number_of_text(text, "12")), str(number_of_text(text, "012"))
    ('n = 12', 'n IS NULL AND NULL')
    """
    if call.function == "CAST" and isinstance(call.args[0], ColumnReference):
        name, type = call.args[0].name, call.args[0].type
        if type.integral:
            return _whole_number(name, type, value)
        return _decimal(name, type, value) if type.name == "decimal" else None
    return _padded(call, value) if call.function == "STRINGLPAD" else None


def _whole_number(name: str, type: ColumnType, value: str) -> Predicate:
    plain = value.isascii() and value.removeprefix("-").isdigit() and str(int(value)) == value
    return bind.comparison("=", name, type, int(value), _BIGINT) if plain else bind.never(name)


def _decimal(name: str, type: ColumnType, value: str) -> Predicate | None:
    if type.scale > _MOST_PLAIN_DIGITS:
        return None
    number = Decimal(value) if _DECIMAL.fullmatch(value) and len(value) <= type.precision + 3 else None
    if number is None or f"{number:.{type.scale}f}" != value:
        return bind.never(name)
    return bind.comparison("=", name, type, number, type)


def _padded(call: FunctionCall, value: str) -> Predicate | None:
    """Return the numbers whose text has some length with zeros before it; a longer text is cut off."""
    inner, length = call.args[0], call.constant(1)
    is_cast = isinstance(inner, FunctionCall) and inner.function == "CAST"
    column = inner.args[0] if isinstance(inner, FunctionCall) and is_cast else None
    if not isinstance(column, ColumnReference) or not column.type.integral or call.constant(2) != "0":
        return None
    if not isinstance(length, int) or length < 1 or "-" in value:
        return None
    if len(value) != length or not (value.isascii() and value.isdigit()):
        return bind.never(column.name)
    longer = bind.comparison(">=", column.name, column.type, 10**length, _BIGINT) if length < 19 else None
    whole = bind.comparison("=", column.name, column.type, int(value), _BIGINT)
    return whole if longer is None or value[0] == "0" else any_of((whole, longer))
