"""The step that makes a commit visible: compare-and-set of the head to a version that shows its rows.

In a commit of several tables, the step that prepares it: compare-and-set of the head to an intent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec

from parquetry.errors import BatchCommittedError
from parquetry.metastore.commits.attempt import Attempt
from parquetry.metastore.commits.change_counts import count_removed
from parquetry.metastore.partition_rows.newest_rows import (
    NewestRow,
    complete_ticket,
    decode_newest,
    encode_newest,
    is_listed,
)
from parquetry.metastore.partition_rows.visible_rows import VisibleRows
from parquetry.metastore.range_manifests.records import mark_stale
from parquetry.metastore.refs.heads import without_branch
from parquetry.metastore.storage.clock import store_now_ms, warn_of_future
from parquetry.metastore.storage.head import Head, decode_head, edit_head, read_head, remove
from parquetry.metastore.storage.intents import HeadName, Intent, read_intent
from parquetry.metastore.storage.keyspace import head_key
from parquetry.metastore.storage.model import CommitRecord, Totals
from parquetry.metastore.storage.origin import ChangeCounts, Origin, current_author
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.transactions.changes import Drop
from parquetry.metastore.transactions.prepared import CommitTask, abort_error, require_kept
from parquetry.store import Store


class MovedError(Exception):
    """The head shows another version than the one that was validated.

    Attributes:
        head: the head as it is now.
    """

    def __init__(self, head: Head) -> None:
        super().__init__()
        self.head = head


class CommitMoment(NamedTuple):
    """A transaction of several tables, and what the intent of one of them says of it.

    Attributes:
        transaction: its id.
        time: when it is committed, in milliseconds since the epoch.
        name: the table's name after it, or None if it stays.
    """

    transaction: bytes
    time: int
    name: HeadName | None = None


Swap = Callable[[CommitTask, Attempt, int, Head, Sequence[int]], Head]
"""Makes a version, or prepares one, as `swap_head` does."""


def swap_head(
    task: CommitTask, attempt: Attempt, version: int, head: Head, forgettable: Sequence[int]
) -> Head:
    """Make a version that shows the rows of an attempt.

    Args:
        task: the commit.
        attempt: the attempt, which has written all its rows.
        version: the version on which these rows were built.
        head: the head of that version.
        forgettable: aborted tickets that have left no rows.

    Returns:
        The head that shows the new version, or a later one.

    Raises:
        MovedError: the table has a later version now.
        CommitAbortedError: another writer took this one for dead.
        CommitConflictError: the table was renamed, or a vacuum retired a version that the commit restores.
        TableNotFoundError: the table was dropped or replaced.
        BatchCommittedError: the batch of a streaming query was committed before.
    """
    change = _change(task, attempt, version, head, forgettable)
    task.transaction.may_be_visible = True
    return edit_head(task.store, task.table, change, lambda head: head.is_committed(attempt.ticket))


def prepare_intent(task: CommitTask, attempt: Attempt, value: bytes, moment: CommitMoment) -> Intent:
    """Return the intent that `put_intent` would put in the place of a head.

    Args:
        task: the commit.
        attempt: the attempt, which has written all its rows on the task's base.
        value: the head, encoded.
        moment: of the transaction.

    Raises:
        MovedError, CommitAbortedError, CommitConflictError, TableNotFoundError, BatchCommittedError: as
            `swap_head` does.
    """
    head = decode_head(value)
    after = _change(task, attempt, task.base.version, head, (), moment.time)(head)
    task.transaction.may_be_visible = True
    return Intent(moment.transaction, value, after.commit, after.newest, moment.name)


def put_intent(
    task: CommitTask,
    attempt: Attempt,
    version: int,
    head: Head,
    _: Sequence[int],
    *,
    moment: CommitMoment,
    in_doubt: bool,
) -> Head:
    """Put an intent in the place of the head, which makes a version if a transaction is committed.

    Args:
        task: the commit.
        attempt: the attempt, which has written all its rows.
        version: the version on which these rows were built.
        head: the head of that version.
        moment: of the transaction, whose record is pending.
        in_doubt: whether the intent may be there already.

    Returns:
        The head as it will be, but with its name as it is.

    Raises:
        MovedError, CommitAbortedError, CommitConflictError, TableNotFoundError, BatchCommittedError: as
            `swap_head` does.
    """
    change = _change(task, attempt, version, head, (), moment.time)
    task.transaction.may_be_visible = True

    def form(before: bytes, after: Head) -> bytes:
        return encode(Intent(moment.transaction, before, after.commit, after.newest, moment.name))

    def is_there(_: Head) -> bool:
        return has_intent(task.store, task.table, moment.transaction)

    after = edit_head(task.store, task.table, change, is_there, form, in_doubt)
    if after.commit.id != task.id:  # an earlier try took place, and the head is still what it was
        intent = read_intent(task.store, head_key(task.table))
        if isinstance(intent, Intent) and intent.transaction == moment.transaction:
            return intent.committed_head()
    return after


def put_name_intent(
    store: Store, table: bytes, transaction: bytes, name: HeadName, require: Callable[[Head | None], None]
) -> None:
    """Put an intent in the place of the head of a table whose name alone changes.

    Args:
        store: store of the metastore.
        table: id of the table.
        transaction: id of the transaction, whose record is pending.
        name: the name after it.
        require: raises an error if the table has another name now than the transaction takes from it, or is
            gone.
    """
    require(read_head(store, table))

    def change(head: Head) -> Head:
        require(head)
        return msgspec.structs.replace(head)  # another object: the intent is to be written

    edit_head(
        store,
        table,
        change,
        lambda _: has_intent(store, table, transaction),
        lambda before, _: encode(Intent(transaction, before, None, b"", name)),
    )


def has_intent(store: Store, table: bytes, transaction: bytes) -> bool:
    """Return whether a head has an intent of a transaction."""
    intent = read_intent(store, head_key(table))
    return intent is not None and intent.transaction == transaction


def _change(
    task: CommitTask,
    attempt: Attempt,
    version: int,
    head: Head,
    forgettable: Sequence[int],
    time: int | None = None,
) -> Callable[[Head], Head]:
    """Return the function that makes the next head of the present one; see `swap_head`."""
    transaction = task.transaction
    listed, all_listed = _newest_rows(task, head)

    def change(head: Head) -> Head:
        task.require_open(head)
        if transaction.restored_from is not None:
            require_kept(transaction, head, transaction.restored_from)
        if attempt.ticket not in head.pending:
            raise abort_error(transaction)
        if head.commit.version != version:
            raise MovedError(head)
        _require_new_batch(task, head.commit)
        after = msgspec.structs.replace(
            head,
            pending=head.pending_without(attempt.ticket),
            aborted=remove(head.aborted, forgettable),
        )
        if transaction.ends_branch is not None:
            after = without_branch(after, *transaction.ends_branch)
        newest = _encode_newest(task, attempt, listed, all_listed) if listed else b""
        return msgspec.structs.replace(after, commit=_commit(task, attempt, after, time), newest=newest)

    return change


def _require_new_batch(task: CommitTask, last: CommitRecord) -> None:
    batch = task.transaction.batch
    if batch is not None and batch.is_in(last):
        raise BatchCommittedError(
            f"Batch {batch.number} of the streaming query {batch.query} was committed to table {task.base.label} "
            "before; nothing was written."
        )


def _commit(task: CommitTask, attempt: Attempt, head: Head, time: int | None) -> CommitRecord:
    """Return the record of the new commit, given the last commit with the next version's tickets."""
    last, transaction = head.commit, task.transaction
    difference = sum((added for _, added in attempt.built.values()), Totals())
    now = store_now_ms(task.store) if time is None else time
    warn_of_future(task.base.label, last.version, last.committed_at, now)
    return CommitRecord(
        version=last.version + 1,
        ticket=attempt.ticket,
        id=task.id,
        committed_at=max(now, last.committed_at),
        operation=transaction.operation,
        summary=_summary(task, last.version),
        metadata=last.metadata if task.prepared.metadata is None else attempt.ticket,
        totals=difference if transaction.successor else last.totals + difference,
        next_ticket=head.next_ticket,
        invisible=head.invisible(),
        streams=last.streams if transaction.batch is None else transaction.batch.add_to(last.streams),
        written_at=now if now < last.committed_at else None,
        aborted=head.aborted,
        ranges=b""
        if transaction.successor
        else mark_stale(task.store, task.table, last.ranges, attempt.built),
        origin=Origin(
            current_author(attempt.metadata.properties),
            attempt.counts + (count_removed(last.totals) if transaction.successor else ChangeCounts()),
        ),
    )


def _summary(task: CommitTask, before: int) -> dict[str, str]:
    """Return the texts for the history.

    Args:
        task: the commit.
        before: the version before it.
    """
    notes = task.transaction.untouched
    untouched = sum(
        isinstance(change, Drop) and key not in task.transaction.changes
        for key, change in (task.prepared.changes.items() if notes else ())
    )
    return {**task.summary, **notes(untouched, before)} if notes and untouched else task.summary


def _newest_rows(task: CommitTask, head: Head) -> tuple[dict[bytes, NewestRow], bool]:
    """Return the newest rows of the partitions before a commit, and whether they include all partitions.

    The result is empty if the next head does not list newest rows.
    """
    base = task.base
    if task.transaction.successor or not base.partition_types or not is_listed(head.commit, head.newest):
        return {}, False
    if rows := dict(decode_newest(head.newest)):
        return rows, complete_ticket(head.newest) == head.commit.ticket
    visible = VisibleRows(task.store, task.table, head.commit)
    # Tombstones may have keys from before a REPLACE TABLE, which do not sort among the others.
    listed = (each for each in visible.all_newest() if base.placement.fits(each[0]))
    return {key: NewestRow(row.ticket, row.is_tombstone) for key, row in listed}, True


def _encode_newest(
    task: CommitTask, attempt: Attempt, listed: dict[bytes, NewestRow], all_listed: bool
) -> bytes:
    """Return the head's list of the newest rows, including the rows of an attempt."""
    changes = task.prepared.changes
    written = {key: NewestRow(attempt.ticket, isinstance(changes[key], Drop)) for key in attempt.built}
    return encode_newest({**listed, **written}, attempt.ticket if all_listed else None)
