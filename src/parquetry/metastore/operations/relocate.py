"""Rewrite locations in the metastore after files were moved; no file is touched.

Locations below the warehouse are relative to it, and move with it (`metastore.warehouse_store`). `relocate`
is for the
others: tables and partitions outside of the warehouse, and absolute locations that older libraries wrote,
below the warehouse's former location.

1. Each table whose own location changes gets a new version with it. So writers that began before fail with a
   conflict, and open sessions read the table anew.
2. The rows of all versions are rewritten in place, each by compare-and-set. This is repeated until no row has
   the old location.

A crash leaves some rows rewritten and others not; the same call does the rest. Neither location may be below
the other, or such a call would move some locations twice.
"""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Iterator
from dataclasses import replace

import msgspec

from parquetry.errors import CommitConflictError, MetastoreDamagedError, TableNotFoundError, WarehouseError
from parquetry.locations import absolute_location, is_below, storage_path, take_apart
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.metastore import Metastore
from parquetry.metastore.refs.names import name_parts
from parquetry.metastore.results import Relocated
from parquetry.metastore.storage.format import renew_locations_epoch
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.storage.keyspace import (
    CHUNKS,
    DATABASES,
    METADATA,
    PARTITIONS,
    TABLE_ID_BYTES,
    prefix_range,
)
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.metastore.versions.snapshot import forget_metadata
from parquetry.metastore.warehouse_store import rewrite_locations
from parquetry.progress import Progress, silent

_LOG = logging.getLogger("parquetry")
_MAX_PASSES = 10
_MAX_COMMIT_ATTEMPTS = 10
_ROWS_PER_PROGRESS = 1000
"""Rows between two calls of `progress`."""
_KINDS = {DATABASES: "database", METADATA: "table", PARTITIONS: "partition", CHUNKS: "file list"}
"""The kinds of rows that hold locations, by the first bytes of their keys."""
_RelocatedByKind = dict[tuple[str, str], Relocated]


def relocate(
    metastore: Metastore, old: str, new: str, *, dry_run: bool = False, progress: Progress = silent
) -> list[Relocated]:
    """Rewrite all locations at or below a folder, as if the folder had been moved.

    Args:
        metastore: the metastore; all its databases, tables and versions are searched.
        old: the path or URI of the folder. Only whole names of folders match: `/data` does not match
            `/database`.
        new: the folder's new path or URI. If it equals `old`, absolute locations below the warehouse, which
            older libraries wrote, become relative to it.
        dry_run: only report.
        progress: called with the number of rows that were read.

    Returns:
        The changes that were made, or would be: one for each kind of location of each database and table.
        Empty if all locations are right already.

    Raises:
        WarehouseError: no location is at `old` or below it, or one of the folders is below the other.
        CommitConflictError: others keep changing a table, or writing such locations; run it again.
    """
    return _Relocation(metastore, old, new, progress).run(dry_run)


class _Relocation:
    def __init__(self, metastore: Metastore, old: str, new: str, progress: Progress) -> None:
        self._metastore = metastore
        self._below = metastore.store.below
        self._old, self._new = absolute_location(old), absolute_location(new)
        self._progress = progress
        from_, to = storage_path(self._old), storage_path(self._new)
        if is_below(from_, to) or is_below(to, from_):
            raise WarehouseError(
                f"{old} and {new} overlap, so an interrupted call could not be resumed. Relocate {old} to an "
                f"unrelated path first, and then from there to {new}; no file needs to exist there."
            )
        self._from = from_
        self._matched = 0

    def run(self, dry_run: bool) -> list[Relocated]:
        relocated = self._look(write=False)
        if not self._matched:
            raise WarehouseError(
                f"The metastore of {self._metastore.warehouse} has no location at {self._old} or below it: no location was "
                "changed. Give the folder as `parquetry describe` shows it, or a folder above."
            )
        if dry_run:
            return list(relocated.values())
        if relocated:
            self._rewrite()
        self._review_copy()
        return list(relocated.values())

    def _review_copy(self) -> None:
        """In a copied warehouse, end what is the original's no more, and say what still is."""
        if shared := self._metastore.review_shared():
            _LOG.warning(
                "%d tables have files outside of the warehouse %s that belong to the warehouse which it was copied from, as far as "
                "is known: they are read here, and neither written nor deleted. If all these files were copied, or the original "
                "is no more, run `parquetry claim --outside`.", shared, self._metastore.warehouse,
            )  # fmt: skip

    def _rewrite(self) -> None:
        """Rewrite the rows of all versions, until none has the old location."""
        renew_locations_epoch(self._metastore.store)
        self._announce()
        for _ in range(_MAX_PASSES):
            remaining = self._look(write=True)
            forget_metadata(self._metastore.store)
            if not remaining:
                renew_locations_epoch(self._metastore.store)  # what was made meanwhile has both locations
                return
        raise CommitConflictError(
            f"Others keep writing locations at {self._old} or below it: end the sessions that do, and run it again."
        )

    def _announce(self) -> None:
        """Commit a new version of each table whose own location changes."""
        for database in self._metastore.databases():
            for name in self._metastore.tables(database):
                with contextlib.suppress(TableNotFoundError):  # dropped meanwhile
                    self._announce_one(database, name)

    def _announce_one(self, database: str, name: str) -> None:
        for attempt in range(1, _MAX_COMMIT_ATTEMPTS + 1):
            table = self._metastore.table(database, name)
            location = self._move(table.metadata.location)
            if location == table.metadata.location:
                return
            transaction = Transaction(table, "relocate")
            transaction.set_metadata(msgspec.structs.replace(table.metadata, location=location))
            try:
                commit(transaction, {"from": self._old, "to": self._new})
            except CommitConflictError:
                if attempt == _MAX_COMMIT_ATTEMPTS:
                    raise
            else:
                return

    def _look(self, write: bool) -> _RelocatedByKind:
        """Read all rows once.

        Args:
            write: whether to rewrite the rows with the old location.

        Returns:
            The changes of locations, by their kind and table.
        """
        store = self._metastore.store
        relocated: _RelocatedByKind = {}
        names: dict[bytes, str] = {}
        self._matched = 0
        for done, (key, value) in enumerate(self._all_rows()):
            if done % _ROWS_PER_PROGRESS == 0:
                self._progress("rows of the metastore", done, None)
            moved: list[tuple[str, str]] = []
            try:
                changed = rewrite_locations(key, value, functools.partial(self._move_stored, moved))
            except MetastoreDamagedError:
                continue  # fsck reports it
            if changed == value:
                continue
            about = _KINDS[key[:1]], self._name(key, names)
            known = relocated.get(about) or Relocated(*about, 0, *moved[0])
            relocated[about] = replace(known, count=known.count + len(moved))
            if (
                write
            ):  # where it fails, the row is gone, or somebody has written it anew, which the next pass sees
                store.compare_and_set(key, value, changed)
        return relocated

    def _all_rows(self) -> Iterator[tuple[bytes, bytes]]:
        for tag in _KINDS:
            yield from self._metastore.store.relative_rows(*prefix_range(tag))

    def _name(self, key: bytes, names: dict[bytes, str]) -> str:
        if key[:1] == DATABASES:
            return key[1:].decode()
        table = key[1 : 1 + TABLE_ID_BYTES]
        if table not in names:
            head = read_head(self._metastore.store, table)
            named = head is not None and head.name
            names[table] = (
                ".".join((head.database, *name_parts(head.name)))
                if head and named
                else f"(a table without a name, {table.hex()})"
            )
        return names[table]

    def _move_stored(self, moved: list[tuple[str, str]], kept: str) -> str:
        """Return a location in its new stored form, and add it to `moved` if it changes."""
        before = self._below.absolute(kept)
        if not self._is_at_old_location(before):
            return kept
        self._matched += 1
        after = self._move(before)
        new = self._below.stored_form(after)
        if new != kept:
            moved.append((before, after))
        return new

    def _is_at_old_location(self, location: str) -> bool:
        path = storage_path(location)
        return path == self._from or is_below(path, self._from)

    def _move(self, location: str) -> str:
        """Return the new location of a location."""
        if not self._is_at_old_location(location):
            return location
        rest = storage_path(location).path[len(self._from.path.rstrip("/")) :].rstrip("/")
        plain = not take_apart(location).scheme and take_apart(self._new).is_local
        return f"{(take_apart(self._new).path if plain else self._new).rstrip('/')}{rest}"
