"""SQLite's statements for reading one row of each group."""

from __future__ import annotations

import sqlite3

from parquetry.store.groups import MIN_PAGE_ROWS, Groups, Row, RowPage

_ROWS_PER_FETCH = 64
"""Rows between two checks whether the page has reached a large group. The first check comes after two
rows."""


def plain_page(
    connection: sqlite3.Connection, start: bytes, stop: bytes | None, count: int, groups: Groups
) -> RowPage:
    """Read `count` rows with start <= key < stop, or fewer if they reach a group with several rows."""
    below = "" if stop is None else "AND k < :stop"
    cursor = connection.execute(
        f"SELECT k, v FROM kv WHERE k >= :start {below} ORDER BY k LIMIT :count",
        {"start": start, "stop": stop, "count": count},
    )
    rows: list[Row] = []
    size = MIN_PAGE_ROWS
    while chunk := cursor.fetchmany(size):
        rows += chunk
        if len(chunk) < size:
            break
        if groups.alike(chunk[-1][0], chunk[-2][0]):
            cursor.close()  # ends the read transaction, which would keep the log from being emptied
            return RowPage(rows, rows[-1][0])
        size = _ROWS_PER_FETCH
    return RowPage(rows, rows[-1][0] if len(rows) == count else None)


def skipping_page(
    connection: sqlite3.Connection, start: bytes, stop: bytes | None, count: int, groups: Groups
) -> RowPage:
    """Read the first row of each of `count` groups within start <= key < stop.

    One statement seeks from group to group, which takes a third of the time of a statement per group. The
    operator `||` turns its operands into text without changing the bytes, so a cast makes them bytes again.
    """
    below = "" if stop is None else "AND k < :stop"
    rows: list[Row] = connection.execute(
        f"""
        WITH RECURSIVE leading (k) AS (
          SELECT * FROM (SELECT k FROM kv WHERE k >= :start {below} ORDER BY k LIMIT 1)
          UNION ALL
          SELECT (
            SELECT k FROM kv
            WHERE k >= CAST(substr(leading.k, 1, length(leading.k) - :width) || :end AS BLOB) {below}
            ORDER BY k LIMIT 1
          )
          FROM leading WHERE leading.k IS NOT NULL
          LIMIT :count
        )
        SELECT kv.k, kv.v FROM leading CROSS JOIN kv ON kv.k = leading.k
        """,
        {
            "start": start,
            "stop": stop,
            "count": count,
            "width": groups.width,
            "end": groups.end(bytes(groups.width)),
        },
    ).fetchall()
    return RowPage(rows, rows[-1][0] if len(rows) == count else None)
