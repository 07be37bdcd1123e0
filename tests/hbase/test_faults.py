"""Servers go away, come back, lose messages and split regions: no row is lost, and none comes twice."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from parquetry.errors import StoreError
from parquetry.store.condition import FieldCompare, holds
from parquetry.store.hbase.store import HBaseStore
from tests.support.hbase.launcher import HBaseServer
from tests.support.hbase.proxy import Fate, Proxy

ROWS = [(b"%05d" % n, b"value %d" % n) for n in range(6000)]
THIRD = FieldCompare(0, "=", b"0")


def fields(key: bytes) -> tuple[bytes]:
    return (b"%d" % (int(key) % 3),)


def third(rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
    """Leave out what HBase did not have to."""
    return (row for row in rows if holds(THIRD, fields(row[0])))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[HBaseServer]:
    """An HBase whose Thrift2 server is a process of its own."""
    server = HBaseServer(tmp_path_factory.mktemp("cluster") / "server", apart=True)
    yield server
    server.stop()


def test_idle_socket_dropped(store: HBaseStore) -> None:
    """A connection that the server closed while it was idle is replaced before anything is asked on it."""
    store.put_many([(b"k", b"1")])
    rows = store.scan(b"", None)
    connection = store._connections._local.connection
    deadline = time.monotonic() + 20
    while connection.is_usable():
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert store.compare_and_set(b"k", b"1", b"2")
    assert list(rows) == [(b"k", b"2")]


def test_thrift_server_restarted(cluster: HBaseServer) -> None:
    """Scans go on where they were, and writes are made, when the Thrift2 server is killed and comes back."""
    store = HBaseStore.open(cluster.url("restarted"), create=True)
    store.put_many(ROWS, fields)
    forward, backward = store.scan(b"", None), store.scan(b"", None, reverse=True)
    halves = [(b"", b"03000"), (b"03000", None)]
    ranges, filtered = store.scan_ranges(halves), store.scan_ranges(halves, where=THIRD)
    scans: list[tuple[Iterator[tuple[bytes, bytes]], list[tuple[bytes, bytes]]]]
    scans = [(forward, ROWS), (backward, ROWS[::-1]), (ranges, ROWS), (third(filtered), ROWS[::3])]
    seen = [[next(rows) for _ in range(70)] for rows, _ in scans]
    cluster.kill_thrift()
    restart = threading.Thread(target=cluster.start_thrift)
    restart.start()
    for (rows, wanted), start in zip(scans, seen, strict=True):
        assert [*start, *rows] == wanted
    store.put_many([(b"more", b"1")])
    assert store.compare_and_set(b"more", b"1", b"2")
    restart.join()
    store.close()


def test_region_server_killed(cluster: HBaseServer) -> None:
    """Acknowledged rows outlive kill -9 of the region server, and a scan under way ends complete."""
    store = HBaseStore.open(cluster.url("killed", "?patience=90"), create=True)
    store.put_many(ROWS[:5000], fields)
    assert store.compare_and_set(b"guard", None, b"1")
    rows, filtered = store.scan(b"", None), third(store.scan_ranges([(b"", b"g")], where=THIRD))
    seen = [next(rows) for _ in range(70)]
    picked = [next(filtered) for _ in range(70)]
    cluster.kill_cluster()
    restart = threading.Thread(target=cluster.start_cluster)
    restart.start()
    store.put_many(ROWS[5000:], fields)
    assert [row for row in [*seen, *rows] if row[0] != b"guard"] == ROWS
    assert [*picked, *filtered] == ROWS[::3]
    assert store.get(b"guard") == b"1"
    assert store.compare_and_set(b"guard", b"1", b"2")
    restart.join()
    store.close()


def test_split_in_mid_scan(hbase: HBaseServer, store: HBaseStore, table: str) -> None:
    """Scans in both directions, over ranges and with a condition, go on while regions split under them."""
    store.put_many(ROWS, fields)
    hbase.ask(f"flush {table}")
    ranges = [(b"%05d" % n, b"%05d" % (n + 20)) for n in range(0, 6000, 40)]
    picked = [row for row in ROWS if int(row[0]) % 40 < 20]
    scans: list[tuple[Iterator[tuple[bytes, bytes]], list[tuple[bytes, bytes]]]]
    scans = [
        (store.scan(b"", None), ROWS),
        (store.scan(b"", None, reverse=True), ROWS[::-1]),
        (store.scan_ranges(ranges), picked),
        (third(store.scan_ranges([(b"", None)], where=THIRD)), ROWS[::3]),
        (third(store.scan_ranges(ranges, where=THIRD)), list(third(picked))),
    ]
    seen = [[next(rows) for _ in range(100)] for rows, _ in scans]
    hbase.ask(f"split {table} {b'03000'.hex()}")
    assert hbase.ask(f"regions {table}") == "2"
    for (rows, wanted), start in zip(scans, seen, strict=True):
        assert [*start, *rows] == wanted
    # A limit holds for all regions together, also where the first of them have no row that counts.
    assert list(store.scan_ranges([(b"x", b"y"), (b"05998", None)], limit=1)) == []
    assert list(store.scan_ranges([(b"00001", b"00001\0"), (b"05998", b"1")], limit=2)) == [
        ROWS[1],
        ROWS[5998],
    ]


def once(method: str, fate: Fate) -> Any:
    """Return what gives the first request of a method a fate."""
    left = [fate]

    def decide(name: str) -> Fate:
        return left.pop() if name == method and left else "delivered"

    return decide


@pytest.mark.parametrize("fate", ["reply lost", "request lost"])
@pytest.mark.parametrize("method", ["getMultiple", "getScannerResults", "putMultiple", "deleteMultiple"])
def test_lost_messages(proxy: Proxy, table: str, method: str, fate: Fate) -> None:
    """Reads and unconditional writes are made again, until an answer comes."""
    store = HBaseStore("127.0.0.1", proxy.port, table)
    proxy.fate = once(method, fate)
    store.put_many(ROWS[:100])
    store.delete_many(key for key, _ in ROWS[:10])
    assert list(store.scan(b"", None)) == ROWS[10:100]
    assert store.get(b"00011") == b"value 11"
    assert proxy.fate(method) == "delivered"
    store.close()


@pytest.mark.parametrize("fate", ["reply lost", "request lost"])
def test_puts_made_again_say_so(proxy: Proxy, table: str, fate: Fate) -> None:
    """A put says whether HBase may carry out an earlier try of it yet."""
    store = HBaseStore("127.0.0.1", proxy.port, table)
    assert not store.put_many(ROWS[:10])
    proxy.fate = once("putMultiple", fate)
    assert store.put_many(ROWS)
    assert not store.put_many(ROWS[:10])
    assert list(store.scan(b"", None)) == ROWS
    store.close()


@pytest.mark.parametrize("value", [b"new", None])
@pytest.mark.parametrize("expected", [b"old", None])
def test_lost_replies_to_compare_and_set(
    proxy: Proxy, table: str, expected: bytes | None, value: bytes | None
) -> None:
    """A compare-and-set whose answer was lost is read back; one that never arrived is said to be unknown."""
    if expected is None and value is None:
        return
    store = HBaseStore("127.0.0.1", proxy.port, table)
    if expected is not None:
        store.put_many([(b"k", expected)])
    proxy.fate = once("checkAndMutate", "request lost")
    with pytest.raises(StoreError, match=r"row 6b .* is not known"):
        store.compare_and_set(b"k", expected, value)
    assert store.get(b"k") == expected
    proxy.fate = once("checkAndMutate", "reply lost")
    assert store.compare_and_set(b"k", expected, value)
    assert store.get(b"k") == value
    store.close()


def test_late_replies(proxy: Proxy, table: str) -> None:
    """A reply that comes after its request was given up is not taken for the reply to the next one."""
    HBaseStore("127.0.0.1", proxy.port, table).close()
    store = HBaseStore("127.0.0.1", proxy.port, table, timeout=3)
    store.put_many(ROWS[:2])

    def stall(name: str) -> Fate:
        proxy.fate = lambda _: "delivered"
        time.sleep(5)
        return "delivered"

    proxy.fate = stall
    with pytest.raises(StoreError, match=r"did not answer within 3 s.*timeout=SECONDS"):
        store.get(ROWS[0][0])
    assert store.get(ROWS[1][0]) == ROWS[1][1]
    store.close()


def test_server_gone_for_good(cluster: HBaseServer) -> None:
    """Once the server stays away, each call fails in bounded time, and its error names the server."""
    store = HBaseStore.open(cluster.url("gone", "?patience=1"), create=True)
    store.put_many([(b"k", b"1")])
    cluster.kill_thrift()
    where = rf"127\.0\.0\.1:{cluster.port} cannot be reached"
    for ask in (
        lambda: store.get(b"k"),
        lambda: list(store.scan(b"", None)),
        lambda: store.put_many([(b"k", b"2")]),
        lambda: store.compare_and_set(b"k", b"1", b"2"),
    ):
        started = time.monotonic()
        with pytest.raises(StoreError, match=where):
            ask()
        assert time.monotonic() - started < 5
    store.close()


@pytest.mark.exhaustive("test_server_gone_for_good has the same for a Thrift2 server")
def test_region_server_gone_for_good(cluster: HBaseServer) -> None:
    """A Thrift2 server with no HBase behind it fails in bounded time, too."""
    cluster.start_thrift()
    store = HBaseStore.open(cluster.url("headless", "?patience=1&timeout=20"), create=True)
    store.put_many([(b"k", b"1")])
    cluster.kill_cluster()
    started = time.monotonic()
    with pytest.raises(StoreError, match=rf"127\.0\.0\.1:{cluster.port}"):
        store.get(b"k")
    assert time.monotonic() - started < 30
    store.close()
