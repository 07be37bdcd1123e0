"""Tables that a transaction makes, renames, drops and replaces: names change with heads, at one moment."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable

import msgspec
import pytest

from parquetry.errors import CommitConflictError, NamespaceNotFoundError, ParquetryError, TableNotFoundError
from parquetry.metastore import Draft, Metastore, Replacement, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.deletion.file_access import FileAccess
from parquetry.metastore.operations.drop import Dropping
from parquetry.metastore.storage import keyspace, owner
from parquetry.metastore.vacuuming.vacuum import remove_orphans
from parquetry.store import MemoryStore, Store
from tests.support.effort import examples
from tests.support.interleavings.steps import SteppedStore, StoreCall
from tests.support.stores.metastores import Crash, FaultyStore, content, file, metadata

Tables = dict[str, tuple[str | None, tuple[str, ...]]]


def new_metastore(store: Store | None = None) -> Metastore:
    """Return a metastore with tables `t` and `u`, each with a file."""
    metastore = Metastore(store or MemoryStore(), "/lake")
    for name in "tu":
        make(metastore, name, f"old {name}")
    return metastore


def make(metastore: Metastore, name: str, tag: str, database: str = "default") -> None:
    """CREATE TABLE AS, with a file."""
    staged = metastore.stage_table(database, name, msgspec.structs.replace(metadata(), comment=tag))
    transaction = Transaction(staged.snapshot, "append")
    transaction.append((1, "a"), [file(tag)])
    commit(transaction)
    staged.make_visible()


def replace(metastore: Metastore, name: str, tag: str) -> None:
    """REPLACE TABLE AS, with a file."""
    replacement = Replacement(
        metastore.table("default", name), msgspec.structs.replace(metadata(), comment=tag)
    )
    transaction = Transaction(replacement.snapshot, "append")
    transaction.append((2, "b"), [file(tag)])
    commit(transaction)
    replacement.make_visible()


def append(metastore: Metastore, name: str, tag: str) -> None:
    """INSERT INTO."""
    transaction = Transaction(metastore.table("default", name), "append")
    transaction.append((1, "a"), [file(tag)])
    commit(transaction)


def drop(metastore: Metastore, name: str) -> None:
    """DROP TABLE."""
    dropping = Dropping(metastore)
    dropping.drop("default", name)
    dropping.delete_files()


def rename(metastore: Metastore, name: str, new: str) -> None:
    """ALTER TABLE … RENAME TO."""
    metastore.rename_table("default", name, "default", new)


def swap(metastore: Metastore) -> None:
    """Put a new table in the place of an old one, as a run of dbt does, and drop another one."""
    make(metastore, "t__tmp", "new")
    rename(metastore, "t", "t__old")
    rename(metastore, "t__tmp", "t")
    append(metastore, "t", "more")
    drop(metastore, "u")


def tables(metastore: Metastore) -> Tables:
    """Return the comment and the files of each table, by name."""
    found = {}
    for name in metastore.tables("default"):
        table = metastore.table("default", name)
        files = sorted(each for some in content(table).values() for each in some)
        found[name] = table.metadata.comment, tuple(files)
    return found


BEFORE = {"t": ("old t", ("old t",)), "u": ("old u", ("old u",))}
SWAPPED = {"t": ("new", ("more", "new")), "t__old": ("old t", ("old t",))}


def no_rows_are_left(metastore: Metastore) -> bool:
    """Return whether all rows belong to tables that have names."""
    remove_orphans(metastore.store, FileAccess())
    ids = {metastore.table("default", name).id for name in metastore.tables("default")}
    rows = [key for key, _ in metastore.store.scan(b"", None)]
    names = [key for key in rows if key[:1] == keyspace.NAMES]
    assert not any(key[:1] == keyspace.TRANSACTIONS for key in rows)
    return len(names) == len(ids) and ids >= {
        keyspace.table_in(key) for key in rows if keyspace.is_row_of_table(key)
    }


def test_names_change_with_the_commit() -> None:
    """The transaction sees its own names at once, others see all of them after the commit."""
    metastore = new_metastore()
    draft = Draft(metastore)
    swap(draft.metastore)
    assert tables(draft.metastore) == SWAPPED
    assert tables(metastore) == BEFORE
    assert draft.tables == ["default.t", "default.u"]
    versions = draft.commit()
    assert tables(metastore) == SWAPPED
    assert [version.label for version in versions] == ["default.t", "default.t__old"]
    assert [commit.summary.get("transaction") for commit in versions[0].history()] == [draft.id] * 3
    assert no_rows_are_left(metastore)


def test_a_rollback_removes_what_was_made() -> None:
    """Staged tables and their rows are gone, and names are as they were."""
    metastore = new_metastore()
    rows = dict(metastore.store.scan(b"", None))
    draft = Draft(metastore)
    swap(draft.metastore)
    draft.rollback()
    assert dict(metastore.store.scan(b"", None)) == rows


def test_a_dropped_table_gives_its_name_to_another() -> None:
    """DROP and CREATE of one name, a table that is made and dropped again, and names that change places."""
    metastore = new_metastore()
    draft = Draft(metastore)
    drop(draft.metastore, "t")
    with pytest.raises(TableNotFoundError):
        draft.metastore.table("default", "t")
    make(draft.metastore, "t", "new")
    make(draft.metastore, "gone", "gone")
    drop(draft.metastore, "gone")
    draft.commit()
    assert tables(metastore) == {"t": ("new", ("new",)), "u": BEFORE["u"]}
    draft = Draft(metastore)
    for names in (("t", "x"), ("u", "t"), ("x", "u")):
        rename(draft.metastore, *names)
    draft.commit()
    assert tables(metastore) == {"u": ("new", ("new",)), "t": BEFORE["u"]}
    assert no_rows_are_left(metastore)


def test_a_replaced_table() -> None:
    """REPLACE TABLE keeps the table and its history."""
    metastore = new_metastore()
    draft = Draft(metastore)
    append(draft.metastore, "t", "lost")
    replace(draft.metastore, "t", "new")
    append(draft.metastore, "t", "more")
    append(draft.metastore, "u", "more")
    append(metastore, "u", "theirs")
    mine = tables(draft.metastore)
    draft.commit()
    assert mine["t"] == ("new", ("more", "new"))
    assert tables(metastore) == {"t": mine["t"], "u": ("old u", ("more", "old u", "theirs"))}
    assert metastore.table("default", "t").version == 2
    assert content(metastore.table("default", "t", version=1))[1, "a"] == ["old t"]


CONFLICTS: dict[str, tuple[Callable[[Metastore], None], str]] = {
    "a name is taken": (lambda m: make(m, "t__old", "theirs"), r"Table default\.t__old was made by others"),
    "a table is renamed": (lambda m: rename(m, "t", "x"), r"Table default\.t became default\.x meanwhile"),
    "a table that is dropped is changed": (
        lambda m: append(m, "u", "theirs"),
        r"u was changed in version 2 by 'append'",
    ),
    "a table is dropped": (lambda m: drop(m, "u"), r"Table default\.u was dropped meanwhile"),
}


@pytest.mark.parametrize("conflict", CONFLICTS)
def test_conflicts_of_names(conflict: str) -> None:
    """Others who change the same name cause an error in words, and the transaction writes nothing."""
    others, words = CONFLICTS[conflict]
    metastore = new_metastore()
    draft = Draft(metastore)
    swap(draft.metastore)
    others(metastore)
    theirs = tables(metastore)
    with pytest.raises((CommitConflictError, TableNotFoundError), match=words):
        draft.commit()
    assert tables(metastore) == theirs
    assert no_rows_are_left(metastore)


def test_a_changed_table_that_is_dropped_meanwhile() -> None:
    """The next statement that needs it says so: its change cannot be committed any more."""
    metastore = new_metastore()
    draft = Draft(metastore)
    rename(draft.metastore, "t", "x")
    drop(metastore, "t")
    with pytest.raises(TableNotFoundError, match=r"default\.x was dropped by others, after a transaction"):
        draft.metastore.table("default", "x")
    with pytest.raises(TableNotFoundError, match=r"default\.t was dropped meanwhile"):
        draft.commit()
    assert tables(metastore).keys() == {"u"}


def test_a_database_that_is_dropped_meanwhile() -> None:
    """A table cannot appear in it."""
    metastore = new_metastore()
    metastore.create_database("db")
    draft = Draft(metastore)
    make(draft.metastore, "t", "new", "db")
    metastore.drop_database("db")
    with pytest.raises(NamespaceNotFoundError):
        draft.commit()
    assert no_rows_are_left(metastore)


def test_what_others_do_with_a_table_that_is_renamed_or_replaced() -> None:
    """Their appends go with a renamed table, and conflict with a replacement."""
    metastore = new_metastore()
    draft = Draft(metastore)
    rename(draft.metastore, "t", "v")
    append(metastore, "t", "theirs")
    draft.commit()
    assert tables(metastore) == {"v": ("old t", ("old t", "theirs")), "u": BEFORE["u"]}
    draft = Draft(metastore)
    replace(draft.metastore, "v", "new")
    append(draft.metastore, "u", "more")
    append(metastore, "v", "again")
    with pytest.raises(CommitConflictError, match=r"Table default\.v: its content was changed"):
        draft.commit()
    assert tables(metastore) == {"v": ("old t", ("again", "old t", "theirs")), "u": BEFORE["u"]}


@pytest.mark.parametrize("seed", range(examples(100)))
def test_random_statements_come_to_what_they_come_to_one_by_one(seed: int) -> None:
    """The commit of a transaction makes of names and tables what its statements make of them without one."""
    chance = random.Random(seed)
    alone, together = new_metastore(), new_metastore()
    draft = Draft(together)
    for number in range(chance.randrange(1, 12)):
        kind = chance.choice([make, make, append, append, drop, rename, rename, replace])
        name, other = chance.sample("tuvw", 2)
        words = {rename: (name, other), drop: (name,)}.get(kind, (name, f"x{number}"))
        outcomes = []
        for metastore in (alone, draft.metastore):
            try:
                kind(metastore, *words)  # type: ignore[operator]
                outcomes.append("done")
            except ParquetryError as error:
                outcomes.append(error.code)
        assert outcomes[0] == outcomes[1]
        assert tables(draft.metastore) == tables(alone)
    draft.commit()
    assert tables(together) == tables(alone)
    assert no_rows_are_left(together)
    for name in tables(together):
        append(together, name, "next")


def test_a_kill_at_each_row() -> None:
    """A process that dies leaves all or nothing; clean-up removes what it left."""
    outcomes = set()
    for number in itertools.count():
        store = MemoryStore()
        new_metastore(store)
        faulty = FaultyStore(store)
        mine = Metastore(faulty, "/lake")
        faulty.crash_at = faulty.writes + number
        try:
            draft = Draft(mine)
            swap(draft.metastore)
            draft.commit()
        except Crash:
            owner._active.clear()  # the process is gone
            metastore = Metastore(store, "/lake")
            seen = tables(metastore)
            assert seen in (BEFORE, SWAPPED)
            assert no_rows_are_left(metastore)
            assert tables(metastore) == seen
            outcomes.add("t__old" in seen)
            append(metastore, "t", "next")
        else:
            break
    assert outcomes == {True, False}


def test_readers_at_each_step() -> None:
    """A list of tables, and a read of two, at any step of the commit, is of before it or of after it."""
    seen = []
    store = MemoryStore()
    new_metastore(store)
    reading = [False]

    def look(_: StoreCall) -> None:
        if not reading[0]:
            reading[0] = True
            seen.append(tables(Metastore(store, "/lake")))
            reading[0] = False

    draft = Draft(Metastore(SteppedStore(store, look), "/lake"))
    swap(draft.metastore)
    draft.commit()
    assert all(each in (BEFORE, SWAPPED) for each in seen)
    assert seen.index(SWAPPED) == seen.count(BEFORE)
