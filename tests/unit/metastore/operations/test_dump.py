"""A dump has all content of a metastore, and fills a metastore of any store."""

from __future__ import annotations

import json
import math
from pathlib import Path

import msgspec
import pytest

from parquetry.errors import MetastoreVersionError, TableNotFoundError, WarehouseError
from parquetry.metastore import ColumnStatistics, FileRecord, Metastore, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.format import VERSION, read_manifest, write_manifest
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.manifest import entries
from parquetry.metastore.storage.keyspace import CHUNKS, SUMMARIES, prefix_range
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.store import MemoryStore, SQLiteStore, Store
from tests.support.stores.metastores import Content, Crash, FaultyStore, content, metadata
from tests.support.tables.lakes import busy


def filled(folder: Path, store: Store) -> Metastore:
    """Return a metastore with two databases, and a table that has a past."""
    lake = busy(folder, store)
    metastore = lake.metastore
    metastore.create_database("sales", {"comment": "é"})
    metastore.alter_database("default", {"owner": "me"})
    orders = metastore.create_table("sales", "orders.2024", metadata(partition_by=(), properties={"a": "b"}))
    transaction = Transaction(orders, "append")
    columns = {
        "x": ColumnStatistics(7, 0, -(1 << 63), (1 << 63) - 1),
        "f": ColumnStatistics(7, 0, -math.inf, 1.0),
        "b": ColumnStatistics(7, None, b"\x00\xff", b"\xff", True, False),
        "s": ColumnStatistics(None, 3, "", "é\x00"),
        "t": ColumnStatistics(1, 0, False, True),
    }
    transaction.append((), [FileRecord("/abs/file", 3, None, None, columns)])
    commit(transaction, {"why": "test"})
    vacuum(lake.table(), older_than=lake.table(1).committed_at)
    return metastore


def everything(metastore: Metastore) -> dict[str, object]:
    """Return all that can be read, versions and times included."""
    found: dict[str, object] = {}
    for database in metastore.databases():
        found[database] = metastore.database(database)
        for name in metastore.tables(database):
            newest = metastore.table(database, name)
            for each in newest.history():
                table = metastore.table(database, name, version=each.version)
                parts = [(p.key, p.ticket, p.location, p.arrangement, p.files) for p in table.partitions()]
                found[f"{database}.{name} {each.version}"] = (table.id, each, table.metadata, parts)
    return found


def lists(metastore: Metastore) -> list[tuple[bytes, bytes]]:
    """Return the rows of manifest chunks, and the rows of their summaries."""
    return [row for tag in (CHUNKS, SUMMARIES) for row in metastore.store.scan(*prefix_range(tag))]


@pytest.mark.parametrize("inline", [10, 1 << 14])
def test_there_and_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, inline: int) -> None:
    """A dump from memory to SQLite and back keeps all content, and the copies can be changed."""
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", inline)
    first = filled(tmp_path / "lake", MemoryStore())
    told: list[tuple[str, int, int]] = []
    dump(first, tmp_path / "one", lambda *step: told.append(step))
    assert told == [("default.t", 0, 2), ("sales.orders.2024", 1, 2), ("", 2, 2)]
    second = Metastore(SQLiteStore(str(tmp_path / "copy.sqlite"), create=True), str(tmp_path / "lake"))
    restore(second, tmp_path / "one")
    assert everything(second) == everything(first)
    dump(second, tmp_path / "two")
    assert [p.read_bytes() for p in sorted((tmp_path / "two" / "tables").iterdir())] == [
        p.read_bytes() for p in sorted((tmp_path / "one" / "tables").iterdir())
    ]
    third = Metastore(MemoryStore(), str(tmp_path / "lake"))
    restore(third, tmp_path / "two")
    assert everything(third) == everything(first)
    assert lists(third) == lists(first)
    assert bool(lists(first)) == (inline == 10)
    expected: Content = content(third.table("default", "t"))
    transaction = Transaction(third.table("default", "t"), "append")
    transaction.append((9, "z"), [FileRecord("z", 1, 1)])
    assert content(commit(transaction)) == {**expected, (9, "z"): ["z"]}
    third.rename_table("sales", "orders.2024", "default", "orders")
    assert third.tables("default") == ["orders", "t"]
    second.close()


def test_dump_never_overwrites(tmp_path: Path) -> None:
    """A dump does not change an existing directory, and a failing dump leaves no file."""
    metastore = filled(tmp_path / "lake", MemoryStore())
    (tmp_path / "there").mkdir()
    with pytest.raises(WarehouseError, match="exists already"):
        dump(metastore, tmp_path / "there")
    before = sorted(p.name for p in tmp_path.iterdir())

    def fail(name: str, done: int, of: int) -> None:
        if done:
            raise Crash

    with pytest.raises(Crash):
        dump(metastore, tmp_path / "new", fail)
    assert sorted(p.name for p in tmp_path.iterdir()) == before


def test_restore_refuses(tmp_path: Path) -> None:
    """Neither a metastore in use nor a damaged, strange or newer dump is touched or taken."""
    metastore = filled(tmp_path / "lake", MemoryStore())
    dump(metastore, tmp_path / "dump")
    before = everything(metastore)
    with pytest.raises(WarehouseError, match="restore into an empty one"):
        restore(metastore, tmp_path / "dump")
    assert everything(metastore) == before
    empty = Metastore(MemoryStore(), "/lake")
    rows = list(empty.store.scan(b"", None))
    with pytest.raises(WarehouseError, match="cannot be read as a dump"):
        restore(empty, tmp_path / "lake")
    manifest = tmp_path / "dump" / "manifest.json"
    whole = manifest.read_text()
    plain = json.loads(whole)
    manifest.write_text(json.dumps({**plain, "version": VERSION + 1}))
    with pytest.raises(
        MetastoreVersionError, match=rf"a dump of version {VERSION + 1}.*reads versions 1 to {VERSION}"
    ):
        restore(empty, tmp_path / "dump")
    manifest.write_text("{}")
    with pytest.raises(WarehouseError, match="is not a dump"):
        restore(empty, tmp_path / "dump")
    manifest.write_text(whole)
    table = tmp_path / "dump" / plain["tables"][1]["file"]
    text = table.read_bytes()
    table.write_bytes(text[:-10])
    with pytest.raises(WarehouseError, match="is not as it was written"):
        restore(empty, tmp_path / "dump")
    assert list(empty.store.scan(b"", None)) == rows


def test_a_changed_manifest(tmp_path: Path) -> None:
    """A manifest with any one byte changed is refused with an error of ours, and no row is restored."""
    dump(filled(tmp_path / "lake", MemoryStore()), tmp_path / "dump")
    manifest = tmp_path / "dump" / "manifest.json"
    whole = manifest.read_bytes()
    for place, byte in enumerate(whole):
        for other in {byte ^ 1, byte ^ 0x20, ord("4"), ord("a")} - {byte}:
            text = whole[:place] + bytes([other]) + whole[place + 1 :]
            with pytest.raises((WarehouseError, MetastoreVersionError)):
                read_manifest(text, "dump")
    manifest.write_bytes(whole.replace(b'"name": "sales"', b'"name": "salas"'))
    empty = Metastore(MemoryStore(), "/lake")
    rows = list(empty.store.scan(b"", None))
    with pytest.raises(WarehouseError, match=r"manifest\.json is not as it was written; make another dump"):
        restore(empty, tmp_path / "dump")
    assert list(empty.store.scan(b"", None)) == rows


def test_crash_of_restore_at_every_write(tmp_path: Path) -> None:
    """A restore that was cut short anywhere can be run again; another dump is not mixed in."""
    first = filled(tmp_path / "lake", MemoryStore())
    dump(first, tmp_path / "dump")
    whole = everything(first)
    (tmp_path / "other").mkdir()
    manifest = read_manifest((tmp_path / "dump" / "manifest.json").read_bytes(), "dump")
    _, other = write_manifest(msgspec.structs.replace(manifest, written_by="another"))
    (tmp_path / "other" / "manifest.json").write_bytes(other)
    (tmp_path / "other" / "tables").symlink_to(tmp_path / "dump" / "tables")
    stop = 0
    while True:
        inner = MemoryStore()
        Metastore(inner, str(tmp_path / "lake"))
        store = FaultyStore(inner)
        store.crash_at = stop
        try:
            restore(Metastore(store, str(tmp_path / "lake")), tmp_path / "dump")
            break
        except Crash:
            pass
        again = Metastore(inner, str(tmp_path / "lake"))
        if 0 < stop < store.writes + 1 and again.store.get(b"\x00restoring") is not None:
            with pytest.raises(WarehouseError, match="Restoring another dump"):
                restore(again, tmp_path / "other")
        restore(again, tmp_path / "dump")
        assert everything(again) == whole
        stop += 1
    assert stop > 10


def test_dump_beside_a_drop(tmp_path: Path) -> None:
    """A table that goes while the dump is running is left out."""
    inner = MemoryStore()
    metastore = filled(tmp_path / "lake", inner)

    def drop(name: str, _done: int, _of: int) -> None:
        if name == "default.t":
            metastore.drop_table("default", "t")

    manifest = dump(metastore, tmp_path / "dump", drop)
    assert [table.name for table in manifest.tables] == ["orders.2024"]
    other = Metastore(MemoryStore(), "/lake")
    restore(other, tmp_path / "dump")
    with pytest.raises(TableNotFoundError):
        other.table("default", "t")
