"""A store in memory, for tests and for tables that need not outlive the process."""

from __future__ import annotations

import threading
from bisect import bisect_left, insort
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain, islice

from parquetry.store.base import Fields
from parquetry.store.condition import Condition, holds
from parquetry.store.groups import (
    Groups,
    KeyPage,
    Leading,
    PageReader,
    Range,
    ReadCosts,
    RowPage,
    first_row,
    first_rows,
    one_by_one,
    one_by_one_keys,
)

ROWS_PER_BATCH = 1000


class MemoryStore:
    """An ordered map in memory, shared by the threads of one process."""

    leaves_out = True
    costs = ReadCosts(request=0, seek=12, lookup=1, tested=1, counted=0.01)

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[bytes, bytes] = {}
        self._keys: list[bytes] = []
        self._fields: dict[bytes, Sequence[bytes]] = {}

    def get(self, key: bytes) -> bytes | None:
        """Return the value of a key, or None if the row is absent."""
        return self._values.get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        """Return the values of keys, in the order of the keys."""
        return [self._values.get(key) for key in keys]

    def scan(
        self, start: bytes, stop: bytes | None, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows with start <= key < stop in key order, or in reverse order."""
        remaining = limit
        while remaining is None or remaining > 0:
            size = ROWS_PER_BATCH if remaining is None else min(ROWS_PER_BATCH, remaining)
            batch = self._batch(start, stop, size, reverse)
            yield from batch
            if len(batch) < size:
                return
            if remaining is not None:
                remaining -= len(batch)
            if reverse:
                stop = batch[-1][0]
            else:
                start = batch[-1][0] + b"\0"

    def _batch(self, start: bytes, stop: bytes | None, size: int, reverse: bool) -> list[tuple[bytes, bytes]]:
        with self._lock:
            low = bisect_left(self._keys, start)
            high = len(self._keys) if stop is None else max(low, bisect_left(self._keys, stop))
            if reverse:
                keys = self._keys[max(low, high - size) : high][::-1]
            else:
                keys = self._keys[low : min(high, low + size)]
            return [(key, self._values[key]) for key in keys]

    def scan_ranges(
        self,
        ranges: Sequence[Range],
        *,
        limit: int | None = None,
        each: int | None = None,
        where: Condition | None = None,
        groups: Groups | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        """Yield the rows of disjoint ranges, in key order, that satisfy a condition."""
        if groups is not None:
            single = each is not None
            wanted = groups.passing_over(ranges)
            scans = (self._first_rows(start, stop, where, groups, single) for start, stop in wanted)
            yield from islice(chain.from_iterable(scans), limit)
            return
        remaining = limit
        for start, stop in ranges:
            size = each if remaining is None or (each is not None and each < remaining) else remaining
            for row in self._matching(start, stop, size, where):
                yield row
                if remaining is not None:
                    remaining -= 1
            if remaining == 0:
                return

    def _matching(
        self, start: bytes, stop: bytes | None, size: int | None, where: Condition | None
    ) -> Iterator[tuple[bytes, bytes]]:
        if where is None:
            return self.scan(start, stop, limit=size)
        rows = (row for row in self.scan(start, stop) if holds(where, self._fields.get(row[0], ())))
        return islice(rows, size)

    def _first_rows(
        self, start: bytes, stop: bytes | None, where: Condition | None, groups: Groups, single: bool
    ) -> Iterator[tuple[bytes, bytes]]:
        def plain(start: bytes, count: int) -> RowPage:
            rows = list(self._matching(start, stop, count, where))
            return RowPage(rows, rows[-1][0] if len(rows) == count else None)

        if single:
            return first_row(groups, start, plain)
        reader = PageReader(plain, one_by_one(groups, plain), lambda _: ROWS_PER_BATCH)
        return first_rows(groups, start, reader)

    def count(self, ranges: Sequence[Range], limit: int) -> int:
        """Return the number of rows in disjoint ranges, or `limit` if there are more."""
        with self._lock:
            return min(
                limit, sum(self._rows_before(stop) - self._rows_before(start) for start, stop in ranges)
            )

    def _rows_before(self, key: bytes | None) -> int:
        return len(self._keys) if key is None else bisect_left(self._keys, key)

    def first_keys(self, start: bytes, stop: bytes | None, leading: Leading, limit: int) -> KeyPage:
        """Return the first key of each group in start <= key < stop."""

        def first(start: bytes) -> bytes | None:
            with self._lock:
                index = bisect_left(self._keys, start)
                key = self._keys[index] if index < len(self._keys) else None
            return key if key is not None and (stop is None or key < stop) else None

        return one_by_one_keys(first, start, stop, leading, limit)

    def put_many(self, rows: Iterable[tuple[bytes, bytes]], fields: Fields | None = None) -> bool:
        """Write all rows in one step."""
        batch = list(rows)
        split = {} if fields is None else {key: fields(key) for key, _ in batch}
        with self._lock:
            added = {key for key, _ in batch} - self._values.keys()
            self._values.update(batch)
            self._fields.update(split)
            if len(added) == 1:
                insort(self._keys, added.pop())
            else:
                self._keys += sorted(added)
                self._keys.sort()
        return False

    def delete_many(self, keys: Iterable[bytes]) -> None:
        """Remove rows."""
        with self._lock:
            deleted = [key for key in keys if self._values.pop(key, None) is not None]
            for key in deleted:
                self._fields.pop(key, None)
            if len(deleted) < ROWS_PER_BATCH:
                for key in deleted:
                    del self._keys[bisect_left(self._keys, key)]
            else:
                self._keys = sorted(self._values)

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        """Write (None: remove) a row if it now has the expected value (None: if it is absent)."""
        with self._lock:
            if self._values.get(key) != expected:
                return False
            if value is not None:
                if expected is None:
                    insort(self._keys, key)
                self._values[key] = value
            elif expected is not None:
                del self._values[key]
                self._fields.pop(key, None)
                del self._keys[bisect_left(self._keys, key)]
            return True

    def swap_together(self, swaps: Sequence[tuple[bytes, bytes, bytes]]) -> bool:
        """Write rows if all of them now have the expected values."""
        with self._lock:
            if any(self._values.get(key) != expected for key, expected, _ in swaps):
                return False
            self._values.update((key, value) for key, _, value in swaps)
            return True

    def close(self) -> None:
        """Do nothing: the rows live as long as the store."""
