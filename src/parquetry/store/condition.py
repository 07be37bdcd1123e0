"""Conditions on the fields of a row, which a store may test where the row is stored.

A condition compares unsigned bytes and is true or false. Columns and NULL are known to `scan.pushdown`, which
makes the conditions. A field that a row does not have satisfies every condition on it.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, assert_never

Operator = Literal["=", "!=", "<", "<=", ">", ">="]


@dataclass(frozen=True, slots=True)
class FieldCompare:
    """A field compared with bytes.

    Attributes:
        position: position of the field, from 0.
        op: the comparison, with the field on its left.
        value: the bytes on its right.
    """

    position: int
    op: Operator
    value: bytes


@dataclass(frozen=True, slots=True)
class FieldIn:
    """A field that is one of several byte strings, or is none of them.

    Attributes:
        position: position of the field, from 0.
        values: the byte strings.
        within: True if the field must be one of them, False if it must be none of them.
    """

    position: int
    values: tuple[bytes, ...]
    within: bool = True


@dataclass(frozen=True, slots=True)
class FieldMatches:
    """A field that contains a match of a regular expression, or contains none.

    Attributes:
        position: position of the field, from 0.
        expression: regular expression on bytes, in ASCII, with the same meaning in Python and in Java.
        matches: True if the field must contain a match, False if it must not.
    """

    position: int
    expression: str
    matches: bool = True


@dataclass(frozen=True, slots=True)
class AllOf:
    """All of the children; without any, true."""

    children: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """At least one of the children; without any, false."""

    children: tuple[Condition, ...]


Condition: TypeAlias = FieldCompare | FieldIn | FieldMatches | AllOf | AnyOf

TRUE, FALSE = AllOf(()), AnyOf(())

_COMPARISONS: dict[Operator, Callable[[bytes, bytes], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def all_of(children: Iterable[Condition]) -> Condition:
    """Join conditions with AND, flattened and folded."""
    flat: dict[Condition, None] = {}
    for child in children:
        if child == FALSE:
            return FALSE
        flat.update(dict.fromkeys(child.children if isinstance(child, AllOf) else (child,)))
    return next(iter(flat)) if len(flat) == 1 else AllOf(tuple(flat))


def any_of(children: Iterable[Condition]) -> Condition:
    """Join conditions with OR, flattened and folded."""
    flat: dict[Condition, None] = {}
    for child in children:
        if child == TRUE:
            return TRUE
        flat.update(dict.fromkeys(child.children if isinstance(child, AnyOf) else (child,)))
    return next(iter(flat)) if len(flat) == 1 else AnyOf(tuple(flat))


def holds(condition: Condition, fields: Sequence[bytes]) -> bool:
    """Return whether a row with these fields satisfies a condition. The last fields may be missing.

    >>> holds(AllOf((FieldCompare(0, "<", b"b"), FieldIn(1, (b"x", b"y")))), (b"a", b"y"))
    True
    """
    match condition:
        case AllOf(children):
            return all(holds(child, fields) for child in children)
        case AnyOf(children):
            return any(holds(child, fields) for child in children)
        case FieldCompare(position, op, value):
            return position >= len(fields) or _COMPARISONS[op](fields[position], value)
        case FieldIn(position, values, within):
            return position >= len(fields) or (fields[position] in values) is within
        case FieldMatches(position, expression, expected):
            if position >= len(fields):
                return True
            return (re.search(expression.encode("ascii"), fields[position]) is not None) is expected
    assert_never(condition)
