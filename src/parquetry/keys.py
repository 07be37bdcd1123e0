"""Row keys whose bytes sort as their values do, and which can be read from the end.

A key is its fields, one after another, and then a trailer: the end offset of every field in four bytes each.
Two keys of one table differ inside a field or are equal, so the trailer never decides the order. With the
trailer a reader finds the n-th field without reading the fields before it. Hive's design of such keys wanted
this and left open how.

A field is Hive's BinarySortable form: `00` for NULL, else `01` and the value.

| type                          | bytes after the marker                                              |
|-------------------------------|---------------------------------------------------------------------|
| boolean                       | `01` false, `02` true                                               |
| tinyint, smallint, int, bigint| 1, 2, 4, 8 bytes, big-endian, sign bit flipped                      |
| date, timestamp(_ntz)         | as int, as bigint                                                   |
| float, double                 | IEEE bits, made to sort; one zero and one NaN, which sorts last     |
| string, varchar, char, binary | `00` as `01 01`, `01` as `01 02`, the rest as it is; ends with `00` |
| decimal                       | sign, exponent, digits as text; ends with `00`                      |

A descending field has all its bytes inverted, so NULL comes last. Fields are prefix-free: the bytes of one
value are never the beginning of another value's bytes. The metastore writes the table's id before a key, and
the ticket of the commit after it.

Example: the key of (day = 10, region = 'eu') with the columns `day int` and `region string`.

    01 80 00 00 0a    01 65 75 00    00 00 00 05  00 00 00 09
    day: 10           region: 'eu'   day ends at 5, region at 9
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from itertools import accumulate, pairwise
from typing import Any

from parquetry.errors import ValueTypeError
from parquetry.types import TYPES, ColumnType, Family, Value, decimal_from_unscaled

TRAILER_WIDTH = 4
"""Bytes of one entry of the trailer."""

NULL_FIELD = b"\x00"
VALUE_MARKER = b"\x01"
INVERT = bytes(range(255, -1, -1))
"""A table for `bytes.translate` that inverts a field: from ascending to descending, and back."""

_WIDTH = {"boolean": 1} | {name: row.bits // 8 for name, row in TYPES.items() if row.bits}
"""Bytes of a value by the name of its type, where all values have as many."""


def encode_value(type: ColumnType, value: Value, descending: bool = False) -> bytes:
    """Encode one field.

    Raises:
        ValueTypeError: the value does not fit the type, or a key cannot have this type.

    >>> encode_value(ColumnType('int'), 10).hex(' ')
    '01 80 00 00 0a'
    """
    if value is None:
        data = NULL_FIELD
    else:
        try:
            data = VALUE_MARKER + _ENCODERS[type.name](type, value)
        except KeyError:
            raise ValueTypeError(f"Type {type}: a column of this type cannot be part of a key.") from None
        except (TypeError, AttributeError, OverflowError, struct.error):
            raise ValueTypeError(f"Value {value!r} does not fit type {type}, so it has no key.") from None
    return data.translate(INVERT) if descending else data


def decode_value(
    type: ColumnType, data: bytes, offset: int = 0, descending: bool = False
) -> tuple[Value, int]:
    """Decode the field that begins at an offset; return its value and the offset after it."""
    if descending:
        data, start = data[offset:].translate(INVERT), 0
    else:
        start = offset
    if data[start] == 0:
        return None, offset + 1
    value, end = _DECODERS[type.name](type, data, start + 1)
    return value, offset + end - start


def fixed_width(type: ColumnType) -> int | None:
    """Return the length in bytes of every field of a type but NULL, or None if the length varies."""
    width = _WIDTH.get(type.name)
    return None if width is None else len(VALUE_MARKER) + width


def trailer(ends: Sequence[int]) -> bytes:
    """Encode the trailer from the end offsets of the fields."""
    return struct.pack(f">{len(ends)}I", *ends)


def join_fields(fields: Sequence[bytes]) -> bytes:
    """Make a whole key of encoded fields."""
    return b"".join(fields) + trailer(tuple(accumulate(map(len, fields))))


def split_fields(key: bytes, count: int) -> list[bytes]:
    """Split a whole key into its `count` fields.

    >>> split_fields(join_fields([b'\\x01a\\x00', b'\\x00']), 2)
    [b'\\x01a\\x00', b'\\x00']
    """
    ends = struct.unpack_from(f">{count}I", key, len(key) - TRAILER_WIDTH * count)
    return [key[start:end] for start, end in pairwise((0, *ends))]


def field_count(key: bytes) -> int:
    """Return how many fields a whole key has. Its last four bytes are the end of the last field.

    >>> field_count(join_fields([b'\\x01a\\x00', b'\\x00'])), field_count(b'')
    (2, 0)
    """
    if not key:
        return 0
    (end,) = struct.unpack_from(">I", key, len(key) - TRAILER_WIDTH)
    return (len(key) - int(end)) // TRAILER_WIDTH


def successor(prefix: bytes) -> bytes | None:
    """Return the smallest bytes greater than every string that begins with `prefix`, or None if no bytes are.

    The last byte grows by one, and a byte of 255 is carried over. Hive forgot the carry: its `p = 255`
    scanned nothing.

    >>> successor(b'\\x01\\xff'), successor(b'\\xff')
    (b'\\x02', None)
    """
    stripped = prefix.rstrip(b"\xff")
    return stripped[:-1] + bytes((stripped[-1] + 1,)) if stripped else None


def _encode_integer(type: ColumnType, value: Any) -> bytes:
    width = _WIDTH[type.name]
    encoded: bytes = (value + (1 << (8 * width - 1))).to_bytes(width, "big")
    return encoded


def _decode_integer(type: ColumnType, data: bytes, offset: int) -> tuple[Value, int]:
    width = _WIDTH[type.name]
    end = offset + width
    return int.from_bytes(data[offset:end], "big") - (1 << (8 * width - 1)), end


def _encode_float(type: ColumnType, value: Any) -> bytes:
    wide = type.name == "double"
    # Adding 0.0 turns -0.0 into 0.0; there are many NaNs, and this is the one.
    number = math.nan if value != value else value + 0.0
    bits = int.from_bytes(struct.pack(">d" if wide else ">f", number), "big")
    size = 64 if wide else 32
    sign = 1 << (size - 1)
    if number != number:
        bits = (0x7FF8 << 48) if wide else (0x7FC0 << 16)
    return (bits ^ ((1 << size) - 1) if bits & sign else bits | sign).to_bytes(size // 8, "big")


def _decode_float(type: ColumnType, data: bytes, offset: int) -> tuple[Value, int]:
    wide = type.name == "double"
    size = 64 if wide else 32
    end = offset + size // 8
    bits = int.from_bytes(data[offset:end], "big")
    sign = 1 << (size - 1)
    bits = bits ^ sign if bits & sign else bits ^ ((1 << size) - 1)
    number: float = struct.unpack(">d" if wide else ">f", bits.to_bytes(size // 8, "big"))[0]
    return number, end


def escape(data: bytes) -> bytes:
    """Write bytes so that `00` can end them: `00` as `01 01`, `01` as `01 02`."""
    return data.replace(b"\x01", b"\x01\x02").replace(b"\x00", b"\x01\x01")


def unescape(data: bytes) -> bytes:
    """Undo `escape`."""
    if b"\x01" not in data:
        return data
    # A pair 01 01 or 01 02 begins at the first 01 and no sooner, so one pass from the left is enough.
    parts: list[bytes] = []
    position = 0
    while (mark := data.find(b"\x01", position)) >= 0:
        parts += (data[position:mark], bytes((data[mark + 1] - 1,)))
        position = mark + 2
    return b"".join(parts) + data[position:]


def _encode_text(type: ColumnType, value: Any) -> bytes:
    padded = value.ljust(type.length) if type.name == "char" else value
    return escape(padded.encode("utf-8", "surrogatepass")) + b"\x00"


def _decode_text(_type: ColumnType, data: bytes, offset: int) -> tuple[Value, int]:
    end = data.index(b"\x00", offset)
    return unescape(data[offset:end]).decode("utf-8", "surrogatepass"), end + 1


def _encode_binary(_type: ColumnType, value: Any) -> bytes:
    return escape(bytes(memoryview(value))) + b"\x00"


def _decode_binary(_type: ColumnType, data: bytes, offset: int) -> tuple[Value, int]:
    end = data.index(b"\x00", offset)
    return unescape(data[offset:end]), end + 1


def _encode_boolean(_type: ColumnType, value: Any) -> bytes:
    if not isinstance(value, bool):
        raise TypeError
    return b"\x02" if value else b"\x01"


def _decode_boolean(_type: ColumnType, data: bytes, offset: int) -> tuple[Value, int]:
    return data[offset] == 2, offset + 1


def _encode_decimal(_type: ColumnType, value: Any) -> bytes:
    sign, digits, _ = value.as_tuple()
    figures = bytes(48 + digit for digit in digits).strip(b"0")
    if not figures:
        return b"\x01" + (0x7FFFFFFF).to_bytes(4, "big") + b"0\x00"
    exponent: int = value.adjusted() + 1  # digits before the point
    if not sign:
        return b"\x02" + (0x80000000 + exponent).to_bytes(4, "big") + figures + b"\x00"
    return b"\x00" + (0x80000000 - exponent).to_bytes(4, "big") + (figures + b"\x00").translate(INVERT)


def _decode_decimal(type: ColumnType, data: bytes, offset: int) -> tuple[Value, int]:
    sign = data[offset]
    exponent = int.from_bytes(data[offset + 1 : offset + 5], "big") - 0x80000000
    end = data.index(b"\xff" if sign == 0 else b"\x00", offset + 5)
    figures = data[offset + 5 : end]
    if sign == 0:
        figures, exponent = figures.translate(INVERT), -exponent
    number = 0 if sign == 1 else int(figures) * (1 if sign else -1)
    shift = exponent - len(figures) + type.scale if number else 0
    scaled = number * 10**shift if shift >= 0 else number
    return decimal_from_unscaled(scaled, type.scale if shift >= 0 else type.scale - shift), end + 1


_CODECS: dict[Family, tuple[Callable[[ColumnType, Any], bytes], Callable[..., tuple[Value, int]]]] = {
    Family.BOOLEAN: (_encode_boolean, _decode_boolean),
    Family.INTEGER: (_encode_integer, _decode_integer),
    Family.FLOAT: (_encode_float, _decode_float),
    Family.DECIMAL: (_encode_decimal, _decode_decimal),
    Family.TEXT: (_encode_text, _decode_text),
    Family.BINARY: (_encode_binary, _decode_binary),
    Family.TEMPORAL: (_encode_integer, _decode_integer),
    Family.INTERVAL: (_encode_integer, _decode_integer),
}
_ENCODERS = {name: _CODECS[row.family][0] for name, row in TYPES.items() if row.family in _CODECS}
_DECODERS = {name: _CODECS[row.family][1] for name, row in TYPES.items() if row.family in _CODECS}
