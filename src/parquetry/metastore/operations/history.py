"""List the readable versions of a table by their commits, and roll the table back to one of them.

Going back is a commit like any other.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from parquetry.errors import FileMissingError, UnsupportedError
from parquetry.locations import join_location
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.removed_files import files_removed
from parquetry.metastore.deletion.file_access import FileAccess
from parquetry.metastore.partition_rows.indexes import renew_indexes
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.storage.model import CommitRecord, PartitionIndex, RemovedFileRecord
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot


def rollback(current: TableSnapshot, target: TableSnapshot) -> TableSnapshot:
    """Restore a table's partitions and metadata of an earlier version; later versions stay in the history.

    The records of removed files are restored, too: a file that the earlier version did not know is new again.

    Args:
        current: the newest version.
        target: the version to restore.

    Returns:
        The new version, or `current` if nothing differs.

    Raises:
        UnsupportedError: the target is a version of a branch, or of another table.
        TableNotFoundError: the version was vacuumed.
        FileMissingError: a file of that version does not exist (a PURGE deleted it, or someone by hand).
        CommitConflictError: others changed the differing partitions meanwhile, or vacuumed the version.
    """
    if target.id != current.id:
        raise UnsupportedError(
            f"{target.label} is no earlier version of {current.label}, so no rollback goes to it. CALL system.publish_branch "
            "makes a branch a version of its table."
        )
    transaction = Transaction(current, "rollback")
    transaction.leave_records()
    transaction.record_removed_files(differing_records(current, target))
    tickets = {partition.key: partition.ticket for partition in current.partitions()}
    restored: list[PartitionSnapshot] = []
    for partition in target.partitions():
        if tickets.pop(partition.key, None) != partition.ticket:
            restored.append(partition)
            transaction.restore(target, partition)
    for key in tickets:
        transaction.drop(current.placement.values_of(key))
    require_files(target, restored)
    metadata = msgspec.structs.replace(target.metadata, indexes=present_indexes(current, target))
    if target.metadata.replacement != current.metadata.replacement:
        transaction.come_back(target, metadata)
    elif metadata != current.metadata:
        transaction.set_metadata(metadata)
    return commit(transaction, {"to_version": str(target.version)})


def present_indexes(current: TableSnapshot, target: TableSnapshot) -> tuple[PartitionIndex, ...]:
    """Return the indexes of the new version: the present ones, since a dropped index has no entries any more.

    Before a REPLACE TABLE the table may have had other partition columns, and so other indexes. Then these
    are renewed: the rollback writes all partitions anew, with entries in them.
    """
    if target.metadata.key_definition == current.metadata.key_definition:
        return current.metadata.indexes
    return renew_indexes(index for index in target.metadata.indexes if index.ready)


def differing_records(current: TableSnapshot, target: TableSnapshot) -> dict[str, RemovedFileRecord | None]:
    """Return the target's differing records of removed files, with None for files that it does not record."""
    now = {file.path: file.record for file in files_removed(current)}
    then = {file.path: file.record for file in files_removed(target)}
    return {path: then.get(path) for path in now.keys() | then.keys() if now.get(path) != then.get(path)}


def require_files(target: TableSnapshot, restored: list[PartitionSnapshot]) -> None:
    """Make sure that the files of partitions exist that a commit restores.

    Args:
        target: the version that has the partitions.
        restored: the partitions.

    Raises:
        FileMissingError: a file is gone.
    """
    locations = (join_location(p.location, file.path) for p in restored for file in p.files)
    missing = FileAccess().missing(locations, target.metadata.location)
    if missing:
        raise FileMissingError(
            f"Version {target.version} of table {target.label} cannot be restored: {len(missing)} of its "
            f"files are gone, among them {missing[0]}; put them back, or take a later version."
        )


def history(snapshot: TableSnapshot, first: int = 0, last: int | None = None) -> Iterator[CommitRecord]:
    """Yield the commits of readable versions up to a version, newest first.

    Args:
        snapshot: the version.
        first: the oldest version to yield.
        last: the newest version to yield, or None for the snapshot's.
    """
    head = read_head(snapshot.store, snapshot.id)
    oldest = 0 if head is None else head.oldest
    for record in snapshot.history(first, last):
        # An interrupted vacuum may have left commits whose partitions are deleted.
        if record.version < oldest:
            break
        yield record
