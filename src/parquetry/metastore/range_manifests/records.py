"""The rows of range manifests, and the field of a commit's record that says which of them still hold.

A table of a million partitions with one file each has a million rows, and a plan by a data column would read
all of them. So the keys of the table are divided into ranges of some thousand partitions. The files of a
range are in one row, in columns, as in a chunk of a long list. A **list** names the ranges in order:

    0c table list 0        the list: a `RangeManifest` for each range
    0c table list 1        a summary of the files of each range, in columns
    0c table list 2k       the files of a range, in columns, and their number in each partition (k from 1)
    0c table list 2k + 1   the keys and ages of the partitions of that range

Example: version 9 names a list made at version 7, and the second of its three ranges is stale.

| range | keys       | in version 9                                                      |
|-------|------------|-------------------------------------------------------------------|
| 0     | up to d=5  | as the rows of the range say                                      |
| 1     | d=5 to d=8 | stale: version 8 wrote d=6, so the partitions' own rows are read  |
| 2     | from d=8   | as the rows of the range say                                      |

**Staleness.** A commit's record has the state of the commit before. The ranges of the keys that it wrote
itself are marked in it. So the compare-and-set that shows a commit also marks its ranges. A library that
does not know the field writes a record without it, and the list is used no more.
"""

from __future__ import annotations

import bisect
import functools
from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from parquetry.data_files import Flags
from parquetry.errors import MetastoreDamagedError
from parquetry.metastore.storage.keyspace import RANGE_MANIFESTS, number
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.store import Store

LIST, SUMMARY, FIRST_RANGE = 0, 1, 2
"""Numbers of a list's rows: the list itself, the summaries, and the first range."""
_CACHED_LISTS = 8


class RangeManifest(msgspec.Struct, frozen=True, array_like=True):
    """A range of partition keys, and the row with the files of its partitions.

    Attributes:
        start: the first key; the range ends where the next one begins.
        owner: the list that wrote the row. Later lists share the rows of unchanged ranges.
        number: number of the row; 0 if the range has none, as a partition has a long list of files or a
            location of its own.
        partitions: number of partitions.
        files: number of their files.
        size: bytes of the row of the files.
    """

    start: bytes
    owner: bytes
    number: int
    partitions: int
    files: int
    size: int

    @property
    def has_rows(self) -> bool:
        """Return whether the files of the range are in a row."""
        return self.number > 0

    def row_keys(self, table: bytes) -> tuple[bytes, bytes]:
        """Return the keys of the row of the files, and of the row of the partitions' keys."""
        return row_key(table, self.owner, self.number), row_key(table, self.owner, self.number + 1)


class ListState(msgspec.Struct, frozen=True, array_like=True):
    """The field of a commit's record: the list, and the ranges that later commits have changed.

    Attributes:
        id: id of the list.
        version: the version that it was made at.
        stale: a bit for each range; missing bytes are zero.
    """

    id: bytes
    version: int
    stale: bytes = b""

    def flags(self, count: int) -> Flags:
        """Return which of the list's ranges are stale."""
        whole = self.stale.ljust(-(-count // 8), b"\0")  # NumPy pads bits, but not from nothing
        return np.unpackbits(np.frombuffer(whole, np.uint8), count=count).astype(np.bool_)

    def with_stale(self, flags: Flags) -> ListState:
        """Return the state with these ranges stale."""
        return ListState(self.id, self.version, np.packbits(flags).tobytes().rstrip(b"\0"))


def row_key(table: bytes, list: bytes, position: int) -> bytes:
    """Return the key of a row of a list."""
    return RANGE_MANIFESTS + table + list + number(position)


def decode_state(data: bytes) -> ListState | None:
    """Return the state in a commit's record, or None if there is no list or the field cannot be read."""
    if not data:
        return None
    try:
        state: ListState = decoder(ListState).decode(data)
    except MetastoreDamagedError:
        return None
    return state


def read_list(store: Store, table: bytes, list: bytes) -> Sequence[RangeManifest] | None:
    """Return the ranges of a list in order, or None if its row is missing or damaged."""
    value = store.get(row_key(table, list, LIST))
    if value is None:
        return None
    try:
        return _decode_list(value)
    except MetastoreDamagedError:
        return None


@functools.lru_cache(_CACHED_LISTS)
def _decode_list(value: bytes) -> tuple[RangeManifest, ...]:
    ranges: tuple[RangeManifest, ...] = decoder(tuple[RangeManifest, ...]).decode(value)
    return ranges


def mark_stale(store: Store, table: bytes, data: bytes, keys: Iterable[bytes]) -> bytes:
    """Return the state after a commit that writes some partitions.

    Args:
        store: store of the metastore.
        table: id of the table.
        data: the state before.
        keys: keys of the partitions.

    Returns:
        the state, or nothing if its list cannot be read.
    """
    state = decode_state(data) if data else None
    ranges = None if state is None else read_list(store, table, state.id)
    if state is None or not ranges:
        return b""
    flags = state.flags(len(ranges))
    flags[positions_of(ranges, keys)] = True
    return encode(state.with_stale(flags))


def positions_of(ranges: Sequence[RangeManifest], keys: Iterable[bytes]) -> list[int]:
    """Return the positions of the ranges that have some keys."""
    starts = [each.start for each in ranges]
    return sorted({max(0, bisect.bisect_right(starts, key) - 1) for key in keys})
