"""Count and delete the rows of the metastore that only retired versions need.

A row that lists a file is deleted after the file, so `deletion.vacuum` calls `delete` last.

The tickets of killed writers are forgotten: every head and every version would repeat them for ever.

A ticket that is neither pending nor aborted counts as committed, so a row of it would be shown. An aborted
ticket may be forgotten only if no row of it can come any more. Two things make sure of that:

- **A writer looks before it writes.** If more than five minutes have passed since a writer last saw its
  ticket pending, it reads the head again before it writes rows (`commits.attempt`). Its clock counts the time
  that the machine sleeps. So what it sends was sent at most five minutes after the ticket was aborted.
- **A ticket is forgotten late.** A version's record says which tickets had been aborted by then. A vacuum
  goes by a version that is as old as the grace period, at least an hour, by the earliest of the known clocks.
  It forgets the aborted tickets of this version. A ticket with a row that this vacuum has found stays until
  the next one.

A row that comes after that would have been under way for 55 minutes. Stores give up far earlier: SQLite
writes in one call, and the clients of PostgreSQL and HBase end requests after minutes. Readers are not
concerned: a version's own record says what it does not show, and stays as it is. A writer whose ticket was
forgotten finds it no longer pending, as one whose ticket was aborted.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Container, Iterator

import msgspec

from parquetry.metastore.cleanup import retention
from parquetry.metastore.cleanup.index_upkeep import entries_of_dropped, entries_of_rows, unneeded_entries
from parquetry.metastore.cleanup.retention import (
    delete_stored_rows,
    unneeded_chunks,
    unneeded_commits,
    unneeded_metadata,
)
from parquetry.metastore.cleanup.survey import RowSurvey, UnneededRow
from parquetry.metastore.manifest.chunks import chunk_position
from parquetry.metastore.results import Removed
from parquetry.metastore.storage.head import Head, Tickets, edit_head, remove
from parquetry.metastore.storage.keyspace import (
    JOURNAL,
    delete_in_batches,
    journal_ticket,
    prefix_range,
    removed_files_prefix,
)
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.versions.snapshot import commit_as_of
from parquetry.store import Store


class UnneededRows:
    """A table's rows that neither a kept version nor a running commit needs.

    Args:
        store: the metastore's store.
        table: the table's id.
        oldest: the oldest version that is kept.
        survey: the rows of partitions.
        kept: keys of partitions whose rows all stay.
    """

    def __init__(
        self, store: Store, table: bytes, oldest: CommitRecord, survey: RowSurvey, kept: Container[bytes]
    ) -> None:
        self._store = store
        self._table = table
        self._oldest = oldest
        self._survey = survey
        self._kept = kept

    def count(self, head: Head) -> list[Removed]:
        """Return the number of unneeded rows of each kind that has any.

        Args:
            head: the table's head, after old versions were retired.
        """
        store, table, oldest = self._store, self._table, self._oldest
        chunks = list(self._chunks(head))
        lists = {chunk_position(key) for key, _ in chunks}
        unneeded = self._survey.unneeded
        entries = unneeded_entries(store, table, head, oldest, (each.row for each in unneeded))
        removed = [
            _count_removed("partition versions", [each.size for each in unneeded if self._goes(each)]),
            _count_removed("taken-out records", self._survey.records),
            Removed("index entries", None, _count(entries), None),
            Removed("file lists", None, len(lists), sum(len(value) for _, value in chunks)),
            Removed("metadata", None, _count(unneeded_metadata(store, table, head, oldest)), None),
            Removed("commits", None, _count(unneeded_commits(store, table, oldest)), None),
            Removed("journals", None, len(self._journals(head)), None),
        ]
        return [row for row in removed if row.count]

    def delete(self, head: Head, counted: Collection[str]) -> None:
        """Delete the unneeded rows.

        Args:
            head: the head that was used to count them.
            counted: the kinds with a count above 0. The others are skipped, which avoids reading a million
                keys again.
        """
        store, table, oldest = self._store, self._table, self._oldest
        retention.sweep(store, {table: head})
        if "index entries" in counted:
            delete_in_batches(store, entries_of_dropped(store, table, head, oldest))
        if "partition versions" in counted:
            entries = entries_of_rows(store, table, head, oldest)
            delete_stored_rows(store, table, head, oldest, entries, spared=self._kept)
        if "taken-out records" in counted:
            records = removed_files_prefix(table)
            delete_stored_rows(store, table, head, oldest, lambda _: (), records)
        if "file lists" in counted:
            delete_in_batches(store, (key for key, _ in self._chunks(head)))
        delete_in_batches(store, unneeded_commits(store, table, oldest))
        delete_in_batches(store, unneeded_metadata(store, table, head, oldest))

    def _goes(self, each: UnneededRow) -> bool:
        return each.row.key not in self._kept

    def _chunks(self, head: Head) -> Iterator[tuple[bytes, bytes]]:
        kept = (each.chunks for each in self._survey.unneeded if not self._goes(each))
        return unneeded_chunks(self._store, self._table, head, self._survey.chunks.union(*kept))

    def _journals(self, head: Head) -> set[int]:
        tickets = (journal_ticket(key) for key, _ in self._store.scan(*prefix_range(JOURNAL + self._table)))
        return {ticket for ticket in tickets if ticket < head.next_ticket and ticket not in head.pending}


def _count_removed(kind: str, sizes: list[int]) -> Removed:
    return Removed(kind, None, len(sizes), sum(sizes))


def _count(keys: Iterator[bytes]) -> int:
    return sum(1 for _ in keys)


def forget_tickets(store: Store, table: bytes, head: Head, seen: Collection[int], time: int) -> None:
    """Remove the tickets of killed writers from the head.

    Args:
        store: store of the metastore.
        table: id of the table.
        head: the head that this vacuum began with, after it retired versions.
        seen: aborted tickets with rows, which this vacuum has found and deleted.
        time: tickets that were aborted later stay; in milliseconds since the epoch.

    Raises:
        TableNotFoundError: the table was dropped meanwhile.
    """
    before = commit_as_of(store, table, head, time)
    tickets = () if before is None else remove(intersect(before.aborted, head.aborted), seen)

    def change(head: Head) -> Head:
        aborted = functools.reduce(lambda rest, some: remove_range(rest, *some), tickets, head.aborted)
        return head if aborted == head.aborted else msgspec.structs.replace(head, aborted=aborted)

    if tickets:
        edit_head(store, table, change, lambda head: not intersect(tickets, head.aborted))


def intersect(one: Tickets, other: Tickets) -> Tickets:
    """Return the tickets that are in both of two lists of ranges.

    >>> intersect(((1, 5), (8, 9)), ((2, 3), (5, 8)))
    ((2, 3), (5, 5), (8, 8))
    """
    pairs = [(max(a, c), min(b, d)) for a, b in one for c, d in other]
    return tuple(sorted((first, last) for first, last in pairs if first <= last))


def remove_range(ranges: Tickets, first: int, last: int) -> Tickets:
    """Return ranges of tickets without the tickets from `first` to `last`.

    >>> remove_range(((1, 5), (7, 9)), 4, 7)
    ((1, 3), (8, 9))
    """
    parts = [
        part for low, high in ranges for part in ((low, min(high, first - 1)), (max(low, last + 1), high))
    ]
    return tuple((low, high) for low, high in parts if low <= high)
