"""Locations below the warehouse are stored relative to it, so a moved or copied warehouse has new ones."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from parquetry.catalog import Catalog
from parquetry.errors import CommitConflictError, WarehouseError
from parquetry.locations.uri import join_location
from parquetry.locations.warehouse_relative import BelowWarehouse
from parquetry.metastore import (
    ArrangementSpec,
    FileRecord,
    Metastore,
    SkewMap,
    TableSnapshot,
    Transaction,
    open_metastore,
)
from parquetry.metastore.check.fsck import fsck
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.storage.format import MAGIC, RELATIVE, FormatRow
from parquetry.metastore.storage.keyspace import CHUNKS, DATABASES, FORMAT, METADATA, PARTITIONS, prefix_range
from parquetry.metastore.storage.model import ColumnStatistics
from parquetry.metastore.storage.wire import encode
from parquetry.store import MemoryStore, SQLiteStore, Store
from tests.support.stores.metastores import Crash, FaultyStore, metadata
from tests.support.tables.lakes import busy

GOLDEN = Path(__file__).parents[3] / "golden" / "format-3"
FAR = "file:/far/p"


def filled(metastore: Metastore, long: int = 1500) -> TableSnapshot:
    """Make a table with a location in each possible field, below the warehouse and elsewhere.

    Some values and comments look like locations.
    """
    warehouse = f"file:{metastore.warehouse}"
    metastore.create_database("d", {"location": f"{warehouse}/d", "comment": f"{warehouse}/comment"})
    skew = SkewMap(("x",), ((1,), (2,)), True, (f"{warehouse}/ext/one", "file:/far/two"))
    table = metastore.create_table(
        "d",
        "t",
        metadata(
            location=f"{warehouse}/d/t", comment=f"{warehouse}/comment", arrangement=ArrangementSpec(skew)
        ),
    )
    statistics = {"s": ColumnStatistics(1, 0, f"{warehouse}/a", f"{warehouse}/z")}
    inline = [
        FileRecord(f"{warehouse}/ext/inline", 1, 1, None, statistics),
        FileRecord("/far/inline", 1, 1),
        FileRecord("own", 1, 1),
    ]
    listed = [FileRecord(f"{warehouse}/ext/{number}", 1, 1, None, statistics) for number in range(long)]
    transaction = Transaction(table, "append")
    transaction.append((1, "default"), inline)
    transaction.append((2, "near"), inline, f"{warehouse}/ext/p")
    transaction.append((3, "far"), inline, FAR)
    transaction.append((4, "long"), [*listed, FileRecord("own", 1, 1)])
    transaction.append((5, f"{warehouse}/value"), inline)
    return commit(transaction)


def places(table: TableSnapshot) -> list[str]:
    skew = table.metadata.arrangement.skew
    assert skew is not None
    found = [table.metadata.location, *(place or "" for place in skew.locations)]
    for partition in table.partitions():
        skew = partition.arrangement.skew
        assert skew is not None
        found += [partition.location, *(place or "" for place in skew.locations)]
        found += [join_location(partition.location, file.path) for file in partition.files]
    return found


def everything(store: Store) -> bytes:
    """Return all bytes of rows that hold locations."""
    return b"".join(
        value
        for tag in (DATABASES, METADATA, PARTITIONS, CHUNKS)
        for _, value in store.scan(*prefix_range(tag))
    )


def test_all_locations_below_the_warehouse_move_with_it() -> None:
    """Locations of databases, tables, partitions, skewed values and files move, inline and in long lists.

    Values and comments stay.
    """
    rows = MemoryStore()
    here = filled(Metastore(rows, "/old/lake"))
    there = Metastore(rows, "/new/lake").table("d", "t")
    assert places(there) == [place.replace("/old/lake", "/new/lake") for place in places(here)]
    assert any(place.startswith("file:/far/") for place in places(there))
    assert Metastore(rows, "/new/lake").database_location("d") == "file:/new/lake/d"
    assert Metastore(rows, "/new/lake").database("d").properties["comment"] == "file:/old/lake/comment"
    assert there.metadata.comment == "file:/old/lake/comment"
    keys = [partition.values for partition in there.partitions()]
    assert keys == [partition.values for partition in here.partitions()]
    assert (5, "file:/old/lake/value") in keys
    for partition in there.partitions():
        for file in partition.files:
            assert not file.columns or file.columns["s"].min == "file:/old/lake/a"


def test_totals_of_layouts_after_a_move() -> None:
    """The totals of arrangements were made with the old names; until a repair they count as unknown.

    fsck reports and repairs them.
    """
    rows = MemoryStore()
    filled(Metastore(rows, "/old/lake"))
    there = Metastore(rows, "/new/lake").table("d", "t")
    assert not there.totals.all_arranged(there.metadata.arrangement)
    for repair in (False, True):
        (found,) = [one for one in fsck(there, repair=repair) if one.kind == "table totals"]
        assert "answers are right" in found.detail
        assert found.repaired == repair
    there = Metastore(rows, "/new/lake").table("d", "t")
    assert there.totals.all_arranged(there.metadata.arrangement)
    assert not [one for one in fsck(there) if one.kind == "table totals"]


def test_the_old_place_is_in_no_record_of_places() -> None:
    """Only comments and values that the user gave hold it, and partitions' keys, which are values."""
    rows = MemoryStore()
    filled(Metastore(rows, "/old/lake"), long=10)
    left = (
        everything(rows)
        .replace(b"/old/lake/comment", b"")
        .replace(b"/old/lake/a", b"")
        .replace(b"/old/lake/z", b"")
    )
    assert b"/old/lake" not in left
    assert b"/far/" in left


@pytest.mark.parametrize("location", ["/lake/t", "file:/lake/t", "file:///lake/t", "file:/lake//t/"])
def test_the_form_of_a_location_stays(location: str) -> None:
    """A plain path stays a plain path, and a URI has Hadoop's form.

    Other code compares texts of locations.
    """
    rows = MemoryStore()
    Metastore(rows, "/lake").create_table("default", "t", metadata(location=location))
    expected = "/lake/t" if location == "/lake/t" else "file:/lake/t"
    assert Metastore(rows, "/lake").table("default", "t").metadata.location == expected
    assert Metastore(rows, "/moved").table("default", "t").metadata.location == expected.replace(
        "lake", "moved"
    )


@pytest.mark.parametrize("location", ["/data//lake/t", "file:///data//lake//t"])
def test_slashes_more_lead_to_the_same_folder(location: str) -> None:
    """A copy must not read, or delete, below the original because of how a place was written."""
    rows = MemoryStore()
    Metastore(rows, "/data/lake").create_table("default", "t", metadata(location=location))
    moved = Metastore(rows, "/moved").table("default", "t").metadata.location
    assert moved.removeprefix("file:") == "/moved/t"


@pytest.mark.parametrize(
    ("warehouse", "location", "kept"),
    [
        ("/lake", "/lakeside/t", None),
        ("/lake", "/lake/../t", None),
        ("/lake", "/lake/a/../../t", None),
        ("/lake", "s3://b/lake/t", None),
        ("/lake", "/", None),
        ("/", "/t", "warehouse-path:/t"),
        ("/lake", "file:/lake", "warehouse:/"),
        ("/lake", "/lake/a%2Fb", "warehouse-path:/a%2Fb"),
        ("file:///my%20lake", "/my lake/t", "warehouse-path:/t"),
        ("s3://b", "s3a://b/t", "warehouse:/t"),
        ("s3a://b/lake", "s3://b/lake/t", "warehouse:/t"),
        ("s3a://b/lake", "s3://c/lake/t", None),
        ("hdfs://n/lake", "hdfs://n:8020/lake/t", "warehouse:/t"),
        ("hdfs://n:8020/lake", "hdfs://n/lake/t", "warehouse:/t"),
        ("hdfs://n:9000/lake", "hdfs://n/lake/t", None),
        ("hdfs:///lake", "hdfs://n/lake/t", None),
    ],
)
def test_what_lies_below_a_warehouse(warehouse: str, location: str, kept: str | None) -> None:
    """A location below the warehouse, by whole folder names and any equivalent URI, is stored relative.

    If that is uncertain, it stays absolute.
    """
    below = BelowWarehouse(warehouse)
    assert below.stored_form(location) == (kept or location)
    assert below.stored_form(below.absolute(below.stored_form(location))) == below.stored_form(location)


def test_a_warehouse_that_links_lead_to(tmp_path: Path) -> None:
    """Sessions that name it otherwise see the same tables, each by its own name."""
    real, link, other = tmp_path / "real", tmp_path / "link", tmp_path / "other"
    real.mkdir()
    link.symlink_to(real)
    other.symlink_to(real)
    rows = MemoryStore()
    by_link = Metastore(rows, str(link))
    by_link.create_table("default", "a", metadata(location=f"file:{link}/a"))
    by_link.create_table("default", "b", metadata(location=f"file:{real}/b"))
    for name in (link, real):
        found = Metastore(rows, str(name))
        assert [found.table("default", each).metadata.location for each in "ab"] == [
            f"file:{name}/a",
            f"file:{name}/b",
        ]
    below = BelowWarehouse(str(link))
    assert below.with_own_name(f"file:{other}/c") == f"file:{link}/c"
    assert below.with_own_name(f"{other}/c") == f"{link}/c"
    assert below.with_own_name(f"file:{tmp_path}/elsewhere") == f"file:{tmp_path}/elsewhere"


def test_a_copy_deletes_nothing_of_the_original(tmp_path: Path) -> None:
    """Vacuum, purge and DROP in a copied warehouse delete only the copy's files.

    The original stays complete, and the reverse holds, too.
    """
    original, copy = tmp_path / "original", tmp_path / "copy"
    original.mkdir()
    store = SQLiteStore(str(original / "m.sqlite"), create=True)
    lake = busy(original, store)
    store.close()
    before = {path: path.read_bytes() for path in original.rglob("*.parquet")}
    shutil.copytree(original, copy)
    with open_metastore(str(copy), f"sqlite://{copy}/m.sqlite") as metastore:
        catalog = Catalog(metastore)
        assert catalog.fsck("t", footers=False) == []
        removed = vacuum(catalog)
        assert removed
        assert all(path.startswith(str(copy)) for path in removed)
    assert {path: path.read_bytes() for path in original.rglob("*.parquet")} == before
    assert len(list(copy.rglob("*.parquet"))) < len(before)
    shutil.rmtree(copy)
    with open_metastore(str(original), f"sqlite://{original}/m.sqlite") as metastore:
        assert Catalog(metastore).fsck("t", footers=False) == []
        assert metastore.table("default", "t").id == lake.id


def vacuum(catalog: Catalog) -> list[str]:
    now = datetime.now(UTC)
    return [
        each.path.removeprefix("file:") for each in catalog.vacuum("t", now, allow_recent=True) if each.path
    ]


def test_a_dump_is_restored_below_another_warehouse(tmp_path: Path) -> None:
    """A restored dump has the new warehouse's locations; locations elsewhere stay."""
    here = Metastore(MemoryStore(), "/old/lake")
    filled(here, long=1100)
    dump(here, tmp_path / "dump")
    text = b"".join(path.read_bytes() for path in (tmp_path / "dump").rglob("*.json*"))
    text = text.replace(b"/old/lake/comment", b"").replace(b"/old/lake/a", b"").replace(b"/old/lake/z", b"")
    assert text.count(b"/old/lake") == 1  # the warehouse itself, in the manifest
    there = Metastore(MemoryStore(), "/new/lake")
    restore(there, tmp_path / "dump")
    expected = [place.replace("/old/lake", "/new/lake") for place in places(here.table("d", "t"))]
    assert places(there.table("d", "t")) == expected
    assert there.database_location("d") == "file:/new/lake/d"


def older(rows: MemoryStore) -> Metastore:
    """Return a metastore of format 2 with absolute locations, opened at its original warehouse."""
    rows.put_many([(FORMAT, encode(FormatRow(MAGIC, 2, "then")))])
    filled(Metastore(rows, "/nowhere/else"), long=0)
    raw = Metastore(rows, "/nowhere/else")
    for tag in (DATABASES, METADATA, PARTITIONS):
        for key, value in list(raw.store.scan(*prefix_range(tag))):
            rows.put_many([(key, value.replace(b"/nowhere/else", b"/old/lake/xxx"))])
    rows.put_many([(FORMAT, encode(FormatRow(MAGIC, 2, "then")))])
    return Metastore(rows, "/old/lake/xxx")


def test_absolute_locations_of_older_libraries_are_read_as_they_are() -> None:
    """They work as before, in the place where they were written; what is written from then on is relative."""
    metastore = older(rows := MemoryStore())
    table = metastore.table("d", "t")
    assert table.metadata.location == "file:/old/lake/xxx/d/t"
    assert msgspec.msgpack.decode(rows.get(FORMAT) or b"")["version"] == 2
    metastore.alter_database("d", {**metastore.database("d").properties, "more": "1"})
    assert msgspec.msgpack.decode(rows.get(FORMAT) or b"")["version"] == RELATIVE
    assert Metastore(rows, "/new").database_location("d") == "file:/new/d"
    assert Metastore(rows, "/new").table("d", "t").metadata.location == "file:/old/lake/xxx/d/t"
    metastore.drop_database("d", cascade=True)
    assert metastore.databases() == ["default"]


# -- relocate


def test_relocate_says_what_it_would_do_and_does_it() -> None:
    """`relocate` changes locations at or below the folder in each kind of record, old versions included.

    A dry run reports the same, and other locations stay.
    """
    metastore = Metastore(MemoryStore(), "/old/lake")
    filled(metastore, long=1100)
    before = places(metastore.table("d", "t"))
    catalog = Catalog(metastore)
    told = catalog.relocate("/far", "s3://bucket/near", dry_run=True)
    assert [(each.kind, each.name, each.count) for each in told] == [
        ("table", "d.t", 1),
        ("partition", "d.t", 10),
    ]
    assert (told[1].before, told[1].after) == ("file:/far/two", "s3://bucket/near/two")
    assert places(metastore.table("d", "t")) == before
    assert catalog.relocate("/far", "s3://bucket/near") == told
    now = metastore.table("d", "t")
    assert places(now) == [
        place.replace("file:/far/", "s3://bucket/near/").replace("/far/", "s3://bucket/near/")
        for place in before
    ]
    assert Metastore(metastore.store.rows, "/old/lake").table("d", "t", version=1).partition(
        (3, "far")
    ).location == (  # type: ignore[union-attr]
        "s3://bucket/near/p"
    )
    with pytest.raises(
        WarehouseError, match="The metastore of /old/lake has no location at file:/far or below it"
    ):
        catalog.relocate("/far", "/elsewhere")


def test_relocate_takes_whole_names_of_folders() -> None:
    """`relocate` compares whole names of folders: `/fa` is not above `/far`, in any spelling."""
    catalog = Catalog(metastore := Metastore(MemoryStore(), "/lake"))
    metastore.create_table("default", "t", metadata(location="file:/far/away/t"))
    for old in ("/fa", "/far/awa", "/far/away/t/x", "s3://far", "/FAR"):
        with pytest.raises(WarehouseError, match="no location was changed"):
            catalog.relocate(old, "/new")
    (moved,) = catalog.relocate("file:///far/away//", "/new/")
    assert (moved.before, moved.after) == ("file:/far/away/t", "file:/new/t")
    assert metastore.table("default", "t").metadata.location == "file:/new/t"
    catalog.relocate("/new/t", "/lake/t")
    assert (
        Metastore(metastore.store.rows, "/moved").table("default", "t").metadata.location == "file:/moved/t"
    )


@pytest.mark.parametrize(
    ("old", "new"), [("/far", "/far/away"), ("/far/away", "/far"), ("/", "/far"), ("file:/far", "/far/x")]
)
def test_relocate_refuses_places_within_one_another(old: str, new: str) -> None:
    """A call that was cut short would move a second time what it had moved."""
    catalog = Catalog(Metastore(MemoryStore(), "/lake"))
    with pytest.raises(WarehouseError, match=f"{old} and {new} overlap.*unrelated path first"):
        catalog.relocate(old, new)


def test_relocate_can_be_repeated_after_a_crash_anywhere() -> None:
    """After a crash at any write, the same call finishes the work.

    Every location is always either the old or the new one.
    """
    crash_at = 0
    while True:
        rows = MemoryStore()
        before = places(filled(Metastore(rows, "/old/lake"), long=10))
        after = [place.replace("/far/", "/near/") for place in before]
        store = FaultyStore(rows)
        store.crash_at = crash_at
        with contextlib.suppress(Crash):
            Catalog(Metastore(store, "/old/lake")).relocate("/far", "/near")
        found = places(Metastore(rows, "/old/lake").table("d", "t"))
        assert all(
            place in either for place, either in zip(found, zip(before, after, strict=True), strict=True)
        )
        if store.dead and found != after:
            Catalog(Metastore(rows, "/old/lake")).relocate("/far", "/near")
        assert places(Metastore(rows, "/old/lake").table("d", "t")) == after
        if not store.dead:
            break
        crash_at += 1
    assert crash_at > 3


def test_relocate_mends_what_older_libraries_wrote() -> None:
    """`relocate` makes absolute locations below the warehouse relative.

    It works in the original place, and after a move with the old place as argument.
    """
    metastore = older(rows := MemoryStore())
    assert b"file:/old/lake/xxx/d/t" in everything(rows)
    catalog = Catalog(metastore)
    told = catalog.relocate("/old/lake/xxx", "/old/lake/xxx")
    assert {each.kind for each in told} == {"database", "table", "partition"}
    assert {each.before == each.after for each in told} == {True}
    assert catalog.relocate("/old/lake/xxx", "/old/lake/xxx") == []
    moved = Metastore(rows, "/new")
    assert places(moved.table("d", "t")) == [
        p.replace("/old/lake/xxx", "/new") for p in places(metastore.table("d", "t"))
    ]

    older(copied := MemoryStore())
    Catalog(Metastore(copied, "/new")).relocate("/old/lake/xxx", "/new")
    assert places(Metastore(copied, "/newer").table("d", "t")) == [
        place.replace("/old/lake/xxx", "/newer") for place in places(metastore.table("d", "t"))
    ]


def test_a_writer_that_began_before_a_table_was_relocated_is_told() -> None:
    """A writer that began before the relocation fails with a conflict.

    Its files are in the old place, where the table no longer looks.
    """
    metastore = Metastore(rows := MemoryStore(), "/lake")
    table = metastore.create_table("default", "t", metadata(location="file:/far/t"))
    transaction = Transaction(table, "append")
    transaction.append((1, "a"), [FileRecord("f", 1, 1)])
    Catalog(Metastore(rows, "/lake")).relocate("/far", "/near")
    with pytest.raises(CommitConflictError, match="location"):
        commit(transaction)
    now = metastore.table("default", "t")
    assert (now.version, now.operation, now.metadata.location) == (1, "relocate", "file:/near/t")
    assert now.commit.summary == {"from": "file:/far", "to": "file:/near"}


def test_the_golden_metastore_of_format_3(tmp_path: Path) -> None:
    """All is read as the library of then read it, out of its dump, too, and moves once it was relocated."""
    spec = importlib.util.spec_from_file_location("make_format_3", GOLDEN / "make.py")
    assert spec is not None
    assert spec.loader is not None
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    expected = json.loads((GOLDEN / "content.json").read_text())
    shutil.copy(GOLDEN / "metastore.sqlite", tmp_path)
    path = tmp_path / "metastore.sqlite"
    with Metastore(SQLiteStore(path), "/golden") as metastore:
        assert json.loads(json.dumps(maker.content(metastore))) == expected
        assert (tmp_path / "metastore.sqlite").read_bytes() == (GOLDEN / "metastore.sqlite").read_bytes()
        Catalog(metastore).relocate("/golden", "/golden")
        assert json.loads(json.dumps(maker.content(metastore))) == expected
    with Metastore(SQLiteStore(path), "/moved") as metastore:
        moved = json.dumps(maker.content(metastore))
    assert "/golden" not in re.sub(r'"[0-9a-f]{16}"', "", moved)
    unhashed = [re.sub(r'"[0-9a-f]{16}"', "", text) for text in (moved, json.dumps(expected))]
    assert unhashed[0] == unhashed[1].replace("/golden", "/moved")
    copy = Metastore(MemoryStore(), "/golden")
    assert restore(copy, GOLDEN / "dump").version == 3
    assert json.loads(json.dumps(maker.content(copy))) == expected
