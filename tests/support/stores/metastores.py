"""Stores that fail on purpose, and small tables, for the tests of the metastore."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from parquetry.errors import StoreError
from parquetry.keys import successor
from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.storage.keyspace import (
    CHUNKS,
    JOURNAL,
    METADATA,
    SUMMARIES,
    partition_prefix,
    prefix_range,
    removed_files_prefix,
    ticket_of,
)
from parquetry.metastore.versions.snapshot import load
from parquetry.scan.plan import KeyScan, ScanPlan
from parquetry.store import MemoryStore, Store
from parquetry.store.base import Fields, Range
from parquetry.store.condition import Condition
from parquetry.store.groups import Groups
from tests.support.planning.keys import leading


def current_table(metastore: Metastore, name: str) -> TableSnapshot:
    """Return a table as it is now, given its name with its catalog."""
    return metastore.table(*name.split(".")[1:])


class Crash(BaseException):
    """The process is gone."""


class FaultyStore:
    """A store whose writes, counted row by row, can be watched, interrupted, and lose their answers.

    Attributes:
        writes: number of rows written so far.
        swaps: number of compare-and-sets so far.
    """

    def __init__(self, store: Store) -> None:
        self.store = store
        self.writes = 0
        self.swaps = 0
        self.crash_at: int | None = None
        self.fail_at: int | None = None
        self.before_write: Callable[[int], None] | None = None
        self.after_get: Callable[[], None] | None = None
        self.answer: Callable[[int, Callable[[], bool]], bool] | None = None
        self.dead = False

    def _count(self) -> None:
        self._alive()
        if self.before_write is not None:
            hook, self.before_write = self.before_write, None
            hook(self.writes)
            if self.before_write is None:
                self.before_write = hook
        if self.writes == self.crash_at:
            self.dead = True
            raise Crash
        self.writes += 1
        if self.writes - 1 == self.fail_at:
            raise StoreError("the store failed, as the test asked")

    def _alive(self) -> None:
        if self.dead:
            raise Crash

    def get(self, key: bytes) -> bytes | None:
        self._alive()
        value = self.store.get(key)
        if self.after_get is not None:
            hook, self.after_get = self.after_get, None
            hook()
            if self.after_get is None:
                self.after_get = hook
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self._alive()
        return self.store.get_many(keys)

    def scan(
        self, start: bytes, stop: bytes | None, *, limit: int | None = None, reverse: bool = False
    ) -> Iterator[tuple[bytes, bytes]]:
        self._alive()
        return self.store.scan(start, stop, limit=limit, reverse=reverse)

    def scan_ranges(
        self,
        ranges: Sequence[Range],
        *,
        limit: int | None = None,
        each: int | None = None,
        where: Condition | None = None,
        groups: Groups | None = None,
    ) -> Iterator[tuple[bytes, bytes]]:
        self._alive()
        return self.store.scan_ranges(ranges, limit=limit, each=each, where=where, groups=groups)

    def put_many(self, rows: Iterable[tuple[bytes, bytes]], fields: Fields | None = None) -> bool:
        in_doubt = False
        for row in rows:
            self._count()
            in_doubt |= self.store.put_many([row], fields)
        return in_doubt

    def delete_many(self, keys: Iterable[bytes]) -> None:
        for key in keys:
            self._count()
            self.store.delete_many([key])

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        self._count()
        self.swaps += 1
        if self.answer is not None:
            return self.answer(self.swaps - 1, lambda: self.store.compare_and_set(key, expected, value))
        return self.store.compare_and_set(key, expected, value)

    def close(self) -> None:
        """The inner store goes on."""


class OnceStore(FaultyStore):
    """A store that refuses to replace an existing row by another value."""

    def put_many(self, rows: Iterable[tuple[bytes, bytes]], fields: Fields | None = None) -> bool:
        batch = list(rows)
        for key, value in batch:
            assert self.store.get(key) in (None, value), f"row {key.hex()} is given another value"
        return super().put_many(batch, fields)


class LateStore(FaultyStore):
    """A store that gets no answer to its first try of each write of rows, tries again, and says so.

    What was tried first is carried out when it arrives, be it long after.
    """

    def __init__(self, store: Store) -> None:
        super().__init__(store)
        self._tried: list[tuple[list[tuple[bytes, bytes]], Fields | None]] = []

    def put_many(self, rows: Iterable[tuple[bytes, bytes]], fields: Fields | None = None) -> bool:
        batch = list(rows)
        super().put_many(batch, fields)
        self._tried.append((batch, fields))
        return True

    def arrive(self) -> None:
        """Carry out the first tries, in their order."""
        for batch, fields in self._tried:
            self.store.put_many(batch, fields)


def metadata(**changes: Any) -> TableMetadata:
    fields: dict[str, Any] = {
        "columns": (TableColumn("x", "long"), TableColumn("d", "integer"), TableColumn("s", "string")),
        "partition_by": ("d", "s"),
        "format": "parquet",
        "location": "/lake/t",
    }
    return TableMetadata(**{**fields, **changes})


def file(name: str, rows: int | None = 10, bytes: int = 100) -> FileRecord:
    return FileRecord(name, bytes, rows)


def new_table(store: Store | None = None) -> tuple[Metastore, TableSnapshot]:
    """Return a metastore in memory with a table `default.t`: (1, a) with file a, (2, b) with file b."""
    metastore = Metastore(store or MemoryStore(), "/lake")
    table = metastore.create_table("default", "t", metadata())
    transaction = Transaction(table, "fill")
    transaction.append((1, "a"), [file("a")])
    transaction.append((2, "b"), [file("b")])
    return metastore, commit(transaction)


Content = dict[tuple[Any, ...], list[str]]


def content(table: TableSnapshot) -> Content:
    """Return the names of the files by partition, after checking the totals against them."""
    found = list(table.partitions())
    totals = table.totals
    rows = [part.rows for part in found]
    assert totals.partitions == len(found)
    assert totals.files == sum(part.file_count for part in found) == sum(len(part.files) for part in found)
    assert totals.bytes == sum(part.bytes for part in found)
    assert totals.rows == (None if None in rows else sum(count or 0 for count in rows))
    for part in found:
        same = table.partition(part.values)
        assert same is not None
        assert same.files == part.files
    return {part.values: [each.path for each in part.files] for part in found}


def whole_day(table: TableSnapshot, day: int) -> ScanPlan:
    """Return the plan of `d = day`."""
    prefix = leading(table.key_schema, (day,))
    return ScanPlan((KeyScan("range", prefix, successor(prefix), None),))


def leftovers(store: Store, table: bytes) -> list[str]:
    """Return what a table's rows hold that no version needs."""
    head = read_head(store, table)
    assert head is not None
    known = {commit.ticket for commit in load(store, table, head).history()}
    found = [f"pending ticket {ticket}" for ticket in head.pending]
    found += [f"journal {key.hex()}" for key, _ in store.scan(*prefix_range(JOURNAL + table))]
    tagged = (partition_prefix(table), removed_files_prefix(table))
    tickets = [(key, ticket_of(key)) for tag in tagged for key, _ in store.scan(*prefix_range(tag))]
    for tag in (CHUNKS, SUMMARIES, METADATA):
        for key, _ in store.scan(*prefix_range(tag + table)):
            tickets.append((key, int.from_bytes(key[9:17], "big")))
    for key, ticket in tickets:
        if ticket not in known:
            found.append(f"row {key.hex()} of ticket {ticket}")
    return found
