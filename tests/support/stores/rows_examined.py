"""Counts the rows of a table's partitions that this process reads from a SQLite metastore."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import pytest

from parquetry.metastore.storage.keyspace import partition_prefix
from parquetry.store.sqlite import SQLiteStore


class RowsExamined:
    """Keys of the rows that were read, in order."""

    def __init__(self, table: bytes) -> None:
        self._prefix = partition_prefix(table)
        self._reading = threading.local()
        self.keys: list[bytes] = []

    def __len__(self) -> int:
        return len(self.keys)

    def taking(self, rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        """Yield rows, and note the table's partitions, once where one way to read goes by another."""
        each = iter(rows)
        while True:
            outermost = not getattr(self._reading, "now", False)
            self._reading.now = True
            try:
                row = next(each, None)
            finally:
                self._reading.now = not outermost
            if row is None:
                return
            if outermost and row[0].startswith(self._prefix):
                self.keys.append(row[0])
            yield row


@contextmanager
def rows_examined(monkeypatch: pytest.MonkeyPatch, table: bytes) -> Iterator[RowsExamined]:
    """Note rows of a table's partitions when they are read.

    Args:
        monkeypatch: of the test.
        table: id.
    """
    found = RowsExamined(table)
    scan, scan_ranges, get = SQLiteStore.scan, SQLiteStore.scan_ranges, SQLiteStore.get

    def got(store: SQLiteStore, key: bytes) -> bytes | None:
        value = get(store, key)
        if value is not None:
            list(found.taking([(key, value)]))
        return value

    with monkeypatch.context() as patched:
        patched.setattr(SQLiteStore, "scan", lambda *a, **k: found.taking(scan(*a, **k)))
        patched.setattr(SQLiteStore, "scan_ranges", lambda *a, **k: found.taking(scan_ranges(*a, **k)))
        patched.setattr(SQLiteStore, "get", got)
        yield found
