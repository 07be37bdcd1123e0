"""Rewrite a condition into the form that planning expects, without changing its truth for any row.

NOT is pushed down to the leaves, AND and OR are flattened, constants are folded, equalities of one column
under an OR become one IN. All three truth values are kept: `NOT (x IN (1, NULL))` is never TRUE, so it
becomes `x != 1 AND NULL`. A NOT remains only before leaves whose negation has no operator of its own: IS
NULL, IN, tuple IN, LIKE and conditions that are not understood.

`condition IS TRUE` is rewritten, too: `(a = 1) IS TRUE` is FALSE, not NULL, where `a` is NULL.

So `(a = 1) IS NOT TRUE` is TRUE where `a` is NULL: it becomes `NOT (a <=> 1)`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import assert_never

from parquetry.predicate.nodes import (
    FALSE,
    NULL,
    TRUE,
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
    operands,
)
from parquetry.types import ColumnType, Value

_NEGATED_OPERATORS = {"=": "!=", "!=": "=", "<": ">=", ">=": "<", ">": "<=", "<=": ">"}


def normalise(node: Predicate) -> Predicate:
    """Rewrite a bound condition; for every row it stays TRUE, FALSE or NULL as before.

    >>> a = Compare('<', 'a', 5, ColumnType('int'))
    >>> str(normalise(Not(And((a, Not(IsNull('b')))))))
    'a >= 5 OR b IS NULL'
    """
    return _positive(node)


def conjuncts(node: Predicate) -> tuple[Predicate, ...]:
    """Split a condition at its topmost ANDs."""
    return node.children if isinstance(node, And) else (node,)


def _positive(node: Predicate) -> Predicate:
    match node:
        case And():
            return conjoin(_positive(child) for child in operands(node))
        case Or():
            return disjoin(_positive(child) for child in operands(node))
        case Not(child):
            return _negative(child)
        case Compare(op, column, None):
            return IsNull(column) if op == "<=>" else NULL
        case In():
            return membership(node)
        case TupleIn():
            return tuple_membership(node)
        case Opaque(implied=implied):
            return node if implied is None else replace(node, implied=_positive(implied))
        case Compare() | IsNull() | Like() | BooleanConstant():
            return node
    assert_never(node)


def _negative(node: Predicate) -> Predicate:
    match node:
        case And():
            return disjoin(_negative(child) for child in operands(node))
        case Or():
            return conjoin(_negative(child) for child in operands(node))
        case Not(child):
            return _positive(child)
        case BooleanConstant(truth):
            return NULL if truth is None else BooleanConstant(not truth)
        case Compare(op, column, None):
            return Not(IsNull(column)) if op == "<=>" else NULL
        case Compare("<=>", column, value, type):
            return disjoin((IsNull(column), Compare("!=", column, value, type)))
        case Compare(op, column, value, type):
            return Compare(_NEGATED_OPERATORS[op], column, value, type)
        case In(column, values, type, True) if values:
            return conjoin((_negative(In(column, values, type)), NULL))
        case In() | TupleIn():
            simpler = _positive(node)
            return Not(node) if simpler == node else _negative(simpler)
        case Opaque():
            return Not(_positive(node))
        case IsNull() | Like():
            return Not(node)
    assert_never(node)


def membership(node: In) -> Predicate:
    """Return an IN in normal form."""
    if not node.values:
        return NULL if node.has_null else FALSE
    if len(node.values) == 1 and not node.has_null:
        return Compare("=", node.column, node.values[0], node.type)
    return node


def tuple_membership(node: TupleIn) -> Predicate:
    """Return a tuple IN in normal form; a tuple IN of one column becomes an IN."""
    if not node.rows:
        return FALSE
    if len(node.columns) == 1:
        values = tuple(value for (value,) in node.rows if value is not None)
        return membership(In(node.columns[0], values, node.types[0], len(values) < len(node.rows)))
    return node


def conjoin(children: Iterable[Predicate]) -> Predicate:
    """Join normalised conditions with AND, flattened and folded."""
    flat: dict[Predicate, None] = {}
    for child in children:
        for part in child.children if isinstance(child, And) else (child,):
            if part == FALSE:
                return FALSE
            if part != TRUE:
                flat[part] = None
    if len(flat) <= 1:
        return next(iter(flat), TRUE)
    return And(tuple(flat))


def disjoin(children: Iterable[Predicate]) -> Predicate:
    """Join normalised conditions with OR, flattened and folded; equalities of one column become one IN."""
    flat: dict[Predicate, None] = {}
    for child in children:
        for part in child.children if isinstance(child, Or) else (child,):
            if part == TRUE:
                return TRUE
            if part != FALSE:
                flat[part] = None
    if len(flat) <= 1:
        return next(iter(flat), FALSE)
    parts = equalities_as_in(flat)
    return parts[0] if len(parts) == 1 else Or(tuple(parts))


def equalities_as_in(parts: Iterable[Predicate]) -> list[Predicate]:
    """Replace all equalities of a column by one IN, among normalised conditions that OR joins."""
    groups: dict[tuple[str, ColumnType], list[Compare | In]] = {}
    result: list[Predicate | tuple[str, ColumnType]] = []
    for part in parts:
        if isinstance(part, In) or (isinstance(part, Compare) and part.op == "="):
            key = (part.column, part.type)
            if key not in groups:
                result.append(key)
            groups.setdefault(key, []).append(part)
        else:
            result.append(part)
    return [_united(groups[part]) if isinstance(part, tuple) else part for part in result]


def _united(group: list[Compare | In]) -> Predicate:
    first = group[0]
    if len(group) == 1:
        return first
    values: list[Value] = []
    has_null = False
    for part in group:
        if isinstance(part, In):
            values += part.values
            has_null = has_null or part.has_null
        else:
            values.append(part.value)
    return membership(In(first.column, tuple(values), first.type, has_null))


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
