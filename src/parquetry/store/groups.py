"""Reading one row of each group of rows, without the many others that may be behind it.

A metastore keeps every version of a partition until a vacuum. After 20,000 commits to 30 partitions, some 700
rows per partition have the same key but for the ticket at its end, and a reader wants the newest of them. So
the reader names the groups when it scans, and the store *skips*: it seeks the first row behind a group.

A seek costs more than the next row: 3 times as much in SQLite, 50 times in HBase. Most tables have one
version of most partitions. So `first_rows` reads one row after another until it meets groups so large that
seeks pay.

Keys can be read without their rows: counts, and one key of each group of keys that begin alike.

A reader counts keys to choose between access paths, and looks for the values of a key's first fields to skip
the rows between the ones it wants. Neither needs values, so neither moves them: a count is one number, and a
step from one group to the next is a seek. A store need not be able to do this; readers then do without.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

Row = tuple[bytes, bytes]
"""Key and value."""

Range = tuple[bytes, bytes | None]
"""Start (inclusive) and stop (exclusive, or None for no upper bound) of a range of keys."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Groups of rows whose keys differ only in their last bytes, the *mark*.

    The reader wants one row of each.

    The wanted row is the first whose mark is at least `first` and not in `without`. The keys of a group are
    consecutive in the store. Example: the keys are `a3 a6 a7 a8 b5 b9 c1`, the mark is one byte, `first` is 5
    and `without` is {6}. Then the rows `a7` and `b5` are wanted, and no row of group `c`.

    Attributes:
        width: number of bytes of the mark.
        first: smallest mark that may be wanted.
        without: larger marks that are not wanted.
        rows: rows per group, as the caller estimates them without reading. For large groups a store with
            expensive seeks begins with a small request.
        known_keys: keys of existing rows that may be wanted, in order, at most one per group. No row behind
            such a key in its group is wanted, and a store with expensive seeks skips those rows.
    """

    width: int
    first: bytes
    without: frozenset[bytes] = frozenset()
    rows: int = 1
    known_keys: Sequence[bytes] = ()

    def wants(self, key: bytes) -> bool:
        """Return whether a row is wanted, provided that no earlier row of its group is."""
        mark = key[-self.width :]
        return mark >= self.first and mark not in self.without

    def alike(self, key: bytes, other: bytes) -> bool:
        """Return whether two rows belong to one group."""
        return key[: -self.width] == other[: -self.width]

    def end(self, key: bytes) -> bytes:
        """Return the end of the row's group: greater than its keys, and not than the keys behind it."""
        return key[: -self.width] + b"\xff" * self.width + b"\0"

    def passing_over(self, ranges: Sequence[Range]) -> list[Range]:
        """Return ranges without the rows that the known keys make unnecessary.

        In the example of the class with `b5` known, the range `a`–`d` becomes three: the keys before `b`, the
        key `b5` alone, and the keys behind the last `b`. So no group without a known key is missed, and no
        wanted row before a known key.

        >>> Groups(1, b"5", frozenset(b"6"), known_keys=[b"b5"]).passing_over([(b"a", b"d")])
        [(b'a', b'b'), (b'b5', b'b5\\x00'), (b'b\\xff\\x00', b'd')]

        Args:
            ranges: disjoint and in order, each with start < stop.
        """
        kept: list[Range] = []
        for start, stop in ranges:
            index = max(0, bisect_left(self.known_keys, start) - 1)  # the one before may reach into the range
            while index < len(self.known_keys) and (stop is None or self.known_keys[index] < stop):
                key = self.known_keys[index]
                index += 1
                group = key[: -self.width]
                if start < group:
                    kept.append((start, group))
                if start <= key:
                    kept.append((max(start, group + self.first), key + b"\0"))
                start = max(start, self.end(key))
            if stop is None or start < stop:
                kept.append((start, stop))
        return kept

    def after(self, rows: Sequence[Row], last: bytes) -> bytes:
        """Return the key at which reading goes on.

        Args:
            rows: the rows read last, in order.
            last: key of the last row examined, whether or not it is among them.
        """
        for key, _ in reversed(rows):
            if not self.alike(key, last) or key[-self.width :] < self.first:
                break
            if self.wants(key):
                return self.end(last)
        return max(last + b"\0", last[: -self.width] + self.first)


class RowPage(NamedTuple):
    """Some rows that were read together.

    Attributes:
        rows: the rows, in key order.
        last: key of the last row examined, or None if no rows follow.
    """

    rows: list[Row]
    last: bytes | None


ReadPage = Callable[[bytes, int], RowPage]
"""Reads a number of rows from a key on."""

MIN_PAGE_ROWS = 2
"""Rows of the smallest page: two are enough to see whether the first group has several."""
_MAX_GROUPS_PER_PAGE = 512
"""Groups to skip before a page is read again without skipping, to see whether skipping still pays."""
_PAGE_GROWTH_FACTOR = 8
_SAMPLED_ROWS = 32


@dataclass(frozen=True, slots=True)
class PageReader:
    """A store's ways to read rows in groups.

    Attributes:
        plain: reads rows one after another; it may stop early within a large group.
        skipping: reads the first row, from a key on, of a number of groups.
        page_size: returns the most rows that the next page should have, from the rows of the last one.
        pays: returns whether seeks cost less than reading on, from the rows of a plain page and the number of
            groups skipped so far. By default they do if a quarter of the rows belong to the group of the row
            before.
        size: rows of the first page.
        several: groups to skip the first time that seeks pay; then twice as many, and so on.
    """

    plain: ReadPage
    skipping: ReadPage
    page_size: Callable[[list[Row]], int]
    pays: Callable[[list[Row], int], bool] | None = None
    size: int = MIN_PAGE_ROWS
    several: int = 16


def first_rows(groups: Groups, start: bytes, reader: PageReader, limit: int | None = None) -> Iterator[Row]:
    """Yield the wanted row of each group and the rows before it, and perhaps others.

    While groups are small, pages are read row by row, each up to eight times as long as the one before. After
    a page that shows that seeks pay, some groups are skipped; then a small page shows whether seeks still
    pay.

    Example: of 30 groups of 700 rows each, 32 rows are read.

    1. 2 rows one after the other, both of the first group: seeks pay.
    2. The first rows of 16 groups.
    3. 2 rows one after the other, both of the 18th group: seeks still pay.
    4. The first rows of the last 12 groups.

    Args:
        groups: the groups of the rows.
        start: first key.
        reader: reads the pages.
        limit: number of rows that the caller will examine; more may be yielded.
    """
    size, fewest = reader.size, reader.several
    skipped = 0
    remaining = limit
    while remaining is None or remaining > 0:
        count = size if remaining is None else min(size, remaining)
        rows, last = reader.plain(start, count)
        yield from rows
        if last is None:
            return
        remaining = None if remaining is None else remaining - len(rows)
        start = groups.after(rows, last)
        if not (is_crowded(groups, rows) if reader.pays is None else reader.pays(rows, skipped)):
            if size > MIN_PAGE_ROWS:
                fewest = reader.several
            size = max(MIN_PAGE_ROWS, min(size * _PAGE_GROWTH_FACTOR, reader.page_size(rows)))
            continue
        size = MIN_PAGE_ROWS
        if remaining is not None and remaining <= 0:
            return
        rows, last = reader.skipping(start, fewest if remaining is None else min(fewest, remaining))
        unwanted = next((index for index, row in enumerate(rows) if not groups.wants(row[0])), None)
        if unwanted is None:
            fewest = min(fewest * 2, _MAX_GROUPS_PER_PAGE)
        else:  # the wanted row may be behind it in its group
            rows, fewest = rows[: unwanted + 1], 1
            last = rows[-1][0]
        yield from rows
        if last is None:
            return
        skipped += len(rows)
        remaining = None if remaining is None else remaining - len(rows)
        start = groups.after(rows, last)


def first_row(groups: Groups, start: bytes, plain: ReadPage) -> Iterator[Row]:
    """Yield the wanted row of the first group and the rows before it, and perhaps some behind it.

    Args:
        groups: the groups of the rows.
        start: first key.
        plain: reads rows one after another.
    """
    size = 1
    while True:
        rows, last = plain(start, size)
        yield from rows
        if last is None or any(groups.wants(key) for key, _ in rows):
            return
        start = groups.after(rows, last)
        size = min(size * _PAGE_GROWTH_FACTOR, _MAX_GROUPS_PER_PAGE)


def one_by_one(groups: Groups, plain: ReadPage) -> ReadPage:
    """Return a reader of the first rows of groups that makes a request for each group."""

    def skipping(start: bytes, count: int) -> RowPage:
        rows: list[Row] = []
        last: bytes | None = start
        while last is not None and len(rows) < count:
            page_rows, last = plain(start, 1)
            rows += page_rows
            if last is None or (page_rows and not groups.wants(page_rows[0][0])):
                break
            start = groups.after(page_rows, last)
        return RowPage(rows, last)

    return skipping


def is_crowded(groups: Groups, rows: Sequence[Row]) -> bool:
    """Return whether more than a quarter of a sample of the rows belong to the group of the row before."""
    step = max(1, (len(rows) - 1) // _SAMPLED_ROWS)
    indices = range(len(rows) - 1, 0, -step)
    return 4 * sum(groups.alike(rows[index][0], rows[index - 1][0]) for index in indices) > len(indices)


class ReadCosts(NamedTuple):
    """The costs of reading, in rows: the number of rows that a scan returns in the same time.

    Attributes:
        request: a request, besides its rows.
        seek: a step of `first_keys` from one group to the next.
        lookup: a row that is found by its key, as the rows behind an index's entries are.
        tested: a row that the store tests by a condition and leaves out; 1 if it leaves out none.
        counted: a row that `count` counts.
    """

    request: float
    seek: float
    lookup: float
    tested: float
    counted: float


@dataclass(frozen=True, slots=True)
class Leading:
    """Groups of rows whose keys begin with the same fields.

    Example: the keys `a1x a1y a2x b1x`, grouped by their first byte, have the first keys `a1x` and `b1x`.

    Attributes:
        offset: bytes of a key before its first field.
        fields: number of fields that the keys of a group have in common.
        width: returns the number of bytes that all keys of a key's group begin with, and no other key. For a
            key without such fields, the reader chooses a group.
        behind: bytes that no key of a group has behind these, or greater ones.
    """

    offset: int
    fields: int
    width: Callable[[bytes], int]
    behind: bytes

    def end(self, key: bytes) -> bytes:
        """Return the end of a key's group: greater than its keys, and not than the keys behind it."""
        return key[: self.width(key)] + self.behind


class KeyPage(NamedTuple):
    """Some keys that were read together.

    Attributes:
        keys: the keys, in order.
        after: where to go on, or None if no keys follow.
    """

    keys: list[bytes]
    after: bytes | None


@runtime_checkable
class KeyReader(Protocol):
    """A store that counts rows, and finds keys, without returning rows."""

    @property
    def costs(self) -> ReadCosts:
        """The costs of reading."""
        ...

    def count(self, ranges: Sequence[Range], limit: int) -> int:
        """Return the number of rows in disjoint ranges, or `limit` if there are more."""
        ...

    def first_keys(self, start: bytes, stop: bytes | None, leading: Leading, limit: int) -> KeyPage:
        """Return the first key of each group in start <= key < stop.

        Args:
            start: first key.
            stop: end of the range, or None.
            leading: the groups.
            limit: number of groups, at least 1. The page may have fewer, even if more follow.
        """
        ...


def one_by_one_keys(
    first: Callable[[bytes], bytes | None], start: bytes, stop: bytes | None, leading: Leading, limit: int
) -> KeyPage:
    """Return the first key of each group by a call for each.

    Args:
        first: returns the first key of the range from a key on, or None if there is none.
        start: first key.
        stop: end of the range, or None.
        leading: the groups.
        limit: number of groups.
    """
    keys: list[bytes] = []
    while len(keys) < limit:
        key = first(start) if stop is None or start < stop else None
        if key is None:
            return KeyPage(keys, None)
        keys.append(key)
        start = leading.end(key)
    return KeyPage(keys, start)
