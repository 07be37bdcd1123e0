"""The outcome of a commit that failed half way: it never becomes visible, it took place, or it is unknown."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from parquetry.errors import (
    CommitAbortedError,
    CommitUnknownError,
    ParquetryError,
    StoreError,
    TableNotFoundError,
)
from parquetry.metastore.commits.attempt.rows import Attempt
from parquetry.metastore.commits.attempt.task import CommitTask, describe
from parquetry.metastore.commits.attempt.ticket import abort, forget
from parquetry.metastore.storage.head import Head
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.versions.snapshot import load


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
    not_made = isinstance(error, ParquetryError) and not isinstance(error, StoreError)
    try:
        head = abort(task, attempt.ticket)
    except TableNotFoundError:
        transaction.may_be_visible = False
        return None
    except BaseException as failure:
        if not_made:
            transaction.may_be_visible = False
        elif transaction.may_be_visible and isinstance(error, Exception) and isinstance(failure, Exception):
            raise unknown(task, error) from error
        if not isinstance(failure, StoreError):
            raise
        return None
    if head.is_committed(attempt.ticket):
        return head
    transaction.may_be_visible = False
    with contextlib.suppress(ParquetryError):
        attempt.delete_rows()
        # A failed write may still arrive. So the ticket may be forgotten only if no write failed.
        if not_made and not isinstance(error, CommitAbortedError):
            forget(task, forgettable if attempt.in_doubt else [*forgettable, attempt.ticket])
    return None


def unknown(task: CommitTask, error: Exception) -> CommitUnknownError:
    """Return the exception to raise if an error leaves open whether a commit took place."""
    reason = (
        f"the store fails ({error.message.removesuffix('.')})"
        if isinstance(error, StoreError)
        else f"of {error!r}"
    )
    return CommitUnknownError(
        f"Whether {describe(task.transaction)} took place is not known, because {reason}; look for commit {task.id} in the table's history "
        "before running it again."
    )


def own_commit(task: CommitTask, head: Head) -> CommitRecord:
    """Return the record of the commit, whether or not later commits followed it.

    Raises:
        CommitUnknownError: the commit is not in the table's history.
    """
    if head.commit.id == task.id:
        return head.commit
    for commit in load(task.store, task.table, head).history():
        if commit.id == task.id:
            return commit
        if commit.version <= task.base.version:
            break
    raise CommitUnknownError(
        f"{describe(task.transaction)} cannot be found in the table's history; "
        "compare the table with what was to be written."
    )
