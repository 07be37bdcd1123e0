"""Scans as a series of independent requests.

A request names the key to go on from (after the last row seen) and the number of rows to return. The server
remembers nothing: the next request may reach another server, or the same one after a restart.

If servers leave out rows, a request could go through the whole table before it finds enough, and would look
like a lost one. So the filter also passes some rows at random, as milestones: under any condition, a request
returns after some hundred thousand rows.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from parquetry.store.condition import Condition
from parquetry.store.groups import (
    MIN_PAGE_ROWS,
    Groups,
    KeyPage,
    Leading,
    PageReader,
    Range,
    ReadPage,
    RowPage,
    first_row,
    first_rows,
    is_crowded,
    one_by_one,
    one_by_one_keys,
)
from parquetry.store.hbase.client import HBaseTable
from parquetry.store.hbase.filters import (
    Row,
    all_of,
    any_of,
    keys_only,
    present,
    row_ranges,
    satisfying,
    some_rows,
    values_only,
)

FIRST_BATCH_ROWS, MAX_BATCH_ROWS = 64, 2000
"""Rows of the first request and of the largest: the first is small, as the range may have no more."""
MAX_BATCH_BYTES = 4 << 20
"""Bytes of the values of a batch, about: the Thrift2 server has the whole batch in memory."""
RANGES_PER_REQUEST = 500
"""Ranges that one request names."""
MAX_SINGLE_RANGE_REQUESTS = 32
"""Ranges that get a request each if only their first rows are wanted; more ranges go together."""
BYTES_PER_SEEK, BYTES_PER_ROW = 60_000, 1500
"""The cost of a request and of a row, as the number of bytes of values that HBase returns in the same
time."""
MAX_UNVERIFIED_GROUPS = 64
"""Groups skipped on the caller's word that groups are large; after that, the pages read must show it."""
ROWS_EXAMINED_PER_REQUEST = 250_000.0
"""Rows that a request with a condition examines at most, about: HBase needs some seconds for them."""


def next_size(size: int, stored: Sequence[bytes]) -> int:
    """Return how many rows to read after a batch, by the size of its rows."""
    average = sum(map(len, stored)) // max(1, len(stored)) + 1
    return max(1, min(size * 8, MAX_BATCH_ROWS, MAX_BATCH_BYTES // average))


def forward(
    table: HBaseTable,
    ranges: Sequence[Range],
    limit: int | None,
    expected: int = 0,
    where: Condition | None = None,
) -> Iterator[Row]:
    """Yield the rows of disjoint ranges, in key order.

    Args:
        table: table to scan.
        ranges: ranges in key order, each with start < stop. HBase seeks from one to the next in one request.
        limit: number of rows that the caller will examine; more may be yielded.
        expected: probable number of rows.
        where: condition; most rows that do not satisfy it are left out.
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

    A reverse scan of HBase includes the upper bound and excludes the lower one. So both are widened, and the
    rows outside are left out.
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

    A few ranges get a request each, because in a common request HBase reads one row behind each range to see
    its end. Many ranges share requests: the extra rows cost less than the extra requests.

    Args:
        table: table to scan.
        ranges: ranges in key order, each with start < stop.
        each: number of rows of each range.
        where: condition; most rows that do not satisfy it are left out.
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
    """Yield the wanted rows of groups and the rows before them, and perhaps others.

    A seek is a request. In its time HBase returns some 40 rows, or fewer long ones. So a seek pays only after
    many old rows have been read. There are two exceptions. If the caller says that groups are large, such as
    30 partitions after 20,000 commits, the first request is small and the first groups with several rows are
    skipped. If the wanted row of a group is known, the request leaves out the rest of the group, and HBase
    seeks by itself.

    Args:
        table: table to scan.
        ranges: ranges in key order, each with start < stop.
        groups: the groups of the rows.
        single: whether each range has one group only.
        limit: number of rows that the caller will examine; more may be yielded.
        where: condition; most rows that do not satisfy it are left out.
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
                return is_crowded(groups, rows)
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


def count(table: HBaseTable, ranges: Sequence[Range], limit: int) -> int:
    """Return the number of rows in ranges, removed ones included, or `limit` if there are more.

    Thrift2 has no count, so the rows come without their values.
    """
    counted = 0
    for first in range(0, len(ranges), RANGES_PER_REQUEST):
        remaining: Sequence[Range] = ranges[first : first + RANGES_PER_REQUEST]
        while remaining and counted < limit:
            size = min(MAX_BATCH_ROWS, limit - counted)
            batch = table.scan(remaining[0][0], remaining[-1][1], size, filter=_keys_in(remaining))
            counted += len(batch)
            if len(batch) < size:
                break
            remaining = _after(remaining, batch[-1][0] + b"\0")
    return counted


def first_keys(table: HBaseTable, start: bytes, stop: bytes | None, leading: Leading, limit: int) -> KeyPage:
    """Return the first key of each group, removed rows included, by a request for each."""

    def first(start: bytes) -> bytes | None:
        rows = table.scan(start, stop, 1, filter=_keys_in([(start, stop)]))
        return rows[0][0] if rows else None

    return one_by_one_keys(first, start, stop, leading, limit)


def _keys_in(ranges: Sequence[Range]) -> bytes:
    filters = [row_ranges(ranges)] if len(ranges) > 1 else []
    return all_of([*filters, values_only(), keys_only()])


def _reader(table: HBaseTable, ranges: Sequence[Range], where: Condition | None) -> ReadPage:
    starts = [start for start, _ in ranges]

    def read(start: bytes, count: int) -> RowPage:
        rows: list[Row] = []
        index = max(0, bisect_right(starts, start) - 1)
        window = (
            RANGES_PER_REQUEST if count > 1 else MAX_SINGLE_RANGE_REQUESTS
        )  # for one row, a request with few ranges is enough
        while index < len(ranges) and len(rows) < count:
            if window_ranges := _after(ranges[index : index + window], start):
                missing = count - len(rows)
                filter = _filter(window_ranges, where, missing / ROWS_EXAMINED_PER_REQUEST)
                rows += table.scan(window_ranges[0][0], window_ranges[-1][1], missing, filter=filter)
            index += window
        return RowPage(list(present(rows)), rows[-1][0] if len(rows) == count else None)

    return read


def _largest_page(rows: Sequence[Row]) -> int:
    return next_size(MAX_BATCH_ROWS, [value for _, value in rows])


def _first_each(rows: Iterable[Row], ranges: Sequence[Range], each: int) -> Iterator[Row]:
    starts = [start for start, _ in ranges]
    index = count = 0
    for row in rows:
        now = bisect_right(starts, row[0])
        index, count = now, count + 1 if now == index else 1
        if count <= each:
            yield row


def _count(size: int, limit: int | None, fetched: int) -> int:
    return size if limit is None or fetched >= limit else min(size, limit - fetched)


def _after(ranges: Sequence[Range], start: bytes) -> list[Range]:
    return [(max(first, start), stop) for first, stop in ranges if stop is None or stop > start]


def _just_below(key: bytes) -> bytes | None:
    """Return a key a little less than another, or None if no key is less.

    >>> _just_below(b"a\\x00"), _just_below(b"b"), _just_below(b"")
    (b'a', b'a\\xff\\xff\\xff\\xff', None)
    """
    if key.endswith(b"\0"):
        return key[:-1] or None
    return key[:-1] + bytes([key[-1] - 1]) + b"\xff" * 4 if key else None
