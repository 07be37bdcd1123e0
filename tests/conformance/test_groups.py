"""How little the product's stores read for scans that want one row of each group."""

from __future__ import annotations

from dataclasses import replace

import pytest

from parquetry.store import SQLiteStore, Store
from parquetry.store.groups import Groups
from parquetry.store.hbase.store import HBaseStore
from parquetry.testing.groups import PREFIX, find_wanted, mark, row


@pytest.mark.parametrize("known", ["rows", "number", "nothing"])
@pytest.mark.parametrize("versions", [60, 700])
def test_few_rows_come_of_large_groups(store: Store, versions: int, known: str) -> None:
    """A scan of 30 groups returns hardly more rows than one each, however many rows they have.

    If the wanted keys are known, it returns exactly 30 rows, except from SQLite.
    """
    rows = [row(b"%02d" % group, age) for group in range(30) for age in range(versions)]
    store.put_many(rows)
    groups = Groups(2, mark(0), rows=versions if known == "number" else 1)
    if known == "rows":
        groups = replace(groups, known_keys=sorted(key for key, _ in find_wanted(rows, groups).values()))
    found = list(store.scan_ranges([(PREFIX, b"q")], groups=groups))
    assert find_wanted(found, groups) == find_wanted(rows, groups)
    if known == "rows" and not isinstance(store, SQLiteStore):
        assert len(found) == 30
    # A request to HBase takes the time of 40 short rows, so it reads that many of a group before it seeks.
    assert len(found) <= (34 if known != "nothing" or not isinstance(store, HBaseStore) else 30 * 40)


def test_rows_of_lone_groups_come_once(store: Store) -> None:
    """Where each group has one row, as many rows come as there are."""
    rows = [row(b"%05d" % group, 7) for group in range(3000)]
    store.put_many(rows)
    for count in (1, 100):
        assert list(store.scan_ranges([(PREFIX, b"q")], groups=Groups(2, mark(0), rows=count))) == rows


def test_a_large_group_among_lone_ones(store: Store) -> None:
    """A group of thousands among groups of one row costs a page at most; the pages behind it grow again."""
    lone = [row(b"%05d" % group, 7) for group in range(4000)]
    large = [row(b"02000+", age) for age in range(6000)]
    store.put_many(lone + large)
    groups = Groups(2, mark(0))
    found = list(store.scan_ranges([(PREFIX, b"q")], groups=groups))
    assert find_wanted(found, groups) == find_wanted(lone + large, groups)
    assert len(found) <= len(lone) + 2010


def test_an_older_reader_seeks_within_groups(store: Store) -> None:
    """Who wants a row far behind in its group reads few of those before it."""
    rows = [row(b"%02d" % group, age) for group in range(10) for age in range(500)]
    store.put_many(rows)
    groups = Groups(2, mark(400), frozenset([mark(400)]), rows=500)
    found = list(store.scan_ranges([(PREFIX, b"q")], groups=groups))
    assert find_wanted(found, groups) == find_wanted(rows, groups)
    assert len(found) <= 10 * 8
