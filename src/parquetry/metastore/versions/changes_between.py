"""The changes between two versions: the files that each version added, and whether it removed any.

The tickets of rows show which partitions were written between two versions, and only these are compared. Of
long lists of files only the chunks that the two versions do not share are read. `TouchedPartitions` caches
which partitions were written.

| version | p=1     | p=2 | change                    |
|---------|---------|-----|---------------------------|
| 4       | a, b    | c   |                           |
| 5       | a, b, d | c   | adds d                    |
| 6       | a, b, d | e   | adds e, and removes c     |

A stream walks through the versions of a table that are kept.
"""

from __future__ import annotations

import functools
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from parquetry.data_files import FileRecord, is_same
from parquetry.errors import TableNotFoundError
from parquetry.locations import join_location
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, read_head
from parquetry.metastore.storage.keyspace import complement
from parquetry.metastore.storage.model import CommitRecord
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot, commit_as_of, load, load_commit
from parquetry.metastore.versions.visible_rows import PartitionRow
from parquetry.store import Store

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
    touched = touched_partitions.find_written_keys(last, commits)
    base = None if after < 0 else load(store, table, head, commit(after))
    before: dict[bytes, PartitionSnapshot | None] = {}
    if base is not None:
        before = {key: _partition(base, key, row) for key, row in base.visible.newest(touched).items()}
    written: dict[int, list[tuple[bytes, PartitionRow]]] = {}
    for key, row in last.visible.rows_since(touched, min(each.ticket for each in commits)):
        written.setdefault(row.ticket, []).append((key, row))
    (base or last).check_kept()  # no row was missing
    previous = commits[-1]
    for each in commits:
        version = load(store, table, head, each, previous)
        previous = each
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


_CACHED_VERSION_RANGES = 16
"""Cached ranges of versions: as many as streams usually read at the same time."""
_MAX_CACHED_KEYS = 100_000
"""Keys of one cached range, some ten megabytes. If more partitions were written, all their rows are read
anyway, and finding the keys again costs little beside that."""


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
        return changes_between(self.newest, self._head, after, until, touched)
