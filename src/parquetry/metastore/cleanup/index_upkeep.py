"""Unneeded and missing entries of indexes.

An entry is needed as long as its row is, and is removed together with it, in the order of the rows.
An entry without a row does no harm.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from parquetry.keys import field_count
from parquetry.metastore.cleanup.retention import StoredRow, unneeded_metadata
from parquetry.metastore.partition_rows.indexes import entry_key, partition_key, stored_ids
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.checksums import is_damaged
from parquetry.metastore.storage.head import Head
from parquetry.metastore.storage.model import CommitRecord, PartitionIndex, TableMetadata
from parquetry.metastore.storage.wire import decoder
from parquetry.store import Store, in_batches

_ROWS_PER_BATCH = 1000


def unneeded_entries(
    store: Store, table: bytes, head: Head, oldest: CommitRecord, unneeded_rows: Iterable[StoredRow]
) -> Iterator[bytes]:
    """Yield the keys of entries that neither a version from the oldest on nor a commit under way needs.

    Args:
        store: store of the metastore.
        table: id of the table.
        head: the table's head, now or a short time ago.
        oldest: the oldest version that is kept.
        unneeded_rows: the rows of partitions that are unneeded.
    """
    yield from entries_of_dropped(store, table, head, oldest)
    if not _kept_indexes(store, table, head, oldest):
        return
    entries = entries_of_rows(store, table, head, oldest)
    unneeded = (key for row in unneeded_rows for key in entries(row))
    for some in in_batches(unneeded, _ROWS_PER_BATCH):
        yield from _present(store, some)


def entries_of_dropped(store: Store, table: bytes, head: Head, oldest: CommitRecord) -> Iterator[bytes]:
    """Yield the keys of all entries of indexes that no kept version has."""
    stored = list(stored_ids(store, table))
    kept = _kept_indexes(store, table, head, oldest)
    for id in stored:
        if id not in kept:
            for key, _ in store.scan(*keyspace.prefix_range(keyspace.index_prefix(table, id))):
                yield key


def entries_of_rows(
    store: Store, table: bytes, head: Head, oldest: CommitRecord
) -> Callable[[StoredRow], Iterable[bytes]]:
    """Return a function that returns the keys of a row's entries in the indexes of all kept versions."""
    kept = _kept_indexes(store, table, head, oldest)
    prefixes = [(keyspace.index_prefix(table, id), order) for id, order in kept.items()]

    def entries(row: StoredRow) -> Iterable[bytes]:
        age = keyspace.complement(row.ticket)
        count = field_count(row.key)
        return [prefix + entry_key(order, row.key) + age for prefix, order in prefixes if count == len(order)]

    return entries


def _kept_indexes(store: Store, table: bytes, head: Head, oldest: CommitRecord) -> dict[str, tuple[int, ...]]:
    """Return the orders of the indexes of all metadata still needed, by the ids of the indexes."""
    unneeded = set(unneeded_metadata(store, table, head, oldest))
    kept: dict[str, tuple[int, ...]] = {}
    for key, value in store.scan(*keyspace.prefix_range(keyspace.METADATA + table)):
        if key not in unneeded:
            metadata: TableMetadata = decoder(TableMetadata).decode(value)
            kept.update((index.id, index.order) for index in metadata.indexes)
    return kept


def missing_entries(
    store: Store, table: bytes, index: PartitionIndex, rows: Iterable[tuple[bytes, int]]
) -> Iterator[tuple[bytes, int]]:
    """Yield the rows of partitions that have no entry in an index.

    Args:
        store: store of the metastore.
        table: id of the table.
        index: index to look into.
        rows: keys and tickets of partitions.
    """
    prefix = keyspace.index_prefix(table, index.id)
    wanted = (
        (key, ticket, prefix + entry_key(index.order, key) + keyspace.complement(ticket))
        for key, ticket in rows
    )
    for some in in_batches(wanted, _ROWS_PER_BATCH):
        there = store.get_many([entry for _, _, entry in some])
        for (key, ticket, _), value in zip(some, there, strict=True):
            if value is None or is_damaged(value):
                yield key, ticket


def leftover_entries(store: Store, table: bytes, head: Head, index: PartitionIndex) -> Iterator[bytes]:
    """Yield the keys of entries that lead to no row, belong to aborted commits, or are damaged.

    Args:
        store: store of the metastore.
        table: id of the table.
        head: the table's head, now or a short time ago. Entries of its pending tickets and of later tickets
            are left out.
        index: index to look into.
    """
    prefix, partitions = keyspace.index_prefix(table, index.id), keyspace.partition_prefix(table)
    for some in in_batches(store.scan(*keyspace.prefix_range(prefix)), _ROWS_PER_BATCH):
        yield from (key for key, value in some if is_damaged(value))
        ended = [
            key
            for key, value in some
            if keyspace.ticket_of(key) < head.next_ticket
            and keyspace.ticket_of(key) not in head.pending
            and not is_damaged(value)
        ]
        leads = {
            key: partitions
            + partition_key(index.order, key[len(prefix) : -keyspace.TICKET_BYTES])
            + key[-keyspace.TICKET_BYTES :]
            for key in ended
        }
        there = _present(store, list(leads.values()))
        for key, row in leads.items():
            if row not in there or head.is_aborted(keyspace.ticket_of(key)):
                yield key


def _present(store: Store, keys: list[bytes]) -> set[bytes]:
    """Return the keys that have a row."""
    return {key for key, value in zip(keys, store.get_many(keys), strict=True) if value is not None}
