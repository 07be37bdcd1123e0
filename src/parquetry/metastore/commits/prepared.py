"""The effects of a transaction on its base, before it takes a ticket and writes anything.

This module looks at the base only. `validate` decides whether the changes are possible, and `conflicts`
compares them with others' commits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from parquetry.metastore.commits.changes import Append, Change, Drop, Replace
from parquetry.metastore.commits.transaction import Transaction
from parquetry.metastore.storage.model import PartitionEntry, TableMetadata
from parquetry.metastore.versions.indexes import renewed
from parquetry.metastore.versions.placement import keyed_by
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.metastore.versions.visible_rows import PartitionRow, entry_of


@dataclass(frozen=True, slots=True)
class PreparedCommit:
    """A transaction with its effects.

    Attributes:
        transaction: the transaction.
        metadata: the table's new metadata, or None if they stay the same.
        changes: the changes by the keys of their partitions, including the changes that follow from scopes.
        before: the partitions' rows in the base.
        in_scope: for each scope, its partitions in the base with the tickets of their rows.
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
        """Return a partition's entry in the base, or None if it has none or nothing of the base is kept."""
        return None if self.transaction.successor else entry_of(self.before.get(key))


def prepare(transaction: Transaction) -> PreparedCommit:
    """Return a transaction with its effects.

    Raises:
        TableNotFoundError: the table was dropped, or a vacuum retired the base.
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
                    change.files, change.location, change.arrangement or transaction.arrangement
                )
    return in_scope
