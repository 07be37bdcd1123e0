"""Finding the rows of a table that kept versions or commits under way need, and removing the others.

This module is about rows of partitions that later rows have superseded. `commits.committer` writes rows, and
`parquetry.metastore.vacuuming.vacuum` deletes data files.

A reader takes the newest row that its version shows, and a tombstone hides the rows before it. So rows are
removed oldest first. In another order, a reader of a version that is about to disappear could take an older
row for its own.

Rows of aborted commits and of dropped tables are removed here, too.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

import msgspec

from parquetry.errors import TableNotFoundError
from parquetry.metastore.manifest.chunks import chunk_position
from parquetry.metastore.partition_rows.indexes import entry_rows
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.checksums import is_tombstone
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.format import FIRST, require_format
from parquetry.metastore.storage.head import Head, edit_head, merge
from parquetry.metastore.storage.model import CommitRecord, PartitionIndex
from parquetry.metastore.storage.wire import decoder
from parquetry.metastore.versions.snapshot import commit_as_of, load_commit, load_metadata
from parquetry.store import Store, in_batches


class Need(IntEnum):
    """The use of a row. Unneeded rows have to be removed in the order of these numbers.

    Example: the oldest kept version shows the row of ticket 9, and a later one the row of ticket 12. The rows
    of a partition have the tickets 12, 9, 7 and 4: two are LIVE, 7 is SUPERSEDED and 4 is OLDER.
    """

    LIVE = 0
    """A kept version shows the row."""
    WORKING = 1
    """A commit under way wrote the row, or a commit so new that the head does not know its ticket."""
    OLDER = 2
    """Unneeded: a newer row is superseded, too, or the row's commit was aborted."""
    SUPERSEDED = 3
    """Unneeded: the newest row that is older than all rows of kept versions."""
    TOMBSTONE = 4
    """Unneeded once the rows that it hides have been removed."""


class StoredRow(NamedTuple):
    """A row of a partition, or of a removed file.

    Attributes:
        row_key: the row's key in the store.
        key: the partition's key, or the removed file's path.
        ticket: ticket of the commit that wrote the row.
        value: the row's value.
        need: the use of the row.
    """

    row_key: bytes
    key: bytes
    ticket: int
    value: bytes
    need: Need

    @property
    def is_needed(self) -> bool:
        """Whether a kept version or a commit under way needs the row."""
        return self.need in (Need.LIVE, Need.WORKING)


def oldest_needed_commit(store: Store, table: bytes, head: Head, time: int) -> CommitRecord:
    """Return the oldest version that is needed to read the table as of a time, or of any later time.

    No version is later than the first one that a tag or a branch keeps.

    Args:
        store: store of the metastore.
        table: id of the table.
        head: the table's head.
        time: milliseconds since the epoch.

    Raises:
        TableNotFoundError: the table was dropped, or another process vacuumed it meanwhile.
    """
    needed = commit_as_of(store, table, head, time) or oldest_commit(store, table, head)
    return up_to_tag(store, table, head, needed)


def up_to_tag(store: Store, table: bytes, head: Head, commit: CommitRecord) -> CommitRecord:
    """Return a version, or the first one that a tag or a branch keeps if that is older.

    Args:
        store: store of the metastore.
        table: id of the table.
        head: the table's head.
        commit: the version.
    """
    tagged = head.first_tagged
    if tagged is None or tagged >= commit.version:
        return commit
    return load_commit(store, table, head, tagged) or oldest_commit(store, table, head)


def oldest_commit(store: Store, table: bytes, head: Head) -> CommitRecord:
    """Return the commit of the oldest version that can be read.

    Raises:
        TableNotFoundError: its row is missing: the table was dropped or vacuumed meanwhile.
    """
    commit = load_commit(store, table, head, head.oldest)
    if commit is None:
        raise TableNotFoundError(
            f"Version {head.oldest} of table {head.database}.{head.name} was dropped or vacuumed meanwhile."
        )
    return commit


def retire(store: Store, table: bytes, oldest: int) -> Head:
    """Make the versions before `oldest` unreadable for good, and abort the commits of dead authors.

    Returns:
        the new head. Another process may have retired more versions. Fewer are retired if a tag or a
        branch keeps an older version.

    Raises:
        TableNotFoundError: the table was dropped.
    """

    def change(head: Head) -> Head:
        require_format(store, FIRST)  # a restore elsewhere may have retired the metastore
        now = store_now_ms(store)
        dead = [ticket for ticket, owner in head.pending.items() if owner.is_dead(now)]
        tagged = head.first_tagged
        kept = max(head.oldest, oldest if tagged is None else min(oldest, tagged))
        if head.oldest >= kept and not dead:
            return head
        return msgspec.structs.replace(
            head,
            oldest=kept,
            pending={ticket: owner for ticket, owner in head.pending.items() if ticket not in dead},
            aborted=merge(head.aborted, ((ticket, ticket) for ticket in dead)),
        )

    return edit_head(store, table, change, lambda head: head.oldest >= oldest)


def stored_rows(
    store: Store, table: bytes, head: Head, oldest: CommitRecord, prefix: bytes | None = None
) -> Iterator[StoredRow]:
    """Yield all rows of a table's partitions with their use.

    Args:
        store: store of the metastore.
        table: id of the table.
        head: the table's head, now or a short time ago.
        oldest: the oldest version that is kept.
        prefix: prefix of other rows with tickets, namely `removed_files_prefix`; None for partitions.
    """
    prefix = prefix or keyspace.partition_prefix(table)
    invisible = oldest.invisible
    last: bytes | None = None
    superseding = False  # whether the row of this partition that the oldest version shows has been seen
    superseded = False
    for row_key, value in store.scan(*keyspace.prefix_range(prefix)):
        key, ticket = row_key[len(prefix) : -keyspace.TICKET_BYTES], keyspace.ticket_of(row_key)
        if key != last:
            last, superseding, superseded = key, False, False
        if ticket >= head.next_ticket or ticket in head.pending:
            need = Need.WORKING
        elif head.is_aborted(ticket):
            need = Need.OLDER
        elif ticket >= oldest.next_ticket or any(first <= ticket <= end for first, end in invisible):
            need = Need.LIVE
        elif not superseding:
            superseding = True
            need = Need.TOMBSTONE if is_tombstone(value) else Need.LIVE
        else:
            need = Need.OLDER if superseded else Need.SUPERSEDED
            superseded = True
        yield StoredRow(row_key, key, ticket, value, need)


def delete_stored_rows(
    store: Store,
    table: bytes,
    head: Head,
    oldest: CommitRecord,
    entries: Callable[[StoredRow], Iterable[bytes]],
    prefix: bytes | None = None,
    spared: Container[bytes] = frozenset(),
) -> None:
    """Remove the unneeded rows of partitions, in an order that is safe for readers.

    Args:
        store: store of the metastore.
        table: id of the table.
        head: the table's head, now or a short time ago.
        oldest: the oldest version that is kept.
        entries: returns the keys of a row's entries in indexes, which are removed in the same order.
        prefix: prefix of the rows, as for `stored_rows`.
        spared: keys of partitions whose rows are all kept.
    """
    for need in (Need.OLDER, Need.SUPERSEDED, Need.TOMBSTONE):
        rows = (
            row
            for row in stored_rows(store, table, head, oldest, prefix)
            if row.need is need and row.key not in spared
        )
        for batch in in_batches(rows, keyspace.ROWS_PER_DELETE):
            # A row leads to its entries, and a batch is removed in any order. So entries go first.
            keyspace.delete_in_batches(store, (key for row in batch for key in entries(row)))
            store.delete_many([row.row_key for row in batch])


def commit_rows(store: Store, table: bytes) -> Iterator[tuple[bytes, CommitRecord]]:
    """Yield the keys and commits of all versions but the newest, oldest first, including retired versions."""
    decode = decoder(CommitRecord).decode
    for key, value in store.scan(*keyspace.prefix_range(keyspace.COMMITS + table)):
        yield key, decode(value)


def unneeded_commits(store: Store, table: bytes, oldest: CommitRecord) -> Iterator[bytes]:
    """Yield the keys of the commits before the oldest kept version."""
    for key, _ in store.scan(keyspace.COMMITS + table, keyspace.commit_key(table, oldest.version)):
        yield key


def unneeded_metadata(store: Store, table: bytes, head: Head, oldest: CommitRecord) -> Iterator[bytes]:
    """Yield the keys of the metadata that no version from the oldest on has."""
    kept = {head.commit.metadata, oldest.metadata}
    kept.update(c.metadata for _, c in commit_rows(store, table) if c.version >= oldest.version)
    for key, _ in store.scan(
        keyspace.METADATA + table, keyspace.METADATA + table + keyspace.number(head.next_ticket)
    ):
        ticket = int.from_bytes(key[-keyspace.TICKET_BYTES :], "big")
        if ticket not in kept and ticket not in head.pending:
            yield key


def unneeded_chunks(
    store: Store, table: bytes, head: Head, referenced: set[tuple[int, int]]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the rows of chunks that no partition refers to, and the rows of their summaries.

    Args:
        store: store of the metastore.
        table: id of the table.
        head: the table's head, read before the references were collected.
        referenced: ticket and number of each chunk that a partition refers to.
    """
    for tag in (keyspace.CHUNKS, keyspace.SUMMARIES):
        for key, value in store.scan(tag + table, tag + table + keyspace.number(head.next_ticket)):
            position = chunk_position(key)
            if position not in referenced and position[0] not in head.pending:
                yield key, value


def sweep(store: Store, heads: Mapping[bytes, Head]) -> None:
    """Remove the journals of commits that have ended, and the rows of aborted commits.

    Args:
        store: store of the metastore.
        heads: heads of tables, by their ids, now or a short time ago. Their pending tickets and later tickets
            are left alone.
    """
    tables = sorted(heads)
    ranges = [keyspace.prefix_range(keyspace.JOURNAL + table) for table in tables]
    journal = list(store.scan_ranges(ranges) if len(ranges) > 1 else store.scan(*ranges[0]))
    ended: list[bytes] = []
    for (table, ticket), rows in itertools.groupby(
        journal, key=lambda row: (keyspace.journal_table(row[0]), keyspace.journal_ticket(row[0]))
    ):
        head = heads[table]
        if ticket >= head.next_ticket or ticket in head.pending:
            continue
        if head.is_aborted(ticket):
            partitions: list[bytes] = []
            files: list[bytes] = []
            for key, value in rows:
                keys = (
                    files
                    if keyspace.journal_part(key) >= keyspace.FIRST_PART_OF_REMOVED_FILES
                    else partitions
                )
                keys += decoder(list[bytes]).decode(value)
            indexes = load_metadata(store, table, head.commit).indexes
            delete_rows(store, table, ticket, partitions, indexes, files)
        else:
            ended += (row[0] for row in rows)
    if ended:
        store.delete_many(ended)


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
    prefix, age = keyspace.partition_prefix(table), keyspace.complement(ticket)
    rows = ((key, age, b"") for key in partitions)
    keyspace.delete_in_batches(store, (prefix + key + age for key in partitions))
    keyspace.delete_in_batches(store, (key for key, _ in entry_rows(table, indexes, rows)))
    keyspace.delete_in_batches(store, (keyspace.removed_files_prefix(table) + key + age for key in files))
    keyspace.delete_prefix(store, keyspace.CHUNKS + table + keyspace.number(ticket))
    keyspace.delete_prefix(store, keyspace.SUMMARIES + table + keyspace.number(ticket))
    store.delete_many([keyspace.metadata_key(table, ticket)])
    keyspace.delete_prefix(store, keyspace.JOURNAL + table + keyspace.number(ticket))


def end_branches(store: Store, head: Head) -> None:
    """Make sure that no branch of a dropped table takes another commit: its files would be left over.

    Args:
        store: store of the metastore.
        head: of the dropped table.
    """
    for branch in head.branches.values():
        end_branch(store, branch.id)


def end_branch(store: Store, branch: bytes) -> None:
    """Mark a branch as dropped, which its table no longer names. Its rows are deleted next."""

    def change(head: Head) -> Head:
        return head if head.is_deleted else msgspec.structs.replace(head, state="dropped", author=None)

    with contextlib.suppress(TableNotFoundError):
        edit_head(store, branch, change, lambda head: head.is_deleted)


def delete_table(store: Store, table: bytes) -> None:
    """Remove all rows of a table that no name leads to. Its head goes last, so that readers notice.

    The metadata go first. A reader that still finds them after the other rows has missed none of these.
    """
    for prefix in (
        keyspace.METADATA + table,
        keyspace.partition_prefix(table),
        keyspace.CHUNKS + table,
        keyspace.SUMMARIES + table,
        keyspace.JOURNAL + table,
        keyspace.COMMITS + table,
        keyspace.INDEXES + table,
        keyspace.removed_files_prefix(table),
        keyspace.RANGE_MANIFESTS + table,
        keyspace.UPKEEP + table,
    ):
        keyspace.delete_prefix(store, prefix)
    store.delete_many([keyspace.head_key(table)])
