"""The one rule for deleting data files. All statements follow it: DROP, REPLACE, PURGE, vacuum.

A file may be deleted if all three conditions are true:

1. The file belongs to the table. Its name begins with `pq-<table id>-`, after the bucket if it has one
   (`is_own`): the table wrote it. Or another writer wrote it, the table's records name it, and the table is
   managed, or its owner has set `purge-on-overwrite`. All other files have no known owner and are kept.
2. The file is below the table's location, after links and `..` are resolved. So a link that leads out of the
   folder never leads to a deleted file. In a partition with a location elsewhere (`claims`), only
   files that the table wrote are deleted; other files there have no known owner and are kept.
3. No other table has a claim to the file, and no branch of the table lists it. A file of another writer is
   kept if it is in another table's folder. A file that this table wrote is kept if another table lists it
   whose folder overlaps this one's.

With a file, its checksum is deleted, which Hadoop's local file system keeps beside it. Empty directories are
deleted, up to the table's location, but no directory that is another table's location.

A multipart upload that never became a file is ended if the table began it, by the name of its file, below
these folders (`unfinished_uploads`). The table's own writers end theirs, so an old one is abandoned.

The rule does not apply to files that a failing write has just made under new names: the write deletes them
itself.

A branch deletes no file. Its files bear the id of its table, which deletes them when no branch needs them.

For condition 3 the locations of all tables are read, but partitions only of tables whose folders overlap.
Unless older versions made the metastore, these are external tables over one folder.
"""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable, Collection, Iterable, Iterator

from parquetry.errors import MetastoreDamagedError, TableNotFoundError, WarehouseError
from parquetry.locations import (
    StoragePath,
    base_name,
    is_below,
    is_own,
    join_location,
    parent_folder,
    read_small_file,
)
from parquetry.metastore.cleanup.retention import commit_rows
from parquetry.metastore.deletion.claims import Claim, claims, former_folders, outer_folders, overlap
from parquetry.metastore.deletion.file_access import FileAccess, Info, RealPaths, checksum_file
from parquetry.metastore.deletion.published_links import PublishedLinks
from parquetry.metastore.deletion.unfinished_uploads import Uploads, uploads_below
from parquetry.metastore.manifest.entries import decode_entry, read_files
from parquetry.metastore.ownership.owner import ownership_of
from parquetry.metastore.storage.checksums import is_tombstone
from parquetry.metastore.storage.head import Head
from parquetry.metastore.storage.keyspace import TICKET_BYTES, partition_prefix, prefix_range, ticket_of
from parquetry.metastore.storage.model import TableMetadata
from parquetry.metastore.versions.partition import TablePlacement
from parquetry.metastore.versions.snapshot import load
from parquetry.store import Store

_LOG = logging.getLogger("parquetry")
_DELTA_LOG, _ICEBERG = "_delta_log", "_iceberg"
"""Folders in a table's folder with what `publishing` and `iceberg` write for other readers."""


class OwnedFiles:
    """Decides which of a table's files may be deleted, and deletes them.

    Args:
        store: the metastore's store.
        table: the table's id.
        metadata: the table's metadata.
        files: the file systems.
        read_claims: returns the claims of tables, or None to read them when needed.
        everything: whether other writers' files may be deleted from an external table, too, as its owner has
            set.
        elsewhere: the folders of `outer` and of `former`, or None to read them when needed.

    Attributes:
        real: resolves links and `..`.
        root: the real path of the table's location.
        recorded: the locations in the rows of partitions, if a caller has read them already.
    """

    def __init__(
        self,
        store: Store,
        table: bytes,
        metadata: TableMetadata,
        files: FileAccess,
        read_claims: Callable[[], Iterable[Claim]] | None = None,
        everything: bool = False,
        elsewhere: tuple[frozenset[StoragePath], frozenset[StoragePath]] | None = None,
    ) -> None:
        self._store = store
        self._table = table
        self._location = metadata.location
        self._elsewhere = elsewhere
        self._managed = everything or not metadata.external
        self._files = files
        self._read_claims = read_claims
        self.real = RealPaths()
        self.recorded: Collection[str] | None = None
        path = files.storage_path(metadata.location)
        self.root = self.real.folder(path)
        self._is_link = self.real.file(path) != self.root

    def is_own(self, path: StoragePath) -> bool:
        """Return whether this table wrote a file, by the file's name. Checksums count, too."""
        return is_own(base_name(path.path).removeprefix("."), self._table)

    def real_path(self, path: str) -> StoragePath:
        """Return the real path of a file, since several paths may lead to it."""
        return self.real.file(self._files.storage_path(path))

    def real_folder(self, location: str) -> StoragePath:
        """Return the real path of a folder."""
        return self.real.folder(self._files.storage_path(location))

    @functools.cached_property
    def outer(self) -> frozenset[StoragePath]:
        """The folders of partitions outside of the table's folder."""
        if self._elsewhere is not None:
            return self._elsewhere[0]
        return outer_folders(self._store, self._table, self._location, self.real, self.recorded)

    @functools.cached_property
    def former(self) -> frozenset[StoragePath]:
        """The folders of the table before it got another location."""
        if self._elsewhere is not None:
            return self._elsewhere[1]
        return former_folders(self._store, self._table, self._location, self.real)

    def own_files_elsewhere(self) -> Iterator[tuple[StoragePath, Info]]:
        """Yield files that the table wrote to `outer` folders; a folder that cannot be listed is logged."""
        for folder in sorted(self.outer):
            try:
                yield from (each for each in self._files.below(folder) if self.is_own(each[0]))
            except WarehouseError as error:
                _LOG.warning(
                    "what the table at %s left elsewhere stays there: %s", self._location, error.message
                )

    def unfinished_uploads(self) -> Uploads:
        """Return the multipart uploads that the table began, and that did not become files yet."""
        folders = [folder for folder in (self.root, *sorted(self.outer)) if not self._is_shared(folder)]
        return uploads_below(self._files, folders, self.is_own)

    @functools.cached_property
    def links(self) -> PublishedLinks:
        """The links that the table has published; none if it belongs to another metastore, too."""
        folders = {self.root, *self.former}
        return PublishedLinks((folder for folder in folders if not self._is_shared(folder)), self._table)

    @functools.cached_property
    def _claims(self) -> list[Claim]:
        """The claims of other tables."""
        every = claims(self._store, self.real) if self._read_claims is None else self._read_claims()
        return [claim for claim in every if claim.table != self._table]

    @functools.cached_property
    def _others(self) -> list[Claim]:
        """The claims of other tables whose folders overlap with this one's."""
        return [claim for claim in self._claims if overlap(claim.folder, self.root)]

    @functools.cached_property
    def _within(self) -> list[StoragePath]:
        """The folders of other tables within this table's folder. Branches of it are no other tables."""
        folders = (claim.folder for claim in self._others if claim.owner != self._table)
        return [folder for folder in folders if folder == self.root or is_below(folder, self.root)]

    def deletable(self, paths: Iterable[StoragePath]) -> set[StoragePath]:
        """Return the files that may be deleted.

        Args:
            paths: paths of files that the table's records name, or that it wrote by their names.
        """
        every = {path: self.real.file(path) for path in paths}
        every = {path: real for path, real in every.items() if not self._is_shared(real)}
        candidates = {path: real for path, real in every.items() if is_below(real, self.root)}
        candidates = {
            path: real for path, real in candidates.items() if self.is_own(path) or self._is_ours(real)
        }
        elsewhere = {path: real for path, real in every.items() if self._is_written_elsewhere(path, real)}
        if not candidates and not elsewhere:
            return set()
        folders = {parent_folder(real) for real in elsewhere.values()}
        others = self._others + [
            claim
            for claim in self._claims
            if claim not in self._others and any(overlap(claim.folder, folder) for folder in folders)
        ]
        candidates |= elsewhere
        listed = self._files_of_others({base_name(real.path) for real in candidates.values()}, others)
        return {path for path, real in candidates.items() if real not in listed}

    def _is_shared(self, real: StoragePath) -> bool:
        """Return whether a file or folder belongs to the metastore that this one is a copy of."""
        return self._shares and not ownership_of(self._store).is_inside(self._files.name(real))

    @functools.cached_property
    def _shares(self) -> bool:
        return ownership_of(self._store).shares(self._table)

    def _is_ours(self, real: StoragePath) -> bool:
        return self._managed and not any(is_below(real, folder) for folder in self._within)

    def _is_written_elsewhere(self, path: StoragePath, real: StoragePath) -> bool:
        """Return whether the table wrote a file to a partition elsewhere; targets of links do not count."""
        if not self.is_own(path) or is_below(real, self.root):
            return False
        if is_below(path, self._files.storage_path(self._location)) or not self.outer:
            return False
        folder = parent_folder(real)
        while folder not in self.outer:
            above = parent_folder(folder)
            if above == folder:
                return False
            folder = above
        return True

    def _files_of_others(self, names: Collection[str], others: Iterable[Claim]) -> set[StoragePath]:
        """Return the files with some names that other tables list."""
        listed = set()
        for claim in others:
            for location in recorded_files(self._store, claim.table, claim.head):
                if base_name(location) in names:
                    listed.add(self.real_path(location))
        return listed

    def companions(self, there: Iterable[StoragePath]) -> set[StoragePath]:
        """Return the files of the table's logs for other readers: Iceberg's manifests, and a Delta log.

        The Delta log of an external table stays, as the files do that it names.

        Args:
            there: all files below the table's folder.
        """
        manifests, delta = self.logs(there)
        return manifests | delta if self._managed else manifests

    def logs(self, there: Iterable[StoragePath]) -> tuple[set[StoragePath], set[StoragePath]]:
        """Return Iceberg's manifests, and the Delta log, unless the log is of another program.

        Args:
            there: all files below the table's folder.
        """
        logs = {path for path in there if not self._is_shared(self.real.file(path)) and self._is_in_log(path)}
        delta = {path for path in logs if base_name(parent_folder(path).path) == _DELTA_LOG}
        return logs - delta, delta if delta and self._is_own_delta_log() else set()

    def _is_in_log(self, path: StoragePath) -> bool:
        folder = parent_folder(path)
        if folder.path == f"{self.root.path}/{_DELTA_LOG}":
            return True
        return folder.path == f"{self.root.path}/{_ICEBERG}" and f"-{self._table.hex()}-" in base_name(
            path.path
        )

    def _is_own_delta_log(self) -> bool:
        """Return whether the first commit of the Delta log names the table."""
        first = StoragePath(self.root.root, f"{self.root.path}/{_DELTA_LOG}/{0:020d}.json")
        try:
            text = read_small_file(self._files.name(first)) or b""
        except (OSError, WarehouseError):
            return False
        return f'"parquetry.table":"{self._table.hex()}'.encode() in text

    def delete(self, paths: Iterable[StoragePath]) -> list[str]:
        """Delete files with their checksums, and the directories that become empty.

        Args:
            paths: paths of deletable files.

        Returns:
            A message for each file that could not be deleted.
        """
        failures = []
        folders = set()
        remote = []
        for path in paths:
            folders.add(self.real.folder(parent_folder(path)))
            if path.root:
                remote.append(path)
                continue
            try:  # the checksum first: without its file, its owner would not be known
                self._files.delete(checksum_file(path))
                self._files.delete(path)
            except WarehouseError as error:
                failures.append(error.message)
        failures += self._files.delete_all(remote)
        self.prune(folders)
        return failures

    def prune(self, folders: Iterable[StoragePath], kept: Collection[StoragePath] = ()) -> None:
        """Delete empty directories, and their parents that become empty.

        Only directories below the table's location or in a former one are deleted.

        Args:
            folders: the folders of deleted files, resolved.
            kept: folders that must stay, resolved.
        """
        for folder in sorted(folders, reverse=True):
            while self._may_go(folder) and folder not in kept and not self._is_claimed(folder):
                if not self._files.delete_if_empty(folder):
                    break
                folder = parent_folder(folder)

    def _may_go(self, folder: StoragePath) -> bool:
        return is_below(folder, self.root) or any(
            folder == former or is_below(folder, former) for former in self.former
        )

    def delete_empty(self) -> None:
        """Delete the directory of a table that no longer exists, and directories in it without files."""
        if self._managed and not self._is_shared(self.root):
            self._files.delete_empty_below(self.root, self._stays)

    def _stays(self, folder: StoragePath) -> bool:
        if self._is_link and folder == self.root:
            return True  # a link must lead somewhere
        return any(folder == other or is_below(folder, other) for other in self._within)

    def _is_claimed(self, folder: StoragePath) -> bool:
        return any(folder == claim.folder for claim in self._claims)


def recorded_files(store: Store, table: bytes, head: Head, *, foreign: bool = False) -> Iterator[str]:
    """Yield the locations of all files that any row of a table lists, rows of older versions included.

    Unreadable rows are skipped, and logged.

    Args:
        store: the metastore's store.
        table: the table's id.
        head: the table's head.
        foreign: leave out files that the table wrote, by their names.
    """
    placements = _placements(store, table, head)
    prefix = partition_prefix(table)
    for row_key, value in store.scan(*prefix_range(prefix)):
        if is_tombstone(value) or head.is_aborted(ticket_of(row_key)):
            continue
        try:
            entry = decode_entry(value)
            names = [file.path for file in read_files(store, table, entry)]
        except (MetastoreDamagedError, TableNotFoundError) as error:
            _LOG.warning(
                "the files of a partition of %s.%s are not known: %s", head.database, head.name, error
            )
            continue
        names = [name for name in names if not (foreign and is_own(name, table))]
        if not names:
            continue
        key = row_key[len(prefix) : -TICKET_BYTES]
        folders = (
            [entry.location]
            if entry.location
            else [placement.location_of(key) for placement in placements if placement.fits(key)]
        )
        yield from (join_location(folder, name) for folder in folders for name in names)


def _placements(store: Store, table: bytes, head: Head) -> list[TablePlacement]:
    """Return each placement that any version gave to partitions by default."""
    metadata = {commit.metadata: commit for _, commit in commit_rows(store, table)}
    placements: dict[object, TablePlacement] = {}
    for commit in {**metadata, head.commit.metadata: head.commit}.values():
        try:
            snapshot = load(store, table, head, commit)
        except (MetastoreDamagedError, TableNotFoundError) as error:
            _LOG.warning("a version of %s.%s cannot be read: %s", head.database, head.name, error)
            continue
        placements[snapshot.metadata.location, snapshot.metadata.key_definition] = snapshot.placement
    return list(placements.values())


def is_data(path: StoragePath) -> bool:
    """Return False for files of logs, which are deleted first: no reader is to find the names of deleted
    files.
    """
    return base_name(parent_folder(path).path) not in (_DELTA_LOG, _ICEBERG)
