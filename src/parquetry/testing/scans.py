"""Tests of scans: order, ranges, limits, and conditions on fields."""

from __future__ import annotations

import random

from hypothesis import HealthCheck, given, settings, strategies as st

from parquetry.store import AllOf, AnyOf, Condition, FieldCompare, FieldIn, FieldMatches, Store, holds

KEYS = sorted(
    [
        b"\x00",
        b"\x00\x00",
        b"\x00\xff",
        b"\x01",
        b"a",
        b"a\x00",
        b"a\x00\x00",
        b"a\x00b",
        b"a\x01",
        b"ab",
        b"a\xfe",
        b"a\xff",
        b"a\xff\xff",
        b"b",
        b"\xc3\xa9",
        b"\xff",
        b"\xff\x00",
        b"\xff\xff\xff",
    ]
)


small = st.binary(min_size=1, max_size=3)
field = st.sampled_from([b"\x00", b"\x01", b"\x01a", b"\x01ab", b"\x7f", b"\x80", b"\xfe\xff", b"\xff"])
position = st.integers(0, 2)
leaves = st.one_of(
    st.builds(FieldCompare, position, st.sampled_from(("=", "!=", "<", "<=", ">", ">=")), field),
    st.builds(FieldIn, position, st.lists(field, min_size=1, max_size=3).map(tuple), st.booleans()),
    st.builds(
        FieldMatches, position, st.sampled_from([r"(?s)\A\x01.*\x62", r"[\x7f-\x80]", r"\xff"]), st.booleans()
    ),
)


def _join_conditions(inner: st.SearchStrategy[Condition]) -> st.SearchStrategy[Condition]:
    several = st.lists(inner, min_size=1, max_size=3).map(tuple)
    return st.one_of(st.builds(AllOf, several), st.builds(AnyOf, several))


conditions: st.SearchStrategy[Condition] = st.recursive(leaves, _join_conditions, max_leaves=5)


def fill(store: Store) -> list[tuple[bytes, bytes]]:
    """Write a row for each of `KEYS` in any order, and return the rows in key order."""
    rows = [(key, b"value of " + key) for key in KEYS]
    shuffled = rows.copy()
    random.Random(1).shuffle(shuffled)
    store.put_many(shuffled)
    return rows


class ScanSuite:
    """Tests of a store's scans. `StoreSuite` has them."""

    def test_keys_sort_as_bytes(self, store: Store) -> None:
        """A scan yields all rows in the order of their keys' bytes, 00, ff and prefixes included."""
        rows = fill(store)
        assert list(store.scan(b"", None)) == rows
        assert list(store.scan(b"", None, reverse=True)) == rows[::-1]

    def test_ranges(self, store: Store) -> None:
        """Start belongs to a range and stop does not, whichever keys they are, in both directions."""
        rows = fill(store)
        bounds = [b"", *KEYS, b"a\x00\x01", b"zz"]
        for start in bounds:
            for stop in [*bounds, None]:
                wanted = [row for row in rows if row[0] >= start and (stop is None or row[0] < stop)]
                assert list(store.scan(start, stop)) == wanted
                assert list(store.scan(start, stop, reverse=True)) == wanted[::-1]

    def test_limits(self, store: Store) -> None:
        """A limit cuts a scan short, in both directions; zero yields nothing."""
        rows = fill(store)
        for limit in range(len(rows) + 2):
            assert list(store.scan(b"", None, limit=limit)) == rows[:limit]
            assert list(store.scan(b"", None, limit=limit, reverse=True)) == rows[::-1][:limit]

    def test_several_ranges(self, store: Store) -> None:
        """Disjoint ranges are read one after another, empty ones included; the limit is for all together."""
        rows = fill(store)
        ranges = [(b"\x00\xff", b"a\x00\x00"), (b"a\x02", b"a\x03"), (b"ab", b"a\xff"), (b"\xff", None)]
        wanted = [
            row
            for row in rows
            for start, stop in ranges
            if row[0] >= start and (stop is None or row[0] < stop)
        ]
        assert list(store.scan_ranges(ranges)) == wanted
        for limit in range(len(wanted) + 2):
            assert list(store.scan_ranges(ranges, limit=limit)) == wanted[:limit]
        assert list(store.scan_ranges([])) == []

    def test_wanted_rows_of_each_range(self, store: Store) -> None:
        """`each` may leave out rows of a range, but none of the first ones."""
        rows = fill(store)
        scanned_rows = list(store.scan_ranges([(b"a", b"b"), (b"\xff", None)], each=2))
        first = [row for row in rows if row[0] in (b"a", b"a\x00", b"\xff", b"\xff\x00")]
        assert [row for row in scanned_rows if row in first] == first
        assert list(store.scan_ranges([(b"a", b"b"), (b"\xff", None)], each=2, limit=1)) == first[:1]

    def test_scans_cross_batches(self, store: Store) -> None:
        """A scan over more rows than a store fetches at a time misses none and repeats none."""
        rows = [(b"%06d" % i, b"v" * (i % 50 + 1)) for i in range(20_000)]
        store.put_many(rows)
        assert list(store.scan(b"", None)) == rows
        assert list(store.scan(b"", None, reverse=True)) == rows[::-1]
        assert list(store.scan(b"000100", b"015000", limit=12_345)) == rows[100:12_445]
        store.delete_many(key for key, _ in rows[:-1])
        assert list(store.scan(b"", None)) == rows[-1:]

    def test_rows_written_during_a_scan(self, store: Store) -> None:
        """Writing while a scan is under way neither breaks it nor hides rows that were there all the time."""
        rows = [(b"%06d" % i, b"v") for i in range(0, 10_000, 2)]
        store.put_many(rows)
        seen = []
        for n, row in enumerate(store.scan(b"", None)):
            seen.append(row)
            if n % 500 == 0:
                store.put_many([(b"%06d" % (9999 - n), b"new")])
                store.delete_many([b"%06d" % (n // 2 * 2 + 1)])
        assert [row for row in seen if row[1] == b"v"] == rows
        assert seen == sorted(set(seen))

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        puts=st.lists(st.tuples(small, st.binary(min_size=1, max_size=4)), max_size=12),
        deletes=st.lists(small, max_size=5),
        start=st.binary(max_size=3),
        stop=st.none() | small,
        limit=st.none() | st.integers(0, 6),
        reverse=st.booleans(),
    )
    def test_like_a_sorted_dict(
        self,
        store: Store,
        puts: list[tuple[bytes, bytes]],
        deletes: list[bytes],
        start: bytes,
        stop: bytes | None,
        limit: int | None,
        reverse: bool,
    ) -> None:
        """A store behaves like a dict whose keys are sorted."""
        store.delete_many([key for key, _ in store.scan(b"", None)])
        model = dict(puts)
        store.put_many(puts)
        store.delete_many(deletes)
        for key in deletes:
            model.pop(key, None)
        wanted = sorted(row for row in model.items() if row[0] >= start and (stop is None or row[0] < stop))
        wanted = (wanted[::-1] if reverse else wanted)[:limit]
        assert list(store.scan(start, stop, limit=limit, reverse=reverse)) == wanted

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        fields=st.dictionaries(small, st.lists(field, min_size=2, max_size=3) | st.just([]), max_size=15),
        where=conditions,
        middle=small,
        limit=st.none() | st.integers(1, 6),
        each=st.none() | st.integers(1, 4),
    )
    def test_conditions_lose_no_row(
        self,
        store: Store,
        fields: dict[bytes, list[bytes]],
        where: Condition,
        middle: bytes,
        limit: int | None,
        each: int | None,
    ) -> None:
        """A scan with a condition yields every row that satisfies it or lacks its fields."""
        store.delete_many([key for key, _ in store.scan(b"", None)])
        store.put_many([(key, b"v" + key) for key in fields], fields.__getitem__)
        rows = [(key, b"v" + key) for key in sorted(fields)]
        wanted = [row for row in rows if holds(where, fields[row[0]])]
        assert [row for row in rows if not fields[row[0]] and row not in wanted] == []
        for ranges in ([(b"", None)], [(b"", middle), (middle, None)]):
            scanned_rows = list(store.scan_ranges(ranges, where=where))
            assert scanned_rows == sorted(set(scanned_rows) & set(rows))
            assert set(wanted) <= set(scanned_rows)
            # Rows that need not come may count, so only the first rows of all, or of each range, are sure.
            scanned_rows = list(store.scan_ranges(ranges, limit=limit, where=where))
            assert set(wanted) & set(rows[:limit]) <= set(scanned_rows) <= set(rows)
            assert limit is None or len(scanned_rows) <= limit
            scanned_rows = list(store.scan_ranges(ranges, each=each, where=where))
            for start, stop in ranges:
                within = [row for row in rows if row[0] >= start and (stop is None or row[0] < stop)]
                assert set(wanted) & set(within[:each]) <= set(scanned_rows) <= set(rows)

    def test_fields_go_with_their_row(self, store: Store) -> None:
        """A removed row leaves no fields behind for a later row with the same key."""
        other = FieldCompare(0, "=", b"other")
        store.put_many([(b"a", b"1"), (b"b", b"1"), (b"c", b"1"), (b"d", b"1")], lambda _: (b"one", b"two"))
        store.delete_many([b"a"])
        assert store.compare_and_set(b"b", b"1", None)
        assert store.compare_and_set(b"c", b"1", b"2")
        store.delete_many([b"c"])
        assert [key for key, _ in store.scan_ranges([(b"", None)], where=FieldCompare(0, "=", b"one"))] == [
            b"d"
        ]
        rows = [(b"a", b"3"), (b"b", b"3"), (b"c", b"3")]
        store.put_many(rows)
        scanned_rows = list(store.scan_ranges([(b"", None)], where=other))
        assert [row for row in scanned_rows if row[0] != b"d"] == rows

    def test_fields_stay_with_their_row(self, store: Store) -> None:
        """A row that was written with fields is found by them, however often its value was changed since."""
        store.put_many([(b"a", b"1"), (b"b", b"1")], lambda key: (key * 2,))
        store.put_many([(b"a", b"2")])
        assert store.compare_and_set(b"b", b"1", b"2")
        assert store.compare_and_set(b"c", None, b"2")
        for key in (b"a", b"b"):
            scanned_rows = list(store.scan_ranges([(b"", None)], where=FieldCompare(0, "=", key * 2)))
            assert (key, b"2") in scanned_rows
            assert (b"c", b"2") in scanned_rows
