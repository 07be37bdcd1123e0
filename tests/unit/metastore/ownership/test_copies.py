"""A moved warehouse continues; a copy has a life of its own, and leaves outside tables to the original."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from parquetry.errors import ForeignWarehouseError
from parquetry.metastore import Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.deletion.dropped_files import DroppedTableFiles
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.operations.relocate import relocate
from parquetry.metastore.ownership.mark import MARK_FILE
from parquetry.metastore.vacuuming.vacuum import vacuum
from tests.support.tables.owned_files import files, make, write

ALL = 1 << 50


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    """The folder of an external table."""
    return tmp_path / "outside"


@pytest.fixture
def lake(tmp_path: Path, outside: Path) -> Path:
    """A warehouse with a table inside and one outside, each of one file."""
    folder = tmp_path / "lake"
    with open_metastore(str(folder), create=True) as metastore:
        make(metastore)
        make(metastore, "x", outside)
        write(metastore, "one")
        write(metastore, "one", "x")
    return folder


def copied(lake: Path, name: str = "copy") -> Path:
    return Path(shutil.copytree(lake, lake.with_name(name), symlinks=True))


def test_a_moved_warehouse(lake: Path) -> None:
    """After `mv` all tables are written and vacuumed, with no word more; the mark has the new place."""
    moved = lake.rename(lake.with_name("moved"))
    with open_metastore(str(moved)) as metastore:
        write(metastore, "two")
        write(metastore, "two", "x", replaces=True)
        removed = vacuum(metastore.table("default", "x"), older_than=ALL)
    assert removed[0].kind == "data file"
    assert json.loads((moved / MARK_FILE).read_text())["warehouse"] == str(moved)


def test_a_moved_warehouse_whose_store_is_elsewhere(tmp_path: Path) -> None:
    """After `mv` the same store, elsewhere, goes on with the folder in its new place."""
    folder, store = tmp_path / "lake", f"sqlite://{tmp_path}/store.sqlite"
    with open_metastore(str(folder), store, create=True) as metastore:
        make(metastore)
        write(metastore, "one")
    moved = folder.rename(tmp_path / "moved")
    with open_metastore(str(moved), store) as metastore:
        write(metastore, "two")
        vacuum(metastore.table("default", "t"), older_than=ALL)
        assert files(metastore) == ["one", "two"]


def test_a_copy_and_the_original_lose_nothing(lake: Path) -> None:
    """After `cp -r` both write, overwrite, vacuum and drop inside of their own folders, without a claim."""
    copy = copied(lake)
    with open_metastore(str(lake)) as original, open_metastore(str(copy)) as other:
        write(original, "two", replaces=True)
        write(other, "three", replaces=True)
        for metastore in (original, other):
            vacuum(metastore.table("default", "t"), older_than=ALL)
        assert [path.name[-12:] for path in lake.rglob("t/d=1/*.parquet")] == ["-two.parquet"]
        assert [path.name[-13:] for path in copy.rglob("t/d=1/*.parquet")] == ["three.parquet"]
        other.drop_table("default", "t")
        assert files(original) == ["two"]


@pytest.mark.parametrize("claimed", ["not", "claimed", "told"])
def test_a_copy_leaves_alone_what_is_outside(claimed: str, lake: Path, outside: Path) -> None:
    """A copy reads outside tables, but neither writes to them nor deletes their files.

    That holds before and after a claim.
    """
    copy = copied(lake)
    if claimed == "told":  # the original is on another machine
        hidden = lake.rename(lake.with_name("hidden"))
    with open_metastore(str(copy)) as other:
        if claimed != "not":
            done = other.claim(copy=claimed == "told")
            assert (done.shared, done.original is not None) == (1, True)
    if claimed == "told":
        hidden.rename(lake)
    with open_metastore(str(lake)) as original, open_metastore(str(copy)) as other:
        new = write(original, "two", "x", replaces=True)
        assert files(other, "x") == ["one"]
        refused = rf"Table default.x cannot be written: file:{outside}/.* is outside of this warehouse, which was copied"
        with pytest.raises(ForeignWarehouseError, match=refused):
            write(other, "three", "x")
        (outside / "d=1" / f"pq-{original.table('default', 'x').id.hex()}-three.parquet").unlink()
        vacuum(other.table("default", "x"), older_than=ALL)
        before = sorted(outside.rglob("*"))
        transaction = Transaction(other.table("default", "x"), "drop")
        transaction.drop((1,))
        commit(transaction)
        vacuum(other.table("default", "x"), older_than=ALL)
        dropping = DroppedTableFiles(other.table("default", "x"))
        other.drop_table("default", "x")
        assert dropping.delete() == []
        assert sorted(outside.rglob("*")) == before
        assert new.exists()
        assert files(original, "x") == ["two"]
        make(other, "mine", outside.with_name("mine"))
        if claimed != "not":  # made after the claim: the copy's own
            write(other, "one", "mine")


def test_a_partition_outside(lake: Path, tmp_path: Path) -> None:
    """A partition of a table inside may be elsewhere: a copy leaves its files there alone, too."""
    with open_metastore(str(lake)) as metastore:
        table = metastore.table("default", "t")
        transaction = Transaction(table, "add partition")
        transaction.add((2,), f"file:{tmp_path}/p")
        commit(transaction)
    stray = tmp_path / "p" / f"pq-{table.id.hex()}-new.parquet"
    stray.parent.mkdir()
    stray.write_bytes(b"rows")
    copy = copied(lake)
    with open_metastore(str(copy)) as other:
        other.claim()
        vacuum(other.table("default", "t"), older_than=ALL, grace=-ALL)
        assert stray.exists()
    with open_metastore(str(lake)) as original:
        vacuum(original.table("default", "t"), older_than=ALL, grace=-ALL)
        assert not stray.exists()


@pytest.mark.parametrize("claimed_before", [True, False])
def test_a_claim_takes_what_is_outside_on_purpose(claimed_before: bool, lake: Path) -> None:
    """A claim leaves outside tables to the original, even if it is repeated.

    With `outside=True` it gives them to the copy.
    """
    copy = copied(lake)
    with open_metastore(str(copy)) as other:
        if claimed_before:
            assert other.claim().shared == 1
            assert other.claim().shared == 1
            with pytest.raises(ForeignWarehouseError):
                write(other, "no", "x")
        shutil.rmtree(lake)
        assert other.claim(outside=True).shared == 0
        write(other, "two", "x", replaces=True)
        removed = vacuum(other.table("default", "x"), older_than=ALL)
        assert "data file" in {row.kind for row in removed}


def test_two_folders_with_one_store(tmp_path: Path) -> None:
    """A copied folder whose metastore is elsewhere cannot be written with the original's metastore.

    It needs a metastore of its own.
    """
    folder, store = tmp_path / "lake", f"sqlite://{tmp_path}/store.sqlite"
    with open_metastore(str(folder), store, create=True) as metastore:
        make(metastore)
        write(metastore, "one")
    copy = copied(folder)
    with open_metastore(str(copy), store) as other:
        assert files(other) == ["one"]
        with pytest.raises(
            ForeignWarehouseError,
            match=rf"{copy} is a copy of {folder}, which has the same metastore, in sqlite://.*store.sqlite",
        ):
            write(other, "two")
    with open_metastore(str(folder), store) as metastore:
        write(metastore, "two")
        dump(metastore, tmp_path / "dump")
    second = open_metastore(str(copy), f"sqlite://{tmp_path}/second.sqlite", create=True)
    restore(second, tmp_path / "dump")
    write(second, "three", replaces=True)
    with open_metastore(str(folder), store) as metastore:
        write(metastore, "four")
        assert files(metastore) == ["four", "one", "two"]
    assert files(second) == ["three"]


@pytest.mark.parametrize("folder_is_copied", [True, False])
def test_a_dump_restored_for_another_folder(
    folder_is_copied: bool, lake: Path, outside: Path, tmp_path: Path
) -> None:
    """A restore for a second warehouse retires nothing, and tables outside stay the first one's."""
    with open_metastore(str(lake)) as metastore:
        dump(metastore, tmp_path / "dump")
    second = copied(lake, "second") if folder_is_copied else tmp_path / "second"
    store = f"sqlite://{tmp_path}/second.sqlite"
    with open_metastore(str(second), store, create=True) as other, open_metastore(str(lake)) as first:
        restore(other, tmp_path / "dump")
        write(first, "two", "x")
        write(first, "two")
        write(other, "three")
        with pytest.raises(ForeignWarehouseError, match="is outside of this warehouse"):
            write(other, "three", "x")
        vacuum(other.table("default", "x"), older_than=ALL)
        assert files(first, "x") == ["one", "two"]
        assert {path.name[-11:] for path in outside.rglob("*two.parquet")} == {"two.parquet"}
        dump(other, tmp_path / "again")
    third = open_metastore(str(second), f"sqlite://{tmp_path}/third.sqlite", create=True)
    restore(third, tmp_path / "again")
    with pytest.raises(ForeignWarehouseError, match="is outside of this warehouse"):
        write(third, "four", "x")


def copied_outside(outside: Path) -> Path:
    return Path(shutil.copytree(outside, outside.with_name("outside-copy")))


@pytest.mark.parametrize("claimed", ["not", "before", "after"])
def test_what_was_copied_outside_belongs_to_the_copy_once_it_is_named(
    claimed: str, lake: Path, outside: Path
) -> None:
    """After `relocate` to the copied files, the copy writes and vacuums there without `claim --outside`; the
    rest stays the original's.
    """
    with open_metastore(str(lake)) as original:
        make(original, "y", outside.with_name("other"))
        write(original, "one", "y")
    copy, there = copied(lake), copied_outside(outside)
    with open_metastore(str(copy)) as other, open_metastore(str(copy)) as session:
        if claimed == "before":
            assert other.claim().shared == 2
        with pytest.raises(ForeignWarehouseError):
            write(session, "no", "x")
        relocate(other, str(outside), str(there))
        if claimed == "after":
            assert other.claim().shared == 1
        path = write(other, "two", "x", replaces=True)
        assert path.is_relative_to(there)
        write(session, "three", "x")
        removed = vacuum(other.table("default", "x"), older_than=ALL)
        assert "data file" in {row.kind for row in removed}
        with pytest.raises(ForeignWarehouseError, match="is outside of this warehouse, which was copied"):
            write(other, "no", "y")
    with open_metastore(str(lake)) as original:
        assert files(original, "x") == ["one"]
        assert [each.name[-11:] for each in outside.rglob("*one.parquet")] == ["one.parquet"]


def test_what_the_original_has_in_the_new_place_stays_the_originals(
    lake: Path, outside: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Moved files belong to the original if it was relocated as well, also through a link."""
    copy = copied(lake)
    moved = outside.rename(outside.with_name("moved"))
    link = outside.with_name("link")
    link.symlink_to(moved)
    with open_metastore(str(lake)) as original, open_metastore(str(copy)) as other:
        relocate(original, str(outside), str(moved))
        relocate(other, str(outside), str(link))
        with pytest.raises(ForeignWarehouseError):
            write(other, "no", "x")
        assert "1 tables have files outside of the warehouse" in caplog.text


@pytest.mark.parametrize("why", ["the original is not seen", "the original has no such table"])
def test_what_is_not_known_stays_the_originals(why: str, lake: Path, outside: Path) -> None:
    """A copy whose original cannot be read takes nothing over by itself."""
    copy, there = copied(lake), copied_outside(outside)
    with open_metastore(str(copy)) as other:
        other.claim()
        if why == "the original is not seen":
            lake.rename(lake.with_name("hidden"))
        else:
            with open_metastore(str(lake)) as original:
                original.drop_table("default", "x")
        relocate(other, str(outside), str(there))
        with pytest.raises(ForeignWarehouseError):
            write(other, "no", "x")
        assert other.claim(outside=True).shared == 0
        write(other, "two", "x")


def test_what_was_brought_into_a_copy_is_its_own(lake: Path, outside: Path) -> None:
    """A table whose files are all inside of the copy now is not the original's, also if that is not seen."""
    copy = copied(lake)
    shutil.copytree(outside, copy / "x")
    with open_metastore(str(copy)) as other:
        other.claim()
        lake.rename(lake.with_name("hidden"))
        relocate(other, str(outside), str(copy / "x"))
        assert other.claim().shared == 0
        transaction = Transaction(other.table("default", "x"), "add partition")
        transaction.add((2,), f"file:{outside.with_name('mine')}")
        commit(transaction)
        stray = outside.with_name("mine") / f"pq-{other.table('default', 'x').id.hex()}-new.parquet"
        stray.parent.mkdir()
        stray.write_bytes(b"rows")
        vacuum(other.table("default", "x"), older_than=ALL, grace=-ALL)
        assert not stray.exists()
