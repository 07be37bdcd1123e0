"""Which arrangement a partition gets, and whether the files that it is given fit it.

A partition gets the table's arrangement when it is made, and keeps it. Example: table `t` has 4 buckets, and partition
`d=1`; then 8, and gets partition `d=2`. Files appended to `d=1` name one of its 4 buckets, those appended to `d=2` one
of 8. Suppose that somebody replaces `d=1` by files of 8 buckets while an append of files of 4 is being prepared: bucket
3 of 4 is none of those 8, so the append conflicts. Where maps of heavy values grow, files may have been written for fewer of
these, or for others (`layout.grown_maps`). Files that name neither cell nor bucket are read whatever the
arrangement, and can be appended to any partition.
"""

from __future__ import annotations

from parquetry.errors import ArrangementError
from parquetry.layout import PLAIN, ArrangementSpec, can_grow
from parquetry.metastore.commits.changes import Append, Change, FileChange, Grow, Restore
from parquetry.metastore.commits.transaction import Transaction
from parquetry.metastore.storage import PartitionEntry, TableMetadata, decode_arrangement
from parquetry.metastore.versions import PartitionRow, entry_of


def arrangement_for(
    transaction: Transaction, change: FileChange, at_base: PartitionEntry | None
) -> ArrangementSpec:
    """Return the arrangement that a partition's files were written for.

    Args:
        transaction: that gives them to the partition.
        change: by which it does.
        at_base: the partition's entry in the transaction's base; None: it was not there.
    """
    if change.arrangement is not None:
        return change.arrangement
    return transaction.arrangement if at_base is None else decode_arrangement(at_base.arrangement)


def require_fitting(
    transaction: Transaction, key: bytes, change: FileChange, at_base: PartitionEntry | None
) -> bool:
    """Make sure that files fit the partition that they are given to, as it is in the transaction's base.

    Returns:
        whether it is arranged at all, which takes a format that can say it.

    Raises:
        ArrangementError: they are arranged otherwise, or by columns that are not in files.
    """
    base = transaction.base
    arrangement = arrangement_for(transaction, change, at_base)
    if change.arrangement is not None:
        (transaction.metadata or base.metadata).require_arrangeable(arrangement)
    added_to = at_base if isinstance(change, Append) else None
    if added_to is not None and not _takes(decode_arrangement(added_to.arrangement), change, arrangement):
        raise ArrangementError(
            f"Partition {base.describe(key)} of table {base.label} is arranged otherwise than the files that are to be "
            "added to it: write them for its own arrangement, or replace it."
        )
    for file in change.files:
        if file.is_arranged:
            arrangement.require(file)
    return arrangement != PLAIN


def is_arranged_otherwise(
    transaction: Transaction, change: Change, before: PartitionRow | None, latest: PartitionRow | None
) -> bool:
    """Return whether files are to be added to a partition that others made meanwhile, arranged otherwise.

    Args:
        transaction: that is to add them.
        change: by which it does.
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
    """Return whether a partition can take in files that were written for an arrangement."""
    return own == written or (isinstance(change, Grow) and can_grow(own, written))


def is_hashed_otherwise(
    transaction: Transaction, change: Change, before: PartitionRow | None, now: TableMetadata
) -> bool:
    """Return whether a column that a partition is arranged by was given another type while its files were written.

    Its values would be looked for by the hash of the new type, and lie by that of the old one.

    Args:
        transaction: that gives files to the partition.
        change: by which it does.
        before: the partition's row in the transaction's base.
        now: the table's metadata as others have made it meanwhile.
    """
    match change:
        case FileChange():
            arrangement = arrangement_for(transaction, change, entry_of(before))
        case Restore(entry):
            arrangement = decode_arrangement(entry.arrangement)
        case _:
            return False
    return not retyped(transaction.base.metadata, now).isdisjoint(arrangement.columns)


def retyped(before: TableMetadata, after: TableMetadata) -> frozenset[str]:
    """Return the physical names of the columns that have another type than before, or are gone."""
    types = {column.physical: column.type for column in after.columns}
    return frozenset(
        column.physical for column in before.columns if types.get(column.physical) != column.type
    )
