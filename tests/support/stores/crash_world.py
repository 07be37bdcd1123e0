"""A small metastore with a past, what can be done in it that writes several rows, and where that begins."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import msgspec

from parquetry.metastore import (
    FileRecord,
    Metastore,
    Replacement,
    StagedTable,
    TableSnapshot,
    Totals,
    Transaction,
    create_branch,
    drop_branch,
    publish_branch,
)
from parquetry.metastore.check.fsck import fsck
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.manifest import chunks, entries
from parquetry.metastore.namespace import orphans
from parquetry.metastore.operations.compact_metadata import compact_metadata
from parquetry.metastore.operations.history import rollback
from parquetry.metastore.operations.indexes import create_index, drop_index, rebuild_index
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.storage.keyspace import FORMAT, head_key
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.store import MemoryStore, Store, sqlite_layout
from tests.support.stores.failing_client import Client
from tests.support.stores.metastores import Crash, metadata, whole_day

LATER = 1 << 50
"""A time in milliseconds after all commits."""
LONG_LIST = 60
"""From how many bytes on a list of files is stored apart."""
FULL_LIST = 8
"""How many files are in a part of such a list."""
LARGE_ROW = 150
"""The least size in bytes of a row whose value SQLite keeps apart.

Some values of a metastore's rows are larger, and some are not.
"""

Rows = dict[bytes, bytes]


@dataclass
class CrashWorld:
    """A metastore to begin with: its rows, its tables' files, a dump of it, and a file that is missing."""

    folder: Path
    rows: Rows
    files: dict[Path, bytes]
    dumped: Path
    missing: Path | None = None

    def enter(self, store: Store) -> None:
        """Make a store, and the files, what they were at first."""
        there = dict(store.scan(b"", None))
        store.delete_many([key for key in there if key not in self.rows])
        store.put_many([(key, value) for key, value in self.rows.items() if there.get(key) != value])
        for path, data in self.files.items():
            if not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(data)
        if self.missing is not None:
            self.missing.unlink(missing_ok=True)

    def open(self, store: Store) -> Metastore:
        """Return the metastore of a new client, who remembers nothing."""
        return Metastore(Client(store), str(self.folder), create=False)


@contextlib.contextmanager
def hurried() -> Iterator[None]:
    """Have lists of files be long soon, and full, rows be large, and what was left behind be so at once."""
    before = (
        entries.MAX_INLINE_BYTES,
        entries.MAX_CHUNK_FILES,
        orphans.MIN_RENAMING_S,
        sqlite_layout.MAX_ROW_BYTES_IN_PAGE,
    )
    entries.MAX_INLINE_BYTES, entries.MAX_CHUNK_FILES, sqlite_layout.MAX_ROW_BYTES_IN_PAGE = (
        LONG_LIST,
        FULL_LIST,
        LARGE_ROW,
    )
    orphans.MIN_RENAMING_S = 0.001
    try:
        yield
    finally:
        (
            entries.MAX_INLINE_BYTES,
            entries.MAX_CHUNK_FILES,
            orphans.MIN_RENAMING_S,
            sqlite_layout.MAX_ROW_BYTES_IN_PAGE,
        ) = before


def written(table: TableSnapshot, values: Sequence[Any], *names: str) -> list[FileRecord]:
    """Write files of a partition, under names that are the table's own."""
    folder = Path(table.placement.default_location(values))
    folder.mkdir(parents=True, exist_ok=True)
    full = [f"pq-{table.owner.hex()}-{name}" for name in names]
    for name in full:
        (folder / name).write_bytes(b"x")
    return [FileRecord(name, 1, 1) for name in full]


def others(table: TableSnapshot, values: Sequence[Any], *names: str) -> list[FileRecord]:
    """Write files of a partition, as others do, in their own way."""
    folder = Path(table.placement.default_location(values))
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        (folder / f"pq-{name}").write_bytes(b"x")
    return [FileRecord(f"pq-{name}", 1, 1) for name in names]


def fill(transaction: Transaction, *parts: tuple[tuple[Any, ...], str]) -> None:
    for values, name in parts:
        transaction.append(values, written(transaction.base, values, name))


def make_world(folder: Path) -> CrashWorld:
    """Return a world with a table `default.t`, which has a past, and a database `d` with two small tables."""
    store = MemoryStore()
    metastore = Metastore(store, str(folder))
    metastore.create_database("d", {"comment": "c"})
    for name in ("u", "v"):
        table = metastore.create_table("d", name, metadata(location=str(folder / name), comment=name))
        transaction = Transaction(table, "fill")
        fill(transaction, ((1, name), "f"))
        commit(transaction)
    table = metastore.create_table("default", "t", metadata(location=str(folder / "t")))
    transaction = Transaction(table, "fill")
    fill(transaction, ((1, "a"), "a0"), ((1, "b"), "b0"), ((2, "b"), "c0"), ((3, None), "gone"))
    table = commit(transaction)
    transaction = Transaction(table, "append")
    transaction.append((1, "a"), written(table, (1, "a"), "a1", "a2", "a3"))
    table = commit(transaction)
    transaction = Transaction(table, "overwrite")
    transaction.replace((2, "b"), written(table, (2, "b"), "c1"))
    transaction.drop((3, None))
    table = commit(transaction)
    transaction = Transaction(table, "alter")
    transaction.set_metadata(metadata(location=str(folder / "t"), comment="changed"))
    table = create_index(commit(transaction), ["s"])
    transaction = Transaction(table, "append")
    fill(transaction, ((8, "h"), "h0"))
    table = commit(transaction)
    transaction = Transaction(table, "append")
    fill(transaction, ((8, "h"), "h1"))
    table = commit(transaction)
    transaction = Transaction(table, "drop")
    transaction.drop((8, "h"))
    table = commit(transaction)
    transaction = Transaction(table, "adopt")
    transaction.append((1, "a"), others(table, (1, "a"), "theirs"))
    transaction.append((6, "o"), others(table, (6, "o"), "out", "gone"))
    table = commit(transaction)
    transaction = Transaction(table, "drop")
    transaction.drop((6, "o"))
    commit(transaction)
    dump(metastore, folder / "dump")
    files = {path: path.read_bytes() for path in folder.rglob("pq-*") if path.is_file()}
    return CrashWorld(folder, dict(store.scan(b"", None)), files, folder / "dump")


def damaged(world: CrashWorld) -> CrashWorld:
    """Return the world with a table with a missing file, wrong totals, and the rest of a writer that died."""
    store = MemoryStore()
    store.put_many(world.rows.items())
    table = world.open(store).table("default", "t")
    dying = Transaction(Metastore(Client(store, 4), str(world.folder)).table("default", "t"), "dead")
    dying.append((1, "a"), [FileRecord("dead", 1, 1)] * 5)
    with contextlib.suppress(Crash):
        commit(dying)
    head = read_head(store, table.id)
    assert head is not None
    assert head.pending
    # dead for other processes, too
    pending = {ticket: msgspec.structs.replace(owner, born="0") for ticket, owner in head.pending.items()}
    newest = msgspec.structs.replace(head.commit, totals=Totals(7, 7, 7, 7, 0))
    head = msgspec.structs.replace(head, commit=newest, pending=pending)
    store.put_many([(head_key(table.id), encode(head))])
    part = table.partition((2, "b"))
    assert part is not None
    missing = Path(part.location) / part.files[0].path
    return CrashWorld(world.folder, dict(store.scan(b"", None)), world.files, world.dumped, missing)


def scattered(world: CrashWorld) -> CrashWorld:
    """Return the world with a table that has two lists of files in more parts than they need."""
    store = MemoryStore()
    store.put_many(world.rows.items())
    table = world.open(store).table("default", "t")
    with patch.object(chunks, "MAX_TAIL_BYTES", 0):  # as if a few files were many
        for n in range(2):
            transaction = Transaction(table, "append")
            for values in ((1, "a"), (1, "b")):
                transaction.append(values, written(table, values, f"small{n}", f"more{n}"))
            table = commit(transaction)
    files = {path: path.read_bytes() for path in world.folder.rglob("pq-*") if path.is_file()}
    return CrashWorld(world.folder, dict(store.scan(b"", None)), files, world.dumped)


def branched(world: CrashWorld) -> CrashWorld:
    """Return the world with a branch of the table, which has changed something in each way."""
    store = MemoryStore()
    store.put_many(world.rows.items())
    metastore = world.open(store)
    create_branch(metastore.table("default", "t"), "try")
    for change in (append, overwrite, lambda transaction: transaction.drop((2, "b"))):
        transaction = Transaction(metastore.table("default", "t/try"), "change")
        change(transaction)
        commit(transaction)
    files = {path: path.read_bytes() for path in world.folder.rglob("pq-*") if path.is_file()}
    return CrashWorld(world.folder, dict(store.scan(b"", None)), files, world.dumped)


def empty(world: CrashWorld) -> CrashWorld:
    """Return a world with an empty metastore, and the dump of the other."""
    return CrashWorld(world.folder, {FORMAT: world.rows[FORMAT]}, world.files, world.dumped)


# -- what is done in it


@dataclass(frozen=True)
class Operation:
    """Something that writes several rows.

    Attributes:
        run: does it, as a client of the metastore.
        at_once: whether it takes place in one step; otherwise each table and database does by itself.
        begin: makes its world of the common one.
        steps: how many states it goes through, those at the ends included.
        again: whether it has to be run again after a crash before others can go on.
        allowed_findings: what `fsck` may find although all is in order.
    """

    run: Callable[[Metastore, CrashWorld], object]
    begin: Callable[[CrashWorld], CrashWorld] = lambda world: world
    steps: int = 2
    again: bool = False
    allowed_findings: frozenset[str] = frozenset()

    @property
    def at_once(self) -> bool:
        return self.steps == 2


def changing(change: Callable[[Transaction], object]) -> Operation:
    """Return a commit to `default.t`."""

    def run(metastore: Metastore, _: CrashWorld) -> None:
        transaction = Transaction(metastore.table("default", "t"), "change")
        change(transaction)
        commit(transaction, {"by": "test"})

    return Operation(run)


def append(transaction: Transaction) -> None:
    fill(transaction, ((1, "a"), "new"), ((2, "b"), "new"), ((5, "n"), "new"))


def append_many(transaction: Transaction) -> None:
    transaction.append((1, "b"), written(transaction.base, (1, "b"), *(f"many{n}" for n in range(5))))


def append_merging(transaction: Transaction) -> None:
    """Fill up a part of a list of files, which is written anew with what is added."""
    transaction.append((1, "a"), written(transaction.base, (1, "a"), *(f"merged{n}" for n in range(4))))


def overwrite(transaction: Transaction) -> None:
    transaction.replace((1, "a"), written(transaction.base, (1, "a"), "fresh"))
    transaction.replace((6, "n"), written(transaction.base, (6, "n"), "fresh"))


def replace_day(transaction: Transaction) -> None:
    transaction.replace_where(whole_day(transaction.base, 1))
    fill(transaction, ((1, "b"), "again"), ((1, "z"), "again"))


def adopt(transaction: Transaction) -> None:
    """Take in again what was taken out, forget what is gone, and take out something else."""
    transaction.append((6, "o"), others(transaction.base, (6, "o"), "out"))
    transaction.record_removed_files({"d=6/s=o/pq-gone": None})
    transaction.replace((1, "a"), ())


def alter(transaction: Transaction) -> None:
    transaction.set_metadata(msgspec.structs.replace(transaction.base.metadata, comment="altered"))


def everything(transaction: Transaction) -> None:
    append(transaction)
    append_many(transaction)
    alter(transaction)
    transaction.add((4, None), location=f"{transaction.base.metadata.location}/elsewhere")
    transaction.replace_where(whole_day(transaction.base, 2))


def staged(metastore: Metastore, world: CrashWorld, name: str) -> StagedTable:
    table = metastore.stage_table("default", name, metadata(location=str(world.folder / name), comment="new"))
    transaction = Transaction(table.snapshot, "create table as")
    fill(transaction, ((1, "a"), "as"), ((5, "n"), "as"))
    commit(transaction)
    return table


def create_table(metastore: Metastore, world: CrashWorld) -> None:
    metastore.create_table("d", "new", metadata(location=str(world.folder / "new")))


def create_as(metastore: Metastore, world: CrashWorld) -> None:
    staged(metastore, world, "new").make_visible()


def replace_table(metastore: Metastore, world: CrashWorld) -> None:
    new = metadata(location=str(world.folder / "t"), comment="new")
    replacement = Replacement(metastore.table("default", "t"), new)
    transaction = Transaction(replacement.snapshot, "append")
    fill(transaction, ((1, "a"), "as"), ((5, "n"), "as"))
    commit(transaction)
    replacement.make_visible()


def roll_back(metastore: Metastore, _: CrashWorld) -> None:
    rollback(metastore.table("default", "t"), metastore.table("default", "t", version=1))


def commit_to_branch(metastore: Metastore, _: CrashWorld) -> None:
    transaction = Transaction(metastore.table("default", "t", version="try"), "append")
    append_many(transaction)
    commit(transaction)


def clear(metastore: Metastore, _: CrashWorld) -> None:
    vacuum(metastore.table("default", "t"), older_than=LATER)


OPERATIONS: dict[str, Operation] = {
    "append": changing(append),
    "append many": changing(append_many),
    "append merging": changing(append_merging),
    "compact metadata": Operation(
        lambda metastore, _: compact_metadata(metastore.table("default", "t")), begin=scattered
    ),
    "overwrite": changing(overwrite),
    "drop partition": changing(lambda transaction: transaction.drop((1, "a"))),
    "rename partition": changing(lambda transaction: transaction.rename((1, "a"), (7, "moved"))),
    "replace where": changing(replace_day),
    "adopt": changing(adopt),
    "forget": changing(lambda transaction: transaction.record_removed_files({"d=6/s=o/pq-out": None})),
    "alter": changing(alter),
    "everything": changing(everything),
    "create table": Operation(create_table),
    "create table as": Operation(create_as),
    "replace table": Operation(replace_table),
    "rename table": Operation(lambda metastore, _: metastore.rename_table("default", "t", "d", "renamed")),
    "drop table": Operation(lambda metastore, _: metastore.drop_table("default", "t")),
    "create database": Operation(lambda metastore, _: metastore.create_database("e", {"k": "v"})),
    "alter database": Operation(lambda metastore, _: metastore.alter_database("d", {"k": "v"})),
    "drop database": Operation(lambda metastore, _: metastore.drop_database("d", cascade=True), steps=4),
    "create index": Operation(
        lambda metastore, _: create_index(metastore.table("d", "u"), ["s"]),
        steps=3,
        allowed_findings=frozenset({"unfinished index"}),
    ),
    "rebuild index": Operation(
        lambda metastore, _: rebuild_index(metastore.table("default", "t"), "s"),
        steps=3,
        allowed_findings=frozenset({"unfinished index"}),
    ),
    "drop index": Operation(lambda metastore, _: drop_index(metastore.table("default", "t"), "s")),
    "rollback": Operation(roll_back),
    "vacuum": Operation(clear),
    "branch": Operation(
        lambda metastore, _: create_branch(metastore.table("default", "t", version=4), "try")
    ),
    "commit to a branch": Operation(commit_to_branch, begin=branched),
    "publish branch": Operation(
        lambda metastore, _: publish_branch(metastore.table("default", "t"), "try"),
        begin=branched,
        again=True,
    ),
    "drop branch": Operation(
        lambda metastore, _: drop_branch(metastore.table("default", "t"), "try"), begin=branched
    ),
    "drop table with a branch": Operation(
        lambda metastore, _: metastore.drop_table("default", "t"), begin=branched
    ),
    "vacuum beside a branch": Operation(clear, begin=branched),
    "fsck": Operation(
        lambda metastore, _: fsck(metastore.table("default", "t"), repair=True),
        begin=damaged,
        steps=3,
        again=True,
    ),
    "restore": Operation(
        lambda metastore, world: restore(metastore, world.dumped), begin=empty, steps=5, again=True
    ),
}
