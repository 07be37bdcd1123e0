"""Evaluate a condition on the rows of a batch, with SQL's three truth values.

`predicate.evaluate` does it for one row, and tests compare the two. As in Spark, NaN is greater than all
numbers and equal to itself, -0.0 equals 0.0, and texts are compared by their bytes.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, assert_never

import pyarrow as pa
import pyarrow.compute as pc

from parquetry.errors import UnsupportedError
from parquetry.identifiers import field_path
from parquetry.predicate import (
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
    matcher,
    opaque_parts,
)
from parquetry.rows.arrow_types import constant_scalar, value_array
from parquetry.types import ColumnType, Value, text_from_value

_COMPARISONS = {
    "=": pc.equal,
    "!=": pc.not_equal,
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
}
_NAN_IS_GREATEST = {">": True, ">=": True, "!=": True}
"""The comparisons of NaN with a number that are true."""
_NUMBER_EQUALS_NAN = {"!=": True, "<": True, "<=": True}
"""The comparisons of a number with NaN that are true."""
_BOTH_NAN = {"=": True, "<=": True, ">=": True}
"""The comparisons of NaN with NaN that are true."""


def require_exact(node: Predicate) -> None:
    """Make sure that rows can be tested by a condition.

    Raises:
        UnsupportedError: a part is not understood, or Spark's text of a value is not known here; the message
            names the expression.
    """
    for part in opaque_parts(node):
        raise UnsupportedError(
            f"The condition {part.text} cannot be evaluated outside of Spark ({part.reason}): leave it out, and filter the result."
        )
    for like in _likes(node):
        if not like.type.facts.one_text:
            raise UnsupportedError(
                f"The condition {like} cannot be evaluated outside of Spark (its text of a {like.type} depends on "
                "settings): compare the column itself."
            )


def matching_rows(node: Predicate, columns: Mapping[str, pa.Array], count: int) -> pa.BooleanArray:
    """Return for each row whether it satisfies a condition; NULL where the condition is NULL.

    Args:
        node: a bound condition, as in a `Filter`.
        columns: the arrays of its columns, by name.
        count: the number of rows.

    Raises:
        UnsupportedError: a part of the condition cannot be evaluated.

    >>> from parquetry.types import ColumnType
    >>> node = Compare(">", "v", 1.0, ColumnType("double"))
    >>> matching_rows(node, {"v": pa.array([0.5, float("nan"), None])}, 3).to_pylist()
    [False, True, None]
    """
    require_exact(node)
    return _Evaluator(columns, count).truth(node)


class _Evaluator:
    def __init__(self, columns: Mapping[str, pa.Array], count: int) -> None:
        self._columns = columns
        self._count = count

    def truth(self, node: Predicate) -> pa.Array:
        match node:
            case And(children):
                return functools.reduce(pc.and_kleene, map(self.truth, children), self._constant(True))
            case Or(children):
                return functools.reduce(pc.or_kleene, map(self.truth, children), self._constant(False))
            case Not(child):
                return pc.invert(self.truth(child))
            case Compare(op, column, value, type):
                return _compare(op, self._array(column), value, type)
            case In():
                return self._contained(node)
            case TupleIn(names, rows, types):
                return self._tuples(names, rows, types)
            case IsNull(column):
                return pc.is_null(self._array(column))
            case Like():
                return self._like(node)
            case BooleanConstant(truth):
                return self._constant(truth)
            case Opaque():
                raise UnsupportedError(f"The condition {node} cannot be evaluated: {node.reason}.")
        assert_never(node)

    def _array(self, name: str) -> pa.Array:
        """Return the values of a column, or of a field, which is NULL where a struct above it is."""
        array = self._columns.get(name)
        if array is not None:
            return array
        column, *within = field_path(name)
        return pc.struct_field(self._columns[column], within)

    def _constant(self, truth: bool | None) -> pa.Array:
        return (
            pa.nulls(self._count, pa.bool_()) if truth is None else pa.repeat(pa.scalar(truth), self._count)
        )

    def _contained(self, node: In) -> pa.Array:
        array = self._array(node.column)
        if not node.values:
            return self._constant(None if node.has_null else False)
        values = [value for value in node.values if value == value]
        found = pc.is_in(_without_negative_zero(array), value_set=_literals(node.type, values))
        if len(values) < len(node.values):
            found = pc.or_(found, pc.fill_null(pc.is_nan(array), False))
        elif node.type.floating:
            found = pc.and_(found, pc.invert(pc.fill_null(pc.is_nan(array), False)))
        unknown = array.is_null()
        if node.has_null:
            unknown = pc.or_(unknown, pc.invert(found))
        return pc.if_else(unknown, pa.scalar(None, pa.bool_()), found)

    def _tuples(
        self, names: Sequence[str], rows: Sequence[Sequence[Value]], types: Sequence[ColumnType]
    ) -> pa.Array:
        result = self._constant(False)
        for row in rows:
            parts = (
                _compare("=", self._array(name), value, type)
                for name, value, type in zip(names, row, types, strict=True)
            )
            result = pc.or_kleene(result, functools.reduce(pc.and_kleene, parts, self._constant(True)))
        return result

    def _like(self, node: Like) -> pa.Array:
        """Match each distinct value once."""
        matches = matcher(node.pattern, node.escape)
        coded = self._array(node.column).dictionary_encode()
        texts = map(_text_of(node.type), _plain_values(node.type, coded.dictionary))
        return pa.array([matches(text) for text in texts], pa.bool_()).take(coded.indices)


def _compare(op: str, array: pa.Array, value: Value, type: ColumnType) -> pa.Array:
    if value is None:
        return pc.is_null(array) if op == "<=>" else pa.nulls(len(array), pa.bool_())
    if op == "<=>":
        return pc.fill_null(_compare("=", array, value, type), False)
    if type.floating:
        return _compare_floats(op, array, value, type)
    if type.name == "boolean":
        return _COMPARISONS[op](array.cast(pa.int8()), pa.scalar(int(bool(value)), pa.int8()))
    return _COMPARISONS[op](array, constant_scalar(type, value))


def _compare_floats(op: str, array: pa.Array, value: Any, type: ColumnType) -> pa.Array:
    nan = pc.is_nan(array)
    if math.isnan(value):
        return pc.if_else(nan, _BOTH_NAN.get(op, False), _NUMBER_EQUALS_NAN.get(op, False))
    return pc.if_else(
        nan, _NAN_IS_GREATEST.get(op, False), _COMPARISONS[op](array, constant_scalar(type, value))
    )


def _without_negative_zero(array: pa.Array) -> pa.Array:
    if pa.types.is_floating(array.type):
        return pc.add(array, pa.scalar(0.0, array.type))
    return array


def _literals(type: ColumnType, values: Sequence[Value]) -> pa.Array:
    return _without_negative_zero(value_array(type, tuple(values)))


def _text_of(type: ColumnType) -> Callable[[Value], str]:
    return lambda value: value if isinstance(value, str) else text_from_value(type, value)


def _plain_values(type: ColumnType, array: pa.Array) -> list[Any]:
    """Return an array's values in the form of `parquetry.types`."""
    if type.name == "date":
        return list(array.view(pa.int32()).to_pylist())
    return list(array.to_pylist())


def _likes(node: Predicate) -> list[Like]:
    match node:
        case Like():
            return [node]
        case And(children) | Or(children):
            return [like for child in children for like in _likes(child)]
        case Not(child):
            return _likes(child)
    return []
