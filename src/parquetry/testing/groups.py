"""Tests of scans that want one row of each group."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hypothesis import HealthCheck, given, settings, strategies as st

from parquetry.store import Groups, Store

Row = tuple[bytes, bytes]
PREFIX = b"p"
LAST_MARK = 0xFFFF


def mark(age: int) -> bytes:
    """Return the end of a key. It orders the rows of a group."""
    return age.to_bytes(2, "big")


def row(group: bytes, age: int) -> Row:
    """Return a row of a group."""
    return PREFIX + group + mark(age), b"value %d of " % age + group


def find_wanted(rows: Sequence[Row], groups: Groups) -> dict[bytes, Row]:
    """Find by brute force the row wanted of each group."""
    first: dict[bytes, Row] = {}
    for key, value in sorted(rows):
        if groups.wants(key):
            first.setdefault(key[: -groups.width], (key, value))
    return first


def first_wanted(yielded: Iterator[Row], groups: Groups) -> dict[bytes, Row]:
    """Take the first row wanted of each group, of rows that must come in order, and once."""
    rows = list(yielded)
    assert rows == sorted(set(rows))
    return find_wanted(rows, groups)


# The bytes of a field that ends a group's key: no group's key begins another's.
names = st.lists(st.sampled_from([0x01, 0x41, 0xFE, 0xFF]), max_size=2).map(lambda some: bytes([*some, 0]))
ages = st.one_of(
    st.sets(st.integers(0, 12), min_size=1, max_size=6),
    st.tuples(st.integers(0, 40), st.integers(1, 300)).map(lambda run: set(range(run[0], sum(run)))),
)


class GroupSuite:
    """Tests of scans with groups. `StoreSuite` has them."""

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        history=st.dictionaries(names, ages, max_size=8),
        many=st.sampled_from([0, 0, 3, 90, 200]),
        groups=st.builds(
            Groups,
            st.just(2),
            st.integers(0, 20).map(mark),
            st.sets(st.integers(0, 20).map(mark), max_size=8).map(frozenset),
            st.sampled_from([1, 100]),
        ),
        middle=names,
        choice=st.randoms(use_true_random=False),
    )
    def test_the_row_wanted_of_each_group_comes(
        self,
        store: Store,
        history: dict[bytes, set[int]],
        many: int,
        groups: Groups,
        middle: bytes,
        choice: random.Random,
    ) -> None:
        """A scan yields the first wanted row of every group once and in order, also within ranges.

        For some groups the caller names a row that it may want: the first wanted row, or a later one.
        """
        store.delete_many([key for key, _ in store.scan(b"", None)])
        rows = [row(group, age) for group, some in history.items() for age in some]
        rows += [row(b"\x50" + number.to_bytes(2, "big"), 7) for number in range(many)]
        store.put_many([(b"o", b"before"), (b"q", b"behind"), *rows])
        expected = find_wanted(rows, groups)
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
        group_ranges = [(group, group + b"\xff\xff\x00") for group in sorted({key[:-2] for key, _ in rows})]
        assert first_wanted(store.scan_ranges(group_ranges, each=1, groups=groups), groups) == expected
        limited = list(store.scan_ranges(whole, groups=groups, limit=3))
        assert len(limited) == min(3, len(list(store.scan_ranges(whole, groups=groups))))
        assert set(limited) <= set(rows)

    def test_rows_of_lone_groups_come_once(self, store: Store) -> None:
        """Where each group has one row, as many rows come as there are."""
        rows = [row(b"%05d" % group, 7) for group in range(3000)]
        store.put_many(rows)
        for count in (1, 100):
            assert list(store.scan_ranges([(PREFIX, b"q")], groups=Groups(2, mark(0), rows=count))) == rows

    def test_groups_that_grow_during_a_scan(self, store: Store) -> None:
        """Rows that come before those wanted, while the scan is under way, hide none of them."""
        rows = [row(b"%03d" % group, age) for group in range(400) for age in (50, 51)]
        store.put_many(rows)
        groups = Groups(2, mark(50), rows=500)
        seen = []
        for number, pair in enumerate(store.scan_ranges([(PREFIX, b"q")], groups=groups)):
            seen.append(pair)
            if number % 40 == 0:
                store.put_many(row(b"%03d" % group, max(0, 49 - number // 40)) for group in range(400))
        assert find_wanted(seen, groups) == find_wanted(rows, groups)
        assert seen == sorted(set(seen))
