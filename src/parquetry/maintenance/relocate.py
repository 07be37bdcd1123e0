"""Have the metastore look elsewhere for what lay in one place: locations are rewritten, and no file is touched.

What lies below the warehouse moves with it (`metastore.warehouse_store`). This is for the rest: tables and partitions with locations
outside of it, and those of metastores that older libraries wrote, below the place where the warehouse was then.

1. Each table whose own location changes gets a new version that says so, so that writers who began before fail by a conflict,
   and sessions that are open look anew.
2. The rows of all versions are rewritten where they are, each by compare-and-set, as often as it takes until none is left.

A crash leaves rows of both kinds, each right or still to be done: the same call does the rest. So that nothing is moved twice, neither place may
be below the other.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Iterator
from dataclasses import replace

import msgspec

from parquetry.errors import CommitConflictError, MetastoreDamagedError, TableNotFoundError, WarehouseError
from parquetry.locations import absolute_location, is_below, storage_path, take_apart
from parquetry.maintenance.results import Relocated
from parquetry.metastore import Metastore, rewrite_locations
from parquetry.metastore.commits import Transaction, commit
from parquetry.metastore.storage import (
    CHUNKS,
    DATABASES,
    METADATA,
    PARTITIONS,
    TABLE_ID_BYTES,
    prefix_range,
    read_head,
)
from parquetry.metastore.versions import forget_metadata
from parquetry.progress import Progress, silent

_MAX_PASSES = 10
_MAX_COMMIT_ATTEMPTS = 10
_ROWS_PER_PROGRESS = 1000
"""Rows after which the progress is told."""
_KINDS = {DATABASES: "database", METADATA: "table", PARTITIONS: "partition", CHUNKS: "file list"}
"""Rows that hold locations, by the first bytes of their keys."""
_RelocatedByKind = dict[tuple[str, str], Relocated]


def relocate(
    metastore: Metastore, old: str, new: str, *, dry_run: bool = False, progress: Progress = silent
) -> list[Relocated]:
    """Rewrite the locations at a place and below it, as if all that lay there had been moved to another.

    Args:
        metastore: of which all databases, tables and versions are looked through.
        old: path or URI of a folder. Whole names of folders count: `/data` is not the beginning of `/database`.
        new: likewise; the same as `old` has what older libraries wrote below the warehouse become relative to it.
        dry_run: report only.
        progress: called with how many rows have been looked at.

    Returns:
        what was changed, or would be: one for each kind of location of each database and table. Nothing if all
        that lies there is said as it should be already.

    Raises:
        WarehouseError: nothing lies there, or one of the places is below the other.
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
                f"{old} and {new} lie within one another, so that a call cut short could not be repeated: relocate {old} to a "
                f"place of another name first, and from there to {new}. No file has to be there meanwhile."
            )
        self._from = from_
        self._matched = 0

    def run(self, dry_run: bool) -> list[Relocated]:
        found = self._look(write=False)
        if not self._matched:
            raise WarehouseError(
                f"Nothing in the metastore of {self._metastore.warehouse} lies at {self._old} or below it: no location was "
                "changed. Say the place as `parquetry describe` has it, or the folder above."
            )
        if dry_run or not found:
            return list(found.values())
        self._announce()
        for _ in range(_MAX_PASSES):
            remaining = self._look(write=True)
            forget_metadata(self._metastore.store)
            if not remaining:
                return list(found.values())
        raise CommitConflictError(
            f"Others keep writing locations at {self._old} or below it: end the sessions that do, and run it again."
        )

    def _announce(self) -> None:
        """Give the tables whose own locations change a version that says so."""
        for database in self._metastore.databases():
            for name in self._metastore.tables(database):
                with contextlib.suppress(TableNotFoundError):  # dropped meanwhile
                    self._announce_one(database, name)

    def _announce_one(self, database: str, name: str) -> None:
        for attempt in range(1, _MAX_COMMIT_ATTEMPTS + 1):
            table = self._metastore.table(database, name)
            location = self._moved(table.metadata.location)
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
        """Go through all rows once.

        Args:
            write: whether to change those that name the old place.

        Returns:
            what names it.
        """
        store = self._metastore.store
        found: _RelocatedByKind = {}
        names: dict[bytes, str] = {}
        self._matched = 0
        for done, (key, value) in enumerate(self._all_rows()):
            if done % _ROWS_PER_PROGRESS == 0:
                self._progress("rows of the metastore", done, None)
            moved: list[tuple[str, str]] = []
            try:
                changed = rewrite_locations(key, value, functools.partial(self._kept_moved, moved))
            except MetastoreDamagedError:
                continue  # fsck tells of it
            if changed == value:
                continue
            about = _KINDS[key[:1]], self._name(key, names)
            known = found.get(about) or Relocated(*about, 0, *moved[0])
            found[about] = replace(known, count=known.count + len(moved))
            if (
                write
            ):  # where it fails, the row is gone, or somebody has written it anew, which the next pass sees
                store.compare_and_set(key, value, changed)
        return found

    def _all_rows(self) -> Iterator[tuple[bytes, bytes]]:
        for tag in _KINDS:
            yield from self._metastore.store.kept_rows(*prefix_range(tag))

    def _name(self, key: bytes, names: dict[bytes, str]) -> str:
        if key[:1] == DATABASES:
            return key[1:].decode()
        table = key[1 : 1 + TABLE_ID_BYTES]
        if table not in names:
            head = read_head(self._metastore.store, table)
            named = head is not None and head.name
            names[table] = (
                f"{head.database}.{head.name}"
                if head and named
                else f"(a table without a name, {table.hex()})"
            )
        return names[table]

    def _kept_moved(self, moved: list[tuple[str, str]], kept: str) -> str:
        """Return a location as it is to be kept, and add it to `moved` if it is another then."""
        before = self._below.absolute(kept)
        if not self._is_at_old_location(before):
            return kept
        self._matched += 1
        after = self._moved(before)
        new = self._below.kept(after)
        if new != kept:
            moved.append((before, after))
        return new

    def _is_at_old_location(self, location: str) -> bool:
        place = storage_path(location)
        return place == self._from or is_below(place, self._from)

    def _moved(self, location: str) -> str:
        """Return where a location is now."""
        if not self._is_at_old_location(location):
            return location
        rest = storage_path(location).path[len(self._from.path.rstrip("/")) :].rstrip("/")
        plain = not take_apart(location).scheme and take_apart(self._new).is_local
        return f"{(take_apart(self._new).path if plain else self._new).rstrip('/')}{rest}"
