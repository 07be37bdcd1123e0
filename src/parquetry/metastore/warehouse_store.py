"""The store of a warehouse, as the rest of the library sees it: locations below the warehouse are absolute.

In the store they are relative to it (`layout.below_warehouse`): a warehouse that was moved or copied, with its metastore, reads,
writes and deletes what lies in the new place. They are turned into one another here and nowhere else, as rows are read
and written, so that nobody has to remember.

Rows that older libraries wrote hold absolute locations; they are read as they are. The first row with a relative one
raises the store's format (`format.RELATIVE`), so that older libraries refuse it with a sentence.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from parquetry.errors import MetastoreDamagedError
from parquetry.layout.below_warehouse import KEPT, BelowWarehouse
from parquetry.metastore.format import RELATIVE, require_format
from parquetry.metastore.keyspace import CHUNKS, DATABASES, METADATA, PARTITIONS
from parquetry.metastore.places_in_rows import change_places
from parquetry.store.base import Fields, Range, Store
from parquetry.store.condition import Condition
from parquetry.store.groups import Groups

_PLACED = (DATABASES, METADATA, PARTITIONS, CHUNKS)
"""The first bytes of the keys of rows that hold locations."""
_AT_ONCE = 256
"""Rows that are looked at together; a store reads more than that at once."""
_SINGLY = 64
"""Rows, after which they are looked at together."""
Row = tuple[bytes, bytes]


class WarehouseStore:
    """A store of which the rows hold locations.

    Args:
        rows: the store itself.
        warehouse: absolute path, or URI.

    Attributes:
        rows: as given: what is read and written there has relative locations.
        below: turns locations into those that are kept, and back.
    """

    def __init__(self, rows: Store, warehouse: str) -> None:
        self.rows = rows
        self.below = BelowWarehouse(warehouse)
        self._hints = self.below.hints
        self._raised = False

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key; None if there is none."""
        value = self.rows.get(key)
        return value if value is None else self._read(key, value)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of keys, in the order of the keys."""
        values = self.rows.get_many(keys)
        return [
            value if value is None or KEPT not in value else self._read(key, value)
            for key, value in zip(keys, values, strict=True)
        ]

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
        if key[:1] not in _PLACED:
            return self.rows.compare_and_set(key, expected, value)
        new = None if value is None else self._written(key, value)
        kept = None if expected is None else self.kept(key, expected)
        if self.rows.compare_and_set(key, kept, new):
            return True
        # an older library has written it; a value is only ever there once, in either form
        return kept != expected and self.rows.compare_and_set(key, expected, new)

    def close(self) -> None:
        """Give back connections; the store cannot be used afterwards."""
        self.rows.close()

    def _reading(self, rows: Iterable[Row]) -> Iterator[Row]:
        # Some rows together, as a million partitions are looked through, of which few have a location; but whoever
        # wants a few rows has no more of them read.
        remaining, size, seen = iter(rows), 1, 0
        while some := list(islice(remaining, size)):
            first, last = some[0][0][:1], some[-1][0][:1]
            if first == last and (
                first not in _PLACED
                or (first == PARTITIONS and KEPT not in b"\0".join([value for _, value in some]))
            ):
                yield from some
            else:
                yield from ((key, self._read(key, value)) for key, value in some)
            seen += len(some)
            size = 1 if CHUNKS in (first, last) or seen < _SINGLY else min(2 * size, _AT_ONCE)

    def _read(self, key: bytes, value: bytes) -> bytes:
        if key[:1] not in _PLACED or KEPT not in value:
            return value
        try:
            return change_places(key, value, self.below.absolute)
        except MetastoreDamagedError:  # whoever decodes the row tells of it, and of what
            return value

    def kept(self, key: bytes, value: bytes) -> bytes:
        """Return the value of a row as it is kept, with relative locations, though an older library may have written absolute ones.

        Args:
            key: of the row, or its first byte.
            value: as it is read.
        """
        if key[:1] not in _PLACED or not any(hint in value for hint in self._hints):
            return value
        return change_places(key, value, self.below.kept)

    def _written(self, key: bytes, value: bytes) -> bytes:
        kept = self.kept(key, value)
        if not self._raised and KEPT in kept and self._read(key, kept) != kept:
            require_format(self.rows, RELATIVE)
            self._raised = True
        return kept
