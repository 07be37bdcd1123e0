"""A table's past: listed, gone back to, and cleared away, without losing what anybody needs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from parquetry.catalog import Catalog
from parquetry.errors import CommitConflictError, FileMissingError, TableNotFoundError
from parquetry.metastore import FileRecord, Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.manifest import entries
from parquetry.metastore.operations.history import history, rollback
from parquetry.metastore.results import Removed
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.storage.keyspace import CHUNKS, COMMITS, METADATA, partition_prefix, prefix_range
from parquetry.metastore.vacuuming import vacuum as vacuum_module
from parquetry.metastore.vacuuming.clocks import HOUR_MS
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.store import MemoryStore, Store
from tests.support.stores.metastores import Crash, FaultyStore, content, leftovers
from tests.support.tables.lakes import NOW, TableLake, busy


def names(removed: list[Removed]) -> set[str]:
    return {row.path.rpartition("-")[2].removesuffix(".parquet") for row in removed if row.path is not None}


def rows(store: Store, table: bytes) -> int:
    """Return the number of rows that a table has, its head apart."""
    tags = (partition_prefix(table), CHUNKS + table, METADATA + table, COMMITS + table)
    return sum(1 for tag in tags for _ in store.scan(*prefix_range(tag)))


def test_history(tmp_path: Path) -> None:
    """Each commit is listed, newest first, with what the table held after it."""
    lake = busy(tmp_path)
    found = [
        (c.version, c.operation, c.partitions, c.files, c.rows, c.bytes)
        for c in Catalog(lake.metastore).history("t")
    ]
    assert found == [
        (6, "append", 1, 2, 2, 9),
        (5, "drop", 1, 1, 1, 5),
        (4, "alter", 2, 2, 2, 8),
        (3, "overwrite", 2, 2, 2, 8),
        (2, "append", 2, 2, 2, 6),
        (1, "append", 1, 1, 1, 3),
        (0, "create", 0, 0, 0, 0),
    ]
    times = [c.committed_at for c in Catalog(lake.metastore).history("T")]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("version", range(6))
def test_rollback(tmp_path: Path, version: int) -> None:
    """A rollback is a new version with the partitions, the totals and the metadata of an old one."""
    lake = busy(tmp_path)
    before = lake.table(version)
    after = rollback(lake.table(), before)
    assert (after.version, after.operation) == (7, "rollback")
    assert after.commit.summary == {"to_version": str(version)}
    assert content(after) == content(before) == content(lake.table())
    assert after.metadata == before.metadata
    assert after.totals == before.totals
    assert content(rollback(after, lake.table(6))) == content(lake.table(6))
    assert leftovers(lake.store, lake.id) == []


def test_rollback_to_the_present_changes_nothing(tmp_path: Path) -> None:
    """Where nothing differs, no version is made."""
    lake = busy(tmp_path)
    assert rollback(lake.table(), lake.table()).version == 6


def test_rollback_shares_long_lists_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rollback writes no new manifest chunk, and a vacuum keeps the shared chunks."""
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", 10)
    lake = TableLake(tmp_path)
    for n in range(4):
        lake.append((1, "a"), f"f{n}")
    lake.replace((1, "a"), "g")
    chunks = sum(1 for _ in lake.store.scan(*prefix_range(CHUNKS + lake.id)))
    rollback(lake.table(), lake.table(4))
    assert sum(1 for _ in lake.store.scan(*prefix_range(CHUNKS + lake.id))) == chunks
    vacuum(lake.table(), older_than=NOW)
    assert lake.listed() == lake.on_disk() == {"f0", "f1", "f2", "f3"}
    assert len(content(lake.table())[1, "a"]) == 4


def test_rollback_conflicts_like_any_other_commit(tmp_path: Path) -> None:
    """Who changed meanwhile what a rollback changes is not overruled; an append elsewhere stays."""
    lake = busy(tmp_path)
    current = lake.table()
    lake.append((1, "a"), "five")
    with pytest.raises(CommitConflictError, match=r"d=1/s=a.*rollback"):
        rollback(current, lake.table(2))
    assert lake.listed() == {"three", "four", "five"}
    current = lake.table()
    lake.append((7, "z"), "far")
    assert set(content(rollback(current, lake.table(2)))) == {(1, "a"), (2, "b"), (7, "z")}


def test_rollback_to_what_is_gone(tmp_path: Path) -> None:
    """A rollback to a version that was vacuumed, or that has lost files, fails and writes no row."""
    lake = busy(tmp_path)
    target = lake.table(2)
    Path(
        target.placement.default_location((2, "b")).removeprefix("file:"), f"pq-{lake.id.hex()}-two.parquet"
    ).unlink()
    with pytest.raises(FileMissingError, match="1 of its files are gone"):
        rollback(lake.table(), target)
    vacuum(lake.table(), older_than=NOW)
    with pytest.raises(TableNotFoundError, match="vacuumed away; the oldest is 6"):
        rollback(lake.table(), target)
    with pytest.raises(
        TableNotFoundError,
        match=r"no version 2 any more: a vacuum took the versions before 6\. It has version 6 only",
    ):
        lake.table(2)
    assert lake.table().version == 6


def count_writes(run: Callable[[Metastore], object], folder: Path) -> int:
    store = FaultyStore(MemoryStore())
    busy(folder, store)
    before = store.writes
    run(Metastore(store, str(folder)))
    return store.writes - before


def roll_back(metastore: Metastore) -> TableSnapshot:
    return rollback(metastore.table("default", "t"), metastore.table("default", "t", version=2))


def clear(metastore: Metastore) -> list[Removed]:
    return vacuum(metastore.table("default", "t"), older_than=NOW)


def test_crash_of_rollback_at_every_write(tmp_path: Path) -> None:
    """If the process dies at any row that a rollback writes, the table is the old version or the new one."""
    for stop in range(count_writes(roll_back, tmp_path / "count")):
        inner = MemoryStore()
        lake = busy(tmp_path / str(stop), inner)
        old, new = content(lake.table()), content(lake.table(2))
        store = FaultyStore(inner)
        store.crash_at = stop
        with pytest.raises(Crash):
            roll_back(Metastore(store, str(lake.folder)))
        found = content(lake.table())
        assert found == (old if lake.table().version == 6 else new)
        assert content(roll_back(lake.metastore)) == new
        assert leftovers(inner, lake.id) == []


def test_crash_of_vacuum_at_every_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the process dies at any row that a vacuum deletes, nothing live is lost; the next run finishes."""
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", 10)
    for stop in range(count_writes(clear, tmp_path / "count")):
        inner = MemoryStore()
        lake = busy(tmp_path / str(stop), inner)
        live = content(lake.table())
        old = [(lake.table(version), content(lake.table(version))) for version in range(6)]
        store = FaultyStore(inner)
        store.crash_at = stop
        with pytest.raises(Crash):
            clear(Metastore(store, str(lake.folder)))
        assert content(lake.table()) == live
        assert lake.listed() <= lake.on_disk()
        for table, was in old:
            try:
                assert {p.values: [f.path for f in p.files] for p in table.partitions()} == was
                for key, files in was.items():
                    part = table.partition(key)
                    assert part is not None
                    assert [f.path for f in part.files] == files
            except TableNotFoundError:
                continue
        clear(lake.metastore)
        assert content(lake.table()) == live
        assert lake.on_disk() == lake.listed() == {"three", "four"}
        assert rows(inner, lake.id) == lone_rows(tmp_path / f"{stop}-alone")


def lone_rows(folder: Path) -> int:
    """Return how many rows a table has that has never been anything but what `busy` ends as."""
    lake = TableLake(folder)
    files = [lake.file((1, "a"), name) for name in ("three", "four")]
    transaction = Transaction(lake.table(), "fill")
    transaction.append((1, "a"), files[:1])
    commit(transaction)
    transaction = Transaction(lake.table(), "fill")
    transaction.append((1, "a"), files[1:])
    commit(transaction)
    vacuum(lake.table(), older_than=NOW)
    return rows(lake.store, lake.id)


def test_crash_of_vacuum_at_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the process dies between two files, the rows that list them are still there for the next run."""
    delete = vacuum_module.FileAccess.delete
    for stop in range(2):
        lake = busy(tmp_path / str(stop))
        done: list[int] = []

        def dying(self: object, place: object, done: list[int] = done, stop: int = stop) -> None:
            if len(done) == stop:
                raise Crash
            done.append(1)
            delete(self, place)  # type: ignore[arg-type]

        with monkeypatch.context() as patch:
            patch.setattr(vacuum_module.FileAccess, "delete", dying)
            with pytest.raises(Crash):
                clear(lake.metastore)
        assert {"three", "four"} <= lake.on_disk()
        assert len(names(clear(lake.metastore))) == 2 - stop
        assert lake.on_disk() == {"three", "four"}


def test_vacuum_by_age(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A version stays readable until it has been replaced for the requested time."""
    from parquetry.metastore.storage import clock

    lake = TableLake(tmp_path)
    for time_, name in ((1000, "one"), (2000, "two"), (3000, "three")):
        monkeypatch.setattr(clock, "now_ms", lambda time_=time_: time_ + (1 << 40))
        lake.replace((1, "a"), name)
    start = 1 << 40
    removed = vacuum(lake.table(), older_than=start + 2500)
    assert names(removed) == {"one"}
    assert [c.version for c in history(lake.table())] == [3, 2]
    assert lake.listed(2) == {"two"}
    assert lake.metastore.table("default", "t", as_of=start + 2500).version == 2
    assert lake.on_disk() == {"two", "three"}
    assert names(vacuum(lake.table(), older_than=start + 3000)) == {"two"}
    assert lake.listed() == lake.on_disk() == {"three"}
    assert vacuum(lake.table(), older_than=NOW) == []


def test_vacuum_step_by_step(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file goes with the last version that has it, also if the commit that listed it went long before."""
    from parquetry.metastore.storage import clock

    lake = TableLake(tmp_path)
    start = 1 << 40
    monkeypatch.setattr(clock, "now_ms", lambda: start)
    lake.append((1, "a"), "one")
    lake.append((1, "a"), "theirs", own=False)
    for number in range(1, 4):
        monkeypatch.setattr(clock, "now_ms", lambda number=number: start + number)
        lake.append((2, "b"), f"b{number}")
    monkeypatch.setattr(clock, "now_ms", lambda: start + 4)
    lake.drop((1, "a"))
    for number in range(1, 4):
        assert names(vacuum(lake.table(), older_than=start + number)) == set()
    assert len(names(vacuum(lake.table(), older_than=start + 4))) == 2
    assert lake.on_disk() == lake.listed() == {"b1", "b2", "b3"}


def test_vacuum_keeps_a_week_by_default(tmp_path: Path) -> None:
    """Without `older_than`, what was the table's content within seven days stays."""
    lake = busy(tmp_path)
    assert vacuum(lake.table()) == []
    assert lake.table(1).version == 1


def test_dry_run_tells_what_a_run_does(tmp_path: Path) -> None:
    """A dry run reports the same rows, and deletes nothing."""
    lake = busy(tmp_path)
    planned = vacuum(lake.table(), older_than=NOW, dry_run=True)
    assert lake.on_disk() == {"one", "two", "three", "four"}
    assert [c.version for c in history(lake.table())] == [6, 5, 4, 3, 2, 1, 0]
    assert planned == vacuum(lake.table(), older_than=NOW)
    assert [(r.kind, r.count) for r in planned] == [
        ("data file", 1),
        ("data file", 1),
        ("partition versions", 4),
        ("metadata", 1),
        ("commits", 6),
    ]
    assert names(planned) == {"one", "two"}
    assert sum(r.bytes or 0 for r in planned if r.path) == 6
    assert not (lake.location / "d=2").exists()  # an empty directory would be taken for a partition


def test_files_of_a_running_write_stay(tmp_path: Path) -> None:
    """An own file that no commit lists is deleted only if it is old enough.

    A foreign file that no commit lists is never deleted.
    """
    lake = TableLake(tmp_path)
    lake.append((1, "a"), "one")
    lake.file((1, "a"), "running")
    lake.file((1, "a"), "crashed")
    lake.file((1, "a"), "somebody's.parquet", own=False)
    folder = Path(lake.table().placement.default_location((1, "a")).removeprefix("file:"))
    old = time.time() - 24 * HOUR_MS / 1000 - 60
    for name in (
        f"pq-{lake.id.hex()}-crashed.parquet",
        "somebody's.parquet",
        f"pq-{lake.id.hex()}-one.parquet",
    ):
        os.utime(folder / name, (old, old))
    (row,) = vacuum(lake.table(), older_than=NOW)[:1]
    assert (row.kind, row.count) == ("left-over file", 1)
    assert lake.on_disk() == {"one", "running", "somebody's"}


def test_adopted_files(tmp_path: Path) -> None:
    """A file that others wrote goes if the table listed it and it is still that file; never from outside."""
    lake = TableLake(tmp_path)
    lake.append((1, "a"), "listed", own=False)
    lake.append((1, "a"), "rewritten", own=False)
    outside = tmp_path / "elsewhere"
    outside.mkdir()
    (outside / "far").write_bytes(b"far")
    transaction = Transaction(lake.table(), "add partition")
    transaction.add((3, "c"), str(outside), [FileRecord("far", 3, 1)])
    commit(transaction)
    lake.replace((1, "a"), "new")
    lake.drop((3, "c"))
    lake.file((1, "a"), "rewritten", own=False)
    folder = Path(lake.table().placement.default_location((1, "a")).removeprefix("file:"))
    (folder / "rewritten").write_bytes(b"something else")
    vacuum(lake.table(), older_than=NOW)
    assert lake.on_disk() == {"new", "rewritten"}
    assert (outside / "far").exists()


def test_a_file_that_is_listed_again_stays(tmp_path: Path) -> None:
    """A partition that was dropped and taken in again keeps its files."""
    lake = TableLake(tmp_path)
    written = lake.append((1, "a"), "again", own=False)
    lake.drop((1, "a"))
    transaction = Transaction(lake.table(), "add partition")
    transaction.add((1, "a"), files=[written])
    commit(transaction)
    removed = vacuum(lake.table(), older_than=NOW)
    assert names(removed) == set()
    assert lake.on_disk() == lake.listed() == {"again"}


def test_external_tables_lose_own_files_only(tmp_path: Path) -> None:
    """Vacuum of an external table deletes no file that others wrote."""
    lake = TableLake(tmp_path, external=True)
    lake.append((1, "a"), "theirs", own=False)
    lake.append((1, "a"), "ours")
    lake.replace((1, "a"), "new")
    assert names(vacuum(lake.table(), older_than=NOW)) == {"ours"}
    assert lake.on_disk() == {"theirs", "new"}


def test_vacuum_during_a_commit(tmp_path: Path) -> None:
    """A vacuum keeps the rows and files of a running commit.

    A commit on a vacuumed version fails with a conflict.
    """
    inner = MemoryStore()
    store = FaultyStore(inner)
    lake = busy(tmp_path, inner)
    metastore = Metastore(store, str(tmp_path))
    ran: list[int] = []

    def in_between(_: int) -> None:
        if not ran:
            ran.append(1)
            return
        ran.append(len(clear(lake.metastore)))

    transaction = Transaction(metastore.table("default", "t"), "append")
    transaction.append((1, "a"), [lake.file((1, "a"), "five")])
    transaction.append((9, "z"), [lake.file((9, "z"), "six")])
    store.before_write = in_between
    after = commit(transaction)
    assert len(ran) > 5
    assert lake.listed() == lake.on_disk() == {"three", "four", "five", "six"}
    assert set(content(after)) == {(1, "a"), (9, "z")}
    store.before_write = None
    late = Transaction(after, "append")
    late.append((1, "a"), [lake.file((1, "a"), "late")])
    lake.append((9, "z"), "seven")
    clear(lake.metastore)
    with pytest.raises(CommitConflictError, match="vacuumed away meanwhile"):
        commit(late)


def test_vacuum_during_a_rollback(tmp_path: Path) -> None:
    """A rollback to a version that is vacuumed before it commits fails, and lists no deleted file."""
    inner = MemoryStore()
    swaps = 0
    lake = busy(tmp_path, inner)
    store = FaultyStore(inner)

    def answer(number: int, swap: Callable[[], bool]) -> bool:
        nonlocal swaps
        swaps += 1
        if number == 1:  # the one that would publish
            clear(lake.metastore)
        return swap()

    store.answer = answer
    with pytest.raises(CommitConflictError, match="Version 2, on which 'rollback'"):
        roll_back(Metastore(store, str(tmp_path)))
    assert swaps > 1
    assert lake.listed() == {"three", "four"} < lake.on_disk()  # the files of the rollback age first
    assert names(vacuum(lake.table(), older_than=NOW, grace=-1000)) == {"one", "two"}
    head = read_head(inner, lake.id)
    assert head is not None
    assert head.pending == {}
