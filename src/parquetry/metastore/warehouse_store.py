"""The store of a warehouse as the rest of the library sees it: with absolute locations and without checksums.

**Locations.** In the store, locations below the warehouse are relative to it
(`locations.warehouse_relative`). So a warehouse that was moved or copied with its metastore reads, writes and
deletes files at its new location. Only this module converts them, as rows are read and written.

**Ownership.** Each write first makes sure that the warehouse belongs to this metastore (`ownership.owner`).

**Checksums.** If the store's format has checksums (`storage.checksums`), they are checked and removed as rows
are read, and added as rows are written.

Rows of older libraries have absolute locations and are read unchanged. The first row with a relative location
raises the store's format (`storage.format.RELATIVE`), so that older libraries refuse the store with a
message.

**Intents.** A head or the row of a name that has an intent of a transaction of several tables is read as the
value that counts (`storage.intents`).

**Rewriting.** The locations in a row can be replaced. Everything else in the row stays the same.

| row       | locations in it                                                                         |
|-----------|-----------------------------------------------------------------------------------------|
| database  | the property `location`                                                                 |
| metadata  | the table, and its directories for heavy values                                         |
| partition | the partition, its directories for heavy values, and files with absolute paths          |
| chunk     | files with absolute paths                                                               |

A file outside its partition has an absolute path; other paths are relative to the partition and stay. Records
of removed files have paths relative to the table. Values of columns may look like locations, and are never
changed.
"""

from __future__ import annotations

import contextlib
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice

import msgspec

from parquetry.errors import MetastoreDamagedError
from parquetry.locations import RELATIVE_MARK, BelowWarehouse, is_absolute
from parquetry.metastore.manifest.columns import is_in_columns, with_paths
from parquetry.metastore.ownership.owner import Unmarked
from parquetry.metastore.storage import keyspace
from parquetry.metastore.storage.checksums import (
    TAGS_WITH_CHECKSUMS,
    are_right,
    is_tombstone,
    with_checksum,
    without_checksum,
)
from parquetry.metastore.storage.format import CHECKED, RELATIVE, require_format, version_in
from parquetry.metastore.storage.intents import TAGS_WITH_INTENTS, is_intent, over_intent, value_that_counts
from parquetry.metastore.storage.wire import decoder, encode
from parquetry.store import Condition, Fields, Groups, Range, Store, SwapsTogether

_TAGS_WITH_LOCATIONS = (keyspace.DATABASES, keyspace.METADATA, keyspace.PARTITIONS, keyspace.CHUNKS)
"""The tags of rows that have locations."""
_MAX_ROWS_PER_BATCH = 1024
"""Rows that are checked together. A store reads more than that at once."""
_ROWS_READ_SINGLY = 64
"""First rows of a scan that are checked one by one, as the caller may want no more of them."""
Row = tuple[bytes, bytes]


class WarehouseStore:
    """A store that converts locations and checksums.

    Args:
        rows: the store itself.
        warehouse: absolute path, or URI.
        version: version of the store's format.
        ownership: tells whether the metastore may write to the warehouse.

    Attributes:
        rows: the store itself, whose rows have relative locations and checksums.
        below: converts absolute locations to relative ones, and back.
        ownership: tells whether the metastore may write to the warehouse.
    """

    def __init__(self, rows: Store, warehouse: str, version: int, ownership: Unmarked | None = None) -> None:
        self.rows = rows
        self.ownership = ownership or Unmarked()
        self.below = BelowWarehouse(warehouse)
        self._hints = self.below.hints
        self._raised = False
        self._checked = version >= CHECKED
        """Whether the store's rows may have checksums, by the format row. A writer reads that row first."""
        self._last = threading.local()

    @property
    def leaves_out(self) -> bool:
        """Whether the store tests conditions and leaves out rows that do not satisfy them."""
        return self.rows.leaves_out

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None if the row is absent."""
        kept = self.rows.get(key)
        if kept is None:
            return None
        if key == keyspace.FORMAT:
            self._checked = version_in(kept) >= CHECKED
        value = self._read(key, kept)
        self._last.read = key, value, kept  # a compare-and-set mostly follows
        if key[:1] in TAGS_WITH_INTENTS and is_intent(without_checksum(key, kept)):
            self._last_intents()[key[:1]] = key, value, kept
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of keys, in the order of the keys."""
        values = self.rows.get_many(keys)
        rows = [row for row in zip(keys, values, strict=True) if row[1] is not None]
        alike = len({key[:1] for key in keys}) == 1
        read: Sequence[tuple[bytes, bytes | None]] = (
            self._read_some(rows) if alike else [(key, self._read(key, value)) for key, value in rows]  # type: ignore[arg-type]
        )
        if len(read) == len(keys):
            return [value for _, value in read]
        by_key: dict[bytes, bytes | None] = dict.fromkeys(keys)
        by_key.update(read)
        return [by_key[key] for key in keys]

    def scan(
        self, start: bytes, stop: bytes | None, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        """Yield the rows with start <= key < stop in key order, or from the greatest down."""
        return self._reading(self.rows.scan(start, stop, limit=limit, reverse=reverse))

    def scan_ranges(
        self,
        ranges: Sequence[Range],
        *,
        limit: int | None = None,
        each: int | None = None,
        where: Condition | None = None,
        groups: Groups | None = None,
    ) -> Iterator[Row]:
        """Yield the rows of disjoint ranges, in key order."""
        return self._reading(
            self.rows.scan_ranges(ranges, limit=limit, each=each, where=where, groups=groups)
        )

    def put_many(self, rows: Iterable[Row], fields: Fields | None = None) -> bool:
        """Write rows. Each row is atomic and durable; all together are not."""
        self.ownership.require()
        return self.rows.put_many([(key, self._stored_value(key, value)) for key, value in rows], fields)

    def delete_many(self, keys: Iterable[bytes]) -> None:
        """Remove rows. Absent rows are no error."""
        self.ownership.require()
        self.rows.delete_many(keys)

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        """Write (None: remove) a row if it now has the expected value (None: if it is absent)."""
        self.ownership.require()
        if key[:1] in TAGS_WITH_INTENTS and (last := self._last_intents().pop(key[:1], None)) is not None:
            last_key, last_value, intent = last
            if (last_key, last_value) == (key, expected):
                return self._overwrite(key, intent, expected, value)
        new = None if value is None else self._stored_value(key, value)
        swapped = any(self.rows.compare_and_set(key, kept, new) for kept in self._forms(key, expected))
        if swapped and key == keyspace.FORMAT and value is not None:
            self._checked = version_in(value) >= CHECKED
        if not swapped and key[:1] == keyspace.NAMES and (there := self.rows.get(key)) is not None:
            return is_intent(without_checksum(key, there)) and self._overwrite(key, there, expected, value)
        return swapped

    def _last_intents(self) -> dict[bytes, tuple[bytes, bytes | None, bytes]]:
        """Return the intents that this thread read last: key, value that counts and stored row, by tag."""
        if not hasattr(self._last, "intents"):
            self._last.intents = {}
        intents: dict[bytes, tuple[bytes, bytes | None, bytes]] = self._last.intents
        return intents

    def _overwrite(self, key: bytes, kept: bytes, expected: bytes | None, value: bytes | None) -> bool:
        """Change a row that has an intent; see `over_intent`."""
        wanted = over_intent(self, key, without_checksum(key, kept), expected, value)
        if wanted is None:
            return False
        new = None if wanted.value is None else self._stored_value(key, wanted.value)
        return self.rows.compare_and_set(key, kept, new)

    def swap_together(self, swaps: Sequence[tuple[bytes, bytes, bytes]]) -> bool:
        """Write rows that this library has read or written, if all now have the expected values.

        A store that cannot change several rows at once changes one after the other. So some may be written if
        the answer is no.

        Args:
            swaps: keys, expected values and new values, in the order of the keys. The expected values are
                stored ones: of an intent, the intent itself.
        """
        self.ownership.require()
        stored = [
            (key, self._stored_value(key, expected), self._stored_value(key, value))
            for key, expected, value in swaps
        ]
        if isinstance(self.rows, SwapsTogether):
            return self.rows.swap_together(stored)
        return all(self.rows.compare_and_set(*swap) for swap in stored)

    def _forms(self, key: bytes, expected: bytes | None) -> Sequence[bytes | None]:
        """Return the stored forms of a value: older libraries wrote absolute locations, or no checksum.

        The store has only one of them. Mostly the value has just been read, and its form is known.
        """
        if expected is None:
            return [None]
        read_key, value, read = getattr(self._last, "read", (None, None, None))
        if read_key == key and value == expected:
            return [read]
        kept = self.make_relative(key, expected)
        forms = [with_checksum(key, kept), kept] if self._checked else [kept, with_checksum(key, kept)]
        return list(dict.fromkeys([*forms, expected]))

    def row_as_stored(self, key: bytes) -> bytes | None:
        """Return a row as it is stored, without a checksum; it may be an intent."""
        kept = self.rows.get(key)
        return None if kept is None else without_checksum(key, kept)

    def close(self) -> None:
        """Close the connections. The store cannot be used afterwards."""
        self.rows.close()

    def relative_rows(self, start: bytes, stop: bytes | None) -> Iterator[Row]:
        """Yield the rows of a range with their stored locations, without checksums."""
        for key, value in self.rows.scan(start, stop):
            yield key, without_checksum(key, value)

    def locations_outside(self) -> dict[bytes, set[str]]:
        """Return the locations outside of the warehouse in the rows of each table, by the tables' ids."""
        return self._locations(
            lambda location: is_absolute(location) and self.below.stored_form(location) == location
        )

    def locations(self) -> dict[bytes, set[str]]:
        """Return the locations in the rows of each table, by the tables' ids."""
        return self._locations(is_absolute)

    def _locations(self, wanted: Callable[[str], bool]) -> dict[bytes, set[str]]:
        locations: dict[bytes, set[str]] = defaultdict(set)

        def look(location: str) -> str:
            if location and wanted(location):
                locations[table].add(location)
            return location

        for tag in (keyspace.METADATA, keyspace.PARTITIONS, keyspace.CHUNKS):
            for key, value in self.scan(*keyspace.prefix_range(tag)):
                table = key[len(tag) : len(tag) + keyspace.TABLE_ID_BYTES]
                with contextlib.suppress(MetastoreDamagedError):  # fsck reports it
                    rewrite_locations(key, value, look)
        return dict(locations)

    def _reading(self, rows: Iterable[Row]) -> Iterator[Row]:
        # Many rows are checked together: a scan may pass a million partitions, and few have a location. The
        # first ones are checked one by one, as the caller may want only a few.
        remaining, size, seen = iter(rows), 1, 0
        while some := list(islice(remaining, size)):
            yield from self._read_some(some)
            seen += len(some)
            size = (
                1
                if some[0][0][:1] == keyspace.CHUNKS or seen < _ROWS_READ_SINGLY
                else min(2 * size, _MAX_ROWS_PER_BATCH)
            )

    def _read_some(self, rows: list[Row]) -> list[Row]:
        """Return rows in the form for readers. Rows of partitions and of indexes are checked together."""
        if not rows:
            return rows
        tag = rows[0][0][:1]
        if (
            tag in TAGS_WITH_CHECKSUMS and tag == rows[-1][0][:1]
        ):  # all rows between have the same tag, because rows are in order
            joined = are_right(rows) if self._checked else b"\0".join([value for _, value in rows])
            if joined is not None and (tag not in _TAGS_WITH_LOCATIONS or RELATIVE_MARK not in joined):
                return rows
        return [(key, read) for key, value in rows if (read := self._read(key, value)) is not None]

    def _read(self, key: bytes, value: bytes) -> bytes | None:
        """Return a row's value in the form for readers, or None if it does not count or was removed since."""
        value = without_checksum(key, value)
        if key[:1] in TAGS_WITH_INTENTS:
            return value_that_counts(self, key, value)
        return self._make_absolute(key, value)

    def _make_absolute(self, key: bytes, value: bytes) -> bytes:
        if key[:1] not in _TAGS_WITH_LOCATIONS or RELATIVE_MARK not in value:
            return value
        try:
            return rewrite_locations(key, value, self.below.absolute)
        except MetastoreDamagedError:  # the code that decodes the row reports it, and knows what it is
            return value

    def make_relative(self, key: bytes, value: bytes) -> bytes:
        """Return the value of a row with relative locations, without a checksum.

        Args:
            key: key of the row, or its first byte.
            value: the value with absolute locations.
        """
        if key[:1] not in _TAGS_WITH_LOCATIONS or not any(hint in value for hint in self._hints):
            return value
        return rewrite_locations(key, value, self.below.stored_form)

    def _stored_value(self, key: bytes, value: bytes) -> bytes:
        kept = self.make_relative(key, value)
        if not self._raised and RELATIVE_MARK in kept and self._make_absolute(key, kept) != kept:
            require_format(self, RELATIVE)
            self._raised = True
        return with_checksum(key, kept) if self._checked else kept


Change = Callable[[str], str]
"""Returns the new location for an old one."""

_LOCATION, _ARRANGEMENT, _INLINE = 0, 4, 6
"""Positions of these fields in the record of a partition."""


def rewrite_locations(key: bytes, value: bytes, change: Change) -> bytes:
    """Return the value of a row with its locations changed, or the same bytes if none changes.

    Raises:
        MetastoreDamagedError: the row cannot be read.
    """
    tag = key[:1]
    if tag == keyspace.PARTITIONS:
        return value if is_tombstone(value) else value[:1] + _rewrite_partition(value[1:], change)
    if tag == keyspace.METADATA:
        return _rewrite_metadata(value, change)
    if tag == keyspace.CHUNKS:
        return _rewrite_chunk(value, change)
    return _rewrite_database(value, change) if tag == keyspace.DATABASES else value


def _rewrite_metadata(value: bytes, change: Change) -> bytes:
    fields: dict[str, msgspec.Raw] = decoder(dict[str, msgspec.Raw]).decode(value)
    changes = {"location": _text, "arrangement": _rewrite_arrangement}
    new = {name: how(fields[name], change) for name, how in changes.items() if name in fields}
    made = {name: field for name, field in new.items() if field is not None}
    return encode({**fields, **made}) if made else value


def _rewrite_partition(value: bytes, change: Change) -> bytes:
    fields: list[msgspec.Raw] = decoder(list[msgspec.Raw]).decode(value)
    changes = {_LOCATION: _text, _ARRANGEMENT: _rewrite_arrangement, _INLINE: _rewrite_files}
    new = {
        position: made
        for position, how in changes.items()
        if (made := how(fields[position], change)) is not None
    }
    return encode([new.get(position, field) for position, field in enumerate(fields)]) if new else value


def _rewrite_chunk(value: bytes, change: Change) -> bytes:
    if is_in_columns(value):
        return with_paths(value, lambda paths: _paths(paths, change))
    return bytes(_rewrite_files(msgspec.Raw(value), change) or value)


def _rewrite_files(value: msgspec.Raw, change: Change) -> msgspec.Raw | None:
    files: list[list[msgspec.Raw]] = decoder(list[list[msgspec.Raw]]).decode(value)
    paths = [decoder(str).decode(file[0]) for file in files]
    changed = _paths(paths, change)
    if changed is None:
        return None
    return msgspec.Raw(encode([[path, *file[1:]] for path, file in zip(changed, files, strict=True)]))


def _rewrite_arrangement(value: msgspec.Raw, change: Change) -> msgspec.Raw | None:
    fields: dict[str, msgspec.Raw] = decoder(dict[str, msgspec.Raw]).decode(value)
    if "skew" not in fields:
        return None
    skew: dict[str, msgspec.Raw] | None = decoder(dict[str, msgspec.Raw] | None).decode(fields["skew"])
    if skew is None or "locations" not in skew:
        return None
    before: list[str | None] = decoder(list[str | None]).decode(skew["locations"])
    after = [None if location is None else change(location) for location in before]
    if after == before:
        return None
    skew["locations"] = msgspec.Raw(encode(after))
    fields["skew"] = msgspec.Raw(encode(skew))
    return msgspec.Raw(encode(fields))


def _rewrite_database(value: bytes, change: Change) -> bytes:
    fields: dict[str, msgspec.Raw] = decoder(dict[str, msgspec.Raw]).decode(value)
    properties: dict[str, str] = decoder(dict[str, str]).decode(fields["properties"])
    if "location" not in properties or change(properties["location"]) == properties["location"]:
        return value
    properties["location"] = change(properties["location"])
    fields["properties"] = msgspec.Raw(encode(properties))
    return encode(fields)


def _text(value: msgspec.Raw, change: Change) -> msgspec.Raw | None:
    before: str | None = decoder(str | None).decode(value)
    after = change(before) if before else before
    return None if after == before else msgspec.Raw(encode(after))


def _paths(paths: Sequence[str], change: Change) -> list[str] | None:
    """Return paths with the absolute ones changed, or None if none changes."""
    changed = [change(path) if is_absolute(path) else path for path in paths]
    return None if changed == list(paths) else changed
