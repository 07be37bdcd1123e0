"""Which entries of indexes are of no use, and which are missing.

An entry may be too many for many reasons: its commit was given up, its partition was dropped, its index. None
of them does harm, so all that matters is never to remove one that is needed. Whoever makes a partition where
a dropped one was writes an entry of his own, with a later ticket: the ones from before the drop are his no
longer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from parquetry.metastore.entries import TOMBSTONE
from parquetry.metastore.head import Head
from parquetry.metastore.indexes import entry_key, partition_key, stored_ids
from parquetry.metastore.keyspace import (
    METADATA,
    TICKET_BYTES,
    complement,
    index_prefix,
    partition_prefix,
    prefix_range,
    ticket_of,
)
from parquetry.metastore.model import Commit, PartitionIndex, TableMetadata, decoder
from parquetry.metastore.retention import Need, stored_rows, unneeded_metadata
from parquetry.store.base import Range, Store

_BATCH = 1000
_AFTER_TICKETS = b"\xff" * TICKET_BYTES + b"\x00"


def unneeded_entries(store: Store, table: bytes, head: Head, oldest: Commit) -> Iterator[bytes]:
    """Yield the keys of entries that no version from the oldest on needs, and no commit under way.

    Those are the entries of dropped indexes, and those from before a partition was dropped. They have to go
    before the rows that tell of it do.

    Args:
        store: of the metastore.
        table: id.
        head: as it was some time ago at most.
        oldest: the oldest version that is kept.
    """
    stored = list(stored_ids(store, table))
    kept = _kept_indexes(store, table, set(unneeded_metadata(store, table, head, oldest)))
    for id in stored:
        if id not in kept:
            for key, _ in store.scan(*prefix_range(index_prefix(table, id))):
                yield key
    ranges: list[Range] = []
    for row in stored_rows(store, table, head, oldest):
        superseded = row.need not in (Need.LIVE, Need.WORKING) and not head.is_aborted(row.ticket)
        if superseded and row.value == TOMBSTONE:
            for id, order in kept.items():
                start = index_prefix(table, id) + entry_key(order, row.key)
                ranges.append((start + complement(row.ticket), start + _AFTER_TICKETS))
    ranges.sort()
    for first in range(0, len(ranges), _BATCH):
        for key, _ in store.scan_ranges(ranges[first : first + _BATCH]):
            yield key


def _kept_indexes(store: Store, table: bytes, unneeded: set[bytes]) -> dict[str, tuple[int, ...]]:
    """Return the orders of the indexes that metadata tell of, by their ids."""
    kept: dict[str, tuple[int, ...]] = {}
    for key, value in store.scan(*prefix_range(METADATA + table)):
        if key not in unneeded:
            metadata: TableMetadata = decoder(TableMetadata).decode(value)
            kept.update((index.id, index.order) for index in metadata.indexes)
    return kept


def missing_entries(
    store: Store, table: bytes, index: PartitionIndex, partitions: Iterable[bytes]
) -> Iterator[bytes]:
    """Yield the keys of those partitions to which an index does not lead.

    Args:
        store: of the metastore.
        table: id.
        index: to look into.
        partitions: keys of partitions that are there.
    """
    prefix = index_prefix(table, index.id)
    for some in _batches(partitions):
        wanted = {prefix + entry_key(index.order, key): key for key in some}
        found = _present(store, list(wanted))
        yield from (key for entry, key in wanted.items() if entry not in found)


def leftover_entries(store: Store, table: bytes, head: Head, index: PartitionIndex) -> Iterator[bytes]:
    """Yield the keys of entries that lead to partitions of no version, or that belong to commits given up.

    Args:
        store: of the metastore.
        table: id.
        head: as it was some time ago at most; entries of commits under way in it, or newer, are left out.
        index: to look into.
    """
    prefix, partitions = index_prefix(table, index.id), partition_prefix(table)
    for some in _batches(key for key, _ in store.scan(*prefix_range(prefix))):
        ended = [
            key for key in some if ticket_of(key) < head.next_ticket and ticket_of(key) not in head.pending
        ]
        leads = {
            key: partitions + partition_key(index.order, key[len(prefix) : -TICKET_BYTES]) for key in ended
        }
        there = _present(store, sorted(set(leads.values())))
        for key, partition in leads.items():
            if partition not in there or head.is_aborted(ticket_of(key)):
                yield key


def _present(store: Store, keys: Sequence[bytes]) -> set[bytes]:
    """Return those keys of which there is a row of any ticket."""
    ranges = [(key, key + _AFTER_TICKETS) for key in sorted(keys)]
    return {key[:-TICKET_BYTES] for key, _ in store.scan_ranges(ranges, each=1)}


def _batches(keys: Iterable[bytes]) -> Iterator[list[bytes]]:
    batch: list[bytes] = []
    for key in keys:
        batch.append(key)
        if len(batch) == _BATCH:
            yield batch
            batch = []
    if batch:
        yield batch
