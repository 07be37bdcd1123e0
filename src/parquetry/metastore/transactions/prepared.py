"""The effects of a transaction on its base, and whether they are possible, before it takes a ticket.

This module looks at the base and at the table's head only. `conflicts` compares the transaction with what
others have committed since.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import msgspec

from parquetry import errors
from parquetry.locations import join_location
from parquetry.metastore.ownership.owner import ownership_of
from parquetry.metastore.partition_rows.indexes import renew_indexes
from parquetry.metastore.partition_rows.visible_rows import PartitionRow, entry_of
from parquetry.metastore.storage.format import ARRANGED, FIRST, STREAMS, format_of
from parquetry.metastore.storage.head import Head
from parquetry.metastore.storage.model import PartitionEntry, TableMetadata
from parquetry.metastore.transactions.arrangement_rules import require_fitting
from parquetry.metastore.transactions.changes import Add, Append, Change, Drop, FileChange, Move, Replace
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.store import Store


@dataclass(frozen=True, slots=True)
class PreparedCommit:
    """A transaction with its effects.

    Attributes:
        transaction: the transaction.
        metadata: the table's new metadata, or None if they stay the same.
        changes: the changes by the keys of their partitions, including the changes that follow from scopes.
        before: the partitions' rows in the base.
        in_scope: for each scope, its partitions in the base with the tickets of their rows.
        no_records: whether the table is known to have no records of removed files.
    """

    transaction: Transaction
    metadata: TableMetadata | None
    changes: Mapping[bytes, Change]
    before: Mapping[bytes, PartitionRow]
    in_scope: Sequence[Mapping[bytes, int]]
    no_records: bool = False

    @property
    def base(self) -> TableSnapshot:
        """Return the version that the transaction is based on."""
        return self.transaction.base

    def base_entry(self, key: bytes) -> PartitionEntry | None:
        """Return a partition's entry in the base, or None if it has none or nothing of the base is kept."""
        return None if self.transaction.successor else entry_of(self.before.get(key))


class KnownRows(NamedTuple):
    """Rows of a transaction's base, which were read together with rows of other tables.

    Attributes:
        before: the newest rows of the partitions that the transaction changes.
        no_records: whether the table has no records of removed files.
    """

    before: Mapping[bytes, PartitionRow]
    no_records: bool


def prepare(transaction: Transaction, known: KnownRows | None = None) -> PreparedCommit:
    """Return a transaction with its effects.

    Args:
        transaction: the transaction. If there are known rows, it has no scopes.
        known: rows of its base that were read before, or None.

    Raises:
        TableNotFoundError: the table was dropped, or a vacuum retired the base.
    """
    base = transaction.base
    metadata = transaction.metadata
    if metadata is not None and metadata.key_definition != base.metadata.key_definition:
        metadata = msgspec.structs.replace(metadata, indexes=renew_indexes(metadata.indexes))
    changes = dict(transaction.changes)
    in_scope = _drop_scopes(transaction, changes)
    before = base.visible.newest(changes) if known is None else known.before
    return PreparedCommit(
        transaction,
        None if metadata == base.metadata else metadata,
        changes,
        before,
        in_scope,
        known is not None and known.no_records,
    )


def _drop_scopes(transaction: Transaction, changes: dict[bytes, Change]) -> list[dict[bytes, int]]:
    """Extend a transaction's changes by its scopes: drop their partitions, or replace them if they get files.

    Args:
        transaction: the transaction with the scopes.
        changes: its changes by the keys of their partitions, which this function extends.

    Returns:
        `PreparedCommit.in_scope`.
    """
    in_scope = []
    for scope in transaction.scopes:
        rows = {partition.key: partition.ticket for partition in transaction.base.partitions(scope.plan)}
        in_scope.append(rows)
        for key in rows:
            change = changes.setdefault(key, Drop())
            if isinstance(change, Append):
                changes[key] = Replace(
                    change.files,
                    change.location,
                    change.arrangement or transaction.arrangement,
                    only_new=True,
                )
    return in_scope


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
        if self.transaction.requirements.keeps_name:
            require_name(self.base, head)


def describe(transaction: Transaction) -> str:
    """Return the text of a transaction for messages: ``'append' on table db.t``."""
    return f"{transaction.operation!r} on table {transaction.base.label}"


def abort_error(transaction: Transaction) -> errors.CommitAbortedError:
    """Return the error of a commit whose ticket another writer has aborted."""
    return errors.CommitAbortedError(
        f"{describe(transaction)} took so long that another writer took its author for dead; nothing was written: "
        "run it again."
    )


def require_kept(transaction: Transaction, head: Head, version: int) -> None:
    """Make sure that a version that a transaction needs can still be read.

    Raises:
        CommitConflictError: a vacuum retired it.
    """
    if head.oldest > version:
        raise errors.CommitConflictError(
            f"Version {version}, on which {describe(transaction)} is based, was vacuumed away meanwhile; "
            "nothing was written: run it again."
        )


def require_open(base: TableSnapshot, head: Head) -> None:
    """Make sure that a table can be committed to.

    Raises:
        TableNotFoundError: it was dropped or replaced.
    """
    if head.is_deleted:
        raise errors.TableNotFoundError(
            f"Table {base.label} was {head.state} meanwhile; nothing was written."
        )
    if head.state == "publishing":
        raise errors.CommitConflictError(
            f"{base.label} is being published, and takes no more commits; nothing was written. If its publisher has died, "
            "publish it again (CALL system.publish_branch), or drop it (CALL system.drop_branch)."
        )


def require_name(base: TableSnapshot, head: Head) -> None:
    """Make sure that a table still has its name.

    Raises:
        CommitConflictError: it was renamed.
    """
    if (head.database, head.name) != (base.database, base.name):
        raise errors.CommitConflictError(
            f"Table {base.label} became {head.database}.{head.name} meanwhile; nothing was written: run the statement again "
            "with the name that is meant."
        )


def require_possible(prepared: PreparedCommit) -> bool:
    """Make sure that changes can be made to the base.

    Returns:
        Whether a partition gets an arrangement, which needs a format that can store it.

    Raises:
        PartitionNotFoundError: a partition to drop does not exist.
        PartitionExistsError: a partition to make exists.
        ArrangementError: files do not fit their partition.
        UnsupportedError: the partition columns would change although the table has partitions.
    """
    base = prepared.base
    arranged = False
    for key, change in prepared.changes.items():
        row = prepared.before.get(key)
        there = row is not None and not row.is_tombstone
        if isinstance(change, Drop) and not there:
            raise errors.PartitionNotFoundError(
                f"Partition {base.describe(key)} of table {base.label} does not exist in version {base.version}; "
                "SHOW PARTITIONS lists those that do."
            )
        if isinstance(change, Add | Move) and there:
            raise errors.PartitionExistsError(
                f"Partition {base.describe(key)} of table {base.label} exists already in version {base.version}; "
                "drop it first, or leave it as it is."
            )
        if isinstance(change, FileChange):
            arranged |= require_fitting(prepared.transaction, key, change, prepared.base_entry(key))
    occupied = prepared.transaction.successor is None and bool(prepared.changes or base.totals.partitions)
    if occupied and prepared.metadata and prepared.metadata.key_definition != base.metadata.key_definition:
        raise errors.UnsupportedError(
            f"The partition columns of table {base.label} cannot change while it has partitions; "
            "make another table and copy the rows."
        )
    return arranged


def require_not_shared(prepared: PreparedCommit) -> None:
    """Make sure that no files are added outside of a copied warehouse, where the original would delete them.

    Raises:
        ForeignWarehouseError: the transaction adds such a file.
    """
    base = prepared.base
    if not ownership_of(base.store).shares(base.owner):
        return
    for key, change in prepared.changes.items():
        if isinstance(change, FileChange) and change.files:
            entry = prepared.base_entry(key)
            folder = change.location or (entry and entry.location) or base.placement.location_of(key)
            for file in change.files:
                require_own_folder(base, join_location(folder, file.path))


def require_own_folder(table: TableSnapshot, location: str) -> None:
    """Make sure that a table may write to a folder: in a copied warehouse, only inside of the warehouse.

    Raises:
        ForeignWarehouseError: the folder belongs to the original.
    """
    ownership = ownership_of(table.store)
    if ownership.shares(table.owner) and not ownership.is_inside(location):
        raise errors.ForeignWarehouseError(
            f"Table {table.label} cannot be written: {location} is outside of this warehouse, which was copied, and belongs to the "
            "original with all tables there. CREATE TABLE … AS SELECT makes a table here. If these files were copied, too, "
            "`parquetry relocate FROM TO` names their new place; if the original is no more, `parquetry claim --outside` "
            "takes them over."
        )


def require_place_beside(table: TableSnapshot, location: str) -> None:
    """Make sure that this metastore may write something for other readers beside a table's files.

    Raises:
        ForeignWarehouseError: the warehouse belongs to another metastore, or the folder to the original of a
            copied warehouse. Its readers would read the versions of this one.
        WarehouseError: the warehouse's mark cannot be read.
    """
    ownership_of(table.store).require(now=True)
    require_own_folder(table, location)
