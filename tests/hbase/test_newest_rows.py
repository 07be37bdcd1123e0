"""Requests of a plan to a real HBase, for tables whose partitions have hundreds of rows each."""

from __future__ import annotations

import math

import msgspec
import pytest

from parquetry.metastore import Metastore, TableColumn, TableSnapshot, Transaction
from parquetry.metastore.access.access_paths import cheapest_plan
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.partition_rows.newest_rows import decode_newest, encode_newest
from parquetry.metastore.storage.head import edit_head, read_head
from parquetry.metastore.versions.changes_between import TableVersions, TouchedPartitions
from parquetry.metastore.versions.snapshot import load
from parquetry.predicate.reading.parse import parse_filter
from parquetry.store import MemoryStore
from parquetry.store.hbase import scans
from parquetry.store.hbase.store import HBaseStore
from tests.support.hbase.launcher import HBaseServer
from tests.support.hbase.proxy import Proxy
from tests.support.stores.metastores import file, metadata

PARTITIONS, ROUNDS = 30, 60
READS = [
    # filter, partitions, rows that HBase looks at for them with a list that may lack some
    (None, 30, 61),
    ("d >= 10", 20, 41),
    ("d between 3 and 4", 2, 5),
    ("d in (3, 5, 40)", 2, 7),
    ("d = 7", 1, 3),
    ("x_of_d = 'odd'", 15, 61),
]


def new_table(store: HBaseStore) -> TableSnapshot:
    """Make a table by many commits, in memory, and copy its rows."""
    rows = MemoryStore()
    columns = (TableColumn("x", "long"), TableColumn("d", "integer"), TableColumn("x_of_d", "string"))
    described = metadata(columns=columns, partition_by=("d", "x_of_d"))
    table = Metastore(rows, "/lake").create_table("default", "t", described)
    for number in range(PARTITIONS * ROUNDS):
        day = number % PARTITIONS
        transaction = Transaction(table, "append")
        transaction.replace((day, "odd" if day % 2 else "even"), [file(f"f{number}")])
        table = commit(transaction)
    store.put_many(rows.scan(b"", None))
    return Metastore(store, "/lake").table("default", "t")


def days(table: TableSnapshot, text: str | None) -> list[tuple[int, str]]:
    """Plan, and return the days of the partitions with the names of their files."""
    plan = None if text is None else cheapest_plan(table, parse_filter(text, table.key_schema.types))
    return [(part.values[0], part.files[0].path) for part in table.partitions(plan)]


def asked(
    hbase: HBaseServer, proxy: Proxy, name: str, table: TableSnapshot, text: str | None
) -> tuple[list[str], int, list[tuple[int, str]]]:
    """Plan, and return the requests, how many rows HBase looked at, and what `days` returns."""
    examined = hbase.rows_examined(name)
    proxy.requests.clear()
    found = days(table, text)
    return list(proxy.requests), hbase.rows_examined(name) - examined, found


@pytest.fixture
def filled(proxy: Proxy, table: str) -> TableSnapshot:
    return new_table(HBaseStore("127.0.0.1", proxy.port, table))


def test_a_plan_asks_for_its_rows(
    hbase: HBaseServer, proxy: Proxy, table: str, filled: TableSnapshot
) -> None:
    """30 partitions have 60 rows each, and the head names the newest: HBase examines only wanted rows."""
    for text, count, _ in READS:
        requests, examined, found = asked(hbase, proxy, table, filled, text)
        # One more request asks whether the version was kept meanwhile.
        assert requests == ["getMultiple", "getMultiple"], text
        assert (examined, len(found)) == (count + 1, count), text
        assert all(name == f"f{PARTITIONS * (ROUNDS - 1) + day}" for day, name in found), text


def test_a_plan_with_a_list_that_may_lack_some_is_one_scan(
    hbase: HBaseServer, proxy: Proxy, table: str, filled: TableSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The scan brings one row of each partition; HBase examines two of each, and the one behind the last."""
    monkeypatch.setattr(scans, "ROWS_EXAMINED_PER_REQUEST", math.inf)  # no rows come that do not count
    head = read_head(filled.store, filled.id)
    assert head is not None
    lines = encode_newest(dict(decode_newest(head.newest)))
    stale = load(filled.store, filled.id, msgspec.structs.replace(head, newest=lines))
    for text, count, looked_at in READS:
        requests, examined, found = asked(hbase, proxy, table, stale, text)
        assert requests == ["getScannerResults", "getMultiple"], text
        assert (examined, len(found)) == (looked_at + 1, count), text


def test_what_is_not_listed_is_found(proxy: Proxy, filled: TableSnapshot) -> None:
    """Without a list, or in a version before the list, each partition is a request, and the answer is right.

    The next commit lists all of them.
    """
    store = filled.store
    current = days(filled, None)
    earlier = Metastore(store, "/lake").table("default", "t", version=filled.version - 2 * PARTITIONS)
    before = [(day, f"f{int(name[1:]) - 2 * PARTITIONS}") for day, name in current]
    proxy.requests.clear()
    assert days(earlier, None) == before
    assert proxy.requests.count("getScannerResults") > PARTITIONS
    head = edit_head(
        store, filled.id, lambda head: msgspec.structs.replace(head, newest=b""), lambda head: not head.newest
    )
    table = load(store, filled.id, head)
    proxy.requests.clear()
    assert days(table, None) == current
    assert proxy.requests.count("getScannerResults") > PARTITIONS
    transaction = Transaction(table, "add")
    transaction.append((99, "odd"), [file("new")])
    table = commit(transaction)
    proxy.requests.clear()
    assert days(table, None) == [*current, (99, "new")]
    assert proxy.requests == ["getMultiple", "getMultiple"]


def test_partitions_that_come_after_the_list(proxy: Proxy, filled: TableSnapshot) -> None:
    """A reader with a list older than its version finds partitions that are not listed, and later changes."""
    store = filled.store
    head = read_head(store, filled.id)
    assert head is not None
    transaction = Transaction(filled, "change")
    transaction.replace((7, "odd"), [file("changed")])
    transaction.append((7, "even"), [file("between")])
    transaction.drop((29, "odd"))
    after = commit(transaction)
    now = read_head(store, filled.id)
    assert now is not None
    stale = load(store, filled.id, msgspec.structs.replace(now, newest=head.newest))
    proxy.requests.clear()
    found = days(stale, None)
    assert proxy.requests == ["getScannerResults", "getMultiple"]
    assert found == days(after, None)
    assert (7, "changed") in found
    assert (7, "between") in found
    assert 29 not in dict(found)


def test_a_batch_of_a_stream_looks_at_all_keys_once(
    hbase: HBaseServer, table: str, filled: TableSnapshot
) -> None:
    """A batch reads its versions' changes twice.

    The second time HBase examines only the partitions that these versions wrote to.
    """
    touched = TouchedPartitions()
    examined, told = [], []
    for _ in range(2):
        head = read_head(filled.store, filled.id)
        assert head is not None
        before = hbase.rows_examined(table)
        newest = head.commit.version
        told.append(
            [
                (each.version.version, [file.path for _, files in each.brought for file in files])
                for each in TableVersions(filled.store, filled.id, head).changes(newest - 2, newest, touched)
            ]
        )
        examined.append(hbase.rows_examined(table) - before)
    last = PARTITIONS * ROUNDS - 1
    assert told == [[(last, [f"f{last - 1}"]), (last + 1, [f"f{last}"])]] * 2
    rows = 8  # of the two partitions, of the commits, and of the table's head
    assert examined == [2 * PARTITIONS + 1 + rows, rows]
