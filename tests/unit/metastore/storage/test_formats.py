"""A metastore of format 1 is read and written, and rows that format 1 lacks raise its format.

Each library accepts only the formats that it knows.

`golden/format-1` holds a metastore made with a library that knew format 1 only, a dump of it, and what that
library read from it. `golden/format-2` holds the same of format 2 (and `format-3` in
`test_moved_warehouses`).

The records of the first library are defined here, too. It must be able to read all that is written into a
store of format 1.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any, Literal

import msgspec
import pytest

from parquetry.catalog import Catalog
from parquetry.definition.changes import RenameColumn
from parquetry.definition.schema_changes import change_columns
from parquetry.errors import MetastoreVersionError
from parquetry.metastore import (
    ArrangementSpec,
    BucketSpec,
    FileRecord,
    Metastore,
    SortColumn,
    TableSnapshot,
    Transaction,
    open_metastore,
)
from parquetry.metastore.check.manifest_check import ColumnTypesByTicket, check_chunks
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.manifest.columns import MARK
from parquetry.metastore.manifest.entries import TOMBSTONE
from parquetry.metastore.results import Finding
from parquetry.metastore.storage.checksums import with_checksum, without_checksum
from parquetry.metastore.storage.format import (
    CHECKED,
    FORMAT_VERSION,
    MAGIC,
    NEWEST,
    RELATIVE,
    FormatRow,
    require_format,
)
from parquetry.metastore.storage.keyspace import (
    CHUNKS,
    DATABASES,
    FORMAT,
    HEADS,
    METADATA,
    PARTITIONS,
    SUMMARIES,
    prefix_range,
)
from parquetry.metastore.storage.model import (
    ColumnStatistics,
    Constraint,
    PartitionIndex,
    StreamBatch,
    TableColumn,
)
from parquetry.metastore.storage.wire import encode
from parquetry.store import MemoryStore, SQLiteStore, Store
from tests.support.stores.metastores import Crash, FaultyStore, content, file, leftovers, metadata
from tests.support.tables.arrangements import full_view

GOLDEN = Path(__file__).parents[3] / "golden" / "format-1"
GOLDEN_2 = GOLDEN.with_name("format-2")
CHECK = Constraint("c", "check", "x > 0", enforced=True)
BUCKETS = ArrangementSpec(buckets=BucketSpec(("x",), 4, sort=(SortColumn("x"),)))


# -- the records of a library that knew format 1 only


class File1(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    path: str
    bytes: int
    rows: int | None
    modified: int | None
    columns: dict[str, ColumnStatistics] | None


class FileChunk1(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    ticket: int
    number: int
    files: int


class Entry1(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    location: str | None
    file_count: int
    rows: int | None
    bytes: int
    parameters: dict[str, str]
    chunks: tuple[FileChunk1, ...]
    inline: tuple[File1, ...]


class Metadata1(msgspec.Struct, forbid_unknown_fields=True):
    columns: tuple[TableColumn, ...]
    partition_by: tuple[str, ...]
    format: Literal["parquet", "orc"]
    location: str
    external: bool = False
    properties: dict[str, str] = {}
    comment: str | None = None
    owner: str | None = None
    created_at: int = 0
    descending: tuple[bool, ...] = ()
    indexes: tuple[PartitionIndex, ...] = ()


def read_as_format_1(store: Store) -> int:
    """Read all rows as the library of format 1 did, and return their number.

    Fail if a row is not as that library knew it.
    """
    count = 0
    for tag, type, skip in (
        (METADATA, Metadata1, 0),
        (CHUNKS, tuple[File1, ...], 0),
        (PARTITIONS, Entry1, 1),
    ):
        for _, value in store.scan(*prefix_range(tag)):
            if value != TOMBSTONE:
                msgspec.msgpack.decode(value[skip:], type=type)
            count += 1
    for _, value in store.scan(*prefix_range(HEADS)):
        if b"streams" in value:  # a library that does not know it would lose it with its next commit
            raise msgspec.ValidationError("The head says how far streams are.")
    return count


def format_of(store: Store) -> int:
    value = store.get(FORMAT)
    assert value is not None
    return msgspec.msgpack.decode(value, type=FormatRow).version


# -- the metastore of then


@pytest.fixture(scope="module")
def maker() -> ModuleType:
    """Return the script that made the metastore; this library runs its reading part."""
    return maker_in(GOLDEN)


def maker_in(folder: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"make_{folder.name}", folder / "make.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def old(tmp_path: Path, maker: ModuleType) -> Any:
    """Open a copy of the metastore whose tables are in a folder of the test.

    The folder has the files of all versions.
    """
    copy = tmp_path / "m.sqlite"
    shutil.copy(GOLDEN / "metastore.sqlite", copy)
    move(copy, str(tmp_path))
    with open_metastore(str(tmp_path), f"sqlite://{copy}") as metastore:
        for table in versions(metastore):
            for partition in table.partitions():
                for each in partition.files:
                    path = Path(partition.location) / each.path
                    if "://" not in each.path and path.is_relative_to(tmp_path):
                        path.parent.mkdir(parents=True, exist_ok=True)
                        path.write_bytes(b"x" * each.bytes)
        yield metastore


def move(path: Path, folder: str) -> None:
    """Move the tables of a SQLite file to a folder; the rest of each row stays unchanged."""

    def moved(value: Any) -> Any:
        if isinstance(value, str) and (value + "/").startswith("/golden/"):
            return folder + value.removeprefix("/golden")
        if isinstance(value, dict):
            return {key: moved(each) for key, each in value.items()}
        return [moved(each) for each in value] if isinstance(value, list) else value

    with contextlib.closing(SQLiteStore(str(path))) as store:
        for tag, skip in ((DATABASES, 0), (METADATA, 0), (PARTITIONS, 1)):
            rows = [(key, value) for key, value in store.scan(*prefix_range(tag)) if value != TOMBSTONE]
            for key, value in rows:
                plain = msgspec.msgpack.decode(value[skip:])
                store.put_many([(key, value[:skip] + msgspec.msgpack.encode(moved(plain)))])


def versions(metastore: Metastore) -> list[TableSnapshot]:
    return [
        metastore.table(database, name, version=commit.version)
        for database in metastore.databases()
        for name in metastore.tables(database)
        for commit in metastore.table(database, name).history()
    ]


def golden(folder: Path | str) -> dict[str, Any]:
    """Return what the old library read, for tables in a folder."""
    text = (GOLDEN / "content.json").read_text()
    plain: dict[str, Any] = json.loads(text.replace("/golden", str(folder)))
    return plain


def test_it_is_read(maker: ModuleType, tmp_path: Path) -> None:
    """Each version of each table is what the library of then read, and stays of format 1 by being read."""
    shutil.copy(GOLDEN / "metastore.sqlite", tmp_path)
    with Metastore(SQLiteStore(tmp_path / "metastore.sqlite"), "/golden") as metastore:
        assert json.loads(json.dumps(maker.content(metastore))) == golden("/golden")
        assert all(table.metadata.arrangement == ArrangementSpec() for table in versions(metastore))
        partitions = [part for table in versions(metastore) for part in table.partitions()]
        assert {part.arrangement for part in partitions} == {ArrangementSpec()}
        assert all(table.totals.all_arranged(ArrangementSpec()) for table in versions(metastore))
        assert (format_of(metastore.store), read_as_format_1(metastore.store)) == (1, 37)
    assert (tmp_path / "metastore.sqlite").read_bytes() == (GOLDEN / "metastore.sqlite").read_bytes()


def test_its_dump_is_read(maker: ModuleType) -> None:
    """The old dump is restored with its content, its long lists in columns, and a summary of each chunk.

    The old parameters are gone.
    """
    metastore = Metastore(MemoryStore(), "/golden")
    assert restore(metastore, GOLDEN / "dump").version == 1
    assert json.loads(json.dumps(maker.content(metastore))) == golden("/golden")
    assert format_of(metastore.store) == FORMAT_VERSION
    chunks = list(metastore.store.scan(*prefix_range(CHUNKS)))
    assert chunks
    assert {value[:1] for _, value in chunks} == {MARK}
    sums = [key for key, _ in metastore.store.scan(*prefix_range(SUMMARIES))]
    assert [key[1:] for key in sums] == [key[1:] for key, _ in chunks]
    assert [finding for table in newest(metastore) for finding in chunk_findings(table)] == []


def newest(metastore: Metastore) -> list[TableSnapshot]:
    return [table for table in versions(metastore) if table.version == table.refresh().version]


def chunk_findings(table: TableSnapshot) -> list[Finding]:
    wanted = {chunk: "p" for part in table.partitions() for chunk in part.entry.chunks}
    assert all(chunk.bytes for chunk in wanted)
    types = ColumnTypesByTicket.read(table.store, table.id)
    return list(check_chunks(table.store, table.id, wanted, types, repair=False))


def change_table(metastore: Metastore, name: str, change: Callable[[Transaction], object]) -> None:
    transaction = Transaction(metastore.table(*name.split(".")), "change")
    change(transaction)
    commit(transaction)


def append(metastore: Metastore) -> None:
    change_table(
        metastore, "default.events", lambda t: t.append((19_000, "us/west"), [FileRecord("new", 1, 1)])
    )
    change_table(metastore, "default.many", lambda t: t.append((1,), [FileRecord("new", 1, 1)]))
    change_table(metastore, "default.many", lambda t: t.append((2,), [FileRecord("new", 1, 1)]))


def replace(metastore: Metastore) -> None:
    change_table(metastore, "default.many", lambda t: t.replace((2,), [FileRecord("new", 1, 1)]))
    change_table(
        metastore,
        "sales.replaced",
        lambda t: (t.replace_where(None), t.append((), [FileRecord("new", 1, 1)])),
    )


def drop(metastore: Metastore) -> None:
    change_table(metastore, "default.many", lambda t: t.drop((1,)))
    metastore.drop_table("sales", "replaced")
    metastore.create_table("sales", "replaced", metadata(location=f"{metastore.warehouse}/again"))


def rename(metastore: Metastore) -> None:
    change_table(metastore, "default.events", lambda t: t.rename((None, "eu"), (None, "us")))
    metastore.rename_table("default", "typed", "sales", "typed")


def alter(metastore: Metastore) -> None:
    def change(transaction: Transaction) -> None:
        now = transaction.base.metadata
        columns = change_columns(now, RenameColumn(["id"], "number"))
        transaction.set_metadata(msgspec.structs.replace(now, columns=columns))

    change_table(metastore, "default.events", change)


def index(metastore: Metastore) -> None:
    catalog = Catalog(metastore)
    catalog.rebuild_partition_index("events", "region")
    catalog.drop_partition_index("events", "region")
    catalog.create_partition_index("events", ["region", "day"], "other")


def vacuum(metastore: Metastore) -> None:
    # the versions of the fixture were replaced long ago
    Catalog(metastore).vacuum("many", datetime(2020, 1, 1, tzinfo=UTC))


def rollback(metastore: Metastore) -> None:
    catalog = Catalog(metastore)
    catalog.rollback("events", 1)
    found = [part.values for part in catalog.partitions("events")]
    assert len(found) == 7


def fsck(metastore: Metastore) -> None:
    catalog = Catalog(metastore)  # its files have no footers
    for name in ("events", "many", "typed"):
        assert catalog.fsck(name, footers=False) == []
    (Path(metastore.table("default", "many").metadata.location) / "p=1").rename(f"{metastore.warehouse}/away")
    assert {each.repaired for each in catalog.fsck("many", repair=True, footers=False)} == {True}
    assert catalog.fsck("many", footers=False) == []


@pytest.mark.parametrize(
    ("change", "gone", "format"),
    [
        (append, (), 1),
        (replace, (), 1),
        (drop, ("sales.replaced",), RELATIVE),
        (rename, ("default.typed",), RELATIVE),
        (alter, (), RELATIVE),
        (index, (), RELATIVE),
        (vacuum, (), 1),
        (rollback, (), RELATIVE),
        (fsck, (), 1),
    ],
)
def test_it_is_written(
    old: Metastore,
    maker: ModuleType,
    tmp_path: Path,
    change: Callable[[Metastore], None],
    gone: tuple[str, ...],
    format: int,
) -> None:
    """The old metastore can be changed as any other, and what a change leaves alone reads as before.

    It stays of format 1, readable for the old library, unless a change writes what format 1 lacks. A location
    that is written is such a change, because it is relative to the warehouse.
    """
    before = golden(tmp_path)
    assert json.loads(json.dumps(maker.content(old))) == before
    change(old)
    after = json.loads(json.dumps(maker.content(old)))
    kept = {key: value for key, value in before.items() if not key.startswith(gone or "nothing")}
    assert {key: after.get(key) for key in kept} == kept
    assert len(kept) >= len(before) - 2
    assert (after == before) == (change is vacuum)
    assert all(leftovers(old.store, table.id) == [] for table in versions(old))
    assert format_of(old.store) == format
    read_as_format_1(old.store)
    dump(old, tmp_path / "dump")
    copy = Metastore(MemoryStore(), str(tmp_path))
    restore(copy, tmp_path / "dump")
    assert json.loads(json.dumps(maker.content(copy))) == after


def test_the_golden_files_are_as_they_were() -> None:
    """The golden files are the original ones; no later library has written them again."""
    manifest = json.loads((GOLDEN / "dump" / "manifest.json").read_text())
    assert manifest["version"] == 1
    for table in manifest["tables"]:
        assert hashlib.sha256((GOLDEN / "dump" / table["file"]).read_bytes()).hexdigest() == table["sha256"]
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*") if path.is_file()) < 300_000


def test_format_2_is_read_and_written(tmp_path: Path) -> None:
    """Each version reads as the old library read it, also from its dump.

    Writing rows of format 2 leaves the format.
    """
    maker = maker_in(GOLDEN_2)
    expected = json.loads((GOLDEN_2 / "content.json").read_text())
    shutil.copy(GOLDEN_2 / "metastore.sqlite", tmp_path)
    with Metastore(SQLiteStore(tmp_path / "metastore.sqlite"), "/golden") as metastore:
        assert json.loads(json.dumps(maker.content(metastore))) == expected
        change_table(metastore, "default.many", lambda t: t.append((2,), [FileRecord("new", 1, 1)]))
        change_table(metastore, "default.arranged", lambda t: t.drop((1, "a")))
        assert format_of(metastore.store) == 2
        after = json.loads(json.dumps(maker.content(metastore)))
        assert {key: after[key] for key in expected} == expected
        metastore.create_table("default", "v", full_view())
        assert format_of(metastore.store) == 3
    copy = Metastore(MemoryStore(), "/golden")
    assert restore(copy, GOLDEN_2 / "dump").version == 2
    assert json.loads(json.dumps(maker.content(copy))) == expected


@pytest.mark.parametrize("change", ["append", "rename"])
def test_format_4_is_read_and_written(change: str, tmp_path: Path) -> None:
    """Each version reads as the old library read it, also from its dump.

    Rows have checksums only after the store is raised to format 5.
    """
    folder = GOLDEN.with_name("format-4")
    maker = maker_in(folder)
    expected = json.loads((folder / "content.json").read_text())
    shutil.copy(folder / "metastore.sqlite", tmp_path)
    with Metastore(SQLiteStore(tmp_path / "metastore.sqlite"), "/golden") as metastore:
        assert json.loads(json.dumps(maker.content(metastore))) == expected
        assert (tmp_path / "metastore.sqlite").read_bytes() == (folder / "metastore.sqlite").read_bytes()
        for format in (4, 5):
            require_format(metastore.store, format)
            before = dict(metastore.store.rows.scan(b"", None))
            if change == "append":
                change_table(metastore, "default.t", lambda t: t.append((9, "i"), [FileRecord("new", 1, 1)]))
                change_table(metastore, "default.t", lambda t: t.append((1, "a"), [FileRecord("more", 1, 1)]))
            else:
                metastore.rename_table("default", "t", "default", "u")
                metastore.rename_table("default", "u", "default", "t")
                metastore.alter_database("default", {"a": str(format)})
                change_table(metastore, "default.t", lambda t: t.rename((4, "b"), (2, "b")))
                change_table(metastore, "default.t", lambda t: t.rename((2, "b"), (4, "b")))
            after = dict(metastore.store.rows.scan(b"", None))
            written = {key: value for key, value in after.items() if before.get(key) != value}
            assert written
            assert {
                with_checksum(key, without_checksum(key, value)) == value for key, value in written.items()
            } == {format == 5}
            assert format_of(metastore.store) == format
            now = json.loads(json.dumps(maker.content(metastore)))
            assert {key: now[key] for key in expected.keys() - {"default"}} == {
                key: value for key, value in expected.items() if key != "default"
            }
    copy = Metastore(MemoryStore(), "/golden")
    assert restore(copy, folder / "dump").version == 4
    assert json.loads(json.dumps(maker.content(copy))) == expected


# -- versions


def store_of(version: int) -> Store:
    """Return a store with nothing but the row that says its version."""
    store = MemoryStore()
    store.put_many([(FORMAT, encode(FormatRow(MAGIC, version, "then")))])
    return store


def test_a_new_store_is_of_the_newest_format() -> None:
    """A new store has the newest format, as no older client uses it."""
    assert format_of(Metastore(MemoryStore(), "/lake").store) == FORMAT_VERSION


def arranged_table(metastore: Metastore) -> None:
    metastore.create_table("default", "new", metadata(arrangement=BUCKETS))


def arranged_metadata(metastore: Metastore) -> None:
    change_table(metastore, "default.t", lambda t: t.set_metadata(metadata(arrangement=BUCKETS)))


def arranged_partition(metastore: Metastore) -> None:
    change_table(metastore, "default.t", lambda t: t.add((9, "z"), arrangement=BUCKETS))


def arranged_file(metastore: Metastore) -> None:
    change_table(
        metastore,
        "default.t",
        lambda t: t.append((9, "z"), [file("a"), FileRecord("f", 1, bucket=1)], arrangement=BUCKETS),
    )


def plain_changes(metastore: Metastore) -> None:
    metastore.create_table("default", "new", metadata())
    change_table(metastore, "default.t", lambda t: t.set_metadata(metadata(comment="other")))
    change_table(
        metastore, "default.t", lambda t: t.append((9, "z"), [file("f")], arrangement=ArrangementSpec())
    )


def view(metastore: Metastore) -> None:
    metastore.create_table("default", "new", full_view())


def dropped_column(metastore: Metastore) -> None:
    change_table(metastore, "default.t", lambda t: t.set_metadata(metadata(dropped=(("gone",),))))


def stream_batch(metastore: Metastore) -> None:
    def change(transaction: Transaction) -> None:
        transaction.append((9, "z"), [file("f")])
        transaction.set_stream_batch(StreamBatch("query", 0))

    change_table(metastore, "default.t", change)


def constrained_table(metastore: Metastore) -> None:
    metastore.create_table("default", "new", metadata(constraints=(CHECK,)))


def constrained_metadata(metastore: Metastore) -> None:
    change_table(metastore, "default.t", lambda t: t.set_metadata(metadata(constraints=(CHECK,))))


LATER = {
    view: 3,
    dropped_column: 3,
    stream_batch: 3,
    constrained_table: 4,
    constrained_metadata: 4,
}
ARRANGED = [arranged_table, arranged_metadata, arranged_partition, arranged_file]


@pytest.mark.parametrize("change", [*ARRANGED, *LATER, plain_changes], ids=lambda change: change.__name__)
def test_the_first_who_needs_it_raises_a_store(change: Callable[[Metastore], None]) -> None:
    """A store stays of format 1 until something is written that this cannot say, and then says so."""
    metastore = Metastore(store_of(1), "/elsewhere")
    metastore.create_table("default", "t", metadata())
    change_table(metastore, "default.t", lambda t: t.append((1, "a"), [file("f")]))
    assert (format_of(metastore.store), read_as_format_1(metastore.store)) == (1, 2)
    change(metastore)
    if change is plain_changes:
        assert (format_of(metastore.store), read_as_format_1(metastore.store)) == (1, 5)
    else:
        assert format_of(metastore.store) == LATER.get(change, 2)
        with pytest.raises(msgspec.ValidationError):
            read_as_format_1(metastore.store)


def test_a_location_below_the_warehouse_raises_a_store() -> None:
    """A location below the warehouse raises the format, so that an older library refuses the store.

    An older library would misread the relative location.
    """
    metastore = Metastore(rows := store_of(1), "/lake")
    metastore.create_database("far", {"location": "file:/far"})
    metastore.create_table("default", "far", metadata(location="/far/t"))
    assert format_of(rows) == 1
    metastore.create_table("default", "near", metadata(location="/lake/t"))
    assert format_of(rows) == RELATIVE


@pytest.mark.parametrize("change", [*ARRANGED, *LATER], ids=lambda change: change.__name__)
def test_who_dies_while_raising_leaves_what_can_be_read(change: Callable[[Metastore], None]) -> None:
    """A store of format 1 has no row that format 1 lacks, wherever the raising writer dies."""
    crash_at = 0
    while True:
        inner = store_of(1)
        commit_first = Metastore(inner, "/elsewhere")
        commit_first.create_table("default", "t", metadata())
        store = FaultyStore(inner)
        store.crash_at = crash_at
        with contextlib.suppress(Crash):
            change(Metastore(store, "/elsewhere"))
        if format_of(inner) == 1:
            read_as_format_1(inner)
        again = Metastore(inner, "/elsewhere")
        change_table(again, "default.t", lambda t: t.append((1, "a"), [file("f")]))
        assert content(again.table("default", "t"))[1, "a"] == ["f"]
        if not store.dead:
            break
        crash_at += 1
    assert crash_at > 3


def test_two_raise_a_store_at_once() -> None:
    """The second of two raising clients finds the format raised, and a lost answer does no harm."""
    inner = store_of(1)
    store = FaultyStore(inner)
    store.before_write = lambda _: require_format(inner, 2)
    require_format(store, 2)
    assert format_of(inner) == 2
    inner = store_of(1)
    store = FaultyStore(inner)
    store.answer = lambda _number, swap: swap() and False
    require_format(store, 2)
    assert format_of(inner) == 2
    row = inner.get(FORMAT)
    require_format(inner, 1)
    assert inner.get(FORMAT) == row


def test_a_library_that_had_the_store_open_notices() -> None:
    """After a later library raised the store, a running client writes no more.

    The error says which formats it knows.
    """
    metastore = Metastore(MemoryStore(), "/lake")
    table = metastore.create_table("default", "t", metadata())
    transaction = Transaction(table, "append")
    transaction.append((1, "a"), [file("f")])
    metastore.store.put_many([(FORMAT, encode(FormatRow(MAGIC, NEWEST + 1, "9.9")))])
    with pytest.raises(
        MetastoreVersionError,
        match=rf"format {NEWEST + 1} \(written by Parquetry 9\.9\).*formats 1 to {NEWEST}; use one",
    ):
        commit(transaction)
    with pytest.raises(MetastoreVersionError, match=f"format {NEWEST + 1}"):
        metastore.create_table("default", "u", metadata())
    assert leftovers(metastore.store, table.id) == []
    assert metastore.table("default", "t").version == 0


@pytest.mark.parametrize("after", range(4))
def test_a_raise_meanwhile_is_met_before_rows_are_read(after: int) -> None:
    """A commit that finds another's before it looks at the format first: it may hold rows of a later one."""
    store = FaultyStore(MemoryStore())
    metastore = Metastore(store, "/lake")
    table = metastore.create_table("default", "t", metadata())
    transaction = Transaction(table, "append")
    transaction.append((1, "a"), [file("f")])

    def later(write: int) -> None:
        if write < first + after or format_of(store.store) > FORMAT_VERSION:
            return
        change_table(
            Metastore(store.store, "/lake"), "default.t", lambda t: t.set_metadata(metadata(comment="theirs"))
        )
        _, (key, _) = store.store.scan(*prefix_range(METADATA))
        row = encode(FormatRow(MAGIC, NEWEST + 1, "9.9"))
        store.store.put_many([(FORMAT, row), (key, b"unheard of")])

    first = store.writes  # the ticket's write; the writes of the journal and of rows follow
    store.before_write = later
    with pytest.raises(MetastoreVersionError, match=f"format {NEWEST + 1}"):
        commit(transaction)


def test_rows_of_plain_partitions_are_those_of_format_1() -> None:
    """The row of a plain partition is byte for byte a row of format 1, up to format 4.

    A partition therefore takes no more room.
    """
    metastore = Metastore(store_of(CHECKED - 1), "/lake")
    table = metastore.create_table("default", "t", metadata())
    statistics = {"x": ColumnStatistics(1, 0, 5, 9)}
    change_table(
        metastore, "default.t", lambda t: t.append((1, "a"), [FileRecord("f", 100, 10, 7, statistics)])
    )
    ((_, value),) = table.store.scan(*prefix_range(PARTITIONS))
    then = Entry1(None, 1, 10, 100, {}, (), (File1("f", 100, 10, 7, statistics),))
    assert value == b"\x01" + msgspec.msgpack.encode(then)
