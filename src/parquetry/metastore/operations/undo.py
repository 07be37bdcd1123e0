"""Undo a transaction of several tables: in all of its tables by one commit, or in none.

A commit of its own takes back what the transaction changed, and leaves alone what other commits have changed:
partitions that it wrote are again what they were before it. If one of them was changed since, it is an error
that names the table.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from heapq import merge
from itertools import islice
from typing import NamedTuple

import msgspec

from parquetry.errors import CommitConflictError, UnsupportedError, VersionNotFoundError
from parquetry.metastore.commits.removed_files import files_removed
from parquetry.metastore.commits.together import TablePart, commit_together
from parquetry.metastore.metastore import Metastore
from parquetry.metastore.operations.history import differing_records, present_indexes, require_files
from parquetry.metastore.storage.head import Head, decode_head
from parquetry.metastore.storage.intents import TRANSACTION, TRANSACTION_TABLES
from parquetry.metastore.storage.keyspace import HEADS, complement, prefix_range
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.transactions.gathering import require_no_draft
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot, load, load_commit
from parquetry.store import Store

UNDOES = "undoes"
"""The text in a commit's summary that has the id of the transaction which it undoes."""


class UndoneVersion(NamedTuple):
    """A table of an undone transaction.

    Attributes:
        before: its newest version until then.
        after: its new version; the same if the transaction has left nothing in this table.
    """

    before: TableSnapshot
    after: TableSnapshot


def undo_transaction(metastore: Metastore, id: str) -> list[UndoneVersion]:
    """Take back all that a transaction of several tables has changed, in one commit.

    Args:
        metastore: the tables.
        id: of the transaction, as the tables' histories have it in `summary`.

    Returns:
        The tables with their new versions, by name.

    Raises:
        VersionNotFoundError: no table has a version of this transaction, or one of its tables was dropped, or
            a vacuum has taken what it was before.
        CommitConflictError: others have changed the same partitions since.
        UnsupportedError: the transaction made or replaced a table.
        ForeignWarehouseError: the warehouse belongs to another metastore.
        FileMissingError: a file that it removed does not exist any more.
        CommitUnknownError: the store does not answer whether the commit took place.
    """
    metastore.require_owned(now=True)
    undos = [_Undo(table, head, commit, id) for table, head, commit in _find_commits(metastore, id)]
    parts = [TablePart(undo.transaction(), {UNDOES: id}) for undo in undos]
    versions = commit_together(parts, os.urandom(8).hex())
    done = [UndoneVersion(undo.now, after) for undo, after in zip(undos, versions, strict=True)]
    return sorted(done, key=lambda each: each.before.label)


def _find_commits(metastore: Metastore, id: str) -> list[tuple[TableSnapshot, Head, CommitRecord]]:
    """Return the tables of a transaction with its commits.

    It goes back through the histories of all tables at once, as far as the transaction's time.
    """
    store = metastore.store
    every = ((key[len(HEADS) :], decode_head(value)) for key, value in store.scan(*prefix_range(HEADS)))
    heads = {table: head for table, head in every if head.state == "live" and head.kind == "table"}
    for table, head in islice(heads.items(), 1):
        require_no_draft(load(store, table, head), "The undoing")
    commits: dict[bytes, CommitRecord] = {}
    time = 0
    histories = (_history(store, table, head) for table, head in heads.items())
    for table, commit in merge(*histories, key=lambda each: -each[1].committed_at):
        if commits and commit.committed_at < time:
            break
        if commit.summary.get(TRANSACTION) == id:
            commits[table], time = commit, commit.time
    if not commits:
        raise VersionNotFoundError(
            f"No table has a version of transaction {id!r}: CALL system.history shows the transactions' ids in summary."
        )
    wanted = int(next(iter(commits.values())).summary.get(TRANSACTION_TABLES, len(commits)))
    if len(commits) < wanted:
        raise VersionNotFoundError(
            f"Transaction {id} cannot be undone: it changed {wanted} tables, of which only these still have its version: "
            f"{', '.join(sorted(f'{heads[table].database}.{heads[table].name}' for table in commits))}. The others were dropped, or vacuumed "
            "since. Nothing was written."
        )
    return [(load(store, table, heads[table]), heads[table], commit) for table, commit in commits.items()]


def _history(store: Store, table: bytes, head: Head) -> Iterator[tuple[bytes, CommitRecord]]:
    """Yield the commits of a table, newest first. The newest one takes no request."""
    yield table, head.commit
    for commit in load(store, table, head).history(head.oldest, head.commit.version - 1):
        yield table, commit


class _Undo:
    """The undoing of a transaction in one table.

    Args:
        now: the newest version.
        head: its head.
        commit: the transaction's commit.
        id: the transaction.
    """

    def __init__(self, now: TableSnapshot, head: Head, commit: CommitRecord, id: str) -> None:
        self.now = now
        self._id = id
        earlier = load_commit(now.store, now.id, head, commit.version - 1)
        if commit.version == 0:
            raise UnsupportedError(
                f"Transaction {id} cannot be undone, because it made table {now.label}: DROP the table, and roll the others "
                "back by CALL system.rollback. Nothing was written."
            )
        if earlier is None:
            raise VersionNotFoundError(
                f"Transaction {id} cannot be undone: a vacuum took version {commit.version - 1} of table {now.label}, which was "
                "the version before it. Nothing was written."
            )
        self._before = load(now.store, now.id, head, earlier)
        self._then = load(now.store, now.id, head, commit)
        if self._then.metadata.replacement != self._before.metadata.replacement:
            raise UnsupportedError(
                f"Transaction {id} cannot be undone, because it replaced table {now.label}: roll the tables back by CALL "
                "system.rollback. Nothing was written."
            )

    def transaction(self) -> Transaction:
        """Return the changes.

        Raises:
            CommitConflictError: others have changed the same since.
            TableNotFoundError: the table was dropped or vacuumed meanwhile.
            FileMissingError: a file does not exist any more.
        """
        undo = Transaction(self.now, "rollback")
        undo.leave_records()
        self._undo_metadata(undo)
        self._undo_records(undo)
        self._undo_partitions(undo)
        return undo

    def _undo_metadata(self, undo: Transaction) -> None:
        if self._then.commit.metadata == self._before.commit.metadata:
            return
        # Files that came since may have the columns that the transaction made.
        if self.now.version != self._then.version:
            raise self._conflict(
                "its columns or properties were changed by the transaction, and others have committed since"
            )
        indexes = present_indexes(self.now, self._before)
        undo.set_metadata(msgspec.structs.replace(self._before.metadata, indexes=indexes))

    def _undo_records(self, undo: Transaction) -> None:
        differing = differing_records(self._then, self._before)
        if differing:
            now = {file.path: file.record for file in files_removed(self.now)}
            then = {file.path: file.record for file in files_removed(self._then)}
            for path in differing:
                if now.get(path) != then.get(path):
                    raise self._conflict(f"the record of {path} was changed since")
        undo.record_removed_files(differing)

    def _undo_partitions(self, undo: Transaction) -> None:
        ticket = self._then.commit.ticket
        keys = [key for key, _ in self._then.visible.newest_with_tickets({ticket})]
        before, now = self._before.visible.newest(keys), self.now.visible.newest(keys)
        restored = []
        for key in keys:
            if now[key].ticket != ticket:
                raise self._conflict(
                    f"partition {self._before.describe(key)} was changed {self._describe_change(now[key].ticket)}"
                )
            row = before.get(key)
            if row is not None and not row.is_tombstone:
                restored.append(PartitionSnapshot(self._before, key, complement(row.ticket), row.value))
                undo.restore(self._before, restored[-1])
            elif not now[key].is_tombstone:
                undo.drop(self.now.placement.values_of(key))
        self._before.check_kept()
        require_files(self._before, restored)

    def _describe_change(self, ticket: int) -> str:
        for commit in self.now.history(self._then.version + 1):
            if commit.ticket == ticket:
                return f"by version {commit.version} ({commit.operation})"
        return "since"

    def _conflict(self, what: str) -> CommitConflictError:
        return CommitConflictError(
            f"Transaction {self._id} cannot be undone, because table {self.now.label} has moved on: {what}. Nothing was "
            "written: roll tables back by themselves, by CALL system.rollback, or write what they should have."
        )
