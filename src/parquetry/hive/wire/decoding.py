"""Read calls in Thrift's binary protocol, from bytes that anybody may have sent.

A stranger chose all lengths, counts and depths. So a call has a budget of bytes and of elements. No length
alone takes memory: bytes are kept as they arrive. Records may be nested a few deep.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, Protocol

from parquetry.hive.wire.idl import Container, Struct, ThriftType

MAX_CALL_BYTES = 16 << 20
"""Length of a call, at most: some 100,000 names of partitions."""
MAX_CALL_ELEMENTS = 200_000
"""Elements of all lists and maps of a call, and fields of its records, at most."""
ELEMENT_BYTES = 100
"""Memory of an element besides its bytes, about."""
MAX_DEPTH = 24
"""Records and containers within each other, at most. Hive's calls have eight."""
VERSION = 0x8001_0000
"""The first bytes of a call in the strict form of the protocol."""

STOP, BOOL, BYTE, DOUBLE, I16, I32, I64 = 0, 2, 3, 4, 6, 8, 10
STRING, STRUCT, MAP, SET, LIST = 11, 12, 13, 14, 15
_FIXED_BYTES = {BOOL: 1, BYTE: 1, DOUBLE: 8, I16: 2, I32: 4, I64: 8}
_CODES = {
    "bool": BOOL,
    "byte": BYTE,
    "double": DOUBLE,
    "i16": I16,
    "i32": I32,
    "i64": I64,
    "string": STRING,
    "binary": STRING,
    "list": LIST,
    "set": SET,
    "map": MAP,
}
_FORMATS = {"bool": ">?", "byte": ">b", "double": ">d", "i16": ">h", "i32": ">i", "i64": ">q"}


class ProtocolError(Exception):
    """The bytes are no call, or more than a call may have. The connection cannot be used any more."""


class ClientBytes(Protocol):
    """Bytes of a client."""

    def reserve(self, count: int) -> None:
        """Count memory that a call needs besides its bytes.

        Raises:
            ProtocolError: all calls together need too much.
        """
        ...

    def take(self, count: int) -> bytes:
        """Return the next bytes.

        Raises:
            ProtocolError: they are more than a call, or its frame, may have.
            EOFError: the client has gone.
        """
        ...


def code_of(type: ThriftType) -> int:
    """Return the number of a type in the protocol."""
    if isinstance(type, Struct):
        return STRUCT
    return _CODES[type.kind if isinstance(type, Container) else type]


class Decoder:
    """Reads one call, or the answer to one.

    Args:
        source: the bytes.
        elements: that it may have.
    """

    def __init__(self, source: ClientBytes, elements: int = MAX_CALL_ELEMENTS) -> None:
        self._take, self._reserve = source.take, source.reserve
        self._elements = elements

    def head(self) -> tuple[str, int, int]:
        """Return the name of a call, its type of message and its number."""
        first = self._number(">I", 4)
        if first & 0xFFFF_0000 == VERSION:
            name, kind = self._take(self._length()), first & 0xFF
        elif first < 1 << 16:  # the form without a version
            name, kind = self._take(first), self._number(">b", 1)
        else:
            raise ProtocolError("These bytes are not of Thrift's binary protocol.")
        return name.decode("utf-8", "replace"), kind, self._number(">i", 4)

    def record(self, record: Struct, depth: int = 0) -> dict[str, Any]:
        """Return a record's fields by their names: None for fields that are absent, or of another type."""
        values: dict[str, Any] = dict.fromkeys(field.name for field in record.fields.values())
        while (code := self._take(1)[0]) != STOP:
            self._count(1)
            number = self._number(">h", 2)
            field = record.fields.get(number)
            if field is None or code_of(field.type) != code:
                self.skip(code, depth + 1)
            else:
                values[field.name] = self._value(field.type, depth + 1)
        return values

    def skip(self, code: int, depth: int = 0) -> None:
        """Read a value, and forget it."""
        _require_shallow(depth)
        if code in _FIXED_BYTES:
            self._take(_FIXED_BYTES[code])
        elif code == STRING:
            self._take(self._length())
        elif code == STRUCT:
            while (field := self._take(1)[0]) != STOP:
                self._count(1)
                self._take(2)
                self.skip(field, depth + 1)
        elif code == MAP:
            key, value = self._take(2)
            for _ in range(self._length(counted=True)):
                self.skip(key, depth + 1)
                self.skip(value, depth + 1)
        elif code in (LIST, SET):
            element = self._take(1)[0]
            for _ in range(self._length(counted=True)):
                self.skip(element, depth + 1)
        else:
            raise ProtocolError(f"Thrift has no type {code}.")

    def _value(self, type: ThriftType, depth: int) -> Any:
        _require_shallow(depth)
        if isinstance(type, Struct):
            return self.record(type, depth)
        if isinstance(type, Container):
            return self._container(type, depth)
        if type in ("string", "binary"):
            taken = self._take(self._length())
            return taken if type == "binary" else taken.decode("utf-8", "replace")
        return self._number(_FORMATS[type], _FIXED_BYTES[_CODES[type]])

    def _container(self, type: Container, depth: int) -> Any:
        codes = tuple(self._take(2 if type.kind == "map" else 1))
        wanted = tuple(
            code_of(each) for each in ((type.key, type.element) if type.kind == "map" else (type.element,))
        )
        count = self._length(counted=True)
        if codes != wanted and count:
            raise ProtocolError(f"A {type.kind} of other elements was expected.")
        read: Callable[[ThriftType], Any] = lambda each: self._value(each, depth + 1)  # noqa: E731 - the shortest name
        if type.kind == "map":
            pairs = [(read(type.key), read(type.element)) for _ in range(count)]
            return {key if isinstance(key, str | int) else str(key): value for key, value in pairs}
        return [read(type.element) for _ in range(count)]

    def _length(self, counted: bool = False) -> int:
        length = int(self._number(">i", 4))
        if length < 0:
            raise ProtocolError(f"A length of {length} is not possible.")
        if counted:
            self._count(length)
        return length

    def _count(self, elements: int) -> None:
        self._elements -= elements
        if self._elements < 0:
            raise ProtocolError(f"A call has more than {MAX_CALL_ELEMENTS:,} elements.")
        if elements > 1:
            self._reserve(elements * ELEMENT_BYTES)

    def _number(self, form: str, count: int) -> Any:
        return struct.unpack(form, self._take(count))[0]


def _require_shallow(depth: int) -> None:
    if depth > MAX_DEPTH:
        raise ProtocolError(f"Records are nested more than {MAX_DEPTH} deep.")


class _OwnBytes:
    """Bytes that this process wrote."""

    def __init__(self, data: bytes) -> None:
        self._data, self._position = data, 0

    def take(self, count: int) -> bytes:
        """Return the next bytes."""
        self._position += count
        return self._data[self._position - count : self._position]

    def reserve(self, count: int) -> None:
        """Do nothing: the record is in memory."""


def read_record(record: Struct, data: bytes) -> dict[str, Any]:
    """Return the fields of a record that this process wrote."""
    return Decoder(_OwnBytes(data)).record(record)
