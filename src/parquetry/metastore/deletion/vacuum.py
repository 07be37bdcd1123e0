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

from parquetry.errors import TableNotFoundError, WarehouseError
from parquetry.metastore.cleanup.in_flight import writes_in_flight
from parquetry.metastore.cleanup.retention import kept_since, oldest_commit, retire
from parquetry.metastore.deletion.clocks import HOUR_MS, Clocks, FileAges, grace_of
from parquetry.metastore.deletion.delete_files import FileDeletion
from parquetry.metastore.deletion.delete_rows import UnneededRows
from parquetry.metastore.deletion.file_access import FileAccess, checksum_file
from parquetry.metastore.deletion.find_unneeded_files import Candidates, UnneededFiles
from parquetry.metastore.deletion.owned_files import OwnedFiles
from parquetry.metastore.deletion.unfinished_uploads import Uploads, end_uploads
from parquetry.metastore.namespace.orphans import Orphan, Orphans
from parquetry.metastore.ownership.owner import ownership_of
from parquetry.metastore.results import Removed
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, live_head
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.versions.snapshot import TableSnapshot, load_metadata
from parquetry.store import Store

KEPT_HOURS = 7 * 24
"""Hours that a version stays readable after the next one, unless the caller gives another time."""


def vacuum(
    table: TableSnapshot,
    *,
    older_than: int | None = None,
    retain_hours: int | None = None,
    dry_run: bool = False,
    grace: int | None = None,
    force: bool = False,
) -> list[Removed]:
    """Delete all that is needed only by versions that were replaced before a time.

    Args:
        table: any version of the table.
        older_than: the time, in milliseconds since the epoch, or None for seven days ago. The newest version
            is always kept.
        retain_hours: the same in hours before now, in place of `older_than`.
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
    ages = FileAges(
        clocks=clocks,
        files=files,
        folder=territory.root,
        writes=writes_in_flight(table.store, table.id),
        grace=grace_of(table) if grace is None else grace,
        dry_run=dry_run,
    )
    kept_ms = KEPT_HOURS * HOUR_MS
    if retain_hours is not None:
        older_than = store_now_ms(table.store) - retain_hours * HOUR_MS
    oldest = kept_since(
        table.store, table.id, head, clocks.now - kept_ms if older_than is None else older_than
    )
    if older_than is None and oldest.version > head.oldest:
        oldest = kept_since(table.store, table.id, head, ages.now - kept_ms)
    if not dry_run:
        head = retire(table.store, table.id, oldest.version)
        oldest = oldest_commit(table.store, table.id, head)
    removed = _remove(table, head, oldest, territory, files, ages, dry_run)
    if not dry_run:
        table.store.delete_many(ages.dead_writes())
    return removed


def _remove(
    table: TableSnapshot,
    head: Head,
    oldest: CommitRecord,
    owned: OwnedFiles,
    files: FileAccess,
    ages: FileAges,
    dry_run: bool,
) -> list[Removed]:
    """Delete what is unneeded, by the table's head after old versions were retired."""
    search = UnneededFiles(table.store, table.id, owned, files, oldest, ages.is_old)
    uploads = owned.unfinished_uploads()
    abandoned = [(path, upload) for path, upload in uploads if ages.is_old(upload.began)]
    unneeded, kept = search.find(head, uploads)
    rows = UnneededRows(table.store, table.id, oldest, kept)
    counts = rows.count(head)
    if not dry_run:
        ownership_of(table.store).require()  # listing may have taken hours
        FileDeletion(table.store, table.id, owned, files, search.needed).delete(head, unneeded)
        abandoned = end_uploads(files, abandoned)
        rows.delete(head, {row.kind for row in counts})
    removed, checksums = _files_removed(files, unneeded)
    orphans = remove_orphans(table.store, files, dry_run=dry_run)
    removed += [Removed("left-over file", path, 1, size) for path, size in orphans.files]
    ended = Counter(upload.path for _, upload in (*abandoned, *orphans.uploads))
    removed += [Removed("abandoned upload", path, count, None) for path, count in ended.items()]
    if orphans.tables:
        counts.append(Removed("left-over tables", None, orphans.tables, None))
    if orphans.names:
        counts.append(Removed("left-over names", None, orphans.names, None))
    return [*_sorted_by_path(removed), *_sorted_by_path(checksums), *counts]


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


def _sorted_by_path(removed: list[Removed]) -> list[Removed]:
    return sorted(removed, key=lambda row: row.path or "")


@dataclass(frozen=True, slots=True)
class RemovedOrphans:
    """The numbers and files that were removed, or would be.

    Attributes:
        tables: number of tables.
        names: number of name rows that lead to no table.
        files: paths and sizes in bytes of files of tables that never had a name.
        uploads: unfinished uploads of such tables.
    """

    tables: int
    names: int
    files: tuple[tuple[str, int], ...]
    uploads: Uploads


def remove_orphans(store: Store, files: FileAccess, *, dry_run: bool = False) -> RemovedOrphans:
    """Remove the remains of tables whose creation, drop or replacement was interrupted.

    Args:
        store: the metastore's store.
        files: the file systems of the tables. A table whose files cannot be deleted is left for the next run.
        dry_run: only report.
    """
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
    """Delete the files of a table that never had a name, and end its uploads."""
    if orphan.head is None or orphan.was_seen or orphan.head.kind == "view":
        return [], []
    try:
        metadata = load_metadata(store, orphan.id, orphan.head.commit.metadata)
    except TableNotFoundError:  # interrupted before the metadata were written
        return [], []
    own = OwnedFiles(store, orphan.id, metadata, files)
    found = {place: info for place, info in files.below(own.root) if own.is_own(place)}
    found.update(own.own_elsewhere())
    doomed = own.deletable(found)
    uploads = own.unfinished_uploads()
    if not dry_run:
        for failure in files.delete_all(doomed):
            raise WarehouseError(failure)
        uploads = end_uploads(files, uploads)
        own.delete_empty()
    return [(files.name(place), info.bytes) for place, info in found.items() if place in doomed], uploads
