"""Requests of a filter to HBase, rows that HBase examines for it, and rows that it returns.

The counts are exact: a proxy sees the requests, HBase counts what it examines, and the rows that the store
returns are counted. Entries of an index and the table's head are rows like any other. So is, as HBase counts,
the row where it sees that a range is over and seeks the next one.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from benchmarks.measure import BenchmarkFinding, Result, take_turns
from benchmarks.metastore.table import (
    DATABASE,
    FILTERS_PER_KIND,
    SELECTED_PARTITIONS,
    TABLE,
    Grid,
    Lookups,
    count_found,
    fill,
    new_table,
    progress,
)
from parquetry.metastore import Metastore, TableSnapshot
from parquetry.metastore.access.access_paths import cheapest_plan
from parquetry.metastore.operations.indexes import create_index
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import Predicate
from parquetry.store import Store
from parquetry.store.hbase.store import HBaseStore
from tests.support.hbase.launcher import HBaseServer
from tests.support.hbase.proxy import Proxy

_TABLE = "metastore"
_MAX_EXAMINED_PER_ROW = 1.1
"""Rows that may be examined for each that is returned."""


@dataclass(frozen=True, slots=True)
class _Filter:
    """A kind of filter.

    Attributes:
        name: for the report.
        make: gives one of a number.
        partitions: that it finds.
        named: whether the keys to read can be named: by leading columns, ranges or an index.
    """

    name: str
    make: Callable[[int], Predicate]
    partitions: int
    named: bool = True


class _RowCountingStore:
    """A store that counts the rows it returns; otherwise it is the one that it wraps."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.returned = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def get(self, key: bytes) -> bytes | None:
        value = self._store.get(key)
        self.returned += value is not None
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        values = self._store.get_many(keys)
        self.returned += sum(value is not None for value in values)
        return values

    def scan(self, *arguments: Any, **options: Any) -> Iterator[tuple[bytes, bytes]]:
        return self._counted(self._store.scan(*arguments, **options))

    def scan_ranges(self, *arguments: Any, **options: Any) -> Iterator[tuple[bytes, bytes]]:
        return self._counted(self._store.scan_ranges(*arguments, **options))

    def _counted(self, rows: Iterable[tuple[bytes, bytes]]) -> Iterator[tuple[bytes, bytes]]:
        for row in rows:
            self.returned += 1
            yield row


def measure(result: Result, partitions: int, console: Console) -> None:
    """Fill a table on a real HBase, and count what each kind of filter costs.

    Args:
        result: gets the findings.
        partitions: of the table.
        console: for the progress.
    """
    grid = Grid(partitions)
    with tempfile.TemporaryDirectory(prefix="parquetry-hbase-") as folder:
        with console.status("starting HBase"):
            server = HBaseServer(Path(folder) / "server")
        try:
            _fill(server, grid, console)
            with console.status("asking HBase"):
                for kind in _filters(grid):
                    _count(result, server, grid, kind)
                _time(result, server, grid)
        finally:
            server.stop()


def _filters(grid: Grid) -> list[_Filter]:
    return [
        _Filter("leading columns", grid.leading, SELECTED_PARTITIONS),
        _Filter("the whole key", grid.whole, 1),
        _Filter("many whole keys", grid.scattered, SELECTED_PARTITIONS),
        _Filter("a non-leading column, by an index", grid.skipping, SELECTED_PARTITIONS),
        _Filter("the first and the last column", grid.within, SELECTED_PARTITIONS),
        _Filter("the second column, without an index", grid.hourly, grid.hourly_partitions, named=False),
    ]


def _fill(server: HBaseServer, grid: Grid, console: Console) -> None:
    store = HBaseStore.open(server.url(_TABLE), create=True)
    with Metastore(store, "/bench") as metastore, progress(console) as shown:
        task = shown.add_task("partitions on HBase", total=grid.partitions)
        table = fill(new_table(metastore), grid, lambda count: shown.advance(task, count))
        shown.update(task, description="index on HBase", total=None)
        create_index(table, ["region"])


def _count(result: Result, server: HBaseServer, grid: Grid, kind: _Filter) -> None:
    proxy = Proxy(server.port)
    store = _RowCountingStore(HBaseStore("127.0.0.1", proxy.port, _TABLE))
    table = Metastore(cast(Store, store), "/bench").table(DATABASE, TABLE)
    examined, returned, requests = server.rows_examined(_TABLE), store.returned, len(proxy.requests)
    for number in range(FILTERS_PER_KIND):
        _check(table, kind, kind.make(number))
    examined, returned = server.rows_examined(_TABLE) - examined, store.returned - returned
    requests = len(proxy.requests) - requests
    store.close()
    proxy.close()
    what = f"HBase, {grid.partitions:,} partitions, {kind.partitions:,} by {kind.name}"
    result.findings += [
        BenchmarkFinding(f"{what}: requests", requests / FILTERS_PER_KIND, None, ""),
        BenchmarkFinding(f"{what}: rows examined", examined / FILTERS_PER_KIND, None, ""),
        BenchmarkFinding(
            f"{what}: rows examined / rows returned",
            examined / returned,
            _MAX_EXAMINED_PER_ROW if kind.named else None,
        ),
    ]


def _check(table: TableSnapshot, kind: _Filter, predicate: Predicate) -> None:
    found = count_found(table, cheapest_plan(table, Filter(predicate)))
    if found != kind.partitions:
        raise AssertionError(f"{found} partitions instead of {kind.partitions}: {predicate}")


def _time(result: Result, server: HBaseServer, grid: Grid) -> None:
    """Time the filters without the proxy."""
    with Metastore(HBaseStore.open(server.url(_TABLE)), "/bench") as metastore:
        table = metastore.table(DATABASE, TABLE)
        for kind in _filters(grid):
            if kind.named:
                asked = [Filter(kind.make(number)) for number in range(FILTERS_PER_KIND)]
                lookups = Lookups(
                    lambda asked_for: count_found(table, cheapest_plan(table, asked_for)),
                    asked,
                    kind.partitions,
                )
                job = f"HBase, {grid.partitions:,} partitions, {kind.partitions} by {kind.name}"
                result.timings.append(take_turns(job, {"parquetry": lookups}, rounds=2 * FILTERS_PER_KIND))
