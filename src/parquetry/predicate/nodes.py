"""Immutable nodes of a condition, with SQL's three truth values.

A node is a value: hashable, comparable and readable. `str(node)` is SQL that `parse_filter` reads back. This
module computes nothing: `bind` fits literals to columns, `normalise` rewrites, `evaluate` and `pruning.match`
judge.

Every condition is TRUE, FALSE or NULL for a row; only TRUE selects the row.

| a     | b     | a AND b | a OR b | NOT a |
|-------|-------|---------|--------|-------|
| TRUE  | NULL  | NULL    | TRUE   | FALSE |
| FALSE | NULL  | FALSE   | NULL   | TRUE  |
| NULL  | NULL  | NULL    | NULL   | NULL  |
"""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from parquetry.identifiers import RESERVED, field_path, is_field, quote_part
from parquetry.predicate.expression import Expression
from parquetry.types import BOOLEAN, STRING, ColumnType, Value, order_key, sql_literal

OPERATORS = ("=", "!=", "<", "<=", ">", ">=", "<=>")
"""The comparisons; `<=>` is `=`, but NULL is a value like any other."""

FLIPPED_OPERATORS = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<=", "<=>": "<=>"}
"""The operator that means the same when its sides are exchanged."""

MAX_CONDITION_DEPTH = 100
"""Nested levels of AND and OR: functions recurse once or more per level, and Python allows 1,000 calls."""

_PLAIN_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Compare:
    """A column compared with a literal.

    Attributes:
        op: one of `OPERATORS`.
        column: the column, on the left.
        value: the literal, in the form of `types`; None is NULL.
        type: the literal's type; the column's own once bound.
    """

    op: str
    column: str
    value: Value
    type: ColumnType

    def __str__(self) -> str:
        return f"{name_text(self.column)} {self.op} {sql_literal(self.type, self.value)}"


def _in_order(values: tuple[Value, ...]) -> bool:
    """Return whether values are known to be sorted and unique, without a Python loop over many values."""
    comparable: Sequence[Any] = values
    return {value.__class__ for value in values} in ({int}, {str}, {bytes}) and all(
        map(operator.lt, comparable, comparable[1:])
    )


@dataclass(frozen=True, slots=True)
class In:
    """A column equal to one of several literals.

    Attributes:
        column: the column.
        values: the literals without NULL; construction sorts them and removes duplicates.
        type: their type; the column's own once bound.
        has_null: whether NULL was among them, so that no match means NULL and not FALSE.
    """

    column: str
    values: tuple[Value, ...]
    type: ColumnType
    has_null: bool = False

    def __post_init__(self) -> None:
        if len(self.values) > 1 and not _in_order(self.values):
            # 0.0 and -0.0, 1.5 and 1.50 are one value; any of the equals may stay.
            unique = {order_key(value): value for value in self.values}
            object.__setattr__(self, "values", tuple(unique[key] for key in sorted(unique)))

    def __str__(self) -> str:
        return f"{name_text(self.column)} IN {self.list_text()}"

    def list_text(self) -> str:
        """Write the literals in their parentheses."""
        texts = [sql_literal(self.type, value) for value in self.values]
        return f"({', '.join([*texts, 'NULL'] if self.has_null else texts)})"


@dataclass(frozen=True, slots=True)
class TupleIn:
    """Several columns that together equal one of several rows of literals; a literal may be NULL."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Value, ...], ...]
    types: tuple[ColumnType, ...]

    def __str__(self) -> str:
        return f"{self.columns_text()} IN {self.list_text()}"

    def columns_text(self) -> str:
        """Write the columns in their parentheses."""
        return f"({', '.join(map(name_text, self.columns))})"

    def list_text(self) -> str:
        """Write the rows in their parentheses."""
        rows = (
            ", ".join(sql_literal(type, value) for type, value in zip(self.types, row, strict=True))
            for row in self.rows
        )
        return f"({', '.join(f'({row})' for row in rows)})"


@dataclass(frozen=True, slots=True)
class IsNull:
    """A column that is NULL; never NULL itself."""

    column: str

    def __str__(self) -> str:
        return f"{name_text(self.column)} IS NULL"


@dataclass(frozen=True, slots=True)
class Like:
    """A column's text matched whole against a pattern, `%` for any characters and `_` for one.

    Tests for a text's beginning, end or content are LIKE with that text escaped (`like.starts_with` …).

    Attributes:
        column: the column; if it is not text, its values are written as in a path and then matched.
        pattern: the pattern.
        escape: the character that makes the next one stand for itself; empty for none.
        type: the column's type.
    """

    column: str
    pattern: str
    escape: str = "\\"
    type: ColumnType = field(default=STRING)

    def __str__(self) -> str:
        return f"{name_text(self.column)} LIKE {self.pattern_text()}"

    def pattern_text(self) -> str:
        """Write the pattern, and the escape where it is not the usual one."""
        text = sql_literal(STRING, self.pattern)
        return text if self.escape == "\\" else f"{text} ESCAPE {sql_literal(STRING, self.escape)}"


@dataclass(frozen=True, slots=True)
class And:
    """All of the children."""

    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        texts = (f"({child})" if isinstance(child, Or) else str(child) for child in self.children)
        return " AND ".join(texts) or "TRUE"


@dataclass(frozen=True, slots=True)
class Or:
    """At least one of the children."""

    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        texts = (f"({child})" if isinstance(child, And) else str(child) for child in self.children)
        return " OR ".join(texts) or "FALSE"


@dataclass(frozen=True, slots=True)
class Not:
    """The negation of the child; NULL where the child is NULL."""

    child: Predicate

    def __str__(self) -> str:
        match self.child:
            case IsNull(column):
                return f"{name_text(column)} IS NOT NULL"
            case In() as within:
                return f"{name_text(within.column)} NOT IN {within.list_text()}"
            case TupleIn() as within:
                return f"{within.columns_text()} NOT IN {within.list_text()}"
            case Like() as like:
                return f"{name_text(like.column)} NOT LIKE {like.pattern_text()}"
        return f"NOT ({self.child})"


@dataclass(frozen=True, slots=True)
class BooleanConstant:
    """TRUE, FALSE or, as None, NULL for every row."""

    value: bool | None

    def __str__(self) -> str:
        return "NULL" if self.value is None else str(self.value).upper()


@dataclass(frozen=True, slots=True)
class Opaque:
    """A condition that is not understood, so that any row may satisfy it.

    Attributes:
        text: how to show it.
        columns: the columns it is about.
        reason: why it is not understood, as the pruning report shows it: `function on the column`.
        implied: a bound condition that is TRUE wherever this one is, or None if none is known. For example,
            `year(d) = 2026` implies that `d` is between two days (see `functions.preimage`).
        formula: the same condition as an expression, for statistics of containers to judge (see
            `functions.ranges`), or None if a part of it is not known.
    """

    text: str
    columns: tuple[str, ...]
    reason: str
    implied: Predicate | None = None
    formula: Expression | None = None

    def __str__(self) -> str:
        return self.text


Predicate: TypeAlias = Compare | In | TupleIn | IsNull | Like | And | Or | Not | BooleanConstant | Opaque

TRUE = BooleanConstant(True)
FALSE = BooleanConstant(False)
NULL = BooleanConstant(None)


def columns_of(node: Predicate) -> set[str]:
    """Name the columns a condition is about.

    >>> sorted(columns_of(And((IsNull('a'), Like('b', 'x%')))))
    ['a', 'b']
    """
    match node:
        case And(children) | Or(children):
            return set().union(*(columns_of(child) for child in children))
        case Not(child):
            return columns_of(child)
        case TupleIn(columns=names) | Opaque(columns=names):
            return set(names)
        case BooleanConstant():
            return set()
    return {node.column}


def opaque_parts(node: Predicate) -> tuple[Opaque, ...]:
    """List the parts that are not understood, for the report's *why not more*."""
    match node:
        case Opaque():
            return (node,)
        case And(children) | Or(children):
            return tuple(part for child in children for part in opaque_parts(child))
        case Not(child):
            return opaque_parts(child)
    return ()


def operands(node: And | Or) -> Iterator[Predicate]:
    """Yield the operands of a chain of ANDs, or of ORs; pairs may be nested to any depth.

    >>> a, b, c = map(IsNull, 'abc')
    >>> [str(each) for each in operands(Or((Or((a, b)), c)))]
    ['a IS NULL', 'b IS NULL', 'c IS NULL']
    """
    waiting: list[Predicate] = [node]
    while waiting:
        each = waiting.pop()
        if type(each) is type(node):
            waiting += reversed(each.children)
        else:
            yield each


def without_nots(node: Predicate) -> tuple[Predicate, bool]:
    """Remove all outer NOTs, and return whether their number was odd."""
    odd = False
    while isinstance(node, Not):
        node, odd = node.child, not odd
    return node, odd


def depth(node: Predicate) -> int:
    """Count the levels of AND within OR and OR within AND; NOT does not count.

    >>> depth(And((IsNull('a'), Not(Or((IsNull('b'), IsNull('c')))))))
    2
    """
    levels = 0
    level = [without_nots(node)[0]]
    while level := [each for each in level if isinstance(each, And | Or)]:
        levels += 1
        level = [without_nots(child)[0] for each in level for child in operands(each)]
    return levels


def all_of(nodes: Iterable[Predicate]) -> Predicate:
    """Join conditions with AND; no conditions give TRUE, a single one stays as it is."""
    children = tuple(nodes)
    return children[0] if len(children) == 1 else And(children) if children else TRUE


def any_of(nodes: Iterable[Predicate]) -> Predicate:
    """Join conditions with OR; no conditions give FALSE, a single one stays as it is."""
    children = tuple(nodes)
    return children[0] if len(children) == 1 else Or(children) if children else FALSE


def equal(column: str, value: Value, type: ColumnType) -> Compare:
    """Return the condition that a column equals a literal."""
    return Compare("=", column, value, type)


def truth_of(name: str) -> Compare:
    """Return the condition that a boolean column is true."""
    return Compare("=", name, True, BOOLEAN)


def name_text(name: str) -> str:
    """Write a column's name, in backticks where SQL needs them, or a field's with dots between its parts.

    >>> name_text('day'), name_text('my day'), name_text('in')
    ('day', '`my day`', '`in`')
    """
    if is_field(name):
        return ".".join(map(name_text, field_path(name)))
    if _PLAIN_NAME.fullmatch(name) and name.lower() not in RESERVED:
        return name
    return quote_part(name)
