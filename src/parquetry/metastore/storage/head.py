"""A table's head: the one row whose compare-and-set makes a commit visible.

The head holds the newest commit, whose authors are at work (pending tickets), and which gave up (aborted
tickets). It never returns to an earlier value, because tickets and versions only grow: a compare-and-set that
was delayed can not strike a later head that happens to look the same.

What a compare-and-set did is not taken from its answer alone: a lost or repeated message may turn "done" into
an error, or into False. The head is read back, and one's own ticket looked for.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from parquetry.errors import StoreError, TableNotFoundError
from parquetry.metastore.storage.keyspace import head_key
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.storage.owner import Owner
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.store import Store

MAX_FAILURES = 5
"""How often a failing store is asked again."""
MAX_PAUSE_SECONDS = 0.05

State = Literal["staged", "live", "replaced", "dropped"]
Kind = Literal["table", "view"]

Tickets = tuple[tuple[int, int], ...]
"""Ranges of tickets, both ends included, in order."""


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """The head of a table.

    Attributes:
        state: ``staged`` tables have no name yet; ``dropped`` ones have it no longer, nor have ``replaced`` ones, which only libraries
            before format 5 made.
        database: lower-case.
        name: lower-case.
        token: what the row of the table's name must hold to be taken for this table's.
        next_ticket: the first ticket not yet given out.
        pending: commits under way.
        aborted: tickets whose rows must never be seen.
        commit: the newest version.
        renaming: database, name and token that the table is about to take; a new table announces its first name so, too.
        successor: value for the row of the name, of the table that took this one's place.
        oldest: first version that can still be read.
        cleaner: who deletes files that others wrote; meanwhile none is taken in.
        author: who makes the table, which is nobody's if he dies before it has a name; None once it has one, or if not known.
        newest: of each partition the newest row, where partitions have many; see `versions.newest_rows`.
        kind: of what the name stands for; the same as of its metadata, in all versions.
    """

    state: State
    database: str
    name: str
    token: bytes
    next_ticket: int
    pending: dict[int, Owner]
    aborted: Tickets
    commit: CommitRecord
    renaming: tuple[str, str, bytes] | None = None
    successor: bytes | None = None
    oldest: int = 0
    author: Owner | None = None

    @property
    def is_deleted(self) -> bool:
        """Return whether the table was dropped, or another took its place."""
        return self.state in ("dropped", "replaced")

    @property
    def is_first_name(self) -> bool:
        """Return whether the table is about to get its first name: until the name's row is written nobody can reach it."""
        return self.renaming is not None and self.renaming[2] == self.token

    cleaner: Owner | None = None
    newest: bytes = b""
    kind: Kind = "table"

    def invisible(self) -> Tickets:
        """Return the tickets below `next_ticket` that no version has published."""
        return merge(self.aborted, ((ticket, ticket) for ticket in self.pending))

    def is_aborted(self, ticket: int) -> bool:
        """Return whether a ticket has been given up."""
        return any(first <= ticket <= last for first, last in self.aborted)

    def is_committed(self, ticket: int) -> bool:
        """Return whether a ticket has been published, or given up by its owner without a trace."""
        return ticket < self.next_ticket and ticket not in self.pending and not self.is_aborted(ticket)

    def without(self, ticket: int) -> dict[int, Owner]:
        """Return the pending tickets but one."""
        return {other: owner for other, owner in self.pending.items() if other != ticket}


def merge(ranges: Tickets, more: Iterable[tuple[int, int]]) -> Tickets:
    """Return the union of ranges of tickets.

    >>> merge(((1, 2), (7, 7)), [(3, 3), (9, 9)])
    ((1, 3), (7, 7), (9, 9))
    """
    merged: list[tuple[int, int]] = []
    for first, last in sorted([*ranges, *more]):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    return tuple(merged)


def remove(ranges: Tickets, tickets: Iterable[int]) -> Tickets:
    """Return ranges without some tickets.

    >>> remove(((1, 3), (7, 7)), [2, 7])
    ((1, 1), (3, 3))
    """
    remaining = list(ranges)
    for ticket in tickets:
        remaining = [
            part
            for first, last in remaining
            for part in (
                ((first, ticket - 1), (ticket + 1, last)) if first <= ticket <= last else ((first, last),)
            )
            if part[0] <= part[1]
        ]
    return tuple(remaining)


def pause(attempt: int) -> None:
    """Wait a little before another try, longer and at random as tries fail."""
    time.sleep(random.uniform(0, min(MAX_PAUSE_SECONDS, 0.0005 * 2 ** min(attempt, 10))))


def read_head(store: Store, table: bytes) -> Head | None:
    """Return the head of a table; None if the table is gone."""
    value = store.get(head_key(table))
    return None if value is None else decode_head(value)


def live_head(store: Store, table: bytes, message: str) -> Head:
    """Return the head of a table that is there.

    Args:
        store: of the metastore.
        table: id.
        message: what to say if it is not.

    Raises:
        TableNotFoundError: the table was dropped, or another took its place.
    """
    head = read_head(store, table)
    if head is None or head.is_deleted:
        raise TableNotFoundError(message)
    return head


def decode_head(value: bytes) -> Head:
    """Return a head from its row's value."""
    head: Head = decoder(Head).decode(value)
    return head


def edit_head(
    store: Store,
    table: bytes,
    change: Callable[[Head], Head],
    applied: Callable[[Head], bool],
) -> Head:
    """Change a head by compare-and-set, as often as it takes.

    Args:
        store: of the metastore.
        table: id.
        change: returns the new head for the head as it is; the same object for "nothing to do". May raise.
        applied: whether a head shows that an earlier try, of which no answer or a wrong one came, took place.

    Returns:
        the head as written, or as found.

    Raises:
        TableNotFoundError: the table is gone.
        StoreError: the store fails. A try may have taken place.
    """
    failures = attempt = 0
    in_doubt = False
    while True:
        value = store.get(head_key(table))
        if value is None:
            raise TableNotFoundError("The table was dropped meanwhile; nothing was written.")
        head = decode_head(value)
        if in_doubt and applied(head):
            return head
        changed = change(head)
        if changed is head:
            return head
        in_doubt = True
        try:
            if store.compare_and_set(head_key(table), value, encode(changed)):
                return changed
        except StoreError:
            failures += 1
            if failures == MAX_FAILURES:
                raise
        attempt += 1
        pause(attempt)


def swap(store: Store, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
    """Compare-and-set a row to a value that nobody else writes, and say whether it took place.

    Raises:
        StoreError: the store fails; the write may yet take place.
    """
    failure: StoreError | None = None
    try:
        if store.compare_and_set(key, expected, value):
            return True
    except StoreError as error:
        failure = error
    current = store.get(key)
    if current == value:
        return True
    if failure is not None and current == expected:
        raise failure
    return False
