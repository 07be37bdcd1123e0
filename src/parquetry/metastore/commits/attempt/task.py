"""One commit, whichever ticket it gets, and the conditions that the table's head must satisfy for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from parquetry.errors import CommitConflictError, TableNotFoundError
from parquetry.metastore.commits.prepared import PreparedCommit
from parquetry.metastore.commits.transaction import Transaction
from parquetry.metastore.storage.format import ARRANGED, FIRST, STREAMS, format_of
from parquetry.metastore.storage.head import Head
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.store import Store


@dataclass(frozen=True, slots=True)
class CommitTask:
    """One commit.

    Attributes:
        id: random id, which finds the commit in the table's history.
        prepared: the changes.
        removed_rows: keys and values of the records of removed files, without tickets.
        arranged: whether a partition has an arrangement.
        summary: texts for the history.
    """

    id: str
    prepared: PreparedCommit
    removed_rows: Mapping[bytes, bytes]
    arranged: bool
    summary: dict[str, str]

    @property
    def transaction(self) -> Transaction:
        """Return the transaction that is committed."""
        return self.prepared.transaction

    @property
    def base(self) -> TableSnapshot:
        """Return the version that the transaction is based on."""
        return self.prepared.base

    @property
    def store(self) -> Store:
        """Return the metastore's store."""
        return self.base.store

    @property
    def table(self) -> bytes:
        """Return the table's id."""
        return self.base.id

    @property
    def format(self) -> int:
        """Return the format that the store must have for the rows."""
        if self.transaction.batch is not None:
            needed = STREAMS
        else:
            needed = FIRST if self.prepared.metadata is None else format_of(self.prepared.metadata)
        return max(needed, ARRANGED) if self.arranged else needed

    def require_open(self, head: Head) -> None:
        """Make sure that the table can be committed to, and has kept its name if the transaction requires it.

        Raises:
            TableNotFoundError: the table was dropped or replaced.
            CommitConflictError: the table was renamed.
        """
        require_open(self.base, head)
        if self.transaction.keeps_name:
            require_name(self.base, head)


def describe(transaction: Transaction) -> str:
    """Return the text of a transaction for messages: ``'append' on table db.t``."""
    return f"{transaction.operation!r} on table {transaction.base.label}"


def require_kept(transaction: Transaction, head: Head, version: int) -> None:
    """Make sure that a version that a transaction needs can still be read.

    Raises:
        CommitConflictError: a vacuum retired it.
    """
    if head.oldest > version:
        raise CommitConflictError(
            f"Version {version}, on which {describe(transaction)} is based, was vacuumed away meanwhile; "
            "nothing was written: run it again."
        )


def require_open(base: TableSnapshot, head: Head) -> None:
    """Make sure that a table can be committed to.

    Raises:
        TableNotFoundError: it was dropped or replaced.
    """
    if head.is_deleted:
        raise TableNotFoundError(f"Table {base.label} was {head.state} meanwhile; nothing was written.")


def require_name(base: TableSnapshot, head: Head) -> None:
    """Make sure that a table still has its name.

    Raises:
        CommitConflictError: it was renamed.
    """
    if (head.database, head.name) != (base.database, base.name):
        raise CommitConflictError(
            f"Table {base.label} became {head.database}.{head.name} meanwhile; nothing was written: run the statement again "
            "with the name that is meant."
        )
