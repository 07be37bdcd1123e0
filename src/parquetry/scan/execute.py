"""Test residuals on the bytes of keys.

A field's bytes sort in the order of its values, so a residual compares bytes with bytes. Only LIKE looks into
a text, and it decodes a column only if that is not text. The trailer at the key's end gives the position of
the n-th field.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from typing import TypeAlias

from parquetry.key_schema import KeySchema
from parquetry.keys import TRAILER_WIDTH, unescape
from parquetry.predicate import (
    And,
    BooleanConstant,
    Compare,
    Filter,
    In,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    Predicate,
    TupleIn,
    columns_of,
    equalities_as_in,
    matcher,
)
from parquetry.predicate.evaluate import evaluate
from parquetry.types import Value

Test: TypeAlias = Callable[[bytes], bool]
"""Returns whether a key may satisfy a condition."""


def compile_residual(
    residual: Filter | None,
    schema: KeySchema,
    *,
    prefix: int = 0,
    suffix: int = 0,
) -> Test:
    """Compile a residual into a test of key bytes.

    Args:
        residual: the condition, or None for TRUE. A part that is not understood passes every key.
        schema: the schema of the keys.
        prefix: the bytes before the key's first field, such as the metastore's table prefix.
        suffix: the bytes after the key's trailer, such as the metastore's version.

    Raises:
        ColumnNotFoundError: the condition is about a column that the key does not have.

    >>> from parquetry.types import parse_type
    >>> int_ = parse_type('int')
    >>> schema = KeySchema.from_columns([('p', int_), ('q', int_)])
    >>> test = compile_residual(Filter(Compare('<', 'q', 5, int_)), schema)
    >>> [test(schema.encode((1, q))) for q in (4, 5, None)]
    [True, False, False]
    """
    if residual is None:
        return _always
    return _Tests(schema, prefix, suffix).test(residual.node)


def _always(_key: bytes) -> bool:
    return True


def _never(_key: bytes) -> bool:
    return False


class _Tests:
    """Makes tests for the fields of keys."""

    def __init__(self, schema: KeySchema, prefix: int, suffix: int) -> None:
        self._schema = schema
        self._prefix = prefix
        self._suffix = suffix

    def test(self, node: Predicate) -> Test:
        """Make the test for a part of a filter; only TRUE matters, so NULL counts as FALSE."""
        match node:
            case And(children):
                return _all(tuple(map(self.test, children)))
            case Or(children):
                return _any(tuple(map(self.test, equalities_as_in(children))))
            case BooleanConstant(truth):
                return _always if truth else _never
            case Opaque() | Not(Opaque()):
                return _always
            case Compare(op, column, value):
                return self._comparison(op, column, value)
            case IsNull(column):
                return self._equal(column, None)
            case Not(IsNull(column)):
                return _negated(self._equal(column, None))
            case In(column, values):
                return self._contained(column, values)
            case Not(In(column, values)):
                return _negated(self._contained(column, (*values, None)))
            case Like(column, pattern, escaping) if self._schema.field(column).type.textual:
                return self._like(column, pattern, escaping, True)
            case Not(Like(column, pattern, escaping)) if self._schema.field(column).type.textual:
                return self._like(column, pattern, escaping, False)
            case TupleIn():
                return self._tuple(node)
            case Not(TupleIn() as within) if not any(value is None for row in within.rows for value in row):
                return self._no_tuple(node, within)
        return self._decoding(node)

    def _field_reader(self, column: str) -> Callable[[bytes], bytes]:
        """Make the function that reads a column's field from a key."""
        prefix, back = self._prefix, self._back(column)
        if self._schema.position(column) == 0:
            end_only = struct.Struct(">I").unpack_from
            return lambda key: key[prefix : prefix + end_only(key, -back)[0]]
        ends = struct.Struct(">II").unpack_from

        def read(key: bytes) -> bytes:
            start, end = ends(key, -back)
            return key[prefix + start : prefix + end]

        return read

    def _back(self, column: str) -> int:
        """Return the distance from a key's end to the trailer's entries for a column.

        The entries are the end of the previous field, where the column's field begins, and the end of the
        column's field. The first column has only the second one.
        """
        position = self._schema.position(column)
        return TRAILER_WIDTH * (len(self._schema) - max(position - 1, 0)) + self._suffix

    def _equal(self, column: str, value: Value) -> Test:
        wanted = self._schema.field(column).encode(value)
        width, prefix, back = len(wanted), self._prefix, self._back(column)
        if self._schema.position(column) == 0:
            end_only = struct.Struct(">I").unpack_from
            return lambda key: end_only(key, -back)[0] == width and key.startswith(wanted, prefix)
        ends = struct.Struct(">II").unpack_from

        def test(key: bytes) -> bool:
            # Inlined, with widths compared first, since a scan of a whole table does little else.
            start, end = ends(key, -back)
            return end - start == width and key[prefix + start : prefix + end] == wanted

        return test

    def _comparison(self, op: str, column: str, value: Value) -> Test:
        read, field = self._field_reader(column), self._schema.field(column)
        wanted, null = field.encode(value), field.null
        if op in ("=", "<=>"):
            return self._equal(column, value)
        if op == "!=":
            return lambda key: read(key) not in (wanted, null)
        # NULL is the first field in ascending order and the last in descending order, outside of each range
        # here.
        if field.descending:
            return {
                "<": lambda key: wanted < read(key) < null,
                "<=": lambda key: wanted <= read(key) < null,
                ">": lambda key: read(key) < wanted,
                ">=": lambda key: read(key) <= wanted,
            }[op]
        return {
            "<": lambda key: null < read(key) < wanted,
            "<=": lambda key: null < read(key) <= wanted,
            ">": lambda key: read(key) > wanted,
            ">=": lambda key: read(key) >= wanted,
        }[op]

    def _contained(self, column: str, values: Sequence[Value]) -> Test:
        read, wanted = self._field_reader(column), frozenset(map(self._schema.field(column).encode, values))
        return lambda key: read(key) in wanted

    def _like(self, column: str, pattern: str, escaping: str, expected: bool) -> Test:
        read, key_field = self._field_reader(column), self._schema.field(column)
        null, down, matches = key_field.null, key_field.descending, matcher(pattern, escaping)

        def test(key: bytes) -> bool:
            field = read(key)
            if field == null:
                return False
            text = (key_field.apply_direction(field) if down else field)[1:-1]
            if b"\x01" in text:
                text = unescape(text)
            return matches(text.decode("utf-8", "surrogatepass")) is expected

        return test

    def _tuple(self, node: TupleIn) -> Test:
        readers = [self._field_reader(column) for column in node.columns]
        fields = [self._schema.field(column) for column in node.columns]
        wanted = frozenset(
            tuple(field.encode(value) for field, value in zip(fields, row, strict=True))
            for row in node.rows
            if not any(value is None for value in row)
        )
        return lambda key: tuple([read(key) for read in readers]) in wanted

    def _no_tuple(self, node: Predicate, within: TupleIn) -> Test:
        """Make the test for NOT IN over rows without NULL; only keys with a NULL are decoded."""
        readers = [self._field_reader(column) for column in within.columns]
        nulls = [self._schema.field(column).null for column in within.columns]
        is_listed, closer = self._tuple(within), self._decoding(node)

        def test(key: bytes) -> bool:
            if any(read(key) == null for read, null in zip(readers, nulls, strict=True)):
                return closer(key)
            return not is_listed(key)

        return test

    def _decoding(self, node: Predicate) -> Test:
        """Make a test that decodes the columns of a leaf: for LIKE on numbers, and for tuple NOT IN."""
        readers = [
            (self._schema.field(column), self._field_reader(column)) for column in sorted(columns_of(node))
        ]

        def test(key: bytes) -> bool:
            row = {field.name: field.decode(read(key))[0] for field, read in readers}
            return evaluate(node, row) is True

        return test


def _all(tests: tuple[Test, ...]) -> Test:
    if len(tests) == 2:  # inlined, since most have two
        left, right = tests
        return lambda key: left(key) and right(key)

    def test(key: bytes) -> bool:
        for each in tests:  # noqa: SIM110 - a generator takes longer than most tests
            if not each(key):
                return False
        return True

    return test


def _any(tests: tuple[Test, ...]) -> Test:
    if len(tests) == 2:
        left, right = tests
        return lambda key: left(key) or right(key)

    def test(key: bytes) -> bool:
        for each in tests:  # noqa: SIM110
            if each(key):
                return True
        return False

    return test


def _negated(test: Test) -> Test:
    return lambda key: not test(key)
