"""The requests that commits of one table and of several make, counted exactly, and swaps of several rows."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, cast

import pytest

from parquetry.metastore import Draft, Metastore, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.store import MemoryStore, Store, SwapsTogether
from parquetry.testing import OpenStore
from tests.support.stores.metastores import file, metadata

REQUESTS = ("get", "get_many", "scan", "scan_ranges", "put_many", "delete_many", "compare_and_set")
ONE, SEVERAL = 11, 15
"""Requests of a commit of one table, and of several tables, however many."""


class CountedStore:
    """A store that counts requests.

    Args:
        store: that answers them.
        together: whether it changes several rows by one request, if the store does.
    """

    def __init__(self, store: Store, *, together: bool = True) -> None:
        self._store = store
        self.requests = 0
        # An attribute of its own: newer Pythons look for the methods of a protocol past `__getattr__`.
        if together and isinstance(store, SwapsTogether):
            self.swap_together = self._counted(store.swap_together)

    def __getattr__(self, name: str) -> Any:
        if name == "swap_together":
            raise AttributeError(name)
        attribute = getattr(self._store, name)
        return self._counted(attribute) if name in REQUESTS else attribute

    def _counted(self, request: Callable[..., Any]) -> Callable[..., Any]:
        def count(*arguments: Any, **named: Any) -> Any:
            self.requests += 1
            return request(*arguments, **named)

        return count


def commit_cost(store: CountedStore, tables: int) -> int:
    """Return how many requests the commit of a transaction makes that appends to some tables."""
    metastore = Metastore(cast(Store, store), "/lake")
    for number in range(tables):
        first = Transaction(metastore.create_table("default", f"t{number}", metadata()), "append")
        first.append((1, "a"), [file("a")])
        commit(first)
    for _ in range(2):  # the first one raises the format
        draft = Draft(metastore)
        for number in range(tables):
            more = Transaction(draft.metastore.table("default", f"t{number}"), "append")
            more.append((1, "a"), [file("b")])
            commit(more)
        before = store.requests
        assert len(draft.commit()) == tables
    return store.requests - before


def test_requests_of_a_commit(store: Store) -> None:
    """Ten tables take 15 requests, and one takes 11; HBase changes each head by itself, thrice."""
    counted = CountedStore(store)
    singly = 0 if isinstance(store, SwapsTogether) else 3 * (10 - 1)
    assert commit_cost(counted, 10) == SEVERAL + singly
    assert SEVERAL <= 1.5 * ONE


@pytest.mark.parametrize(("tables", "requests"), [(1, ONE), (2, SEVERAL), (10, SEVERAL)])
def test_requests_by_the_number_of_tables(tables: int, requests: int) -> None:
    """The requests do not grow with the number of tables."""
    assert commit_cost(CountedStore(MemoryStore()), tables) == requests
    singly = 3 * (tables - 1)
    assert commit_cost(CountedStore(MemoryStore(), together=False), tables) == requests + singly


def test_all_rows_or_none(store: Store) -> None:
    """A swap of several rows changes all of them, or none if one has another value or is absent."""
    if not isinstance(store, SwapsTogether):
        assert type(store).__name__ == "HBaseStore"
        return
    keys = [b"\x03%d" % number for number in range(4)]
    store.put_many([(key, b"old") for key in keys])
    assert store.swap_together([(key, b"old", b"new") for key in keys])
    assert store.get_many(keys) == [b"new"] * 4
    assert not store.swap_together([(keys[0], b"new", b"x"), (keys[1], b"old", b"x")])
    assert not store.swap_together([(keys[0], b"new", b"x"), (b"\x04", b"new", b"x")])
    assert store.get_many(keys) == [b"new"] * 4


def test_swaps_of_many_clients(open_store: OpenStore) -> None:
    """Clients that change overlapping rows together lose no change, and none waits for another for ever."""
    first = open_store()
    if not isinstance(first, SwapsTogether):
        assert type(first).__name__ == "HBaseStore"
        first.close()
        return
    keys = [b"\x03%d" % number for number in range(3)]
    first.put_many([(key, b"0") for key in keys])
    done = []

    def count_up(number: int) -> None:
        mine = open_store()
        assert isinstance(mine, SwapsTogether)
        some = [key for index, key in enumerate(keys) if index != number % 3]
        for _ in range(20):
            while True:
                values = mine.get_many(some)
                swaps = [
                    (key, value or b"", b"%d" % (int(value or b"0") + 1))
                    for key, value in zip(some, values, strict=True)
                ]
                if mine.swap_together(swaps):
                    break
        done.append(number)

    threads = [threading.Thread(target=count_up, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(done) == 6
    assert first.get_many(keys) == [b"80"] * 3
    first.close()
