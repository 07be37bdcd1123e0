"""Forget the tickets of killed writers, which every head and every version would repeat for ever.

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
from collections.abc import Collection

import msgspec

from parquetry.metastore.storage.head import Head, Tickets, edit_head, remove
from parquetry.metastore.versions.snapshot import commit_as_of
from parquetry.store import Store


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
