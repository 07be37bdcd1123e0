"""Take a ticket, abort it, and forget it: edits of the table's head, each by compare-and-set."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from parquetry.errors import CommitConflictError
from parquetry.metastore.commits.attempt.task import CommitTask, describe, require_kept
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.format import require_format
from parquetry.metastore.storage.head import Head, edit_head, merge, remove, swept_until
from parquetry.metastore.storage.owner import Owner


def take(task: CommitTask, owner: Owner, instead_of: int | None = None) -> tuple[Head, int]:
    """Take a ticket, and abort the tickets of dead authors in the same step.

    Args:
        task: the commit that needs the ticket.
        owner: this process.
        instead_of: a ticket of this process that is aborted in the same step, or None.

    Returns:
        The head as written, and the ticket.

    Raises:
        TableNotFoundError: the table was dropped or replaced.
        CommitConflictError: the table was renamed, a vacuum retired the base, or a vacuum may be deleting
            files that the commit adopts.
    """

    def mine(head: Head) -> list[int]:
        return [
            ticket
            for ticket, other in head.pending.items()
            if other.nonce == owner.nonce and ticket != instead_of
        ]

    def change(head: Head) -> Head:
        task.require_open(head)
        require_format(task.store, task.format)
        if instead_of is None:
            # The rows of the base were read before. If the base is still kept now, none of them was missing.
            require_kept(task.transaction, head, task.base.version)
        now = store_now_ms(task.store)
        if task.transaction.checks and head.cleaner is not None and not head.cleaner.is_dead(now):
            raise CommitConflictError(
                f"{describe(task.transaction)} adopts files while a vacuum of the table is deleting some; nothing was "
                "written: run it again after the vacuum."
            )
        dead = [t for t, other in head.pending.items() if t == instead_of or other.is_dead(now)]
        alive = {t: other for t, other in head.pending.items() if t not in dead}
        cleaner = head.cleaner
        if cleaner is not None and cleaner.host and cleaner.is_dead(now):
            cleaner = swept_until(head.next_ticket)
        return msgspec.structs.replace(
            head,
            cleaner=cleaner,
            next_ticket=head.next_ticket + 1,
            pending={**alive, head.next_ticket: msgspec.structs.replace(owner, started_at=now)},
            aborted=merge(head.aborted, ((t, t) for t in dead)),
        )

    head = edit_head(task.store, task.table, change, lambda head: bool(mine(head)))
    return head, mine(head)[0]


def abort(task: CommitTask, ticket: int) -> Head:
    """Abort a ticket, unless it is published or aborted already.

    Returns:
        The head as written, or as it was.

    Raises:
        TableNotFoundError: the table was dropped.
        StoreError: the store failed. The edit may have taken place.
    """

    def change(head: Head) -> Head:
        if ticket not in head.pending:
            return head
        aborted = merge(head.aborted, [(ticket, ticket)])
        return msgspec.structs.replace(head, pending=head.without(ticket), aborted=aborted)

    return edit_head(task.store, task.table, change, lambda head: ticket not in head.pending)


def forget(task: CommitTask, tickets: Sequence[int]) -> None:
    """Remove aborted tickets that have left no rows from the head."""

    def change(head: Head) -> Head:
        aborted = remove(head.aborted, tickets)
        return head if aborted == head.aborted else msgspec.structs.replace(head, aborted=aborted)

    edit_head(task.store, task.table, change, lambda head: not any(map(head.is_aborted, tickets)))
