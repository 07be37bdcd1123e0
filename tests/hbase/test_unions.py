"""A union of keys and an index on a real HBase: which rows it looks at, and in how many requests."""

from __future__ import annotations

import math

import pytest

from parquetry.metastore import Metastore, TableColumn, TableSnapshot, Transaction
from parquetry.metastore.access.access_paths import cheapest_plan
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.operations.indexes import create_index
from parquetry.predicate.reading.parse import parse_filter
from parquetry.scan.generate import plan_scan
from parquetry.store.hbase import scans
from parquetry.store.hbase.store import HBaseStore
from tests.support.hbase.launcher import HBaseServer
from tests.support.hbase.proxy import Proxy
from tests.support.stores.metastores import file, metadata

DAYS, STORES = 200, 10


def fill(store: HBaseStore) -> TableSnapshot:
    """Make a table of 2,000 partitions by day and store, with an index on the store.

    Store `zz` has a partition on every 25th day.
    """
    columns = (TableColumn("x", "long"), TableColumn("d", "integer"), TableColumn("s", "string"))
    described = metadata(columns=columns, partition_by=("d", "s"))
    transaction = Transaction(Metastore(store, "/lake").create_table("default", "t", described), "fill")
    for day in range(DAYS):
        for number in range(STORES):
            transaction.append((day, "zz" if number == 9 and day % 25 == 7 else f"r{number}"), [file("f")])
    return create_index(commit(transaction), ["s"])


READS = [
    # filter, partitions, most rows that HBase examines, requests (also the ones that choose a way)
    ("d = 77 or s = 'zz'", 18, 2 * 18 + 2, 5),
    ("d = 7 or s = 'zz'", 17, 2 * 18 + 2, 5),  # (7, 'zz') is in both branches
    ("(d = 1 or s = 'r3') and (s = 'r4' or d = 2)", 2, 2 + 2, 3),
    ("d < 150 or s != 'r3'", 1950, 2000 + 100, 20),  # neither way helps: 5 % more rows are looked at
]


def test_branches_take_the_way_that_serves_them(
    hbase: HBaseServer, proxy: Proxy, table: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An OR reads its branches by keys and by the index, in a few requests, and no partition twice."""
    monkeypatch.setattr(scans, "ROWS_EXAMINED_PER_REQUEST", math.inf)
    store = HBaseStore("127.0.0.1", proxy.port, table)
    filled = fill(store)
    for text, partitions, looked_at, requests in READS:
        filter = parse_filter(text, filled.key_schema.types)
        before = hbase.rows_examined(table)
        proxy.requests.clear()
        found = [partition.key for partition in filled.partitions(cheapest_plan(filled, filter))]
        assert hbase.rows_examined(table) - before <= looked_at, text
        assert len(proxy.requests) <= requests, text
        assert len(found) == partitions, text
        own = plan_scan(filter, filled.key_schema)
        assert found == [partition.key for partition in filled.partitions(own)], text
    store.close()
