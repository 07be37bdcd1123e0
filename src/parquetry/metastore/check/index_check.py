"""Compare the secondary indexes of a table with its partitions, and repair differences."""

from __future__ import annotations

from collections.abc import Iterator

from parquetry.metastore.cleanup.index_upkeep import leftover_entries, missing_entries, unneeded_entries
from parquetry.metastore.cleanup.retention import oldest_commit
from parquetry.metastore.results import Finding
from parquetry.metastore.storage.head import Head, live_head
from parquetry.metastore.storage.keyspace import complement, delete_in_batches, fields_of
from parquetry.metastore.storage.model import PartitionIndex, TableMetadata
from parquetry.metastore.versions.indexes import entry_rows, index_columns
from parquetry.metastore.versions.snapshot import TableSnapshot, load
from parquetry.texts import counted


def check_indexes(table: TableSnapshot, repair: bool) -> Iterator[Finding]:
    """Yield partitions without an entry in an index, entries that no version needs, and unfinished indexes.

    Args:
        table: any version of the table; the newest is checked.
        repair: write missing entries, and remove entries that are not needed.

    Raises:
        TableNotFoundError: the table was dropped.
    """
    head = live_head(table.store, table.id, f"Table {table.label} was dropped or replaced meanwhile.")
    now = load(table.store, table.id, head)
    for index in now.metadata.indexes:
        if index.ready:
            yield from _missing(now, index, repair)
        else:
            yield Finding("unfinished index", None, None, _unfinished(now.metadata, index))
    yield from _unneeded(now, head, repair)


def _unfinished(metadata: TableMetadata, index: PartitionIndex) -> str:
    name, columns = index.name, ", ".join(index_columns(metadata, index))
    if any(other.ready and other.name == name for other in metadata.indexes):
        return (
            f"index {name} is being built anew, or that was cut short, and the one from before is used meanwhile: if nobody is building "
            "it, CALL system.rebuild_partition_index begins again, and system.drop_partition_index drops both"
        )
    return (
        f"index {name} is being built, or that was cut short: if nobody is building it, CALL system.create_partition_index on ({columns}) "
        "begins again, and system.drop_partition_index drops it"
    )


def _missing(table: TableSnapshot, index: PartitionIndex, repair: bool) -> Iterator[Finding]:
    rows = ((partition.key, partition.ticket) for partition in table.partitions())
    for key, ticket in list(missing_entries(table.store, table.id, index, rows)):
        if repair:
            table.store.put_many(entry_rows(table.id, [index], [(key, complement(ticket), b"")]), fields_of)
        text = f"index {index.name} does not lead to it: filters that use the index miss it"
        yield Finding("missing index entry", table.describe(key), None, text, repair)


def _unneeded(table: TableSnapshot, head: Head, repair: bool) -> Iterator[Finding]:
    oldest = oldest_commit(table.store, table.id, head)
    found = set(unneeded_entries(table.store, table.id, head, oldest))
    for index in table.metadata.indexes:
        found.update(leftover_entries(table.store, table.id, head, index))
    if repair:
        delete_in_batches(table.store, sorted(found))
    if found:
        text = f"{counted(len(found), 'entry leads', 'entries lead')} to rows or indexes that no version has, without harm"
        yield Finding("unneeded index entry", None, None, text, repair)
