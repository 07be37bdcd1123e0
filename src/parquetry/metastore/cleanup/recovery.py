"""Remove the rows of aborted commits and of dropped tables."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable

from parquetry.metastore.storage.head import Head
from parquetry.metastore.storage.keyspace import (
    CHUNKS,
    COMMITS,
    FIRST_PART_OF_REMOVED_FILES,
    INDEXES,
    JOURNAL,
    METADATA,
    RANGE_MANIFESTS,
    SUMMARIES,
    UPKEEP,
    complement,
    delete_in_batches,
    delete_prefix,
    head_key,
    journal_part,
    journal_ticket,
    metadata_key,
    number,
    partition_prefix,
    prefix_range,
    removed_files_prefix,
)
from parquetry.metastore.storage.model import PartitionIndex
from parquetry.metastore.storage.wire import decoder
from parquetry.metastore.versions.indexes import entry_rows
from parquetry.metastore.versions.snapshot import load_metadata
from parquetry.store import Store


def sweep(store: Store, table: bytes, head: Head) -> None:
    """Remove the journals of commits that have ended, and the rows of aborted commits.

    Args:
        store: store of the metastore.
        table: id of the table.
        head: the table's head, now or a short time ago. Its pending tickets and later tickets are left alone.
    """
    indexes = load_metadata(store, table, head.commit).indexes
    journal = list(store.scan(*prefix_range(JOURNAL + table)))
    for ticket, rows in itertools.groupby(journal, key=lambda row: journal_ticket(row[0])):
        if ticket >= head.next_ticket or ticket in head.pending:
            continue
        if head.is_aborted(ticket):
            partitions: list[bytes] = []
            files: list[bytes] = []
            for key, value in rows:
                keys = files if journal_part(key) >= FIRST_PART_OF_REMOVED_FILES else partitions
                keys += decoder(list[bytes]).decode(value)
            delete_rows(store, table, ticket, partitions, indexes, files)
        else:
            store.delete_many([row[0] for row in rows])


def delete_rows(
    store: Store,
    table: bytes,
    ticket: int,
    partitions: Collection[bytes],
    indexes: Iterable[PartitionIndex],
    files: Iterable[bytes] = (),
) -> None:
    """Remove all rows of an aborted ticket, its journal last.

    Args:
        store: store of the metastore.
        table: id of the table.
        ticket: the aborted ticket.
        partitions: keys of the partitions whose rows it may have written.
        indexes: indexes whose entries it may have written.
        files: keys of the removed files whose records it may have written.
    """
    prefix, age = partition_prefix(table), complement(ticket)
    rows = ((key, age, b"") for key in partitions)
    delete_in_batches(store, (prefix + key + age for key in partitions))
    delete_in_batches(store, (key for key, _ in entry_rows(table, indexes, rows)))
    delete_in_batches(store, (removed_files_prefix(table) + key + age for key in files))
    delete_prefix(store, CHUNKS + table + number(ticket))
    delete_prefix(store, SUMMARIES + table + number(ticket))
    store.delete_many([metadata_key(table, ticket)])
    delete_prefix(store, JOURNAL + table + number(ticket))


def delete_table(store: Store, table: bytes) -> None:
    """Remove all rows of a table that no name leads to. Its head goes last, so that readers notice.

    The metadata go first. A reader that still finds them after the other rows has missed none of these.
    """
    for prefix in (
        METADATA + table,
        partition_prefix(table),
        CHUNKS + table,
        SUMMARIES + table,
        JOURNAL + table,
        COMMITS + table,
        INDEXES + table,
        removed_files_prefix(table),
        RANGE_MANIFESTS + table,
        UPKEEP + table,
    ):
        delete_prefix(store, prefix)
    store.delete_many([head_key(table)])
