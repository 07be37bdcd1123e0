"""Batches: items in lists, and the number of rows of one request.

A request has few rows at first, then more, as long as their values are small.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypeVar

from parquetry.store.groups import Row

MAX_BATCH_ROWS = 8192
MAX_BATCH_BYTES = 4 << 20
"""Size of a batch's values in bytes. A batch may exceed it a little: its rows are sized by the batch
before."""
_GROWTH_FACTOR = 8
_T = TypeVar("_T")


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


def in_batches(items: Iterable[_T], size: int) -> Iterator[list[_T]]:
    """Yield items in lists of `size`; the last may be shorter. Items are read only when their list is needed.

    >>> list(in_batches("abcde", 2))
    [['a', 'b'], ['c', 'd'], ['e']]
    """
    remaining = iter(items)
    while batch := list(islice(remaining, size)):
        yield batch
