"""A transaction of several tables: statements work on a draft, and one commit makes all of it visible."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from parquetry.errors import CommitUnknownError, StoreError, UnsupportedError, WarehouseError
from parquetry.metastore.cleanup.retention import delete_table
from parquetry.metastore.commits.committer import announce_version
from parquetry.metastore.commits.together import TablePart, commit_together
from parquetry.metastore.deletion.dropped_files import DroppedTableFiles
from parquetry.metastore.drafts.draft_store import DraftStore
from parquetry.metastore.manifest.entries import read_files
from parquetry.metastore.metastore import Metastore
from parquetry.metastore.namespace.name_changes import NamesOfTransaction
from parquetry.metastore.partition_rows.visible_rows import PartitionRow, entry_of
from parquetry.metastore.storage.head import Head, read_head
from parquetry.metastore.storage.intents import HeadName
from parquetry.metastore.storage.owner import Owner, active_owner
from parquetry.metastore.storage.wire import decode_arrangement
from parquetry.metastore.transactions import changes
from parquetry.metastore.transactions.prepared import CommitTask
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.snapshot import TableSnapshot, load

_LOG = logging.getLogger("parquetry")


class Draft:
    """A transaction of several tables that is under way.

    **What it is.** `metastore` shows all tables as they were at one moment, with what the transaction has
    changed. Statements commit there as they do anywhere. `commit` makes one commit of it: all tables show
    their new versions at once, or none does. Each table gets one version, however many statements changed it.

    **Isolation.** It has snapshot isolation: reads see the moment and the transaction's own changes. `commit`
    compares with what others have committed since, as for one table. It merges their appends, and a change of
    the same partition is a conflict. So is any change of a table that it drops or replaces. Partitions that a
    statement has read count as they do without a transaction.

    **Names.** Tables that it makes are staged tables until the commit (`made_tables`). The commit gives them
    their names, and renames and drops others, at the same moment (`namespace.name_changes`). Files of dropped
    tables are deleted afterwards.

    **What it is not.** It changes no databases. It holds no lock. A process that dies leaves data files and
    staged tables; vacuum deletes them.

    Args:
        metastore: of the tables.

    Attributes:
        id: names the transaction in the tables' histories.
        metastore: the tables with the transaction's changes.
    """

    def __init__(self, metastore: Metastore) -> None:
        self.id = os.urandom(8).hex()
        self._real = metastore
        self._store = DraftStore(metastore.store, self.id)
        self.metastore = Metastore(self._store, metastore.warehouse, ownership=metastore.ownership)

    @property
    def tables(self) -> list[str]:
        """Return the names of the tables that the transaction has changed, made, renamed or dropped."""
        changed = {tasks[0].base.label for tasks in self._store.gathered.values()}
        renamed = [self._store.heads[table] for table in self._store.changed_names()]
        named = {f"{head.database}.{head.name}" for head in renamed if head is not None}
        return sorted(changed | named | {*self._store.made.labels})

    @property
    def is_over(self) -> bool:
        """Return whether it was committed, or given up."""
        return self._store.is_over

    def commit(self) -> list[TableSnapshot]:
        """Make the changes of all tables visible at once, and end the transaction.

        Returns:
            The new versions, and the tables that were made or renamed, by the names of the tables.

        Raises:
            CommitConflictError: others have changed what the transaction changes or has read, or have taken a
                name that it gives.
            CommitUnknownError: the store does not answer whether the commit took place.
            NamespaceNotFoundError: a database was dropped meanwhile.
            TableNotFoundError: a table was dropped meanwhile.
            UnsupportedError: the transaction has ended.
        """
        self._end()
        store = self._store
        with store.alive, active_owner() as author:
            try:
                parts = [self._part(table, head) for table, head in store.changed_heads().items()]
                naming = self._naming(author)
                made = commit_together(parts, self.id, self._add_reads(parts), naming)
                versions = {version.id: version for version in made}
            except (CommitUnknownError, StoreError):
                store.made.leave()  # they may have their names now
                raise
            except BaseException:
                store.made.discard(published=False)
                raise
            store.made.discard(published=True)
            if naming is not None:
                naming.release_names()
                for table in naming.names:
                    self._finish(table, versions)
        return sorted(versions.values(), key=lambda version: version.label)

    def rollback(self) -> None:
        """End the transaction without a change of any table. Vacuum deletes the files that it wrote.

        Raises:
            UnsupportedError: the transaction has ended.
        """
        self._end()
        self._store.alive.close()
        self._store.made.discard(published=False)

    def _naming(self, author: Owner) -> NamesOfTransaction | None:
        """Return the changes of names, or None if there are none.

        Args:
            author: deletes the files of dropped tables.
        """
        before: dict[bytes, Head | None] = {}
        names: dict[bytes, HeadName] = {}
        for table, name in self._store.made.names():
            before[table], names[table] = None, name
        for table, head in self._store.changed_names().items():
            before[table] = self._store.heads[table]
            is_dropped = head.state == "dropped"
            names[table] = HeadName(
                head.state, head.database, head.name, head.token, author if is_dropped else None
            )
        return NamesOfTransaction(self._real.store, before, names) if names else None

    def _finish(self, table: bytes, versions: dict[bytes, TableSnapshot]) -> None:
        """Do what follows the change of a table's name, and cannot make the commit fail.

        It deletes the files of a dropped table, and adds the others to the versions.
        """
        store = self._real.store
        try:
            head = read_head(store, table)
            if head is None:
                return
            if head.state != "dropped":
                versions[table] = version = load(store, table, head)
                if table in self._store.made:
                    announce_version(version, version.totals.partitions)
                return
            if head.kind == "table":
                for failure in DroppedTableFiles.from_dropped(store, table, head).delete():
                    raise WarehouseError(failure)  # a vacuum of any table deletes files and rows
            delete_table(store, table)
        except Exception as error:  # noqa: BLE001  # whatever a file system or the store does, the commit holds
            _LOG.warning("A transaction is committed, and a vacuum removes what it dropped: %s", error)

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
                elif read.version.id not in self._store.made:
                    others.append(replace(read, version=self._base(read.version.id)))
        return others

    def _base(self, table: bytes) -> TableSnapshot:
        """Return a table as the transaction has read it, as a version for everyone."""
        before = self._store.heads[table]
        assert before is not None  # tables that a draft makes have no version for everyone
        seen = load(self.metastore.store, table, before)  # whose metadata are cached
        about = before.database, before.name, before.commit, seen.metadata, before.newest
        return TableSnapshot(self._real.store, table, *about)

    def _part(self, table: bytes, head: Head) -> TablePart:
        """Return the changes of one table as one transaction on the version that was read."""
        base = self._base(table)
        tasks = self._store.gathered[table]
        is_replaced = any(task.transaction.successor is not None for task in tasks)
        now = load(self.metastore.store, table, head)
        operations = list(dict.fromkeys(task.transaction.operation for task in tasks))
        made = Transaction(base, operations[0] if len(operations) == 1 else "transaction")
        if is_replaced:
            made.become(now, dict(_content(now)))
        else:
            if now.metadata != base.metadata:
                made.set_metadata(now.metadata)
            for key, change in _changes(base, now, tasks, self._store.newest_rows(table)):
                made.changes[key] = change
        made.requirements.keeps_name = is_replaced or table in self._store.changed_names()
        for task in tasks:
            _take_over(made, task.transaction)
        summary = {key: text for task in tasks for key, text in task.summary.items()}
        if len(operations) > 1:
            summary["operations"] = ", ".join(operations)
        return TablePart(made, summary)


def _take_over(made: Transaction, statement: Transaction) -> None:
    """Let a table's one transaction rely on what a statement relied on."""
    if made.successor is None:
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


def _content(now: TableSnapshot) -> Iterator[tuple[bytes, changes.Change]]:
    """Yield the partitions of a table that was replaced, as changes of a table without partitions."""
    for partition in now.partitions():
        entry = entry_of(now.visible.newest([partition.key]).get(partition.key))
        if entry is not None:
            files = tuple(read_files(now.store, now.id, entry))
            yield partition.key, changes.Replace(files, entry.location, decode_arrangement(entry.arrangement))


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
