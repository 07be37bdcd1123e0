"""The store in HBase, beyond the conformance suite, which runs on it, too."""

from __future__ import annotations

import os
import threading
import time

import pytest

from parquetry.errors import ConfigurationError, StoreError, WarehouseError
from parquetry.store import open_store
from parquetry.store.groups import Groups
from parquetry.store.hbase import filters
from parquetry.store.hbase.client import Cell, HBaseTable
from parquetry.store.hbase.connection import Connections, thrift
from parquetry.store.hbase.store import HBaseStore
from tests.support.erasing.holders import holders
from tests.support.hbase.launcher import HBaseServer, free_ports
from tests.support.hbase.proxy import Proxy

ROWS = [(b"%05d" % n, b"value %d" % n) for n in range(3000)]


@pytest.mark.parametrize("flushed", [False, True])
def test_rows_examined(hbase: HBaseServer, store: HBaseStore, table: str, flushed: bool) -> None:
    """HBase looks at the rows that are returned, and hardly any others, however many there are."""
    store.put_many(ROWS, lambda key: (key[:2], key[2:]))
    if flushed:
        hbase.ask(f"flush {table}")
    before = hbase.rows_examined(table)

    def examined(found: object, rows: int, most: int) -> None:
        nonlocal before
        now = hbase.rows_examined(table)
        assert found == rows
        assert now - before <= most, f"{now - before} rows were examined, {rows} returned"
        before = now

    examined(len(list(store.scan(b"01000", b"01024"))), 24, 24)
    examined(len(list(store.scan(b"00999x", b"01023x"))), 24, 24)
    examined(len(list(store.scan(b"01000", b"01024", reverse=True))), 24, 26)
    examined(len(list(store.scan(b"", None, limit=5))), 5, 5)
    examined(len(list(store.scan(b"01000", None, limit=5, reverse=True))), 5, 5)
    examined(len(list(store.scan(b"01000", b"01000"))), 0, 0)
    examined(len(list(store.scan(b"01000", b"00900"))), 0, 0)
    examined(store.get_many([b"00001", b"nothing", b"00002"]).count(None), 1, 3)
    days = [(b"%05d" % n, b"%05d" % (n + 2)) for n in range(0, 2400, 100)]
    # Between two ranges it looks at the row that it seeks from.
    examined(len(list(store.scan_ranges(days))), 48, 48 + 24 + 2)
    examined(len(list(store.scan_ranges([(b"1", b"1"), (b"2", b"1")]))), 0, 0)
    hbase.ask(f"flush {table}")
    # No row is at the start, which HBase would count where it looks for a column in a file.
    examined(len(list(store.scan(b"00999+", b"01024"))), 24, 24)
    examined(len(list(store.scan(b"00999+", b"01024", limit=1))), 1, 1)
    examined(len(list(store.scan_ranges([(b"00999+", b"01010"), (b"02000+", b"02011")]))), 20, 20 + 1)


def test_many_ranges_in_few_requests(hbase: HBaseServer, proxy: Proxy, table: str) -> None:
    """A thousand ranges are two requests, a thousand rows are one, and so is a compare-and-set."""
    store = HBaseStore("127.0.0.1", proxy.port, table)
    store.put_many(ROWS[:1000])
    proxy.requests.clear()
    ranges = [(key, key + b"\0") for key, _ in ROWS[:2000:2]]
    assert list(store.scan_ranges(ranges)) == ROWS[:1000:2]
    assert proxy.requests == ["getScannerResults"] * 2
    proxy.requests.clear()
    store.put_many(ROWS[:1000])
    value = store.get(b"00001")
    assert store.compare_and_set(b"00001", value, b"new")
    assert proxy.requests == ["putMultiple", "getMultiple", "checkAndMutate"]
    store.close()


def test_what_is_written_right_after_a_removal_stays(store: HBaseStore) -> None:
    """A removal does not hide a row written within the same millisecond, whichever way either is done."""
    for n in range(60):
        store.put_many([(b"put", b"%d" % n)])
        store.delete_many([b"put"])
        store.put_many([(b"put", b"again %d" % n)])
        assert store.get(b"put") == b"again %d" % n
        assert store.compare_and_set(b"swap", None, b"%d" % n)
        assert store.compare_and_set(b"swap", b"%d" % n, None)
        assert store.get(b"swap") is None
        assert store.compare_and_set(b"swap", None, b"again %d" % n)
        assert store.get(b"swap") == b"again %d" % n
        store.delete_many([b"swap"])
        assert store.get(b"swap") is None


def test_removal_markers_are_no_later_than_the_cell(
    store: HBaseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A removal hides what was there, and nothing that is a millisecond younger."""
    seen: dict[bytes, Cell] = {}
    genuine = HBaseTable.get

    def get(self: HBaseTable, keys: list[bytes], **options: bool) -> list[Cell | None]:
        found = genuine(self, keys, **options)
        seen.update((key, cell) for key, cell in zip(keys, found, strict=True) if cell is not None)
        return found

    monkeypatch.setattr(HBaseTable, "get", get)
    store.put_many([(b"put", b"1"), (b"swapped", b"1")])
    store.delete_many([b"put"])
    assert store.compare_and_set(b"swapped", b"1", None)
    assert genuine(store._table, [b"put", b"swapped"]) == [None, None]
    for key in (b"put", b"swapped"):
        value = thrift.TColumnValue(
            family=b"f", qualifier=b"v", value=b"p2", timestamp=seen[key].timestamp + 1
        )
        store._table._call("putMultiple", [thrift.TPut(row=key, columnValues=[value])])
        assert store.get(key) == b"2"


def test_removals_and_rivals(store: HBaseStore) -> None:
    """Threads that take a row away and put it back take turns: each turn is somebody's."""
    turns: list[int] = []

    def work(me: int) -> None:
        for _ in range(25):
            while not store.compare_and_set(b"lock", None, b"mine %d" % me):
                pass
            turns.append(me)
            assert store.get(b"lock") == b"mine %d" % me
            assert store.compare_and_set(b"lock", b"mine %d" % me, None)

    threads = [threading.Thread(target=work, args=(me,)) for me in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(turns) == sorted(list(range(3)) * 25)
    assert store.get(b"lock") is None


def test_tombstones_are_no_rows(store: HBaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A removal that got no further than its tombstone is one all the same."""

    def fail(*_: object) -> None:
        raise StoreError("as the test asked")

    monkeypatch.setattr(HBaseTable, "remove", fail)
    store.put_many([(b"a", b"1"), (b"b", b"2"), (b"c", b"3")])
    assert store.compare_and_set(b"b", b"2", None)
    assert store.get_many([b"a", b"b"]) == [b"1", None]
    for limit in (None, 1, 2, 3):
        assert list(store.scan(b"", None, limit=limit)) == [(b"a", b"1"), (b"c", b"3")][:limit]
        assert list(store.scan(b"", None, limit=limit, reverse=True)) == [(b"c", b"3"), (b"a", b"1")][:limit]
    assert not store.compare_and_set(b"b", b"2", b"x")
    assert store.compare_and_set(b"b", None, b"4")
    assert store.get(b"b") == b"4"


def test_what_a_get_saw_may_be_old(store: HBaseStore) -> None:
    """A compare-and-set compares with the current value, not with the value that its thread saw last."""

    def meanwhile(expected: bytes, value: bytes) -> None:
        other = threading.Thread(target=store.compare_and_set, args=(b"k", expected, value))
        other.start()
        other.join()

    store.put_many([(b"k", b"1")])
    assert store.get(b"k") == b"1"
    meanwhile(b"1", b"2")
    assert not store.compare_and_set(b"k", b"1", b"3")
    assert store.get(b"k") == b"2"
    meanwhile(b"2", b"2")  # the same value, written anew
    assert store.compare_and_set(b"k", b"2", b"3")
    assert store.get(b"k") == b"3"
    meanwhile(b"3", b"4")
    assert store.compare_and_set(b"k", b"4", b"5")


def test_false_of_ones_own_success(store: HBaseStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A Thrift2 server that asks twice, and then says False of what its first try did, is seen through."""
    genuine = HBaseTable.swap

    def twice(self: HBaseTable, key: bytes, expected: Cell | None, stored: bytes) -> bool:
        genuine(self, key, expected, stored)
        return genuine(self, key, expected, stored)

    monkeypatch.setattr(HBaseTable, "swap", twice)
    assert store.compare_and_set(b"k", None, b"1")
    assert store.compare_and_set(b"k", b"1", b"2")
    assert store.compare_and_set(b"k", b"2", None)
    assert not store.compare_and_set(b"k", b"2", b"3")


def test_regions(hbase: HBaseServer, table: str) -> None:
    """A table is split when it is made, has room for one version of a row, and does not repeat keys."""
    store = HBaseStore.open(hbase.url(table, "?splits=3030,32&timeout=30"), create=True)
    assert hbase.ask(f"regions {table}") == "3"
    name = thrift.TTableName(ns=b"default", qualifier=table.encode())
    (family,) = store._connections.call("getTableDescriptor", name).columns
    assert (family.maxVersions, family.dataBlockEncoding) == (1, thrift.TDataBlockEncoding.FAST_DIFF)
    again = HBaseStore.open(hbase.url(table, "?splits=01"), create=True)
    assert hbase.ask(f"regions {table}") == "3"
    rows = [(bytes([n]), b"v") for n in range(1, 0x40)]
    store.put_many(rows)
    assert list(again.scan(b"", None)) == rows
    assert list(again.scan(b"\x20", b"\x33", reverse=True, limit=10)) == rows[0x28:0x32][::-1]
    picked = [rows[0x20 - 1], rows[0x30 - 1], rows[0x31 - 1], rows[0x35 - 1]]
    assert list(again.scan_ranges([(key, key + b"\0") for key, _ in picked], limit=4)) == picked
    store.close()
    again.close()


def test_concurrent_creation(hbase: HBaseServer, table: str) -> None:
    """Two that make the table at the same time both get it."""
    failures: list[BaseException] = []

    def make() -> None:
        try:
            HBaseStore.open(hbase.url(table), create=True).close()
        except BaseException as error:  # noqa: BLE001
            failures.append(error)

    threads = [threading.Thread(target=make) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_no_such_table(hbase: HBaseServer, table: str) -> None:
    """Opening makes no table unless `create` is set, and refuses a table that is not a store's."""
    with pytest.raises(WarehouseError, match=f"no HBase table '{table}'"):
        open_store(hbase.url(table), "/lake")
    connections = Connections("127.0.0.1", hbase.port, 30, 5)
    name = thrift.TTableName(ns=b"default", qualifier=table.encode())
    family = thrift.TColumnFamilyDescriptor(name=b"other")
    connections.call("createTable", thrift.TTableDescriptor(tableName=name, columns=[family]), None)
    connections.close()
    with pytest.raises(WarehouseError, match="column family 'f'"):
        open_store(hbase.url(table), "/lake", create=True)


def test_keys_that_hbase_refuses(store: HBaseStore) -> None:
    """A key that is too long fails at once, and the store goes on."""
    started = time.monotonic()
    with pytest.raises(StoreError):
        store.put_many([(b"k" * 40_000, b"v")])
    with pytest.raises(StoreError):
        store.compare_and_set(b"k" * 40_000, None, b"v")
    assert time.monotonic() - started < 10
    assert store.get(b"k") is None


@pytest.mark.parametrize(
    "url",
    [
        "hbase://",
        "hbase:///table",
        "hbase://host:port/table",
        "hbase://host/",
        "hbase://host/a/b",
        "hbase://host/t?timeout=soon",
        "hbase://host/t?colour=red",
        "hbase://host/t?splits=0x",
    ],
)
def test_urls_that_say_something_else(url: str) -> None:
    """A URL with a mistake is an error that shows how it is written."""
    with pytest.raises(ConfigurationError, match="hbase://host:port/table"):
        open_store(url, "/lake")


def test_server_that_is_not_there() -> None:
    """Opening fails soon, and says which server was not there and what to do."""
    (port,) = free_ports(1)
    started = time.monotonic()
    with pytest.raises(StoreError, match=rf"127\.0\.0\.1:{port} cannot be reached.*hbase thrift2 start"):
        open_store(f"hbase://127.0.0.1:{port}/t", "/lake")
    assert time.monotonic() - started < 8


def test_forked_child_has_its_own_connection(store: HBaseStore) -> None:
    """A child process reads and writes after a fork, and the parent's connection goes on working."""
    store.put_many([(b"parent", b"1")])
    child = os.fork()
    if child == 0:
        try:
            found = store.get(b"parent") == b"1"
            store.put_many([(b"child", b"2")])
            store.close()
            os._exit(0 if found else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert list(store.scan(b"", None)) == [(b"child", b"2"), (b"parent", b"1")]


def test_cells() -> None:
    """The content of a cell is pinned: other versions read it."""
    assert filters.put_cell(b"v") == b"pv"
    assert filters.put_cell(b"") == b"p"
    swapped, tombstone = filters.swap_cell(b"v"), filters.swap_cell(None)
    assert (swapped[:1], swapped[9:], len(tombstone)) == (b"s", b"v", 9)
    assert filters.swap_cell(b"v") != swapped
    assert [filters.value_of(cell) for cell in (b"pv", b"p", swapped, tombstone)] == [b"v", b"", b"v", None]


@pytest.mark.parametrize("versions", [3, 200])
def test_requests_for_the_first_rows_of_groups(
    hbase: HBaseServer, proxy: Proxy, table: str, versions: int
) -> None:
    """A few known groups are a request each, and examine a row each.

    The rows of many small groups are read together.
    """
    store = HBaseStore("127.0.0.1", proxy.port, table)
    count = 200
    rows = [(b"%03d%03d" % (group, age), b"v") for group in range(count) for age in range(versions)]
    store.put_many(rows)
    groups = Groups(3, b"000", rows=versions)
    known = [(b"%03d000" % group, b"%03d:" % group) for group in range(count)]
    proxy.requests.clear()
    before = hbase.rows_examined(table)
    assert list(store.scan_ranges(known[:5], each=1, groups=groups)) == [
        (b"%03d000" % group, b"v") for group in range(5)
    ]
    assert proxy.requests == ["getScannerResults"] * 5
    assert hbase.rows_examined(table) - before == 5
    for ranges, each in ((known, 1), ([(b"", None)], None)):
        proxy.requests.clear()
        found = list(store.scan_ranges(ranges, each=each, groups=groups))
        assert {key for key, _ in found} >= {b"%03d000" % group for group in range(count)}
        if versions < 40:
            assert len(proxy.requests) <= 4
        else:
            assert len(found) <= 5 * count
            assert len(proxy.requests) <= count + 20
    store.close()


def test_deleted_rows_stay_until_a_major_compaction(
    hbase: HBaseServer, store: HBaseStore, table: str
) -> None:
    """The answer of `scrub` names the commands that remove the bytes from HBase's files of the table."""
    files, value = hbase.folder / "data" / "root" / "data" / "default" / table, b"Zyxwvut"
    store.put_many([(b"a", value), (b"b", value)])
    assert hbase.ask(f"flush {table}") == "done"
    store.delete_many([b"a"])
    store.put_many([(b"b", b"another")])
    assert "until flush and major_compact in HBase's shell" in store.scrub(whole=True)
    assert holders(files, value.decode())
    assert hbase.ask(f"compact {table}") == "done"
    assert holders(files, value.decode()) == []
