"""A transaction of several tables: statements work on a draft, and one commit makes all of it visible."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from parquetry.errors import UnsupportedError
from parquetry.metastore.commits.together import TablePart, commit_together
from parquetry.metastore.drafts.draft_store import DraftStore
from parquetry.metastore.manifest.entries import read_files
from parquetry.metastore.metastore import Metastore
from parquetry.metastore.storage.head import Head
from parquetry.metastore.storage.wire import decode_arrangement
from parquetry.metastore.transactions import changes
from parquetry.metastore.transactions.prepared import CommitTask
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.snapshot import TableSnapshot, load
from parquetry.metastore.versions.visible_rows import PartitionRow, entry_of


class Draft:
    """A transaction of several tables that is under way.

    **What it is.** `metastore` shows all tables as they were at one moment, with what the transaction has
    changed. Statements commit there as they do anywhere. `commit` makes one commit of it: all tables show
    their new versions at once, or none does. Each table gets one version, however many statements changed it.

    **Isolation.** It has snapshot isolation: reads see the moment and the transaction's own changes. `commit`
    compares with what others have committed since, as for one table. It merges their appends, and a change of
    the same partition is a conflict. Partitions that a statement has read count as they do without a
    transaction.

    **What it is not.** It makes, drops and renames no tables. It holds no lock. A process that dies leaves
    data files and no rows; vacuum deletes these files.

    Args:
        metastore: of the tables.

    Attributes:
        id: names the transaction in the tables' histories.
        metastore: the tables with the transaction's changes.
    """

    def __init__(self, metastore: Metastore) -> None:
        self.id = os.urandom(8).hex()
        self._real = metastore
        self._store = DraftStore(metastore.store)
        self.metastore = Metastore(self._store, metastore.warehouse, ownership=metastore.ownership)

    @property
    def tables(self) -> list[str]:
        """Return the names of the tables that the transaction has changed."""
        return sorted(tasks[0].base.label for tasks in self._store.gathered.values())

    @property
    def is_over(self) -> bool:
        """Return whether it was committed, or given up."""
        return self._store.is_over

    def commit(self) -> list[TableSnapshot]:
        """Make the changes of all tables visible at once, and end the transaction.

        Returns:
            The new versions, by the names of their tables.

        Raises:
            CommitConflictError: others have changed what the transaction changes or has read.
            CommitUnknownError: the store does not answer whether the commit took place.
            TableNotFoundError: a table was dropped meanwhile.
            UnsupportedError: the transaction has ended.
        """
        self._end()
        with self._store.alive:
            parts = [self._part(table, head) for table, head in self._store.changed_heads().items()]
            versions = commit_together(parts, self.id, self._add_reads(parts))
        return sorted(versions, key=lambda version: version.label)

    def rollback(self) -> None:
        """End the transaction without a change of any table. Vacuum deletes the files that it wrote.

        Raises:
            UnsupportedError: the transaction has ended.
        """
        self._end()
        self._store.alive.close()

    def _end(self) -> None:
        if self._store.is_over:
            raise UnsupportedError(f"Transaction {self.id} has ended: begin another.")
        self._store.is_over = True

    def _add_reads(self, parts: Sequence[TablePart]) -> list[changes.ReadScope]:
        """Let changed tables rely on what statements that write others have read of them.

        Return what they have read of tables without changes, as of the versions for everyone.
        """
        changed = {part.transaction.base.id: part.transaction for part in parts}
        others = []
        for tasks in self._store.gathered.values():
            for read in (read for task in tasks for read in task.transaction.requirements.reads_elsewhere):
                if read.version.id in changed:
                    made = changed[read.version.id]
                    made.requirements.rely_on(made.base, read.plan, read.harmless)
                else:
                    others.append(replace(read, version=self._base(read.version.id)))
        return others

    def _base(self, table: bytes) -> TableSnapshot:
        """Return a table as the transaction has read it, as a version for everyone."""
        before = self._store.heads[table]
        assert before is not None  # a draft makes no tables
        seen = load(self.metastore.store, table, before)  # whose metadata are cached
        about = before.database, before.name, before.commit, seen.metadata, before.newest
        return TableSnapshot(self._real.store, table, *about)

    def _part(self, table: bytes, head: Head) -> TablePart:
        """Return the changes of one table as one transaction on the version that was read."""
        base = self._base(table)
        now = load(self.metastore.store, table, head)
        tasks = self._store.gathered[table]
        operations = list(dict.fromkeys(task.transaction.operation for task in tasks))
        made = Transaction(base, operations[0] if len(operations) == 1 else "transaction")
        if now.metadata != base.metadata:
            made.set_metadata(now.metadata)
        for key, change in _changes(base, now, tasks, self._store.newest_rows(table)):
            made.changes[key] = change
        for task in tasks:
            _take_over(made, task.transaction)
        summary = {key: text for task in tasks for key, text in task.summary.items()}
        if len(operations) > 1:
            summary["operations"] = ", ".join(operations)
        return TablePart(made, summary)


def _take_over(made: Transaction, statement: Transaction) -> None:
    """Let a table's one transaction rely on what a statement relied on."""
    for scope in statement.scopes:
        made.scopes.append(changes.Scope(scope.plan))
    for read in statement.requirements.reads:
        made.requirements.rely_on(made.base, read.plan, read.harmless)
    made.requirements.checks += statement.requirements.checks
    made.requirements.new_file_checks += statement.requirements.new_file_checks
    made.requirements.keeps_name |= statement.requirements.keeps_name
    made.records &= statement.records
    made.removed_files.update(statement.removed_files)
    if statement.restored_from is not None:
        oldest = made.restored_from
        made.restored_from = (
            statement.restored_from if oldest is None else min(oldest, statement.restored_from)
        )


def _changes(
    base: TableSnapshot, now: TableSnapshot, tasks: Sequence[CommitTask], after: Mapping[bytes, PartitionRow]
) -> Iterator[tuple[bytes, changes.Change]]:
    """Yield the changes of partitions that make a draft's version of its base.

    Only appended files are appended, so that others' appends are merged with them.

    Args:
        base: the version that the transaction has read.
        now: the version in the draft.
        tasks: the commits to the draft.
        after: the newest rows of the partitions that the draft has written, by their keys in order.
    """
    before: dict[bytes, PartitionRow | None] = {}
    for task in reversed(tasks):  # the first commit to a partition has read the base's row
        before.update((key, task.prepared.before.get(key)) for key in task.prepared.changes)
    whole = any(task.transaction.scopes for task in tasks)
    for key, row in after.items():
        appended = None if whole else _merge_appends([task.prepared.changes.get(key) for task in tasks])
        if appended is not None:
            yield key, appended
            continue
        entry = entry_of(row)
        if entry is None:
            if entry_of(before.get(key)) is not None:
                yield key, changes.Drop()
        elif all(chunk.ticket < base.commit.next_ticket for chunk in entry.chunks):
            yield key, changes.Restore(entry)
        else:  # its list of files is in the draft alone
            files = tuple(read_files(now.store, now.id, entry))
            yield key, changes.Replace(files, entry.location, decode_arrangement(entry.arrangement))


def _merge_appends(made: Sequence[changes.Change | None]) -> changes.Append | None:
    """Return one append for several to a partition, or None if there are other changes, or different ones."""
    appends = [change for change in made if change is not None]
    first = appends[0] if appends else None
    if not isinstance(first, changes.Append) or any(
        type(other) is not type(first)
        or not isinstance(other, changes.Append)
        or (other.location, other.arrangement) != (first.location, first.arrangement)
        for other in appends
    ):
        return None
    files = tuple(file for each in appends if isinstance(each, changes.Append) for file in each.files)
    return type(first)(files, first.location, first.arrangement, first.only_new)
