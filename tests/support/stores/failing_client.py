"""A way to a store on which a client fails at one of the rows that it writes."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Literal

from parquetry.errors import StoreError
from parquetry.store import Store
from parquetry.store.base import Fields, Range
from parquetry.store.condition import Condition
from parquetry.store.groups import Groups
from tests.support.stores.metastores import Crash

How = Literal["before", "after", "unanswered", "unreachable", "kill"]


class Client:
    """A client's own way to a store, which goes wrong at one of the rows that it writes.

    Args:
        store: that others use, too.
        stop: the number of the row, or None if all goes well.
        how: the process dies ``before`` the row is written or ``after``. Or the row is written, but the
            client gets an error of the store (``unanswered``), or loses the store for good
            (``unreachable``). ``kill``: the process is killed in mid-batch.
        backwards: whether the rows of a batch are written last to first; a store promises no order.

    Attributes:
        store: as given.
        writes: number of rows written so far.
        calls: the numbers of the last rows of each call.
        before_write: called before each row.
    """

    def __init__(
        self, store: Store, stop: int | None = None, how: How = "before", backwards: bool = False
    ) -> None:
        self.store = store
        self._stop = stop
        self._how = how
        self._backwards = backwards
        self._lost: type[BaseException] | None = None
        self.writes = 0
        self.calls: list[int] = []
        self.before_write: Callable[[], None] | None = None

    def stop_after(self, rows: int) -> None:
        """Have the client die before the row after so many."""
        self._stop, self._how = self.writes + rows, "before"

    def begin_anew(self) -> None:
        """Have another process take the client's place."""
        self._stop = self._lost = None

    def _reach(self) -> Store:
        if self._lost is not None:
            raise self._lost("gone")
        return self.store

    def _write(self, items: Iterable[Any], write: Callable[[Iterable[Any]], Any]) -> Any:
        self._reach()
        batch = list(items)[:: -1 if self._backwards else 1]
        start, self.writes = self.writes, self.writes + len(batch)
        if batch:
            self.calls.append(self.writes - 1)
        if self.before_write is not None:
            self.writes = start
            for item in batch:
                if self.before_write is not None:
                    self.before_write()
                self.writes += 1
                result = write([item])
            return result if batch else None
        if self._stop is None or not start <= self._stop < self.writes:
            return write(batch) if batch else None
        place = self._stop - start
        if self._how == "kill":
            return write(_killing(batch, place))
        written = batch[: place + (self._how != "before")]
        if written:
            write(written)
        if self._how == "unanswered":
            raise StoreError("no answer, as the test asked")
        self._lost = StoreError if self._how == "unreachable" else Crash
        raise self._lost("no answer, as the test asked")

    def get(self, key: bytes) -> bytes | None:
        return self._reach().get(key)

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        return self._reach().get_many(keys)

    def scan(
        self, start: bytes, stop: bytes | None, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        return self._reach().scan(start, stop, limit=limit, reverse=reverse)

    def scan_ranges(
        self,
        ranges: Sequence[Range],
        *,
        limit: int | None = None,
        each: int | None = None,
        where: Condition | None = None,
        groups: Groups | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        return self._reach().scan_ranges(ranges, limit=limit, each=each, where=where, groups=groups)

    def put_many(self, rows: Iterable[tuple[bytes, bytes]], fields: Fields | None = None) -> bool:
        return bool(self._write(rows, lambda some: self.store.put_many(some, fields)))

    def delete_many(self, keys: Iterable[bytes]) -> None:
        self._write(keys, self.store.delete_many)

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        def swap(items: Iterable[Any]) -> bool:
            return all(self.store.compare_and_set(*item) for item in items)

        return bool(self._write([(key, expected, value)], swap))

    def close(self) -> None:
        """The store belongs to the test."""


def _killing(batch: Sequence[Any], place: int) -> Iterator[Any]:
    """Yield what a store is to write; the process ends when it asks for one of them."""
    for number, item in enumerate(batch):
        if number == place:
            os.kill(os.getpid(), signal.SIGKILL)
        yield item
