"""Servers that go away and come back: nothing acknowledged is lost, and no doubt is left unsaid."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import psycopg
import pytest

from parquetry.errors import StoreError
from parquetry.store.postgresql.store import PostgreSQLStore
from tests.support.postgresql.launcher import DATABASE, USER, PostgreSQLServer

ROWS = [(b"%05d" % n, b"value %d" % n) for n in range(6000)]


def terminate_all(server: PostgreSQLServer) -> None:
    """End all connections, as an administrator or a failover does."""
    with psycopg.connect(
        host="127.0.0.1", port=server.port, user=USER, dbname=DATABASE, autocommit=True
    ) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'parquetry'"
        )


def test_idle_connections_that_were_ended(server: PostgreSQLServer, store: PostgreSQLStore) -> None:
    """A connection that the server ended while it was idle is replaced before anything is asked on it."""
    store.put_many([(b"k", b"1")])
    for value in range(1, 5):
        terminate_all(server)
        time.sleep(0.1)
        assert store.compare_and_set(b"k", b"%d" % value, b"%d" % (value + 1))


@pytest.mark.parametrize("end", ["fast", "immediate", "kill"])
def test_restarted(own_server: PostgreSQLServer, end: str) -> None:
    """Scans go on where they were, and writes succeed, after the server was stopped or killed and is back."""
    store = PostgreSQLStore.open(own_server.url(f"restarted_{end}"), create=True)
    store.put_many(ROWS)
    scans: list[tuple[Iterator[tuple[bytes, bytes]], list[tuple[bytes, bytes]]]] = [
        (store.scan(b"", None), ROWS),
        (store.scan(b"", None, reverse=True), ROWS[::-1]),
        (store.scan_ranges([(b"", b"03000"), (b"03000", None)]), ROWS),
    ]
    seen = [[next(rows) for _ in range(70)] for rows, _ in scans]
    _end(own_server, end)
    restart = threading.Thread(target=own_server.start)
    restart.start()
    for (rows, wanted), first in zip(scans, seen, strict=True):
        assert [*first, *rows] == wanted
    store.put_many([(b"more", b"1")])
    assert store.compare_and_set(b"more", b"1", b"2")
    restart.join()
    store.close()


def _end(server: PostgreSQLServer, how: str) -> None:
    if how == "kill":
        server.kill()
    else:
        server.stop(how)


def test_a_server_that_does_not_come_back(own_server: PostgreSQLServer) -> None:
    """Patience ends, and the error says that the server cannot be reached."""
    store = PostgreSQLStore.open(own_server.url("gone", "&patience=1"), create=True)
    own_server.stop()
    try:
        for call in (lambda: store.get(b"k"), lambda: store.put_many([(b"k", b"1")])):
            with pytest.raises(StoreError, match=r"cannot be reached|broke"):
                call()
    finally:
        own_server.start()
    assert store.get(b"k") is None
    store.close()


def test_what_was_acknowledged_outlives_kills(own_server: PostgreSQLServer) -> None:
    """Writers count in rows of their own while the server is killed again and again.

    Each row has the number that was acknowledged last, or the one that was being written.
    """
    url = own_server.url("counted", "&patience=60")
    PostgreSQLStore.open(url, create=True).close()
    over = threading.Event()
    failures: list[str] = []

    def count(number: int) -> None:
        store = PostgreSQLStore.open(url)
        key, acknowledged = b"w%d" % number, 0
        store.put_many([(key, b"0")])
        while not over.is_set():
            wanted = acknowledged + 1
            try:
                changed = store.compare_and_set(key, b"%d" % acknowledged, b"%d" % wanted)
            except StoreError as error:
                if "is not known" not in error.message:
                    failures.append(error.message)
                value = store.get(key)
                if value not in (b"%d" % acknowledged, b"%d" % wanted):
                    failures.append(f"{key!r}: {value!r} after {acknowledged}")
                changed = value == b"%d" % wanted
            acknowledged += changed
        if store.get(key) != b"%d" % acknowledged or acknowledged < 10:
            failures.append(f"{key!r}: {store.get(key)!r}, and {acknowledged} was acknowledged")
        store.close()

    writers = [threading.Thread(target=count, args=(number,)) for number in range(3)]
    for writer in writers:
        writer.start()
    for _ in range(4):
        time.sleep(0.7)
        own_server.kill()
        own_server.start()
    time.sleep(0.5)
    over.set()
    for writer in writers:
        writer.join()
    assert failures == []


def test_whether_a_row_was_changed_is_said_not_to_be_known(
    server: PostgreSQLServer, store: PostgreSQLStore, table: str
) -> None:
    """A compare-and-set whose connection breaks is not repeated.

    A put is repeated, and its result says that the first one may still take effect.
    """
    store.put_many([(b"k", b"1")])
    with psycopg.connect(host="127.0.0.1", port=server.port, user=USER, dbname=DATABASE) as holder:
        for call in (_swap(store), _put(store)):
            holder.execute(f"SELECT * FROM {table} FOR UPDATE")  # type: ignore[call-overload]
            outcome: list[object] = []

            def attempt(call: Callable[[], bool] = call, outcome: list[object] = outcome) -> None:
                try:
                    outcome.append(call())
                except StoreError as error:
                    outcome.append(error.message)

            writer = threading.Thread(target=attempt)
            writer.start()
            time.sleep(0.5)
            terminate_all(server)
            time.sleep(0.2)
            holder.rollback()
            writer.join()
            (result,) = outcome
            if isinstance(result, str):
                assert "was changed is not known" in result
                assert store.get(b"k") == b"1"
            else:
                assert result is True
    assert store.get(b"k") == b"3"


def _swap(store: PostgreSQLStore) -> Callable[[], bool]:
    return lambda: store.compare_and_set(b"k", b"1", b"2")


def _put(store: PostgreSQLStore) -> Callable[[], bool]:
    return lambda: store.put_many([(b"k", b"3")])


def _meddle(server: PostgreSQLServer, function: str, over: threading.Event) -> None:
    """Call a function of an administrator's for each statement of the store's that runs, until it is over."""
    with psycopg.connect(
        host="127.0.0.1", port=server.port, user=USER, dbname=DATABASE, autocommit=True
    ) as connection:
        while not over.wait(0.01):
            connection.execute(
                f"SELECT {function}(pid) FROM pg_stat_activity "  # type: ignore[arg-type]
                "WHERE application_name = 'parquetry' AND state = 'active' AND query NOT LIKE '%set_config%'"
            )


@pytest.mark.parametrize("function", ["pg_cancel_backend", "pg_terminate_backend"])
def test_an_administrator_meddles(
    server: PostgreSQLServer, store: PostgreSQLStore, table: str, function: str
) -> None:
    """Reads and puts that wait for a lock are repeated after their statement or connection was ended."""
    store.put_many([(b"k", b"1")])
    over = threading.Event()
    outcome: list[object] = []

    def read() -> None:
        outcome.append(store.get(b"k"))
        outcome.append(store.put_many([(b"k", b"2")]) is not None)

    with psycopg.connect(host="127.0.0.1", port=server.port, user=USER, dbname=DATABASE) as holder:
        holder.execute(f"LOCK TABLE {table}")  # type: ignore[call-overload]
        meddler = threading.Thread(target=_meddle, args=(server, function, over))
        reader = threading.Thread(target=read)
        meddler.start()
        reader.start()
        time.sleep(1)
        over.set()
        meddler.join()
        holder.rollback()
        reader.join()
    assert outcome == [b"1", True]
    assert store.get(b"k") == b"2"


def test_a_statement_that_is_always_cancelled(server: PostgreSQLServer, table: str) -> None:
    """The error says that the statement was cancelled, never that the server did not answer in time.

    The compare-and-set has changed nothing.
    """
    store = PostgreSQLStore.open(server.url(table, "&patience=0.5"), create=True)
    store.put_many([(b"k", b"1")])
    over = threading.Event()
    meddler = threading.Thread(target=_meddle, args=(server, "pg_cancel_backend", over))
    with psycopg.connect(host="127.0.0.1", port=server.port, user=USER, dbname=DATABASE) as holder:
        holder.execute(f"LOCK TABLE {table}")  # type: ignore[call-overload]
        meddler.start()
        for call in (lambda: store.get(b"k"), _swap(store)):
            with pytest.raises(StoreError, match="was cancelled there") as caught:
                call()
            assert "did not answer within" not in caught.value.message
            assert "not known" not in caught.value.message
        over.set()
        meddler.join()
        holder.rollback()
    assert store.get(b"k") == b"1"
    store.close()


def test_a_statement_that_takes_too_long(server: PostgreSQLServer, table: str) -> None:
    """Only where the time is over, the error says so."""
    store = PostgreSQLStore.open(server.url(table, "&timeout=0.5"), create=True)
    with psycopg.connect(host="127.0.0.1", port=server.port, user=USER, dbname=DATABASE) as holder:
        holder.execute(f"LOCK TABLE {table}")  # type: ignore[call-overload]
        with pytest.raises(StoreError, match=r"did not answer within 0\.5 s"):
            store.get(b"k")
    store.close()
