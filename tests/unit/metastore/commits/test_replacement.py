"""REPLACE TABLE is a commit: versions of one table differ in columns, partition columns, keys and indexes."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parquetry.errors import CommitConflictError, TableNotFoundError
from parquetry.metastore import (
    FileRecord,
    Metastore,
    Replacement,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
)
from parquetry.metastore.check.fsck import fsck
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.operations.history import rollback
from parquetry.metastore.partition_rows.indexes import new_index
from parquetry.metastore.storage.keyspace import INDEXES, partition_prefix, prefix_range
from parquetry.metastore.storage.model import PartitionIndex
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import Compare
from parquetry.scan.generate import plan_scan
from parquetry.scan.plan import IndexOrder, KeyScan, ScanPlan
from parquetry.store import MemoryStore, Store
from parquetry.store.sqlite import SQLiteStore
from tests.support.effort import examples
from tests.support.stores.metastores import FaultyStore
from tests.support.tables.lakes import NOW

Content = dict[tuple[Any, ...], set[str]]

COLUMNS = {"d": "integer", "s": "string", "b": "binary", "l": "long"}
LAYOUTS: list[tuple[tuple[str, ...], tuple[bool, ...]]] = [
    ((), ()), (("d",), ()), (("s",), ()), (("l",), ()), (("d", "s"), ()), (("s", "d"), (False, True)),
    (("d", "s"), (True, True)), (("b", "l", "d"), ()), (("l", "s", "b"), (True, False, True)),
]  # fmt: skip
VALUES: dict[str, list[Any]] = {
    "d": [None, -1, 0, 7, 2**31 - 1],
    "s": [None, "a", "b\x01", "ÿ"],
    "b": [None, b"\x01", b"\x00\x00\x00\x05", b"\xff" * 9],
    "l": [None, -1, 5, 2**63 - 1],
}


def layout(number: int, folder: Path, *, indexed: bool = False) -> TableMetadata:
    """Return metadata with the number's partition columns; the data column has another type each time."""
    partition_by, descending = LAYOUTS[number]
    columns = (
        TableColumn("x", ["long", "string"][number % 2]),
        *(TableColumn(n, COLUMNS[n]) for n in partition_by),
    )
    made = TableMetadata(columns, partition_by, "parquet", f"file:{folder / 't'}", descending=descending)
    if indexed and len(partition_by) > 1:
        made = msgspec.structs.replace(made, indexes=(new_index(made, partition_by[1:], ready=True),))
    return made


class History:
    """A table on which things happen at random, and what each of its versions is to hold."""

    def __init__(self, folder: Path, store: Store, seed: int) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.metastore = Metastore(store, str(folder))
        table = self.metastore.create_table("default", "t", layout(seed % len(LAYOUTS), folder))
        self.id = table.id
        self.files = 0
        self.versions: dict[int, tuple[TableMetadata, Content]] = {0: (table.metadata, {})}

    @property
    def now(self) -> TableSnapshot:
        return self.metastore.table("default", "t")

    def values(self, metadata: TableMetadata) -> tuple[Any, ...]:
        return tuple(self.random.choice(VALUES[name]) for name in metadata.partition_by)

    def write(self, table: TableSnapshot, values: tuple[Any, ...]) -> FileRecord:
        self.files += 1
        name = f"pq-{self.id.hex()}-{self.files}.parquet"
        path = Path(table.placement.default_location(values).removeprefix("file:")) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
        return FileRecord(name, 1, 1)

    def add(self, transaction: Transaction, content: Content, count: int) -> None:
        for _ in range(count):
            values = self.values(transaction.base.metadata)
            file = self.write(transaction.base, values)
            transaction.append(values, [file])
            content.setdefault(values, set()).add(file.path)

    def took_place(self, made: TableSnapshot, content: Content) -> None:
        self.versions[made.version] = made.metadata, content

    def step(self) -> None:
        now = self.now
        content = {values: set(files) for values, files in self.versions[now.version][1].items()}
        match self.random.choice(["replace", "replace", "append", "append", "drop", "rollback", "vacuum"]):
            case "replace":
                number = self.random.randrange(len(LAYOUTS))
                metadata = layout(number, self.folder, indexed=self.random.random() < 0.5)
                replacement = Replacement(self.metastore.table("default", "t"), metadata)
                content = {}
                transaction = Transaction(replacement.snapshot, "append")
                self.add(transaction, content, self.random.randrange(5))
                commit(transaction)
                self.took_place(replacement.make_visible(), content)
            case "append":
                transaction = Transaction(now, "append")
                self.add(transaction, content, 2)
                self.took_place(commit(transaction), content)
            case "drop" if content:
                values = self.random.choice(sorted(content, key=repr))
                transaction = Transaction(now, "drop")
                transaction.drop(values)
                del content[values]
                self.took_place(commit(transaction), content)
            case "rollback":
                target = self.random.choice(sorted(self.versions))
                made = rollback(now, self.metastore.table("default", "t", version=target))
                self.took_place(made, self.versions[target][1])
            case "vacuum" if self.random.random() < 0.4:
                vacuum(now, older_than=NOW, grace=0)
                self.versions = {now.version: self.versions[now.version]}
            case _:
                return

    def check(self, metastore: Metastore | None = None, *, files: bool = True) -> None:
        for version, (metadata, content) in self.versions.items():
            table = (metastore or self.metastore).table("default", "t", version=version)
            assert table.metadata.columns == metadata.columns
            assert table.metadata.partition_by == metadata.partition_by
            found = {part.values: {file.path for file in part.files} for part in table.partitions()}
            assert found == content, version
            assert (table.totals.partitions, table.totals.files) == (
                len(content),
                sum(map(len, content.values())),
            )
            for part in table.partitions() if files else ():
                for file in part.files:
                    assert (Path(part.location.removeprefix("file:")) / file.path).exists()
            for place, name in enumerate(metadata.partition_by):
                for value in VALUES[name][1:3]:
                    self.check_plans(table, place, name, value, content)

    def check_plans(self, table: TableSnapshot, place: int, name: str, value: Any, content: Content) -> None:
        condition = Filter(Compare("=", name, value, table.key_schema.field(name).type))
        wanted = {values for values in content if values[place] == value}
        assert {part.values for part in table.partitions(plan_scan(condition, table.key_schema))} == wanted
        for index in table.metadata.indexes:
            if index.ready:
                plan = by_index(table, condition, index)
                assert {part.values for part in table.partitions(plan)} == wanted


def by_index(table: TableSnapshot, condition: Filter, index: PartitionIndex) -> ScanPlan:
    """Return the plan that uses the index for a condition, at any cost."""
    plan = plan_scan(condition, table.key_schema.reorder(index.order))
    scans = tuple(KeyScan("index", scan.start, scan.stop, scan.residual) for scan in plan.scans)
    return ScanPlan(scans, IndexOrder(index.name, index.id, index.order))


@pytest.mark.parametrize("seed", range(examples(40, least=8)))
def test_any_history(seed: int, tmp_path: Path) -> None:
    """Each kept version of a random history has its own content, also by filters and indexes."""
    store: Store = SQLiteStore(str(tmp_path / "m.sqlite"), create=True) if seed % 4 == 0 else MemoryStore()
    history = History(tmp_path, store, seed)
    for _ in range(14):
        history.step()
        history.check()
    assert [found for found in fsck(history.now, footers=False) if found.kind != "unneeded index entry"] == []
    dump(history.metastore, tmp_path / "dump")
    copy = Metastore(MemoryStore(), str(tmp_path))
    restore(copy, tmp_path / "dump")
    history.check(copy)
    assert fsck(copy.table("default", "t"), footers=False) == []
    last = history.now
    vacuum(last, older_than=NOW, grace=0)
    history.versions = {last.version: history.versions[last.version]}
    history.check()
    listed = {name for files in history.versions[last.version][1].values() for name in files}
    assert {path.name for path in (tmp_path / "t").rglob("*.parquet")} == listed
    rows = list(store.scan(*prefix_range(partition_prefix(history.id))))
    assert len(rows) == last.totals.partitions
    assert fsck(history.now, footers=False) == []
    for index in last.metadata.indexes:
        assert len(list(store.scan(*prefix_range(INDEXES + history.id + bytes.fromhex(index.id))))) == len(
            rows
        )
    store.close()


def some_table(store: Store, folder: Path) -> tuple[Metastore, History]:
    history = History(folder, store, 4)
    transaction = Transaction(history.now, "append")
    content: Content = {}
    history.add(transaction, content, 3)
    history.took_place(commit(transaction), content)
    return history.metastore, history


def test_writes_meanwhile_are_replaced_too(tmp_path: Path) -> None:
    """A commit at any step of the replacement is in the history, and never in the new content."""
    step = 0
    while True:
        store = MemoryStore()
        metastore, history = some_table(store, tmp_path / str(step))
        faulty = FaultyStore(store)
        replacement = Replacement(
            Metastore(faulty, metastore.warehouse).table("default", "t"), layout(2, history.folder)
        )
        done: list[int] = []

        def meanwhile(
            writes: int, step: int = step, history: History = history, done: list[int] = done
        ) -> None:
            if writes == step and history.now.operation == "append":
                transaction = Transaction(history.now, "append")
                transaction.append((0, "late"), [FileRecord("late", 1, 1)])
                done.append(commit(transaction).version)

        faulty.before_write = meanwhile
        made = replacement.make_visible()
        assert list(made.partitions()) == []
        if not done:
            return
        late = metastore.table("default", "t", version=done[0])
        assert (0, "late") in {part.values for part in late.partitions()}
        assert made.version == done[0] + 1
        step += 1


def test_a_renamed_or_dropped_table_is_not_replaced(tmp_path: Path) -> None:
    """A statement that replaces `t` leaves alone the table that is called `u` by now, and says so."""
    metastore, history = some_table(MemoryStore(), tmp_path)
    replacement = Replacement(metastore.table("default", "t"), layout(1, tmp_path))
    metastore.rename_table("default", "t", "default", "u")
    metastore.create_table("default", "t", layout(0, tmp_path / "other"))
    with pytest.raises(CommitConflictError, match=r"became default\.u meanwhile"):
        replacement.make_visible()
    assert len(list(metastore.table("default", "u").partitions())) == len(history.versions[1][1])
    metastore.drop_table("default", "u")
    with pytest.raises(TableNotFoundError, match="dropped meanwhile"):
        replacement.make_visible()
    assert metastore.table("default", "t").version == 0


def test_an_append_from_before_never_reaches_the_new_table(tmp_path: Path) -> None:
    """Not where columns and partition columns are the same, nor after a rollback and another replacement."""
    metastore, _ = some_table(MemoryStore(), tmp_path)
    same = metastore.table("default", "t").metadata
    Replacement(metastore.table("default", "t"), same).make_visible()
    first = Transaction(metastore.table("default", "t"), "append")
    rollback(metastore.table("default", "t"), metastore.table("default", "t", version=1))
    second = Transaction(metastore.table("default", "t"), "append")
    Replacement(metastore.table("default", "t"), same).make_visible()
    for late in (first, second):
        late.append((3, "late"), [FileRecord("late", 1, 1)])
        with pytest.raises(CommitConflictError):
            commit(late)
    assert list(metastore.table("default", "t").partitions()) == []


def test_what_was_read_for_a_replacement_must_be_as_it_was(tmp_path: Path) -> None:
    """If the statement relies on what it has read, a commit meanwhile is a conflict, and not replaced."""
    metastore, _ = some_table(MemoryStore(), tmp_path)
    for relies in (False, True):
        base = metastore.table("default", "t")
        replacement = Replacement(metastore.table("default", "t"), base.metadata)
        gathered = Transaction(replacement.snapshot, "append")
        if relies:
            gathered.requirements.rely_on(base, None)
        commit(gathered)
        meanwhile = Transaction(base, "append")
        meanwhile.append((5, "m"), [FileRecord("m", 1, 1)])
        commit(meanwhile)
        if relies:
            with pytest.raises(CommitConflictError, match="run it again"):
                replacement.make_visible()
        else:
            assert replacement.make_visible().version == base.version + 2


def vacuumed_under_way(folder: Path, stop: int) -> bool:
    """Vacuum a table before one write of a replacement, if the replacement's rows list its file by then.

    Return whether they did.
    """
    store = MemoryStore()
    metastore, history = some_table(store, folder)
    faulty = FaultyStore(store)
    new = Replacement(Metastore(faulty, metastore.warehouse).table("default", "t"), layout(2, folder))
    transaction = Transaction(new.snapshot, "append")
    file = history.write(new.snapshot, ("a",))
    transaction.append(("a",), [file])
    commit(transaction)
    (path,) = folder.rglob(file.path)
    listed: list[bool] = []

    def meanwhile(writes: int) -> None:
        rows = store.scan(*prefix_range(partition_prefix(history.id)))
        if writes == stop and any(file.path.encode() in value for _, value in rows):
            vacuum(metastore.table("default", "t"), older_than=NOW, grace=-1000)
            listed.append(True)

    faulty.before_write = meanwhile
    new.make_visible()
    assert path.exists() or not listed
    return bool(listed)


def test_a_vacuum_spares_the_files_of_a_replacement_under_way(tmp_path: Path) -> None:
    """A vacuum keeps the files that rows of an unfinished replacement list.

    That holds for partition columns that no version has yet, and for old files.
    """
    assert sum(vacuumed_under_way(tmp_path / str(stop), stop) for stop in range(16)) > 0
