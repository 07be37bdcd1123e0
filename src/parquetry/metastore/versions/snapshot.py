"""A table as of one version: its metadata, its partitions, the commits that led to it.

`visible_rows` decides which rows belong to a version, `partition` decodes a partition, and maps a
partition's values to its key and its default location.
"""

from __future__ import annotations

import bisect
import functools
import weakref
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from parquetry.errors import MetastoreDamagedError, TableNotFoundError, UnsupportedError
from parquetry.key_schema import KeySchema
from parquetry.keys import successor
from parquetry.metastore.partition_rows.reading import read_by_index, read_by_keys, read_by_union
from parquetry.metastore.partition_rows.visible_rows import ROW_PREFIX, ROW_SUFFIX, Examined, Row, VisibleRows
from parquetry.metastore.refs.names import name_parts
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, live_head, read_head
from parquetry.metastore.storage.model import CommitRecord, TableMetadata, Totals
from parquetry.metastore.storage.owner import now_ms
from parquetry.metastore.storage.wire import decoder
from parquetry.metastore.versions.partition import PartitionSnapshot, TablePlacement
from parquetry.scan import ScanPlan
from parquetry.store import Store
from parquetry.types import ColumnType, Value

__all__ = [
    "PartitionSnapshot", "TableSnapshot", "commit_as_of", "load", "load_again", "load_commit", "load_metadata",
]  # fmt: skip


class TableSnapshot:
    """One version of a table, which never changes.

    **What it is.** The record of the commit that made the version, and the table's metadata. Partitions are
    read from the store when they are needed. So a snapshot of a table with a million partitions is made from
    two rows: the table's head and its metadata.

    Each row of a partition is tagged with the *ticket* of the commit that wrote it. The commit record alone
    decides which rows the version shows: rows with a ticket below `next_ticket` that is not in `invisible`.
    The newest of them counts, and a tombstone says that the partition was dropped.

    **Example.** Version 7 has `next_ticket` 12 and `invisible` {9}. The store has these rows:

    | partition | ticket | value       | in version 7                                             |
    |-----------|--------|-------------|----------------------------------------------------------|
    | d=1       | 14     | files a b e | not shown: a later commit wrote it                       |
    | d=1       | 11     | files a b   | **shown**                                                |
    | d=1       | 9      | files a c   | not shown: the commit was under way or aborted           |
    | d=1       | 4      | files a     | not shown: ticket 11 is newer                            |
    | d=2       | 10     | tombstone   | d=2 does not exist                                       |
    | d=2       | 3      | files d     | not shown: ticket 10 is newer                            |

    A snapshot keeps showing its version while others commit:

    >>> from parquetry.metastore import FileRecord, TableColumn, TableMetadata, Transaction, open_metastore
    >>> from parquetry.metastore import commit
    >>> metadata = TableMetadata((TableColumn("d", "int"), TableColumn("x", "int")), ("d",), "parquet", "/lake/t")
    >>> versions = [open_metastore("/lake", "memory").create_table("default", "t", metadata)]
    >>> for name in "ab":
    ...     change = Transaction(versions[-1], "append")
    ...     change.append((1,), [FileRecord(name, bytes=100, rows=10)])
    ...     versions.append(commit(change))
    >>> versions[0].partition((1,))
    >>> [[file.path for file in version.partition((1,)).files] for version in versions[1:]]
    [['a'], ['a', 'b']]

    **What it is not.**

    - It holds no lock, and no vacuum waits for it. If a vacuum retires the version, reading raises
      TableNotFoundError. `partitions` checks this at its end, so that missing rows never look like missing
      partitions. It does not if it looked for single keys and found them all.
    - It is not a copy. Each call of `partitions` reads the store again.
    - It does not choose the files of a query. `parquetry.prune` does, from the partitions and their
      statistics.

    **Why not otherwise.** A version could be a file that lists its partitions, as in other formats. Then a
    commit to one partition of a million would rewrite part of that list. Here it writes one row for each
    partition that it changes, and a reader scans only the key ranges of its filter. Why is the check at the
    end? A vacuum first retires versions in the head, and then deletes rows. If the head still keeps the
    version after the last row was read, no row was missing.

    **Reference.** This is multiversion concurrency control: Bernstein and Goodman, *Multiversion Concurrency
    Control: Theory and Algorithms*, ACM TODS 1983. `next_ticket` and `invisible` are like `xmax` and
    `xip_list` of a snapshot in PostgreSQL (`pg_current_snapshot`).

    Attributes:
        store: store of the metastore.
        id: id of the table, which stays when the table is renamed.
        database: the database's name, in lower case; empty for a staged table.
        name: the table's name, in lower case; empty for a staged table.
        commit: record of the commit that made this version.
        metadata: metadata of the table in this version.
        branch_of: id of the table that this is a branch of, or empty. `owner` is that one then, or its own.
    """

    def __init__(
        self,
        store: Store,
        id: bytes,
        database: str,
        name: str,
        commit: CommitRecord,
        metadata: TableMetadata,
        newest: bytes = b"",
    ) -> None:
        self.store = store
        self.id = id
        self.database = database
        self.name = name
        self.commit = commit
        self.metadata = metadata
        self.branch_of, self.owner = b"", id
        self.partition_types: tuple[ColumnType, ...] = metadata.partition_types
        self.visible = VisibleRows(store, id, commit, newest)

    def of_branch(self, table: bytes) -> TableSnapshot:
        """Make this a version of a branch of a table with an id, unless the id is empty, and return it."""
        self.branch_of, self.owner = table, table or self.id
        return self

    @property
    def version(self) -> int:
        """Return the number of the version. The creation is version 0."""
        return self.commit.version

    @property
    def identity(self) -> tuple[bytes, int, str]:
        """Return what a cache names this version by: the table, the number, and the random id of the commit.

        A store that was restored from an older dump gives the numbers of its lost versions again.
        """
        return self.id, self.commit.version, self.commit.id

    @property
    def totals(self) -> Totals:
        """Return the sums over all partitions."""
        return self.commit.totals

    @property
    def ranges(self) -> bytes:
        """Return the state of the range manifests; see `range_manifests.records`."""
        return self.commit.ranges

    @property
    def committed_at(self) -> int:
        """Return the time of the commit, in milliseconds since the epoch."""
        return self.commit.time

    @property
    def operation(self) -> str:
        """Return the operation that made the version, such as ``append``."""
        return self.commit.operation

    @property
    def label(self) -> str:
        """Return the table's name for messages."""
        parts = self.database, *name_parts(self.name)
        return ".".join(parts) if self.name else "(a table not yet published)"

    @functools.cached_property
    def placement(self) -> TablePlacement:
        """Return the keys and default locations of partitions."""
        return TablePlacement(self.label, self.metadata)

    @property
    def key_schema(self) -> KeySchema:
        """Return the fields of a partition's key: the partition columns."""
        return self.placement.key_schema

    def key_of(self, values: Sequence[Value]) -> bytes:
        """Return the key of a partition's values; see `TablePlacement.key_of`."""
        return self.placement.key_of(values)

    def describe(self, key: bytes) -> str:
        """Return a partition's key for messages: ``d=2024-01-01/h=7``."""
        return self.placement.describe(key)

    def partitions(
        self, plan: ScanPlan | None = None, limit: int | None = None, examined: Examined | None = None
    ) -> Iterator[PartitionSnapshot]:
        """Yield the partitions of this version in the order of their keys, unaffected by other commits.

        Args:
            plan: selects the partitions, including by its residual filters; None selects all.
            limit: maximal number of partitions.
            examined: counts the keys read.

        Raises:
            UnsupportedError: the plan uses an index that this version does not have.
            TableNotFoundError: the table was dropped, or a vacuum retired this version, before the end. Then
                rows may have been missing.
        """
        rows = (
            self.visible.scan([(b"", None)], single=not self.partition_types, examined=examined)
            if plan is None
            else self._read_plan(plan, examined)
        )
        count = 0
        for key, age, value in islice(rows, limit):  # and no row more is read
            count += 1
            yield PartitionSnapshot(self, key, age, value)
        if plan is None or not plan.only_gets or count < len(plan.scans):
            self.check_kept()

    def _read_plan(self, plan: ScanPlan, examined: Examined | None) -> Iterator[Row]:
        ready = {index.id for index in self.metadata.indexes if index.ready}
        for index in plan.indexes:
            if index.id not in ready:
                raise UnsupportedError(
                    f"Index {index.name!r} does not lead to all partitions of version {self.version} of table "
                    f"{self.label}; plan for this version."
                )
        read = read_by_union if plan.by_indexes else read_by_keys if plan.index is None else read_by_index
        return read(self.visible, plan, self.key_schema, examined)

    def partition(self, values: Sequence[Value]) -> PartitionSnapshot | None:
        """Return the partition of these values, or None if this version has none.

        Raises:
            ValueTypeError: the values do not fit the partition columns.
            TableNotFoundError: the table was dropped, or a vacuum retired this version.
        """
        key = self.key_of(values)
        row = self.visible.newest([key]).get(key)
        if row is None or row.is_tombstone:
            self.check_kept()
            return None
        return PartitionSnapshot(self, key, keyspace.complement(row.ticket), row.value)

    def last_partition(self) -> PartitionSnapshot | None:
        """Return the partition of the greatest key of any version, or None if this version does not have it.

        It reads two rows, however many partitions the table has.
        """
        key = self.last_key(b"", None)
        row = None if key is None else self.visible.newest([key]).get(key)
        if key is None or row is None or row.is_tombstone:
            return None
        return PartitionSnapshot(self, key, keyspace.complement(row.ticket), row.value)

    def last_key(self, start: bytes, stop: bytes | None) -> bytes | None:
        """Return the key of the last partition, of any version, in a range of keys, or None if it is empty.

        Args:
            start: the first key.
            stop: the first bytes after the range, or None for the end.
        """
        prefix = keyspace.partition_prefix(self.id)
        end = successor(prefix) if stop is None else prefix + stop
        rows = self.store.scan(prefix + start, end, limit=1, reverse=True)
        return next((row_key[ROW_PREFIX:-ROW_SUFFIX] for row_key, _ in rows), None)

    def check_kept(self) -> None:
        """Make sure that no row of this version has been deleted.

        Raises:
            TableNotFoundError: the table was dropped, or a vacuum retired this version.
        """
        head = live_head(
            self.store, self.id, f"Table {self.label} was dropped or replaced while it was being read."
        )
        if head.oldest > self.version:
            raise TableNotFoundError(
                f"Version {self.version} of table {self.label} has been vacuumed away; "
                f"the oldest is {head.oldest}."
            )

    def history(self, oldest: int = 0, newest: int | None = None) -> Iterator[CommitRecord]:
        """Yield the commits that led to this version, newest first, as far back as the store has them.

        Args:
            oldest: the first version wanted.
            newest: the last version wanted, or None for this version.
        """
        last = self.version if newest is None else min(newest, self.version)
        if last == self.version >= oldest:
            yield self.commit
        prefix = keyspace.COMMITS + self.id
        start, stop = max(oldest, 0), min(last + 1, self.version)
        if start < stop:
            for _, value in self.store.scan(
                prefix + keyspace.number(start), prefix + keyspace.number(stop), reverse=True
            ):
                yield decoder(CommitRecord).decode(value)

    def refresh(self) -> TableSnapshot:
        """Return the newest version of the same table, even if it was renamed.

        Raises:
            TableNotFoundError: the table was dropped or replaced.
        """
        head = live_head(self.store, self.id, f"Table {self.label} was dropped or replaced meanwhile.")
        return load(self.store, self.id, head)

    def __repr__(self) -> str:
        return f"TableSnapshot({self.label}, version={self.version}, partitions={self.totals.partitions})"


class _CachedMetadata(NamedTuple):
    """Metadata, and the ids of commits that are known to have them."""

    metadata: TableMetadata
    commits: set[str]


_cache: weakref.WeakKeyDictionary[Store, dict[tuple[bytes, int], _CachedMetadata]] = (
    weakref.WeakKeyDictionary()
)
_CACHED_RECORDS = 1024
_COMMITS_PER_RECORD = 1024


def load_metadata(
    store: Store, table: bytes, commit: CommitRecord, other: CommitRecord | None = None
) -> TableMetadata:
    """Return the metadata of a commit.

    The row is immutable, so it is read once for each commit. It is read again for other commits of the same
    ticket, since a store that was restored from a dump may give a ticket to other metadata. Equal metadata
    are the same object.

    Args:
        store: store of the metastore.
        table: id of the table.
        commit: the commit.
        other: a commit of the same history, or None. If the two have one ticket, they have the same metadata.
    """
    cached = _cache.setdefault(store, {})
    key = table, commit.metadata
    record = cached.get(key)
    if record is None or not (
        commit.id in record.commits
        or (other is not None and other.metadata == commit.metadata and other.id in record.commits)
    ):
        value = store.get(keyspace.metadata_key(*key))
        if value is None:
            raise TableNotFoundError("The table was dropped while it was being loaded.")
        metadata = decoder(TableMetadata).decode(value)
        if record is None or record.metadata != metadata:
            if len(cached) >= _CACHED_RECORDS:
                cached.clear()
            record = cached[key] = _CachedMetadata(metadata, set())
    if len(record.commits) >= _COMMITS_PER_RECORD:
        record.commits.clear()
    record.commits.add(commit.id)
    return record.metadata


def forget_metadata(store: Store) -> None:
    """Forget all cached metadata, because their rows were changed.

    Only a rewrite of locations changes them.
    """
    _cache.pop(store, None)


def load(
    store: Store,
    table: bytes,
    head: Head,
    commit: CommitRecord | None = None,
    other: CommitRecord | None = None,
) -> TableSnapshot:
    """Return a version of a table; by default the newest.

    Args:
        store: store of the metastore.
        table: id of the table.
        head: head of the table.
        commit: the commit of the version, or None for the newest.
        other: a commit of the same history whose metadata were loaded, or None for the head's.
    """
    commit = commit or head.commit
    try:
        metadata = load_metadata(store, table, commit, other or head.commit)
    except TableNotFoundError:
        now = read_head(store, table)
        if now is None or now.is_deleted or now.commit.metadata != commit.metadata:
            raise
        raise MetastoreDamagedError(
            f"The metadata of table {head.database}.{head.name}, which ticket {commit.metadata} wrote, are gone "
            "from the metastore: parquetry restore brings back a dump."
        ) from None
    about = head.database, head.name, commit, metadata, head.newest
    return TableSnapshot(store, table, *about).of_branch(head.branch_of)


def load_again(before: TableSnapshot, head: Head) -> TableSnapshot:
    """Return the newest version of a table whose head has just been changed.

    If the table was dropped right afterwards, its metadata may be deleted. This must not look like a failure
    of the change, so the metadata of `before` are used.
    """
    try:
        return load(before.store, before.id, head, other=before.commit)
    except TableNotFoundError:
        about = head.database, head.name, head.commit
        version = TableSnapshot(before.store, before.id, *about, before.metadata, head.newest)
        return version.of_branch(head.branch_of)


def load_commit(store: Store, table: bytes, head: Head, version: int) -> CommitRecord | None:
    """Return the commit of a version, or None if it never existed or is no longer kept."""
    if version == head.commit.version:
        return head.commit
    if not head.oldest <= version < head.commit.version:
        return None
    value = store.get(keyspace.commit_key(table, version))
    if value is None:
        return None
    commit: CommitRecord = decoder(CommitRecord).decode(value)
    return commit


_STATEMENT_MS = 10_000
"""Milliseconds that may pass between `now()` in a statement and the search for its version."""
_VERSIONS_IN_ORDER = 2
"""Later versions, with times in order, after which a search for earlier times ends."""


def commit_as_of(store: Store, table: bytes, head: Head, time: int) -> CommitRecord | None:
    """Return the newest commit until a time (milliseconds since the epoch), or None if all are later.

    If the clock of one writer was ahead, later commits have its time as `committed_at`, and their own as
    `written_at`. They are found by their own. A time that is not past gives the newest version.
    """
    now = min(now_ms(), store_now_ms(store))
    if time >= now:
        return head.commit

    def load(version: int) -> CommitRecord:
        commit = load_commit(store, table, head, version)
        if commit is None:
            raise TableNotFoundError(
                f"Version {version} of table {head.database}.{head.name} was vacuumed meanwhile."
            )
        return commit

    def is_until(commit: CommitRecord) -> bool:
        # A clock that is ahead made a commit from beyond this moment.
        # The commit exists, so it counts as made by now.
        return (commit.time if commit.time <= now else now - _STATEMENT_MS) <= time

    versions = range(head.oldest, head.commit.version + 1)
    position = bisect.bisect_right(versions, time, key=lambda version: load(version).committed_at)
    latest = load(versions[position - 1]) if position else None
    in_order = 0
    for version in versions[position:]:
        commit = load(version)
        in_order = in_order + 1 if commit.written_at is None and not is_until(commit) else 0
        if in_order > _VERSIONS_IN_ORDER:
            break
        if is_until(commit):
            latest = commit
    return latest
