"""How much a commit changes a partition: files, bytes and rows that it adds and removes.

A partition may be given a list that has some of its present files, as a MERGE does. So files are compared by
their locations, unless the change says that all its files are new.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from parquetry.data_files import FileRecord
from parquetry.errors import MetastoreDamagedError, TableNotFoundError
from parquetry.locations import join_location
from parquetry.metastore.manifest.entries import read_listed
from parquetry.metastore.storage.model import ListedFile, PartitionEntry, Totals
from parquetry.metastore.storage.origin import ChangeCounts
from parquetry.metastore.transactions.changes import Append, Change, Drop, FileChange, Move, Recut, Restore
from parquetry.store import Store

_SAME = ChangeCounts()
_File = FileRecord | ListedFile


def count_removed(totals: Totals) -> ChangeCounts:
    """Return the counts of a version that keeps nothing of another one.

    Args:
        totals: of the other version.
    """
    return ChangeCounts(
        partitions_removed=totals.partitions,
        files_removed=totals.files,
        bytes_removed=totals.bytes,
        known_rows_removed=totals.known_rows,
        uncounted_removed=totals.uncounted,
    )


class PartitionCounts:
    """Counts what changes make of partitions.

    Args:
        store: of the metastore.
        table: id of the table.
    """

    def __init__(self, store: Store, table: bytes) -> None:
        self._store = store
        self._table = table

    def count(
        self, change: Change, old: PartitionEntry | None, new: PartitionEntry | None, default_location: str
    ) -> ChangeCounts:
        """Return the counts of one partition.

        Args:
            change: the change.
            old: the partition before, or None if there was none.
            new: the partition after, or None if it is dropped.
            default_location: where the partition is if an entry names no location.
        """
        if isinstance(change, Move) or (isinstance(change, Drop) and change.moves):
            # a new name for the same files
            return ChangeCounts(partitions_added=int(old is None), partitions_removed=int(new is None))
        if old is None:
            return _SAME if new is None else _all_added(new)
        if new is None:
            return _all_removed(old)
        if isinstance(change, Recut):
            return _SAME
        if isinstance(change, Append):
            return _files_added(change.files)
        if isinstance(change, FileChange) and change.only_new:
            return _all_replaced(old, new)
        files = change.files if isinstance(change, FileChange) else None
        if isinstance(change, Restore) and _is_same_list(old, new):
            return _SAME
        return self._compare(old, new, files, default_location)

    def _compare(
        self,
        old: PartitionEntry,
        new: PartitionEntry,
        files: Sequence[FileRecord] | None,
        default_location: str,
    ) -> ChangeCounts:
        try:
            before = self._by_location(read_listed(self._store, self._table, old), old, default_location)
            listed = read_listed(self._store, self._table, new) if files is None else files
            after = self._by_location(listed, new, default_location)
        except (MetastoreDamagedError, TableNotFoundError):
            # an unreadable list does not stop a commit that takes its place
            return _all_replaced(old, new)
        removed = [file for location, file in before.items() if location not in after]
        added = [file for location, file in after.items() if location not in before]
        counts = _files_added(added)
        return counts + ChangeCounts(
            partitions_replaced=int(bool(removed)),
            files_removed=len(removed),
            bytes_removed=sum(file.bytes for file in removed),
            known_rows_removed=sum(file.rows or 0 for file in removed),
            uncounted_removed=sum(file.rows is None for file in removed),
        )

    def _by_location(
        self, files: Iterable[_File], entry: PartitionEntry, default_location: str
    ) -> dict[str, _File]:
        folder = entry.location or default_location
        return {join_location(folder, file.path): file for file in files}


def _is_same_list(old: PartitionEntry, new: PartitionEntry) -> bool:
    return bytes(old.inline) == bytes(new.inline) and old.chunks == new.chunks


def _all_added(new: PartitionEntry) -> ChangeCounts:
    return ChangeCounts(
        partitions_added=1,
        files_added=new.file_count,
        bytes_added=new.bytes,
        known_rows_added=new.rows or 0,
        uncounted_added=int(new.rows is None),
    )


def _all_removed(old: PartitionEntry) -> ChangeCounts:
    return count_removed(Totals().plus(old))


def _all_replaced(old: PartitionEntry, new: PartitionEntry) -> ChangeCounts:
    """Return the counts of a partition that keeps its name and none of its files."""
    lost, got = _all_removed(old), _all_added(new)
    return lost + got + ChangeCounts(-1, -1, int(old.file_count > 0))


def _files_added(files: Iterable[_File]) -> ChangeCounts:
    files = list(files)
    return ChangeCounts(
        files_added=len(files),
        bytes_added=sum(file.bytes for file in files),
        known_rows_added=sum(file.rows or 0 for file in files),
        uncounted_added=sum(file.rows is None for file in files),
    )
