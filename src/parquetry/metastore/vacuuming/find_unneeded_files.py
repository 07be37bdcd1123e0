"""Find the files that vacuum may delete: no kept version and no running commit lists them.

Two kinds are unneeded: files that only rows of retired versions list, and the table's own old files that no
row lists. All rows are read. Rows of retired versions give candidates, and the other rows remove candidates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from parquetry.data_files import FileRecord
from parquetry.errors import MetastoreDamagedError, TableNotFoundError
from parquetry.locations import StoragePath, base_name, is_below, join_location
from parquetry.metastore.cleanup.retention import Need, StoredRow, commit_rows, stored_rows
from parquetry.metastore.deletion.claims import recorded_locations
from parquetry.metastore.deletion.file_access import FileAccess, Info, checksum_file, checksummed_file
from parquetry.metastore.deletion.owned_files import OwnedFiles
from parquetry.metastore.deletion.unfinished_uploads import Uploads
from parquetry.metastore.manifest.entries import decode_entry, read_files
from parquetry.metastore.storage.checksums import is_tombstone
from parquetry.metastore.storage.head import Head, read_head
from parquetry.metastore.storage.keyspace import partition_prefix, prefix_range, ticket_of
from parquetry.metastore.storage.model import CommitRecord, PartitionEntry
from parquetry.metastore.versions.partition import TablePlacement
from parquetry.metastore.versions.snapshot import load
from parquetry.store import Store


@dataclass(slots=True)
class DeletionCandidate:
    """A file that may be unneeded.

    Attributes:
        path: its absolute path.
        own: whether Parquetry wrote it for this table.
        listed: its records in the table's rows; empty if no row lists it.
        info: the file on disk, or None if it does not exist.
        checksum: its checksum file on disk, which Hadoop keeps beside it, or None if that does not exist.
    """

    path: str
    own: bool
    listed: list[FileRecord]
    info: Info | None = None
    checksum: Info | None = None

    @property
    def may_be_listed(self) -> bool:
        """Whether a commit may list the file: another writer's again, or an own one after a long write."""
        return not self.own or not self.listed

    @property
    def is_unchanged(self) -> bool:
        """Whether the file on disk is still the file that was listed."""
        info = self.info
        return info is not None and any(
            file.bytes == info.bytes and (file.modified is None or file.modified == info.modified)
            for file in self.listed
        )


Candidates = dict[StoragePath, DeletionCandidate]
"""Files that may be unneeded, by their real paths."""


class NeededFiles:
    """The files that kept versions, running commits and branches list.

    Args:
        store: the metastore's store.
        table: the table's id.
        owned: the files that may be deleted.
        oldest: the oldest version that is kept.
    """

    def __init__(self, store: Store, table: bytes, owned: OwnedFiles, oldest: CommitRecord) -> None:
        self._store = store
        self._table = table
        self._owned = owned
        self._oldest = oldest
        self._cached_placements: tuple[int, list[TablePlacement]] | None = None

    def keep(self, head: Head, candidates: Candidates) -> None:
        """Remove the needed files from the candidates.

        Args:
            head: the table's head.
            candidates: the files, by their real paths.
        """
        # Branches go first: once a branch is published, its rows are deleted, and the table's have its files.
        for branch in head.branches.values() if candidates else ():
            self._keep_in_branch(branch.id, candidates)
        if not candidates:
            return
        for row in stored_rows(self._store, self._table, head, self._oldest):
            if row.is_needed and not is_tombstone(row.value):
                self._keep_listed(head, row, candidates)

    def _keep_in_branch(self, branch: bytes, candidates: Candidates) -> None:
        """Remove the files that any row of a branch lists. Rows of a branch stay until it ends."""
        names: dict[str, list[StoragePath]] = {}
        for path in candidates:
            names.setdefault(base_name(path.path), []).append(path)
        for row_key, value in self._store.scan(*prefix_range(partition_prefix(branch))):
            if is_tombstone(value):
                continue
            try:
                files = read_files(self._store, branch, decode_entry(value))
            except TableNotFoundError:
                if self._is_in_use(branch, ticket_of(row_key)):
                    raise
                continue
            for file in files:
                for path in names.get(base_name(file.path), ()):
                    candidates.pop(path, None)

    def _is_in_use(self, branch: bytes, ticket: int) -> bool:
        """Return whether the rows of a ticket are complete, and of a branch that has not ended.

        If a branch was published, the table's rows have its files.
        """
        head = read_head(self._store, branch)
        return head is not None and not head.is_deleted and head.is_committed(ticket)

    def _keep_listed(self, head: Head, row: StoredRow, candidates: Candidates) -> None:
        entry = decode_entry(row.value)
        placements = [placement for placement in self._placements(head) if placement.fits(row.key)]
        if not placements:  # a running REPLACE TABLE, whose partition columns no version has yet
            self._keep_named(entry, candidates)
        for placement in placements:
            try:
                for path, _ in listed_files(self._store, self._table, placement, row.key, entry):
                    candidates.pop(self._owned.real_path(path), None)
            except TableNotFoundError:
                # A running commit may not have written yet what its row refers to.
                if row.need is not Need.WORKING:
                    raise

    def _keep_named(self, entry: PartitionEntry, candidates: Candidates) -> None:
        """Remove the candidates with the names of a partition's files: no two files have one name."""
        try:
            names = {base_name(file.path) for file in read_files(self._store, self._table, entry)}
        except TableNotFoundError:  # a running commit may not have written the list yet
            return
        for path in [path for path in candidates if base_name(path.path) in names]:
            del candidates[path]

    def _placements(self, head: Head) -> list[TablePlacement]:
        """Return each placement that kept versions give to partitions by default."""
        if self._cached_placements is None or self._cached_placements[0] != head.commit.metadata:
            placements: dict[object, TablePlacement] = {}
            commits = commit_rows(self._store, self._table)
            kept = (commit for _, commit in commits if commit.version >= self._oldest.version)
            for commit in (*kept, head.commit):
                snapshot = load(self._store, self._table, head, commit)
                placements[snapshot.metadata.location, snapshot.metadata.key_definition] = snapshot.placement
            self._cached_placements = head.commit.metadata, list(placements.values())
        return self._cached_placements[1]


class UnneededFiles:
    """The search for the files that may be deleted.

    Args:
        store: the metastore's store.
        table: the table's id.
        owned: the files that may be deleted.
        files: the file systems.
        oldest: the oldest version that is kept.
        is_old: returns whether a file or upload that no row lists may be deleted, by its time.

    Attributes:
        needed: the files that must stay.
    """

    def __init__(
        self,
        store: Store,
        table: bytes,
        owned: OwnedFiles,
        files: FileAccess,
        oldest: CommitRecord,
        is_old: Callable[[int | None], bool],
    ) -> None:
        self.needed = NeededFiles(store, table, owned, oldest)
        self._store = store
        self._table = table
        self._owned = owned
        self._files = files
        self._oldest = oldest
        self._is_old = is_old

    def find(self, head: Head, uploads: Uploads, candidates: Candidates) -> tuple[Candidates, set[bytes]]:
        """Find the unneeded files, by the head's versions.

        Args:
            head: the table's head, after old versions were retired.
            uploads: unfinished ones. The folder of a young one must stay known, like the folder of a file.
            candidates: what `find_superseded` returned.

        Returns:
            The files by their paths, and the keys of partitions whose rows must all stay, because they alone
            name the folders of files that are too young.
        """
        young = {
            path: DeletionCandidate(upload.path, True, [])
            for path, upload in uploads
            if not self._is_old(upload.began) and self._outer_folder(path) is not None
        }
        self._add_stored(candidates, young)
        self.needed.keep(head, candidates)
        recording = self._partitions_recording(head, young)
        deletable = self._owned.deletable(
            path for path, candidate in candidates.items() if candidate.own or candidate.is_unchanged
        )
        return {path: each for path, each in candidates.items() if path in deletable}, recording

    def find_superseded(self, head: Head, rows: Iterable[StoredRow]) -> Candidates:
        """Return the files that versions which are no longer kept have listed.

        Args:
            head: the table's head, after old versions were retired.
            rows: the unneeded rows of partitions.
        """
        placements = self._placements(head)
        first = next(iter(placements.values()))
        candidates: Candidates = {}
        for row in rows:
            if is_tombstone(row.value) or head.is_aborted(row.ticket):
                continue
            # Commits before the oldest kept one wrote only rows that this one shows, too.
            placement = placements.get(row.ticket, first)
            try:
                entry = decode_entry(row.value)
                listed = list(listed_files(self._store, self._table, placement, row.key, entry))
            except MetastoreDamagedError:
                continue  # the row is deleted; the table's own files are found without it
            for path, file in listed:
                real = self._owned.real_path(path)
                if real not in candidates:
                    candidates[real] = DeletionCandidate(path, self._owned.is_own(real), [])
                candidates[real].listed.append(file)
        return candidates

    def _placements(self, head: Head) -> dict[int, TablePlacement]:
        """Return the placement of the version that each ticket made, oldest first."""
        by_metadata: dict[int, TablePlacement] = {}
        placements: dict[int, TablePlacement] = {}
        for commit in (*(commit for _, commit in commit_rows(self._store, self._table)), head.commit):
            if commit.metadata not in by_metadata:
                by_metadata[commit.metadata] = load(self._store, self._table, head, commit).placement
            placements[commit.ticket] = by_metadata[commit.metadata]
        return placements

    def _add_stored(self, candidates: Candidates, young: Candidates) -> None:
        """Add the stored files that no row lists to the candidates, or to the young files elsewhere."""
        checksums: dict[StoragePath, Info] = {}
        kept: set[StoragePath] = set()
        for path, info in self._list_stored():
            checked = checksummed_file(path)
            if path in candidates:
                candidates[path].info = info
            elif checked is not None:
                checksums[checked] = info
            elif self._is_left_over(path, info):
                candidates[path] = self._leftover_candidate(path, info)
            else:
                kept.add(path)
                if self._outer_folder(path) is not None:
                    young[path] = self._leftover_candidate(path, info)
        for checked, info in checksums.items():
            path = checksum_file(checked)
            if checked in candidates and candidates[checked].info is not None:
                candidates[checked].checksum = info
            elif checked not in kept and self._is_left_over(path, info):
                candidates[path] = self._leftover_candidate(path, info)

    def _list_stored(self) -> Iterator[tuple[StoragePath, Info]]:
        """Yield the files below the table, and the files that it wrote to partitions elsewhere."""
        yield from self._files.below(self._owned.root)
        yield from self._owned.own_files_elsewhere()

    def _is_left_over(self, path: StoragePath, info: Info) -> bool:
        return self._owned.is_own(path) and self._is_old(info.modified)

    def _leftover_candidate(self, path: StoragePath, info: Info) -> DeletionCandidate:
        return DeletionCandidate(self._files.name(path), True, [], info)

    def _outer_folder(self, path: StoragePath) -> StoragePath | None:
        """Return the folder of a file that the table wrote outside of its own folder, else None."""
        if not self._owned.outer or not self._owned.is_own(path):
            return None
        return next((folder for folder in self._owned.outer if is_below(path, folder)), None)

    def _partitions_recording(self, head: Head, young: Candidates) -> set[bytes]:
        """Return the partitions whose unneeded rows alone name the folders of files that are too young."""
        if young:
            self.needed.keep(head, young)
        folders = {folder for path in young if (folder := self._outer_folder(path)) is not None}
        recording: set[bytes] = set()
        for wanted in (True, False) if folders else ():
            for row in stored_rows(self._store, self._table, head, self._oldest):
                if row.is_needed is not wanted:
                    continue
                recorded = {self._owned.real_folder(location) for location in recorded_locations(row.value)}
                if wanted:
                    folders -= recorded
                elif folders & recorded:
                    recording.add(row.key)
        return recording


def listed_files(
    store: Store, table: bytes, placement: TablePlacement, key: bytes, entry: PartitionEntry
) -> Iterator[tuple[str, FileRecord]]:
    """Yield the absolute paths and the records of the files that a partition's row lists.

    Args:
        store: the metastore's store.
        table: the table's id.
        placement: the placement of the version that wrote the row.
        key: the partition's key.
        entry: the row's value, decoded.

    Raises:
        MetastoreDamagedError: the list cannot be read.
        TableNotFoundError: a part of the list is missing.
    """
    folder = entry.location or placement.location_of(key)
    for file in read_files(store, table, entry):
        yield join_location(folder, file.path), file
