"""Each operation on databases and names takes place in one step, despite crashes and rivals."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from parquetry.errors import (
    ColumnNotFoundError,
    CommitConflictError,
    ConfigurationError,
    MetastoreVersionError,
    NamespaceExistsError,
    NamespaceNotEmptyError,
    NamespaceNotFoundError,
    ParquetryError,
    StoreError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedError,
    WarehouseError,
)
from parquetry.metastore import Metastore, Replacement, TableSnapshot, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.storage.format import MAGIC, NEWEST, FormatRow
from parquetry.metastore.storage.keyspace import FORMAT, HEADS, NAMES, PARTITIONS, prefix_range
from parquetry.metastore.storage.wire import encode
from parquetry.store import MemoryStore, SQLiteStore
from tests.support.stores.metastores import Crash, FaultyStore, content, file, metadata, new_table

# -- databases


def test_databases() -> None:
    """Databases are made, changed, listed and dropped, in any case of letters; `default` is always there."""
    metastore, _ = new_table()
    assert metastore.databases() == ["default"]
    metastore.create_database("Sales", {"comment": "c"})
    assert metastore.databases() == ["default", "sales"]
    assert metastore.database("SALES").properties == {"comment": "c"}
    metastore.alter_database("sales", {"location": "/elsewhere/"})
    metastore.alter_database("default", {"comment": "d"})
    assert metastore.database("default").properties == {"comment": "d"}
    assert metastore.table_location("Sales", "T") == "/elsewhere/t"
    assert metastore.table_location("default", "T") == "/lake/t"
    metastore.create_database("other")
    assert metastore.table_location("other", "t") == "/lake/other.db/t"
    metastore.drop_database("other")
    assert metastore.databases() == ["default", "sales"]


def test_database_errors_name_the_database() -> None:
    """An error about a missing, existing or full database names the database."""
    metastore, _ = new_table()
    metastore.create_database("sales")
    metastore.create_table("sales", "t", metadata())
    with pytest.raises(NamespaceExistsError, match="'sales'"):
        metastore.create_database("SALES")
    with pytest.raises(NamespaceExistsError, match="'default'"):
        metastore.create_database("default")
    with pytest.raises(NamespaceNotEmptyError, match=r"'sales'.*t…"):
        metastore.drop_database("sales")
    with pytest.raises(UnsupportedError, match="default"):
        metastore.drop_database("default", cascade=True)
    missing: list[Callable[[], object]] = [
        lambda: metastore.database("no"),
        lambda: metastore.alter_database("no", {}),
        lambda: metastore.drop_database("no"),
        lambda: metastore.tables("no"),
        lambda: metastore.table("no", "t"),
        lambda: metastore.create_table("no", "t", metadata()),
        lambda: metastore.rename_table("default", "t", "no", "t"),
    ]
    for call in missing:
        with pytest.raises(NamespaceNotFoundError, match="'no'"):
            call()
    metastore.drop_database("sales", cascade=True)
    assert metastore.databases() == ["default"]
    metastore.create_database("sales")
    assert metastore.tables("sales") == []


@pytest.mark.parametrize(
    "name", ["", " t", "t ", "a/b", "a\\b", "a\0b", "a\nb", ".", "..", "x" * 256, "é" * 128]
)
def test_names_that_cannot_be(name: str) -> None:
    """A name that cannot be a directory's is refused, with the reason."""
    metastore, _ = new_table()
    with pytest.raises(UnsupportedError, match="cannot be the name of a table"):
        metastore.create_table("default", name, metadata())
    with pytest.raises(UnsupportedError, match="cannot be the name of a database"):
        metastore.create_database(name)
    with pytest.raises(TableNotFoundError, match="does not exist; no table can have this name: it "):
        metastore.table("default", name)
    for call in (lambda: metastore.database(name), lambda: metastore.table(name, "t")):
        with pytest.raises(
            NamespaceNotFoundError, match="does not exist; no database can have this name: it "
        ):
            call()


@pytest.mark.parametrize("name", ["T", "tab_1", "a b", "ärger", "a.b", "日本", "a=b", "x" * 255])
def test_names_that_can_be(name: str) -> None:
    """Other printable names are kept, in lower case."""
    metastore, _ = new_table()
    if name != "T":
        metastore.create_table("default", name, metadata())
    assert metastore.table("default", name.upper() if name.isascii() else name).name == name.lower()
    assert name.lower() in metastore.tables("default")


# -- tables


def test_tables_come_and_go() -> None:
    """A table is found by its name, in any case, from its creation to its drop.

    The drop leaves no row.
    """
    metastore, _ = new_table()
    table = metastore.create_table("default", "U", metadata(comment="u"))
    assert (table.database, table.name, table.version, table.operation) == ("default", "u", 0, "create")
    assert table.metadata.comment == "u"
    assert metastore.tables("default") == ["t", "u"]
    with pytest.raises(TableExistsError, match=r"default\.u"):
        metastore.create_table("default", "u", metadata())
    last = metastore.drop_table("default", "T")
    assert (last.totals.partitions, last.metadata, last.name) == (2, metadata(), "t")
    assert metastore.tables("default") == ["u"]
    for call in (metastore.table, metastore.drop_table):
        with pytest.raises(TableNotFoundError, match=r"default\.t"):
            call("default", "t")
    assert list(metastore.store.scan(*prefix_range(PARTITIONS))) == []
    metastore.drop_table("default", "u")
    assert len(list(metastore.store.scan(b"", None))) == 1


def test_rename() -> None:
    """A renamed table keeps id, content and history, and can go to another database and back."""
    metastore, table = new_table()
    metastore.create_database("other")
    moved = metastore.rename_table("default", "t", "other", "U")
    assert (moved.database, moved.name, moved.id, content(moved)) == ("other", "u", table.id, content(table))
    assert (metastore.tables("default"), metastore.tables("other")) == ([], ["u"])
    with pytest.raises(TableNotFoundError):
        metastore.table("default", "t")
    metastore.create_table("default", "t", metadata())
    with pytest.raises(TableExistsError, match=r"default\.t"):
        metastore.rename_table("other", "u", "default", "t")
    assert metastore.rename_table("other", "u", "other", "U").version == 1
    metastore.drop_table("default", "t")
    metastore.rename_table("other", "u", "default", "t")
    transaction = Transaction(table, "append")  # begun before all this
    transaction.append((3, "c"), [file("c")])
    assert content(commit(transaction)) == content(metastore.table("default", "t"))
    assert len(list(metastore.store.scan(*prefix_range(NAMES)))) == 1


def test_staged_tables_are_seen_when_published() -> None:
    """A staged table is filled out of sight, and is complete when its name appears."""
    metastore, _ = new_table()
    staged = metastore.stage_table("default", "u", metadata(location="/lake/u"))
    transaction = Transaction(staged.snapshot, "fill")
    transaction.append((1, "a"), [file("u")])
    commit(transaction)
    assert metastore.tables("default") == ["t"]
    with pytest.raises(TableNotFoundError):
        metastore.table("default", "u")
    assert content(staged.snapshot) == {(1, "a"): ["u"]}
    published = staged.make_visible()
    assert content(published) == content(metastore.table("default", "u")) == {(1, "a"): ["u"]}
    with pytest.raises(UnsupportedError, match="published already"):
        staged.discard()
    with pytest.raises(TableNotFoundError, match="published already"):
        staged.make_visible()


def test_staged_tables_can_be_discarded() -> None:
    """A staged table that was discarded, or could not be published, leaves no row."""
    metastore, _ = new_table()
    before = list(metastore.store.scan(b"", None))
    staged = metastore.stage_table("default", "t", metadata())
    transaction = Transaction(staged.snapshot, "fill")
    transaction.append((1, "a"), [file("u")])
    commit(transaction)
    with pytest.raises(TableExistsError, match=r"default\.t"):
        staged.make_visible()
    assert content(staged.snapshot) == {(1, "a"): ["u"]}
    staged.discard()
    staged.discard()
    with pytest.raises(TableNotFoundError, match="discarded"):
        Transaction(staged.snapshot, "fill")
    with pytest.raises(TableExistsError):
        metastore.create_table("default", "t", metadata())
    assert list(metastore.store.scan(b"", None)) == before


def test_replace_is_a_commit_of_the_same_table() -> None:
    """Old versions stay readable after a replacement.

    A commit that began before the replacement is refused, even if it only appends.
    """
    metastore, old = new_table()
    late = Transaction(old, "append")
    late.append((9, "z"), [file("late")])
    for n in range(3):
        replacement = Replacement(metastore.table("default", "t"), metadata())
        transaction = Transaction(replacement.snapshot, "fill")
        transaction.append((n, "new"), [file("new")])
        commit(transaction)
        assert content(metastore.table("default", "t")) != {(n, "new"): ["new"]}
        assert replacement.make_visible().version == old.version + 1 + n
        assert content(metastore.table("default", "t")) == {(n, "new"): ["new"]}
    assert metastore.tables("default") == ["t"]
    with pytest.raises(CommitConflictError, match="run it again"):
        commit(late)
    assert content(metastore.table("default", "t", version=old.version)) == content(old)
    assert content(metastore.table("default", "t", version=old.version + 1)) == {(0, "new"): ["new"]}
    assert len(list(metastore.store.scan(*prefix_range(HEADS)))) == 1


def test_metadata_that_contradicts_itself() -> None:
    """A partition column that is none of the columns is refused before anything is written."""
    metastore, _ = new_table()
    before = list(metastore.store.scan(b"", None))
    with pytest.raises(ColumnNotFoundError, match="'nope'"):
        metastore.create_table("default", "u", metadata(partition_by=("nope",)))
    assert list(metastore.store.scan(b"", None)) == before


# -- versions


def test_versions_and_times() -> None:
    """Each version can be read again, by number or by time, with the metadata and totals it had."""
    metastore, table = new_table()
    contents = [{}, content(table)]
    for n in range(6):
        transaction = Transaction(metastore.table("default", "t"), f"step {n}")
        transaction.append((n, "x"), [file(f"f{n}")])
        if n == 3:
            transaction.set_metadata(metadata(comment="three"))
        contents.append(content(commit(transaction)))
    newest = metastore.table("default", "t")
    history = list(newest.history())
    assert [commit.version for commit in history] == [7, 6, 5, 4, 3, 2, 1, 0]
    assert [commit.operation for commit in history][-3:] == ["step 0", "fill", "create"]
    for version, expected in enumerate(contents):
        then = metastore.table("default", "t", version=version)
        assert (then.version, content(then)) == (version, expected)
        assert then.metadata.comment == ("three" if version >= 5 else None)
        as_of = metastore.table("default", "t", as_of=then.committed_at)
        assert as_of.committed_at == then.committed_at
        assert as_of.version >= version
        assert [commit.version for commit in then.history()] == list(range(version, -1, -1))
    assert metastore.table("default", "t", as_of=newest.committed_at + 10**9).version == 7
    for wanted in ({"version": 8}, {"version": -1}, {"as_of": 1000}):
        with pytest.raises(TableNotFoundError, match="versions 0 to 7"):
            metastore.table("default", "t", **wanted)
    assert metastore.table("default", "t", version=1).refresh().version == 7


def test_commits_on_an_old_version_conflict_with_all_since() -> None:
    """A transaction on an old version is judged by what happened since that version."""
    metastore, _ = new_table()
    transaction = Transaction(metastore.table("default", "t"), "append")
    transaction.append((1, "a"), [file("x")])
    commit(transaction)
    transaction = Transaction(metastore.table("default", "t", version=1), "overwrite")
    transaction.replace((1, "a"), [file("y")])
    with pytest.raises(CommitConflictError, match=r"version 2 \(append\)"):
        commit(transaction)
    transaction = Transaction(metastore.table("default", "t", version=1), "overwrite")
    transaction.replace((2, "b"), [file("y")])
    assert content(commit(transaction)) == {(1, "a"): ["a", "x"], (2, "b"): ["y"]}


# -- accidents

State = tuple[list[str], dict[str, list[str]], dict[str, object]]


def state(store: MemoryStore) -> State:
    """Return databases, tables, and each table's content; every listed table can be read."""
    metastore = Metastore(store, "/lake")
    databases = metastore.databases()
    tables = {database: metastore.tables(database) for database in databases}
    contents: dict[str, object] = {}
    for database, names in tables.items():
        for name in names:
            table = metastore.table(database, name)
            assert (table.database, table.name) == (database, name)
            contents[f"{database}.{name}"] = (table.metadata.comment, content(table))
    return databases, tables, contents


def replace_table(metastore: Metastore) -> None:
    replacement = Replacement(metastore.table("default", "t"), metadata(comment="new"))
    transaction = Transaction(replacement.snapshot, "fill")
    transaction.append((5, "n"), [file("n")])
    commit(transaction)
    replacement.make_visible()


OPERATIONS: dict[str, Callable[[Metastore], object]] = {
    "create database": lambda metastore: metastore.create_database("new"),
    "alter database": lambda metastore: metastore.alter_database("d", {"k": "v"}),
    "drop database": lambda metastore: metastore.drop_database("empty"),
    "create table": lambda metastore: metastore.create_table("d", "new", metadata()),
    "drop table": lambda metastore: metastore.drop_table("default", "t"),
    "rename table": lambda metastore: metastore.rename_table("default", "t", "d", "r"),
    "replace table": replace_table,
    "first open": lambda metastore: Metastore(metastore.store, "/lake"),
}


def world() -> MemoryStore:
    store = MemoryStore()
    metastore, _ = new_table(store)
    metastore.create_database("d")
    metastore.create_database("empty")
    metastore.create_table("d", "u", metadata(comment="u"))
    return store


@pytest.mark.parametrize("how", ["crash", "error"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_accidents_at_every_write(operation: str, how: str) -> None:
    """Stopped at any write, an operation has taken place or not; it can be done again; all else works."""
    store = world()
    old = state(store)
    OPERATIONS[operation](Metastore(store, "/lake"))
    new = state(store)
    stop = 0
    while True:
        inner = world()
        store = FaultyStore(inner)
        metastore = Metastore(store, "/lake")
        setattr(store, "crash_at" if how == "crash" else "fail_at", stop)
        try:
            OPERATIONS[operation](metastore)
            done = True
        except (Crash, StoreError):
            done = False
        found = state(inner)
        assert found == new if done else found in (old, new)
        if store.writes <= stop and done:
            return
        try:
            OPERATIONS[operation](Metastore(inner, "/lake"))
        except (NamespaceExistsError, NamespaceNotFoundError, TableExistsError, TableNotFoundError):
            assert found == new
        assert state(inner) == new
        again = Metastore(inner, "/lake")
        for database in again.databases():
            for name in again.tables(database):
                again.drop_table(database, name)
            again.create_table(database, "t", metadata())
            again.create_table(database, "r", metadata())
            assert again.tables(database) == ["r", "t"]
            if database != "default":
                again.drop_database(database, cascade=True)
        stop += 1


@pytest.mark.parametrize("how", ["raises", "says False"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_lost_replies(operation: str, how: str) -> None:
    """A compare-and-set that was applied without saying so counts, once, in every operation."""
    store = world()
    OPERATIONS[operation](Metastore(store, "/lake"))
    new = state(store)
    lost = 0
    while True:
        inner = world()
        faulty = FaultyStore(inner)
        metastore = Metastore(faulty, "/lake")

        def answer(number: int, swap: Callable[[], bool], lost: int = lost) -> bool:
            result = swap()
            if number != lost:
                return result
            if how == "says False":
                return False
            raise StoreError("no answer")

        faulty.answer = answer
        OPERATIONS[operation](metastore)
        assert state(inner) == new
        if faulty.swaps <= lost:
            return
        lost += 1


RIVALS: dict[str, Callable[[Metastore], object]] = {
    **{name: OPERATIONS[name] for name in ("drop table", "rename table", "replace table", "create table")},
    "rename elsewhere": lambda metastore: metastore.rename_table("default", "t", "empty", "x"),
    "rename other to r": lambda metastore: metastore.rename_table("d", "u", "d", "r"),
    "create r": lambda metastore: metastore.create_table("d", "r", metadata(comment="rival")),
    "drop all": lambda metastore: metastore.drop_database("d", cascade=True),
    "drop if empty": lambda metastore: metastore.drop_database("empty"),
}


def attempt(action: Callable[[Metastore], object], metastore: Metastore) -> bool:
    try:
        action(metastore)
    except StoreError:
        raise
    except ParquetryError:
        return False
    return True


def serial(*actions: str) -> tuple[list[bool], State]:
    store = world()
    return [attempt(RIVALS[name], Metastore(store, "/lake")) for name in actions], state(store)


@pytest.mark.parametrize("second", RIVALS)
@pytest.mark.parametrize("first", RIVALS)
def test_operations_interleaved_at_every_step(first: str, second: str) -> None:
    """Wherever another operation comes in between, it is as if one came after the other, or one gave way."""
    possible = []
    (one, two), end = serial(first, second)
    possible.append((one, two, end))
    (two, one), end = serial(second, first)
    possible.append((one, two, end))
    (one,), end = serial(first)
    possible.append((one, False, end))
    (two,), end = serial(second)
    possible.append((False, two, end))
    if first == second and first.startswith(("drop", "rename")):  # both wanted the same
        possible.append((True, True, end))
    if (first, second) == ("rename table", "drop all"):  # renamed, and dropped before the answer
        possible.append((False, True, serial(first, second)[1]))
    for step in itertools.count():
        outcome = interleave(first, second, step)
        if outcome is None:
            break
        assert outcome in possible


def interleave(first: str, second: str, step: int) -> tuple[bool, bool, State] | None:
    """Run the second operation before the given write of the first; None if there is no such write."""
    inner = world()
    store = FaultyStore(inner)
    metastore = Metastore(store, "/lake")
    outcome: list[bool] = []

    def come_between(writes: int) -> None:
        if writes == step and not outcome:
            outcome.append(attempt(RIVALS[second], Metastore(inner, "/lake")))

    store.before_write = come_between
    done = attempt(RIVALS[first], metastore)
    return (done, outcome[0], state(inner)) if outcome else None


@pytest.mark.parametrize("rival", ["replace table", "rename table"])
def test_lookups_while_names_change(rival: str) -> None:
    """Wherever a table is replaced during a lookup, it is found; one that is renamed, under one name."""
    for step in itertools.count():
        inner = world()
        store = FaultyStore(inner)
        reader = Metastore(store, "/lake")
        gets = itertools.count()
        changed: list[object] = []

        def come_between(
            step: int = step,
            inner: MemoryStore = inner,
            gets: Iterator[int] = gets,
            changed: list[object] = changed,
        ) -> None:
            if next(gets) == step:
                changed.append(OPERATIONS[rival](Metastore(inner, "/lake")))

        store.after_get = come_between
        try:
            table = reader.table("default", "t")
        except TableNotFoundError:
            assert changed
            assert rival == "rename table"
        else:
            assert table.totals.partitions in (1, 2)
        if not changed:
            return


def test_a_listing_shows_a_table_once_while_it_is_renamed() -> None:
    """A table is listed once at each step of its rename, under a readable name."""
    inner = world()
    store = FaultyStore(inner)
    metastore = Metastore(store, "/lake")
    seen = []

    def look(_: int) -> None:
        other = Metastore(inner, "/lake")
        names = other.tables("default")
        assert len(names) == 1
        assert content(other.table("default", names[0]))
        seen.append(names[0])

    store.before_write = look
    metastore.rename_table("default", "t", "default", "z")
    assert seen == sorted(seen)
    assert set(seen) == {"t", "z"}


# -- opening


def test_open(tmp_path: Path) -> None:
    """A metastore is created only on request, and is found by path or file: URI.

    Otherwise an error says how to create it.
    """
    folder = tmp_path / "my lake"
    with pytest.raises(WarehouseError, match=r"a Spark session does .*parquetry restore"):
        open_metastore(str(folder))
    assert not folder.exists()
    with open_metastore(str(folder), create=True) as metastore:
        metastore.create_table("default", "t", metadata())
        assert metastore.warehouse == str(folder)
    with open_metastore(folder.as_uri()) as metastore:
        assert metastore.warehouse == str(folder)
        assert metastore.tables("default") == ["t"]
    assert os.listdir(folder / "_parquetry") == ["metastore.sqlite"]


def test_open_remote_warehouse(tmp_path: Path) -> None:
    """A warehouse that is not on a local disk needs a store argument."""
    with pytest.raises(ConfigurationError, match="sqlite:///"):
        open_metastore("s3a://bucket/lake/")
    path = tmp_path / "meta.sqlite"
    with open_metastore("s3a://bucket/lake/", store=f"sqlite://{path}", create=True) as metastore:
        assert metastore.table_location("default", "t") == "s3a://bucket/lake/t"
    with Metastore(SQLiteStore(path), "s3a://bucket/lake/") as metastore:  # the bucket cannot be reached
        metastore.create_table("default", "t", metadata())
    with open_metastore("s3a://bucket/lake/", store=f"sqlite:///{path}") as metastore:  # of four strokes
        assert metastore.tables("default") == ["t"]
    with pytest.raises(ConfigurationError, match="'mysql'"):
        open_metastore(str(tmp_path), store="mysql")


def test_other_versions_are_refused() -> None:
    """A metastore of a later version, or something else, is refused with both versions named."""
    store = MemoryStore()
    store.put_many([(FORMAT, encode(FormatRow(MAGIC, NEWEST + 1, "9.9")))])
    with pytest.raises(MetastoreVersionError, match=rf"format {NEWEST + 1} .*9\.9.*formats 1 to {NEWEST}"):
        Metastore(store, "/lake")
    store.put_many([(FORMAT, b"something else")])
    with pytest.raises(MetastoreVersionError, match="not a metastore"):
        Metastore(store, "/lake")
    store = MemoryStore()
    store.put_many([(b"row", b"of something else")])
    with pytest.raises(MetastoreVersionError, match="not a metastore"):
        Metastore(store, "/lake")
    with pytest.raises(WarehouseError, match="no metastore"):
        Metastore(MemoryStore(), "/lake", create=False)


def test_warehouse_that_cannot_be_written(tmp_path: Path) -> None:
    """The error names a folder where no metastore can be created."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(WarehouseError, match="writable"):
        open_metastore(str(blocked), create=True)


def test_snapshots_describe_themselves() -> None:
    """A snapshot and a partition say what they are."""
    _, table = new_table()
    assert repr(table) == "TableSnapshot(default.t, version=1, partitions=2)"
    assert repr(next(table.partitions())) == "Partition(d=1/s=a, files=1, bytes=100)"
    assert [part.values for part in table.partitions(limit=1)] == [(1, "a")]
    assert isinstance(table, TableSnapshot)
