"""A table records the foreign files that it removed on purpose.

The tests show what the record holds of a file, when commits write and delete it, and how long vacuum keeps
it.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pytest

from parquetry.errors import CommitConflictError
from parquetry.metastore import FileRecord, Metastore, Replacement, TableSnapshot, Transaction
from parquetry.metastore.check.fsck import fsck
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.removed_files import encode_removed, files_removed
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.manifest import entries
from parquetry.metastore.operations.history import rollback
from parquetry.metastore.storage.keyspace import (
    CHUNKS,
    JOURNAL,
    partition_prefix,
    prefix_range,
    removed_files_prefix,
)
from parquetry.metastore.storage.model import RemovedFileRecord, Totals
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.store import MemoryStore, Store
from tests.support.stores.metastores import FaultyStore, content, leftovers, metadata, whole_day
from tests.support.tables.lakes import NOW, TableLake

Records = dict[str, int | None]
A, B, C = (1, "a"), (1, "b"), (2, "c")


def their(name: str, size: int = 10, modified: int | None = 1000) -> FileRecord:
    return FileRecord(name, size, 1, modified)


def records(table: TableSnapshot) -> Records:
    """Return the times of the files that a version knows as taken out, by their paths."""
    return {file.path: file.record.modified for file in files_removed(table)}


def adopted(store: Store | None = None) -> TableSnapshot:
    """Return a table where A and B hold a foreign file each, and C an own file and a foreign one."""
    table = Metastore(store or MemoryStore(), "/lake").create_table("default", "t", metadata())
    transaction = Transaction(table, "sync")
    transaction.append(A, [their("one")])
    transaction.append(B, [their("two", modified=None)])
    transaction.append(C, [their("three", modified=3000), FileRecord(f"pq-{table.id.hex()}-own", 1, 1)])
    return commit(transaction)


ONE, TWO, THREE = {"d=1/s=a/one": 1000}, {"d=1/s=b/two": None}, {"d=2/s=c/three": 3000}

CHANGES: dict[str, tuple[Callable[[Transaction], object], Records]] = {
    "append": (lambda t: t.append(A, [their("more")]), {}),
    "drop": (lambda t: t.drop(A), {**ONE}),
    "drop what is mixed": (lambda t: t.drop(C), {**THREE}),
    "replace": (lambda t: t.replace(A, [their("new")]), {**ONE}),
    "replace by nothing": (lambda t: t.replace(B, ()), {**TWO}),
    "replace by the same and more": (lambda t: t.replace(A, [their("one"), their("new")]), {}),
    "replace a day": (lambda t: t.replace_where(whole_day(t.base, 1)), {**ONE, **TWO}),
    "replace all": (lambda t: t.replace_where(None), {**ONE, **TWO, **THREE}),
    "rename": (lambda t: t.rename(A, (7, "z")), {}),
    "alter": (lambda t: t.set_metadata(metadata(comment="changed")), {}),
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_commit_records_what_it_takes_out(name: str) -> None:
    """Size and time of each file of others that is live no longer; none of the table's own."""
    change, expected = CHANGES[name]
    table = adopted()
    transaction = Transaction(table, "change")
    change(transaction)
    after = commit(transaction)
    assert records(after) == expected
    assert {file.ticket for file in files_removed(after)} <= {after.commit.ticket}
    assert {file.record.bytes for file in files_removed(after)} <= {10}
    assert records(table) == {}


def test_files_that_move_are_not_taken_out() -> None:
    """One commit that drops a file from a partition and lists it in another has it live."""
    transaction = Transaction(adopted(), "move")
    transaction.drop(A)
    transaction.append((3, "m"), [FileRecord("/lake/t/d=1/s=a/one", 10, 1, 1000)])
    assert records(commit(transaction)) == {}


def test_files_elsewhere_are_nobodys_to_find() -> None:
    """A file below the table's location is recorded by its path, also if its partition has another name.

    A file elsewhere is not recorded.
    """
    transaction = Transaction(adopted(), "add")
    transaction.rename(A, (7, "z"))
    transaction.add((8, "x"), location="/lake/t/odd", files=[their("four")])
    transaction.add((8, "y"), location="/away", files=[their("five")])
    transaction = Transaction(commit(transaction), "drop")
    transaction.replace_where(None)
    assert records(commit(transaction)) == {**ONE, **TWO, **THREE, "odd/four": 1000}


def test_a_file_that_is_listed_again_is_forgotten() -> None:
    """By whichever partition, and only that file; versions between still know it as taken out."""
    transaction = Transaction(adopted(), "drop")
    transaction.replace_where(None)
    gone = commit(transaction)
    transaction = Transaction(gone, "sync")
    transaction.append(A, [their("one")])
    transaction.add((9, "q"), location="/lake/t/d=2/s=c", files=[their("three", modified=4000)])
    back = commit(transaction)
    assert records(back) == TWO
    assert records(gone) == {**ONE, **TWO, **THREE}
    transaction = Transaction(back, "drop")
    transaction.drop(A)
    assert records(commit(transaction)) == {**TWO, **ONE}


def test_what_is_gone_from_disk_is_not_recorded() -> None:
    """Nor what a repair takes out; an explicit record stands, and forgetting alone makes a version."""
    transaction = Transaction(adopted(), "sync")
    transaction.leave_records()
    transaction.drop(A)
    transaction.record_removed_files({"d=5/s=x/y": RemovedFileRecord(1, 2)})
    table = commit(transaction)
    assert records(table) == {"d=5/s=x/y": 2}
    transaction = Transaction(table, "sync")
    transaction.record_removed_files({"d=5/s=x/y": None})
    after = commit(transaction)
    assert after.version == table.version + 1
    assert content(after) == content(table)
    assert records(after) == {}


@pytest.mark.parametrize("first_at", range(9))
def test_two_writers_take_out_different_files(first_at: int) -> None:
    """Both removals are recorded in either order.

    An append to another partition conflicts with neither.
    """
    inner = MemoryStore()
    adopted(inner)
    store = FaultyStore(inner)
    slow = Transaction(Metastore(store, "/lake").table("default", "t"), "slow")
    slow.drop(A)

    def meanwhile(writes: int) -> None:
        if writes == first_at:
            for act in (lambda t: t.drop(B), lambda t: t.append(C, [their("six")])):
                transaction = Transaction(Metastore(inner, "/lake").table("default", "t"), "fast")
                act(transaction)
                commit(transaction)

    store.before_write = meanwhile
    commit(slow)
    assert first_at < store.writes
    table = Metastore(inner, "/lake").table("default", "t")
    assert records(table) == {**ONE, **TWO}
    assert leftovers(inner, table.id) == []


@pytest.mark.parametrize("first_at", range(10))
def test_who_forgets_does_not_hide_what_is_taken_out_later(first_at: int) -> None:
    """A file forgotten by one writer, taken in and out again by others meanwhile: the last commit counts."""
    inner = MemoryStore()
    transaction = Transaction(adopted(inner), "drop")
    transaction.drop(A)
    commit(transaction)
    store = FaultyStore(inner)
    slow = Transaction(Metastore(store, "/lake").table("default", "t"), "forget")
    slow.record_removed_files({"d=1/s=a/one": None})
    order: list[str] = []

    def meanwhile(writes: int) -> None:
        if writes == first_at:
            for act in (lambda t: t.append(A, [their("one", modified=5)]), lambda t: t.drop(A)):
                transaction = Transaction(Metastore(inner, "/lake").table("default", "t"), "fast")
                act(transaction)
                commit(transaction)
            order.append("fast")

    store.before_write = meanwhile
    commit(slow)
    table = Metastore(inner, "/lake").table("default", "t")
    assert records(table) == ({} if table.operation == "forget" else {"d=1/s=a/one": 5})
    assert leftovers(inner, table.id) == []


def test_who_adopts_forgets_nothing_that_was_taken_out_since() -> None:
    """An adoption that would forget a removed file fails if the file came and went meanwhile."""
    store = MemoryStore()
    transaction = Transaction(adopted(store), "drop")
    transaction.drop(A)
    table = commit(transaction)
    late = Transaction(table, "sync")
    late.requirements.adopt(lambda: None)
    late.record_removed_files({"d=1/s=a/one": None})
    late.append(B, [their("more")])
    for act in (lambda t: t.add(A, None, [their("one", modified=5)]), lambda t: t.drop(A)):
        transaction = Transaction(table.refresh(), "fast")
        act(transaction)
        commit(transaction)
    with pytest.raises(CommitConflictError, match="the record of d=1/s=a/one was changed by version"):
        commit(late)
    assert records(table.refresh()) == {"d=1/s=a/one": 5}
    assert leftovers(store, table.id) == []


def test_writers_of_one_partition_conflict_as_ever() -> None:
    """Who loses takes nothing out and leaves nothing."""
    store = MemoryStore()
    table = adopted(store)
    loser = Transaction(table, "drop")
    loser.drop(A)
    winner = Transaction(table, "append")
    winner.append(A, [their("more")])
    commit(winner)
    with pytest.raises(CommitConflictError):
        commit(loser)
    assert records(table.refresh()) == {}
    assert leftovers(store, table.id) == []


def test_a_rollback_restores_records(tmp_path: Path) -> None:
    """Back to where a file was live, out, or not yet met, from each of these."""
    lake = TableLake(tmp_path)
    lake.append(A, "one", own=False)
    lake.drop(A)
    expected: dict[int, list[str]] = {0: [], 1: [], 2: ["d=1/s=a/one"]}
    for target in (1, 2, 0, 2, 1, 0, 1, 2):
        after = rollback(lake.table(), lake.table(target))
        assert list(records(after)) == expected[target]
        assert content(after) == content(lake.table(target))


def test_many_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Long lists of files and long journals: all are recorded, and a commit of own files reads no record."""
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", 200)
    store = MemoryStore()
    table = Metastore(store, "/lake").create_table("default", "t", metadata())
    transaction = Transaction(table, "sync")
    transaction.append(A, [their(f"f{n:04}") for n in range(2500)])
    table = commit(transaction)
    assert list(store.scan(*prefix_range(CHUNKS + table.id)))
    transaction = Transaction(table, "truncate")
    transaction.replace(A, ())
    table = commit(transaction)
    assert list(records(table)) == [f"d=1/s=a/f{n:04}" for n in range(2500)]
    assert leftovers(store, table.id) == []


def test_lost_lists_of_files_are_not_recorded() -> None:
    """A partition whose list of files is lost can be dropped, and a sync then takes its files in again."""
    store = MemoryStore()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(entries, "MAX_INLINE_BYTES", 10)
        table = adopted(store)
    store.delete_many([key for key, _ in store.scan(*prefix_range(CHUNKS + table.id))])
    transaction = Transaction(table, "drop")
    transaction.drop(A)
    assert records(commit(transaction)) == {}


def lake_with_past(folder: Path, store: Store | None = None) -> TableLake:
    """Return a table that removed `one`, removed and readopted `two`, and still has `three`."""
    lake = TableLake(folder, store)
    for key, name in ((A, "one"), (B, "two"), (C, "three")):
        lake.append(key, name, own=False)
    lake.drop(A)
    lake.drop(B)
    lake.append(B, "two", own=False)
    return lake


def stored(lake: TableLake) -> int:
    return sum(1 for _ in lake.store.scan(*prefix_range(removed_files_prefix(lake.id))))


def test_vacuum_keeps_what_is_taken_out(tmp_path: Path) -> None:
    """Records that newer ones replace go, and so do tombstones; a dry run counts them."""
    lake = lake_with_past(tmp_path)
    assert stored(lake) == 3
    before = records(lake.table())
    assert list(before) == ["d=1/s=a/one"]
    for dry_run in (True, False):
        removed = vacuum(lake.table(), older_than=NOW, dry_run=dry_run)
        assert [row.count for row in removed if row.kind == "taken-out records"] == [2]
    assert stored(lake) == 1
    assert records(lake.table()) == before
    assert vacuum(lake.table(), older_than=NOW) == []
    assert fsck(lake.table(), footers=False) == []


def test_versions_that_are_kept_keep_their_records(tmp_path: Path) -> None:
    """A version between still says what it knew."""
    lake = lake_with_past(tmp_path)
    known = records(lake.table(5))
    assert list(known) == ["d=1/s=a/one", "d=1/s=b/two"]
    vacuum(lake.table(), older_than=0)
    assert records(lake.table(5)) == known


def test_dumped_and_restored(tmp_path: Path) -> None:
    """All versions say the same in the copy, and the copy dumps the same."""
    lake = lake_with_past(tmp_path / "lake")
    transaction = Transaction(lake.table(), "forget nothing")
    transaction.record_removed_files({"d=9/s=z/é": RemovedFileRecord(7)})
    commit(transaction)
    dump(lake.metastore, tmp_path / "one")
    copy = Metastore(MemoryStore(), str(tmp_path / "lake"))
    restore(copy, tmp_path / "one")
    for version in range(lake.table().version + 1):
        now = copy.table("default", "t", version=version)
        assert list(files_removed(now)) == list(files_removed(lake.table(version)))
    dump(copy, tmp_path / "two")
    (one,), (two,) = ([*(tmp_path / name / "tables").iterdir()] for name in ("one", "two"))
    assert one.read_bytes() == two.read_bytes()


def test_fsck_tells_of_records_that_cannot_be_read(tmp_path: Path) -> None:
    """And forgets them on request."""
    lake = lake_with_past(tmp_path)
    key = next(key for key, _ in lake.store.scan(*prefix_range(removed_files_prefix(lake.id))))
    lake.store.put_many([(key, b"\x01nonsense")])
    for repair in (False, True):
        (found,) = fsck(lake.table(), repair=repair, footers=False)
        assert (found.kind, found.path, found.repaired) == ("unreadable record", "d=1/s=a/one", repair)
        assert "sync" in found.detail
    assert fsck(lake.table(), footers=False) == []
    assert records(lake.table()) == {}


def test_renamed_dropped_and_replaced_tables(tmp_path: Path) -> None:
    """A rename keeps the records, and a drop deletes them.

    A table that replaces another one at its location records the files of the replaced table as removed.
    """
    lake = lake_with_past(tmp_path)
    lake.metastore.rename_table("default", "t", "default", "u")
    assert list(records(lake.metastore.table("default", "u"))) == ["d=1/s=a/one"]
    for location, expected in (
        (lake.location, ["d=1/s=a/one", "d=1/s=b/two", "d=2/s=c/three"]),
        (tmp_path / "elsewhere", []),
    ):
        replacement = Replacement(lake.metastore.table("default", "u"), metadata(location=f"file:{location}"))
        table = replacement.make_visible()
        assert list(records(table)) == expected
        assert list(records(lake.metastore.table("default", "u"))) == expected
    lake.metastore.drop_table("default", "u")
    for tag in (removed_files_prefix(b""), JOURNAL):
        assert list(lake.store.scan(*prefix_range(tag))) == []


def test_a_commit_to_the_replaced_table_meanwhile_is_not_missed(tmp_path: Path) -> None:
    """The new table also leaves out the files that the old table adopted while it was being replaced."""
    for stop in itertools.count():
        lake = TableLake(tmp_path / str(stop))
        lake.append(A, "one", own=False)
        store = FaultyStore(lake.store)
        metastore = Metastore(store, lake.metastore.warehouse)
        replacement = Replacement(metastore.table("default", "t"), metadata(location=f"file:{lake.location}"))
        late: list[str] = []

        def meanwhile(writes: int, stop: int = stop, lake: TableLake = lake, late: list[str] = late) -> None:
            if writes == stop and lake.table().operation != "replace":
                lake.append(B, "late", own=False)
                late.append("d=1/s=b/late")

        store.before_write = meanwhile
        table = replacement.make_visible()
        assert content(table) == {}
        assert sorted(records(table)) == sorted(["d=1/s=a/one", *late])
        if stop > 3 and not late:
            break


def test_records_are_rows_of_their_own() -> None:
    """The path below the location, and the ticket: a golden row, since stores outlive releases."""
    store = MemoryStore()
    table = adopted(store)
    transaction = Transaction(table, "drop")
    transaction.drop(A)
    table = commit(transaction)
    ((key, value),) = table.store.scan(*prefix_range(removed_files_prefix(table.id)))
    assert key == b"\x09" + table.id + b"d=1/s=a/one" + (2**64 - 1 - table.commit.ticket).to_bytes(8, "big")
    assert value == encode_removed(RemovedFileRecord(10, 1000)) == b"\x01\x92\x0a\xcd\x03\xe8"


def test_a_table_that_cannot_be_read_can_be_replaced(tmp_path: Path) -> None:
    """The replacement records no removed files, and the damaged row goes away with the old version."""
    lake = TableLake(tmp_path)
    lake.append(A, "one", own=False)
    ((row, _),) = lake.store.scan(*prefix_range(partition_prefix(lake.id)))
    lake.store.put_many([(row, b"\x01nonsense")])
    table = Replacement(
        lake.metastore.table("default", "t"), metadata(location=f"file:{lake.location}")
    ).make_visible()
    assert (records(table), table.totals) == ({}, Totals())
    vacuum(table, older_than=1 << 50)
    assert fsck(lake.table(), footers=False) == []
