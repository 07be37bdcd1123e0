"""No clock that is wrong, and no write that lasts long, costs a file that a version lists."""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import pyarrow.fs as pafs
import pytest

from parquetry.errors import ConfigurationError, FileMissingError, WarehouseError
from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, TableSnapshot, Transaction
from parquetry.metastore.cleanup.in_flight import LEASE_MS, WriteInFlight, keep_in_flight, writes_in_flight
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.replacement import Replacement
from parquetry.metastore.deletion.file_access import FileAccess
from parquetry.metastore.storage import clock, owner
from parquetry.metastore.storage.keyspace import IN_FLIGHT
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.vacuuming import clocks
from parquetry.metastore.vacuuming.clocks import (
    HOUR_MS,
    Clocks,
    check_of_new_files,
    check_of_old_files,
    grace_of,
)
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.metastore.versions import snapshot
from parquetry.store import MemoryStore


class ServerStore(MemoryStore):
    """A store whose server tells its time."""

    def __init__(self) -> None:
        super().__init__()
        self.time: Callable[[], int] = owner.now_ms

    def server_time(self) -> int:
        return self.time()


def make(store: MemoryStore, folder: Path) -> Metastore:
    metastore = Metastore(store, str(folder))
    columns = (TableColumn("x", "integer"),)
    metastore.create_table("default", "t", TableMetadata(columns, (), "parquet", str(folder / "t")))
    return metastore


def leave(metastore: Metastore, hours: float) -> Path:
    """Write a file of the table that no version lists, changed some hours ago."""
    table = metastore.table("default", "t")
    path = Path(table.metadata.location.removeprefix("file:")) / f"pq-{table.id.hex()}-1-0.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"x")
    os.utime(path, (time.time() - hours * 3600,) * 2)
    return path


def ahead(monkeypatch: pytest.MonkeyPatch, hours: float) -> None:
    """Have this machine's clock be ahead."""
    real = owner.now_ms
    for module in (clock, clocks, snapshot):
        monkeypatch.setattr(module, "now_ms", lambda: real() + int(hours * HOUR_MS))


def test_a_clock_that_is_ahead_deletes_no_file_of_a_running_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the store has no clock, the file system's clock protects files from a machine that is ahead.

    That holds also if the machine has committed.
    """
    metastore = make(MemoryStore(), tmp_path)
    path = leave(metastore, 0)
    ahead(monkeypatch, 24 * 10)
    transaction = Transaction(metastore.table("default", "t"), "append")
    transaction.append((), [])
    commit(transaction)
    assert vacuum(metastore.table("default", "t")) == []
    assert path.exists()
    assert metastore.table("default", "t", version=0).version == 0
    assert [each.name for each in path.parent.iterdir()] == [path.name]


def test_clocks_that_differ_are_told_and_can_be_forced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message says by how much; forced, the earlier of the two counts."""
    metastore = make(ServerStore(), tmp_path)
    young = leave(metastore, 0)
    ahead(monkeypatch, 25)
    with pytest.raises(WarehouseError, match=r"90,000 s ahead of"):
        vacuum(metastore.table("default", "t"))
    assert vacuum(metastore.table("default", "t"), force=True) == []
    assert young.exists()


def test_old_files_go_by_the_earliest_clock(tmp_path: Path) -> None:
    """If the clocks agree, a file of 25 hours is left over; a file of 23 hours may be of a running write."""
    metastore = make(ServerStore(), tmp_path)
    leave(metastore, 23)
    assert vacuum(metastore.table("default", "t")) == []
    path = leave(metastore, 25)
    assert [each.kind for each in vacuum(metastore.table("default", "t"))] == ["left-over file"]
    assert not path.exists()


def test_the_grace_period_can_be_set(tmp_path: Path) -> None:
    """A shorter one deletes sooner, a longer one later; less than an hour is refused."""
    metastore = make(ServerStore(), tmp_path)
    leave(metastore, 25)
    table = metastore.table("default", "t")
    assert vacuum(table, grace=grace_of(table, 48)) == []
    transaction = Transaction(table, "alter")
    transaction.set_metadata(msgspec.structs.replace(table.metadata, properties={"vacuum-grace-hours": "30"}))
    table = commit(transaction)
    assert grace_of(table) == 30 * HOUR_MS
    assert vacuum(table) == []
    assert len(vacuum(table, grace=grace_of(table, 24))) == 1
    with pytest.raises(ConfigurationError, match="0 hours"):
        grace_of(table, 0)


def test_a_write_that_lasts_long_looks_once_for_its_files(tmp_path: Path) -> None:
    """A long write checks its files only if one is older than half of the grace period.

    If a file is missing, the commit fails and changes nothing.
    """
    metastore = make(MemoryStore(), tmp_path)
    table = metastore.table("default", "t")
    path = leave(metastore, 13)
    now = owner.now_ms()
    assert check_of_old_files(table, {str(path): now - 12 * HOUR_MS + HOUR_MS}) is None
    check = check_of_old_files(table, {str(path): now - 12 * HOUR_MS - HOUR_MS})
    assert check is not None
    check()
    path.unlink()
    with pytest.raises(FileMissingError, match="nothing was written"):
        check()
    transaction = Transaction(table, "append")
    transaction.requirements.adopt(check)
    transaction.append((), [])
    with pytest.raises(FileMissingError):
        commit(transaction)
    assert metastore.table("default", "t").version == table.version


@pytest.mark.parametrize("replaces", [False, True])
def test_a_write_looks_for_its_files_after_a_vacuum(replaces: bool, tmp_path: Path) -> None:
    """A write looks for its files if a vacuum has deleted files of no version meanwhile, even if the files
    are young.
    """
    metastore = make(MemoryStore(), tmp_path)
    table = metastore.table("default", "t")
    looked: list[str] = []

    def write(base: TableSnapshot, path: Path) -> None:
        replacement = Replacement(base, base.metadata) if replaces else None
        transaction = Transaction(replacement.snapshot if replacement else base, "append")
        check = check_of_new_files(base, [str(path)])
        transaction.requirements.keep(lambda is_deleting: (looked.append(path.name), check(is_deleting))[1])
        transaction.append((), [FileRecord(path.name, 1, 1)])
        commit(transaction)
        if replacement:
            replacement.make_visible()

    write(table, leave(metastore, 0))
    assert looked == []
    base = metastore.table("default", "t")
    path = leave(metastore, 30).rename(leave(metastore, 30).with_name(f"pq-{table.id.hex()}-2-0.parquet"))
    assert {each.kind for each in vacuum(base)} >= {"left-over file"}
    with pytest.raises(FileMissingError, match="nothing was written"):
        write(base, path)
    assert metastore.table("default", "t").version == base.version
    path.write_bytes(b"x")
    write(base, path)
    assert looked == [path.name] * 2
    write(metastore.table("default", "t"), leave(metastore, 0))
    assert looked == [path.name] * 2


def test_files_that_span_half_of_the_period_are_old_by_any_clock(tmp_path: Path) -> None:
    """The newest of them shows the time if this machine's clock is behind."""
    table = make(MemoryStore(), tmp_path).table("default", "t")
    first = owner.now_ms() + 100 * HOUR_MS
    assert check_of_old_files(table, {"a": first, "b": first + 12 * HOUR_MS + 1}) is not None
    assert check_of_old_files(table, {"a": first, "b": first + HOUR_MS}) is None


def test_a_writer_that_was_ahead_hides_no_later_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """`TIMESTAMP AS OF` finds commits after a writer that was ahead by their own times.

    The current time gives the newest version, and the log has a warning.
    """
    metastore = make(MemoryStore(), tmp_path)

    def set_clock(time: int) -> None:
        for module in (clock, snapshot):
            monkeypatch.setattr(module, "now_ms", lambda: time)

    def append(at: int) -> int:
        set_clock(at)
        transaction = Transaction(metastore.table("default", "t"), "append")
        transaction.append((), [])
        return commit(transaction).version

    start = owner.now_ms() + HOUR_MS
    append(start)
    fast = append(start + 3 * HOUR_MS)
    with caplog.at_level(logging.WARNING, "parquetry"):
        first, second = append(start + 60_000), append(start + 120_000)
    assert f"Version {fast} of table default.t was committed 10740 s in the future" in caplog.text
    set_clock(start + 600_000)

    def version(at: int) -> int:
        return metastore.table("default", "t", as_of=at).version

    assert [version(start + 90_000), version(start + 180_000), version(start + 700_000)] == [
        first,
        second,
        second,
    ]
    assert version(start + 599_000) == second  # a statement's now()
    assert metastore.table("default", "t", version=first).committed_at == start + 60_000
    last = append(start + 5 * HOUR_MS)  # another clock that is ahead
    then = append(start + 600_000)
    set_clock(start + 700_000)
    assert [version(start + 650_000), version(start + 699_990)] == [then, then]
    assert last < then


def test_the_time_of_a_commit_is_the_servers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If the store has a clock, the writer's clock does not count, nor for the first version of a table."""
    store = ServerStore()
    metastore = make(store, tmp_path)
    now = owner.now_ms()
    store.time = lambda: now + 5000
    clock._answers.clear()
    ahead(monkeypatch, 25)
    transaction = Transaction(metastore.table("default", "t"), "append")
    transaction.append((), [])
    made = TableMetadata((TableColumn("x", "integer"),), (), "parquet", str(tmp_path / "u"))
    for version in (commit(transaction), metastore.create_table("default", "u", made)):
        assert 0 <= version.committed_at - now - 5000 < 60_000


def test_time_goes_on_while_the_machine_sleeps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's time is counted on, and a write is as old as it is, by a clock that does not stand still
    in a sleep.
    """
    store = ServerStore()
    table = make(store, tmp_path).table("default", "t")
    now = owner.now_ms()
    store.time = lambda: now
    clock._answers.clear()
    began = clock.store_now_ms(table.store)
    real = time.clock_gettime
    with keep_in_flight(table.store, table.id, every=1.0):
        slept = 40  # less than the minute after which the server is asked again
        monkeypatch.setattr(time, "clock_gettime", lambda clock: real(clock) + slept)
        assert slept * 1000 <= clock.store_now_ms(table.store) - began < (slept + 15) * 1000
        while not (writes := writes_in_flight(table.store, table.id)):
            time.sleep(0.01)
        (write,) = writes.values()
        assert write.beat - write.began >= slept * 1000


@pytest.mark.parametrize("fails", ["get_file_info", "nothing", "open_output_stream"])
def test_the_file_that_asks_for_the_time_is_always_deleted(
    fails: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is deleted if a request fails after it was written. Then the file system's time is unknown."""

    class Disk:
        """A local disk on which one kind of request fails."""

        def __getattr__(self, request: str) -> object:
            if request == fails:
                raise OSError("the request was lost")
            return getattr(pafs.LocalFileSystem(), request)

    files = FileAccess()
    place = files.storage_path(str(tmp_path))
    monkeypatch.setattr(files, "system_and_path", lambda _: (Disk(), place.path))
    assert (files.time(place) is None) == (fails != "nothing")
    assert list(tmp_path.iterdir()) == []


def test_machines_of_one_name_are_distinguished_by_their_boot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machines with one name differ by their boot id.

    The other machine's process lives until its lease ends; this machine's process is looked up.
    """
    (tmp_path / "boot_id").write_text("another boot\n")
    monkeypatch.setattr(owner, "_BOOT_ID", str(tmp_path / "boot_id"))
    owner._host.cache_clear()
    theirs = owner.enter()
    owner.leave(theirs)
    monkeypatch.undo()
    owner._host.cache_clear()
    ours = owner.enter()
    owner.leave(ours)
    assert theirs.host != ours.host
    assert not theirs.is_dead(theirs.started_at)
    assert theirs.is_dead(theirs.started_at + owner.LEASE_MS + 1)
    assert ours.is_dead(ours.started_at)


def test_the_earlier_clock_counts() -> None:
    """Whichever of the two is ahead."""
    assert (Clocks(5, 7).now, Clocks(7, 5).now, Clocks(5, None).now) == (5, 5, 5)


def test_a_long_write_keeps_its_files_alive(tmp_path: Path) -> None:
    """Vacuum leaves files alone that are younger than the write, however old; the row ends with the write."""
    store = ServerStore()
    metastore = make(store, tmp_path)
    table = metastore.table("default", "t")
    path = leave(metastore, 0)
    with keep_in_flight(table.store, table.id, every=0.01):
        while not writes_in_flight(table.store, table.id):
            time.sleep(0.01)
        assert vacuum(table, grace=-HOUR_MS) == []
        assert path.exists()
    assert writes_in_flight(table.store, table.id) == {}
    assert [each.kind for each in vacuum(table, grace=-HOUR_MS)] == ["left-over file"]


def test_a_short_write_has_no_row(tmp_path: Path) -> None:
    """Before the first heartbeat is due, the store is not asked at all."""
    table = make(MemoryStore(), tmp_path).table("default", "t")
    rows = dict(table.store.scan(b"", None))
    with keep_in_flight(table.store, table.id):
        assert dict(table.store.scan(b"", None)) == rows
    assert dict(table.store.scan(b"", None)) == rows


def test_a_write_that_died_counts_for_an_hour(tmp_path: Path) -> None:
    """Then vacuum deletes its files, and its row."""
    store = ServerStore()
    metastore = make(store, tmp_path)
    table = metastore.table("default", "t")
    key = IN_FLIGHT + table.id + b"somebody"
    leave(metastore, 30)
    now = owner.now_ms()
    for beat, kept in ((now - LEASE_MS + HOUR_MS // 2, True), (now - LEASE_MS - HOUR_MS, False)):
        table.store.put_many([(key, encode(WriteInFlight(now - 40 * HOUR_MS, beat)))])
        assert (vacuum(table) == []) == kept
        assert (key in writes_in_flight(table.store, table.id)) == kept
