"""The versions of a table that are kept, as a stream walks through them."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, read_head
from parquetry.metastore.versions.changes_between import TouchedPartitions, VersionChanges, changes_between
from parquetry.metastore.versions.snapshot import TableSnapshot, commit_as_of, load, load_commit
from parquetry.store import Store


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
