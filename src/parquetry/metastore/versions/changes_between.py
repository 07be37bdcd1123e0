"""The changes between two versions: the files that each version added, and whether it removed any.

The tickets of rows show which partitions were written between two versions, and only these are compared. Of
long lists of files only the chunks that the two versions do not share are read.

| version | p=1     | p=2 | change                    |
|---------|---------|-----|---------------------------|
| 4       | a, b    | c   |                           |
| 5       | a, b, d | c   | adds d                    |
| 6       | a, b, d | e   | adds e, and removes c     |
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from parquetry.data_files import FileRecord, is_same
from parquetry.errors import TableNotFoundError
from parquetry.locations import join_location
from parquetry.metastore.storage.head import Head
from parquetry.metastore.storage.keyspace import complement
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot, load, load_commit
from parquetry.metastore.versions.touched import TouchedPartitions
from parquetry.metastore.versions.visible_rows import PartitionRow

_FIRST_VERSIONS, _MAX_VERSIONS = 16, 512
"""Versions that are read together, at first and at most. The first group is small, because a caller with a
limit of files may stop early."""


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """The changes that one version made to the files of a table.

    Attributes:
        version: the table in this version.
        brought: partitions with new files, in key order, and these files in the order of the partition's
            list.
        takes_away: whether the version removed a file, or lists another file under its path.
    """

    version: TableSnapshot
    brought: tuple[tuple[PartitionSnapshot, tuple[FileRecord, ...]], ...]
    takes_away: bool

    @property
    def file_count(self) -> int:
        """Return the number of new files."""
        return sum(len(files) for _, files in self.brought)


def changes_between(
    newest: TableSnapshot, head: Head, after: int, until: int, touched: TouchedPartitions | None = None
) -> Iterator[VersionChanges]:
    """Yield the changes of each version after one version, up to and including another, in order.

    Args:
        newest: any version of the table, which gives its store and id.
        head: the table's head.
        after: the version before the first one wanted, or -1 to begin with version 0.
        until: the last version wanted.
        touched: cache of written partitions, from earlier calls and for later ones.

    Raises:
        TableNotFoundError: the table was dropped, or a vacuum retired a version.
    """
    few, touched = _FIRST_VERSIONS, touched or TouchedPartitions()
    while after < until:
        last = min(until, after + few)
        yield from _changes(newest, head, after, last, touched)
        after, few = last, min(2 * few, _MAX_VERSIONS)


def _changes(
    newest: TableSnapshot, head: Head, after: int, until: int, touched_partitions: TouchedPartitions
) -> Iterator[VersionChanges]:
    """Yield the changes of some versions, with all their partitions' rows in memory together."""
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
    """Return the new files of a partition, and whether it has lost any."""
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
