"""Read a filter expression of PyArrow as a condition of ours.

PyArrow shows an expression as text, which is ambiguous, or as Substrait, which is not. Substrait is Protocol
Buffers; the few messages that filters have are decoded here. Their numbers are in `algebra.proto` of the
repository substrait-io/substrait.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from parquetry.identifiers import field_name
from parquetry.predicate import And, Compare, In, IsNull, Not, Or, Predicate
from parquetry.rows import matching_rows
from parquetry.types import INTEGERS, ColumnType, decimal_from_unscaled

_COMPARISONS = {"equal": "=", "not_equal": "!=", "lt": "<", "lte": "<=", "gt": ">", "gte": ">="}
_FLIPPED = {"=": "=", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_INTEGER_BITS = {2: 8, 3: 16, 5: 32, 7: 64}
"""The bits of signed integers by the numbers of the fields of a literal that have them."""
_Fields = dict[int, list[Any]]


class _UnknownExpressionError(Exception):
    """A part of an expression is not understood."""


@dataclass(frozen=True, slots=True)
class ReadFilter:
    """A filter as conditions of ours. It is true where both conditions are.

    Attributes:
        of_columns: a condition on columns, or None.
        of_fields: a condition on columns and on fields of structs, or None.
        paths: the names that lead to each column and field, by its name in the conditions.
    """

    of_columns: Predicate | None
    of_fields: Predicate | None
    paths: Mapping[str, Sequence[str]]

    @property
    def roots(self) -> list[str]:
        """Return the names of the columns that the conditions are about."""
        return list(dict.fromkeys(path[0] for path in self.paths.values()))

    def rows(self, node: Predicate, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the rows of a batch that satisfy one of the conditions.

        NaN is greater than all numbers, and -0.0 equals 0.0, as in SQL. For PyArrow neither holds.

        Args:
            node: the condition.
            batch: the rows, with the columns of `roots`.
        """
        columns = {name: _value(batch, path) for name, path in self.paths.items()}
        return batch.filter(matching_rows(node, columns, batch.num_rows))


def _value(batch: pa.RecordBatch, path: Sequence[str]) -> pa.Array:
    column = batch.column(path[0])
    return pc.struct_field(column, list(path[1:])) if len(path) > 1 else column


def read_expression(expression: pc.Expression, schema: pa.Schema) -> ReadFilter | None:
    """Return a filter as conditions of ours, or None if this module does not understand all of it.

    Args:
        expression: the filter. Its literals have the types of their columns.
        schema: of the rows that it is about.

    >>> schema = pa.schema([("a", pa.int32()), ("s", pa.struct([("f", pa.float64())]))])
    >>> read = read_expression((pc.field("a") > 1) & (pc.field("s", "f") > 0.5), schema)
    >>> str(read.of_columns), read.paths
    ('a > 1', {'a': ['a'], 's\\x7ff': ['s', 'f']})
    """
    try:
        message = _decode(bytes(expression.to_substrait(_in_substrait(schema), allow_arrow_extensions=True)))
        root = _decode(_decode(message[3][0])[1][0])
        return _ExpressionReader(schema, _functions(message)).filter(root)
    except (
        pa.ArrowException,
        _UnknownExpressionError,
        LookupError,
        ValueError,
        struct.error,
        NotImplementedError,
    ):
        return None


def _in_substrait(schema: pa.Schema) -> pa.Schema:
    """Return a schema with binary columns in place of types that Substrait lacks, such as intervals."""
    return pa.schema([each if _is_known(each) else pa.field(each.name, pa.binary()) for each in schema])


def _is_known(column: pa.Field) -> bool:
    try:
        pc.field(column.name).is_null().to_substrait(pa.schema([column]), allow_arrow_extensions=True)
    except (pa.ArrowException, NotImplementedError):
        return False
    return True


def _functions(message: _Fields) -> dict[int, str]:
    """Return the names of the functions in a message, by their numbers."""
    names = {}
    for declaration in message.get(2, ()):
        function = _decode(_decode(declaration)[3][0])
        names[_number(function, 2)] = function[3][0].decode()
    return names


class _ExpressionReader:
    """Reads expressions.

    Args:
        schema: of the rows.
        functions: names of functions by their numbers.
    """

    def __init__(self, schema: pa.Schema, functions: dict[int, str]) -> None:
        self._schema, self._functions = schema, functions
        self._paths: dict[str, Sequence[str]] = {}
        self._has_field = False

    def filter(self, node: _Fields) -> ReadFilter:
        of_columns: list[Predicate] = []
        of_fields: list[Predicate] = []
        for part in self._conjuncts(node):
            self._has_field = False
            read = self.condition(part)
            (of_fields if self._has_field else of_columns).append(read)
        return ReadFilter(_join_parts(of_columns), _join_parts(of_fields), self._paths)

    def _conjuncts(self, node: _Fields) -> Iterator[_Fields]:
        call = self._call(node)
        if call is None or call[0] != "and":
            yield node
            return
        for each in call[1]:
            yield from self._conjuncts(each)

    def condition(self, node: _Fields) -> Predicate:
        if 8 in node:
            return self._in_list(_decode(node[8][0]))
        call = self._call(node)
        if call is None:
            raise _UnknownExpressionError
        name, arguments = call
        if name in ("and", "or"):
            children = tuple(map(self.condition, arguments))
            return And(children) if name == "and" else Or(children)
        if name == "not":
            return Not(self.condition(arguments[0]))
        if name == "is_null":
            return IsNull(self._column(arguments[0]))
        if name == "is_not_null":
            return Not(IsNull(self._column(arguments[0])))
        if name == "is_nan":
            return Compare("=", self._column(arguments[0]), float("nan"), ColumnType("double"))
        left, right = arguments
        if 1 in left:
            value, type = _literal(_decode(left[1][0]))
            return Compare(_FLIPPED[_COMPARISONS[name]], self._column(right), value, type)
        value, type = _literal(_decode(right[1][0]))
        return Compare(_COMPARISONS[name], self._column(left), value, type)

    def _call(self, node: _Fields) -> tuple[str, list[_Fields]] | None:
        if 3 not in node:
            return None
        function = _decode(node[3][0])
        arguments = [_decode(_decode(each)[3][0]) for each in function.get(4, ())]
        return self._functions[_number(function, 1)], arguments

    def _in_list(self, node: _Fields) -> Predicate:
        column = self._column(_decode(node[1][0]))
        literals = [_literal(_decode(_decode(each)[1][0])) for each in node.get(2, ())]
        types = {type for value, type in literals if value is not None}
        if len(types) != 1 or any(value is None for value, _ in literals):
            raise _UnknownExpressionError  # is_in of PyArrow finds NULL, which SQL's IN does not
        return In(column, tuple(value for value, _ in literals), types.pop())

    def _column(self, node: _Fields) -> str:
        """Return the name of a column, or the names that lead to a field within one."""
        segment = _decode(_decode(_decode(node[2][0])[1][0])[2][0])
        here = self._schema.field(_number(segment, 1))
        path = [str(here.name)]
        while 2 in segment:
            segment = _decode(_decode(segment[2][0])[2][0])
            here = here.type.field(_number(segment, 1))
            path.append(str(here.name))
            self._has_field = True
        name = field_name(path)
        self._paths[name] = path
        return name


def _join_parts(parts: list[Predicate]) -> Predicate | None:
    return And(tuple(parts)) if parts else None


def _literal(literal: _Fields) -> tuple[Any, ColumnType]:
    """Return a literal in the form of `parquetry.types`, and its type."""
    for number, bits in _INTEGER_BITS.items():
        if number in literal:
            return _sign_number(literal[number][0], max(bits, 32)), ColumnType(INTEGERS[bits])
    if 1 in literal:
        return bool(literal[1][0]), ColumnType("boolean")
    if 10 in literal:
        return struct.unpack("<f", literal[10][0])[0], ColumnType("float")
    if 11 in literal:
        return struct.unpack("<d", literal[11][0])[0], ColumnType("double")
    if 12 in literal:
        return literal[12][0].decode(), ColumnType("string")
    if 13 in literal:
        return literal[13][0], ColumnType("binary")
    if 16 in literal:
        return _sign_number(literal[16][0], 32), ColumnType("date")
    if 14 in literal or 27 in literal:
        kind = 14 if 14 in literal else 27
        return _sign_number(literal[kind][0], 64), ColumnType("timestamp_ntz" if kind == 14 else "timestamp")
    if 24 in literal:
        about = _decode(literal[24][0])
        precision, scale = _number(about, 2), _number(about, 3)
        unscaled = int.from_bytes(about[1][0], "little", signed=True)
        return decimal_from_unscaled(unscaled, scale), ColumnType("decimal", precision, scale)
    raise _UnknownExpressionError


def _decode(data: bytes) -> _Fields:
    """Return the fields of a message by their numbers. A field that is no number is bytes."""
    fields: _Fields = {}
    position = 0
    while position < len(data):
        key, position = _varint(data, position)
        kind = key & 7
        value: Any
        if kind == 0:
            value, position = _varint(data, position)
        else:
            if kind == 2:
                length, position = _varint(data, position)
            else:
                length = {1: 8, 5: 4}[kind]
            value = data[position : position + length]
            position += length
        fields.setdefault(key >> 3, []).append(value)
    return fields


def _varint(data: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    for byte in _bytes_from(data, position):
        position += 1
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    return number, position


def _bytes_from(data: bytes, position: int) -> Iterator[int]:
    while True:
        yield data[position]
        position += 1


def _sign_number(number: int, bits: int) -> int:
    """Return a number that is stored as 64 bits without a sign."""
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def _number(fields: _Fields, field: int) -> int:
    """Return a number; 0 is not stored."""
    values = fields.get(field)
    return int(values[0]) if values else 0
