"""The store of a warehouse, as the rest of the library sees it: locations below the warehouse are absolute, and rows have no checksums.

Checksums (`storage.checksums`) are of what the store keeps: they are looked at, and taken off, as rows are read, and made as they are written, where the
store's format has them. In the store they are relative to it (`locations.warehouse_relative`): a warehouse that was moved or copied, with its metastore, reads,
writes and deletes what lies in the new place. They are turned into one another here and nowhere else, as rows are read
and written, so that nobody has to remember.

Rows that older libraries wrote hold absolute locations; they are read as they are. The first row with a relative one
raises the store's format (`storage.format.RELATIVE`), so that older libraries refuse it with a sentence.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from parquetry.errors import MetastoreDamagedError
from parquetry.locations import RELATIVE_MARK, BelowWarehouse
from parquetry.metastore.location_rewrite import rewrite_locations
from parquetry.metastore.storage import (
    CHECKED,
    CHUNKS,
    DATABASES,
    FORMAT,
    METADATA,
    PARTITIONS,
    RELATIVE,
    TAGS_WITH_CHECKSUMS,
    are_right,
    require_format,
    version_in,
    with_checksum,
    without_checksum,
)
from parquetry.store import Condition, Fields, Groups, Range, Store

_TAGS_WITH_LOCATIONS = (DATABASES, METADATA, PARTITIONS, CHUNKS)
"""The first bytes of the keys of rows that hold locations."""
_MAX_ROWS_PER_BATCH = 1024
"""Rows that are looked at together; a store reads more than that at once."""
_ROWS_READ_SINGLY = 64
"""Rows, after which they are looked at together."""
Row = tuple[bytes, bytes]


class WarehouseStore:
    """A store of which the rows hold locations.

    Args:
        rows: the store itself.
        warehouse: absolute path, or URI.
        version: of the store's format.

    Attributes:
        rows: as given: what is read and written there has relative locations.
        below: turns locations into those that are kept, and back.
    """

    def __init__(self, rows: Store, warehouse: str, version: int) -> None:
        self.rows = rows
        self.below = BelowWarehouse(warehouse)
        self._hints = self.below.hints
        self._raised = False
        self._checked = version >= CHECKED
        """Whether the store's rows may have checksums, as far as is known: whoever writes looks at the format row first."""
        self._last = threading.local()

    @property
    def leaves_out(self) -> bool:
        """Whether the store tests conditions, and leaves out rows that do not satisfy them."""
        return self.rows.leaves_out

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key; None if there is none."""
        kept = self.rows.get(key)
        if kept is None:
            return None
        if key == FORMAT:
            self._checked = version_in(kept) >= CHECKED
        value = self._read(key, kept)
        self._last.read = key, value, kept  # a compare-and-set mostly follows
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of keys, in the order of the keys."""
        values = self.rows.get_many(keys)
        rows = [row for row in zip(keys, values, strict=True) if row[1] is not None]
        by_key = {} if len(rows) == len(keys) else dict.fromkeys(keys)
        alike = len({key[:1] for key in keys}) == 1
        read = self._read_some(rows) if alike else [(key, self._read(key, value)) for key, value in rows]  # type: ignore[arg-type]
        if not by_key:
            return [value for _, value in read]
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
        """Yield the rows of disjoint ranges, which are given in key order."""
        return self._reading(
            self.rows.scan_ranges(ranges, limit=limit, each=each, where=where, groups=groups)
        )

    def put_many(self, rows: Iterable[Row], fields: Fields | None = None) -> bool:
        """Write rows; each is atomic and durable, all together are not."""
        return self.rows.put_many([(key, self._written(key, value)) for key, value in rows], fields)

    def delete_many(self, keys: Iterable[bytes]) -> None:
        """Remove rows, those that are not there included."""
        self.rows.delete_many(keys)

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        """Write (None: remove) a row if it now has the expected value (None: if it is absent)."""
        new = None if value is None else self._written(key, value)
        swapped = any(self.rows.compare_and_set(key, kept, new) for kept in self._forms(key, expected))
        if swapped and key == FORMAT and value is not None:
            self._checked = version_in(value) >= CHECKED
        return swapped

    def _forms(self, key: bytes, expected: bytes | None) -> Sequence[bytes | None]:
        """Return how a value may be kept: without a checksum, or with absolute locations, if an older library has written it.

        A value is only ever there once, in one of them; mostly it was read just now.
        """
        if expected is None:
            return [None]
        read_key, value, read = getattr(self._last, "read", (None, None, None))
        if read_key == key and value == expected:
            return [read]
        kept = self.kept(key, expected)
        forms = [with_checksum(key, kept), kept] if self._checked else [kept, with_checksum(key, kept)]
        return list(dict.fromkeys([*forms, expected]))

    def close(self) -> None:
        """Give back connections; the store cannot be used afterwards."""
        self.rows.close()

    def kept_rows(self, start: bytes, stop: bytes | None) -> Iterator[Row]:
        """Yield the rows of a range with the locations as they are kept."""
        for key, value in self.rows.scan(start, stop):
            yield key, without_checksum(key, value)

    def _reading(self, rows: Iterable[Row]) -> Iterator[Row]:
        # Some rows together, as a million partitions are looked through, of which few have a location; but whoever
        # wants a few rows has no more of them read.
        remaining, size, seen = iter(rows), 1, 0
        while some := list(islice(remaining, size)):
            yield from self._read_some(some)
            seen += len(some)
            size = (
                1
                if some[0][0][:1] == CHUNKS or seen < _ROWS_READ_SINGLY
                else min(2 * size, _MAX_ROWS_PER_BATCH)
            )

    def _read_some(self, rows: list[Row]) -> list[Row]:
        """Return rows as they are read; those of partitions and of indexes are looked at together."""
        if not rows:
            return rows
        tag = rows[0][0][:1]
        if (
            tag in TAGS_WITH_CHECKSUMS and tag == rows[-1][0][:1]
        ):  # and so do all between, for they are in order
            joined = are_right(rows) if self._checked else b"\0".join([value for _, value in rows])
            if joined is not None and (tag not in _TAGS_WITH_LOCATIONS or RELATIVE_MARK not in joined):
                return rows
        return [(key, self._read(key, value)) for key, value in rows]

    def _read(self, key: bytes, value: bytes) -> bytes:
        return self._placed(key, without_checksum(key, value))

    def _placed(self, key: bytes, value: bytes) -> bytes:
        if key[:1] not in _TAGS_WITH_LOCATIONS or RELATIVE_MARK not in value:
            return value
        try:
            return rewrite_locations(key, value, self.below.absolute)
        except MetastoreDamagedError:  # whoever decodes the row tells of it, and of what
            return value

    def kept(self, key: bytes, value: bytes) -> bytes:
        """Return the value of a row as it is kept, with relative locations, though an older library may have written absolute ones.

        Args:
            key: of the row, or its first byte.
            value: as it is read.
        """
        if key[:1] not in _TAGS_WITH_LOCATIONS or not any(hint in value for hint in self._hints):
            return value
        return rewrite_locations(key, value, self.below.kept)

    def _written(self, key: bytes, value: bytes) -> bytes:
        kept = self.kept(key, value)
        if not self._raised and RELATIVE_MARK in kept and self._placed(key, kept) != kept:
            require_format(self, RELATIVE)
            self._raised = True
        return with_checksum(key, kept) if self._checked else kept
