"""What every store promises."""

from __future__ import annotations

import random
import threading

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parquetry.store import MemoryStore, Store

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


def fill(store: Store) -> list[tuple[bytes, bytes]]:
    rows = [(key, b"value of " + key) for key in KEYS]
    shuffled = rows.copy()
    random.Random(1).shuffle(shuffled)
    store.put_many(shuffled)
    return rows


def test_keys_sort_as_bytes(store: Store) -> None:
    """A scan yields all rows in the order of their keys' bytes, 00, ff and prefixes included."""
    rows = fill(store)
    assert list(store.scan(b"", None)) == rows
    assert list(store.scan(b"", None, reverse=True)) == rows[::-1]


def test_ranges(store: Store) -> None:
    """Start belongs to a range and stop does not, whichever keys they are, in both directions."""
    rows = fill(store)
    bounds = [b"", *KEYS, b"a\x00\x01", b"zz"]
    for start in bounds:
        for stop in [*bounds, None]:
            wanted = [row for row in rows if row[0] >= start and (stop is None or row[0] < stop)]
            assert list(store.scan(start, stop)) == wanted
            assert list(store.scan(start, stop, reverse=True)) == wanted[::-1]


def test_limits(store: Store) -> None:
    """A limit cuts a scan short, in both directions; zero yields nothing."""
    rows = fill(store)
    for limit in range(len(rows) + 2):
        assert list(store.scan(b"", None, limit=limit)) == rows[:limit]
        assert list(store.scan(b"", None, limit=limit, reverse=True)) == rows[::-1][:limit]


def test_several_ranges(store: Store) -> None:
    """Disjoint ranges are read one after another, empty ones included; the limit is for all together."""
    rows = fill(store)
    ranges = [(b"\x00\xff", b"a\x00\x00"), (b"a\x02", b"a\x03"), (b"ab", b"a\xff"), (b"\xff", None)]
    wanted = [
        row for row in rows for start, stop in ranges if row[0] >= start and (stop is None or row[0] < stop)
    ]
    assert list(store.scan_ranges(ranges)) == wanted
    for limit in range(len(wanted) + 2):
        assert list(store.scan_ranges(ranges, limit=limit)) == wanted[:limit]
    assert list(store.scan_ranges([])) == []


def test_wanted_rows_of_each_range(store: Store) -> None:
    """`each` may leave out rows of a range, but none of the first ones."""
    rows = fill(store)
    found = list(store.scan_ranges([(b"a", b"b"), (b"\xff", None)], each=2))
    first = [row for row in rows if row[0] in (b"a", b"a\x00", b"\xff", b"\xff\x00")]
    assert [row for row in found if row in first] == first
    assert list(store.scan_ranges([(b"a", b"b"), (b"\xff", None)], each=2, limit=1)) == first[:1]


def test_get_put_delete(store: Store) -> None:
    """A row has the value written last, or none once removed; removing what is not there is no error."""
    assert store.get(b"k") is None
    store.put_many([(b"k", b"1"), (b"l", b"2")])
    store.put_many([(b"k", b"3")])
    assert store.get_many([b"l", b"none", b"k", b"k"]) == [b"2", None, b"3", b"3"]
    store.delete_many([b"k", b"none"])
    assert list(store.scan(b"", None)) == [(b"l", b"2")]
    store.put_many([(b"k", b"4")])
    assert store.get(b"k") == b"4"
    store.put_many([])
    store.delete_many([])


def test_compare_and_set(store: Store) -> None:
    """A row is written, or removed, if and only if it is as expected; nothing else changes."""
    assert not store.compare_and_set(b"k", b"1", b"2")
    assert store.compare_and_set(b"k", None, b"1")
    assert not store.compare_and_set(b"k", None, b"2")
    assert not store.compare_and_set(b"k", b"1x", b"2")
    assert not store.compare_and_set(b"k", b"", b"2")
    assert store.compare_and_set(b"k", b"1", b"2")
    assert not store.compare_and_set(b"k", b"1", None)
    assert store.get(b"k") == b"2"
    assert store.compare_and_set(b"k", b"2", None)
    assert store.get(b"k") is None
    assert not store.compare_and_set(b"k", b"2", None)
    assert store.compare_and_set(b"k", None, b"1")
    assert list(store.scan(b"", None)) == [(b"k", b"1")]


def test_long_keys_and_values(store: Store) -> None:
    """Keys of 30 000 bytes and values of 3 MB are kept, and sort among short ones."""
    long = b"k" * 30_000
    rows = [(b"k", b"short"), (long, bytes(range(256)) * 12_000), (long + b"\x00", b"next"), (b"l", b"last")]
    store.put_many(rows)
    assert list(store.scan(b"", None)) == rows
    assert store.compare_and_set(long, rows[1][1], b"now short")
    assert store.get(long) == b"now short"


def test_scans_cross_batches(store: Store) -> None:
    """A scan over more rows than a store fetches at a time misses none and repeats none."""
    rows = [(b"%06d" % i, b"v" * (i % 50 + 1)) for i in range(20_000)]
    store.put_many(rows)
    assert list(store.scan(b"", None)) == rows
    assert list(store.scan(b"", None, reverse=True)) == rows[::-1]
    assert list(store.scan(b"000100", b"015000", limit=12_345)) == rows[100:12_445]
    store.delete_many(key for key, _ in rows[:-1])
    assert list(store.scan(b"", None)) == rows[-1:]


def test_rows_written_during_a_scan(store: Store) -> None:
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


def test_threads_count_together(store: Store) -> None:
    """Of threads that compare-and-set one row, exactly one wins each time: no increment is lost."""
    store.put_many([(b"n", b"0")])

    def count() -> None:
        for _ in range(100):
            while True:
                value = store.get(b"n")
                assert value is not None
                if store.compare_and_set(b"n", value, str(int(value) + 1).encode()):
                    break

    threads = [threading.Thread(target=count) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert store.get(b"n") == b"400"


small = st.binary(min_size=1, max_size=3)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    puts=st.lists(st.tuples(small, st.binary(min_size=1, max_size=4)), max_size=12),
    deletes=st.lists(small, max_size=5),
    start=st.binary(max_size=3),
    stop=st.none() | small,
    limit=st.none() | st.integers(0, 6),
    reverse=st.booleans(),
)
def test_like_a_sorted_dict(
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


def test_two_memory_stores_are_apart() -> None:
    """A store in memory belongs to whoever made it."""
    one, other = MemoryStore(), MemoryStore()
    one.put_many([(b"k", b"v")])
    assert other.get(b"k") is None
