"""How a transaction becomes a version: on compare-and-set of one row, atomic over any number of partitions.

1. Raise the format of the store, if the rows need it (`storage.format`). Take a ticket: compare-and-set of
   the head, which then names this process as the author of a commit under way.
2. Write the journal: the keys of the partitions that this commit will write, and of the foreign files that it
   removes. A later writer needs them to clean up after a crash.
3. Read the newest rows of the partitions. Write the new rows, tagged with the ticket, their entries in the
   table's indexes, and the records of removed files. No version shows them yet. Before the first long list of
   files in columns, raise the format for it.
4. Compare-and-set the head: the ticket leaves the pending ones, and the version goes up by one. If the head
   lists the newest rows of partitions (`versions.newest_rows`), the new rows join that list. Now all rows are
   visible. If others have committed since, first compare: appends are merged again, and any other change of a
   partition that others changed is a conflict.
5. Remove the journal, and the rows of dead writers.

Two writers, A and B, append to partition d=1 of version 7, whose head gives out ticket 12 next:

    A   1  head: next 13, pending {12}           B   1  head: next 14, pending {12, 13}
    A   3  row (d=1, ticket 12): files 1, 2, a   B   3  row (d=1, ticket 13): files 1, 2, b
    A   4  head: version 8, pending {13}         B   4  the head has moved, and A has a row on d=1:
                                                        B gives up ticket 13 (aborted {13}), takes ticket 14,
                                                        writes row (d=1, ticket 14): files 1, 2, a, b
                                                 B   4  head: version 9, pending {}

A reader of version 7 sees the row of the newest ticket below 12. A reader of version 8 sees the row of ticket
12, and a reader of version 9 the row of ticket 14. None ever sees ticket 13. Had B overwritten the partition
instead of appending to it, its commit would fail with a conflict.

The newest ticket of a partition, or of a removed file, wins. So tickets must grow in the order of the
commits. A commit that finds a later ticket than its own on one of its rows gives up its ticket and takes
another. It does the same if it would have to change a row that it has written. No row ever gets a second
value: a late message, or a clock that was set back, could bring the first value back.

A crash before step 4 leaves invisible rows and a pending ticket. The next writer aborts the ticket, and then
deletes the rows. An author that wakes up too late finds its ticket aborted. The head remembers aborted
tickets, because a late message may bring a row back. It forgets one if the ticket's own author has seen all
its rows deleted, or if vacuum has seen none for the grace period (`deletion.forget_tickets`).

A store that tries a write twice says so (`Store.put_many`): the first try may arrive after the rows were
deleted. Such a ticket is not forgotten either.
"""

from __future__ import annotations

import contextlib
import logging
import os
from collections.abc import Callable, Mapping

from parquetry.counters import COMMITS, CONFLICTS, COUNTERS
from parquetry.errors import CommitConflictError, CommitUnknownError, ParquetryError, TableNotFoundError
from parquetry.metastore.cleanup import retention
from parquetry.metastore.commits.attempt import Attempt, AttemptRows
from parquetry.metastore.commits.conflicts import Conflicts
from parquetry.metastore.commits.removed_files import records_of
from parquetry.metastore.commits.swap_head import MovedError, Swap, swap_head
from parquetry.metastore.commits.ticket import give_up, own_commit, take, unknown_outcome
from parquetry.metastore.followers import notify_followers
from parquetry.metastore.partition_rows.visible_rows import PartitionRow, VisibleRows
from parquetry.metastore.range_manifests.upkeep import refresh_after
from parquetry.metastore.storage.format import require_format
from parquetry.metastore.storage.head import Head, pause, read_head
from parquetry.metastore.storage.model import CommitRecord, TableMetadata, Totals
from parquetry.metastore.storage.owner import Owner, active_owner, uptime_s
from parquetry.metastore.transactions.gathering import draft_of
from parquetry.metastore.transactions.prepared import (
    CommitTask,
    KnownRows,
    prepare,
    require_kept,
    require_not_shared,
    require_open,
    require_possible,
)
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.snapshot import TableSnapshot, load, load_metadata

_LOG = logging.getLogger("parquetry")


class Successor(TableSnapshot):
    """A table as a REPLACE TABLE defines it, without partitions. Its commits wait for the replacement's own.

    The code that fills it need not know: it makes transactions as on any table, and `commit` hands them to
    `gather`.

    Args:
        base: the table that is replaced.
        metadata: its new metadata.
        gather: receives each committed transaction with its summary.
    """

    def __init__(
        self,
        base: TableSnapshot,
        metadata: TableMetadata,
        gather: Callable[[Transaction, Mapping[str, str]], None],
    ) -> None:
        nothing = CommitRecord(
            version=-1,  # not a version yet: caches of real versions must never answer for it
            ticket=0,
            id="",
            committed_at=base.committed_at,
            operation="replace",
            summary={},
            metadata=base.commit.metadata,
            totals=Totals(),
            next_ticket=1,
        )
        super().__init__(base.store, base.id, base.database, base.name, nothing, metadata)
        self.gather = gather

    def check_kept(self) -> None:
        """Do nothing: a successor reads no row of any version."""


def commit(transaction: Transaction, summary: Mapping[str, str] | None = None) -> TableSnapshot:
    """Make all changes of a transaction visible at once.

    Args:
        transaction: what to change.
        summary: texts by key, for the history.

    Returns:
        The new version, or the transaction's base if the transaction changes nothing.

    Raises:
        PartitionNotFoundError: a partition to drop or rename does not exist.
        PartitionExistsError: a partition to add exists.
        CommitConflictError: another commit changed what this transaction changes.
        CommitAbortedError: another writer took this one for dead.
        CommitUnknownError: the store does not answer whether the commit took place.
        TableNotFoundError: the table was dropped or replaced meanwhile.
        BatchCommittedError: the batch of a streaming query was committed before.
        ForeignWarehouseError: the warehouse, or a folder outside of it, belongs to another metastore.
        UnsupportedError: the transaction was committed, or tried, before.
    """
    if isinstance(transaction.base, Successor):
        transaction.base.gather(transaction, summary or {})
        return transaction.base
    if (draft := draft_of(transaction.base)) is not None:
        draft.require_possible(transaction)
    task = task_of(transaction, summary or {})
    if task is None:
        return transaction.base
    try:
        with active_owner() as owner:
            version = Committer(task, owner).run()
    except CommitConflictError:
        COUNTERS.add(CONFLICTS)
        raise
    after_commit(task, version)
    return version


def task_of(
    transaction: Transaction, summary: Mapping[str, str], known: KnownRows | None = None
) -> CommitTask | None:
    """End a transaction, and return what is to be committed, or None if it changes nothing.

    Args:
        transaction: what to change.
        summary: texts for the history.
        known: rows of the base that were read before, or None.

    Raises:
        the errors of `commit` that need no look at what others commit.
    """
    transaction.end()
    try:
        prepared = prepare(transaction, known)
        require_not_shared(prepared)
        arranged = require_possible(prepared)
        removed_rows = records_of(prepared)
        if not prepared.changes and not removed_rows and prepared.metadata is None:
            transaction.base.check_kept()
            return None
    except ParquetryError:
        _require_base(transaction)
        raise
    return CommitTask(os.urandom(8).hex(), prepared, removed_rows, arranged, dict(summary))


def after_commit(task: CommitTask, version: TableSnapshot) -> None:
    """Do what follows a commit, and cannot make it fail."""
    if (draft := draft_of(version)) is not None:
        draft.gather(task)
        return
    COUNTERS.add(COMMITS)
    announce_version(version, len(task.prepared.changes))


def announce_version(version: TableSnapshot, changed: int) -> None:
    """Bring the range manifests of a new version up to date, and tell the table's followers of it.

    Args:
        version: the version.
        changed: how many partitions it has changed.
    """
    try:  # plans take longer without them, and vacuum writes them
        refresh_after(version, changed)
    except Exception as error:  # noqa: BLE001  # whatever it is, the commit holds
        _LOG.info("Range manifests of table %s are not up to date: %s", version.label, error)
    notify_followers(version)


def _require_base(transaction: Transaction) -> None:
    """Make sure that no vacuum has removed rows of a transaction's base.

    Raises:
        CommitConflictError: a vacuum has retired the base.
        TableNotFoundError: the table was dropped or replaced.
    """
    base = transaction.base
    head = read_head(base.store, base.id)
    if head is None:
        raise TableNotFoundError(f"Table {base.label} was dropped meanwhile; nothing was written.") from None
    require_open(base, head)
    require_kept(transaction, head, base.version)


class Committer:
    """One run of the protocol above. To begin, it takes a ticket.

    Args:
        task: the commit.
        owner: this process, as the author of the commit.
        taken: the head that has a ticket of the commit, and the ticket, or None to take one.

    Raises:
        what `take` raises.
    """

    def __init__(self, task: CommitTask, owner: Owner, taken: tuple[Head, int] | None = None) -> None:
        seen = uptime_s()
        self.task = task
        self._owner = owner
        self._conflicts = Conflicts(task.prepared)
        self._forgettable: list[int] = []
        self._head, ticket = taken or take(task, owner)
        self._attempt = Attempt(task, ticket, seen)

    @property
    def attempt(self) -> Attempt:
        """Return the present attempt."""
        return self._attempt

    @property
    def is_on_base(self) -> bool:
        """Return whether no one has committed since the base, so that the rows can be built on it."""
        base, reads = self.task.base, self.task.transaction.requirements.reads
        return (
            self._head.commit.id == base.commit.id
            and not self._attempt.is_late(self.task.prepared.before, {})
            and all(read.version.version >= base.version for read in reads)
        )

    def gather(self) -> AttemptRows:
        """Return the rows on the base. The caller writes them, and `work` does not write them again."""
        return self._attempt.gather(self._head, self.task.prepared.before)

    def run(self) -> TableSnapshot:
        """Commit; see `committer`."""
        try:
            self.check_files()
            done = self.work(swap_head)
        except BaseException as error:
            committed = self.give_up(error)
            if committed is None or not isinstance(error, Exception):  # an interrupt is not swallowed
                raise
            done = committed
        return self.result(done)

    def give_up(self, error: BaseException) -> Head | None:
        """Make sure that the commit never becomes visible; see `ticket.give_up`."""
        return give_up(self.task, self._attempt, self._forgettable, error)

    def result(self, done: Head, *, swept: bool = False) -> TableSnapshot:
        """Return the version that was committed.

        Args:
            done: a head that shows it, or a later version.
            swept: whether the caller removes what ended commits have left.

        Raises:
            CommitUnknownError: it cannot be found.
        """
        try:
            return self._result(done, swept)
        except CommitUnknownError:
            raise
        except BaseException as error:
            if isinstance(error, Exception):  # a caller must not take it for a commit that failed
                raise unknown_outcome(self.task, error) from error
            raise

    def check_files(self) -> None:
        """Look for files that a vacuum may have deleted, now that none begins to delete more."""
        requirements, cleaner = self.task.transaction.requirements, self._head.cleaner
        for check in requirements.checks:
            check()
        if self._head.swept >= requirements.began:
            for check_new in requirements.new_file_checks:
                check_new(cleaner is not None and bool(cleaner.host))

    def work(self, swap: Swap) -> Head:
        """Write the rows and swap the head, until one attempt succeeds."""
        task, base, store = self.task, self.task.base, self.task.store
        latest, version, moves = task.prepared.before, base.version, 0
        removed_rows: dict[bytes, PartitionRow] = {}
        if self._head.commit.id != base.commit.id:
            self._conflicts.require_same_history(self._head)
        if any(read.version.version < version for read in task.transaction.requirements.reads):
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
                return swap(task, self._attempt, version, self._head, self._forgettable)
            except MovedError as moved:
                # A later library may have written the rows that come next.
                require_format(store, task.format)
                self._head = moved.head
                moves += 1

    def _take_another(self) -> None:
        """Give up the ticket for a later one. Once its rows are deleted, the old ticket can be forgotten."""
        old, seen = self._attempt, uptime_s()
        self._head, ticket = take(self.task, self._owner, instead_of=old.ticket)
        self._attempt = Attempt(self.task, ticket, seen)
        old.delete_rows()
        if not old.in_doubt:
            self._forgettable.append(old.ticket)

    def _result(self, head: Head, swept: bool) -> TableSnapshot:
        task = self.task
        commit = own_commit(task, head)
        with contextlib.suppress(ParquetryError):  # the next writer finds what remains
            load_metadata(
                task.store, task.table, head.commit, self._head.commit
            )  # so that no one reads them again
            if not swept:
                retention.sweep(task.store, {task.table: head})
        try:
            return load(task.store, task.table, head, commit)
        except TableNotFoundError:  # dropped right after this commit
            about = head.database, head.name, commit, self._attempt.metadata
            return TableSnapshot(task.store, task.table, *about).of_branch(task.base.branch_of)
