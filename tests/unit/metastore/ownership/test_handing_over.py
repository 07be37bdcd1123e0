"""`restore` gives the warehouse to the new metastore and retires the old one.

`claim` does so without a dump.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from parquetry.errors import ForeignWarehouseError, UnsupportedError
from parquetry.metastore import Metastore, open_metastore
from parquetry.metastore.check.fsck import fsck
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.ownership.mark import MARK_FILE
from parquetry.metastore.storage import owner
from parquetry.metastore.storage.format import read_successor
from parquetry.metastore.storage.head import edit_head
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.store import SQLiteStore
from tests.support.tables.owned_files import files, make, write

ALL = 1 << 50


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A warehouse with a metastore of its own, a table and a file."""
    folder = tmp_path / "lake"
    with open_metastore(str(folder), create=True) as metastore:
        make(metastore)
        write(metastore, "one")
    return folder


def url(folder: Path, name: str = "server") -> str:
    return f"sqlite://{folder.parent}/{name}.sqlite"


def dumped(folder: Path, name: str = "dump", store: str | None = None) -> Path:
    with open_metastore(str(folder), store) as metastore:
        dump(metastore, folder.parent / name)
    return folder.parent / name


def restored(source: Path, warehouse: Path, store: str | None, *, claims: bool = False) -> Metastore:
    metastore = open_metastore(str(warehouse), store, create=True)
    restore(metastore, source, claims=claims)
    return metastore


def store_in_mark(folder: Path) -> str:
    found: str = json.loads((folder / MARK_FILE).read_text())["store"]
    return found


def test_moved_to_another_store_and_the_old_nightly_vacuum(lake: Path) -> None:
    """The pages' way to another store: the new metastore's files survive every call through the old one."""
    new = restored(dumped(lake), lake, url(lake))
    two = write(new, "two")
    with open_metastore(str(lake)) as old:
        assert files(old) == ["one"]
        with pytest.raises(
            ForeignWarehouseError,
            match=r"given to the metastore in sqlite://.*server.sqlite: name that store",
        ):
            vacuum(old.table("default", "t"), older_than=ALL)
        assert [finding.kind for finding in fsck(old.table("default", "t"))] == ["foreign warehouse"]
        for change in (
            lambda: write(old, "x"),
            lambda: old.drop_table("default", "t"),
            lambda: old.create_database("x"),
        ):
            with pytest.raises(ForeignWarehouseError):
                change()
    assert two.exists()
    vacuum(new.table("default", "t"), older_than=ALL)
    assert files(new) == ["one", "two"]
    assert fsck(new.table("default", "t"), footers=False) == []


@pytest.mark.parametrize("marked", [True, False])
def test_a_session_that_is_open_meanwhile(marked: bool, lake: Path) -> None:
    """A session with the old metastore open writes and deletes no file after the restore.

    That holds even if the old metastore had no mark.
    """
    if not marked:
        (lake / MARK_FILE).unlink()
        with open_metastore(str(lake)) as metastore:
            metastore.store.rows.delete_many([b"\0identity"])
    source = dumped(lake)
    with Metastore(SQLiteStore(lake / "_parquetry" / "metastore.sqlite"), str(lake)) as open_since:
        new = restored(source, lake, url(lake))
        assert read_successor(open_since.store)
        with pytest.raises(ForeignWarehouseError):  # this one looks at no mark, and at the format row only
            write(open_since, "x")
    two = write(new, "two")
    with open_metastore(str(lake)) as old, pytest.raises(ForeignWarehouseError):
        vacuum(old.table("default", "t"), older_than=ALL)
    assert two.exists()
    assert store_in_mark(lake).endswith("server.sqlite")


def test_a_source_that_cannot_be_reached(lake: Path, tmp_path: Path) -> None:
    """If the old store is away when the dump is restored, the mark alone refuses it when it comes back."""
    moved = tmp_path / "moved"
    first = restored(dumped(lake), lake, url(lake, "first"))
    first.close()
    source = dumped(lake, "second dump", url(lake, "first"))
    moved.mkdir()
    for path in tmp_path.glob("first.sqlite*"):
        path.rename(moved / path.name)
    new = restored(source, lake, url(lake, "second"))
    two = write(new, "two")
    for path in moved.iterdir():
        path.rename(tmp_path / path.name)
    with open_metastore(str(lake), url(lake, "first")) as old:
        assert read_successor(old.store) == ""
        assert files(old) == ["one"]
        with pytest.raises(
            ForeignWarehouseError, match=r"belongs to the metastore in sqlite://.*second.sqlite"
        ):
            vacuum(old.table("default", "t"), older_than=ALL)
        with pytest.raises(ForeignWarehouseError, match=r"second.sqlite"):
            write(old, "x")
    assert two.exists()


def test_a_dump_of_an_earlier_owner(lake: Path) -> None:
    """A dump from before another restore takes nothing from the owner of today, unless it says so."""
    source = dumped(lake)
    first = restored(source, lake, url(lake, "first"))
    two = write(first, "two")
    with pytest.raises(
        ForeignWarehouseError,
        match=r"belongs to the metastore in sqlite://.*first.sqlite, and the dump is of another one or of an earlier time.*restore --claim",
    ):
        restored(source, lake, url(lake, "second"))
    with open_metastore(str(lake), url(lake, "second")) as second:
        assert second.tables("default") == []
    write(first, "three")
    second = restored(source, lake, url(lake, "second"), claims=True)
    with pytest.raises(ForeignWarehouseError):
        write(first, "four")
    write(second, "five")
    assert two.exists()


def test_a_damaged_metastore_is_restored_in_its_place(lake: Path, tmp_path: Path) -> None:
    """To replace a damaged metastore, move `_parquetry` away and restore any dump of it."""
    source = dumped(lake)
    for attempt in range(2):  # the second time the mark names the first restore
        (lake / "_parquetry").rename(tmp_path / f"away{attempt}")
        with restored(source, lake, None) as metastore:
            write(metastore, f"new{attempt}")
        assert store_in_mark(lake) == "sqlite"
    with open_metastore(str(lake), f"sqlite://{tmp_path}/away0/metastore.sqlite") as old:
        assert files(old) == ["one"]
        with pytest.raises(ForeignWarehouseError):
            vacuum(old.table("default", "t"), older_than=ALL)


def test_a_restore_that_was_interrupted(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Until the new metastore has its tables, the old one stays the owner; the restore is run again."""
    source = dumped(lake)
    new = open_metastore(str(lake), url(lake), create=True)
    with monkeypatch.context() as patch:
        patch.setattr(
            "parquetry.metastore.ownership.handover.replace_mark",
            lambda *_: (_ for _ in ()).throw(OSError("full")),
        )
        with pytest.raises(OSError, match="full"):
            restore(new, source)
    with open_metastore(str(lake)) as old:
        write(old, "two")
    assert new.tables("default") == []
    with pytest.raises(ForeignWarehouseError):  # what the old one has committed since would be lost
        restore(new, source)
    restore(new, dumped(lake, "again"))
    assert files(new) == ["one", "two"]
    write(new, "three")


def _commit(old: Metastore) -> None:
    write(old, "two")


def _create(old: Metastore) -> None:
    make(old, "u")


def _rename(old: Metastore) -> None:
    old.rename_table("default", "t", "default", "u")


def _drop(old: Metastore) -> None:
    old.drop_table("default", "t")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (_commit, "table default.t has version 2, and the dump has 1"),
        (_create, "table default.u was made"),
        (_rename, "table default.t was renamed to default.u"),
        (_drop, "table default.t was dropped"),
    ],
)
@pytest.mark.parametrize("claims", [False, True])
def test_a_dump_from_before_the_owners_last_change(
    claims: bool, change: Callable[[Metastore], None], words: str, lake: Path
) -> None:
    """A restore that would lose what the owner has committed since the dump is refused, unless it says so."""
    source = dumped(lake)
    with open_metastore(str(lake)) as old:
        change(old)
        new = open_metastore(str(lake), url(lake), create=True)
        if claims:
            restore(new, source, claims=True)
            assert files(new) == ["one"]
            return
        with pytest.raises(ForeignWarehouseError, match=f"not of its present state: {words}. Dump it again"):
            restore(new, source)
        assert new.tables("default") == []
        make(old, "v")  # it is the owner still
        restore(new, dumped(lake, "again"))
        assert new.tables("default") == old.tables("default")
        with pytest.raises(ForeignWarehouseError):
            make(old, "w")


def test_a_commit_under_way_while_a_dump_is_restored(lake: Path) -> None:
    """If a commit and a restore run at once, one is refused: the restore if the commit has its ticket, or
    else the commit.
    """
    source = dumped(lake)
    with open_metastore(str(lake)) as old, owner.active_owner() as author:
        table = old.table("default", "t")
        edit_head(
            old.store,
            table.id,
            lambda head: msgspec.structs.replace(head, pending={9: author}, next_ticket=10),
            lambda head: 9 in head.pending,
        )
        new = open_metastore(str(lake), url(lake), create=True)
        with pytest.raises(ForeignWarehouseError, match=r"a commit of table default\.t is under way"):
            restore(new, source)
    restore(new, source)  # its author has ended
    assert files(new) == ["one"]


def test_there_and_back(lake: Path) -> None:
    """A warehouse goes to another store and back into its own folder, and each time one of them writes."""
    restored(dumped(lake), lake, url(lake)).close()
    source = dumped(lake, "back", url(lake))
    shutil.rmtree(lake / "_parquetry")
    with restored(source, lake, None) as own, open_metastore(str(lake), url(lake)) as server:
        write(own, "two")
        with pytest.raises(ForeignWarehouseError, match="leave out the store"):
            write(server, "x")


def test_a_claim_by_a_metastore_in_memory(tmp_path: Path) -> None:
    """A metastore in memory owns no warehouse and cannot claim one.

    It can write only if no mark names another owner.
    """
    metastore = open_metastore(str(tmp_path / "lake"), "memory")
    make(metastore)
    assert not (tmp_path / "lake" / MARK_FILE).exists()
    with pytest.raises(UnsupportedError, match="is in memory"):
        metastore.claim()
    with open_metastore(str(tmp_path / "lake"), create=True) as owner:
        make(owner)
    with pytest.raises(ForeignWarehouseError, match="and the one in memory may only be read"):
        write(metastore, "one")
