"""Read a filter of Iceberg's REST protocol as a filter of ours, which keeps at least the same rows.

All forms of Iceberg's expressions are read, the deprecated ones (`term`, `value`) and the new ones (`left`,
`right`, `child`). A part that is not understood is true of every row. The client tests the rows itself, by
the residual that goes with each file.

Iceberg has no third truth value. `x != 5`, `x NOT IN (5)` and `NOT (x = 5)` are true of NULL, and so they are
read as `x != 5 OR x IS NULL`.

With each file of a plan goes a filter, the residual, shortened to what can matter for its rows.

A client tests a file's rows by the residual in its task. PyIceberg counts by it, and Iceberg's Java library
fails without one. A filter with thousands of values would come back with each of thousands of files. So the
lists of `in` and `not-in` keep the values that are within the file's bounds of their column. Other values
equal no row of it, so the residual is true of the same rows as the filter. A list that would be empty keeps
one value.

Example: `id IN (1, 2, …, 10000)` for a file whose `id` is from 7 to 9 becomes `id IN (7, 8, 9)`.
"""

from __future__ import annotations

import bisect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec

from parquetry.data_files import Trust
from parquetry.errors import ParquetryError
from parquetry.iceberg.values import from_json
from parquetry.metastore import TableMetadata
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
from parquetry.prune import SelectedFile
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


_SHORT_BYTES = 512
"""Length of a filter that is not shortened."""
_MIN_VALUES = 4
"""Values of a list that is shortened."""
_MAX_NODES = 100
"""Nodes of a filter that is shortened: each file goes through all of them."""


@dataclass(frozen=True, slots=True)
class _Values:
    """The values of one list in a filter, in order.

    Attributes:
        ordered: the values.
        literals: the same, as the filter has them.
        physical: the column's name in files and statistics.
        position: of the column among the partition columns, or None.
    """

    ordered: list[Any]
    literals: list[Any]
    physical: str
    position: int | None

    def slice(self, selected: SelectedFile) -> tuple[int, int]:
        """Return which of the values may be in a file, as the first one and the one after the last."""
        if self.position is not None:
            low = high = selected.values[self.position]
        else:
            known = (selected.file.columns or {}).get(self.physical)
            if known is None or known.stored is not None or known.trust < Trust.BOUNDS:
                return 0, len(self.ordered)
            low, high = known.min, known.max
        first = 0 if low is None else bisect.bisect_left(self.ordered, low)
        end = len(self.ordered) if high is None else bisect.bisect_right(self.ordered, high)
        if self.position is not None and low is None:  # NULL is in no list
            first = end = 0
        return (first, end) if first < end else (0, 1)


class Residuals:
    """Makes the residuals of the files of one scan.

    Args:
        expression: Iceberg's filter, or None.
        columns: of the table.
        metadata: of the table's version.
    """

    def __init__(self, expression: Any, columns: FilterColumns, metadata: TableMetadata) -> None:
        self._expression = expression
        self._whole = None if expression is None else msgspec.Raw(msgspec.json.encode(expression))
        self._lists: dict[int, _Values] = {}
        if self._whole is not None and len(self._whole) > _SHORT_BYTES:
            self._lists = {
                id(node): values
                for node in _nodes(expression)
                if (values := _values(node, columns, metadata)) is not None
            }
        self._last: tuple[list[tuple[int, int]], msgspec.Raw] | None = None

    def encode(self, selected: SelectedFile) -> msgspec.Raw | None:
        """Return the residual of a file, encoded, or None if the scan has no filter."""
        if self._whole is None or not self._lists:
            return self._whole
        slices = [values.slice(selected) for values in self._lists.values()]
        if self._last is None or self._last[0] != slices:
            kept = dict(zip(self._lists, slices, strict=True))
            self._last = slices, msgspec.Raw(msgspec.json.encode(self._shortened(self._expression, kept)))
        return self._last[1]

    def _shortened(self, node: Any, kept: dict[int, tuple[int, int]]) -> Any:
        if not isinstance(node, dict):
            return node
        if id(node) in kept:
            first, end = kept[id(node)]
            return {**node, "values": self._lists[id(node)].literals[first:end]}
        children = {side: self._shortened(node[side], kept) for side in _SIDES if side in node}
        return {**node, **children}


_SIDES = ("left", "right", "child")


def _nodes(expression: Any) -> Iterator[dict[str, Any]]:
    """Yield the conditions of a filter, or nothing if it has too many."""
    waiting, found = [expression], []
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            found.append(node)
            waiting += [node[side] for side in _SIDES if side in node]
        if len(found) > _MAX_NODES:
            return
    yield from found


def _values(node: dict[str, Any], columns: FilterColumns, metadata: TableMetadata) -> _Values | None:
    """Return the values of a condition whose list can be shortened, or None."""
    read = read_membership(node, columns)
    if read is None or len(read.values) < _MIN_VALUES or not _is_ordered(read.name, read.type, metadata):
        return None
    values: list[Any] = list(read.values)
    pairs = sorted(zip(values, node["values"], strict=True), key=lambda pair: pair[0])
    names = list(metadata.partition_by)
    return _Values(
        [value for value, _ in pairs],
        [literal for _, literal in pairs],
        metadata.column(read.name).physical,
        names.index(read.name) if read.name in names else None,
    )


def _is_ordered(name: str, type: ColumnType, metadata: TableMetadata) -> bool:
    """Return whether a column's values are ordered here as in its statistics, or among partition values."""
    return type.facts.bounds_are_values or (type.temporal and name in metadata.partition_by)
