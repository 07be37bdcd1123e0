"""What a commit does before it takes a ticket: the changes that follow from scopes, and whether all can be made.

Nothing is written here, and nothing but the transaction's base is looked at; what others have done since is for
`conflicts`.
"""

from __future__ import annotations

from collections.abc import Mapping

from parquetry.errors import PartitionExistsError, PartitionNotFoundError, UnsupportedError
from parquetry.metastore.arranged import require_fitting
from parquetry.metastore.changes import Add, Append, Change, Drop, Given, Move, Replace
from parquetry.metastore.model import TableMetadata
from parquetry.metastore.transaction import Transaction
from parquetry.metastore.visible_rows import Found, entry_of


def drop_scopes(transaction: Transaction, changes: dict[bytes, Change]) -> list[dict[bytes, int]]:
    """Add to a transaction's changes those that follow from its scopes: what is in one is dropped, or replaced.

    Args:
        transaction: with the scopes.
        changes: by the keys of partitions; some are added, and others take their place.

    Returns:
        Of each scope the partitions that the base has in it, with the tickets of their rows.
    """
    found = []
    for scope in transaction.scopes:
        rows = {partition.key: partition.ticket for partition in transaction.base.partitions(scope.plan)}
        found.append(rows)
        for key in rows:
            change = changes.setdefault(key, Drop())
            if isinstance(change, Append):
                changes[key] = Replace(
                    change.files, change.location, change.arrangement or transaction.arrangement
                )
    return found


def require_possible(
    transaction: Transaction,
    metadata: TableMetadata | None,
    changes: Mapping[bytes, Change],
    before: Mapping[bytes, Found],
) -> bool:
    """Make sure that changes can be made to the base.

    Args:
        transaction: that asks for them.
        metadata: what the table is to be from now on; None: what it was.
        changes: by the keys of partitions.
        before: the partitions' rows in the base.

    Returns:
        Whether a partition is arranged, which takes a format that can say it.

    Raises:
        PartitionNotFoundError: a partition is to be dropped that is not there.
        PartitionExistsError: one is to be made that is.
        ArrangementError: files do not fit the partition they are given to.
        UnsupportedError: the partition columns are to change while there are partitions.
    """
    base = transaction.base
    arranged = False
    for key, change in changes.items():
        found = before.get(key)
        there = found is not None and not found.is_tombstone
        if isinstance(change, Drop) and not there:
            raise PartitionNotFoundError(
                f"Partition {base.describe(key)} of table {base.label} does not exist in version {base.version}; "
                "SHOW PARTITIONS lists those that do."
            )
        if isinstance(change, Add | Move) and there:
            raise PartitionExistsError(
                f"Partition {base.describe(key)} of table {base.label} exists already in version {base.version}; "
                "drop it first, or leave it as it is."
            )
        if isinstance(change, Given):
            at_base = None if transaction.successor else entry_of(found)
            arranged |= require_fitting(transaction, key, change, at_base)
    occupied = transaction.successor is None and bool(changes or base.totals.partitions)
    if occupied and metadata and keyed_by(metadata) != keyed_by(base.metadata):
        raise UnsupportedError(
            f"The partition columns of table {base.label} cannot change while it has partitions; "
            "make another table and copy the rows."
        )
    return arranged


def keyed_by(metadata: TableMetadata) -> tuple[object, ...]:
    """Return what the keys and default locations of a table's partitions depend on."""
    names = tuple(column.physical for column in metadata.partition_columns)
    return metadata.partition_types, metadata.descending, names
