"""Take a ticket, abort it, and forget it: edits of the table's head, each by compare-and-set.

`give_up` decides the outcome of a commit that failed half way: it never becomes visible, it took place, or it
is unknown.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

import msgspec

from parquetry import errors
from parquetry.metastore.commits.attempt import Attempt
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.format import require_format
from parquetry.metastore.storage.head import Head, edit_head, ended_cleaner, merge, remove
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.storage.owner import Owner
from parquetry.metastore.transactions.prepared import CommitTask, describe, require_kept
from parquetry.metastore.versions.snapshot import load


def tickets_of(head: Head, owner: Owner, except_for: int | None = None) -> list[int]:
    """Return the tickets of a process among the pending ones of a head."""
    return [
        ticket
        for ticket, other in head.pending.items()
        if other.nonce == owner.nonce and ticket != except_for
    ]


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

    def change(head: Head) -> Head:
        changed = with_ticket(task, owner, head, instead_of)
        require_format(task.store, task.format)
        return changed

    head = edit_head(task.store, task.table, change, lambda head: bool(tickets_of(head, owner, instead_of)))
    return head, tickets_of(head, owner, instead_of)[0]


def with_ticket(task: CommitTask, owner: Owner, head: Head, instead_of: int | None = None) -> Head:
    """Return a head with a new ticket; see `take`. The caller then checks the format of the store."""
    task.require_open(head)
    if instead_of is None:
        # The rows of the base were read before. If the base is still kept now, none of them was missing.
        require_kept(task.transaction, head, task.base.version)
    now = store_now_ms(task.store)
    if task.transaction.requirements.checks and head.cleaner is not None and not head.cleaner.is_dead(now):
        raise errors.CommitConflictError(
            f"{describe(task.transaction)} adopts files while a vacuum of the table is deleting some; nothing was "
            "written: run it again after the vacuum."
        )
    dead = [t for t, other in head.pending.items() if t == instead_of or other.is_dead(now)]
    alive = {t: other for t, other in head.pending.items() if t not in dead}
    cleaner = head.cleaner
    if cleaner is not None and cleaner.host and cleaner.is_dead(now):
        cleaner = ended_cleaner(head.next_ticket)
    return msgspec.structs.replace(
        head,
        cleaner=cleaner,
        next_ticket=head.next_ticket + 1,
        pending={**alive, head.next_ticket: msgspec.structs.replace(owner, started_at=now)},
        aborted=merge(head.aborted, ((t, t) for t in dead)),
    )


def abort(task: CommitTask, ticket: int) -> Head:
    """Abort a ticket, unless it is committed or aborted already.

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
        return msgspec.structs.replace(head, pending=head.pending_without(ticket), aborted=aborted)

    return edit_head(task.store, task.table, change, lambda head: ticket not in head.pending)


def forget(task: CommitTask, tickets: Sequence[int]) -> None:
    """Remove aborted tickets that have left no rows from the head."""

    def change(head: Head) -> Head:
        aborted = remove(head.aborted, tickets)
        return head if aborted == head.aborted else msgspec.structs.replace(head, aborted=aborted)

    edit_head(task.store, task.table, change, lambda head: not any(map(head.is_aborted, tickets)))


def give_up(
    task: CommitTask, attempt: Attempt, forgettable: Sequence[int], error: BaseException
) -> Head | None:
    """Make sure that a commit never becomes visible, and clean up.

    Args:
        task: the commit.
        attempt: its last attempt.
        forgettable: aborted tickets of earlier attempts that have left no rows.
        error: the error that ended the attempt.

    Returns:
        the head if the commit turns out to have taken place before the error came, or None.

    Raises:
        CommitUnknownError: the commit may have taken place, and the store does not answer.
    """
    transaction = task.transaction
    # Errors that this protocol raises itself mean that the commit did not take place.
    not_made = isinstance(error, errors.ParquetryError) and not isinstance(error, errors.StoreError)
    try:
        head = abort(task, attempt.ticket)
    except errors.TableNotFoundError:
        transaction.may_be_visible = False
        return None
    except BaseException as failure:
        if not_made:
            transaction.may_be_visible = False
        elif transaction.may_be_visible and isinstance(error, Exception) and isinstance(failure, Exception):
            raise unknown_outcome(task, error) from error
        if not isinstance(failure, errors.StoreError):
            raise
        return None
    # an aborted ticket that a vacuum has forgotten looks committed
    if head.is_committed(attempt.ticket) and not isinstance(error, errors.CommitAbortedError):
        return head
    transaction.may_be_visible = False
    with contextlib.suppress(errors.ParquetryError):
        attempt.delete_rows()
        # A failed write may still arrive. So the ticket may be forgotten only if no write failed.
        if not_made and not isinstance(error, errors.CommitAbortedError):
            forget(task, forgettable if attempt.in_doubt else [*forgettable, attempt.ticket])
    return None


def unknown_outcome(task: CommitTask, error: Exception) -> errors.CommitUnknownError:
    """Return the exception to raise if an error leaves open whether a commit took place."""
    reason = (
        f"the store fails ({error.message.removesuffix('.')})"
        if isinstance(error, errors.StoreError)
        else f"of {error!r}"
    )
    return errors.CommitUnknownError(
        f"Whether {describe(task.transaction)} took place is not known, because {reason}; look for commit {task.id} in the table's history "
        "before running it again."
    )


def own_commit(task: CommitTask, head: Head) -> CommitRecord:
    """Return the record of the commit, whether or not later commits followed it.

    Raises:
        CommitUnknownError: the commit is not in the table's history.
    """
    if (commit := find_commit(task, head)) is not None:
        return commit
    raise errors.CommitUnknownError(
        f"{describe(task.transaction)} cannot be found in the table's history; "
        "compare the table with what was to be written."
    )


def find_commit(task: CommitTask, head: Head) -> CommitRecord | None:
    """Return the record of the commit in the table's history, or None if it is not there."""
    if head.commit.id == task.id:
        return head.commit
    for commit in load(task.store, task.table, head).history():
        if commit.id == task.id:
            return commit
        if commit.version <= task.base.version:
            break
    return None
