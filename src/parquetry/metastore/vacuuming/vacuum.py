"""Delete what only old versions of a table need: data files first, then the rows of the metastore.

1. Retire versions before `older_than` in the head. From here on, reading them is an error, and so is a
   rollback to them that has not committed yet.
2. Find unneeded files: files that only rows of retired versions list, and the table's own files that no row
   lists. All rows of kept versions and of running commits are read; a file that one of them lists stays.
3. Delete the files, then the rows. A row that lists a file is deleted after the file, so the next run finds
   all that a crash leaves.
4. Remove the folders of links to files that were published for retired versions (`published_links`). A Hive
   metastore that follows the table may name such folders still. It removes them when the vacuum is done.
5. Remove the remains of tables whose creation, drop or replacement was interrupted, for any table of the
   metastore: no statement can name such a table.
6. Have the store remove the bytes of deleted rows that its log still has (`storage.scrub`).

A running write has files that no row lists yet. So files without a row are deleted only if they are older
than the grace period, by the earliest of the known clocks (`FileAges`). Meanwhile no commit can list old
files (`delete_files`). The same holds for multipart uploads that never became files: an old one is
abandoned, and is ended. A younger file or upload may be in a folder outside of the table's folder. If only
retired rows name that folder, these rows stay, so that the next run finds the file.

`owned_files` has the rule for the files that the table may delete. A file of another writer must also still
be the file that the table listed: the same size and time of change.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import msgspec

from parquetry.errors import MetastoreDamagedError, TableNotFoundError, UnsupportedError, WarehouseError
from parquetry.metastore.cleanup import upkeep_record
from parquetry.metastore.cleanup.in_flight import writes_in_flight
from parquetry.metastore.cleanup.retention import oldest_commit, oldest_needed_commit, retire, up_to_tag
from parquetry.metastore.cleanup.survey import RowSurvey
from parquetry.metastore.cleanup.transactions import finish_transactions
from parquetry.metastore.cleanup.upkeep_record import UpkeepRecord, fingerprint, read_record, write_record
from parquetry.metastore.deletion.dropped_files import DroppedTableFiles
from parquetry.metastore.deletion.file_access import FileAccess, checksum_file
from parquetry.metastore.deletion.owned_files import OwnedFiles
from parquetry.metastore.deletion.unfinished_uploads import Uploads, end_uploads
from parquetry.metastore.followers import HIVE, follower_name, notify_of_vacuum
from parquetry.metastore.namespace.orphans import Orphan, Orphans
from parquetry.metastore.ownership.owner import ownership_of
from parquetry.metastore.range_manifests.upkeep import delete_unneeded_lists, refresh_ranges
from parquetry.metastore.results import Removed
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, live_head
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.storage.scrub import scrub
from parquetry.metastore.transactions.gathering import require_no_draft
from parquetry.metastore.vacuuming.clocks import HOUR_MS, Clocks, FileAges, grace_of
from parquetry.metastore.vacuuming.delete_files import FileDeletion
from parquetry.metastore.vacuuming.delete_rows import UnneededRows, forget_tickets
from parquetry.metastore.vacuuming.find_unneeded_files import Candidates, UnneededFiles
from parquetry.metastore.versions.snapshot import TableSnapshot, load_commit, load_metadata
from parquetry.store import Store

KEPT_HOURS = 7 * 24
"""Hours that a version stays readable after the next one, unless the caller gives another time."""
_KEPT_MS = KEPT_HOURS * HOUR_MS
_MAX_LOCATIONS = 100
"""Locations outside of a table's folder that are remembered; with more, each vacuum looks at all rows."""


def vacuum(
    table: TableSnapshot,
    *,
    older_than: int | None = None,
    keep_from: int | None = None,
    dry_run: bool = False,
    grace: int | None = None,
    force: bool = False,
    full: bool = False,
) -> list[Removed]:
    """Delete all that is needed only by versions that were replaced before a time.

    A version with a tag is kept, and so are all later ones. So are the files of branches.

    Args:
        table: any version of the table.
        older_than: the time, in milliseconds since the epoch, or None for seven days ago. The newest version
            is always kept.
        keep_from: in place of `older_than`, the oldest version that is kept.
        dry_run: only report.
        grace: the age in milliseconds at which an own file that no row lists may be deleted, or None for the
            table's (`vacuum-grace-hours`).
        force: whether to go on if the clocks of this machine and of the store differ by minutes.
        full: whether to look at the rows of a large table although nothing has changed since the last vacuum.

    Returns:
        What was deleted, or would be: one result for each file, and one for each kind of row.

    Raises:
        TableNotFoundError: the table was dropped meanwhile.
        WarehouseError: a file cannot be deleted, or a directory cannot be listed; or clocks differ.
        CommitConflictError: others keep committing; no data is lost, run it again.
        ForeignWarehouseError: the warehouse belongs to another metastore.
    """
    clocks, files = _begin(table, force, dry_run), FileAccess()
    territory = OwnedFiles(table.store, table.id, table.metadata, files)
    head = live_head(table.store, table.id, f"Table {table.label} was dropped or replaced meanwhile.")
    ages = FileAges(
        clocks=clocks,
        files=files,
        folder=territory.root,
        writes=writes_in_flight(table.store, table.id),
        grace=grace_of(table) if grace is None else grace,
        dry_run=dry_run,
    )
    kept = None if keep_from is None else load_commit(table.store, table.id, head, keep_from)
    oldest = up_to_tag(table.store, table.id, head, kept or _oldest_needed(table, head, older_than, ages))
    if not dry_run:
        head = retire(table.store, table.id, oldest.version)
        oldest = oldest_commit(table.store, table.id, head)
    run = _Vacuum(table, head, oldest, territory, files, ages, dry_run)
    record = read_record(table.store, table.id)
    changed = full or not _is_unchanged(table, head, record)
    survey = RowSurvey(table.store, table.id, head, oldest)
    survey.locations.update(() if changed else record.locations)
    removed = _remove(run, survey, changed)
    if not dry_run:
        run.finish(record, survey, changed)
        notify_of_vacuum(table)
    return removed


def _begin(table: TableSnapshot, force: bool, dry_run: bool) -> Clocks:
    """Make sure that a vacuum may begin. Return the clocks, which must agree unless it is forced."""
    require_no_draft(table, "A vacuum")
    if table.branch_of:
        raise UnsupportedError(
            f"{table.label} is a branch, and is not vacuumed: the vacuum of its table takes what no branch needs."
        )
    if not dry_run:
        ownership_of(table.store).require(now=True)
    clocks = Clocks.read(table.store)
    if not force:
        clocks.require_agreement(table.label)
    return clocks


def _oldest_needed(table: TableSnapshot, head: Head, older_than: int | None, ages: FileAges) -> CommitRecord:
    """Return the oldest version that is kept. For the default time, all known clocks count."""
    if older_than is not None:
        return oldest_needed_commit(table.store, table.id, head, older_than)
    oldest = oldest_needed_commit(table.store, table.id, head, ages.clocks.now - _KEPT_MS)
    if oldest.version > head.oldest:
        return oldest_needed_commit(table.store, table.id, head, ages.now - _KEPT_MS)
    return oldest


def _is_unchanged(table: TableSnapshot, head: Head, record: UpkeepRecord) -> bool:
    """Return whether a vacuum has looked at all rows of a large table, and none has been written since."""
    return (
        table.totals.partitions >= upkeep_record.MIN_PARTITIONS
        and bool(record.vacuumed)
        and record.vacuumed == fingerprint(head)
        and not head.aborted
    )


@dataclass(frozen=True, slots=True)
class _Vacuum:
    """One vacuum, by the table's head after old versions were retired."""

    table: TableSnapshot
    head: Head
    oldest: CommitRecord
    owned: OwnedFiles
    files: FileAccess
    ages: FileAges
    dry_run: bool

    def finish(self, record: UpkeepRecord, survey: RowSurvey, changed: bool) -> None:
        """Bring range manifests up to date, and remember what was found."""
        self.table.store.delete_many(self.ages.dead_writes())
        refresh_ranges(self.table)
        delete_unneeded_lists(self.table.store, self.table.id)
        record = msgspec.structs.replace(record, vacuumed_at=store_now_ms(self.table.store))
        if changed:
            record = self._remember(record, survey)
        write_record(self.table.store, self.table.id, record)
        scrub(self.table.store)

    def _remember(self, record: UpkeepRecord, survey: RowSurvey) -> UpkeepRecord:
        """Forget tickets of killed writers, and return the record with what this vacuum found."""
        store, id = self.table.store, self.table.id
        if self.head.aborted:  # to ask for the time may take a request
            time = self.ages.now - max(self.ages.grace, HOUR_MS)
            forget_tickets(store, id, self.head, survey.aborted, time)
        head = live_head(store, id, f"Table {self.table.label} was dropped or replaced meanwhile.")
        same = (head.commit.id, head.oldest, head.next_ticket) == (
            self.head.commit.id,
            self.head.oldest,
            self.head.next_ticket,
        )
        vacuumed = b""
        if same and not survey.unneeded and not survey.records and len(survey.locations) <= _MAX_LOCATIONS:
            vacuumed = fingerprint(head)
        locations = tuple(sorted(survey.locations)) if vacuumed else ()
        if self.table.totals.partitions < upkeep_record.MIN_PARTITIONS:
            return record
        return msgspec.structs.replace(record, vacuumed=vacuumed, locations=locations)


def _remove(run: _Vacuum, survey: RowSurvey, changed: bool) -> list[Removed]:
    """Delete what is unneeded.

    Args:
        run: the vacuum.
        survey: the pass over the table's rows.
        changed: whether rows may be unneeded, so that the pass is needed.
    """
    table, head, oldest, owned = run.table, run.head, run.oldest, run.owned
    files, ages, dry_run = run.files, run.ages, run.dry_run
    search = UnneededFiles(table.store, table.id, owned, files, oldest, ages.is_old)
    superseded = search.find_superseded(head, survey.rows()) if changed else {}
    owned.recorded = survey.locations
    uploads = owned.unfinished_uploads()
    abandoned = [(path, upload) for path, upload in uploads if ages.is_old(upload.began)]
    unneeded, kept = search.find(head, uploads, superseded)
    newest = load_metadata(table.store, table.id, head.commit)
    links = owned.links.find_outdated(oldest.version, followed=follower_name(newest.properties) == HIVE)
    rows = UnneededRows(table.store, table.id, oldest, survey, kept)
    counts = rows.count(head) if changed else []
    if not dry_run:
        ownership_of(table.store).require()  # listing may have taken hours
        FileDeletion(table.store, table.id, owned, files, search.needed).delete(head, unneeded)
        abandoned = end_uploads(files, abandoned)
        for failure in owned.links.remove(links):
            raise WarehouseError(failure)
        if changed:
            rows.delete(head, {row.kind for row in counts})
    removed, checksums = _files_removed(files, unneeded)
    orphans = remove_orphans(table.store, files, dry_run=dry_run)
    removed += [Removed("left-over file", path, 1, size) for path, size in orphans.files]
    ended = Counter(upload.path for _, upload in (*abandoned, *orphans.uploads))
    removed += [Removed("published links", str(folder), 1, None) for folder in links]
    removed += [Removed("abandoned upload", path, count, None) for path, count in ended.items()]
    if orphans.tables:
        counts.append(Removed("left-over tables", None, orphans.tables, None))
    if orphans.names:
        counts.append(Removed("left-over names", None, orphans.names, None))
    return [*_sort_by_path(removed), *_sort_by_path(checksums), *counts]


def _files_removed(files: FileAccess, unneeded: Candidates) -> tuple[list[Removed], list[Removed]]:
    """Return the results for files, and the results for their checksum files."""
    data_files = [
        Removed("data file" if each.listed else "left-over file", each.path, 1, each.info.bytes)
        for each in unneeded.values()
        if each.info is not None
    ]
    checksums = [
        Removed("checksum file", files.name(checksum_file(path)), 1, each.checksum.bytes)
        for path, each in unneeded.items()
        if each.checksum is not None
    ]
    return data_files, checksums


def _sort_by_path(removed: list[Removed]) -> list[Removed]:
    return sorted(removed, key=lambda row: row.path or "")


@dataclass(frozen=True, slots=True)
class RemovedOrphans:
    """The numbers and files that were removed, or would be.

    Attributes:
        tables: number of tables.
        names: number of name rows that lead to no table.
        files: paths and sizes in bytes of files of tables that never had a name, or whose DROP died.
        uploads: unfinished uploads of such tables.
    """

    tables: int
    names: int
    files: tuple[tuple[str, int], ...]
    uploads: Uploads


def remove_orphans(store: Store, files: FileAccess, *, dry_run: bool = False) -> RemovedOrphans:
    """Remove the remains of tables whose creation, drop or replacement was interrupted.

    Commits of several tables that were interrupted are finished, too.

    Args:
        store: the metastore's store.
        files: the file systems of the tables. A table whose files cannot be deleted is left for the next run.
        dry_run: only report.
    """
    if not dry_run:
        finish_transactions(store)
    orphans = Orphans(store)
    removed: list[tuple[str, int]] = []
    uploads: Uploads = []
    tables = 0
    for orphan in orphans.tables():
        if not dry_run and not orphans.claim(orphan):
            continue
        try:
            its_files, its_uploads = _remove_files(store, files, orphan, dry_run)
        except WarehouseError:
            continue
        removed += its_files
        uploads += its_uploads
        tables += 1
        if not dry_run:
            orphans.remove(orphan)
    if not dry_run:
        orphans.finish_first_names()
        orphans.withdraw_renamings()
    names = orphans.names()
    for key, row in () if dry_run else names:
        orphans.release(key, row)
    return RemovedOrphans(tables, len(names), tuple(removed), uploads)


def _remove_files(
    store: Store, files: FileAccess, orphan: Orphan, dry_run: bool
) -> tuple[list[tuple[str, int]], Uploads]:
    """Delete the files of a table that never had a name, or whose DROP died, and end its uploads."""
    if orphan.head is None or orphan.head.kind == "view" or orphan.head.branch_of:
        return [], []
    if orphan.was_seen:
        return (
            (_remove_dropped(store, files, orphan.id, orphan.head, dry_run), [])
            if orphan.has_files
            else ([], [])
        )
    try:
        metadata = load_metadata(store, orphan.id, orphan.head.commit)
    except TableNotFoundError:  # interrupted before the metadata were written
        return [], []
    own = OwnedFiles(store, orphan.id, metadata, files)
    infos = {path: info for path, info in files.below(own.root) if own.is_own(path)}
    infos.update(own.own_files_elsewhere())
    doomed = own.deletable(infos)
    uploads = own.unfinished_uploads()
    if not dry_run:
        for failure in files.delete_all(doomed):
            raise WarehouseError(failure)
        uploads = end_uploads(files, uploads)
        own.delete_empty()
    return [(files.name(path), info.bytes) for path, info in infos.items() if path in doomed], uploads


def _remove_dropped(
    store: Store, files: FileAccess, table: bytes, head: Head, dry_run: bool
) -> list[tuple[str, int]]:
    """Delete the files of a table whose DROP died before it had deleted them all.

    Raises:
        WarehouseError: a file cannot be deleted.
    """
    try:
        dropped = DroppedTableFiles.from_dropped(store, table, head)
    except (TableNotFoundError, MetastoreDamagedError):  # the DROP was about to delete the rows
        return []
    unneeded = dropped.list_unneeded()
    for failure in () if dry_run else dropped.delete():
        raise WarehouseError(failure)
    return [(files.name(path), info.bytes) for path, info in unneeded.items()]
