"""Compare secondary indexes, and the head's list of newest rows, with partitions, and repair differences.

The list only saves time (`metastore.partition_rows.newest_rows`), but readers of the newest version trust it.
If it lacks a partition, they miss the partition. If it names an older row of a partition, they read an older
state of it.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from parquetry.errors import ParquetryError
from parquetry.metastore.cleanup.index_upkeep import leftover_entries, missing_entries, unneeded_entries
from parquetry.metastore.cleanup.retention import oldest_commit, stored_rows
from parquetry.metastore.partition_rows.indexes import entry_rows, index_columns
from parquetry.metastore.partition_rows.newest_rows import NewestRow, complete_ticket, decode_newest
from parquetry.metastore.partition_rows.visible_rows import VisibleRows
from parquetry.metastore.results import Finding
from parquetry.metastore.storage.head import Head, edit_head, live_head
from parquetry.metastore.storage.keyspace import complement, delete_in_batches, fields_of
from parquetry.metastore.storage.model import PartitionIndex, TableMetadata
from parquetry.metastore.versions.snapshot import TableSnapshot, load
from parquetry.texts import quantity


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
            yield Finding("unfinished index", None, None, _describe_unfinished(now.metadata, index))
    yield from _check_unneeded(now, head, repair)


def _describe_unfinished(metadata: TableMetadata, index: PartitionIndex) -> str:
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


def _check_unneeded(table: TableSnapshot, head: Head, repair: bool) -> Iterator[Finding]:
    oldest = oldest_commit(table.store, table.id, head)
    rows = (row for row in stored_rows(table.store, table.id, head, oldest) if not row.is_needed)
    entries = set(unneeded_entries(table.store, table.id, head, oldest, rows))
    for index in table.metadata.indexes:
        entries.update(leftover_entries(table.store, table.id, head, index))
    if repair:
        delete_in_batches(table.store, sorted(entries))
    if entries:
        text = f"{quantity(len(entries), 'entry leads', 'entries lead')} to rows or indexes that no version has, without harm"
        yield Finding("unneeded index entry", None, None, text, repair)


def check_newest(table: TableSnapshot, repair: bool) -> Iterator[Finding]:
    """Yield partitions that readers of the newest version miss, or read in an older state.

    Args:
        table: any version of the table.
        repair: drop a wrong list; a later commit makes a new one.

    Raises:
        TableNotFoundError: the table was dropped.
    """
    while True:
        head = _head(table)
        wrong = list(_wrong(table, head))
        if repair and wrong and not _drop_list(table, head):
            continue  # the head has another list by now
        if wrong and not repair and _head(table).commit.id != head.commit.id:
            continue  # rows may have been vacuumed meanwhile
        for key, text in wrong:
            yield Finding("newest rows", _name(table, key), None, text, repair)
        return


def _head(table: TableSnapshot) -> Head:
    return live_head(table.store, table.id, f"Table {table.label} was dropped or replaced meanwhile.")


def _wrong(table: TableSnapshot, head: Head) -> Iterator[tuple[bytes, str]]:
    """Yield keys of partitions, each with the list's error about it."""
    listed = dict(decode_newest(head.newest))
    if not listed:
        return
    rows = VisibleRows(table.store, table.id, head.commit).all_newest()
    newest = {key: NewestRow(row.ticket, row.is_tombstone) for key, row in rows}
    for key, row in listed.items():
        there = newest.get(key)
        # a dropped partition has no row any more after its tombstone was vacuumed
        if there != row and not (there is None and row.is_tombstone):
            now = "there is none" if there is None else f"the newest is {_describe_row(there)}"
            yield (
                key,
                f"the head lists a row {_describe_row(row)}, and {now}: readers of the newest version are misled",
            )
    if complete_ticket(head.newest) == head.commit.ticket:
        for key in sorted(key for key, row in newest.items() if not row.is_tombstone and key not in listed):
            yield key, "the head lists the newest rows of all others: readers of the newest version miss it"


def _describe_row(row: NewestRow) -> str:
    return f"written by ticket {row.ticket}{', by which it is gone' if row.is_tombstone else ''}"


def _name(table: TableSnapshot, key: bytes) -> str:
    try:
        return table.describe(key)
    except (ValueError, IndexError, ParquetryError):  # of other partition columns, or damaged
        return f"key {key.hex()}"


def _drop_list(table: TableSnapshot, checked: Head) -> bool:
    """Drop the list. Return False if the head has another list by now."""

    def change(head: Head) -> Head:
        return msgspec.structs.replace(head, newest=b"") if head.newest == checked.newest else head

    return not edit_head(table.store, table.id, change, lambda head: not head.newest).newest
