"""A metastore in PostgreSQL as its user meets it: its URL, its table, its errors."""

from __future__ import annotations

import multiprocessing
import os
import threading
import traceback

import psycopg
import pytest

from parquetry.errors import ConfigurationError, ParquetryError, StoreError, WarehouseError
from parquetry.store import open_store
from parquetry.store.postgresql.address import Address
from parquetry.store.postgresql.store import PostgreSQLStore
from tests.support.erasing.holders import holders
from tests.support.postgresql.launcher import DATABASE, USER, PostgreSQLServer


def execute(server: PostgreSQLServer, statement: str) -> None:
    with psycopg.connect(
        host="127.0.0.1", port=server.port, user=USER, dbname=DATABASE, autocommit=True
    ) as connection:
        connection.execute(statement)  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("postgresql://db/lake?table=a.b.c", "table's name"),
        ('postgresql://db/lake?table="x"', "table's name"),
        ("postgresql://db/lake?timeout=0", "greater than 0"),
        ("postgresql://db/lake?timeout=soon", "could not convert"),
        ("postgresql://db/lake?connections=0", "greater than 0"),
        ("postgresql://db/lake?colour=red", "colour"),
        ("postgresql:lake", "begin with"),
        ("postgresql://ann:secret@db/lake?colour=red", "colour"),
        ("postgresql://ann:secret@db:port/lake", "port"),
    ],
)
def test_urls_that_are_not_understood(url: str, reason: str) -> None:
    """An error shows the URL without its password, says what is wrong and how it is written."""
    with pytest.raises(ConfigurationError, match=reason) as caught:
        open_store(url, "/lake")
    assert "write postgresql://user@host:port/database" in caught.value.message
    assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_what_urls_say() -> None:
    """A URL mixes options of the store with parameters of libpq; what it leaves out has libpq's default."""
    address = Address.parse(
        "postgres://ann@one:5433,two:5434/lake?sslmode=require&table=team.lake&timeout=5&patience=2&connections=3"
    )
    assert address.table == ("team", "lake")
    assert (address.timeout, address.patience, address.connections) == (5, 2, 3)
    assert address.parameters["host"] == "one,two"
    assert address.parameters["sslmode"] == "require"
    assert address.parameters["target_session_attrs"] == "read-write"
    assert address.label == "table team.lake of PostgreSQL at one,two:5433,5434/lake"
    assert "service lake" in Address.parse("postgresql://?service=lake").label


def test_a_password_is_shown_nowhere(server: PostgreSQLServer) -> None:
    """Neither the errors of a server that refuses or is away, nor what reports show, has the password."""
    execute(server, "DROP ROLE IF EXISTS bob")
    execute(server, "CREATE ROLE bob LOGIN PASSWORD 'secret'")
    for url in (
        f"postgresql://bob:secret@127.0.0.1:{server.port}/nowhere",
        "postgresql://bob:secret@127.0.0.1:1/lake?patience=0.2",
    ):
        with pytest.raises(ParquetryError) as caught:
            open_store(url, "/lake")
        assert "secret" not in "".join(traceback.format_exception(caught.value))
    assert "secret" not in repr(Address.parse(f"postgresql://bob:secret@127.0.0.1:{server.port}/lake"))


def test_a_server_that_is_not_there() -> None:
    """Who cannot be reached is named, with what to check."""
    with pytest.raises(StoreError, match=r"127\.0\.0\.1:1/lake cannot be reached.*check the address"):
        PostgreSQLStore.open("postgresql://ann@127.0.0.1:1/lake?patience=0.3")


def test_a_database_that_is_not_there(server: PostgreSQLServer) -> None:
    """Patience does not help against a wrong database, so the error comes at once."""
    with pytest.raises(StoreError, match='database "nowhere" does not exist'):
        PostgreSQLStore.open(f"postgresql://{USER}@127.0.0.1:{server.port}/nowhere?patience=600")


def test_a_table_is_made_only_if_it_is_to_be(server: PostgreSQLServer, table: str) -> None:
    """A slip in the URL makes nothing."""
    with pytest.raises(WarehouseError, match=f"There is no table {table} of PostgreSQL"):
        open_store(server.url(table), "/lake")
    open_store(server.url(table), "/lake", create=True).close()
    open_store(server.url(table), "/lake").close()


def test_a_table_of_others(server: PostgreSQLServer, table: str) -> None:
    """A table that holds something else is refused, and stays as it is."""
    execute(server, f"CREATE TABLE {table} (name text)")
    with pytest.raises(WarehouseError, match="is not a metastore: its columns are name"):
        open_store(server.url(table), "/lake", create=True)


def test_schemas_and_letter_case(server: PostgreSQLServer, table: str) -> None:
    """A table may be in a schema, and its name keeps its letter case."""
    execute(server, f"CREATE SCHEMA {table}")
    stores = [
        open_store(server.url(name), "/lake", create=True) for name in (f"{table}.lake", f"{table}.Lake")
    ]
    stores[0].put_many([(b"k", b"1")])
    assert stores[1].get(b"k") is None
    for store in stores:
        store.close()


def test_rights(server: PostgreSQLServer, table: str) -> None:
    """The error of a role that may not create, read or write names the missing right; a reader can read."""
    execute(server, "DROP ROLE IF EXISTS reader")
    execute(server, "CREATE ROLE reader LOGIN")
    url = server.url(table).replace(f"{USER}@", "reader@")
    with pytest.raises(WarehouseError, match=r"cannot be made.*CREATE on its schema"):
        open_store(url, "/lake", create=True)
    owner = open_store(server.url(table), "/lake", create=True)
    owner.put_many([(b"k", b"1")])
    with open_closing(url) as store, pytest.raises(WarehouseError, match="GRANT SELECT"):
        store.get(b"k")
    execute(server, f"GRANT SELECT ON {table} TO reader")
    with open_closing(url) as store:
        assert store.get(b"k") == b"1"
        with pytest.raises(WarehouseError, match="GRANT SELECT, INSERT, UPDATE, DELETE"):
            store.put_many([(b"k", b"2")])
        with pytest.raises(WarehouseError, match="GRANT"):
            store.compare_and_set(b"k", b"1", b"2")
    assert owner.get(b"k") == b"1"
    owner.close()
    execute(server, f"REVOKE ALL ON {table} FROM reader")


def open_closing(url: str) -> _Closing:
    return _Closing(url)


class _Closing:
    """A store for the time of a block."""

    def __init__(self, url: str) -> None:
        self._store = PostgreSQLStore.open(url)

    def __enter__(self) -> PostgreSQLStore:
        return self._store

    def __exit__(self, *_: object) -> None:
        self._store.close()


def test_a_key_that_is_too_long(store: PostgreSQLStore) -> None:
    """PostgreSQL's index limits a key's length: the error says what is too long, and no row is written."""
    with pytest.raises(StoreError, match="does not take so long a key"):
        store.put_many([(b"a", b"1"), (os.urandom(9000), b"1")])
    assert list(store.scan(b"", None)) == []


def test_a_statement_that_waits(server: PostgreSQLServer, table: str) -> None:
    """A row that another transaction locks does not hang a writer: the error says how long it waited."""
    store = PostgreSQLStore.open(server.url(table, "&timeout=0.5&patience=0.5"), create=True)
    store.put_many([(b"k", b"1")])
    with psycopg.connect(host="127.0.0.1", port=server.port, user=USER, dbname=DATABASE) as connection:
        connection.execute(f"SELECT * FROM {table} FOR UPDATE")  # type: ignore[call-overload]
        with pytest.raises(StoreError, match=r"did not answer within 0\.5 s"):
            store.compare_and_set(b"k", b"1", b"2")
        connection.rollback()
    assert store.compare_and_set(b"k", b"1", b"2")
    store.close()


def test_few_statements_read_many_ranges(store: PostgreSQLStore) -> None:
    """One statement reads the rows of 300 scattered keys, and one reads the first rows of 300 ranges."""
    store.put_many([(b"%05d/%d" % (n, m), b"v") for n in range(3000) for m in range(3)])
    statements = count_statements(store)
    ranges = [(b"%05d/" % n, b"%05d0" % n) for n in range(0, 3000, 10)]
    assert len(list(store.scan_ranges(ranges))) == 900
    assert statements() == 1
    assert len(list(store.scan_ranges(ranges, each=1))) == 300
    assert statements() == 1
    assert store.get_many([b"00000/0", b"00001/0"]) == [b"v", b"v"]
    assert statements() == 1


def count_statements(store: PostgreSQLStore) -> Counter:
    return Counter(store)


class Counter:
    """The number of statements since it was asked last."""

    def __init__(self, store: PostgreSQLStore) -> None:
        self._count = 0
        run = store._connections._run_once

        def counted(*arguments: object) -> object:
            self._count += 1
            return run(*arguments)  # type: ignore[arg-type]

        store._connections._run_once = counted  # type: ignore[method-assign, assignment]

    def __call__(self) -> int:
        count, self._count = self._count, 0
        return count


def _count_up(url: str, times: int) -> None:
    store = PostgreSQLStore.open(url)
    for _ in range(times):
        while True:
            value = store.get(b"n")
            assert value is not None
            if store.compare_and_set(b"n", value, b"%d" % (int(value) + 1)):
                break
    store.close()


def test_processes_count_together(server: PostgreSQLServer, store: PostgreSQLStore, table: str) -> None:
    """When processes compare-and-set one row, exactly one wins each time: no increment is lost."""
    store.put_many([(b"n", b"0")])
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=_count_up, args=(server.url(table), 100)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 3
    assert store.get(b"n") == b"300"


def test_a_forked_child_has_its_own_connections(store: PostgreSQLStore) -> None:
    """A child neither uses nor closes its parent's connections."""
    store.put_many([(b"k", b"1")])
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if store.get(b"k") == b"1" and store.compare_and_set(b"k", b"1", b"2") else 2
            store.close()
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert store.get(b"k") == b"2"


def test_threads_leave_no_connections(store: PostgreSQLStore) -> None:
    """Forty threads that ask one after another, and end, share one connection to the server."""
    for _ in range(40):
        thread = threading.Thread(target=store.get, args=(b"k",))
        thread.start()
        thread.join()
    assert len(store._connections._pool.idle) == 1


def test_deleted_rows_stay_until_vacuum_full(
    server: PostgreSQLServer, store: PostgreSQLStore, table: str
) -> None:
    """The answer of `scrub` names the statement that removes the bytes from PostgreSQL's pages."""
    pages, value = server.folder / "data" / "base", f"Zyxwvut-{table}"
    store.put_many([(b"%04d" % number, value.encode()) for number in range(300)])
    store.delete_many([b"%04d" % number for number in range(0, 300, 2)])
    store.put_many([(b"%04d" % number, b"another") for number in range(1, 300, 2)])
    said = store.scrub(whole=True)
    execute(server, f"VACUUM {table}")
    execute(server, "CHECKPOINT")
    assert holders(pages, value), "VACUUM alone leaves free space as it is"
    assert f'VACUUM (FULL) "{table}"' in said
    execute(server, f'VACUUM (FULL) "{table}"')
    execute(server, "CHECKPOINT")
    assert holders(pages, value) == []
