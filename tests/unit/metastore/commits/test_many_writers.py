"""Many threads and processes commit at once, and some processes are killed."""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

from parquetry.metastore import Metastore, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.store import SQLiteStore
from tests.support.effort import examples
from tests.support.stores.metastores import content, file, leftovers, new_table

DECODE = """
import sys, threading, types
import msgspec
from parquetry.metastore.storage.wire import decoder
sys.setswitchinterval(1e-6)
data = msgspec.msgpack.encode([1, "x", None, [[2, "y", None, []]]])
for number in range(100):
    module = types.ModuleType("records")
    sys.modules["records"] = module
    source = ["from __future__ import annotations", "import msgspec"]
    for n in range(6):
        source.append(f"class S{n}(msgspec.Struct, frozen=True, array_like=True):")
        source.append(f" a: int; b: str; c: dict[str, str] | None; d: tuple[S{max(0, n - 1)}, ...]")
    exec("\\n".join(source), module.__dict__)
    together = threading.Barrier(4)
    def work():
        together.wait()
        assert decoder(module.S5).decode(data).d[0].a == 2
    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""


def test_threads_that_decode_a_type_for_the_first_time() -> None:
    """Threads that meet a type of record at the same time all read it, and the process lives."""
    source = str(Path(__file__).parents[4] / "src")
    for _ in range(examples(3, least=1)):
        run = subprocess.run(
            [sys.executable, "-c", DECODE],
            env={**os.environ, "PYTHONPATH": source},
            capture_output=True,
            text=True,
            check=False,
        )
        assert run.returncode == 0, run.stderr[-2000:]


def append_many(path: str, worker: int, commits: int) -> None:
    metastore = Metastore(SQLiteStore(path), "/lake")
    for n in range(commits):
        transaction = Transaction(metastore.table("default", "t"), "append")
        transaction.append((1, "a"), [file(f"{worker}-{n}")])
        transaction.append((worker, "own"), [file(f"{worker}-{n}")])
        commit(transaction)


def test_processes_append_to_one_partition(tmp_path: Path) -> None:
    """Blind appends of several processes to one partition all succeed, and none is lost or doubled."""
    path = str(tmp_path / "rows.sqlite")
    metastore, _ = new_table(SQLiteStore(path))
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=append_many, args=(path, worker, 12)) for worker in (11, 12, 13)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    table = metastore.table("default", "t")
    found = content(table)
    wanted = {f"{worker}-{n}" for worker in (11, 12, 13) for n in range(12)}
    assert sorted(found[1, "a"]) == sorted({"a", *wanted})
    assert found[12, "own"] == [f"12-{n}" for n in range(12)]
    assert table.version == 1 + 36
    assert leftovers(metastore.store, table.id) == []
    metastore.close()


def test_killed_processes(tmp_path: Path) -> None:
    """After kill -9 in the middle of commits, each commit is visible in full or not at all."""
    path = str(tmp_path / "rows.sqlite")
    metastore, _ = new_table(SQLiteStore(path))
    context = multiprocessing.get_context("fork")
    for worker in (11, 12, 13, 14):
        process = context.Process(target=append_many, args=(path, worker, 1000))
        process.start()
        while metastore.table("default", "t").partition((worker, "own")) is None:
            time.sleep(0.01)
        time.sleep(0.03)
        assert process.pid is not None
        os.kill(process.pid, signal.SIGKILL)
        process.join()
        found = content(metastore.table("default", "t"))
        own = found.get((worker, "own"), [])
        assert [path for path in found[1, "a"] if path.startswith(f"{worker}-")] == own
        assert own == [f"{worker}-{n}" for n in range(len(own))]
        assert own
    transaction = Transaction(metastore.table("default", "t"), "next")
    transaction.append((9, "z"), [file("z")])
    assert leftovers(metastore.store, commit(transaction).id) == []
    metastore.close()


def test_threads_append_to_one_partition() -> None:
    """Threads that share a metastore append without losing anything."""
    metastore, _ = new_table()

    def work(worker: int) -> None:
        for n in range(10):
            transaction = Transaction(metastore.table("default", "t"), "append")
            transaction.append((1, "a"), [file(f"{worker}-{n}")])
            commit(transaction)

    threads = [threading.Thread(target=work, args=(worker,)) for worker in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(content(metastore.table("default", "t"))[1, "a"]) == 41
