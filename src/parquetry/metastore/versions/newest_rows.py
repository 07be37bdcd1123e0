"""What a table's head says of the newest rows of its partitions, so that a store can pass over those behind them.

After 20,000 commits to 30 partitions each has 700 rows, and a reader wants one of each. To a store on another machine
a seek is a request; one that is told where the newest rows are goes from one to the next by itself (`store.groups`).
So while a table has few partitions with several rows each, its head lists their keys and the tickets of their newest
rows. Whoever publishes a commit writes the list with it, by the same compare-and-set.

Nothing hangs on the list but time. Each line stands for itself: the row is there, and a version that shows its ticket
needs none that is older. A partition that is not listed is read as if there were no list, and so is one whose row the
reader's version does not show. The list says, too, of which commit's version it names all partitions, if it does: who
reads that one asks for these rows and looks for no others. A library that does not know of the list leaves it out of the head that it writes;
then the next commit of one that does makes it again.

Of partitions that were dropped lately the tombstones are listed, because older rows are behind them until they are vacuumed.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import Mapping
from typing import NamedTuple

from parquetry.errors import MetastoreDamagedError
from parquetry.metastore.storage import CommitRecord, decoder, encode

MIN_ROWS_PER_PARTITION = 4
"""Of a partition on average, for which the newest are listed; half as many if they are listed already."""
MAX_LISTED_PARTITIONS = 512
"""Which, with some hundred rows each, HBase would need longer to read than to be told of."""
MAX_LIST_BYTES = 4096
"""Of the list, which everybody reads who looks at the head."""
MAX_LISTED_TOMBSTONES = 64
"""Partitions that were dropped, which are listed beside those that are there: more have been vacuumed, mostly."""


class NewestRow(NamedTuple):
    """The newest row of a partition.

    Attributes:
        ticket: of the commit that wrote it.
        is_tombstone: whether it says that the partition is gone.
    """

    ticket: int
    is_tombstone: bool = False


def is_listed(commit: CommitRecord, before: bytes) -> bool:
    """Return whether the newest rows of a version's partitions are listed.

    Args:
        commit: of the version.
        before: the list of the version before.
    """
    partitions = commit.totals.partitions
    rows = MIN_ROWS_PER_PARTITION // 2 if before else MIN_ROWS_PER_PARTITION
    return 0 < partitions <= MAX_LISTED_PARTITIONS and commit.next_ticket >= rows * partitions


def encode_newest(rows: Mapping[bytes, NewestRow], whole: int | None = None) -> bytes:
    """Return the list as it stands in a head.

    Args:
        rows: by the keys of the partitions. Of those that are gone some are left out, and if it would be too long then
            others, too: those not written to for the longest time.
        whole: ticket of the commit whose version has no other partitions; None: it may have.
    """
    by_age = sorted(rows.items(), key=lambda each: (each[1].is_tombstone, -each[1].ticket))
    tombstones = sum(row.is_tombstone for row in rows.values())
    count = len(by_age) - max(0, tombstones - MAX_LISTED_TOMBSTONES)
    last = max((row.ticket for row in rows.values()), default=0)
    while True:
        listed = sorted(by_age[:count])
        # Keys are alike, and so are the ages of rows that were written in turn.
        marks = [(last - row.ticket) * 2 + row.is_tombstone for _, row in listed]
        whole = whole if count >= len(by_age) - tombstones else None
        data = zlib.compress(encode((last, [key for key, _ in listed], marks, whole)))
        if len(data) <= MAX_LIST_BYTES:
            return data
        count //= 2


def decode_newest(data: bytes) -> tuple[tuple[bytes, NewestRow], ...]:
    """Return keys of partitions, in order, with their newest rows; nothing of a list that cannot be read."""
    return _decoded(data)[0]


def complete_ticket(data: bytes) -> int | None:
    """Return the ticket of the commit of whose version a list names all partitions; None: of none that is known."""
    return _decoded(data)[1]


@functools.lru_cache(maxsize=32)
def _decoded(data: bytes) -> tuple[tuple[tuple[bytes, NewestRow], ...], int | None]:
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
