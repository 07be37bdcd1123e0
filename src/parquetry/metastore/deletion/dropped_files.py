"""Delete the files of dropped tables, and of replaced or purged partitions, by the rule of `owned_files`."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator

from parquetry.errors import TableNotFoundError, WarehouseError
from parquetry.locations import StoragePath, base_name, join_location
from parquetry.metastore.cleanup.retention import end_branches
from parquetry.metastore.deletion.claims import Claim, former_folders, outer_folders
from parquetry.metastore.deletion.file_access import FileAccess, Info, RealPaths, checksummed_file
from parquetry.metastore.deletion.owned_files import OwnedFiles, is_data, recorded_files
from parquetry.metastore.deletion.unfinished_uploads import end_uploads
from parquetry.metastore.storage.head import Head, read_head
from parquetry.metastore.storage.keyspace import metadata_key
from parquetry.metastore.transactions.gathering import draft_of
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot, load
from parquetry.store import Store

_LOG = logging.getLogger("parquetry")


class DroppedTableFiles:
    """The files of a table that is about to be dropped: its records are read now, its files deleted later.

    Of a managed table all own files are deleted, of any version. Of an external table the live files stay.
    Files that only older versions list are deleted, since the next reader of the folder would take them for
    data.

    Args:
        table: the newest version.
        given_up: whether the table never had a name: then none of its files is live.

    Attributes:
        store: the metastore's store.
        id: the table's id.
        label: the table's name, for messages.
    """

    def __init__(self, table: TableSnapshot, *, given_up: bool = False) -> None:
        self.store = table.store
        self.id = table.id
        self.label = table.label
        self._snapshot = table
        self._files = FileAccess()
        real = RealPaths()
        location = table.metadata.location
        self._elsewhere = (
            outer_folders(table.store, table.id, location, real),
            former_folders(table.store, table.id, location, real),
        )
        head = read_head(table.store, table.id)
        self._recorded: set[StoragePath] = set()
        self._live: set[StoragePath] = set()
        if not table.metadata.external and head is not None:
            recorded = recorded_files(table.store, table.id, head, foreign=True)
            self._recorded = {real.file(self._files.storage_path(each)) for each in recorded}
        elif table.metadata.external and not given_up:
            self._live = {
                real.file(self._files.storage_path(join_location(partition.location, file.path)))
                for partition in _partitions(table, head)
                for file in partition.files
            }

    @classmethod
    def from_dropped(cls, store: Store, table: bytes, head: Head) -> DroppedTableFiles:
        """Return the files of a table that was dropped by a process that died since.

        Raises:
            TableNotFoundError: rows were deleted, so the files were, too.
        """
        dropped = cls(load(store, table, head))
        # The metadata are deleted first. If they still exist, all rows read before were complete.
        if store.get(metadata_key(table, head.commit.metadata)) is None:
            raise TableNotFoundError("The rows of a dropped table were deleted while they were read.")
        return dropped

    def list_unneeded(self) -> dict[StoragePath, Info]:
        """Return the files that `delete` would delete now.

        Raises:
            WarehouseError: the table's folder cannot be listed.
        """
        own = self._own_files(None)
        infos = dict(self._files.below(own.root)) | dict(own.own_files_elsewhere())
        return {path: infos[path] for path in self._deletable(own, set(infos))}

    def _own_files(self, read_claims: Callable[[], Iterable[Claim]] | None) -> OwnedFiles:
        table = self._snapshot
        return OwnedFiles(
            table.store, table.id, table.metadata, self._files, read_claims, elsewhere=self._elsewhere
        )

    def _deletable(self, own: OwnedFiles, there: set[StoragePath]) -> set[StoragePath]:
        unneeded = {path for path in there if own.is_own(path) or path in self._recorded}
        stray = {path for path in unneeded if (file := checksummed_file(path)) is not None and file in there}
        return own.companions(there) | own.deletable(unneeded - stray - self._live)

    def delete(self, read_claims: Callable[[], Iterable[Claim]] | None = None) -> list[str]:
        """Delete the files, unless the table still exists: the drop by name may have dropped another table.

        Args:
            read_claims: returns the claims of tables, or None to read them when needed.

        Returns:
            A message for each file that could not be deleted.
        """
        table = self._snapshot
        head = read_head(table.store, table.id)
        if head is not None and not head.is_deleted:
            return []
        if head is not None:
            end_branches(table.store, head)
        own = self._own_files(read_claims)
        try:
            there = {path for path, _ in self._files.below(own.root)}
            there |= {path for path, _ in own.own_files_elsewhere()}
        except WarehouseError as error:
            # an external table without a write has no files there
            return [] if table.metadata.external and not table.version else [error.message]
        failures = own.delete(sorted(self._deletable(own, there), key=is_data))
        failures += own.links.remove(own.links.find_outdated(None), is_dropped=True)
        end_uploads(self._files, own.unfinished_uploads())
        own.delete_empty()
        return failures


def _partitions(table: TableSnapshot, head: Head | None) -> Iterator[PartitionSnapshot]:
    """Yield the partitions of a table's newest version, also after it was dropped."""
    if head is None or not head.is_deleted:
        yield from table.partitions()
        return
    for key, age, value in table.visible.scan([(b"", None)], single=not table.partition_types):
        yield PartitionSnapshot(table, key, age, value)


def purge_replaced(before: Iterable[PartitionSnapshot], table: TableSnapshot) -> list[str]:
    """Delete the files that an overwrite has replaced, even other writers' files of an external table.

    The table's owner has set `purge-on-overwrite`.

    Args:
        before: the overwritten partitions, before the overwrite.
        table: the version after it.

    Returns:
        A message for each file that could not be deleted.
    """

    def list_unneeded() -> set[str]:
        gone: set[str] = set()
        for partition in before:
            gone.update(join_location(partition.location, file.path) for file in partition.files)
            fits = table.placement.fits(
                partition.key
            )  # a REPLACE TABLE may have changed the partition columns
            if fits and (now := table.partition(partition.values)) is not None:
                gone.difference_update(join_location(now.location, file.path) for file in now.files)
        return gone

    return _purge(table, list_unneeded, everything=True)


def purge(table: TableSnapshot, locations: Iterable[str]) -> list[str]:
    """Delete the files of partitions that a managed table has dropped.

    Files that another partition lists stay. To find them, all partitions are read, but only if other writers
    wrote some of the files: a file that the table wrote is in one partition only.

    Args:
        table: the version without those partitions.
        locations: the files' locations.

    Returns:
        A message for each file that could not be deleted.
    """
    return [] if table.metadata.external else _purge(table, lambda: locations, everything=False)


def _purge(table: TableSnapshot, locations: Callable[[], Iterable[str]], everything: bool) -> list[str]:
    """Delete files that no version needs. The commit is made: no error may reach the statement's caller.

    In a transaction of several tables, it deletes no file: the versions for everyone still need them. For a
    branch, it deletes none either.
    """
    if draft_of(table) is not None or table.branch_of:
        return []
    try:
        return _delete_unneeded(table, locations(), everything)
    except Exception as error:  # noqa: BLE001  # whatever a file system or the store does, the commit holds
        return [str(error)]


def _delete_unneeded(table: TableSnapshot, locations: Iterable[str], everything: bool) -> list[str]:
    files = FileAccess()
    own = OwnedFiles(table.store, table.id, table.metadata, files, everything=everything)
    unneeded = own.deletable({files.storage_path(location) for location in locations})
    foreign = {path for path in unneeded if not own.is_own(path)}
    if foreign:
        names = {base_name(path.path) for path in foreign}
        kept = {
            own.real_path(join_location(partition.location, file.path))
            for partition in table.partitions()
            for file in partition.files
            if base_name(file.path) in names
        }
        unneeded -= {path for path in foreign if own.real.file(path) in kept}
    return own.delete(unneeded)
