"""A store whose calls are steps: something may come before each, and its answer can be noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from parquetry.store import Store
from parquetry.store.base import Fields, Range
from parquetry.store.condition import Condition
from parquetry.store.groups import Groups

Row = tuple[bytes, bytes]
_T = TypeVar("_T")


class StoreCall(NamedTuple):
    """A call of a store.

    Attributes:
        kind: the method's name.
        reads: keys of rows that it reads.
        ranges: of keys that it reads.
        writes: keys of rows that it writes.
    """

    kind: str
    reads: tuple[bytes, ...] = ()
    ranges: tuple[Range, ...] = ()
    writes: tuple[bytes, ...] = ()


def _ignore(_: object) -> None:
    """Note nothing."""


class SteppedStore:
    """A client's way to a store that stops before each call.

    Args:
        store: that others use, too.
        step: called before each call.
        saw: called with what each call answered.
        singly: whether rows are scanned and written one at a time. A store may do so, as it promises nothing
            about several rows.
    """

    def __init__(
        self,
        store: Store,
        step: Callable[[StoreCall], None],
        saw: Callable[[object], None] = _ignore,
        *,
        singly: bool = False,
    ) -> None:
        self.store = store
        self._step = step
        self._saw = saw
        self._singly = singly

    def get(self, key: bytes) -> bytes | None:
        self._step(StoreCall("get", reads=(key,)))
        value = self.store.get(key)
        self._saw(value)
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self._step(StoreCall("get_many", reads=tuple(keys)))
        values = self.store.get_many(keys)
        self._saw(tuple(values))
        return values

    def scan(
        self, start: bytes, stop: bytes | None, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[Row]:
        if not self._singly:
            self._step(StoreCall("scan", ranges=((start, stop),)))
            rows = list(self.store.scan(start, stop, limit=limit, reverse=reverse))
            self._saw(tuple(rows))
            yield from rows
            return
        while limit is None or limit > 0:
            self._step(StoreCall("scan", ranges=((start, stop),)))
            found = list(self.store.scan(start, stop, limit=1, reverse=reverse))
            self._saw(tuple(found))
            if not found:
                return
            yield found[0]
            limit = None if limit is None else limit - 1
            if reverse:
                stop = found[0][0]
            else:
                start = found[0][0] + b"\0"

    def scan_ranges(
        self,
        ranges: Sequence[Range],
        *,
        limit: int | None = None,
        each: int | None = None,
        where: Condition | None = None,
        groups: Groups | None = None,
    ) -> Iterator[Row]:
        self._step(StoreCall("scan_ranges", ranges=tuple(ranges)))
        rows = list(self.store.scan_ranges(ranges, limit=limit, each=each, where=where, groups=groups))
        self._saw(tuple(rows))
        yield from rows

    def put_many(self, rows: Iterable[Row], fields: Fields | None = None) -> bool:
        in_doubt = False
        for some in self._together(rows):
            self._step(StoreCall("put_many", writes=tuple(key for key, _ in some)))
            in_doubt |= self.store.put_many(some, fields)
        return in_doubt

    def delete_many(self, keys: Iterable[bytes]) -> None:
        for some in self._together(keys):
            self._step(StoreCall("delete_many", writes=tuple(some)))
            self.store.delete_many(some)

    def _together(self, things: Iterable[_T]) -> list[list[_T]]:
        every = list(things)
        return [[each] for each in every] if self._singly else [every] if every else []

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        self._step(StoreCall("compare_and_set", writes=(key,)))
        done = self.store.compare_and_set(key, expected, value)
        self._saw(done)
        return done

    def close(self) -> None:
        """The store belongs to the test."""


def interrupted(
    store: Store, number: int, action: Callable[[], object], *, singly: bool = False
) -> SteppedStore:
    """Return a way to a store on which something else is done before the call of a number."""
    calls = iter(range(number, -1, -1))

    def step(_: StoreCall) -> None:
        if next(calls, None) == 0:
            action()

    return SteppedStore(store, step, singly=singly)
