"""Checks of a transaction against its base. `conflicts` compares it with what others have committed since."""

from __future__ import annotations

from parquetry.errors import (
    ForeignWarehouseError,
    PartitionExistsError,
    PartitionNotFoundError,
    UnsupportedError,
)
from parquetry.locations import join_location
from parquetry.metastore.commits.arrangement_rules import require_fitting
from parquetry.metastore.commits.changes import Add, Drop, FileChange, Move
from parquetry.metastore.commits.prepared import PreparedCommit
from parquetry.metastore.ownership.owner import ownership_of
from parquetry.metastore.versions.placement import keyed_by
from parquetry.metastore.versions.snapshot import TableSnapshot


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
            raise PartitionNotFoundError(
                f"Partition {base.describe(key)} of table {base.label} does not exist in version {base.version}; "
                "SHOW PARTITIONS lists those that do."
            )
        if isinstance(change, Add | Move) and there:
            raise PartitionExistsError(
                f"Partition {base.describe(key)} of table {base.label} exists already in version {base.version}; "
                "drop it first, or leave it as it is."
            )
        if isinstance(change, FileChange):
            arranged |= require_fitting(prepared.transaction, key, change, prepared.base_entry(key))
    occupied = prepared.transaction.successor is None and bool(prepared.changes or base.totals.partitions)
    if occupied and prepared.metadata and keyed_by(prepared.metadata) != keyed_by(base.metadata):
        raise UnsupportedError(
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
    if not ownership_of(base.store).shares(base.id):
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
    if ownership.shares(table.id) and not ownership.is_inside(location):
        raise ForeignWarehouseError(
            f"Table {table.label} cannot be written: {location} is outside of this warehouse, which was copied, and belongs to the "
            "original with all tables there. CREATE TABLE … AS SELECT makes a table here. If these files were copied, too, "
            "`parquetry relocate FROM TO` names their new place; if the original is no more, `parquetry claim --outside` "
            "takes them over."
        )
