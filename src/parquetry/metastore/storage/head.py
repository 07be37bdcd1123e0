"""A table's head: the one row whose compare-and-set makes a commit visible.

The head has the newest commit, the tickets of commits under way (pending), and the tickets of commits that
were given up (aborted). It never returns to an earlier value, because tickets and versions only grow. So a
delayed compare-and-set cannot hit a later head that happens to be equal.

The answer of a compare-and-set is not enough to know whether it took place: a lost or repeated message may
turn "done" into an error, or into False. So the writer reads the head back and looks for its own ticket.
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
"""Failures of the store after which `edit_head` gives up."""
MAX_PAUSE_SECONDS = 0.05

State = Literal["staged", "live", "replaced", "dropped", "branch", "publishing"]
Kind = Literal["table", "view"]

Tickets = tuple[tuple[int, int], ...]
"""Ranges of tickets, both ends included, in order."""


class Tag(msgspec.Struct, frozen=True, array_like=True):
    """A name for a version, which keeps that version and all later ones.

    Attributes:
        version: number of the version.
        created_at: when the tag was made, in milliseconds since the epoch.
    """

    version: int
    created_at: int


class Branch(msgspec.Struct, frozen=True, array_like=True):
    """A branch of a table, as the table's head names it.

    Attributes:
        id: id of the branch's own rows.
        version: number of the table's version that it began with, which is kept, like one with a tag.
        created_at: when it was made, in milliseconds since the epoch.
        turn: how often its publishing has begun. So a publisher that was taken for dead commits nothing.
    """

    id: bytes
    version: int
    created_at: int
    turn: int = 0


class Head(msgspec.Struct, frozen=True, omit_defaults=True):
    """The head of a table.

    Attributes:
        state: a ``staged`` table has no name yet, a ``live`` one has its name, a ``dropped`` one has it no
            longer. A ``replaced`` table has lost its name to another table; only libraries before format 5
            made such heads. A ``branch`` is reached by the head of its table alone, and a ``publishing`` one
            takes no commits.
        database: the database's name, in lower case.
        name: the table's name, in lower case.
        token: token that the row of the name must have to lead to this table.
        next_ticket: the next ticket to give out.
        pending: commits under way: their tickets and authors.
        aborted: tickets whose rows must never be visible.
        commit: the newest version.
        renaming: database, name and token that the table is about to take. A new table announces its first
            name so.
        successor: value for the name's row, with the table that replaced this one.
        oldest: first version that can still be read.
        cleaner: the process that deletes files that a commit may list. While it does, no commit adopts files.
            Afterwards, `ended_cleaner` stands here.
        author: the process that makes the table. If it dies before the table has a name, the table is an
            orphan. None once the table has a name, or if the author is not known. In a dropped head: the
            process that deletes the files before the rows. If it dies, a vacuum deletes both.
        newest: the newest row of each partition, if partitions have many rows; see `versions.newest_rows`.
        kind: whether it is a table or a view, as its metadata say in all versions.
        tags: the tags of versions, by name. No version from the oldest of them on is retired.
        branches: the table's branches, by name. The versions that they began with are kept, too.
        branch_of: id of the table that this is a branch of, or empty.
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
        """Return whether the table was dropped or replaced."""
        return self.state in ("dropped", "replaced")

    @property
    def is_first_name(self) -> bool:
        """Return whether the table is about to get its first name.

        Until the name's row is written, no name leads to it.
        """
        return self.renaming is not None and self.renaming[2] == self.token

    @property
    def swept(self) -> int:
        """Return the next ticket at the end of the last vacuum that deleted files without a row, or 0.

        A commit that began with this ticket, or with an earlier one, has to look for its files.
        """
        if self.cleaner is None:
            return 0
        return self.next_ticket if self.cleaner.host else self.cleaner.pid

    cleaner: Owner | None = None
    newest: bytes = b""
    kind: Kind = "table"
    tags: dict[str, Tag] = msgspec.field(default_factory=dict)
    branches: dict[str, Branch] = msgspec.field(default_factory=dict)
    branch_of: bytes = b""

    @property
    def kept_versions(self) -> dict[str, int]:
        """Return the versions that tags and branches keep, by their names."""
        tags = {name: tag.version for name, tag in self.tags.items()}
        return tags | {name: branch.version for name, branch in self.branches.items()}

    @property
    def first_tagged(self) -> int | None:
        """Return the oldest version that a tag or a branch keeps, or None if there are none."""
        return min(self.kept_versions.values(), default=None)

    def invisible(self) -> Tickets:
        """Return the tickets below `next_ticket` that no version shows."""
        return merge(self.aborted, ((ticket, ticket) for ticket in self.pending))

    def is_aborted(self, ticket: int) -> bool:
        """Return whether a ticket was aborted."""
        return any(first <= ticket <= last for first, last in self.aborted)

    def is_committed(self, ticket: int) -> bool:
        """Return whether a ticket was committed, or aborted and then forgotten."""
        return ticket < self.next_ticket and ticket not in self.pending and not self.is_aborted(ticket)

    def pending_without(self, ticket: int) -> dict[int, Owner]:
        """Return the pending tickets except one."""
        return {other: owner for other, owner in self.pending.items() if other != ticket}


def ended_cleaner(ticket: int) -> Owner:
    """Return the record that replaces a cleaner which has ended: a dead author, with the next ticket."""
    return Owner(b"", 0, "", ticket, "")


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
    """Wait for a random time before another try. Its limit doubles with each attempt up to 50 ms."""
    time.sleep(random.uniform(0, min(MAX_PAUSE_SECONDS, 0.0005 * 2 ** min(attempt, 10))))


def read_head(store: Store, table: bytes) -> Head | None:
    """Return the head of a table, or None if the table was removed."""
    value = store.get(head_key(table))
    return None if value is None else decode_head(value)


def live_head(store: Store, table: bytes, message: str) -> Head:
    """Return the head of a table that was not dropped.

    Args:
        store: store of the metastore.
        table: id of the table.
        message: message of the error.

    Raises:
        TableNotFoundError: the table was dropped or replaced.
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
    form: Callable[[bytes, Head], bytes] = lambda _, changed: encode(changed),
    in_doubt: bool = False,
) -> Head:
    """Change a head by compare-and-set, and try again until it succeeds.

    Args:
        store: store of the metastore.
        table: id of the table.
        change: returns the new head for the present head, or the same object to change nothing. It may raise.
        applied: returns whether a head shows that an earlier try took place, although its answer was lost or
            wrong.
        form: returns the value to write, for the value that was read and the new head.
        in_doubt: whether a try before this call may have taken place.

    Returns:
        the head as written, or as it was.

    Raises:
        TableNotFoundError: the table was removed.
        StoreError: the store failed. A try may have taken place.
    """
    failures = attempt = 0
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
            if store.compare_and_set(head_key(table), value, form(value, changed)):
                return changed
        except StoreError:
            failures += 1
            if failures == MAX_FAILURES:
                raise
        attempt += 1
        pause(attempt)


def swap(store: Store, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
    """Compare-and-set a row to a unique value, and return whether it took place.

    Raises:
        StoreError: the store failed. The write may still take place.
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
