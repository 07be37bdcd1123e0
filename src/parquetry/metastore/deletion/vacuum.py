"""Delete what only old versions of a table need: data files first, then the rows of the metastore.

1. Retire versions before `older_than` in the head. From here on, reading them is an error, and so is a
   rollback to them that has not committed yet.
2. Find unneeded files: files that only rows of retired versions list, and the table's own files that no row
   lists. All rows of kept versions and of running commits are read; a file that one of them lists stays.
3. Delete the files, then the rows. A row that lists a file is deleted after the file, so the next run finds
   all that a crash leaves.
4. Remove the remains of tables whose creation, drop or replacement was interrupted, for any table of the
   metastore: no statement can name such a table.

A running write has files that no row lists yet. So files without a row are deleted only if they are older
than the grace period, by the earliest of the known clocks (`Clocks`). Meanwhile no commit can list old files
(`metastore.cleanup.vacuum_lock`). The same holds for multipart uploads that never became files: an old one is
abandoned, and is ended. A younger file or upload may be in a folder outside of the table's folder. If only
retired rows name that folder, these rows stay, so that the next run finds the file.

`owned_files` has the rule for the files that the table may delete. A file of another writer must also still
be the file that the table listed: the same size and time of change.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice

from parquetry.data_files import FileRecord
from parquetry.errors import MetastoreDamagedError, TableNotFoundError, WarehouseError
from parquetry.locations import StoragePath, base_name, is_below, join_location, parent_folder
from parquetry.metastore.cleanup import recovery
from parquetry.metastore.cleanup.in_flight import is_alive, writes_in_flight
from parquetry.metastore.cleanup.index_upkeep import entries_of_dropped, entries_of_rows, unneeded_entries
from parquetry.metastore.cleanup.retention import (
    Need,
    StoredRow,
    commit_rows,
    delete_stored_rows,
    kept_since,
    oldest_commit,
    retire,
    stored_rows,
    unneeded_chunks,
    unneeded_commits,
    unneeded_metadata,
)
from parquetry.metastore.cleanup.vacuum_lock import cleaner
from parquetry.metastore.deletion.clocks import MAX_DIFFERENCE_MS, Clocks, grace_of
from parquetry.metastore.deletion.external_folders import recorded_locations
from parquetry.metastore.deletion.file_access import FileAccess, Info, checksum_file, checksummed_file
from parquetry.metastore.deletion.orphan_tables import remove_orphans
from parquetry.metastore.deletion.owned_files import OwnedFiles
from parquetry.metastore.deletion.unfinished_uploads import Uploads, end_uploads
from parquetry.metastore.manifest.chunks import chunk_position
from parquetry.metastore.manifest.entries import decode_entry, read_files
from parquetry.metastore.ownership.owner import ownership_of
from parquetry.metastore.results import Removed
from parquetry.metastore.storage.checksums import is_tombstone
from parquetry.metastore.storage.head import Head, live_head
from parquetry.metastore.storage.keyspace import (
    JOURNAL,
    delete_in_batches,
    journal_ticket,
    prefix_range,
    removed_files_prefix,
)
from parquetry.metastore.storage.model import CommitRecord, PartitionEntry
from parquetry.metastore.versions.placement import TablePlacement, keyed_by
from parquetry.metastore.versions.snapshot import TableSnapshot, load

DAY_MS = 24 * 60 * 60 * 1000
KEPT_MS = 7 * DAY_MS
"""Milliseconds that a version stays readable after the next one, unless the caller gives another time."""
PATIENCE_S = 30.0
"""Seconds to wait for running commits."""
_FILES_PER_CLAIM = 1000
"""Other writers' files that are deleted while commits that adopt files wait.

S3 deletes at most as many with one request."""


@dataclass(slots=True)
class _DeletionCandidate:
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


def vacuum(
    table: TableSnapshot,
    *,
    older_than: int | None = None,
    dry_run: bool = False,
    grace: int | None = None,
    force: bool = False,
) -> list[Removed]:
    """Delete all that is needed only by versions that were replaced before a time.

    Args:
        table: any version of the table.
        older_than: the time, in milliseconds since the epoch, or None for seven days ago. The newest version
            is always kept.
        dry_run: only report.
        grace: the age in milliseconds at which an own file that no row lists may be deleted, or None for the
            table's (`vacuum-grace-hours`).
        force: whether to go on if the clocks of this machine and of the store differ by minutes.

    Returns:
        What was deleted, or would be: one result for each file, and one for each kind of row.

    Raises:
        TableNotFoundError: the table was dropped meanwhile.
        WarehouseError: a file cannot be deleted, or a directory cannot be listed; or clocks differ.
        CommitConflictError: others keep committing; no data is lost, run it again.
        ForeignWarehouseError: the warehouse belongs to another metastore.
    """
    if not dry_run:
        ownership_of(table.store).require(now=True)
    clocks = Clocks.read(table.store)
    if not force:
        clocks.require_agreement(table.label)
    files = FileAccess()
    territory = OwnedFiles(table.store, table.id, table.metadata, files)
    head = live_head(table.store, table.id, f"Table {table.label} was dropped or replaced meanwhile.")
    age = _Age(table, clocks, files, territory, grace_of(table) if grace is None else grace, dry_run)
    oldest = kept_since(
        table.store, table.id, head, clocks.now - KEPT_MS if older_than is None else older_than
    )
    if older_than is None and oldest.version > head.oldest:
        oldest = kept_since(table.store, table.id, head, age.now - KEPT_MS)
    if not dry_run:
        head = retire(table.store, table.id, oldest.version)
        oldest = oldest_commit(table.store, table.id, head)
    removed = _Vacuum(table, territory, files, oldest, dry_run, age).run(head)
    if not dry_run:
        table.store.delete_many(age.dead_writes())
    return removed


class _Age:
    """The age of files that no row lists. All clocks are read once something is old by the nearest one.

    Args:
        table: the table.
        clocks: of this machine and of the store.
        files: the file systems.
        territory: the files of the table.
        grace: see `vacuum`.
        dry_run: whether nothing may be written, so that the file system's clock is not asked.
    """

    def __init__(
        self,
        table: TableSnapshot,
        clocks: Clocks,
        files: FileAccess,
        territory: OwnedFiles,
        grace: int,
        dry_run: bool,
    ) -> None:
        self._clocks = clocks
        self._files = files
        self._folder = territory.root
        self._grace = grace
        self._dry_run = dry_run
        self._writes = writes_in_flight(table.store, table.id)

    @cached_property
    def now(self) -> int:
        """Return the earliest of all known clocks."""
        return self._clocks.now if self._dry_run else self._clocks.beside_files(self._files, self._folder)

    @cached_property
    def _old(self) -> int:
        living = [write.began for write in self._writes.values() if is_alive(write, self.now)]
        return min([self.now - self._grace, *(began - MAX_DIFFERENCE_MS for began in living)])

    def is_old(self, time: int | None) -> bool:
        """Return whether a file from a time may be deleted."""
        return time is not None and time < self._clocks.now - self._grace and time < self._old

    def dead_writes(self) -> list[bytes]:
        """Return the rows of writes that have died."""
        return [key for key, write in self._writes.items() if not is_alive(write, self.now)]


class _Vacuum:
    """One run of vacuum, after the versions to keep are decided.

    Args:
        table: any version of the table.
        territory: the files that may be deleted.
        files: the file systems.
        oldest: the oldest version that is kept.
        dry_run: only report.
        age: of files and uploads that no row lists.
    """

    def __init__(
        self,
        table: TableSnapshot,
        territory: OwnedFiles,
        files: FileAccess,
        oldest: CommitRecord,
        dry_run: bool,
        age: _Age,
    ) -> None:
        self._store = table.store
        self._id = table.id
        self._dry_run = dry_run
        self._is_old = age.is_old
        self._files = files
        self._owned = territory
        self._oldest = oldest
        self._kept_rows: set[bytes] = set()
        self._known_placements: tuple[int, list[TablePlacement]] | None = None

    def run(self, head: Head) -> list[Removed]:
        """Delete what is not needed, given the table's head after old versions were retired."""
        uploads = self._owned.unfinished_uploads()
        abandoned = [(place, upload) for place, upload in uploads if self._is_old(upload.began)]
        unneeded = self._unneeded_files(head, uploads)
        rows = self._rows(head)
        if not self._dry_run:
            ownership_of(self._store).require()  # listing may have taken hours
            self._delete_files(head, unneeded)
            abandoned = end_uploads(self._files, abandoned)
            self._delete_rows(head, {row.kind for row in rows})
        files = [
            Removed("data file" if c.listed else "left-over file", c.path, 1, c.info.bytes)
            for c in unneeded.values()
            if c.info is not None
        ]
        checksums = [
            Removed("checksum file", self._files.name(checksum_file(place)), 1, c.checksum.bytes)
            for place, c in unneeded.items()
            if c.checksum is not None
        ]
        orphans = remove_orphans(self._store, self._files, dry_run=self._dry_run)
        files += [Removed("left-over file", path, 1, size) for path, size in orphans.files]
        ended = Counter(upload.path for _, upload in (*abandoned, *orphans.uploads))
        files += [Removed("abandoned upload", path, count, None) for path, count in ended.items()]
        if orphans.tables:
            rows.append(Removed("left-over tables", None, orphans.tables, None))
        if orphans.names:
            rows.append(Removed("left-over names", None, orphans.names, None))
        return [*_sorted_by_path(files), *_sorted_by_path(checksums), *rows]

    # -- files

    def _unneeded_files(self, head: Head, uploads: Uploads) -> dict[StoragePath, _DeletionCandidate]:
        """Return the unneeded files, by the head's versions.

        Args:
            head: the table's head.
            uploads: unfinished ones. The folder of a young one must stay known, like the folder of a file.
        """
        candidates = self._superseded(head)
        checksums: dict[StoragePath, Info] = {}
        kept: set[StoragePath] = set()
        young = {
            place: _DeletionCandidate(upload.path, True, [])
            for place, upload in uploads
            if not self._is_old(upload.began) and self._outer_folder(place) is not None
        }
        for place, info in self._there():
            checked = checksummed_file(place)
            if place in candidates:
                candidates[place].info = info
            elif checked is not None:
                checksums[checked] = info
            elif self._owned.is_own(place) and self._is_old(info.modified):
                candidates[place] = _DeletionCandidate(self._files.name(place), True, [], info)
            else:
                kept.add(place)
                if self._outer_folder(place) is not None:
                    young[place] = _DeletionCandidate(self._files.name(place), True, [], info)
        for checked, info in checksums.items():
            place = checksum_file(checked)
            if checked in candidates and candidates[checked].info is not None:
                candidates[checked].checksum = info
            elif checked not in kept and self._owned.is_own(place) and self._is_old(info.modified):
                candidates[place] = _DeletionCandidate(self._files.name(place), True, [], info)
        self._keep_needed(head, candidates)
        self._kept_rows = self._partitions_recording(head, young)
        return self._deletable(candidates)

    def _outer_folder(self, place: StoragePath) -> StoragePath | None:
        """Return the folder of a file that the table wrote outside of its own folder, else None."""
        if not self._owned.outer or not self._owned.is_own(place):
            return None
        return next((folder for folder in self._owned.outer if is_below(place, folder)), None)

    def _partitions_recording(self, head: Head, young: dict[StoragePath, _DeletionCandidate]) -> set[bytes]:
        """Return the partitions whose unneeded rows alone name the folders of files that are too young."""
        if young:
            self._keep_needed(head, young)
        folders = {folder for place in young if (folder := self._outer_folder(place)) is not None}
        recording: set[bytes] = set()
        for wanted in (True, False) if folders else ():
            for row in stored_rows(self._store, self._id, head, self._oldest):
                if (row.need in (Need.LIVE, Need.WORKING)) is not wanted:
                    continue
                recorded = {
                    self._owned.real.folder(self._files.storage_path(p))
                    for p in recorded_locations(row.value)
                }
                if wanted:
                    folders -= recorded
                elif folders & recorded:
                    recording.add(row.key)
        return recording

    def _there(self) -> Iterator[tuple[StoragePath, Info]]:
        """Yield the files below the table, and the files that it wrote to partitions elsewhere."""
        yield from self._files.below(self._owned.root)
        yield from self._owned.own_elsewhere()

    def _real_path(self, path: str) -> StoragePath:
        """Return the real path of a file, since several paths may lead to it."""
        return self._owned.real.file(self._files.storage_path(path))

    def _superseded(self, head: Head) -> dict[StoragePath, _DeletionCandidate]:
        """Return the files that versions which are no longer kept have listed."""
        placements = self._placements(head)
        first = next(iter(placements.values()))
        found: dict[StoragePath, _DeletionCandidate] = {}
        for row in stored_rows(self._store, self._id, head, self._oldest):
            needed = row.need in (Need.LIVE, Need.WORKING)
            if needed or is_tombstone(row.value) or head.is_aborted(row.ticket):
                continue
            # Commits before the oldest kept one wrote only rows that this one shows, too.
            placement = placements.get(row.ticket, first)
            try:
                listed = list(self._listed(placement, row.key, decode_entry(row.value)))
            except MetastoreDamagedError:
                continue  # the row is deleted; the table's own files are found without it
            for path, file in listed:
                place = self._real_path(path)
                if place not in found:
                    found[place] = _DeletionCandidate(path, self._owned.is_own(place), [])
                found[place].listed.append(file)
        return found

    def _placements(self, head: Head) -> dict[int, TablePlacement]:
        """Return the placement of the version that each ticket made, oldest first."""
        by_metadata: dict[int, TablePlacement] = {}
        placements: dict[int, TablePlacement] = {}
        for commit in (*(commit for _, commit in commit_rows(self._store, self._id)), head.commit):
            if commit.metadata not in by_metadata:
                by_metadata[commit.metadata] = load(self._store, self._id, head, commit).placement
            placements[commit.ticket] = by_metadata[commit.metadata]
        return placements

    def _listed(
        self, placement: TablePlacement, key: bytes, entry: PartitionEntry
    ) -> Iterator[tuple[str, FileRecord]]:
        folder = entry.location or placement.location_of(key)
        for file in read_files(self._store, self._id, entry):
            yield join_location(folder, file.path), file

    def _keep_needed(self, head: Head, candidates: dict[StoragePath, _DeletionCandidate]) -> None:
        """Remove the candidates that kept versions and running commits list."""
        if not candidates:
            return
        for row in stored_rows(self._store, self._id, head, self._oldest):
            if row.need in (Need.LIVE, Need.WORKING) and not is_tombstone(row.value):
                self._keep_listed(head, row, candidates)

    def _keep_listed(
        self, head: Head, row: StoredRow, candidates: dict[StoragePath, _DeletionCandidate]
    ) -> None:
        entry = decode_entry(row.value)
        placements = [placement for placement in self._kept_placements(head) if placement.fits(row.key)]
        if not placements:  # a running REPLACE TABLE, whose partition columns no version has yet
            self._keep_named(entry, candidates)
        for placement in placements:
            try:
                for path, _ in self._listed(placement, row.key, entry):
                    candidates.pop(self._real_path(path), None)
            except TableNotFoundError:
                # A running commit may not have written yet what its row refers to.
                if row.need is not Need.WORKING:
                    raise

    def _keep_named(self, entry: PartitionEntry, candidates: dict[StoragePath, _DeletionCandidate]) -> None:
        """Remove the candidates with the names of a partition's files: no two files have one name."""
        try:
            names = {base_name(file.path) for file in read_files(self._store, self._id, entry)}
        except TableNotFoundError:  # a running commit may not have written the list yet
            return
        for place in [place for place in candidates if base_name(place.path) in names]:
            del candidates[place]

    def _kept_placements(self, head: Head) -> list[TablePlacement]:
        """Return each placement that kept versions give to partitions by default."""
        if self._known_placements is None or self._known_placements[0] != head.commit.metadata:
            found: dict[object, TablePlacement] = {}
            kept = (c for _, c in commit_rows(self._store, self._id) if c.version >= self._oldest.version)
            for commit in (*kept, head.commit):
                snapshot = load(self._store, self._id, head, commit)
                found[snapshot.metadata.location, keyed_by(snapshot.metadata)] = snapshot.placement
            self._known_placements = head.commit.metadata, list(found.values())
        return self._known_placements[1]

    def _deletable(
        self, candidates: dict[StoragePath, _DeletionCandidate]
    ) -> dict[StoragePath, _DeletionCandidate]:
        own = self._owned.deletable(
            place
            for place, candidate in candidates.items()
            if candidate.own or (candidate.info is not None and _is_listed(candidate, candidate.info))
        )
        return {place: candidate for place, candidate in candidates.items() if place in own}

    def _current(self, head: Head) -> TableSnapshot:
        return load(self._store, self._id, head)

    def _delete_files(self, head: Head, unneeded: dict[StoragePath, _DeletionCandidate]) -> None:
        # only a rollback could list these names again, and it now fails
        self._delete(
            {place: candidate for place, candidate in unneeded.items() if not _may_be_listed(candidate)}
        )
        if any(map(_may_be_listed, unneeded.values())):
            head = self._delete_claimed(head, unneeded)
        self._delete_folders(head, unneeded)

    def _delete(self, files: Mapping[StoragePath, _DeletionCandidate]) -> None:
        """Delete files and their checksums. A checksum goes first: without its file, its owner would not be
        known.

        Raises:
            WarehouseError: one cannot be deleted.
        """
        checksums = (
            checksum_file(place) for place, candidate in files.items() if candidate.checksum is not None
        )
        for places in (checksums, files):
            for failure in self._files.delete_all(places):
                raise WarehouseError(failure)

    def _delete_claimed(self, head: Head, unneeded: dict[StoragePath, _DeletionCandidate]) -> Head:
        """Delete files that a commit may list, some at a time, while no such commit can come in between."""
        adopted = {place: candidate for place, candidate in unneeded.items() if _may_be_listed(candidate)}
        with cleaner(self._store, self._id) as one:
            while adopted:
                now = one.claim(PATIENCE_S)
                if now.commit.version == head.commit.version:
                    some = {place: adopted[place] for place in islice(adopted, _FILES_PER_CLAIM)}
                    self._delete(some)
                    for place in some:
                        del adopted[place]
                    continue
                before, head = set(adopted), now
                self._keep_needed(head, adopted)
                for place in before - adopted.keys():  # taken in again meanwhile
                    del unneeded[place]
        return head

    def _delete_folders(self, head: Head, files: Iterable[StoragePath]) -> None:
        """Remove directories that are empty now, since an empty directory could be taken for a partition."""
        real = self._owned.real
        folders = {parent_folder(place) for place in files}
        if folders:
            partitions = self._current(head).partitions()
            kept = {real.folder(self._files.storage_path(partition.location)) for partition in partitions}
            self._owned.prune(folders, kept)

    # -- rows

    def _rows(self, head: Head) -> list[Removed]:
        """Count the unneeded rows."""
        chunks = list(self._chunks(head))
        removed = [
            self._unneeded("partition versions", head),
            self._unneeded("taken-out records", head, removed_files_prefix(self._id)),
            Removed("index entries", None, sum(1 for _ in self._entries(head)), None),
            Removed(
                "file lists",
                None,
                len({chunk_position(key) for key, _ in chunks}),
                sum(len(value) for _, value in chunks),
            ),
            Removed("metadata", None, sum(1 for _ in self._metadata(head)), None),
            Removed("commits", None, sum(1 for _ in self._commits()), None),
            Removed("journals", None, len(self._journals(head)), None),
        ]
        return [row for row in removed if row.count]

    @staticmethod
    def _stays(row: StoredRow, kept: set[bytes]) -> bool:
        return row.need in (Need.LIVE, Need.WORKING) or row.key in kept

    def _unneeded(self, kind: str, head: Head, prefix: bytes | None = None) -> Removed:
        rows = stored_rows(self._store, self._id, head, self._oldest, prefix)
        kept = self._kept_rows if prefix is None else set()
        sizes = [len(row.value) for row in rows if not self._stays(row, kept)]
        return Removed(kind, None, len(sizes), sum(sizes))

    def _entries(self, head: Head) -> Iterator[bytes]:
        return unneeded_entries(self._store, self._id, head, self._oldest)

    def _metadata(self, head: Head) -> Iterator[bytes]:
        return unneeded_metadata(self._store, self._id, head, self._oldest)

    def _commits(self) -> Iterator[bytes]:
        return unneeded_commits(self._store, self._id, self._oldest)

    def _chunks(self, head: Head) -> Iterator[tuple[bytes, bytes]]:
        referenced: set[tuple[int, int]] = set()
        for row in stored_rows(self._store, self._id, head, self._oldest):
            if self._stays(row, self._kept_rows) and not is_tombstone(row.value):
                referenced.update((chunk.ticket, chunk.number) for chunk in decode_entry(row.value).chunks)
        return unneeded_chunks(self._store, self._id, head, referenced)

    def _journals(self, head: Head) -> set[int]:
        tickets = (journal_ticket(key) for key, _ in self._store.scan(*prefix_range(JOURNAL + self._id)))
        return {ticket for ticket in tickets if ticket < head.next_ticket and ticket not in head.pending}

    def _delete_rows(self, head: Head, counted: Container[str]) -> None:
        """Delete the unneeded rows.

        Args:
            head: the head that was used to count them.
            counted: the kinds with a count above 0. The others are skipped, which avoids reading a million
                keys again.
        """
        recovery.sweep(self._store, self._id, head)
        if "index entries" in counted:
            delete_in_batches(self._store, entries_of_dropped(self._store, self._id, head, self._oldest))
        if "partition versions" in counted:
            entries = entries_of_rows(self._store, self._id, head, self._oldest)
            delete_stored_rows(self._store, self._id, head, self._oldest, entries, spared=self._kept_rows)
        if "taken-out records" in counted:
            records = removed_files_prefix(self._id)
            delete_stored_rows(self._store, self._id, head, self._oldest, lambda _: (), records)
        if "file lists" in counted:
            delete_in_batches(self._store, (key for key, _ in self._chunks(head)))
        delete_in_batches(self._store, self._commits())
        delete_in_batches(self._store, self._metadata(head))


def _sorted_by_path(removed: list[Removed]) -> list[Removed]:
    return sorted(removed, key=lambda row: row.path or "")


def _may_be_listed(candidate: _DeletionCandidate) -> bool:
    """Return whether a commit may list a file: another writer's again, or an own one after a long write."""
    return not candidate.own or not candidate.listed


def _is_listed(candidate: _DeletionCandidate, info: Info) -> bool:
    """Return whether a file on disk is still the file that was listed."""
    return any(
        file.bytes == info.bytes and (file.modified is None or file.modified == info.modified)
        for file in candidate.listed
    )
