"""Rewrite `condition IS TRUE`: `(a = 1) IS TRUE` is FALSE, not NULL, where `a` is NULL.

So `(a = 1) IS NOT TRUE` is TRUE where `a` is NULL: it becomes `NOT (a <=> 1)`.
"""

from __future__ import annotations

from typing import assert_never

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
    all_of,
    any_of,
)
from parquetry.predicate.normalise import normalise, tuple_membership
from parquetry.types import Value


def is_true(node: Predicate) -> Predicate:
    """Return the condition that is TRUE where another is TRUE, and FALSE everywhere else.

    Args:
        node: a bound condition, no deeper than `MAX_CONDITION_DEPTH`.

    >>> from parquetry.types import ColumnType
    >>> a = Compare("<", "a", 5, ColumnType("int"))
    >>> str(is_true(a)), str(is_true(Not(IsNull("b"))))
    ('a < 5 AND a IS NOT NULL', 'b IS NOT NULL')
    """
    return normalise(_true(normalise(node)))


def _true(node: Predicate) -> Predicate:
    """Rewrite a normalised condition: NOT stands only before IS NULL, IN, LIKE and Opaque."""
    match node:
        case And(children):
            return all_of(map(_true, children))
        case Or(children):
            return any_of(map(_true, children))
        case BooleanConstant(truth):
            return BooleanConstant(truth is True)
        case IsNull() | Not(IsNull()) | Compare("<=>"):
            return node
        case Compare("=", column, value, type):
            return Compare("<=>", column, value, type)
        case In(column, values, type):
            return And((In(column, values, type), Not(IsNull(column))))
        case TupleIn(columns, rows, types):
            whole = tuple(row for row in rows if None not in row)
            return And(
                (
                    tuple_membership(TupleIn(columns, whole, types)),
                    *(Not(IsNull(column)) for column in columns),
                )
            )
        case Not(TupleIn() as within):
            return all_of(_differs(within, row) for row in within.rows)
        case Compare(column=column) | Like(column) | Not(In(column) | Like(column)):
            return And((node, Not(IsNull(column))))
        case Opaque() | Not():
            return node
    assert_never(node)


def _differs(within: TupleIn, row: tuple[Value, ...]) -> Predicate:
    """Return the condition that at least one column has another value than the row."""
    return any_of(
        _true(Compare("!=", column, value, type))
        for column, value, type in zip(within.columns, row, within.types, strict=True)
        if value is not None
    )
