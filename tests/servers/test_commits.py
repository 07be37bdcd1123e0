"""Commits on a server that several machines share: atomic, done once, and blind appends all take place."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from parquetry.metastore import Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.store import Store
from tests.support.effort import examples, sampled
from tests.support.stores.commits import (
    NEW,
    OLD,
    begin,
    big_change,
    check_next_commit,
    clear,
    count_writes,
    table_of,
)
from tests.support.stores.metastores import Crash, FaultyStore, content, file, metadata, new_table, whole_day


def test_life_of_a_table(store: Store) -> None:
    """Tables are made, filled, read in parts, renamed and dropped, and every version reads as it was."""
    catalog, table = new_table(store)
    assert content(table) == OLD
    transaction = Transaction(table, "change")
    big_change(transaction)
    after = commit(transaction)
    assert content(after) == NEW
    assert content(table) == OLD
    assert [part.values for part in after.partitions(whole_day(after, 3))] == [(3, "new")]
    catalog.rename_table("default", "t", "default", "u")
    assert content(catalog.table("default", "u")) == NEW
    catalog.create_table("default", "t", metadata())
    assert catalog.tables("default") == ["t", "u"]
    for name in ("t", "u"):
        catalog.drop_table("default", name)
    assert catalog.tables("default") == []
    catalog.create_table("default", "t", metadata())
    assert content(catalog.table("default", "t")) == {}


def test_crash_at_every_write(store: Store) -> None:
    """A process that dies before a write leaves the old version or the new, and the next commit works."""
    for stop in sampled(range(count_writes(big_change))):
        new_table(store)
        faulty = FaultyStore(store)
        transaction = begin(faulty)
        faulty.crash_at = stop
        with pytest.raises(Crash):
            commit(transaction)
        found = content(table_of(store))
        assert found == (OLD if table_of(store).version == 1 else NEW)
        check_next_commit(store, found)
        clear(store)


WRITERS, APPENDS = examples(8, 3), 5
APPEND = """
import sys
from parquetry.metastore import FileRecord, Metastore, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.store import open_store
metastore = Metastore(open_store(sys.argv[1], "/lake"), "/lake")
for n in range(int(sys.argv[3])):
    transaction = Transaction(metastore.table("default", "t"), "append")
    transaction.append((1, "a"), [FileRecord(f"{sys.argv[2]}-{n}", 100, 10)])
    commit(transaction)
"""


def test_processes_append_to_one_partition(url: str, store: Store) -> None:
    """Blind appends by several processes all take place, none twice."""
    new_table(store)
    source = str(Path(__file__).parents[2] / "src")
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", APPEND, url, str(me), str(APPENDS)],
            env={**os.environ, "PYTHONPATH": source},
        )
        for me in range(WRITERS)
    ]
    assert [worker.wait(90) for worker in workers] == [0] * WRITERS
    names = ["a", *(f"{me}-{n}" for me in range(WRITERS) for n in range(APPENDS))]
    found = content(table_of(store))
    assert sorted(found.pop((1, "a"))) == sorted(names)
    assert found == {(2, "b"): ["b"]}
    assert table_of(store).version == 1 + WRITERS * APPENDS


def test_threads_commit_to_different_partitions(store: Store) -> None:
    """Writers of one process commit side by side, and readers see one version at a time."""
    new_table(store)
    failures: list[BaseException] = []

    def run(work: Callable[[], None]) -> threading.Thread:
        def attempt() -> None:
            try:
                work()
            except BaseException as error:  # noqa: BLE001
                failures.append(error)

        thread = threading.Thread(target=attempt)
        thread.start()
        return thread

    def write(day: int) -> None:
        for n in range(5):
            transaction = Transaction(table_of(store), "pair")
            transaction.append((day, f"left {n}"), [file("l")])
            transaction.append((day, f"right {n}"), [file("r")])
            commit(transaction)

    def read() -> None:
        for _ in range(10):
            found = content(table_of(store))
            for day in (10, 11):
                names = [name for other, name in found if other == day]
                assert len([name for name in names if name.startswith("left")]) * 2 == len(names)

    threads = [run(lambda day=day: write(day)) for day in (10, 11)] + [run(read)]  # type: ignore[misc]
    for thread in threads:
        thread.join()
    assert failures == []
    assert table_of(store).version == 11
