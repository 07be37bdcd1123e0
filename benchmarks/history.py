"""The cost of a plan after many commits and after one. No table is vacuumed; no Spark runs.

Tables are made in memory, commit by commit, and then copied into SQLite, and into a real HBase, row by row:
it is the readers that are measured. Beside each stands a table of the same files that one commit made.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from benchmarks.measure import BenchmarkFinding, Result, take_turns
from benchmarks.metastore.table import progress
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
)
from parquetry.metastore.commits.committer import commit
from parquetry.predicate.reading.parse import parse_filter
from parquetry.prune.select import select_files
from parquetry.store import MemoryStore, SQLiteStore, Store
from parquetry.store.hbase.store import HBaseStore
from tests.support.hbase.launcher import HBaseServer

COMMITS = 20_000
MAX_GROWTH = 1.2
"""Times what a plan costs after one commit that it may cost after many."""
_COLUMNS = (TableColumn("id", "long"), TableColumn("amount", "double"), TableColumn("key", "integer"))
_DATABASE, _TABLE = "bench", "t"
_ROWS_PER_COPY = 5000
_ROUNDS = 41


@dataclass(frozen=True, slots=True)
class _History:
    """A table with a past.

    Attributes:
        name: for the report.
        partitions: 0: the table is not partitioned.
        appends: whether commits add a file to a partition; otherwise they replace its files by one.
    """

    name: str
    partitions: int
    appends: bool


_HISTORIES = (
    _History("appends, not partitioned", 0, True),
    _History("overwrites, not partitioned", 0, False),
    _History("appends to 30 partitions", 30, True),
    _History("overwrites of 30 partitions", 30, False),
)


class _ByteCountingStore:
    """A store that counts the bytes of the values it returns; otherwise it is the one that it wraps."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.bytes = self.rows = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def get(self, key: bytes) -> bytes | None:
        return next(iter(self.get_many([key])))

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        values = self._store.get_many(keys)
        self.rows += len(values)
        self.bytes += sum(len(value) for value in values if value is not None)
        return values

    def scan(self, *arguments: Any, **options: Any) -> Iterator[tuple[bytes, bytes]]:
        return self._counted(self._store.scan(*arguments, **options))

    def scan_ranges(self, *arguments: Any, **options: Any) -> Iterator[tuple[bytes, bytes]]:
        return self._counted(self._store.scan_ranges(*arguments, **options))

    def _counted(self, rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        for row in rows:
            self.rows += 1
            self.bytes += len(row[1])
            yield row


def run(_folder: Path, scale: float) -> Result:
    """Make tables by many commits and by one, and plan the reading of all of their files."""
    result = Result("history")
    console = Console(highlight=False)
    commits = int(COMMITS * scale)
    with tempfile.TemporaryDirectory(prefix="parquetry-history-") as folder:
        with console.status("starting HBase"):
            server = HBaseServer(Path(folder) / "server")
        try:
            for number, history in enumerate(_HISTORIES):
                many, one = _many(history, commits, console), _one(history, commits)
                names = (f"many{number}", f"one{number}")
                stores: list[tuple[str, Callable[[str], Store]]] = [
                    ("SQLite", lambda name: SQLiteStore(Path(folder) / name)),
                    ("HBase", lambda name: HBaseStore.open(server.url(name), create=True)),
                ]
                for kind, opened in stores:
                    copies = tuple(map(opened, names))
                    for copy, rows in zip(copies, (many, one), strict=True):
                        _copy(rows, copy, f"{history.name}: {kind}", console)
                    _compare(result, f"{kind}, {commits:,} {history.name}", *copies)
                    for copy in copies:
                        copy.close()
        finally:
            server.stop()
    return result


def _new_table(history: _History) -> TableSnapshot:
    metastore = Metastore(MemoryStore(), "/bench")
    metastore.create_database(_DATABASE)
    by = ("key",) if history.partitions else ()
    metadata = TableMetadata(_COLUMNS, by, "parquet", metastore.table_location(_DATABASE, _TABLE))
    return metastore.create_table(_DATABASE, _TABLE, metadata)


def _values(history: _History, number: int) -> tuple[int, ...]:
    return (number % history.partitions,) if history.partitions else ()


def _file(number: int) -> FileRecord:
    statistics = {
        "id": ColumnStatistics(80_000, 0, number, number + 9),
        "amount": ColumnStatistics(70_000, 12, 0.0, 9.5),
    }
    return FileRecord(f"part-{number:06}.parquet", 160_000, 10_000, 0, statistics)


def _many(history: _History, commits: int, console: Console) -> Store:
    table = _new_table(history)
    with progress(console) as shown:
        task = shown.add_task(f"{history.name}: commits", total=commits)
        for number in range(commits):
            transaction = Transaction(table, "append")
            write = transaction.append if history.appends else transaction.replace
            write(_values(history, number), [_file(number)])
            table = commit(transaction)
            shown.advance(task)
    return table.store


def _one(history: _History, commits: int) -> Store:
    table = _new_table(history)
    transaction = Transaction(table, "append")
    first = 0 if history.appends else commits - max(1, history.partitions)
    for number in range(first, commits):
        transaction.append(_values(history, number), [_file(number)])
    return commit(transaction).store


def _copy(rows: Store, copy: Store, what: str, console: Console) -> None:
    with progress(console) as shown:
        task = shown.add_task(f"{what}: rows", total=None)
        batch: list[tuple[bytes, bytes]] = []
        for row in rows.scan(b"", None):
            batch.append(row)
            if len(batch) == _ROWS_PER_COPY:
                copy.put_many(batch)
                shown.advance(task, len(batch))
                batch = []
        copy.put_many(batch)


def _compare(result: Result, what: str, many: Store, one: Store) -> None:
    after_many, after_one = "after many commits", "after one"
    read = {name: _read(store) for name, store in ((after_many, many), (after_one, one))}
    variants = {name: partial(_plan, store) for name, store in ((after_many, many), (after_one, one))}
    timing = take_turns(f"planning, {what}", variants, rounds=_ROUNDS)
    result.timings.append(timing)
    result.findings += [
        BenchmarkFinding(
            f"{what}: time of a plan, to that after one", timing.ratio(after_many, after_one), MAX_GROWTH
        ),
        BenchmarkFinding(
            f"{what}: bytes read, to those after one", read[after_many] / read[after_one], MAX_GROWTH
        ),
    ]


def _read(store: Store) -> int:
    watched = _ByteCountingStore(store)
    _plan(cast(Store, watched))
    return watched.bytes


def _plan(store: Store) -> int:
    """Find the table and select its files, as the planner does for a query of all partitions."""
    table = Metastore(store, "/bench").table(_DATABASE, _TABLE)
    condition = "key >= 0" if table.partition_types else "true"
    selection = select_files(table, [parse_filter(condition, table.key_schema.types)], about=())
    return selection.block.count
