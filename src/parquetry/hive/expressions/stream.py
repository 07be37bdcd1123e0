"""Read the primitive values of Kryo's streams: numbers, texts, arrays of bytes.

Kryo 3, which Hive 2 and 3 have, and Kryo 5, which Hive 4 has, differ in the order of the bytes of numbers of
a fixed width. All else is the same: numbers of seven bits per byte, texts whose last ASCII byte has its high
bit set, longer texts with their count of UTF-16 units.
"""

from __future__ import annotations

import struct


class UnreadExpressionError(Exception):
    """The bytes are no expression, or a part of it is not understood; the reason is for the log."""


class ByteStream:
    """A position in bytes that another process sent.

    No call reads or allocates more than the bytes that are left.

    Args:
        data: the bytes.
        little_endian: whether numbers of a fixed width begin with their lowest byte, as Kryo 5 writes them.
    """

    def __init__(self, data: bytes, little_endian: bool) -> None:
        self._data = data
        self._position = 0
        self._order = "<" if little_endian else ">"

    @property
    def remaining(self) -> int:
        """The number of bytes that are not yet read."""
        return len(self._data) - self._position

    def take(self, count: int) -> bytes:
        """Read some bytes."""
        if not 0 <= count <= self.remaining:
            raise UnreadExpressionError(f"the bytes end {count - self.remaining} too early")
        start = self._position
        self._position += count
        return self._data[start : self._position]

    def byte(self) -> int:
        """Read a byte as an unsigned number."""
        position = self._position
        if position >= len(self._data):
            raise UnreadExpressionError("the bytes end too early")
        self._position = position + 1
        return self._data[position]

    def boolean(self) -> bool:
        """Read a boolean; Kryo writes 0 or 1."""
        value = self.byte()
        if value > 1:
            raise UnreadExpressionError(f"a boolean is {value}")
        return value == 1

    def fixed(self, kind: str) -> int:
        """Read a whole number of a fixed width: `b`, `h`, `i` or `q` of the module struct."""
        value: int = struct.unpack(self._order + kind, self.take(struct.calcsize("=" + kind)))[0]
        return value

    def floating(self, kind: str) -> float:
        """Read a number with a point: `f` or `d` of the module struct."""
        value: float = struct.unpack(self._order + kind, self.take(struct.calcsize("=" + kind)))[0]
        return value

    def unsigned(self, bits: int = 32) -> int:
        """Read a number of seven bits per byte, the lowest first; a ninth byte has eight."""
        value = shift = 0
        while True:
            byte = self.byte()
            if byte < 0x80 or shift == 56:
                break
            value |= (byte & 0x7F) << shift
            shift += 7
            if shift >= bits:
                raise UnreadExpressionError("a number has too many bytes")
        value |= byte << shift
        if value >> bits:
            raise UnreadExpressionError("a number has too many bits")
        return value

    def signed(self, bits: int = 32) -> int:
        """Read a number that may be negative: 0, -1, 1, -2, 2 … are written as 0, 1, 2, 3, 4 …"""
        value = self.unsigned(bits)
        return (value >> 1) ^ -(value & 1)

    def flagged(self) -> tuple[bool, int]:
        """Read a number whose first byte has a flag in its highest bit; return the flag and the number."""
        first = self.byte()
        value, shift, byte = first & 0x3F, 6, (first & 0x40) << 1
        while byte & 0x80:
            if shift > 27:
                raise UnreadExpressionError("a number has too many bytes")
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            shift += 7
        return first >= 0x80, value

    def text(self) -> str | None:
        """Read a text, or None for null."""
        start = self._position
        if start < len(self._data) and self._data[start] < 0x80:
            return self._ascii()
        _, length = self.flagged()
        return None if length == 0 else self._units(length - 1)

    def _ascii(self) -> str:
        data, end = self._data, self._position
        while end < len(data) and data[end] < 0x80:
            end += 1
        if end == len(data):
            raise UnreadExpressionError("a text does not end")
        text = data[self._position : end] + bytes((data[end] & 0x7F,))
        self._position = end + 1
        return text.decode("ascii")

    def _units(self, count: int) -> str:
        """Read UTF-16 units, each of one to three bytes."""
        if count > self.remaining:
            raise UnreadExpressionError("a text is longer than the bytes")
        units = []
        for _ in range(count):
            first = self.byte()
            if first < 0x80:
                units.append(first)
            elif first >> 4 in (12, 13):
                units.append((first & 0x1F) << 6 | self._tail())
            elif first >> 4 == 14:
                units.append((first & 0x0F) << 12 | self._tail() << 6 | self._tail())
            else:
                raise UnreadExpressionError("a text is not UTF-8")
        try:
            return struct.pack(f"<{count}H", *units).decode("utf-16-le")
        except UnicodeDecodeError:
            raise UnreadExpressionError("a text has half of a character") from None

    def _tail(self) -> int:
        byte = self.byte()
        if byte >> 6 != 2:
            raise UnreadExpressionError("a text is not UTF-8")
        return byte & 0x3F
