"""The inside of a metastore's SQLite file, past the store."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from parquetry.store import sqlite_layout

OLD_TABLE = "CREATE TABLE kv (k BLOB PRIMARY KEY, v BLOB NOT NULL) WITHOUT ROWID"
OLD_PUT = "INSERT INTO kv (k, v) VALUES (?, ?) ON CONFLICT (k) DO UPDATE SET v = excluded.v"


def make_old(path: Path, *rows: tuple[bytes, bytes]) -> Path:
    """Make a file as libraries made it that kept each value beside its key."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size = 16384")
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute(OLD_TABLE)
        connection.executemany(OLD_PUT, rows)
        connection.commit()
    return path


def version(path: Path) -> int:
    """Return the version of the tables of a file."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])


def check_values_apart(path: Path | str, *, inherited: int = 0) -> int:
    """Make sure that each value that stands apart belongs to one row, and return their number.

    Args:
        path: of the file.
        inherited: how many rows have kept a large value beside their keys, at most.
    """
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("BEGIN")
        ids = [id for (id,) in connection.execute("SELECT id FROM large ORDER BY id")]
        named = connection.execute("SELECT v FROM keyed WHERE typeof(v) = 'integer' ORDER BY v").fetchall()
        assert ids == [id for (id,) in named]
        (large,) = connection.execute(
            "SELECT count(*) FROM keyed WHERE typeof(v) = 'blob' AND length(k) + length(v) > ?",
            (sqlite_layout.MAX_ROW_BYTES_IN_PAGE,),
        ).fetchone()
        assert large <= inherited
    return len(ids)
