"""Commits of several tables beside commits of one, on PostgreSQL: time, and requests to the server."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

from benchmarks.measure import BenchmarkFinding, Result, Timing
from parquetry.metastore import Draft, FileRecord, Metastore, TableColumn, TableMetadata, Transaction, commit
from parquetry.store import Store, open_store
from tests.support.postgresql.launcher import PostgreSQLServer

_TABLES, _ROUNDS = 10, 40
_MOST = 1.5
"""How many times the requests of a commit of one table a commit of ten tables may take."""
_REQUESTS = {
    *("get", "get_many", "scan", "scan_ranges", "put_many", "delete_many", "compare_and_set"),
    "swap_together",
}
_ONE, _TOGETHER, _SINGLY = "one table", "ten tables in one commit", "ten tables in ten commits"


class _CountedStore:
    """A store that counts requests. None of them needs several statements here."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.requests = 0

    def __getattr__(self, name: str) -> Any:
        answer = getattr(self._store, name)
        if name not in _REQUESTS:
            return answer

        def count(*arguments: Any, **named: Any) -> Any:
            self.requests += 1
            return answer(*arguments, **named)

        return count


def run(folder: Path, scale: float) -> Result:  # noqa: ARG001
    """Measure commits of appends; what they need to know of the tables was read before."""
    server = PostgreSQLServer.start_in_temporary_folder(durable=True)
    try:
        return _measure(_CountedStore(open_store(server.url("transactions"), "/lake", create=True)))
    finally:
        server.remove()


def _measure(store: _CountedStore) -> Result:
    metastore = Metastore(cast(Store, store), "/lake")
    columns = (TableColumn("v", "long"), TableColumn("p", "integer"))
    for number in range(_TABLES):
        metadata = TableMetadata(columns, ("p",), "parquet", f"/lake/t{number}")
        metastore.create_table("default", f"t{number}", metadata)
    names = itertools.count()
    variants: dict[str, Callable[[], Callable[[], object]]] = {
        _ONE: lambda: _single(metastore, 1, names),
        _TOGETHER: lambda: _together(metastore, names),
        _SINGLY: lambda: _single(metastore, _TABLES, names),
    }
    seconds: dict[str, list[float]] = {name: [] for name in variants}
    requests: dict[str, int] = {}
    for number in range(_ROUNDS + 2):
        for name, prepare in variants.items():
            work = prepare()
            before, started = store.requests, time.perf_counter()
            work()
            if number > 1:
                seconds[name].append(time.perf_counter() - started)
                requests[name] = store.requests - before
    timing = Timing("an append on PostgreSQL", seconds)
    result = Result("transactions", [timing], details={"requests": requests})
    for name, count in requests.items():
        result.findings.append(BenchmarkFinding(f"requests of {name}", count, unit=""))
    ratio = requests[_TOGETHER] / requests[_ONE]
    result.findings += [
        BenchmarkFinding(
            "requests of ten tables in one commit, as many times those of one table", ratio, _MOST
        ),
        BenchmarkFinding("time of ten tables in one commit, beside one table", timing.ratio(_TOGETHER, _ONE)),
        BenchmarkFinding("time of ten commits, beside one table", timing.ratio(_SINGLY, _ONE)),
    ]
    return result


def _append(metastore: Metastore, table: int, names: Iterator[int]) -> Transaction:
    transaction = Transaction(metastore.table("default", f"t{table}"), "append")
    transaction.append((1,), [FileRecord(f"f{next(names)}.parquet", 100, 10)])
    return transaction


def _single(metastore: Metastore, tables: int, names: Iterator[int]) -> Callable[[], object]:
    """Return commits of some tables, one after the other."""
    transactions = [_append(metastore, table, names) for table in range(tables)]
    return lambda: [commit(transaction) for transaction in transactions]


def _together(metastore: Metastore, names: Iterator[int]) -> Callable[[], object]:
    """Return the commit of a transaction of all tables."""
    draft = Draft(metastore)
    for table in range(_TABLES):
        commit(_append(draft.metastore, table, names))
    return draft.commit
