"""How a transaction becomes a version: on compare-and-set of one row, atomic over any number of partitions.

1. Raise the format of the store, if the rows need it (`storage.format`). Take a ticket: compare-and-set of the head, which
   then names this process as the author of a commit under way.
2. Write the journal: the keys of the partitions that are going to be written, and of the files of others that
   are taken out, for whoever has to clean up.
3. Read the partitions as they are, write their new rows, tagged with the ticket, their entries in the table's
   indexes, and the rows of files taken out. No version shows them. Before the first long list of files in columns, raise the
   format for it.
4. Compare-and-set the head: the ticket leaves the pending ones, the version goes up by one, and where the head lists
   the newest rows of partitions (`versions.newest_rows`), these are listed. Now all rows are visible. If others committed since, first
   look whether they touched the same partitions: appends are merged again, anything else is a conflict.
5. Remove the journal, and what dead writers left.

Two writers, A and B, append to partition d=1 of version 7, whose head gives out ticket 12 next:

    A   1  head: next 13, pending {12}           B   1  head: next 14, pending {12, 13}
    A   3  row (d=1, ticket 12): files 1, 2, a   B   3  row (d=1, ticket 13): files 1, 2, b
    A   4  head: version 8, pending {13}         B   4  the head has moved since version 7, and A's row is on d=1:
                                                        B gives up ticket 13 (aborted {13}), takes ticket 14,
                                                        writes row (d=1, ticket 14): files 1, 2, a, b
                                                 B   4  head: version 9, pending {}

A reader of version 7 sees the row of the newest ticket below 12, one of version 8 that of ticket 12, one of version 9
that of ticket 14. None ever sees ticket 13. Had A overwritten the partition instead, B's append would be a conflict.

Along the rows of a partition, or of a file taken out, tickets must grow in the order of the commits, since the
newest ticket wins. A commit that finds a later ticket than its own on one of them gives up its ticket and takes
another. So does one that would have to build a row anew that it has written: no row is ever given a second value, of
which a late message, or a clock that was set back, could make the first one the last.

A crash before 4 leaves invisible rows and a pending ticket, which the next writer turns into an aborted one
before it deletes the rows; an author who wakes up too late finds its ticket aborted. Aborted tickets are
remembered for ever, unless their own author has seen all its rows deleted: then none can turn up late.

A store that tries again inside says so (`Store.put_many`): what it tried first may be carried out after the
rows were deleted. Such a ticket is not forgotten either.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping

from parquetry.errors import CommitUnknownError, ParquetryError, TableNotFoundError
from parquetry.metastore.cleanup import recovery
from parquetry.metastore.commits.attempt import (
    Attempt,
    CommitTask,
    MovedError,
    give_up,
    own_commit,
    require_kept,
    require_open,
    take,
    unknown,
)
from parquetry.metastore.commits.attempt.publish import publish
from parquetry.metastore.commits.conflicts import Conflicts
from parquetry.metastore.commits.prepared import prepare
from parquetry.metastore.commits.removed_files import records_of
from parquetry.metastore.commits.successor import Successor
from parquetry.metastore.commits.transaction import Transaction
from parquetry.metastore.commits.validate import require_possible
from parquetry.metastore.storage import Head, Owner, active_owner, pause, read_head, require_format
from parquetry.metastore.versions import PartitionRow, TableSnapshot, VisibleRows, load


def commit(transaction: Transaction, summary: Mapping[str, str] | None = None) -> TableSnapshot:
    """Make all changes of a transaction visible at once.

    Args:
        transaction: what to change.
        summary: free text by key, for the history.

    Returns:
        The version made; the transaction's base if there is nothing to change.

    Raises:
        PartitionNotFoundError: a partition to drop or rename is not there.
        PartitionExistsError: a partition to add is there.
        CommitConflictError: others changed meanwhile what this transaction changes.
        CommitAbortedError: another writer took this one for dead.
        CommitUnknownError: the store does not say whether the commit took place.
        TableNotFoundError: the table was dropped or replaced meanwhile.
        BatchCommittedError: the batch of a streaming query was committed before.
        UnsupportedError: it was tried to commit the transaction before.
    """
    if isinstance(transaction.base, Successor):
        transaction.base.gather(transaction, summary or {})
        return transaction.base
    transaction.end()
    try:
        prepared = prepare(transaction)
        arranged = require_possible(prepared)
        removed_rows = records_of(prepared)
        if not prepared.changes and not removed_rows and prepared.metadata is None:
            transaction.base.check_kept()
            return transaction.base
    except ParquetryError:
        _require_base(transaction)
        raise
    task = CommitTask(os.urandom(8).hex(), prepared, removed_rows, arranged, dict(summary or {}))
    with active_owner() as owner:
        return _Committer(task, owner, *take(task, owner)).run()


def _require_base(transaction: Transaction) -> None:
    """Make sure that what is missing in a transaction's base has not been vacuumed away.

    Raises:
        CommitConflictError: it may have been.
        TableNotFoundError: the table was dropped or replaced.
    """
    base = transaction.base
    head = read_head(base.store, base.id)
    if head is None:
        raise TableNotFoundError(f"Table {base.label} was dropped meanwhile; nothing was written.") from None
    require_open(base, head)
    require_kept(transaction, head, base.version)


class _Committer:
    """One run of the protocol above, from its second step on.

    Args:
        task: what to commit.
        owner: this process, as the author of the commit.
        head: as it is since the first ticket was taken.
        ticket: the first one.
    """

    def __init__(self, task: CommitTask, owner: Owner, head: Head, ticket: int) -> None:
        self._task = task
        self._owner = owner
        self._conflicts = Conflicts(task.prepared)
        self._forgettable: list[int] = []
        self._head = head
        self._attempt = Attempt(task, ticket)

    def run(self) -> TableSnapshot:
        """Commit; see `committer`."""
        try:
            for check in self._task.transaction.checks:
                check()
            done = self._work()
        except BaseException as error:
            committed = give_up(self._task, self._attempt, self._forgettable, error)
            if committed is None or not isinstance(error, Exception):  # an interrupt is not swallowed
                raise
            done = committed
        try:
            return self._result(done)
        except CommitUnknownError:
            raise
        except BaseException as error:
            if isinstance(error, Exception):  # nobody must take it for a commit that failed
                raise unknown(self._task, error) from error
            raise

    def _work(self) -> Head:
        """Write and publish, as often as it takes."""
        task, base, store = self._task, self._task.base, self._task.store
        latest, version, moves = task.prepared.before, base.version, 0
        removed_rows: dict[bytes, PartitionRow] = {}
        if any(read.version.version < version for read in task.transaction.reads):
            self._conflicts.check_reads(base)
        while True:
            if self._head.commit.version != version:
                visible = VisibleRows(store, task.table, self._head.commit, self._head.newest)
                latest = visible.newest(task.prepared.changes)
                removed_rows = visible.removed_file_records().newest(task.removed_rows)
                self._conflicts.check(self._head, latest, removed_rows)
                version = self._head.commit.version
            if self._attempt.is_late(latest, removed_rows):
                pause(moves)
                self._take_another()
                continue
            self._attempt.write(self._head, latest)
            try:
                return publish(task, self._attempt, version, self._head, self._forgettable)
            except MovedError as moved:
                # A later library may have written the rows that are about to be read.
                require_format(store, task.format)
                self._head = moved.head
                moves += 1

    def _take_another(self) -> None:
        """Give up the ticket for a later one; there is no trace of the old one once its rows are gone."""
        old = self._attempt
        self._head, ticket = take(self._task, self._owner, instead_of=old.ticket)
        self._attempt = Attempt(self._task, ticket)
        old.delete_rows()
        if not old.in_doubt:
            self._forgettable.append(old.ticket)

    def _result(self, head: Head) -> TableSnapshot:
        task = self._task
        commit = own_commit(task, head)
        with contextlib.suppress(ParquetryError):  # what is left is found by the next writer
            recovery.sweep(task.store, task.table, head)
        try:
            return load(task.store, task.table, head, commit)
        except TableNotFoundError:  # dropped right after this commit
            about = head.database, head.name, commit, self._attempt.metadata
            return TableSnapshot(task.store, task.table, *about)
