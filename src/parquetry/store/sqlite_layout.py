"""The tables of a SQLite file, and how rows are read and written there.

| version  | table           | content                                                            |
|----------|-----------------|--------------------------------------------------------------------|
| 0 INLINE | `kv (k, v)`     | each value beside its key                                          |
| 1 APART  | `keyed (k, v)`  | each value beside its key, or the id of a row of `large`           |
|          | `large (id, v)` | values of rows of more than `MAX_ROW_BYTES_IN_PAGE` bytes          |
|          | `kv`            | a view of both, with the columns of version 0                      |

**Why apart?** To find a key in a table without rowid, SQLite compares it with the rows on the way, and reads
each of those rows whole. Past four values of 400 KB a lookup takes 80 µs instead of 5. With large values
apart, every row of `keyed` is in one page. `large` is searched by number, which reads no value but the wanted
one.

**Versions.** A new file has version 1. A file of version 0 keeps its version, so that older libraries can go
on using it, until a value of more than `MAX_VALUE_BYTES_IN_VERSION_0` bytes is written. Then its table is
renamed, and the values in it stay there. Older libraries read a file of version 1 through the view; their
writes fail with a message. The version is `PRAGMA user_version`, written in one transaction with the tables.

The functions that write need a transaction that can.
"""

from __future__ import annotations

import enum
import functools
import sqlite3
from collections.abc import Iterable, Iterator, Sequence

from parquetry.store.groups import MIN_PAGE_ROWS, Groups, Range, Row, RowPage

MAX_ROW_BYTES_IN_PAGE = 4000
"""Bytes of key and value. A larger row of a table without rowid would overflow its page of 16 KiB."""
MAX_VALUE_BYTES_IN_VERSION_0 = 64 << 10
"""Bytes of a value. Format 1 of the metastore hardly ever has larger ones, and SQLite reads smaller ones in a
few µs."""


class Layout(enum.IntEnum):
    """Version of the tables."""

    INLINE = 0
    APART = 1


_TABLES = {Layout.INLINE: "kv", Layout.APART: "keyed"}
_INLINE = ("CREATE TABLE kv (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID",)
_APART = (
    "ALTER TABLE kv RENAME TO keyed",
    "CREATE TABLE large (id INTEGER PRIMARY KEY, v BLOB NOT NULL)",
    # In SQLite a number is less than any bytes. This test takes half the time of `typeof`.
    """
    CREATE VIEW kv AS
    SELECT k, CASE WHEN v < x'' THEN (SELECT large.v FROM large WHERE id = keyed.v) ELSE v END AS v FROM keyed
    """,
    *(
        f"""
        CREATE TRIGGER no_{event} INSTEAD OF {event} ON kv
        BEGIN SELECT raise(ABORT, 'a later Parquetry has changed its tables; use that'); END
        """
        for event in ("INSERT", "UPDATE", "DELETE")
    ),
    f"PRAGMA user_version = {Layout.APART:d}",
)
# Not through the view, because SQLite copies the value of a subquery.
_GET_APART = """
    SELECT CASE typeof(keyed.v) WHEN 'integer' THEN large.v ELSE keyed.v END, keyed.k AS k
    FROM keyed LEFT JOIN large ON large.id = CASE typeof(keyed.v) WHEN 'integer' THEN keyed.v END
    WHERE keyed.k
"""
_GETS = {Layout.INLINE: "SELECT v, k FROM kv WHERE k", Layout.APART: _GET_APART}
_KEYS_PER_STATEMENT = 256
"""Most keys of one statement. Their number is padded to a power of two, so that SQLite prepares few
statements."""
_RANGES_PER_COUNT = 8
"""Most ranges that one statement counts."""
_DELETE_LARGE_VALUE = (
    "DELETE FROM large WHERE id = (SELECT v FROM keyed WHERE k = ? AND typeof(v) = 'integer')"
)
"""Removes the value of a row from `large`."""


def create(connection: sqlite3.Connection) -> None:
    """Create the tables if they do not exist."""
    if connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'kv'").fetchone() is None:
        for statement in _INLINE + _APART:
            connection.execute(statement)


def get(connection: sqlite3.Connection, layout: Layout, key: bytes) -> bytes | None:
    """Return the value of a key, or None if the row is absent.

    Args:
        connection: connection to the file.
        layout: layout of the file, or an earlier one.
        key: key to look up.
    """
    row = connection.execute(f"{_GETS[layout]} = ?", (key,)).fetchone()
    return None if row is None else row[0]


def get_many(connection: sqlite3.Connection, layout: Layout, keys: Sequence[bytes]) -> list[bytes | None]:
    """Return the values of keys, in the order of the keys.

    Some hundred take a third of the time of as many `get`s.

    Args:
        connection: connection to the file.
        layout: layout of the file, or an earlier one.
        keys: keys to look up.
    """
    if len(keys) < 2:
        return [get(connection, layout, key) for key in keys]
    values: dict[bytes, bytes] = {}
    for first in range(0, len(keys), _KEYS_PER_STATEMENT):
        some = keys[first : first + _KEYS_PER_STATEMENT]
        count = 1 << (len(some) - 1).bit_length()
        statement = f"{_GETS[layout]} IN ({','.join('?' * count)})"
        padded = (*some, *[some[-1]] * (count - len(some)))
        values.update((key, value) for value, key in connection.execute(statement, padded))
    return [values.get(key) for key in keys]


def count(connection: sqlite3.Connection, layout: Layout, ranges: Sequence[Range], limit: int) -> int:
    """Return the number of rows in disjoint ranges, or `limit` if there are more."""
    counted = 0
    for first in range(0, len(ranges), _RANGES_PER_COUNT):
        if counted >= limit:
            break
        some = ranges[first : first + _RANGES_PER_COUNT]
        statement = _count_statement(layout, tuple(stop is None for _, stop in some))
        bounds: list[bytes | int] = []
        for start, stop in some:
            bounds += (start, limit) if stop is None else (start, stop, limit)
        counted += connection.execute(statement, bounds).fetchone()[0]
    return min(counted, limit)


@functools.cache
def _count_statement(layout: Layout, unbounded: tuple[bool, ...]) -> str:
    counts = (
        f"(SELECT count(*) FROM (SELECT 1 FROM {_TABLES[layout]} WHERE k >= ? {'' if each else 'AND k < ?'} LIMIT ?))"
        for each in unbounded
    )
    return f"SELECT {' + '.join(counts)}"


def first_key(
    connection: sqlite3.Connection, layout: Layout, start: bytes, stop: bytes | None
) -> bytes | None:
    """Return the first key with start <= key < stop, or None if there is none."""
    bounds = (start,) if stop is None else (start, stop)
    below = "" if stop is None else "AND k < ?"
    statement = f"SELECT k FROM {_TABLES[layout]} WHERE k >= ? {below} ORDER BY k LIMIT 1"
    row = connection.execute(statement, bounds).fetchone()
    return None if row is None else row[0]


def put(connection: sqlite3.Connection, layout: Layout, rows: Iterable[Row]) -> None:
    """Write rows. If a key comes twice, its last value wins."""
    if layout is Layout.INLINE:
        rows = list(rows)
        layout = _raise_layout(connection, layout, (value for _, value in rows))
    placed: list[tuple[bytes, bytes | int]] = []

    def placing() -> Iterator[tuple[bytes, bytes | int]]:
        for key, value in rows:
            placed.append((key, _store_value(connection, layout, key, value)))
            yield placed[-1]

    # Most rows are new. A trigger that removes old large values would make each write three times as slow.
    insert = f"INSERT INTO {_TABLES[layout]} (k, v) VALUES (?, ?) ON CONFLICT (k) DO NOTHING"
    if connection.executemany(insert, placing()).rowcount < len(placed):
        for key, value in placed:
            _update(connection, layout, key, value)


def swap(
    connection: sqlite3.Connection, layout: Layout, key: bytes, expected: bytes | None, value: bytes | None
) -> bool:
    """Write (None: remove) a row if it has the expected value (None: is absent); return whether it did."""
    if get(connection, layout, key) != expected:
        return False
    if value is None:
        delete(connection, layout, [key])
    elif expected is None:
        put(connection, layout, [(key, value)])
    else:
        layout = _raise_layout(connection, layout, [value])
        _update(connection, layout, key, _store_value(connection, layout, key, value))
    return True


def delete(connection: sqlite3.Connection, layout: Layout, keys: Iterable[bytes]) -> None:
    """Remove rows. Absent rows are no error."""
    some = [(key,) for key in keys]
    if layout is Layout.APART:
        connection.executemany(_DELETE_LARGE_VALUE, some)
    connection.executemany(f"DELETE FROM {_TABLES[layout]} WHERE k = ?", some)


def _raise_layout(connection: sqlite3.Connection, layout: Layout, values: Iterable[bytes]) -> Layout:
    """Raise the layout if the values to be written need it, and return it."""
    if layout is Layout.APART or all(len(value) <= MAX_VALUE_BYTES_IN_VERSION_0 for value in values):
        return layout
    for statement in _APART:
        connection.execute(statement)
    return Layout.APART


def _store_value(connection: sqlite3.Connection, layout: Layout, key: bytes, value: bytes) -> bytes | int:
    """Return the value to store beside a key: the bytes themselves, or their id in `large`."""
    if layout is Layout.INLINE or len(key) + len(value) <= MAX_ROW_BYTES_IN_PAGE:
        return value
    number = connection.execute("INSERT INTO large (v) VALUES (?)", (value,)).lastrowid
    assert number is not None
    return number


def _update(connection: sqlite3.Connection, layout: Layout, key: bytes, placed: bytes | int) -> None:
    """Give an existing row a new value, unless it is the row that has just been written."""
    if layout is Layout.APART:
        connection.execute(f"{_DELETE_LARGE_VALUE} AND id IS NOT ?", (key, placed))
    connection.execute(f"UPDATE {_TABLES[layout]} SET v = ? WHERE k = ?", (placed, key))


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
