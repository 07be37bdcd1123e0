"""Remove unreachable tables, which no name leads to, with the files of tables that never had a name."""

from __future__ import annotations

from dataclasses import dataclass

from parquetry.errors import TableNotFoundError, WarehouseError
from parquetry.metastore.deletion.file_access import FileAccess
from parquetry.metastore.deletion.owned_files import OwnedFiles
from parquetry.metastore.deletion.unfinished_uploads import Uploads, end_uploads
from parquetry.metastore.namespace.orphans import Orphan, Orphans
from parquetry.metastore.versions.snapshot import load_metadata
from parquetry.store import Store


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
