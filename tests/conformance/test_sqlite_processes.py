"""Promises of the SQLite store to several processes, and after a crash."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from parquetry.errors import ParquetryError, WarehouseError
from parquetry.store import SQLiteStore, open_store
from tests.support.stores.sqlite_files import check_values_apart

SOURCE = str(Path(__file__).parents[2] / "src")


def python(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", code, *arguments],
        env={**os.environ, "PYTHONPATH": SOURCE},
        stdout=subprocess.PIPE,
        text=True,
    )


COUNT = """
import sys
from parquetry.store.sqlite import SQLiteStore
store = SQLiteStore(sys.argv[1])
for _ in range(int(sys.argv[2])):
    while True:
        value = store.get(b"n")
        if store.compare_and_set(b"n", value, str(int(value or 0) + 1).encode()):
            break
"""

WRITE = """
import sys
from parquetry.store.sqlite import SQLiteStore
store = SQLiteStore(sys.argv[1])
n = int(sys.argv[2])
while True:
    n += 1
    if n % 2:
        store.put_many([(b"%08d" % n, b"put"), (b"large", b"%d" % n * 10_000), (b"copy %08d" % n, b"put")])
    else:
        assert store.compare_and_set(b"%08d" % n, None, b"set")
    print(n, flush=True)
"""


def test_processes_count_together(tmp_path: Path) -> None:
    """When processes make the file and compare-and-set one row, exactly one wins each time."""
    path = str(tmp_path / "new" / "rows.sqlite")
    workers = [python(COUNT, path, "150") for _ in range(4)]
    assert [worker.wait(60) for worker in workers] == [0, 0, 0, 0]
    for worker in workers:
        worker.communicate()
    store = SQLiteStore(path, create=False)
    assert store.get(b"n") == b"600"
    store.close()


LOOK = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
print(connection.execute("SELECT count(*) FROM kv").fetchone()[0])
connection.close()
"""


def test_who_makes_the_tables_keeps_the_log(tmp_path: Path) -> None:
    """A connection keeps its locks while it makes the tables of a file that another process has created.

    Without them, the next process that closes the file would take itself for the last one, and delete
    the log.
    """
    path = tmp_path / "rows.sqlite"
    with closing(sqlite3.connect(path)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        store = SQLiteStore(path)
    for count in (1, 2, 3):
        store.put_many([(b"%d" % count, b"v")])
        look = python(LOOK, str(path))
        assert look.communicate()[0] == f"{count}\n"
    store.close()
    assert [name.name for name in tmp_path.iterdir()] == ["rows.sqlite"]


def test_a_file_system_without_hard_links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is made in its final place, with the same rights, and no other file stays beside it."""

    def refuse(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    tmp_path.chmod(0o750)
    store = SQLiteStore(tmp_path / "rows.sqlite")
    store.put_many([(b"k", b"v")])
    store.close()
    assert [(path.name, path.stat().st_mode & 0o777) for path in tmp_path.iterdir()] == [
        ("rows.sqlite", 0o640)
    ]


def test_acknowledged_rows_outlive_a_kill(tmp_path: Path) -> None:
    """After kill -9 the file opens again, and holds every row that was acknowledged."""
    path = str(tmp_path / "rows.sqlite")
    acknowledged = 0
    for _ in range(4):
        worker = python(WRITE, path, str(acknowledged + 1000))
        assert worker.stdout is not None
        first = int(worker.stdout.readline())
        time.sleep(0.1)
        worker.send_signal(signal.SIGKILL)
        lines, _ = worker.communicate()
        complete = [int(line) for line in lines.splitlines(keepends=True) if line.endswith("\n")]
        acknowledged = max([first, *complete])
        store = SQLiteStore(path, create=False)
        for n in range(first, acknowledged + 1):
            assert store.get(b"%08d" % n) == (b"put" if n % 2 else b"set")
        store.close()
        assert check_values_apart(path) == 1


def test_forked_child_has_its_own_connection(tmp_path: Path) -> None:
    """A child process reads and writes after a fork, and the parent's connection goes on working."""
    store = SQLiteStore(tmp_path / "rows.sqlite")
    store.put_many([(b"parent", b"1")])
    child = os.fork()
    if child == 0:
        try:
            found = not store._connections.open and store.get(b"parent") == b"1"
            store.put_many([(b"child", b"2")])
            store.close()
            os._exit(0 if found else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    store.put_many([(b"parent", b"3")])
    assert list(store.scan(b"", None)) == [(b"child", b"2"), (b"parent", b"3")]
    store.close()


def test_connections_end_with_their_threads(tmp_path: Path) -> None:
    """Forty threads that end leave no connection, and a forked child closes none of its parent's."""
    store = SQLiteStore(tmp_path / "m.sqlite")
    for number in range(40):
        thread = threading.Thread(target=store.put_many, args=([(b"%d" % number, b"v")],))
        thread.start()
        thread.join()
    assert len(store._connections.open) == 1
    asked, over = threading.Barrier(2), threading.Event()
    other = threading.Thread(target=lambda: (store.get(b"1"), asked.wait(), over.wait()))
    other.start()
    asked.wait()
    parents = store._connections
    child = os.fork()
    if not child:
        own = store.get(b"1") == b"v" and len(parents.open) == 2 and len(store._connections.open) == 1
        os._exit(0 if own else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    over.set()
    other.join()
    assert len(parents.open) == 1
    store.close()


def test_pages_are_large_and_writes_are_synchronous(tmp_path: Path) -> None:
    """The file has pages of 16 KiB and a write-ahead log, and commits reach the disk."""
    store = SQLiteStore(tmp_path / "rows.sqlite")
    pragma = {
        name: store._connection().execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_size", "journal_mode", "synchronous")
    }
    assert pragma == {"page_size": 16384, "journal_mode": "wal", "synchronous": 2}
    store.close()


def test_opening_creates_nothing_unless_told(tmp_path: Path) -> None:
    """A folder without a metastore stays as it is, and the error says what is missing."""
    folder = tmp_path / "lake"
    with pytest.raises(WarehouseError, match="no metastore"):
        open_store(None, str(folder))
    assert not folder.exists()
    other = tmp_path / "other.sqlite"
    sqlite3.connect(other).executescript("CREATE TABLE t (x); INSERT INTO t VALUES (1)").connection.close()
    with pytest.raises(WarehouseError, match="not a metastore"):
        open_store(f"sqlite://{other}", str(folder))
    text = tmp_path / "text"
    text.write_text("no database " * 100)
    with pytest.raises(WarehouseError, match="not a metastore"):
        open_store(f"sqlite://{text}", str(folder))


READ_ONLY = """
import os, sys
from parquetry.errors import WarehouseError
from parquetry.store.sqlite import SQLiteStore
if os.getuid() == 0:  # whom no permission stops
    os.setgid(65534); os.setuid(65534)
store = SQLiteStore(sys.argv[1], create=False)
assert store.get(b"k") == b"v", store.get(b"k")
assert list(store.scan(b"", None)) == [(b"k", b"v")]
try:
    store.put_many([(b"k", b"w")])
    sys.exit("written")
except WarehouseError as error:
    assert "cannot be written" in str(error), error
try:
    SQLiteStore(sys.argv[2], create=True)
    sys.exit("created")
except WarehouseError as error:
    assert "writable" in str(error), error
print("read", flush=True)
input()
print(store.get(b"k").decode(), flush=True)
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that other users can enter; pytest's own cannot be."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        yield Path(folder)


def test_reading_needs_no_write_permission(open_folder: Path) -> None:
    """A process that may not write the folder reads it, sees later changes, and learns why writing fails."""
    folder = open_folder / "lake"
    path = folder / "rows.sqlite"
    store = SQLiteStore(path)
    store.put_many([(b"k", b"v")])
    store.close()
    path.chmod(0o444)
    folder.chmod(0o555)
    worker = subprocess.Popen(
        [sys.executable, "-c", READ_ONLY, str(path), str(folder / "new" / "rows.sqlite")],
        env={**os.environ, "PYTHONPATH": SOURCE},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert worker.stdin is not None
        assert worker.stdout is not None
        assert worker.stdout.readline() == "read\n"
        assert [child.name for child in folder.iterdir()] == ["rows.sqlite"]
        folder.chmod(0o755)
        path.chmod(0o644)
        time.sleep(0.02)
        store = SQLiteStore(path, create=False)
        store.put_many([(b"k", b"later")])
        store.close()
        worker.stdin.write("\n")
        worker.stdin.flush()
        assert worker.stdout.readline() == "later\n"
    finally:
        folder.chmod(0o755)
        path.chmod(0o644)
        worker.communicate()


def test_errors_say_which_file(tmp_path: Path) -> None:
    """A failure of SQLite names the file."""
    store = SQLiteStore(tmp_path / "rows.sqlite")
    store._connection().execute("DROP TABLE keyed")
    with pytest.raises(ParquetryError, match=r"rows\.sqlite"):
        store.get(b"k")
    store.close()


@pytest.mark.parametrize(
    ("umask", "folder", "file", "made"),
    [
        (0o022, 0o700, 0o600, 0o700),
        (0o022, 0o750, 0o640, 0o750),
        (0o022, 0o755, 0o644, 0o755),
        (0o002, 0o770, 0o660, 0o770),
        (0o077, 0o755, 0o600, 0o700),
        (0o000, 0o1777, 0o666, 0o777),
    ],
)
def test_rights_of_the_file(umask: int, folder: int, file: int, made: int, tmp_path: Path) -> None:
    """The file, SQLite's files beside it, and its folder are open to the warehouse's users, and only them."""
    warehouse = tmp_path / "warehouse"
    warehouse.mkdir()
    warehouse.chmod(folder)
    before = os.umask(umask)
    try:
        store = SQLiteStore(warehouse / "_parquetry" / "deeper" / "metastore.sqlite")
        store.put_many([(b"k", b"v")])
        there = {path.name: path.stat().st_mode & 0o7777 for path in warehouse.rglob("*")}
    finally:
        os.umask(before)
    names = ["metastore.sqlite", "metastore.sqlite-shm", "metastore.sqlite-wal"]
    assert there == {"_parquetry": made, "deeper": made, **dict.fromkeys(names, file)}
    store.close()
