"""The cells of a row: its value behind a tag, and the fields of its key.

HBase cannot tell an empty cell from a missing one, so every value has a tag. A compare-and-set must recognise
its own write, so it stores eight random bytes with the value: the cell equals no earlier one. A
compare-and-set that removes a row stores a tombstone, and then deletes the cell.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

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
