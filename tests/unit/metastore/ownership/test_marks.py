"""The mark in a warehouse's folder names its metastore; a client with another metastore can only read."""

from __future__ import annotations

import contextlib
import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

import parquetry
from parquetry.errors import ForeignWarehouseError, MetastoreVersionError, WarehouseError
from parquetry.metastore import Metastore, Replacement, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.ownership.mark import MARK_FILE, read_identity
from parquetry.metastore.storage.format import FORMAT_VERSION, NEWEST
from parquetry.metastore.storage.keyspace import IDENTITY
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.store import SQLiteStore
from tests.support.stores.metastores import metadata
from tests.support.tables.owned_files import files, make, write


def mark_of(folder: Path) -> dict[str, str]:
    found: dict[str, str] = json.loads((folder / MARK_FILE).read_text())
    return found


def elsewhere(folder: Path, name: str = "other") -> str:
    return f"sqlite://{folder.parent}/{name}.sqlite"


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    """A warehouse with a metastore of its own, a table and a file."""
    folder = tmp_path / "lake"
    with open_metastore(str(folder), create=True) as metastore:
        make(metastore)
        write(metastore, "one")
    return folder


@pytest.fixture
def foreign(lake: Path, tmp_path: Path) -> Metastore:
    """Another metastore of the same warehouse, with the same table, as older libraries left it behind."""
    other = SQLiteStore(tmp_path / "other.sqlite")
    with Metastore(SQLiteStore(lake / "_parquetry" / "metastore.sqlite"), str(lake)) as source:
        other.put_many([row for row in source.store.rows.scan(b"", None) if row[0] != IDENTITY])
    other.close()
    return open_metastore(str(lake), elsewhere(lake))


def test_the_first_write_marks_the_warehouse(tmp_path: Path) -> None:
    """Opening writes nothing; the first write makes the identity and the mark, once."""
    folder = tmp_path / "lake"
    with open_metastore(str(folder), create=True) as metastore:
        assert read_identity(metastore.store.rows) is None
        assert not (folder / MARK_FILE).exists()
        make(metastore)
        identity = read_identity(metastore.store.rows)
        assert identity is not None
        first = mark_of(folder)
        assert (first["metastore"], first["store"], first["warehouse"]) == (
            identity.id,
            "sqlite",
            str(folder),
        )
        write(metastore, "one")
    with open_metastore(str(folder)) as again:
        write(again, "two")
        assert mark_of(folder) == first
        assert files(again) == ["one", "two"]


CHANGES: dict[str, Callable[[Metastore], object]] = {
    "append": lambda m: write(m, "new"),
    "create": lambda m: make(m, "u"),
    "drop": lambda m: m.drop_table("default", "t"),
    "rename": lambda m: m.rename_table("default", "t", "default", "u"),
    "replace": lambda m: Replacement(m.table("default", "t"), metadata()).make_visible(),
    "create database": lambda m: m.create_database("x"),
    "alter database": lambda m: m.alter_database("default", {"a": "b"}),
    "vacuum": lambda m: vacuum(m.table("default", "t"), older_than=1 << 50),
}


@pytest.mark.parametrize("change", CHANGES)
def test_another_metastore_reads_and_writes_nothing(change: str, lake: Path, foreign: Metastore) -> None:
    """Each change is refused with the owner, this store and the remedy.

    Neither the store nor the folder changes.
    """
    rows, on_disk = list(foreign.store.rows.scan(b"", None)), sorted(lake.rglob("*"))
    wanted = rf"The warehouse {lake} belongs to the metastore in the warehouse's own folder \({lake}/_parquetry\), and the one in sqlite://.*other.sqlite may only be read: leave out the store .*`parquetry claim` or CALL system.claim\(\)\.$"
    with pytest.raises(ForeignWarehouseError, match=wanted):
        CHANGES[change](foreign)
    kept = [row for row in foreign.store.rows.scan(b"", None) if row[0] != IDENTITY]
    assert kept == rows
    made = set(lake.rglob("*")) - set(on_disk)
    assert {path.name for path in made} <= {f"pq-{foreign.table('default', 't').id.hex()}-new.parquet"}
    assert files(foreign) == ["one"]
    with open_metastore(str(lake)) as owner:
        CHANGES[change](owner)


def test_a_dry_run_is_a_read(lake: Path, foreign: Metastore) -> None:
    """Another metastore may say what its vacuum would delete."""
    with open_metastore(str(lake)) as owner:
        new = write(owner, "two")
    found = vacuum(foreign.table("default", "t"), older_than=1 << 50, dry_run=True)
    assert str(new) in [row.path for row in found]
    with pytest.raises(ForeignWarehouseError):
        vacuum(foreign.table("default", "t"), older_than=1 << 50)
    assert new.exists()


def test_an_open_metastore_notices_on_a_local_disk(lake: Path, tmp_path: Path) -> None:
    """Who has the warehouse open when another one claims it writes nothing afterwards, by any call."""
    with (
        open_metastore(str(lake)) as before,
        open_metastore(str(lake), elsewhere(lake), create=True) as other,
    ):
        write(before, "two")
        begun = Transaction(before.table("default", "t"), "append")
        begun.drop((1,))
        assert other.claim().retired
        with pytest.raises(ForeignWarehouseError, match=r"given to the metastore in sqlite://.*other.sqlite"):
            commit(begun)
        with pytest.raises(ForeignWarehouseError):
            vacuum(before.table("default", "t"), older_than=1 << 50)
        assert files(before) == ["one", "two"]
        make(other)


def test_an_older_library_refuses_a_retired_metastore(lake: Path) -> None:
    """A retired metastore has a format that no older library reads; claimed back, it has its own again."""
    with open_metastore(str(lake), elsewhere(lake), create=True) as other:
        other.claim()
    with open_metastore(str(lake)) as retired:
        row = retired.store.rows.get(b"\0")
        assert row is not None
        assert b"\xa7version\x06" in row
        assert files(retired) == ["one"]
        retired.claim()
        row = retired.store.rows.get(b"\0")
        assert row is not None
        assert b"\xa7version" + bytes([FORMAT_VERSION]) in row
        write(retired, "two")
    with (
        open_metastore(str(lake), elsewhere(lake)) as other,
        pytest.raises(ForeignWarehouseError, match="leave out the store"),
    ):
        make(other)


def race(metastore: Metastore, start: threading.Barrier, won: list[Metastore]) -> None:
    start.wait()
    with contextlib.suppress(ForeignWarehouseError):
        make(metastore)
        won.append(metastore)


def test_metastores_that_race_for_a_new_warehouse(tmp_path: Path) -> None:
    """Exactly one marks it, and the others are refused writes, each time."""
    for attempt in range(10):
        folder, won = tmp_path / f"lake{attempt}", list[Metastore]()
        urls = [f"sqlite://{tmp_path}/{attempt}-{number}.sqlite" for number in range(4)]
        opened = [open_metastore(str(folder), url, create=True) for url in urls]
        start = threading.Barrier(len(opened))
        threads = [threading.Thread(target=race, args=(metastore, start, won)) for metastore in opened]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(won) == 1
        identity = read_identity(won[0].store.rows)
        assert identity is not None
        assert mark_of(folder)["metastore"] == identity.id
        assert [path.name for path in folder.glob("_parquetry*")] == [MARK_FILE]
        for metastore in opened:
            metastore.close()


def test_a_new_metastore_beside_one_without_a_mark(tmp_path: Path) -> None:
    """A warehouse of an older library has a metastore and no mark.

    A new store beside it does not become the owner.
    """
    folder = tmp_path / "lake"
    with Metastore(SQLiteStore(folder / "_parquetry" / "metastore.sqlite"), str(folder)) as older:
        make(older)
    with (
        open_metastore(str(folder), elsewhere(folder), create=True) as new,
        pytest.raises(ForeignWarehouseError, match="warehouse's own folder"),
    ):
        make(new)
    assert not (folder / MARK_FILE).exists()
    with open_metastore(str(folder)) as own:
        write(own, "one")
    assert mark_of(folder)["store"] == "sqlite"


def test_a_new_file_in_place_of_the_owners(lake: Path, tmp_path: Path) -> None:
    """Who removes the metastore's folder and begins anew owns the warehouse: the old one is no more."""
    before = mark_of(lake)["metastore"]
    (lake / "_parquetry").rename(tmp_path / "away")
    with open_metastore(str(lake), create=True) as new:
        make(new, "u")
    assert mark_of(lake)["metastore"] != before
    with (
        open_metastore(str(lake), f"sqlite://{tmp_path}/away/metastore.sqlite") as old,
        pytest.raises(ForeignWarehouseError),
    ):
        write(old, "two")


def test_a_damaged_mark(lake: Path) -> None:
    """A mark that cannot be read refuses writes with its path and the remedy; a claim writes it anew."""
    (lake / MARK_FILE).write_text("something else")
    with open_metastore(str(lake)) as metastore:
        with pytest.raises(WarehouseError, match=rf"{lake}/{MARK_FILE} .* delete the file"):
            write(metastore, "two")
        assert files(metastore) == ["one"]
        metastore.claim()
        write(metastore, "two")
    assert mark_of(lake)["store"] == "sqlite"


def test_passwords_are_not_in_the_mark(tmp_path: Path) -> None:
    """The mark and the refusal have the store's URL without its password."""
    from parquetry.store.opening import url_for_mark
    from parquetry.store.postgresql.store import PostgreSQLStore

    recorded = url_for_mark("postgresql://ann:secret@db/lake", object.__new__(PostgreSQLStore), str(tmp_path))
    assert recorded == "postgresql://ann@db/lake"


@pytest.mark.parametrize(
    "spelling", ["file:{0}", "file://{0}/", "{0}/../lake", "{1}/link", "file://{1}/link"]
)
def test_other_spellings_of_the_folder(spelling: str, lake: Path, tmp_path: Path) -> None:
    """A URI, `..` and a link name the same warehouse, and the mark stays as it is."""
    (tmp_path / "link").symlink_to(lake)
    before = mark_of(lake)
    with open_metastore(spelling.format(lake, tmp_path)) as metastore:
        write(metastore, "two")
        vacuum(metastore.table("default", "t"), older_than=1 << 50)
    assert mark_of(lake) == before


def test_reading_costs_nothing(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A read opens no mark, as a user may reach only the metastore and not the warehouse's folder."""
    monkeypatch.setattr(
        "parquetry.locations.small_files.open_location", lambda _: pytest.fail("the mark was read")
    )
    with parquetry.open(lake) as catalog:
        assert [file.path for file in catalog.files("t")]
        assert len(list(catalog.history("t"))) == 2


def test_fsck_and_doctor_say_it(lake: Path, foreign: Metastore) -> None:
    """fsck of another metastore says that it is not the owner, and refuses to repair; doctor says it, too."""
    from parquetry.catalog import Catalog

    catalog = Catalog(foreign)
    (finding,) = catalog.fsck("t")
    assert (finding.kind, finding.repaired) == ("foreign warehouse", False)
    assert "belongs to the metastore in the warehouse's own folder" in finding.detail
    with pytest.raises(ForeignWarehouseError):
        catalog.fsck("t", repair=True)
    assert [check.ok for check in catalog.doctor() if check.name == "owner"] == [False]
    with parquetry.open(lake) as own:
        assert own.fsck("t", footers=False) == []
        assert [check for check in own.doctor() if check.name == "owner"] == []


def test_a_mark_that_cannot_be_written(tmp_path: Path) -> None:
    """If the mark cannot be made, the write says so and changes nothing."""
    (tmp_path / "file").write_text("")
    with open_metastore(
        str(tmp_path / "file" / "lake"), elsewhere(tmp_path / "lake"), create=True
    ) as metastore:
        before = list(metastore.store.rows.scan(b"", None))
        with pytest.raises(WarehouseError, match=f"{MARK_FILE} cannot be written"):
            make(metastore)
        assert [row for row in metastore.store.rows.scan(b"", None) if row[0] != IDENTITY] == before


def test_versions_beyond_are_refused_still(tmp_path: Path) -> None:
    """A format newer than this library's formats is refused, also as the version of a retired store."""
    import msgspec

    store = SQLiteStore(tmp_path / "m.sqlite")
    row = {"magic": "parquetry metastore", "version": NEWEST + 1, "written_by": "9"}
    for more in ({}, {"retired_for": "x", "before": NEWEST + 1}):
        store.put_many([(b"\0", msgspec.msgpack.encode({**row, **more}))])
        with pytest.raises(MetastoreVersionError):
            Metastore(store, str(tmp_path))
    store.close()
