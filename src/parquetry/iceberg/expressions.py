"""Read a filter of Iceberg's REST protocol as a filter of ours, which keeps at least the same rows.

All forms of Iceberg's expressions are read, the deprecated ones (`term`, `value`) and the new ones (`left`,
`right`, `child`). A part that is not understood is true of every row. The client tests the rows itself, by
the residual that goes with each file.

Iceberg has no third truth value. `x != 5`, `x NOT IN (5)` and `NOT (x = 5)` are true of NULL, and so they are
read as `x != 5 OR x IS NULL`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from parquetry.errors import ParquetryError
from parquetry.iceberg.values import from_json
from parquetry.predicate import (
    EVERY_ROW,
    FALSE,
    NUMBER_TYPE,
    TRUE,
    And,
    Compare,
    Filter,
    In,
    IsNull,
    Not,
    Or,
    Predicate,
    starts_with,
)
from parquetry.types import ColumnType, Value

_MAX_DEPTH = 200
"""Nested levels of a filter that are read; what is deeper is true of every row."""
_OPERATORS = {"eq": "=", "not-eq": "!=", "lt": "<", "lt-eq": "<=", "gt": ">", "gt-eq": ">="}
_FLIPPED = {"eq": "eq", "not-eq": "not-eq", "lt": "gt", "lt-eq": "gt-eq", "gt": "lt", "gt-eq": "lt-eq"}
_OPPOSITES = {
    "eq": "not-eq", "lt": "gt-eq", "lt-eq": "gt", "in": "not-in", "starts-with": "not-starts-with", "is-null": "not-null",
    "is-nan": "not-nan",
}  # fmt: skip
_NEGATED = _OPPOSITES | {opposite: name for name, opposite in _OPPOSITES.items()}
_TRUE_OF_NULL = ("not-eq", "not-in", "not-starts-with", "not-nan")


class _UnreadableError(Exception):
    """A part of a filter is not understood."""


_UNREADABLE = (_UnreadableError, ParquetryError, ValueError, TypeError, OverflowError, LookupError)


@dataclass(frozen=True, slots=True)
class FilterColumns:
    """The columns that a filter may name.

    Attributes:
        types: their types by their names in the table.
        names: their names by field ids.
        case_sensitive: whether names count in letter case.
    """

    types: Mapping[str, ColumnType]
    names: Mapping[int, str]
    case_sensitive: bool = True

    def find(self, name: str) -> tuple[str, ColumnType]:
        """Return the column of a name, and its type.

        Raises:
            _UnreadableError: there is none, or it is a field of a struct.
        """
        for known, kind in self.types.items():
            if known == name or (not self.case_sensitive and known.lower() == name.lower()):
                return known, kind
        raise _UnreadableError(name)


def filter_from_iceberg(expression: Any, columns: FilterColumns) -> Filter:
    """Return a filter that is true of each row that Iceberg's filter is true of.

    Args:
        expression: the filter, decoded from JSON.
        columns: of the table.

    >>> from parquetry.types import parse_type
    >>> columns = FilterColumns({"day": parse_type("date"), "id": parse_type("int")}, {1: "day", 2: "id"})
    >>> day = {"type": "gt-eq", "term": "day", "value": "2026-11-27"}
    >>> other = {"type": "not", "child": {"type": "in", "term": "id", "values": [1, 2]}}
    >>> print(filter_from_iceberg({"type": "and", "left": day, "right": other}, columns))
    day >= DATE '2026-11-27' AND (id NOT IN (1, 2) OR id IS NULL)
    """
    node = _read(expression, columns, negated=False, depth=0)
    try:
        return Filter.bind(node, columns.types)
    except ParquetryError:  # such as ANDs and ORs that are nested too deep
        return EVERY_ROW


def _read(expression: Any, columns: FilterColumns, *, negated: bool, depth: int) -> Predicate:
    if depth > _MAX_DEPTH:
        return TRUE
    if (constant := _constant(expression)) is not None:
        return TRUE if constant is not negated else FALSE
    if not isinstance(expression, dict):
        return TRUE
    kind = _kind(expression)
    if kind == "not":
        return _read(expression.get("child"), columns, negated=not negated, depth=depth + 1)
    if kind in ("and", "or"):
        children = tuple(
            _read(expression.get(side), columns, negated=negated, depth=depth + 1)
            for side in ("left", "right")
        )
        return And(children) if (kind == "and") is not negated else Or(children)
    try:
        return _predicate(kind, expression, columns, negated)
    except _UNREADABLE:
        return TRUE


def _kind(expression: Mapping[str, Any]) -> str:
    return str(expression.get("type")).lower().replace("_", "-")


def _constant(expression: Any) -> bool | None:
    """Return the value of a constant expression, or None for another expression."""
    match expression:
        case bool():
            return expression
        case {"type": "true"}:
            return True
        case {"type": "false"}:
            return False
        case {"type": "literal", "value": bool() as value}:
            return value
    return None


def _predicate(kind: str, expression: Mapping[str, Any], columns: FilterColumns, negated: bool) -> Predicate:
    if kind in ("is-null", "not-null", "is-nan", "not-nan"):
        operand = expression.get("child", expression.get("term"))
        return _unary(_NEGATED[kind] if negated else kind, *_column(operand, columns))
    if kind in ("in", "not-in"):
        operand = expression.get("child", expression.get("term"))
        kind = _NEGATED[kind] if negated else kind
        return _membership(kind, _literals(expression["values"]), *_column(operand, columns))
    if kind not in _OPERATORS and kind not in ("starts-with", "not-starts-with"):
        raise _UnreadableError(kind)
    left = expression.get("left", expression.get("term"))
    right = expression.get("right", expression.get("value"))
    if kind in _FLIPPED and _is_literal(left) and not _is_literal(right):
        left, right, kind = right, left, _FLIPPED[kind]
    if not _is_literal(right):
        raise _UnreadableError("two columns")
    return _comparison(_NEGATED[kind] if negated else kind, _literal(right), *_column(left, columns))


class Membership(NamedTuple):
    """A condition that a column has one of some values, or none of them.

    Attributes:
        name: of the column.
        type: of the column.
        values: internal values of its type.
    """

    name: str
    type: ColumnType
    values: tuple[Value, ...]


def read_membership(expression: Mapping[str, Any], columns: FilterColumns) -> Membership | None:
    """Return what an `in` or a `not-in` with a plain list says, or None for other conditions."""
    values = expression.get("values")
    if _kind(expression) not in ("in", "not-in") or not isinstance(values, list):
        return None
    try:
        name, type = _column(expression.get("child", expression.get("term")), columns)
        return Membership(name, type, tuple(from_json(type, _literal(each)) for each in values))
    except _UNREADABLE:
        return None


def _is_literal(value: Any) -> bool:
    return not isinstance(value, dict) or value.get("type") == "literal"


def _literal(value: Any) -> Any:
    return value["value"] if isinstance(value, dict) else value


def _literals(values: Any) -> Iterator[Any]:
    return map(_literal, values["values"] if isinstance(values, dict) else values)


def _column(term: Any, columns: FilterColumns) -> tuple[str, ColumnType]:
    """Return the column that a term names, and its type."""
    match term:
        case str():
            return columns.find(term)
        case {"type": "reference", "id": int() as number} if number in columns.names:
            return columns.find(columns.names[number])
        case {"type": "reference", "name": str() as name} | {"type": "reference", "term": str() as name}:
            return columns.find(name)
        case {"type": "transform", "transform": "identity", "term": inner}:
            return _column(inner, columns)
    raise _UnreadableError("a term")


def _unary(kind: str, name: str, type: ColumnType) -> Predicate:
    if kind == "is-null":
        return IsNull(name)
    if kind == "not-null":
        return Not(IsNull(name))
    if not type.floating:
        raise _UnreadableError(kind)
    return _with_null(kind, name, Compare("=" if kind == "is-nan" else "!=", name, float("nan"), type))


def _literal_type(type: ColumnType) -> ColumnType:
    """Return the type of a literal for a column: numbers may have any size and scale."""
    return NUMBER_TYPE if type.numeric and not type.floating else type


def _membership(kind: str, literals: Iterator[Any], name: str, type: ColumnType) -> Predicate:
    values = tuple(from_json(type, literal) for literal in literals)
    membership = In(name, values, _literal_type(type))
    return _with_null(kind, name, membership if kind == "in" else Not(membership))


def _comparison(kind: str, literal: Any, name: str, type: ColumnType) -> Predicate:
    if kind in ("starts-with", "not-starts-with"):
        if not type.unpadded or not isinstance(literal, str):
            raise _UnreadableError(kind)
        like = starts_with(name, literal)
        return _with_null(kind, name, like if kind == "starts-with" else Not(like))
    value = from_json(type, literal)
    return _with_null(kind, name, Compare(_OPERATORS[kind], name, value, _literal_type(type)))


def _with_null(kind: str, name: str, node: Predicate) -> Predicate:
    """Return a condition that is true of NULL as well, if Iceberg's is."""
    return Or((node, IsNull(name))) if kind in _TRUE_OF_NULL else node
