"""Tests that a store of anybody's passes if it keeps the contract of `parquetry.store.base`.

A subclass in a test module, and a fixture that opens the store, run them::

    import pytest
    from parquetry.testing import StoreSuite

    @pytest.fixture
    def open_store(tmp_path):
        return lambda: MyStore(tmp_path)  # each time the same rows; at first there are none

    class TestMyStore(StoreSuite):
        pass

They need pytest and Hypothesis: ``pip install 'parquetry[testing]'``.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator

import pytest

from parquetry.store import Store
from parquetry.testing.groups import GroupSuite
from parquetry.testing.scans import ScanSuite

OpenStore = Callable[[], Store]
"""Opens the store that is tested, each time with the same rows."""


class StoreSuite(ScanSuite, GroupSuite):
    """All tests of a store. They need the fixture `open_store`, which returns an `OpenStore` of no rows."""

    @pytest.fixture
    def store(self, open_store: OpenStore) -> Iterator[Store]:
        """The store, without rows."""
        opened = open_store()
        yield opened
        opened.close()

    def test_get_put_delete(self, store: Store) -> None:
        """A row has the value written last, or none once removed; removing what is not there is no error."""
        assert store.get(b"k") is None
        store.put_many([(b"k", b"1"), (b"l", b"2")])
        store.put_many([(b"k", b"3")])
        assert store.get_many([b"l", b"none", b"k", b"k"]) == [b"2", None, b"3", b"3"]
        store.delete_many([b"k", b"none"])
        assert list(store.scan(b"", None)) == [(b"l", b"2")]
        store.put_many([(b"k", b"4")])
        assert store.get(b"k") == b"4"
        store.put_many([])
        store.delete_many([])

    def test_compare_and_set(self, store: Store) -> None:
        """A row is written, or removed, if and only if it is as expected; nothing else changes."""
        assert not store.compare_and_set(b"k", b"1", b"2")
        assert store.compare_and_set(b"k", None, b"1")
        assert not store.compare_and_set(b"k", None, b"2")
        assert not store.compare_and_set(b"k", b"1x", b"2")
        assert not store.compare_and_set(b"k", b"", b"2")
        assert store.compare_and_set(b"k", b"1", b"2")
        assert not store.compare_and_set(b"k", b"1", None)
        assert store.get(b"k") == b"2"
        assert store.compare_and_set(b"k", b"2", None)
        assert store.get(b"k") is None
        assert not store.compare_and_set(b"k", b"2", None)
        assert store.compare_and_set(b"k", None, b"1")
        assert list(store.scan(b"", None)) == [(b"k", b"1")]

    def test_long_keys_and_values(self, store: Store) -> None:
        """Keys of 30 000 bytes and values of 3 MB are kept, and sort among short ones."""
        long = b"k" * 30_000
        rows = [
            (b"k", b"short"),
            (long, bytes(range(256)) * 12_000),
            (long + b"\x00", b"next"),
            (b"l", b"last"),
        ]
        store.put_many(rows)
        assert list(store.scan(b"", None)) == rows
        assert store.compare_and_set(long, rows[1][1], b"now short")
        assert store.get(long) == b"now short"

    def test_values_of_any_size_replace_each_other(self, store: Store) -> None:
        """Values of any size replace each other by every kind of write, and every read finds them."""
        sizes = [1, 3_998, 3_999, 4_000, 20_000, 70_000, 400_000]
        wanted: dict[bytes, bytes] = {}
        for turn in range(len(sizes) * 2):
            rows = [
                (b"%c" % (97 + slot), b"%c" % (65 + turn) * sizes[(slot + turn * 3) % len(sizes)])
                for slot in range(len(sizes))
            ]
            if turn % 2:
                for key, value in rows:
                    assert not store.compare_and_set(key, value, b"other")
                    assert store.compare_and_set(key, wanted.get(key), value)
            else:
                store.put_many(rows)
            wanted.update(rows)
            store.delete_many([b"%c" % (97 + turn % len(sizes))])
            del wanted[b"%c" % (97 + turn % len(sizes))]
            assert list(store.scan(b"", None)) == sorted(wanted.items())
            assert list(store.scan(b"b", b"e", reverse=True)) == sorted(
                (row for row in wanted.items() if b"b" <= row[0] < b"e"), reverse=True
            )
            assert store.get_many([key for key, _ in rows]) == [wanted.get(key) for key, _ in rows]
        for key, value in wanted.items():
            assert not store.compare_and_set(key, value + b"x", None)
            assert store.compare_and_set(key, value, None)
        assert list(store.scan(b"", None)) == []

    def test_threads_count_together(self, store: Store) -> None:
        """If several threads compare-and-set one row, exactly one wins each time: no increment is lost."""
        store.put_many([(b"n", b"0")])

        def count() -> None:
            for _ in range(100):
                while True:
                    value = store.get(b"n")
                    assert value is not None
                    if store.compare_and_set(b"n", value, str(int(value) + 1).encode()):
                        break

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert store.get(b"n") == b"400"

    def test_rows_outlive_their_connection(self, open_store: OpenStore) -> None:
        """A later connection reads every row that an earlier one wrote, and none that it removed."""
        first = open_store()
        first.put_many([(b"a", b"1"), (b"b", b"1"), (b"c", b"1")])
        first.delete_many([b"a"])
        assert first.compare_and_set(b"b", b"1", b"2")
        first.close()
        second = open_store()
        assert list(second.scan(b"", None)) == [(b"b", b"2"), (b"c", b"1")]
        second.close()

    def test_connections_see_each_other(self, open_store: OpenStore) -> None:
        """A second connection reads a row at once, and its compare-and-set goes by that row."""
        first, second = open_store(), open_store()
        for number in range(20):
            value = b"%d" % number
            first.put_many([(b"k", value)])
            assert second.get(b"k") == value
            assert list(second.scan(b"", None)) == [(b"k", value)]
            assert not second.compare_and_set(b"k", value + b"x", None)
            assert second.compare_and_set(b"k", value, None)
            assert first.get(b"k") is None
        first.close()
        second.close()
