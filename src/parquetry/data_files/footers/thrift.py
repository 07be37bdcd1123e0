"""Decode Thrift's compact protocol, the encoding of Parquet's footers, into plain Python values.

PyArrow hides what decides about a statistic: whether it is deprecated, was shortened, and follows the
type's order. And it ends the process at the columns of some damaged or encrypted files.
This decoder reads any bytes: it returns values, or raises a ValueError.

A struct is a dict from field numbers to values, so a reader takes the fields that it knows. Example: the
footer's number of rows is field 3, and the bytes `16 0a` are a field whose number is one higher than the last
one's, of type i64, with the value 5.

Reference: Thrift, doc/specs/thrift-compact-protocol.md.
"""

from __future__ import annotations

import struct
from typing import Any, TypeAlias

Struct: TypeAlias = dict[int, Any]
"""A decoded struct: the values of its fields by their numbers."""

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_INTEGERS = (_I16, _I32, _I64)
_MAX_DEPTH = 64
"""Structs and lists within each other. Parquet's footers have fewer than ten."""
_MAX_VARINT_BYTES = 10
_LONG_LIST = 15


def decode_struct(data: bytes) -> tuple[Struct, int]:
    """Decode the struct at the beginning of some bytes.

    Returns:
        The struct, and how many bytes it takes.

    Raises:
        ValueError: the bytes are no struct of the compact protocol, or end within it.
    """
    decoder = _Decoder(data)
    try:
        return decoder.struct(0), decoder.position
    except (IndexError, struct.error) as error:
        raise ValueError("the bytes end within a value") from error


class _Decoder:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def struct(self, depth: int) -> Struct:
        if depth > _MAX_DEPTH:
            raise ValueError(f"values are nested more than {_MAX_DEPTH} deep")
        data, fields, number = self.data, Struct(), 0
        while header := data[self.position]:
            self.position += 1
            number = number + (header >> 4) if header >> 4 else self._integer()
            kind = header & 0x0F
            fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        self.position += 1
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind == _BINARY:
            return self._binary()
        if kind in _INTEGERS:
            return self._integer()
        if kind == _STRUCT:
            return self.struct(depth + 1)
        if kind in (_LIST, _SET):
            return self._list(depth + 1)
        if kind in (_TRUE, _FALSE, _BYTE):  # within a list or a map, a bool is a byte
            byte = self.data[self.position]
            self.position += 1
            return byte == _TRUE if kind != _BYTE else byte - 256 if byte > 127 else byte
        if kind == _DOUBLE:
            (number,) = struct.unpack_from("<d", self.data, self.position)
            self.position += 8
            return number
        if kind == _MAP:
            return self._map(depth + 1)
        raise ValueError(f"there is no type {kind}")

    def _list(self, depth: int) -> list[Any]:
        header = self.data[self.position]
        self.position += 1
        count = header >> 4
        if count == _LONG_LIST:
            count = self._varint()
        self._require(count)  # each element takes a byte at least
        if depth > _MAX_DEPTH:
            raise ValueError(f"values are nested more than {_MAX_DEPTH} deep")
        kind = header & 0x0F
        return [self._value(kind, depth) for _ in range(count)]

    def _map(self, depth: int) -> dict[Any, Any]:
        count = self._varint()
        if not count:
            return {}
        self._require(count)
        kinds = self.data[self.position]
        self.position += 1
        entries = {}
        for _ in range(count):
            key = self._value(kinds >> 4, depth)
            value = self._value(kinds & 0x0F, depth)
            if isinstance(key, (str, bytes, int, float)):
                entries[key] = value
        return entries

    def _binary(self) -> bytes:
        length = self._varint()
        self._require(length)
        start = self.position
        self.position += length
        return self.data[start : self.position]

    def _integer(self) -> int:
        number = self._varint()
        return (number >> 1) ^ -(number & 1)

    def _varint(self) -> int:
        byte = self.data[self.position]
        self.position += 1
        if byte < 0x80:
            return byte
        number, shift = byte & 0x7F, 7
        for _ in range(_MAX_VARINT_BYTES - 1):
            byte = self.data[self.position]
            self.position += 1
            number |= (byte & 0x7F) << shift
            if byte < 0x80:
                return number
            shift += 7
        raise ValueError(f"a number takes more than {_MAX_VARINT_BYTES} bytes")

    def _require(self, count: int) -> None:
        if count > len(self.data) - self.position:
            raise ValueError(f"{count} bytes or elements are announced, and the bytes end before")
