"""The number of rows of one request: few at first, then more, as long as their values are small."""

from __future__ import annotations

from collections.abc import Sequence

from parquetry.store.groups import Row

MAX_BATCH_ROWS = 8192
MAX_BATCH_BYTES = 4 << 20
"""Size of a batch's values in bytes. A batch may exceed it a little: its rows are sized by the batch
before."""
_GROWTH_FACTOR = 8


def largest_batch(rows: Sequence[Row]) -> int:
    """Return how many rows the next batch may have, by the average size of this batch's values."""
    average = sum(len(value) for _, value in rows) // max(1, len(rows)) + 1
    return min(MAX_BATCH_ROWS, MAX_BATCH_BYTES // average)


def next_batch(size: int, rows: Sequence[Row]) -> int:
    """Return how many rows to read after a batch of `size` rows.

    >>> next_batch(64, [(b"k", b"small")]), next_batch(64, [(b"k", bytes(1 << 20))]), next_batch(1, [(b"k", bytes(9 << 20))])
    (512, 3, 1)
    """
    return max(1, min(size * _GROWTH_FACTOR, largest_batch(rows)))
