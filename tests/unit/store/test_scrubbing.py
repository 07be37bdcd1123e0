"""Deleted rows of a SQLite store: `scrub` leaves their bytes in none of its files."""

from __future__ import annotations

import random
import sqlite3
from pathlib import Path

import pytest

from parquetry.store import KeepsDeletedRows, MemoryStore, SQLiteStore

SECRET = b"Zyxwvut"


def holders(folder: Path) -> set[str]:
    return {file.name for file in folder.iterdir() if SECRET in file.read_bytes()}


def fill(store: SQLiteStore, seed: int) -> list[bytes]:
    """Write rows of many sizes in random order, so that pages divide, and return the keys of secret ones."""
    random_numbers = random.Random(seed)
    rows = {b"%06d" % number: b"x" * random_numbers.randrange(1, 9000) for number in range(600)}
    secret = random_numbers.sample(sorted(rows), 60)
    rows.update((key, SECRET + rows[key]) for key in secret)
    keys = random_numbers.sample(sorted(rows), len(rows))
    for first in range(0, len(keys), 7):
        store.put_many([(key, rows[key]) for key in keys[first : first + 7]])
    return secret


@pytest.mark.parametrize("seed", [1, 2])
def test_no_file_has_deleted_rows(tmp_path: Path, seed: int) -> None:
    """After a whole scrub neither the file nor its log has the bytes. All other rows stay."""
    store = SQLiteStore(tmp_path / "m.sqlite")
    secret = fill(store, seed)
    assert "m.sqlite-wal" in holders(tmp_path)
    store.delete_many(secret)
    assert "m.sqlite-wal" in holders(tmp_path), "a deletion alone leaves them in the log"
    assert store.scrub(whole=True) is None
    assert holders(tmp_path) == set()
    assert (tmp_path / "m.sqlite-wal").stat().st_size == 0
    assert store.count([(b"", None)], 1000) == 540
    store.close()


def test_a_reader_in_the_way_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While another connection reads, the log cannot be emptied: that is said, and a later scrub does it."""
    monkeypatch.setattr("parquetry.store.sqlite._SCRUB_BUSY_SECONDS", 0)
    store = SQLiteStore(tmp_path / "m.sqlite")
    store.put_many([(b"k", SECRET)])
    other = sqlite3.connect(tmp_path / "m.sqlite")
    other.execute("BEGIN")
    other.execute("SELECT count(*) FROM keyed").fetchone()
    store.delete_many([b"k"])
    assert "another connection reads it): do it again later" in str(store.scrub(whole=False))
    other.close()
    assert store.scrub(whole=False) is None
    assert holders(tmp_path) == set()
    store.close()


def test_a_store_in_memory_has_no_files() -> None:
    """There is nothing to scrub."""
    assert not isinstance(MemoryStore(), KeepsDeletedRows)
