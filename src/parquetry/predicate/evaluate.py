"""Evaluate a condition for one row: slow and plain; tests compare every faster rule with it."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any, assert_never

from parquetry.errors import UnsupportedError
from parquetry.predicate.like import matcher
from parquetry.predicate.nodes import (
    And,
    BooleanConstant,
    Compare,
    In,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    Predicate,
    TupleIn,
)
from parquetry.types import Value, order_key, text_from_value

_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def evaluate(node: Predicate, row: Mapping[str, Value]) -> bool | None:
    """Evaluate a condition for a row that has a value, or None for NULL, for each column of the condition.

    Raises:
        UnsupportedError: a part is `Opaque`.

    >>> from parquetry.types import ColumnType
    >>> evaluate(Compare('<', 'p', 10, ColumnType('int')), {'p': None}) is None
    True
    """
    match node:
        case Compare(op, column, value):
            return compare(op, row[column], value)
        case And(children):
            return conjunction(evaluate(child, row) for child in children)
        case Or(children):
            return _negate(conjunction(_negate(evaluate(child, row)) for child in children))
        case Not(child):
            return _negate(evaluate(child, row))
        case In(column, values, _, has_null):
            return _contained(row[column], values, has_null)
        case TupleIn(names, rows):
            return _any(
                conjunction(compare("=", row[name], item) for name, item in zip(names, items, strict=True))
                for items in rows
            )
        case IsNull(column):
            return row[column] is None
        case Like(column, pattern, escape, type):
            value = row[column]
            if value is None:
                return None
            return matcher(pattern, escape)(value if isinstance(value, str) else text_from_value(type, value))
        case BooleanConstant(truth):
            return truth
        case Opaque(text, _, reason):
            raise UnsupportedError(f"Condition {text} cannot be evaluated ({reason}): leave it to Spark.")
    assert_never(node)


def compare(op: str, left: Value, right: Value) -> bool | None:
    """Compare two values of one type as SQL does; NaN is greater than all numbers and equal to itself."""
    if left is None or right is None:
        return (left is None and right is None) if op == "<=>" else None
    return _COMPARISONS["=" if op == "<=>" else op](order_key(left), order_key(right))


def conjunction(truths: Any) -> bool | None:
    """Join truth values with AND."""
    result: bool | None = True
    for truth in truths:
        if truth is False:
            return False
        if truth is None:
            result = None
    return result


def _any(truths: Any) -> bool | None:
    return _negate(conjunction(map(_negate, truths)))


def _negate(truth: bool | None) -> bool | None:
    return None if truth is None else not truth


def _contained(value: Value, values: tuple[Value, ...], has_null: bool) -> bool | None:
    if not values and not has_null:
        return False
    if value is None:
        return None
    key = order_key(value)
    if any(order_key(item) == key for item in values):
        return True
    return None if has_null else False
