"""The cells of a row, and HBase's filters on them as protocol buffers.

A filter is the name of its class and a serialised message (`Filter.proto` and `Comparator.proto` of HBase).
This module writes the few messages that it needs by hand.

A cell has its value behind a tag. Other cells are the fields of the key.

HBase cannot tell an empty cell from a missing one, so every value has a tag. A compare-and-set must recognise
its own write, so it stores eight random bytes with the value: the cell equals no earlier one. A
compare-and-set that removes a row stores a tombstone, and then deletes the cell.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable, Iterator, Sequence
from typing import assert_never

from parquetry.store.condition import AllOf, AnyOf, Condition, FieldCompare, FieldIn, FieldMatches, Operator
from parquetry.store.groups import Range

_PACKAGE = b"org.apache.hadoop.hbase.filter."
_NUMBER, _BYTES, _FLOAT = 0, 2, 5
_ALL, _ANY = 1, 2
_COMPARISONS: dict[Operator, int] = {"<": 0, "<=": 1, "=": 2, "!=": 3, ">=": 4, ">": 5}


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3 | _NUMBER) + _varint(value)


def _class(name: bytes, message: bytes) -> bytes:
    return _field(1, _PACKAGE + name) + _field(2, message)


def row_ranges(ranges: Sequence[Range]) -> bytes:
    """Return the filter that passes the rows of some ranges, and seeks from one range to the next.

    Args:
        ranges: not empty, each with start < stop.
    """
    parts = [
        _field(1, start) + _number(2, True) + _field(3, stop or b"") + _number(4, False)
        for start, stop in ranges
    ]
    return _class(b"MultiRowRangeFilter", b"".join(_field(1, part) for part in parts))


def keys_only() -> bytes:
    """Return the filter that leaves out the values."""
    return _class(b"KeyOnlyFilter", _number(1, False))


def values_only() -> bytes:
    """Return the filter that leaves out the fields."""
    message = _number(1, _COMPARISONS["="]) + _field(2, _binary(VALUE))
    return _class(b"QualifierFilter", _field(1, message))


def some_rows(chance: float) -> bytes:
    """Return the filter that passes rows at random."""
    return _class(b"RandomRowFilter", _varint(1 << 3 | _FLOAT) + struct.pack("<f", chance))


def all_of(filters: Sequence[bytes]) -> bytes:
    """Return the filter that passes a row if all of the filters do. They see a row in this order."""
    return filters[0] if len(filters) == 1 else _list(_ALL, filters)


def any_of(filters: Sequence[bytes]) -> bytes:
    """Return the filter that passes a row if any of the filters does."""
    return filters[0] if len(filters) == 1 else _list(_ANY, filters)


def _list(operator: int, filters: Sequence[bytes]) -> bytes:
    return _class(b"FilterList", _number(1, operator) + b"".join(_field(2, filter) for filter in filters))


def satisfying(condition: Condition) -> bytes:
    """Return the filter that passes rows that satisfy a condition, or lack a field of it.

    The request must include the columns of the condition: if it names only others, all rows pass.
    """
    match condition:
        case AllOf(children):
            return all_of([satisfying(child) for child in children])
        case AnyOf(children):
            return any_of([satisfying(child) for child in children])
        case FieldCompare(position, op, value):
            return _field_filter(position, op, _binary(value))
        case FieldIn(position, values, within):
            # A filter for each value would take the servers ten times as long.
            listed = "|".join("".join(f"\\x{byte:02x}" for byte in value) for value in values)
            return _field_filter(position, "=" if within else "!=", _matching(rf"\A(?:{listed})\z"))
        case FieldMatches(position, expression, matches):
            return _field_filter(position, "=" if matches else "!=", _matching(expression))
    assert_never(condition)


def _matching(expression: str) -> bytes:
    # Every byte is a character in this charset.
    message = _field(1, expression.encode("ascii")) + _number(2, 0) + _field(3, b"ISO-8859-1")
    return _class(b"RegexStringComparator", message)


def _binary(value: bytes) -> bytes:
    return _class(b"BinaryComparator", _field(1, _field(1, value)))


def _field_filter(position: int, op: Operator, comparator: bytes) -> bytes:
    column = _field(1, FAMILY) + _field(2, field_column(position))
    compared = _number(3, _COMPARISONS[op]) + _field(4, comparator)
    drop_if_missing, newest_only = _number(5, False), _number(6, True)
    return _class(b"SingleColumnValueFilter", column + compared + drop_if_missing + newest_only)


Row = tuple[bytes, bytes]

FAMILY, VALUE = b"f", b"v"
"""The one column family, and the column of the values in it."""
_PUT, _SWAPPED, _TOMBSTONE = b"p", b"s", b"t"
_NONCE_BYTES = 8


def field_column(position: int) -> bytes:
    """Return the column of a field.

    It sorts behind the value's, so that a reader of values does not pass it.
    """
    return b"x%d" % position


def put_cell(value: bytes) -> bytes:
    """Return the cell of an unconditional write."""
    return _PUT + value


def swap_cell(value: bytes | None) -> bytes:
    """Return the cell of a compare-and-set, different each time: a tombstone if the value is None."""
    nonce = os.urandom(_NONCE_BYTES)
    return _TOMBSTONE + nonce if value is None else _SWAPPED + nonce + value


def value_of(stored: bytes) -> bytes | None:
    """Return the value in a cell, or None if it is a tombstone."""
    tag = stored[:1]
    if tag == _PUT:
        return stored[1:]
    return stored[1 + _NONCE_BYTES :] if tag == _SWAPPED else None


def present(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the keys and values of the rows without a tombstone."""
    for key, stored in rows:
        value = value_of(stored)
        if value is not None:
            yield key, value
