"""Orphans: tables that no name leads to, since making, dropping or replacing them was interrupted.

The head of a dropped or replaced table says so, and may name the process that deletes its files. The head of
an unfinished table names its author, as a commit under way does. A head is written before all other rows of
its table, and removed after them. So rows without a head are orphans, too: a writer wrote them before it
noticed that the table had been dropped.

A renaming that was announced and not finished is withdrawn. Otherwise the table would get the name much
later, as a surprise.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from parquetry.errors import NamespaceNotFoundError, TableNotFoundError
from parquetry.keys import successor
from parquetry.metastore.cleanup.retention import delete_table
from parquetry.metastore.namespace.databases import Databases
from parquetry.metastore.namespace.names import TableNames
from parquetry.metastore.refs.heads import is_living_branch
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.clock import store_now_ms
from parquetry.metastore.storage.head import Head, decode_head, edit_head, read_head, swap
from parquetry.store import Range, Store

MAX_STAGING_MS = 7 * 24 * 60 * 60 * 1000
"""Milliseconds (a week) after which the author of an unfinished table counts as dead, whether or not it can
be checked."""
MIN_RENAMING_S = 1.0
"""Seconds that an announced renaming must have stood before it is withdrawn."""
_TAGS_OF_TABLE_ROWS = (
    keyspace.COMMITS,
    keyspace.METADATA,
    keyspace.JOURNAL,
    keyspace.PARTITIONS,
    keyspace.CHUNKS,
    keyspace.SUMMARIES,
    keyspace.INDEXES,
    keyspace.REMOVED_FILES,
    keyspace.IN_FLIGHT,
    keyspace.RANGE_MANIFESTS,
    keyspace.UPKEEP,
)
_RANGES_PER_SCAN = 1000


class Orphan(NamedTuple):
    """A table that no name leads to.

    Attributes:
        id: id of the table.
        head: its head when the orphan was found, or None if it had none.
    """

    id: bytes
    head: Head | None

    @property
    def was_seen(self) -> bool:
        """Return whether the table ever had a name, so that users may know of its files."""
        return self.head is not None and self.head.is_deleted and bool(self.head.name)

    @property
    def has_files(self) -> bool:
        """Return whether a DROP that had to delete the files has died, perhaps before it did."""
        return self.was_seen and self.head is not None and self.head.author is not None


class Orphans:
    """The orphans of a metastore, and the rows of names that lead to no table.

    Args:
        store: store of the metastore.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._databases = Databases(store)
        self._names = TableNames(store, self._databases)

    def tables(self) -> list[Orphan]:
        """Return the tables that no name leads to."""
        if self._store.get(keyspace.RESTORING) is not None:  # a restore writes heads and names last
            return []
        heads = self._heads()
        orphans = [Orphan(id, head) for id, head in heads.items() if self._is_dead(id, head)]
        return orphans + [Orphan(id, None) for id in self._headless(set(heads))]

    def claim(self, orphan: Orphan) -> bool:
        """Make sure that no name will lead to a table again; return False if a name does."""
        if orphan.head is None:
            return True

        def change(head: Head) -> Head:
            if head.is_deleted or not self._is_dead(orphan.id, head):
                return head
            return msgspec.structs.replace(head, state="dropped", database="", name="")

        try:
            head = edit_head(self._store, orphan.id, change, lambda head: head.state == "dropped")
        except TableNotFoundError:  # another process has removed it
            return True
        if head.state == "replaced":
            return self._bypass(head)
        return head.state == "dropped"

    def remove(self, orphan: Orphan) -> None:
        """Remove the rows of a claimed table."""
        delete_table(self._store, orphan.id)

    def _is_dead(self, id: bytes, head: Head) -> bool:
        if head.branch_of:
            return head.is_deleted or not self._may_be_branch(id, head)
        if head.is_deleted and (head.author is None or not head.name):
            return True
        if head.author is None or not head.author.is_dead(store_now_ms(self._store), MAX_STAGING_MS):
            return False
        if head.is_deleted:
            return True
        if head.state == "staged":
            return True
        if not head.is_first_name:  # it once had its name, so it has users, even if no name leads to it now
            return False
        named = self._names.find(head.database, head.name)
        return named is None or named.id != id or not self._databases.exists(head.database)

    def _may_be_branch(self, id: bytes, head: Head) -> bool:
        """Return whether the table of a branch names it, or may yet do so."""
        if is_living_branch(self._store, id, head):
            return True
        base = read_head(self._store, head.branch_of)
        if base is None or base.is_deleted or head.author is None:
            return False
        return not head.author.is_dead(store_now_ms(self._store), MAX_STAGING_MS)

    def _bypass(self, head: Head) -> bool:
        """Let a replaced table's name lead past it; return False if another process is changing its row."""
        if head.successor is None:
            return False
        named = self._names.find(head.database, head.name)
        if named is None or named.row[: keyspace.TABLE_ID_BYTES] == named.id:
            return True
        return self._names.move(head.database, head.name, named.row, named.id + named.token)

    # -- names

    def names(self) -> list[tuple[bytes, bytes]]:
        """Return the rows of names that lead to no table, and to no table that is about to take the name."""
        # The heads are read after the rows, because a head announces a name before its row is written.
        rows = list(self._store.scan(*keyspace.prefix_range(keyspace.NAMES)))
        heads = self._heads()
        return [(key, row) for key, row in rows if self._is_stale(key, row, heads)]

    def _is_stale(self, key: bytes, row: bytes, heads: dict[bytes, Head]) -> bool:
        database, _, name = key[len(keyspace.NAMES) :].partition(b"\x00")
        head = heads.get(row[: keyspace.TABLE_ID_BYTES])
        token = row[keyspace.TABLE_ID_BYTES :]
        if head is not None and head.state == "live":
            if token == head.token and (head.database, head.name) == (database.decode(), name.decode()):
                return False
            if head.renaming is not None and head.renaming[2] == token:
                return False
        return self._names.find(database.decode(), name.decode()) is None

    def release(self, key: bytes, row: bytes) -> None:
        """Remove the row of a name that leads nowhere, and never will."""
        swap(self._store, key, row, None)

    def finish_first_names(self) -> None:
        """Finish the first names of tables whose authors died between writing the row and the last step."""
        for head in self._heads().values():
            if (
                head.is_first_name
                and head.author is not None
                and head.author.is_dead(store_now_ms(self._store), MAX_STAGING_MS)
            ):
                with contextlib.suppress(NamespaceNotFoundError, TableNotFoundError):
                    self._names.settle_name(head.database, head.name)

    def withdraw_renamings(self) -> None:
        """Withdraw renamings that were announced and not finished for a while. Their authors get an error."""
        announced = {
            id: head
            for id, head in self._heads().items()
            if head.renaming is not None and not head.is_first_name
        }
        if announced:
            time.sleep(MIN_RENAMING_S)
        for id, head in announced.items():
            assert head.renaming is not None
            with contextlib.suppress(TableNotFoundError):
                self._names.withdraw(id, head.renaming[2])

    # -- rows

    def _heads(self) -> dict[bytes, Head]:
        rows = self._store.scan(*keyspace.prefix_range(keyspace.HEADS))
        return {key[len(keyspace.HEADS) :]: decode_head(value) for key, value in rows}

    def _headless(self, with_head: set[bytes]) -> Iterator[bytes]:
        """Yield the ids that have rows, but no head."""
        while ids := {id for tag in _TAGS_OF_TABLE_ROWS for id in self._others(tag, sorted(with_head))}:
            for id in ids:
                # A table that was made or restored since the heads were read has a head by now.
                if (
                    self._store.get(keyspace.RESTORING) is None
                    and self._store.get(keyspace.head_key(id)) is None
                ):
                    yield id
            with_head |= ids

    def _others(self, tag: bytes, ids: list[bytes]) -> Iterator[bytes]:
        ranges = [keyspace.prefix_range(tag + id) for id in ids]
        starts = [tag, *(stop for _, stop in ranges)]
        stops = [*(start for start, _ in ranges), successor(tag)]
        gaps: list[Range] = [(a, b) for a, b in zip(starts, stops, strict=True) if a is not None and a != b]
        for first in range(0, len(gaps), _RANGES_PER_SCAN):
            for key, _ in self._store.scan_ranges(gaps[first : first + _RANGES_PER_SCAN], each=1):
                yield key[len(tag) : len(tag) + keyspace.TABLE_ID_BYTES]
