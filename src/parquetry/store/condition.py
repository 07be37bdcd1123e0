"""Conditions on the fields of a row, which a store may test where the row is.

Bytes are compared with bytes, unsigned, and there are two truth values: what a column is, and what NULL is,
are known in `scan.pushdown`, which makes conditions. A field that a row was written without satisfies all.
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
        position: of the field, from 0.
        op: with the field on the left.
        value: on the right.
    """

    position: int
    op: Operator
    value: bytes


@dataclass(frozen=True, slots=True)
class FieldIn:
    """A field that is one of several byte strings, or is none of them.

    Attributes:
        position: of the field, from 0.
        values: the byte strings.
        within: otherwise the condition is that it is none of them.
    """

    position: int
    values: tuple[bytes, ...]
    within: bool = True


@dataclass(frozen=True, slots=True)
class FieldMatches:
    """A field in which a regular expression is found, or is not.

    Attributes:
        position: of the field, from 0.
        expression: on bytes; in words that Python and Java understand alike, and ASCII only.
        matches: whether it has to be found; otherwise it must not be.
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
    """Decide a condition for a row with these fields, of which the last may be missing.

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
