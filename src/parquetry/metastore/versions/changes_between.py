"""Which files each version of a table brought, and whether it took any away.

Partitions are told apart by the tickets of their rows: only those of which a row was written between two versions are
looked at, and of long lists of files only the parts that two versions do not share.

    version 4      p=1  a b      p=2  c
    version 5      p=1  a b d              brings d
    version 6                    p=2  e    brings e, and takes c away
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from parquetry.data_files import FileRecord, is_same
from parquetry.errors import TableNotFoundError
from parquetry.locations import join_location
from parquetry.metastore.storage import CommitRecord, Head, complement
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot, load, load_commit
from parquetry.metastore.versions.touched import TouchedPartitions
from parquetry.metastore.versions.visible_rows import PartitionRow

_FIRST_VERSIONS, _MAX_VERSIONS = 16, 512
"""Versions that are looked at together, at first and at most: who wants a limited number of files stops early."""


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """What one version did to the files of a table.

    Attributes:
        version: the table in it.
        brought: partitions with files that were not there before, in key order, and these files in the order of the partition's
            list.
        takes_away: whether a file is gone that was there before, or is another one now.
    """

    version: TableSnapshot
    brought: tuple[tuple[PartitionSnapshot, tuple[FileRecord, ...]], ...]
    takes_away: bool

    @property
    def file_count(self) -> int:
        """Return how many files it brought."""
        return sum(len(files) for _, files in self.brought)


def changes_between(
    newest: TableSnapshot, head: Head, after: int, until: int, touched: TouchedPartitions | None = None
) -> Iterator[VersionChanges]:
    """Yield what each version did that follows one version, up to and with another; in order.

    Args:
        newest: any version of the table, to read it by.
        head: of the table.
        after: the version before the first that is told of; -1: there was none.
        until: the last.
        touched: what is known of partitions from earlier calls, and is kept for later ones.

    Raises:
        TableNotFoundError: the table was dropped, or a version vacuumed away.
    """
    few, touched = _FIRST_VERSIONS, touched or TouchedPartitions()
    while after < until:
        last = min(until, after + few)
        yield from _changes(newest, head, after, last, touched)
        after, few = last, min(2 * few, _MAX_VERSIONS)


def _changes(
    newest: TableSnapshot, head: Head, after: int, until: int, touched_partitions: TouchedPartitions
) -> Iterator[VersionChanges]:
    """Yield the same of versions of which the partitions' rows are in memory together."""
    store, table = newest.store, newest.id

    def commit(version: int) -> CommitRecord:
        commit_record = load_commit(store, table, head, version)
        if commit_record is None:
            raise TableNotFoundError(
                f"Version {version} of table {newest.label} has been vacuumed away; the oldest is {head.oldest}."
            )
        return commit_record

    commits = [commit(version) for version in range(after + 1, until + 1)]
    last = load(store, table, head, commits[-1])
    touched = touched_partitions.written_by(last, commits)
    base = None if after < 0 else load(store, table, head, commit(after))
    before: dict[bytes, PartitionSnapshot | None] = {}
    if base is not None:
        before = {key: _partition(base, key, row) for key, row in base.visible.newest(touched).items()}
    written: dict[int, list[tuple[bytes, PartitionRow]]] = {}
    for key, row in last.visible.written_since(touched, min(each.ticket for each in commits)):
        written.setdefault(row.ticket, []).append((key, row))
    (base or last).check_kept()  # no row was missing
    for each in commits:
        version = load(store, table, head, each)
        brought, takes_away = [], False
        for key, row in written.get(each.ticket, ()):
            now = _partition(version, key, row)
            new, takes_some = _difference(before.get(key), now)
            before[key] = now
            takes_away |= takes_some
            if now is not None and new:
                brought.append((now, new))
        yield VersionChanges(version, tuple(brought), takes_away)


def _partition(version: TableSnapshot, key: bytes, row: PartitionRow) -> PartitionSnapshot | None:
    return None if row.is_tombstone else PartitionSnapshot(version, key, complement(row.ticket), row.value)


def _difference(
    before: PartitionSnapshot | None, now: PartitionSnapshot | None
) -> tuple[tuple[FileRecord, ...], bool]:
    """Return the files that a partition has and had not, and whether it had any that it has no longer."""
    old = () if before is None else before.files_besides(now)
    new = () if now is None else now.files_besides(before)
    if before is None or now is None:
        return new, bool(old)
    had = {join_location(before.location, file.path): file for file in old}
    brought, kept = [], 0
    for file in new:
        other = had.get(join_location(now.location, file.path))
        if other is not None and is_same(other, file.bytes, file.modified):
            kept += 1
        else:
            brought.append(file)
    return tuple(brought), kept < len(old)
