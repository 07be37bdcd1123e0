"""Scans that want one row of each group: what every store yields, and how little it reads for it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parquetry.store import SQLiteStore, Store
from parquetry.store.groups import Groups
from parquetry.store.hbase import HBaseStore
from tests.support.effort import examples

Row = tuple[bytes, bytes]
PREFIX = b"p"
LAST_MARK = 0xFFFF


def mark(age: int) -> bytes:
    return age.to_bytes(2, "big")


def row(group: bytes, age: int) -> Row:
    return PREFIX + group + mark(age), b"value %d of " % age + group


def wanted(rows: Sequence[Row], groups: Groups) -> dict[bytes, Row]:
    """Find by brute force the row wanted of each group."""
    found: dict[bytes, Row] = {}
    for key, value in sorted(rows):
        if groups.wants(key):
            found.setdefault(key[: -groups.width], (key, value))
    return found


def first_wanted(yielded: Iterator[Row], groups: Groups) -> dict[bytes, Row]:
    """Take the first row wanted of each group, of rows that must come in order, and once."""
    rows = list(yielded)
    assert rows == sorted(set(rows))
    return wanted(rows, groups)


# The bytes of a field that ends a group's key: no group's key begins another's.
names = st.lists(st.sampled_from([0x01, 0x41, 0xFE, 0xFF]), max_size=2).map(lambda some: bytes([*some, 0]))
ages = st.one_of(
    st.sets(st.integers(0, 12), min_size=1, max_size=6),
    st.tuples(st.integers(0, 40), st.integers(1, 300)).map(lambda run: set(range(run[0], sum(run)))),
)


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    history=st.dictionaries(names, ages, max_size=8),
    many=st.sampled_from([0, 0, 3, 90, 200]),
    first=st.integers(0, 20),
    without=st.sets(st.integers(0, 20), max_size=8),
    large=st.booleans(),
    middle=names,
    choice=st.randoms(use_true_random=False),
)
def test_the_row_wanted_of_each_group_comes(
    store: Store,
    history: dict[bytes, set[int]],
    many: int,
    first: int,
    without: set[int],
    large: bool,
    middle: bytes,
    choice: random.Random,
) -> None:
    """The first row that is wanted comes of every group, in the order of the keys, none twice; so within ranges, and one by one.

    Of some groups a row is known that may be wanted, be it the one that is or one behind it.
    """
    store.delete_many([key for key, _ in store.scan(b"", None)])
    rows = [row(group, age) for group, some in history.items() for age in some]
    rows += [row(b"\x50" + number.to_bytes(2, "big"), 7) for number in range(many)]
    store.put_many([(b"o", b"before"), (b"q", b"behind"), *rows])
    groups = Groups(2, mark(first), frozenset(map(mark, without)), 100 if large else 1)
    expected = wanted(rows, groups)
    candidates = {
        group: [key for key, _ in rows if key[:-2] == group and groups.wants(key)] for group in expected
    }
    share = choice.choice([0, 0.5, 1])
    known = [choice.choice(some) for some in candidates.values() if choice.random() < share]
    groups = replace(groups, known_keys=sorted(known))
    whole = [(PREFIX, b"q")]
    assert first_wanted(store.scan_ranges(whole, groups=groups), groups) == expected
    halves = [(PREFIX, PREFIX + middle), (PREFIX + middle, b"q")]
    assert first_wanted(store.scan_ranges(halves, groups=groups), groups) == expected
    each = [(group, group + b"\xff\xff\x00") for group in sorted({key[:-2] for key, _ in rows})]
    assert first_wanted(store.scan_ranges(each, each=1, groups=groups), groups) == expected
    limited = list(store.scan_ranges(whole, groups=groups, limit=3))
    assert len(limited) == min(3, len(list(store.scan_ranges(whole, groups=groups))))
    assert set(limited) <= set(rows)


@pytest.mark.parametrize("known", ["rows", "number", "nothing"])
@pytest.mark.parametrize("versions", [60, 700])
def test_few_rows_come_of_large_groups(store: Store, versions: int, known: str) -> None:
    """Of 30 groups hardly more rows come than one each, however many there are; no more where the store passes over what it is told."""
    rows = [row(b"%02d" % group, age) for group in range(30) for age in range(versions)]
    store.put_many(rows)
    groups = Groups(2, mark(0), rows=versions if known == "number" else 1)
    if known == "rows":
        groups = replace(groups, known_keys=sorted(key for key, _ in wanted(rows, groups).values()))
    found = list(store.scan_ranges([(PREFIX, b"q")], groups=groups))
    assert wanted(found, groups) == wanted(rows, groups)
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
    """A group of thousands that lies among lone ones costs a page at most, and the pages behind it grow again."""
    lone = [row(b"%05d" % group, 7) for group in range(4000)]
    large = [row(b"02000+", age) for age in range(6000)]
    store.put_many(lone + large)
    groups = Groups(2, mark(0))
    found = list(store.scan_ranges([(PREFIX, b"q")], groups=groups))
    assert wanted(found, groups) == wanted(lone + large, groups)
    assert len(found) <= len(lone) + 2010


def test_an_older_reader_seeks_within_groups(store: Store) -> None:
    """Who wants a row far behind in its group reads few of those before it."""
    rows = [row(b"%02d" % group, age) for group in range(10) for age in range(500)]
    store.put_many(rows)
    groups = Groups(2, mark(400), frozenset([mark(400)]), rows=500)
    found = list(store.scan_ranges([(PREFIX, b"q")], groups=groups))
    assert wanted(found, groups) == wanted(rows, groups)
    assert len(found) <= 10 * 8


def test_groups_that_grow_during_a_scan(store: Store) -> None:
    """Rows that come before those wanted, while the scan is under way, hide none of them."""
    rows = [row(b"%03d" % group, age) for group in range(400) for age in (50, 51)]
    store.put_many(rows)
    groups = Groups(2, mark(50), rows=500)
    seen = []
    for number, found in enumerate(store.scan_ranges([(PREFIX, b"q")], groups=groups)):
        seen.append(found)
        if number % 40 == 0:
            store.put_many(row(b"%03d" % group, max(0, 49 - number // 40)) for group in range(400))
    assert wanted(seen, groups) == wanted(rows, groups)
    assert seen == sorted(set(seen))
