"""Reading one row of each group of rows, without the many others that may be behind it.

A table's metastore keeps every version of a partition until it is vacuumed: after 20,000 commits to 30
partitions 700 rows have the same key but for the ticket at its end, and a reader wants the newest of each. So
it names the groups when it scans, and the store *skips*: it seeks the first row behind a group. A seek costs
more than the next row does (in SQLite 3 times, in HBase 50 times as much), and most tables hold one version
of most partitions, so `first_rows` reads plainly until it meets groups of so many rows that seeking pays.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

Row = tuple[bytes, bytes]
"""Key and value."""

Range = tuple[bytes, bytes | None]
"""Start (inclusive) and stop (exclusive; None: to the end) of a range of keys."""


@dataclass(frozen=True, slots=True)
class Groups:
    """Rows whose keys are alike but for their last bytes, the *mark*; one row of each group is wanted.

    It is the first whose mark is at least `first` and none of `without`. No key of another group may lie
    between those of a group. Example: of the keys `a3 a6 a7 a8 b5 b9 c1`, where the mark is one byte, `first`
    is 5 and `without` is 6, the rows `a7` and `b5` are wanted, and none of group `c`.

    Attributes:
        width: of the mark, in bytes.
        first: mark of the first rows that may be wanted.
        without: marks of rows that are not wanted all the same.
        rows: of a group, as far as the caller can tell without reading: where there are many, a store to which
            seeks are dear begins with a small request.
        known_keys: keys of rows that are there and may be wanted, in order, of some groups one each: whatever is behind them
            in their groups is not. A store to which seeks are dear passes over that.
    """

    width: int
    first: bytes
    without: frozenset[bytes] = frozenset()
    rows: int = 1
    known_keys: Sequence[bytes] = ()

    def wants(self, key: bytes) -> bool:
        """Return whether a row is wanted, unless one before it in its group is."""
        mark = key[-self.width :]
        return mark >= self.first and mark not in self.without

    def alike(self, key: bytes, other: bytes) -> bool:
        """Return whether two rows are of one group."""
        return key[: -self.width] == other[: -self.width]

    def end(self, key: bytes) -> bytes:
        """Return a key that all those of the row's group are less than, and those of groups behind it are not."""
        return key[: -self.width] + b"\xff" * self.width + b"\0"

    def passing_over(self, ranges: Sequence[Range]) -> list[Range]:
        """Return ranges without the rows that are not wanted because of those that are known.

        Example: of the keys in the class's example with `b5` known, the range `a`–`d` becomes what lies before `b`, `b5`
        alone, and what lies behind the last `b`. So rows of groups that are not known are not missed, nor any that are
        wanted rather than those that are known.

        >>> Groups(1, b"5", frozenset(b"6"), known_keys=[b"b5"]).passing_over([(b"a", b"d")])
        [(b'a', b'b'), (b'b5', b'b5\\x00'), (b'b\\xff\\x00', b'd')]

        Args:
            ranges: disjoint and in order, each with start < stop.
        """
        kept: list[Range] = []
        for start, stop in ranges:
            place = max(0, bisect_left(self.known_keys, start) - 1)  # the one before may reach into the range
            while place < len(self.known_keys) and (stop is None or self.known_keys[place] < stop):
                key = self.known_keys[place]
                place += 1
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
        """Return where to go on reading.

        Args:
            rows: read last, in order.
            last: key of the last row looked at, whether or not it is among them.
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
        rows: in order.
        last: key of the last row that was looked at; None: there are no more.
    """

    rows: list[Row]
    last: bytes | None


ReadPage = Callable[[bytes, int], RowPage]
"""Reads so many rows from a key on."""

MIN_PAGE_ROWS = 2
"""Rows: enough to see whether the first group has several."""
_MAX_GROUPS_PER_PAGE = 512
"""Groups to skip through, at most, before it is tried again whether skipping pays."""
_PAGE_GROWTH_FACTOR = 8
_SAMPLED_ROWS = 32


@dataclass(frozen=True, slots=True)
class PageReader:
    """How rows in groups are read from a store.

    Attributes:
        plain: reads rows one after another; it may stop early within a large group.
        skipping: reads the first row, from a key on, of so many groups.
        page_size: how many rows a page should have at most, by the last one.
        pays: whether seeks are less work than rows, by a page that was read plainly and by the number of groups
            that have been skipped through. By default they are if a quarter of the rows belong to the group
            of the row before.
        size: of the first page.
        several: groups to skip through after the first page by which it pays; then twice as many, and so on.
    """

    plain: ReadPage
    skipping: ReadPage
    page_size: Callable[[list[Row]], int]
    pays: Callable[[list[Row], int], bool] | None = None
    size: int = MIN_PAGE_ROWS
    several: int = 16


def first_rows(groups: Groups, start: bytes, reader: PageReader, limit: int | None = None) -> Iterator[Row]:
    """Yield of each group at least the row wanted, and those before it; maybe others.

    Pages are read plainly, each up to eight times as long as the one before, while their groups are small.
    After a page by which it pays to seek, some groups are skipped through, then a small page shows whether to go
    on so. Example: of 30 groups of 700 rows, 32 rows are
    read: 2 plainly, both of the first group; the first rows of 16 groups; 2 plainly, both of the 18th group; the
    first rows of the last 12.

    Args:
        groups: that the rows form.
        start: first key.
        reader: reads them.
        limit: how many rows will be looked at; more may be yielded.
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
        if not (crowded(groups, rows) if reader.pays is None else reader.pays(rows, skipped)):
            if size > MIN_PAGE_ROWS:
                fewest = reader.several
            size = max(MIN_PAGE_ROWS, min(size * _PAGE_GROWTH_FACTOR, reader.page_size(rows)))
            continue
        size = MIN_PAGE_ROWS
        if remaining is not None and remaining <= 0:
            return
        rows, last = reader.skipping(start, fewest if remaining is None else min(fewest, remaining))
        unwanted = next((place for place, row in enumerate(rows) if not groups.wants(row[0])), None)
        if unwanted is None:
            fewest = min(fewest * 2, _MAX_GROUPS_PER_PAGE)
        else:  # the row wanted may be behind it in its group
            rows, fewest = rows[: unwanted + 1], 1
            last = rows[-1][0]
        yield from rows
        if last is None:
            return
        skipped += len(rows)
        remaining = None if remaining is None else remaining - len(rows)
        start = groups.after(rows, last)


def first_row(groups: Groups, start: bytes, plain: ReadPage) -> Iterator[Row]:
    """Yield the row wanted of the first group, and those before it; maybe some behind it.

    Args:
        groups: that the rows form.
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
    """Return what reads the first rows of groups by a request for each."""

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


def crowded(groups: Groups, rows: Sequence[Row]) -> bool:
    """Return whether a quarter of the rows are of the group of the row before, as a sample shows."""
    step = max(1, (len(rows) - 1) // _SAMPLED_ROWS)
    places = range(len(rows) - 1, 0, -step)
    return 4 * sum(groups.alike(rows[place][0], rows[place - 1][0]) for place in places) > len(places)
