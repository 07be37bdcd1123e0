"""What stands in the cells of a row: its value behind a tag, and fields of its key.

HBase cannot tell an empty cell from none, and a compare-and-set must know its own work again. So every value
has a tag, and what a compare-and-set stores has eight random bytes in it, and equals nothing that was there
before. A tombstone stands where a compare-and-set removed a row, until the cell itself is gone.
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
    """Return the column of a field; after the value's, so that who reads values does not step over it."""
    return b"x%d" % position


def put_cell(value: bytes) -> bytes:
    """Return what an unconditional write stores."""
    return _PUT + value


def swapped_cell(value: bytes | None) -> bytes:
    """Return what a compare-and-set stores (None: to remove the row), different each time."""
    nonce = os.urandom(_NONCE_BYTES)
    return _TOMBSTONE + nonce if value is None else _SWAPPED + nonce + value


def value_of(stored: bytes) -> bytes | None:
    """Return the value in a cell; None if it is a tombstone."""
    tag = stored[:1]
    if tag == _PUT:
        return stored[1:]
    return stored[1 + _NONCE_BYTES :] if tag == _SWAPPED else None


def present(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield keys and values of those rows that are there."""
    for key, stored in rows:
        value = value_of(stored)
        if value is not None:
            yield key, value
