"""The list of newest rows in a table's head. It lets a store skip the older rows of partitions.

After 20,000 commits to 30 partitions, each partition has some 700 rows, and a reader wants one of each. On a
store on another machine, each seek is a request. If the request names the newest rows, the store itself goes
from one to the next (`store.groups`). So while a table has few partitions with several rows each, its head
lists their keys and the tickets of their newest rows. The compare-and-set that shows a commit also writes
the list.

The list saves time and is never needed. Each line is true by itself: the row exists, and a version that shows
its ticket needs no older row. A reader reads a partition without the list if it is not listed, or if the
reader's version does not show the listed row.

The list may also say that it names all partitions of one commit's version. A reader of that version reads
these rows and looks for no others. A library that does not know the list writes a head without it; the next
commit of a library that knows it makes it again.

The list also has the tombstones of recently dropped partitions, because older rows are behind them until a
vacuum.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping
from typing import NamedTuple

from parquetry.errors import MetastoreDamagedError
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.storage.wire import decoder, encode

MIN_ROWS_PER_PARTITION = 4
"""Average rows per partition. With so many or more, the head lists the newest; half as many keep a list."""
MAX_LISTED_PARTITIONS = 512
"""Partitions of a table with such a list. With some hundred rows each, HBase takes longer to read all of them
than to receive the list."""
MAX_LIST_BYTES = 4096
"""Bytes of the list, which every reader of the head has to read."""
MAX_LISTED_TOMBSTONES = 64
"""Dropped partitions in the list. If more were dropped, a vacuum has mostly removed the others."""


class NewestRow(NamedTuple):
    """The newest row of a partition.

    Attributes:
        ticket: ticket of the commit that wrote it.
        is_tombstone: whether it says that the partition was dropped.
    """

    ticket: int
    is_tombstone: bool = False


def is_listed(commit: CommitRecord, before: bytes) -> bool:
    """Return whether the head should list the newest rows of a version's partitions.

    Args:
        commit: the version's commit.
        before: the list of the version before.
    """
    partitions = commit.totals.partitions
    rows = MIN_ROWS_PER_PARTITION // 2 if before else MIN_ROWS_PER_PARTITION
    return 0 < partitions <= MAX_LISTED_PARTITIONS and commit.next_ticket >= rows * partitions


def encode_newest(rows: Mapping[bytes, NewestRow], whole: int | None = None) -> bytes:
    """Return the bytes of the list in a head.

    If there are too many tombstones, the oldest are left out. If the list is then still too long, more of the
    rows that were written longest ago are left out, tombstones first.

    Args:
        rows: the newest rows by the keys of their partitions.
        whole: ticket of the commit whose version has only these partitions, or None if it may have others.
    """
    by_age = sorted(rows.items(), key=lambda each: (each[1].is_tombstone, -each[1].ticket))
    tombstones = sum(row.is_tombstone for row in rows.values())
    count = len(by_age) - max(0, tombstones - MAX_LISTED_TOMBSTONES)
    last = max((row.ticket for row in rows.values()), default=0)
    while True:
        listed = sorted(by_age[:count])
        # Keys resemble each other, and so do the ages of rows that were written in turn: both compress well.
        marks = [(last - row.ticket) * 2 + row.is_tombstone for _, row in listed]
        whole = whole if count >= len(by_age) - tombstones else None
        data = zlib.compress(encode((last, [key for key, _ in listed], marks, whole)))
        if len(data) <= MAX_LIST_BYTES:
            return data
        count //= 2


def decode_newest(data: bytes) -> tuple[tuple[bytes, NewestRow], ...]:
    """Return the keys of partitions, in order, with their newest rows; nothing if the list is unreadable."""
    return _decode(data)[0]


def complete_ticket(data: bytes) -> int | None:
    """Return the ticket of the commit whose version has only the listed partitions, or None."""
    return _decode(data)[1]


@functools.lru_cache(maxsize=32)
def _decode(data: bytes) -> tuple[tuple[tuple[bytes, NewestRow], ...], int | None]:
    if not data:
        return (), None
    try:
        last, keys, marks, whole = decoder(tuple[int, list[bytes], list[int], int | None]).decode(
            zlib.decompress(data)
        )
        rows = tuple(
            (key, NewestRow(last - mark // 2, mark % 2 == 1)) for key, mark in zip(keys, marks, strict=True)
        )
    except (zlib.error, ValueError, MetastoreDamagedError):
        return (), None
    return rows, whole
