"""The changes between two versions: the files that each version added, and the files that it removed.

The tickets of rows show which partitions were written between two versions, and only these are compared. Of
long lists of files only the chunks that the two versions do not share are read. `TouchedPartitions` caches
which partitions were written.

| version | p=1     | p=2 | change                    |
|---------|---------|-----|---------------------------|
| 4       | a, b    | c   |                           |
| 5       | a, b, d | c   | adds d                    |
| 6       | a, b, d | e   | adds e, and removes c     |

A stream walks through the versions of a table that are kept. `net_changes` compares the first version with
the last one instead.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from parquetry.data_files import FileRecord, is_same
from parquetry.errors import TableNotFoundError
from parquetry.locations import join_location
from parquetry.metastore.partition_rows.visible_rows import PartitionRow
from parquetry.metastore.refs.heads import tagged_version
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, read_head
from parquetry.metastore.storage.keyspace import complement
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot, commit_as_of, load, load_commit
from parquetry.store import Store

PartitionFiles: TypeAlias = tuple[PartitionSnapshot, tuple[FileRecord, ...]]
"""A partition, and some of its files."""
REWRITING_OPERATIONS = frozenset({"compact", "rebucket", "compact metadata"})
"""Operations that leave all rows unchanged."""
_FIRST_VERSIONS, _MAX_VERSIONS = 16, 512
"""Versions that are read together, at first and at most: a caller with a limit of files may stop early."""


@dataclass(frozen=True, slots=True)
class VersionChanges:
    """The changes that one version made to the files of a table.

    Attributes:
        version: the table in this version.
        brought: partitions with new files, in key order, and these files in the order of the partition's
            list.
        removed: partitions that have lost files, as they were before, and these files. A file that is listed
            anew under the same path, with other bytes or another time, counts as removed and as new.
        before: the table in the version before, or None before version 0.
    """

    version: TableSnapshot
    brought: tuple[PartitionFiles, ...]
    removed: tuple[PartitionFiles, ...] = ()
    before: TableSnapshot | None = None

    @property
    def takes_away(self) -> bool:
        """Return whether the version removed a file, or lists another file under its path."""
        return bool(self.removed)

    @property
    def file_count(self) -> int:
        """Return the number of new files."""
        return sum(len(files) for _, files in self.brought)


def _commits(newest: TableSnapshot, head: Head, first: int, last: int) -> list[CommitRecord]:
    """Return the commits of some versions.

    Raises:
        TableNotFoundError: a vacuum retired one of them.
    """
    commits = []
    for version in range(first, last + 1):
        commit = load_commit(newest.store, newest.id, head, version)
        if commit is None:
            raise TableNotFoundError(
                f"Version {version} of table {newest.label} has been vacuumed away; the oldest is {head.oldest}."
            )
        commits.append(commit)
    return commits


def _base(newest: TableSnapshot, head: Head, version: int) -> TableSnapshot | None:
    """Return a version, or None for the one before version 0."""
    if version < 0:
        return None
    return load(newest.store, newest.id, head, _commits(newest, head, version, version)[0])


def partitions_of(version: TableSnapshot | None, keys: list[bytes]) -> dict[bytes, PartitionSnapshot | None]:
    """Return the partitions of some keys that were ever written, with None for dropped ones."""
    if version is None:
        return {}
    return {key: _partition(version, key, row) for key, row in version.visible.newest(keys).items()}


class _Differences:
    """The differences of partitions, gathered for one version."""

    def __init__(self) -> None:
        self._brought: list[PartitionFiles] = []
        self._removed: list[PartitionFiles] = []

    def compare(self, before: PartitionSnapshot | None, now: PartitionSnapshot | None) -> None:
        """Add the difference of a partition."""
        new, gone = file_difference(before, now)
        if now is not None and new:
            self._brought.append((now, new))
        if before is not None and gone:
            self._removed.append((before, gone))

    def as_changes(self, version: TableSnapshot, before: TableSnapshot | None) -> VersionChanges:
        """Return all of them as the changes of a version."""
        return VersionChanges(version, tuple(self._brought), tuple(self._removed), before)


def _changes(
    newest: TableSnapshot, head: Head, after: int, until: int, touched_partitions: TouchedPartitions
) -> Iterator[VersionChanges]:
    """Yield the changes of some versions, with all their partitions' rows in memory together."""
    store, table = newest.store, newest.id
    commits = _commits(newest, head, after + 1, until)
    last = load(store, table, head, commits[-1])
    touched = touched_partitions.find_written_keys(last, commits)
    base = _base(newest, head, after)
    before = partitions_of(base, touched)
    written: dict[int, list[tuple[bytes, PartitionRow]]] = {}
    for key, row in last.visible.rows_since(touched, min(each.ticket for each in commits)):
        written.setdefault(row.ticket, []).append((key, row))
    (base or last).check_kept()  # no row was missing
    previous, earlier = commits[-1], base
    for each in commits:
        version = load(store, table, head, each, previous)
        previous = each
        differences = _Differences()
        for key, row in written.get(each.ticket, ()):
            now = _partition(version, key, row)
            differences.compare(before.get(key), now)
            before[key] = now
        yield differences.as_changes(version, earlier)
        earlier = version


def _partition(version: TableSnapshot, key: bytes, row: PartitionRow) -> PartitionSnapshot | None:
    return None if row.is_tombstone else PartitionSnapshot(version, key, complement(row.ticket), row.value)


def file_difference(
    before: PartitionSnapshot | None, now: PartitionSnapshot | None
) -> tuple[tuple[FileRecord, ...], tuple[FileRecord, ...]]:
    """Return the files that a partition has gained since another version, and the files that it has lost."""
    old = () if before is None else before.files_besides(now)
    new = () if now is None else now.files_besides(before)
    if before is None or now is None:
        return new, old
    lost = {join_location(before.location, file.path): file for file in old}
    brought = []
    for file in new:
        path = join_location(now.location, file.path)
        other = lost.get(path)
        if other is not None and is_same(other, file.bytes, file.modified):
            del lost[path]
        else:
            brought.append(file)
    return tuple(brought), tuple(lost.values())


_CACHED_VERSION_RANGES = 16
"""Cached ranges of versions: as many as streams usually read at the same time."""
_MAX_CACHED_KEYS = 100_000
"""Keys of one cached range, some ten megabytes. To find more again costs little beside reading their rows."""


class TouchedPartitions:
    """A cache of the partitions that the commits between two versions wrote to. Several threads may use it.

    Spark asks twice about a batch of a stream: how far it goes, and which files it reads. To find the written
    partitions, the first request reads all keys of the table. The second is answered from the cache.

    | request                     | versions | keys read | result                                            |
    |-----------------------------|----------|-----------|---------------------------------------------------|
    | how far from version 7 on   | 8 to 12  | all       | p=1 (ticket 9), p=4 (ticket 11), p=5 (ticket 12)  |
    | the files of 8 to 10        | 8 to 10  | none      | p=1, p=4, p=5: too many, as their rows then show  |
    | the files of 11 to 12       | 11 to 12 | none      | p=4, p=5: the newest row of p=1 is older          |
    """

    def __init__(self) -> None:
        self._cached: OrderedDict[tuple[bytes, frozenset[str]], dict[bytes, int]] = OrderedDict()
        """By table and ids of commits: partitions' keys with the ticket of each one's newest row in the last
        version."""
        self._lock = threading.Lock()

    def find_written_keys(self, last: TableSnapshot, commits: Sequence[CommitRecord]) -> list[bytes]:
        """Return the keys of all partitions that some commits wrote to, and perhaps of others.

        Args:
            last: the table in the newest of their versions.
            commits: commits of consecutive versions.
        """
        if not last.partition_types:
            return [b""]
        ids = frozenset(commit.id for commit in commits)
        oldest = min(commit.ticket for commit in commits)
        with self._lock:
            for versions, cached in self._cached.items():
                if versions[0] == last.id and ids <= versions[1]:
                    self._cached.move_to_end(versions)
                    # Each later row of a partition has a later ticket.
                    return [key for key, ticket in cached.items() if ticket >= oldest]
        tickets = dict(last.visible.newest_with_tickets({commit.ticket for commit in commits}))
        if len(tickets) <= _MAX_CACHED_KEYS:
            with self._lock:
                self._cached[last.id, ids] = tickets
                while len(self._cached) > _CACHED_VERSION_RANGES:
                    self._cached.popitem(last=False)
        return list(tickets)


class TableVersions:
    """The versions that one read of the table's head showed. Later commits do not change them.

    Args:
        store: of the metastore.
        table: id of the table.
        head: of the table.

    Attributes:
        number: of the newest version.
        oldest: number of the oldest version that is kept.
    """

    def __init__(self, store: Store, table: bytes, head: Head) -> None:
        self._store = store
        self._table = table
        self._head = head
        self.number = head.commit.version
        self.oldest = head.oldest

    @classmethod
    def read(cls, store: Store, table: bytes) -> TableVersions | None:
        """Return the versions of a table, or None if it was dropped."""
        head = read_head(store, table)
        return None if head is None or head.is_deleted else cls(store, table, head)

    @functools.cached_property
    def newest(self) -> TableSnapshot:
        """The newest version.

        Raises:
            TableNotFoundError: the table was dropped meanwhile.
        """
        return load(self._store, self._table, self._head)

    def version(self, number: int) -> TableSnapshot | None:
        """Return a version, or None if it never existed or is no longer kept.

        Raises:
            TableNotFoundError: the table was dropped meanwhile.
        """
        commit = load_commit(self._store, self._table, self._head, number)
        return None if commit is None else load(self._store, self._table, self._head, commit)

    def find_tagged(self, name: str) -> int:
        """Return the number of the version that has a tag.

        Raises:
            VersionNotFoundError: no version has it.
        """
        return tagged_version(self._head, name)

    def commit_id(self, number: int) -> str | None:
        """Return the random id of the commit that made a version, or None if there is no such version."""
        commit = load_commit(self._store, self._table, self._head, number)
        return None if commit is None else commit.id

    def as_of(self, time: int) -> int | None:
        """Return the number of the newest version until a time, or None if all are later.

        Args:
            time: milliseconds since the epoch.

        Raises:
            TableNotFoundError: a version was vacuumed meanwhile.
        """
        commit = commit_as_of(self._store, self._table, self._head, time)
        return None if commit is None else commit.version

    def now(self) -> int:
        """Return the store's time in milliseconds since the epoch."""
        return store_now_ms(self._store)

    def changes(
        self, after: int, until: int, touched: TouchedPartitions | None = None
    ) -> Iterator[VersionChanges]:
        """Yield the changes of each version after one version, up to and including another, in order.

        Args:
            after: the version before the first one wanted, or -1 to begin with version 0.
            until: the last version wanted.
            touched: cache of written partitions, from earlier calls and for later ones.

        Raises:
            TableNotFoundError: the table was dropped, or a vacuum retired a version.
        """
        few, touched = _FIRST_VERSIONS, touched or TouchedPartitions()
        while after < until:
            last = min(until, after + few)
            yield from _changes(self.newest, self._head, after, last, touched)
            after, few = last, min(2 * few, _MAX_VERSIONS)

    def net_changes(self, after: int, until: int, touched: TouchedPartitions | None = None) -> VersionChanges:
        """Return the changes from one version to a later one, as if one version had made them.

        Args:
            after: the version to begin with, or -1 for a table without rows.
            until: the later version.
            touched: cache of written partitions, from earlier calls and for later ones.

        Raises:
            TableNotFoundError: the table was dropped, or a vacuum retired a version.
        """
        commits = _commits(self.newest, self._head, after + 1, until)
        last = load(self._store, self._table, self._head, commits[-1])
        keys = (touched or TouchedPartitions()).find_written_keys(last, commits)
        base = _base(self.newest, self._head, after)
        before, now = partitions_of(base, keys), partitions_of(last, keys)
        (base or last).check_kept()  # no row was missing
        differences = _Differences()
        for key in sorted(before.keys() | now.keys()):
            differences.compare(before.get(key), now.get(key))
        return differences.as_changes(last, base)
