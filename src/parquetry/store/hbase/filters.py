"""HBase filters as their protocol buffers, for what its filter language has no words for.

A filter is its class's name and a serialised message of its own (`Filter.proto` of HBase). Only the few
messages that are sent are written here, by hand.
"""

from __future__ import annotations

from collections.abc import Sequence

from parquetry.store.base import Range

_PACKAGE = b"org.apache.hadoop.hbase.filter."
_BYTES, _NUMBER = 2, 0


def _varint(number: int) -> bytes:
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | _BYTES) + _varint(len(content)) + content


def _flag(number: int, value: bool) -> bytes:
    return _varint(number << 3 | _NUMBER) + _varint(value)


def _filter(name: bytes, message: bytes) -> bytes:
    return _field(1, _PACKAGE + name) + _field(2, message)


def row_ranges(ranges: Sequence[Range]) -> bytes:
    """Return the filter that lets pass the rows of some ranges, and seeks from one to the next.

    Args:
        ranges: not empty, each with start < stop.
    """
    parts = [
        _field(1, start) + _flag(2, True) + _field(3, stop or b"") + _flag(4, False) for start, stop in ranges
    ]
    return _filter(b"MultiRowRangeFilter", b"".join(_field(1, part) for part in parts))


def keys_only() -> bytes:
    """Return the filter that leaves out the values."""
    return _filter(b"KeyOnlyFilter", _flag(1, False))
