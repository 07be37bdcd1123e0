"""The arrangement of a partition, and whether new files fit it.

A new partition gets the table's arrangement, and keeps it. Example: table `t` has 4 buckets when partition
`d=1` is made, and 8 buckets when `d=2` is made. A file appended to `d=1` names one of 4 buckets, and a file
appended to `d=2` one of 8.

Suppose that one writer prepares an append of files of 4 buckets to `d=1`, and meanwhile another writer
replaces `d=1` by files of 8 buckets. Bucket 3 of 4 is none of the 8 buckets, so the append conflicts.

There are two exceptions. If maps of heavy values grow, files may have been written for fewer or other heavy
values (`layout.grown_maps`). Files that name neither cell nor bucket fit any arrangement.
"""

from __future__ import annotations

from parquetry.errors import ArrangementError
from parquetry.layout import PLAIN, ArrangementSpec, can_grow
from parquetry.metastore.partition_rows.visible_rows import PartitionRow, entry_of
from parquetry.metastore.storage.model import PartitionEntry, TableMetadata
from parquetry.metastore.storage.wire import decode_arrangement
from parquetry.metastore.transactions.changes import Append, Change, FileChange, Grow, Restore
from parquetry.metastore.transactions.transaction import Transaction


def arrangement_for(
    transaction: Transaction, change: FileChange, at_base: PartitionEntry | None
) -> ArrangementSpec:
    """Return the arrangement that a change's files were written for.

    Args:
        transaction: the transaction of the change.
        change: the change that gives the files to the partition.
        at_base: the partition's entry in the transaction's base, or None if the base does not have it.
    """
    if change.arrangement is not None:
        return change.arrangement
    return transaction.arrangement if at_base is None else decode_arrangement(at_base.arrangement)


def require_fitting(
    transaction: Transaction, key: bytes, change: FileChange, at_base: PartitionEntry | None
) -> bool:
    """Make sure that a change's files fit its partition as it is in the transaction's base.

    Returns:
        whether the files have an arrangement, which needs a format that can store it.

    Raises:
        ArrangementError: the files have another arrangement, or one by columns that are not in files.
    """
    base = transaction.base
    arrangement = arrangement_for(transaction, change, at_base)
    if change.arrangement is not None:
        (transaction.metadata or base.metadata).require_arrangeable(arrangement)
    added_to = at_base if isinstance(change, Append) else None
    if added_to is not None and not _takes(decode_arrangement(added_to.arrangement), change, arrangement):
        raise ArrangementError(
            f"Partition {base.describe(key)} of table {base.label} has another arrangement than the files to be added "
            "to it: write the files for the partition's arrangement, or replace the partition."
        )
    for file in change.files:
        if file.is_arranged:
            arrangement.require(file)
    return arrangement != PLAIN


def is_arranged_otherwise(
    transaction: Transaction, change: Change, before: PartitionRow | None, latest: PartitionRow | None
) -> bool:
    """Return whether a change adds files to a partition that now has another arrangement than the files.

    Args:
        transaction: the transaction of the change.
        change: the change to the partition.
        before: the partition's row in the transaction's base.
        latest: its row now.
    """
    if not isinstance(change, Append):
        return False
    if change.arrangement is None and not any(file.is_arranged for file in change.files):
        return False
    now = entry_of(latest)
    if now is None:
        return False
    written = arrangement_for(transaction, change, entry_of(before))
    return not _takes(decode_arrangement(now.arrangement), change, written)


def _takes(own: ArrangementSpec, change: FileChange, written: ArrangementSpec) -> bool:
    """Return whether a partition of arrangement `own` can take files written for another arrangement."""
    return own == written or (isinstance(change, Grow) and can_grow(own, written))


def is_hashed_otherwise(
    transaction: Transaction, change: Change, before: PartitionRow | None, now: TableMetadata
) -> bool:
    """Return whether a column of a partition's arrangement got another type while its files were written.

    The files are in the buckets of the old type's hash, and a reader would look for them by the new type's
    hash.

    Args:
        transaction: the transaction of the change.
        change: the change to the partition.
        before: the partition's row in the transaction's base.
        now: the table's newest metadata.
    """
    match change:
        case FileChange():
            arrangement = arrangement_for(transaction, change, entry_of(before))
        case Restore(entry):
            arrangement = decode_arrangement(entry.arrangement)
        case _:
            return False
    return not find_retyped_columns(transaction.base.metadata, now).isdisjoint(arrangement.columns)


def find_retyped_columns(before: TableMetadata, after: TableMetadata) -> frozenset[str]:
    """Return the physical names of the columns that have another type than before, or were dropped."""
    types = {column.physical: column.type for column in after.columns}
    return frozenset(
        column.physical for column in before.columns if types.get(column.physical) != column.type
    )
