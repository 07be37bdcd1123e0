"""A table as of one version: its metadata, its partitions, the commits that led to it.

Immutable. Which rows belong to a version is decided in `visible_rows`, what a partition holds is `partition`'s,
which key and location it has `placement`'s.
"""

from __future__ import annotations

import bisect
import functools
import weakref
from collections.abc import Iterator, Sequence
from itertools import islice

from parquetry.errors import MetastoreDamagedError, TableNotFoundError, UnsupportedError
from parquetry.key_schema import KeySchema
from parquetry.keys import successor
from parquetry.metastore.storage import (
    COMMITS,
    CommitRecord,
    Head,
    TableMetadata,
    Totals,
    commit_key,
    complement,
    decoder,
    live_head,
    metadata_key,
    number,
    partition_prefix,
    read_head,
)
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.placement import TablePlacement
from parquetry.metastore.versions.reading import read_by_index, read_by_keys, read_by_union
from parquetry.metastore.versions.visible_rows import ROW_PREFIX, ROW_SUFFIX, Examined, Row, VisibleRows
from parquetry.scan import ScanPlan
from parquetry.store import Store
from parquetry.types import ColumnType, Value

__all__ = [
    "PartitionSnapshot",
    "TableSnapshot",
    "commit_as_of",
    "load",
    "load_again",
    "load_commit",
    "load_metadata",
]


class TableSnapshot:
    """One version of a table.

    Attributes:
        store: of the metastore.
        id: of the table; stays when the table is renamed.
        database: lower-case; empty for a staged table.
        name: lower-case; empty for a staged table.
        commit: that made this version.
        metadata: that holds in this version.
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
        self.partition_types: tuple[ColumnType, ...] = metadata.partition_types
        self.visible = VisibleRows(store, id, commit, newest)

    @property
    def version(self) -> int:
        """Return the number of the version; creation is 0."""
        return self.commit.version

    @property
    def totals(self) -> Totals:
        """Return the sums over all partitions."""
        return self.commit.totals

    @property
    def committed_at(self) -> int:
        """Return when the version was made, in milliseconds since the epoch."""
        return self.commit.committed_at

    @property
    def operation(self) -> str:
        """Return what made the version, such as ``append``."""
        return self.commit.operation

    @property
    def label(self) -> str:
        """Return the table's name for messages."""
        return f"{self.database}.{self.name}" if self.name else "(a table not yet published)"

    @functools.cached_property
    def placement(self) -> TablePlacement:
        """Return which keys and default locations partitions have."""
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
        """Yield the partitions in the order of their keys, all of this version whatever happens meanwhile.

        Args:
            plan: which ones; None means all. Residual filters are applied.
            limit: how many at most.
            examined: counts the keys read.

        Raises:
            UnsupportedError: the plan is for an index that this version does not have.
            TableNotFoundError: the table was dropped, or this version vacuumed away, before the end was
                reached. (Then rows may have been missing.)
        """
        rows = (
            self.visible.scan([(b"", None)], single=not self.partition_types, examined=examined)
            if plan is None
            else self._planned(plan, examined)
        )
        for key, age, value in islice(rows, limit):  # and no row more is read
            yield PartitionSnapshot(self, key, age, value)
        self.check_kept()

    def _planned(self, plan: ScanPlan, examined: Examined | None) -> Iterator[Row]:
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
        """Return the partition of these values; None if there is none.

        Raises:
            ValueTypeError: the values do not fit the partition columns.
            TableNotFoundError: the table was dropped, or this version vacuumed away.
        """
        key = self.key_of(values)
        row = self.visible.newest([key]).get(key)
        if row is None or row.is_tombstone:
            self.check_kept()
            return None
        return PartitionSnapshot(self, key, complement(row.ticket), row.value)

    def last_partition(self) -> PartitionSnapshot | None:
        """Return the partition of the greatest key; None if the last that ever was there is not one of this version.

        It costs two rows, however many partitions there are.
        """
        key = self.last_key(b"", None)
        row = None if key is None else self.visible.newest([key]).get(key)
        if key is None or row is None or row.is_tombstone:
            return None
        return PartitionSnapshot(self, key, complement(row.ticket), row.value)

    def last_key(self, start: bytes, stop: bytes | None) -> bytes | None:
        """Return the key of a partition's last row in a range of keys, whichever versions show the row; None if there is none.

        Args:
            start: the first key.
            stop: the first bytes after the range; None is the end.
        """
        prefix = partition_prefix(self.id)
        end = successor(prefix) if stop is None else prefix + stop
        rows = self.store.scan(prefix + start, end, limit=1, reverse=True)
        return next((row_key[ROW_PREFIX:-ROW_SUFFIX] for row_key, _ in rows), None)

    def check_kept(self) -> None:
        """Make sure that no row of this version has been deleted.

        Raises:
            TableNotFoundError: the table was dropped, or this version vacuumed away.
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
        """Yield the commits that led to this version, newest first, as far back as they are kept.

        Args:
            oldest: the first version that is wanted.
            newest: the last one; None is this version.
        """
        last = self.version if newest is None else min(newest, self.version)
        if last == self.version >= oldest:
            yield self.commit
        prefix = COMMITS + self.id
        start, stop = max(oldest, 0), min(last + 1, self.version)
        if start < stop:
            for _, value in self.store.scan(prefix + number(start), prefix + number(stop), reverse=True):
                yield decoder(CommitRecord).decode(value)

    def refresh(self) -> TableSnapshot:
        """Return the newest version of the same table, whatever it is called now.

        Raises:
            TableNotFoundError: the table was dropped or replaced.
        """
        head = live_head(self.store, self.id, f"Table {self.label} was dropped or replaced meanwhile.")
        return load(self.store, self.id, head)

    def __repr__(self) -> str:
        return f"TableSnapshot({self.label}, version={self.version}, partitions={self.totals.partitions})"


_cache: weakref.WeakKeyDictionary[Store, dict[tuple[bytes, int], TableMetadata]] = weakref.WeakKeyDictionary()
_CACHED_RECORDS = 1024


def load_metadata(store: Store, table: bytes, ticket: int) -> TableMetadata:
    """Return the metadata that a ticket wrote; the rows are immutable, so they are read once."""
    cached = _cache.setdefault(store, {})
    if (table, ticket) not in cached:
        value = store.get(metadata_key(table, ticket))
        if value is None:
            raise TableNotFoundError("The table was dropped while it was being loaded.")
        if len(cached) >= _CACHED_RECORDS:
            cached.clear()
        cached[table, ticket] = decoder(TableMetadata).decode(value)
    return cached[table, ticket]


def forget_metadata(store: Store) -> None:
    """Have all metadata be read anew: their rows were changed, which nobody does but who rewrites locations."""
    _cache.pop(store, None)


def load(store: Store, table: bytes, head: Head, commit: CommitRecord | None = None) -> TableSnapshot:
    """Return a version of a table; by default the newest."""
    commit = commit or head.commit
    try:
        metadata = load_metadata(store, table, commit.metadata)
    except TableNotFoundError:
        now = read_head(store, table)
        if now is None or now.is_deleted or now.commit.metadata != commit.metadata:
            raise
        raise MetastoreDamagedError(
            f"The metadata of table {head.database}.{head.name}, which ticket {commit.metadata} wrote, are gone "
            "from the metastore: parquetry restore brings back a dump."
        ) from None
    return TableSnapshot(store, table, head.database, head.name, commit, metadata, head.newest)


def load_again(before: TableSnapshot, head: Head) -> TableSnapshot:
    """Return the newest version of a table that has just been changed, if only in what its head says.

    Its rows may be gone since, if it was dropped right afterwards; whoever changed it is not to take this for a failure.
    """
    try:
        return load(before.store, before.id, head)
    except TableNotFoundError:
        about = head.database, head.name, head.commit
        return TableSnapshot(before.store, before.id, *about, before.metadata, head.newest)


def load_commit(store: Store, table: bytes, head: Head, version: int) -> CommitRecord | None:
    """Return the commit of a version; None if there never was one, or it is no longer kept."""
    if version == head.commit.version:
        return head.commit
    if not head.oldest <= version < head.commit.version:
        return None
    value = store.get(commit_key(table, version))
    if value is None:
        return None
    commit: CommitRecord = decoder(CommitRecord).decode(value)
    return commit


def commit_as_of(store: Store, table: bytes, head: Head, time: int) -> CommitRecord | None:
    """Return the newest commit made at or before a time (ms since the epoch); None if all are later."""

    def committed_at(version: int) -> int:
        commit = load_commit(store, table, head, version)
        if commit is None:
            raise TableNotFoundError(
                f"Version {version} of table {head.database}.{head.name} was vacuumed meanwhile."
            )
        return commit.committed_at

    versions = range(head.oldest, head.commit.version + 1)
    place = bisect.bisect_right(versions, time, key=committed_at)
    return load_commit(store, table, head, versions[place - 1]) if place else None
