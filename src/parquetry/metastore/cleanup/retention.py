"""Which rows of a table are needed, by versions that are kept or by commits under way; removing the others.

`commits.committer` writes rows, `recovery` removes those of commits that failed. Here it is about versions of partitions
that others have superseded. Data files are `parquetry.maintenance.deletion.vacuum`'s.

A row that says that a partition is gone hides older ones, and a reader takes the newest row that it finds; so
rows are removed oldest first, lest a reader of a version that is going away takes an older row for its own.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator
from enum import IntEnum
from typing import NamedTuple

import msgspec

from parquetry.errors import TableNotFoundError
from parquetry.metastore.manifest import chunk_position
from parquetry.metastore.storage import (
    CHUNKS,
    COMMITS,
    METADATA,
    ROWS_PER_DELETE,
    SUMMARIES,
    TICKET_BYTES,
    CommitRecord,
    Head,
    batches,
    commit_key,
    decoder,
    delete_in_batches,
    edit_head,
    is_tombstone,
    merge,
    now_ms,
    number,
    partition_prefix,
    prefix_range,
    ticket_of,
)
from parquetry.metastore.versions import commit_as_of, load_commit
from parquetry.store import Store


class Need(IntEnum):
    """Who needs a row; those that nobody needs, in the order in which they have to go."""

    LIVE = 0
    """A version that is kept."""
    WORKING = 1
    """A commit under way, or one so new that the head read before does not know it."""
    OLDER = 2
    """Nobody: newer rows are superseded, too, or its commit was given up."""
    SUPERSEDED = 3
    """Nobody: the newest among those that the kept versions have left behind."""
    TOMBSTONE = 4
    """Nobody, once the rows are gone that it hides."""


class StoredRow(NamedTuple):
    """A row of a partition: its key in the store, the partition's key, its commit's ticket, its value.

    Or one of a file taken out, whose path is the key.
    """

    row_key: bytes
    key: bytes
    ticket: int
    value: bytes
    need: Need


def kept_since(store: Store, table: bytes, head: Head, time: int) -> CommitRecord:
    """Return the oldest version that has to be kept for reading the table as of a time, or later.

    Args:
        store: of the metastore.
        table: id.
        head: of the table.
        time: milliseconds since the epoch.

    Raises:
        TableNotFoundError: the table was dropped, or vacuumed by someone else meanwhile.
    """
    return commit_as_of(store, table, head, time) or oldest_commit(store, table, head)


def oldest_commit(store: Store, table: bytes, head: Head) -> CommitRecord:
    """Return the commit of the oldest version that can be read.

    Raises:
        TableNotFoundError: its row is not there: the table was dropped or vacuumed meanwhile.
    """
    commit = load_commit(store, table, head, head.oldest)
    if commit is None:
        raise TableNotFoundError(
            f"Version {head.oldest} of table {head.database}.{head.name} was dropped or vacuumed meanwhile."
        )
    return commit


def retire(store: Store, table: bytes, oldest: int) -> Head:
    """Make versions before one unreadable for good, and give up the commits of dead authors.

    Returns:
        the head as it is then; someone else may have retired more.

    Raises:
        TableNotFoundError: the table was dropped.
    """

    def change(head: Head) -> Head:
        now = now_ms()
        dead = [ticket for ticket, owner in head.pending.items() if owner.is_dead(now)]
        if head.oldest >= oldest and not dead:
            return head
        return msgspec.structs.replace(
            head,
            oldest=max(head.oldest, oldest),
            pending={ticket: owner for ticket, owner in head.pending.items() if ticket not in dead},
            aborted=merge(head.aborted, ((ticket, ticket) for ticket in dead)),
        )

    return edit_head(store, table, change, lambda head: head.oldest >= oldest)


def stored_rows(
    store: Store, table: bytes, head: Head, oldest: CommitRecord, prefix: bytes | None = None
) -> Iterator[StoredRow]:
    """Yield all rows of a table's partitions, with who needs them.

    Args:
        store: of the metastore.
        table: id.
        head: as it was some time ago at most.
        oldest: the oldest version that is kept.
        prefix: of the rows, if they are others that are tagged alike: `removed_files_prefix`.
    """
    prefix = prefix or partition_prefix(table)
    invisible = oldest.invisible
    last: bytes | None = None
    superseding = False  # whether a row of this partition was seen that the oldest version shows
    superseded = False
    for row_key, value in store.scan(*prefix_range(prefix)):
        key, ticket = row_key[len(prefix) : -TICKET_BYTES], ticket_of(row_key)
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
    """Remove the rows of partitions that nobody needs, in the order that readers need.

    Args:
        store: of the metastore.
        table: id.
        head: as it was some time ago at most.
        oldest: the oldest version that is kept.
        entries: keys of a row's entries in indexes, which go in the same order.
        prefix: as for `stored_rows`.
        spared: keys of partitions of which no row goes.
    """
    for need in (Need.OLDER, Need.SUPERSEDED, Need.TOMBSTONE):
        rows = (
            row
            for row in stored_rows(store, table, head, oldest, prefix)
            if row.need is need and row.key not in spared
        )
        for batch in batches(rows, ROWS_PER_DELETE):
            # Rows of one batch go in any order, and only a row that is there tells of its entries.
            delete_in_batches(store, (key for row in batch for key in entries(row)))
            store.delete_many([row.row_key for row in batch])


def commit_rows(store: Store, table: bytes) -> Iterator[tuple[bytes, CommitRecord]]:
    """Yield the keys and commits of all versions but the newest, oldest first, vacuumed ones included."""
    decode = decoder(CommitRecord).decode
    for key, value in store.scan(*prefix_range(COMMITS + table)):
        yield key, decode(value)


def unneeded_commits(store: Store, table: bytes, oldest: CommitRecord) -> Iterator[bytes]:
    """Yield the keys of the commits before the oldest version that is kept."""
    for key, _ in store.scan(COMMITS + table, commit_key(table, oldest.version)):
        yield key


def unneeded_metadata(store: Store, table: bytes, head: Head, oldest: CommitRecord) -> Iterator[bytes]:
    """Yield the keys of the metadata that no version from the oldest on has."""
    kept = {head.commit.metadata, oldest.metadata}
    kept.update(c.metadata for _, c in commit_rows(store, table) if c.version >= oldest.version)
    for key, _ in store.scan(METADATA + table, METADATA + table + number(head.next_ticket)):
        ticket = int.from_bytes(key[-TICKET_BYTES:], "big")
        if ticket not in kept and ticket not in head.pending:
            yield key


def unneeded_chunks(
    store: Store, table: bytes, head: Head, referenced: set[tuple[int, int]]
) -> Iterator[tuple[bytes, bytes]]:
    """Yield the rows with parts of long lists of files, and those that sum them up, to which no row refers.

    Args:
        store: of the metastore.
        table: id.
        head: as it was before the references were collected.
        referenced: ticket and number of each chunk that is still referred to.
    """
    for tag in (CHUNKS, SUMMARIES):
        for key, value in store.scan(tag + table, tag + table + number(head.next_ticket)):
            place = chunk_position(key)
            if place not in referenced and place[0] not in head.pending:
                yield key, value
