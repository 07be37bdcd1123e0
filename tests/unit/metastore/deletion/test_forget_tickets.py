"""The tickets of killed writers leave the head once no row of theirs can come any more."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec
import pytest

from parquetry.errors import CommitAbortedError
from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, TableSnapshot, Transaction
from parquetry.metastore.commits import attempt, committer
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.manifest.entries import TOMBSTONE
from parquetry.metastore.storage import owner
from parquetry.metastore.storage.head import Head, edit_head, read_head
from parquetry.metastore.storage.keyspace import complement, partition_prefix
from parquetry.metastore.vacuuming.clocks import HOUR_MS
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.store import MemoryStore
from tests.support.stores.metastores import Crash, FaultyStore, content

GRACE = 24 * HOUR_MS


def make(store: MemoryStore, folder: Path) -> TableSnapshot:
    columns = (TableColumn("x", "integer"), TableColumn("p", "integer"))
    (folder / "t").mkdir()
    metadata = TableMetadata(columns, ("p",), "parquet", str(folder / "t"))
    return Metastore(store, str(folder)).create_table("default", "t", metadata)


def change(table: TableSnapshot, p: int = 1, name: str = "f") -> Transaction:
    transaction = Transaction(table.refresh(), "append")
    transaction.append((p,), [FileRecord(f"{name}{p}", 100, 10, 7, {})])
    return transaction


def head_of(table: TableSnapshot) -> Head:
    head = read_head(table.store, table.id)
    assert head is not None
    return head


def kill(store: MemoryStore, folder: Path, p: int) -> None:
    """Let a writer die in the middle of a commit."""
    dying = FaultyStore(store)
    table = Metastore(dying, str(folder)).table("default", "t")
    dying.crash_at = dying.writes + 3
    with pytest.raises(Crash):
        commit(change(table, p, "dead"))


def clean(table: TableSnapshot, *, grace: int, dry_run: bool = False) -> None:
    """Vacuum all versions but the newest."""
    vacuum(table, older_than=owner.now_ms() + 1, grace=grace, dry_run=dry_run)


def later(table: TableSnapshot, hours: float) -> None:
    """Let some hours pass since the newest version."""
    earlier = head_of(table).commit
    earlier = msgspec.structs.replace(earlier, committed_at=earlier.committed_at - int(hours * HOUR_MS))
    edit_head(
        table.store,
        table.id,
        lambda head: msgspec.structs.replace(head, commit=earlier),
        lambda head: head.commit == earlier,
    )


def test_a_killed_writers_ticket_is_forgotten_after_the_grace_period(tmp_path: Path) -> None:
    """The vacuum after the grace period forgets it; one before keeps it, and content stays as it was."""
    store = MemoryStore()
    table = make(store, tmp_path)
    for p in range(5):
        kill(store, tmp_path, p)
        commit(change(table, 10 + p))
    expected = content(table.refresh())
    aborted = head_of(table).aborted
    assert len(aborted) == 5  # a committed ticket after each
    clean(table, grace=GRACE)
    later(table, 23)
    clean(table, grace=GRACE)
    assert head_of(table).aborted == aborted
    later(table, 2)
    clean(table, grace=GRACE)
    assert head_of(table).aborted == ()
    now = commit(change(table, 20))
    assert now.commit.invisible == ()
    assert content(now) == {**expected, (20,): ["f20"]}


def test_an_hour_is_the_least(tmp_path: Path) -> None:
    """However short the grace period of files, a ticket stays for an hour."""
    store = MemoryStore()
    table = make(store, tmp_path)
    kill(store, tmp_path, 1)
    commit(change(table, 2))
    clean(table, grace=0)
    later(table, 0.9)
    clean(table, grace=0)
    assert head_of(table).aborted != ()
    later(table, 0.2)
    clean(table, grace=0)
    assert head_of(table).aborted == ()


def test_a_ticket_whose_row_came_back_stays(tmp_path: Path) -> None:
    """A row that arrives late is deleted, and its ticket stays for the next vacuum."""
    store = MemoryStore()
    table = make(store, tmp_path)
    kill(store, tmp_path, 1)
    commit(change(table, 2))
    clean(table, grace=GRACE)
    ((ticket, _),) = head_of(table).aborted
    row = partition_prefix(table.id) + table.key_of((1,)) + complement(ticket)
    store.put_many([(row, TOMBSTONE)])
    later(table, 25)
    clean(table, grace=GRACE)
    assert store.get(row) is None
    assert head_of(table).aborted == ((ticket, ticket),)
    clean(table, grace=GRACE)
    assert head_of(table).aborted == ()


def test_a_dry_run_forgets_nothing(tmp_path: Path) -> None:
    """A dry run does not write the head."""
    store = MemoryStore()
    table = make(store, tmp_path)
    kill(store, tmp_path, 1)
    commit(change(table, 2))
    later(table, 25)
    before = head_of(table)
    clean(table, grace=GRACE, dry_run=True)
    assert head_of(table) == before
    assert before.aborted


def test_a_ticket_that_was_aborted_since_stays(tmp_path: Path) -> None:
    """A version that is old enough says nothing of tickets that were aborted after it."""
    store = MemoryStore()
    table = make(store, tmp_path)
    commit(change(table, 2))
    later(table, 25)
    kill(store, tmp_path, 1)
    clean(table, grace=GRACE)  # aborts it
    clean(table, grace=GRACE)
    assert head_of(table).aborted != ()


class StallingStore(MemoryStore):
    """A store after one of whose writes the writer stalls."""

    def __init__(self) -> None:
        super().__init__()
        self.stall: Callable[[], None] | None = None
        self.remaining = 0
        self.dies = False
        self.dead = False

    def _written(self) -> None:
        self.remaining -= 1
        if self.remaining == 0 and self.stall is not None:
            stall, self.stall = self.stall, None
            stall()
            self.dead = self.dies

    def put_many(self, rows: Iterable[tuple[bytes, bytes]], fields: object = None) -> bool:
        in_doubt = super().put_many(rows)
        self._written()
        return in_doubt

    def delete_many(self, keys: Iterable[bytes]) -> None:
        if self.dead:  # before it could delete what it wrote
            raise Crash
        super().delete_many(keys)

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        done = super().compare_and_set(key, expected, value)
        self._written()
        return done


@pytest.mark.parametrize("dies", [False, True])
@pytest.mark.parametrize("write", [1, 2, 3, 4])
def test_a_writer_that_sleeps_for_days_writes_nothing(
    write: int, dies: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After any write, a writer may sleep until its ticket was aborted and forgotten: nothing of it is shown.

    The same holds if it dies soon after, before it could delete what it wrote.
    """
    store = StallingStore()
    table = make(store, tmp_path)
    commit(change(table, 7))
    asleep = 0.0
    real = attempt.uptime_s
    for module in (attempt, committer):
        monkeypatch.setattr(module, "uptime_s", lambda: real() + asleep)

    def sleep() -> None:
        nonlocal asleep
        asleep += 3 * 24 * 3600.0
        with monkeypatch.context() as context:
            context.setattr(owner, "LEASE_MS", -1)
            commit(change(table, 8))  # takes the sleeper for dead
        later(table, 25)
        clean(table, grace=GRACE)
        clean(table, grace=GRACE)
        assert head_of(table).aborted == ()

    store.stall, store.remaining, store.dies = sleep, write, dies
    transaction = change(table, 9, "sleeper")
    if write < 4:
        with pytest.raises((CommitAbortedError, Crash)):
            commit(transaction)
        assert dies or not transaction.may_be_visible
    else:
        commit(transaction)
    store.dies = store.dead = False
    shown = {(7,): ["f7"], (8,): ["f8"]} | ({(9,): ["sleeper9"]} if write == 4 else {})
    assert content(table.refresh()) == shown
    assert content(commit(change(table, 10))) == {**shown, (10,): ["f10"]}
