"""Scans as a series of independent statements: no cursor stays open between two of them.

Many ranges are read together. One statement returns the first rows of each range; then each of the few ranges
with more rows is read by itself. To skip through groups, one statement seeks from group to group in the
index.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

from parquetry.store.batches import largest_batch, next_batch
from parquetry.store.condition import Condition
from parquetry.store.groups import (
    MIN_PAGE_ROWS,
    Groups,
    KeyPage,
    Leading,
    PageReader,
    Range,
    Row,
    RowPage,
    first_row,
    first_rows,
)
from parquetry.store.postgresql.connections import PostgreSQLConnections
from parquetry.store.postgresql.statements import Statements

FIRST_BATCH = 64
"""Rows of the first statement: few, as the range may have no more."""
CROWDED_ROWS = 16
"""Rows per group. In groups of this size or more the server seeks the next group faster than it reads on."""
RANGES_PER_STATEMENT, ROWS_PER_STATEMENT = 500, 2000
"""Ranges whose first rows one statement reads, and about how many rows it reads of all of them together."""


class Pages:
    """The rows of a table, read by statements.

    Args:
        connections: connections to the server.
        statements: statements about the table.
    """

    def __init__(self, connections: PostgreSQLConnections, statements: Statements) -> None:
        self._connections, self._statements = connections, statements

    def scan(
        self,
        start: bytes,
        stop: bytes | None,
        limit: int | None,
        reverse: bool = False,
        where: Condition | None = None,
    ) -> Iterator[Row]:
        """Yield rows with start <= key < stop, in batches that grow."""
        size, remaining = FIRST_BATCH, limit
        while remaining is None or remaining > 0:
            size = size if remaining is None else min(size, remaining)
            batch = self._page(start, stop, size, reverse, where)
            yield from batch
            if len(batch) < size:
                return
            remaining = None if remaining is None else remaining - len(batch)
            last = batch[-1][0]
            start, stop = (start, last) if reverse else (last + b"\0", stop)
            size = next_batch(size, batch)

    def scan_ranges(
        self,
        ranges: Sequence[Range],
        limit: int | None,
        each: int | None,
        where: Condition | None,
        groups: Groups | None,
    ) -> Iterator[Row]:
        """Yield the rows of disjoint ranges in key order. The limit applies to each range."""
        if groups is not None and groups.known_keys and each is None:
            ranges = groups.passing_over(
                [(start, stop) for start, stop in ranges if stop is None or start < stop]
            )
        bounded = [(start, stop) for start, stop in ranges if stop is not None and start < stop]
        for first in range(0, len(bounded), RANGES_PER_STATEMENT):
            together = bounded[first : first + RANGES_PER_STATEMENT]
            if len(together) == 1:
                yield from self._range(*together[0], limit, each, where, groups)
            else:
                yield from self._together(together, limit, each, where, groups)
        for start, stop in ranges:
            if stop is None:
                yield from self._range(start, None, limit, each, where, groups)

    def count(self, ranges: Sequence[Range], limit: int) -> int:
        """Return the number of rows in disjoint ranges, or `limit` if there are more."""
        bounded = [(start, stop) for start, stop in ranges if stop is not None and start < stop]
        some = [
            bounded[first : first + RANGES_PER_STATEMENT]
            for first in range(0, len(bounded), RANGES_PER_STATEMENT)
        ]
        bounds = [[list(each) for each in zip(*ranges, strict=True)] for ranges in some]
        bounds += [[[start]] for start, stop in ranges if stop is None]
        counted = 0
        for each in bounds:
            remaining = limit - counted
            if remaining > 0:
                statement = self._statements.count(len(each) == 2)
                counted += self._rows(statement, [*each, remaining, remaining])[0][0]
        return counted

    def first_keys(self, start: bytes, stop: bytes | None, leading: Leading, limit: int) -> KeyPage:
        """Return the first key of each group in start <= key < stop.

        The server takes a group's first bytes from the column `fields`. If a row has fields of another form
        than the reader expects, the page ends with it, and the reader's own group tells where to go on.
        """
        bound = [] if stop is None else [stop]
        if bound and start >= bound[0]:
            return KeyPage([], None)
        statement = self._statements.first_keys(stop is not None, leading.fields)
        arguments = [leading.offset, start, *bound, leading.offset, leading.behind, *bound, limit]
        keys: list[bytes] = []
        for key, width in self._rows(statement, arguments):
            keys.append(key)
            if width != leading.width(key):
                return KeyPage(keys, leading.end(key))
        return KeyPage(keys, leading.end(keys[-1]) if len(keys) == limit else None)

    def _together(
        self,
        ranges: Sequence[tuple[bytes, bytes]],
        limit: int | None,
        each: int | None,
        where: Condition | None,
        groups: Groups | None,
    ) -> Iterator[Row]:
        count = max(2, min(FIRST_BATCH, ROWS_PER_STATEMENT // len(ranges)))
        count = min(number for number in (count, each, limit) if number is not None)
        statement, arguments = self._statements.first_pages(where)
        starts, stops = [start for start, _ in ranges], [stop for _, stop in ranges]
        pages: list[list[Row]] = [[] for _ in ranges]
        for number, key, value in self._rows(statement, [starts, stops, *arguments, count]):
            pages[number - 1].append((key, value))
        for (_, stop), rows in zip(ranges, pages, strict=True):
            yield from rows
            if len(rows) < count:
                continue
            last = rows[-1][0]
            if groups is None:
                if each is None or each > count:
                    wanted = None if each is None else each - count
                    yield from self._range(last + b"\0", stop, limit, wanted, where, None)
            elif each is None or not any(groups.wants(key) for key, _ in rows):
                yield from self._range(groups.after(rows, last), stop, limit, each, where, groups)

    def _range(
        self,
        start: bytes,
        stop: bytes | None,
        limit: int | None,
        each: int | None,
        where: Condition | None,
        groups: Groups | None,
    ) -> Iterator[Row]:
        if groups is None:
            wanted = [number for number in (limit, each) if number is not None]
            return self.scan(start, stop, min(wanted, default=None), where=where)

        if each is not None:
            return first_row(groups, start, partial(self._plain_page, stop, where))
        return self._leading(start, stop, where, groups)

    def _leading(
        self, start: bytes, stop: bytes | None, where: Condition | None, groups: Groups
    ) -> Iterator[Row]:
        """Yield the wanted row of each group."""
        bound = [] if stop is None else [stop]
        looked_at = 0

        def plain(start: bytes, count: int) -> RowPage:
            nonlocal looked_at
            statement, arguments = self._statements.wanted_page(stop is not None, where)
            marks = [groups.first, sorted(groups.without)]
            *rows, last = self._rows(statement, [groups.width, start, *bound, *arguments, count, *marks]) or [
                (None, None, 0)
            ]
            looked_at = last[2]
            return RowPage([row[:2] for row in rows], last[0] if looked_at == count else None)

        def skipping(start: bytes, count: int) -> RowPage:
            statement, arguments = self._statements.leading(stop is not None, where)
            end = groups.end(bytes(groups.width))
            page = self._rows(statement, [start, *bound, groups.width, end, *bound, *arguments, count])
            rows = [(key, value) for key, value in page if value is not None]
            return RowPage(rows, page[-1][0] if len(page) == count else None)

        def pays(rows: Sequence[Row], _: int) -> bool:
            few = MIN_PAGE_ROWS if looked_at <= MIN_PAGE_ROWS else CROWDED_ROWS
            return looked_at >= few * max(1, len(rows))

        size = MIN_PAGE_ROWS if groups.rows >= CROWDED_ROWS else FIRST_BATCH
        reader = PageReader(plain, skipping, largest_batch, pays, size, FIRST_BATCH)
        return (row for row in first_rows(groups, start, reader) if groups.wants(row[0]))

    def _plain_page(self, stop: bytes | None, where: Condition | None, start: bytes, count: int) -> RowPage:
        rows = self._page(start, stop, count, False, where)
        return RowPage(rows, rows[-1][0] if len(rows) == count else None)

    def _page(
        self, start: bytes, stop: bytes | None, count: int, reverse: bool, where: Condition | None
    ) -> list[Row]:
        if stop is not None and start >= stop:
            return []
        statement, arguments = self._statements.page(stop is not None, reverse, where)
        bounds = [start] if stop is None else [start, stop]
        return self._rows(statement, [*bounds, *arguments, count])

    def _rows(self, statement: Any, arguments: Sequence[Any]) -> list[Any]:
        return self._connections.run(statement, arguments)[0]
