"""Scans as a series of requests, each of which stands for itself.

A request names where to go on (after the last row seen) and how many rows to return. Nothing has to be
remembered on the server: it may be another one by then, or the same one started again.

Where servers leave out rows, a request could go through the whole table before it has found enough, and
nobody could tell it from one that is lost. So some of the rows that do not count are let through at random,
as milestones: whatever the condition, a request returns after some hundred thousand rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from parquetry.store.condition import Condition
from parquetry.store.groups import (
    MIN_PAGE_ROWS,
    Groups,
    PageReader,
    Range,
    ReadPage,
    RowPage,
    crowded,
    first_row,
    first_rows,
    one_by_one,
)
from parquetry.store.hbase.cells import Row, present
from parquetry.store.hbase.client import HBaseTable
from parquetry.store.hbase.filters import all_of, any_of, row_ranges, satisfying, some_rows, values_only

FIRST_BATCH_ROWS, MAX_BATCH_ROWS = 64, 2000
"""Rows asked for at a time: few at first, in case that is all."""
MAX_BATCH_BYTES = 4 << 20
"""What a batch should not exceed by much: the Thrift2 server holds it in memory."""
RANGES_PER_REQUEST = 500
"""Ranges in one request."""
MAX_SINGLE_RANGE_REQUESTS = 32
"""Ranges of which only the first rows are wanted, and which get a request each."""
BYTES_PER_SEEK, BYTES_PER_ROW = 60_000, 1500
"""How many bytes of values come in the time that a request takes, and a row whatever is in it."""
MAX_UNVERIFIED_GROUPS = 64
"""Groups that are skipped because they are said to be large; after that, pages that are read have to show it."""
ROWS_EXAMINED_PER_REQUEST = 250_000.0
"""About how many rows a request with a condition looks at, at most: HBase needs some seconds for them."""


def next_size(size: int, stored: Sequence[bytes]) -> int:
    """Return how many rows to ask for after a batch, by the size of those that came."""
    average = sum(map(len, stored)) // max(1, len(stored)) + 1
    return max(1, min(size * 8, MAX_BATCH_ROWS, MAX_BATCH_BYTES // average))


def forward(
    table: HBaseTable,
    ranges: Sequence[Range],
    limit: int | None,
    expected: int = 0,
    where: Condition | None = None,
) -> Iterator[Row]:
    """Yield the rows of disjoint ranges, which are given in key order.

    Args:
        table: to scan.
        ranges: each with start < stop; many go in one request, and HBase seeks from one to the next.
        limit: how many rows will be looked at; more may be yielded.
        expected: how many rows there probably are.
        where: most of the rows that do not satisfy this are left out.
    """
    size = min(MAX_BATCH_ROWS, max(FIRST_BATCH_ROWS, expected + 1))
    fetched = 0
    for first in range(0, len(ranges), RANGES_PER_REQUEST):
        remaining: Sequence[Range] = ranges[first : first + RANGES_PER_REQUEST]
        while remaining:
            count = _count(size, limit, fetched)
            filter = _filter(remaining, where, count / ROWS_EXAMINED_PER_REQUEST)
            batch = table.scan(remaining[0][0], remaining[-1][1], count, filter=filter)
            yield from present(batch)
            fetched += len(batch)
            if len(batch) < count:
                break
            size = next_size(size, [stored for _, stored in batch])
            remaining = _after(remaining, batch[-1][0] + b"\0")


def _filter(ranges: Sequence[Range], where: Condition | None, milestones: float) -> bytes:
    filters = [row_ranges(ranges)] if len(ranges) > 1 else []
    if where is not None:
        filters.append(any_of([satisfying(where), some_rows(milestones)]))
    return all_of([*filters, values_only()])


def backward(table: HBaseTable, start: bytes, stop: bytes | None, limit: int | None) -> Iterator[Row]:
    """Yield the rows with start <= key < stop (None: no bound), from the greatest key down.

    HBase then includes the upper bound and excludes the lower one, so both are widened, and what is too much
    is left out.
    """
    below = _just_below(start)
    size, fetched = FIRST_BATCH_ROWS, 0
    while True:
        count = _count(size, limit, fetched) + (stop is not None)
        batch = table.scan(stop or b"", below, count, reverse=True)
        inside = [row for row in batch if row[0] >= start and row[0] != stop]
        yield from present(inside)
        if len(batch) < count or batch[-1][0] <= start:
            return
        fetched += len(inside)
        size = next_size(size, [stored for _, stored in batch])
        stop = batch[-1][0]


def firsts(
    table: HBaseTable, ranges: Sequence[Range], each: int, where: Condition | None = None
) -> Iterator[Row]:
    """Yield the first rows of each of some ranges.

    A few ranges are asked for one by one: of several in one request, HBase looks at a row behind each in order
    to see that it is over. Of many, that is the lesser evil.

    Args:
        table: to scan.
        ranges: each with start < stop, in key order.
        each: how many rows of each.
        where: most of the rows that do not satisfy this are left out.
    """
    if len(ranges) <= MAX_SINGLE_RANGE_REQUESTS:
        for range in ranges:
            yield from islice(forward(table, [range], each, where=where), each)
        return
    yield from _first_each(forward(table, ranges, None, len(ranges) * each, where), ranges, each)


def leading(
    table: HBaseTable,
    ranges: Sequence[Range],
    groups: Groups,
    single: bool,
    limit: int | None = None,
    where: Condition | None = None,
) -> Iterator[Row]:
    """Yield the rows wanted of groups, and those before them; maybe others.

    A seek is a request, in the time of which HBase returns some 40 rows, or fewer long ones. So many rows of a group
    must have been read before it pays; unless groups are said to be large, as those of a few partitions after
    20,000 commits are: then the first request is a small one, and the first groups of several rows are skipped. Groups of
    which the row wanted is known need no seek of ours: HBase is told what to pass over.

    Args:
        table: to scan.
        ranges: each with start < stop, in key order.
        groups: that the rows form.
        single: whether each range is of one group.
        limit: how many rows will be looked at; more may be yielded.
        where: most of the rows that do not satisfy this are left out.
    """
    if single and len(ranges) <= MAX_SINGLE_RANGE_REQUESTS:
        for start, stop in ranges:
            yield from first_row(groups, start, _reader(table, [(start, stop)], where))
    elif ranges := groups.passing_over(ranges):
        expected = len(ranges) + 1
        large = groups.rows >= BYTES_PER_SEEK // BYTES_PER_ROW
        size = MIN_PAGE_ROWS if large else min(MAX_BATCH_ROWS, max(FIRST_BATCH_ROWS, expected))
        read = _reader(table, ranges, where)
        skipping = one_by_one(groups, read)

        def pays(rows: Sequence[Row], skipped: int) -> bool:
            if large and skipped < MAX_UNVERIFIED_GROUPS:
                return crowded(groups, rows)
            seeks, old = 0, 0
            before = None
            for key, value in rows:
                if before is not None and groups.alike(key, before):
                    old += BYTES_PER_ROW + len(value)
                else:
                    seeks += BYTES_PER_SEEK
                before = key
            return old > seeks

        reader = PageReader(read, skipping, _largest_page, pays, size)
        yield from first_rows(groups, ranges[0][0], reader, limit)


def _reader(table: HBaseTable, ranges: Sequence[Range], where: Condition | None) -> ReadPage:
    starts = [start for start, _ in ranges]

    def read(start: bytes, count: int) -> RowPage:
        rows: list[Row] = []
        place = max(0, bisect_right(starts, start) - 1)
        window = (
            RANGES_PER_REQUEST if count > 1 else MAX_SINGLE_RANGE_REQUESTS
        )  # for one row it need not be told of all ranges
        while place < len(ranges) and len(rows) < count:
            if window_ranges := _after(ranges[place : place + window], start):
                missing = count - len(rows)
                filter = _filter(window_ranges, where, missing / ROWS_EXAMINED_PER_REQUEST)
                rows += table.scan(window_ranges[0][0], window_ranges[-1][1], missing, filter=filter)
            place += window
        return RowPage(list(present(rows)), rows[-1][0] if len(rows) == count else None)

    return read


def _largest_page(rows: Sequence[Row]) -> int:
    return next_size(MAX_BATCH_ROWS, [value for _, value in rows])


def _first_each(rows: Iterable[Row], ranges: Sequence[Range], each: int) -> Iterator[Row]:
    starts = [start for start, _ in ranges]
    place = count = 0
    for row in rows:
        now = bisect_right(starts, row[0])
        place, count = now, count + 1 if now == place else 1
        if count <= each:
            yield row


def _count(size: int, limit: int | None, fetched: int) -> int:
    return size if limit is None or fetched >= limit else min(size, limit - fetched)


def _after(ranges: Sequence[Range], start: bytes) -> list[Range]:
    return [(max(first, start), stop) for first, stop in ranges if stop is None or stop > start]


def _just_below(key: bytes) -> bytes | None:
    """Return a key less than another with little between them; None if none is less.

    >>> _just_below(b"a\\x00"), _just_below(b"b"), _just_below(b"")
    (b'a', b'a\\xff\\xff\\xff\\xff', None)
    """
    if key.endswith(b"\0"):
        return key[:-1] or None
    return key[:-1] + bytes([key[-1] - 1]) + b"\xff" * 4 if key else None
