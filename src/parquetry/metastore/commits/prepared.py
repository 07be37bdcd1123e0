"""What a transaction comes to on its base, before a ticket is taken and anything is written.

Nothing but the base is looked at; whether it can be done is for `validate`, what others have done since for `conflicts`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from parquetry.metastore.commits.changes import Append, Change, Drop, Replace
from parquetry.metastore.commits.transaction import Transaction
from parquetry.metastore.storage import PartitionEntry, TableMetadata
from parquetry.metastore.versions import PartitionRow, TableSnapshot, entry_of, keyed_by, renewed


@dataclass(frozen=True, slots=True)
class PreparedCommit:
    """A transaction with what follows from it.

    Attributes:
        transaction: that is to be committed.
        metadata: that the table gets; None: it keeps its own.
        changes: by the keys of partitions, those that follow from scopes included.
        before: the partitions' rows in the base.
        in_scope: for each scope, the partitions that the base has in it, with the tickets of their rows.
    """

    transaction: Transaction
    metadata: TableMetadata | None
    changes: Mapping[bytes, Change]
    before: Mapping[bytes, PartitionRow]
    in_scope: Sequence[Mapping[bytes, int]]

    @property
    def base(self) -> TableSnapshot:
        """Return the version that the transaction is based on."""
        return self.transaction.base

    def base_entry(self, key: bytes) -> PartitionEntry | None:
        """Return a partition's entry in the base, or None if it is not there or nothing of the base is left."""
        return None if self.transaction.successor else entry_of(self.before.get(key))


def prepare(transaction: Transaction) -> PreparedCommit:
    """Return what a transaction comes to.

    Raises:
        TableNotFoundError: the table was dropped, or the base vacuumed away.
    """
    base = transaction.base
    metadata = transaction.metadata
    if metadata is not None and keyed_by(metadata) != keyed_by(base.metadata):
        metadata = msgspec.structs.replace(metadata, indexes=renewed(metadata.indexes))
    changes = dict(transaction.changes)
    in_scope = _drop_scopes(transaction, changes)
    before = base.visible.newest(changes)
    return PreparedCommit(
        transaction, None if metadata == base.metadata else metadata, changes, before, in_scope
    )


def _drop_scopes(transaction: Transaction, changes: dict[bytes, Change]) -> list[dict[bytes, int]]:
    """Add to a transaction's changes those that follow from its scopes: what is in one is dropped, or replaced.

    Args:
        transaction: with the scopes.
        changes: by the keys of partitions; some are added, and others take their place.

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
                    change.files, change.location, change.arrangement or transaction.arrangement
                )
    return in_scope
