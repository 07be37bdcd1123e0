"""Tests of a store that counts rows and finds keys without returning rows."""

from __future__ import annotations

from typing import cast

from hypothesis import HealthCheck, given, settings, strategies as st

from parquetry.store import KeyPage, KeyReader, Leading, Store
from parquetry.testing.groups import PREFIX
from parquetry.testing.scans import fill

BEHIND = b"\xff" * 8


def letters(count: int) -> Leading:
    """Return groups of keys that have `count` letters in common; keys of other characters are alone."""
    start = len(PREFIX)

    def width(key: bytes) -> int:
        first = key[start : start + count]
        return start + count if len(first) == count and first.isalpha() else len(key)

    return Leading(start, count, width, BEHIND)


def fields_of(key: bytes) -> list[bytes]:
    """Return the fields of a row of these tests: its letters, up to the first other character."""
    rest = key[len(PREFIX) :]
    fields = [rest[index : index + 1] for index in range(len(rest))]
    return fields if rest.isalpha() else []


def groups_of(keys: list[bytes], groups: Leading) -> list[bytes]:
    """Find by brute force the first key of each group: each key that is not before the last group's end."""
    firsts: list[bytes] = []
    for key in sorted(keys):
        if not firsts or key >= groups.end(firsts[-1]):
            firsts.append(key)
    return firsts


words = st.binary(min_size=1, max_size=4).map(lambda some: bytes(b"abz\x01"[each % 4] for each in some))


class KeyReaderSuite:
    """Tests of a store that keeps the contract of `KeyReader`. They need the fixtures of `StoreSuite`."""

    def test_what_reading_costs(self, store: Store) -> None:
        """The store is a `KeyReader`, and none of its costs is negative."""
        assert isinstance(store, KeyReader)
        assert min(store.costs) >= 0
        assert 0 < store.costs.tested <= 1

    def test_counts(self, store: Store) -> None:
        """The store counts the rows of ranges up to the limit, with any bounds."""
        keys = [key for key, _ in fill(store)]
        reader = cast(KeyReader, store)
        ranges = [(b"\x00\xff", b"a\x00\x00"), (b"a\x02", b"a\x03"), (b"ab", b"a\xff"), (b"\xff", None)]
        number = sum(
            any(start <= key and (stop is None or key < stop) for start, stop in ranges) for key in keys
        )
        assert [reader.count(ranges, limit) for limit in (1, number - 1, number, number + 1, 10_000)] == [
            1, number - 1, number, number, number,
        ]  # fmt: skip
        assert reader.count([(b"", None)], 10_000) == len(keys)
        assert reader.count([], 10) == 0
        assert reader.count([(bytes([n]), bytes([n + 1])) for n in range(255)], 10_000) == len(keys) - 3

    @settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(
        some=st.sets(words, max_size=12),
        without=st.sets(words, max_size=3),
        count=st.integers(1, 2),
        start=st.just(b"") | words,
        stop=st.none() | words,
        limit=st.integers(1, 5),
    )
    def test_first_keys_of_groups(
        self,
        store: Store,
        some: set[bytes],
        without: set[bytes],
        count: int,
        start: bytes,
        stop: bytes | None,
        limit: int,
    ) -> None:
        """Page by page, the first key of each group comes once and in order.

        So it does if rows were written without fields, or have no such groups.
        """
        store.delete_many([key for key, _ in store.scan(b"", None)])
        store.put_many([(b"o", b"before"), (b"q", b"behind")])
        store.put_many([(PREFIX + word, b"v") for word in without])
        store.put_many([(PREFIX + word, b"v") for word in some - without], fields_of)
        last = b"q" if stop is None else PREFIX + stop
        keys = [PREFIX + word for word in some | without if PREFIX + start <= PREFIX + word < last]
        groups = letters(count)
        keys_read: list[bytes] = []
        after: bytes | None = PREFIX + start
        while after is not None:
            page: KeyPage = cast(KeyReader, store).first_keys(after, last, groups, limit)
            assert len(page.keys) <= limit
            assert page.keys or page.after is None
            keys_read += page.keys
            after = page.after
        assert keys_read == groups_of(keys, groups)
