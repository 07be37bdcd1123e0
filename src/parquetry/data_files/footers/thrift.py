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
from dataclasses import dataclass
from typing import Any, TypeAlias

Struct: TypeAlias = dict[int, Any]
"""A decoded struct: the values of its fields by their numbers."""

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
_INTEGERS = (_I16, _I32, _I64)
_MAX_DEPTH = 64
"""Structs and lists within each other. Parquet's footers have fewer than ten."""
_MAX_VARINT_BYTES = 10
_LONG_LIST = 15


@dataclass(frozen=True, slots=True)
class Beginning:
    """The first fields of a struct, which many structs have in common.

    Attributes:
        data: their bytes.
        fields: their values.
        last: the number of the last one.
    """

    data: bytes
    fields: Struct
    last: int


def decode_struct(data: bytes, beginning: Beginning | None = None) -> tuple[Struct, int]:
    """Decode the struct at the beginning of some bytes.

    Args:
        data: the bytes.
        beginning: fields that are not decoded again, if the bytes begin with them.

    Returns:
        The struct, and how many bytes it takes.

    Raises:
        ValueError: the bytes are no struct of the compact protocol, or end within it.
    """
    decoder = _Decoder(data)
    fields, last = Struct(), 0
    if beginning is not None and data.startswith(beginning.data):
        decoder.position = len(beginning.data)
        fields, last = dict(beginning.fields), beginning.last
    try:
        return decoder.struct(0, fields, last), decoder.position
    except (IndexError, struct.error) as error:
        raise ValueError("the bytes end within a value") from error


def decode_beginning(data: bytes, last: int) -> Beginning | None:
    """Decode the first fields of a struct, up to one with a number; None if the struct has no such field.

    Raises:
        ValueError: as `decode_struct`.
    """
    decoder = _Decoder(data)
    try:
        fields = decoder.struct(0, Struct(), 0, until=last)
    except (IndexError, struct.error) as error:
        raise ValueError("the bytes end within a value") from error
    return Beginning(data[: decoder.position], fields, last) if last in fields else None


class _Decoder:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def struct(self, depth: int, fields: Struct, number: int, until: int | None = None) -> Struct:
        """Read fields and add them to earlier ones.

        Args:
            depth: how many values the struct is within.
            fields: the earlier ones.
            number: of the last earlier one, or 0.
            until: the number of a field behind which reading stops; None reads to the struct's end.
        """
        if depth > _MAX_DEPTH:
            raise ValueError(f"values are nested more than {_MAX_DEPTH} deep")
        data = self.data
        while header := data[self.position]:
            self.position += 1
            number = number + (header >> 4) if header >> 4 else self._integer()
            kind = header & 0x0F
            if _I16 <= kind <= _I64 and (byte := data[self.position]) < 0x80:  # most of all values
                self.position += 1
                fields[number] = (byte >> 1) ^ -(byte & 1)
            else:
                fields[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
            if number == until:
                return fields
        self.position += 1
        return fields

    def _value(self, kind: int, depth: int) -> Any:
        if kind == _BINARY:
            return self._binary()
        if kind in _INTEGERS:
            return self._integer()
        if kind == _STRUCT:
            return self.struct(depth + 1, Struct(), 0)
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
