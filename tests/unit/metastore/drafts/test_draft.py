"""Transactions of several tables: their own view while they are under way, and one commit at the end."""

from __future__ import annotations

import contextlib
import random
import time
from typing import cast

import msgspec
import pytest

from parquetry.errors import CommitConflictError, TableNotFoundError, UnsupportedError
from parquetry.metastore import Draft, Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.store import MemoryStore, Store
from tests.support.effort import examples
from tests.support.stores.metastores import FaultyStore, content, file, metadata, whole_day

TABLES = ("t", "u")


def new_metastore(store: Store | None = None) -> Metastore:
    """Return a metastore with two tables, each with a file in partition (1, a) and one in (2, b)."""
    metastore = Metastore(store or MemoryStore(), "/lake")
    for name in TABLES:
        transaction = Transaction(metastore.create_table("default", name, metadata()), "append")
        transaction.append((1, "a"), [file("a")])
        transaction.append((2, "b"), [file("b")])
        commit(transaction)
    return metastore


def write(metastore: Metastore, table: str, change: str, name: str = "x", d: int = 1) -> TableSnapshot:
    """Do what one statement does: `append`, `overwrite`, `drop`, `overwrite all` or `comment`."""
    base = metastore.table("default", table)
    transaction, values = Transaction(base, change), (d, "ab"[d - 1])
    if change == "append":
        transaction.append(values, [file(name)])
    elif change == "overwrite":
        transaction.replace(values, [file(name)])
    elif change == "drop":
        if base.partition(values) is None:
            return base
        transaction.drop(values)
    elif change == "overwrite all":
        transaction.replace_where(None)
        transaction.append(values, [file(name)])
    elif change == "comment":
        transaction.set_metadata(msgspec.structs.replace(base.metadata, comment=name))
    return commit(transaction)


def contents(metastore: Metastore) -> list[object]:
    """Return the files and the comment of each table."""
    tables = [metastore.table("default", name) for name in TABLES]
    return [(content(table), table.metadata.comment, table.totals) for table in tables]


def test_others_see_nothing_before_the_commit() -> None:
    """Statements see their own changes; others see all of them after the commit, as one version a table."""
    metastore = new_metastore()
    before = contents(metastore)
    draft = Draft(metastore)
    write(draft.metastore, "t", "append")
    write(draft.metastore, "t", "overwrite", "y", 2)
    write(draft.metastore, "u", "drop")
    assert contents(metastore) == before
    mine = contents(draft.metastore)
    assert draft.tables == ["default.t", "default.u"]
    versions = draft.commit()
    assert contents(metastore) == mine
    assert [(version.label, version.version, version.operation) for version in versions] == [
        ("default.t", 2, "transaction"), ("default.u", 2, "drop"),
    ]  # fmt: skip
    assert versions[0].commit.summary == {
        "operations": "append, overwrite", "transaction": draft.id, "transaction_tables": "2",
    }  # fmt: skip


def test_a_transaction_of_one_table_is_named_too() -> None:
    """The history of its table has the transaction's id."""
    metastore = new_metastore()
    draft = Draft(metastore)
    write(draft.metastore, "t", "append")
    (version,) = draft.commit()
    assert version.commit.summary == {"transaction": draft.id, "transaction_tables": "1"}


def test_a_rollback_leaves_the_store_as_it_was() -> None:
    """A transaction that is given up, or whose process dies, leaves no row in the store."""
    store = MemoryStore()
    metastore = new_metastore(store)
    rows = dict(store.scan(b"", None))
    draft = Draft(metastore)
    write(draft.metastore, "t", "append")
    write(draft.metastore, "u", "comment")
    assert dict(store.scan(b"", None)) == rows
    draft.rollback()
    assert dict(store.scan(b"", None)) == rows
    with pytest.raises(UnsupportedError, match="has ended: begin another"):
        draft.commit()
    with pytest.raises(UnsupportedError, match="was read in a transaction that has ended"):
        write(draft.metastore, "t", "append")


def test_all_reads_are_of_one_moment() -> None:
    """A table that is read later is read as of the same moment, even if others have committed since."""
    metastore = new_metastore()
    draft = Draft(metastore)
    draft.metastore.table("default", "t")
    read_at = time.time_ns() // 1_000_000
    while time.time_ns() // 1_000_000 == read_at:
        pass  # a clock of milliseconds cannot tell such commits from earlier ones
    for name in TABLES:
        write(metastore, name, "append", "theirs")
    assert "theirs" not in content(draft.metastore.table("default", "u"))[1, "a"]
    fresh = Draft(metastore)
    assert "theirs" in content(fresh.metastore.table("default", "u"))[1, "a"]


def test_no_commit_of_several_tables_is_read_by_half() -> None:
    """A commit that took effect after one table was read is in none of the others, in spite of its time."""
    metastore = new_metastore()
    other = Draft(metastore)
    for name in TABLES:
        write(other.metastore, name, "append", "theirs")
    draft = Draft(metastore)
    draft.metastore.table("default", "t")
    other.commit()
    draft._store._moment += 60_000
    assert "theirs" not in content(draft.metastore.table("default", "u"))[1, "a"]


def test_appends_of_others_are_merged() -> None:
    """Others' appends to the same partition stay, as with a statement of its own."""
    metastore = new_metastore()
    draft = Draft(metastore)
    write(draft.metastore, "t", "append", "x1")
    write(draft.metastore, "t", "append", "x2")
    write(metastore, "t", "append", "theirs")
    draft.commit()
    assert content(metastore.table("default", "t"))[1, "a"] == ["a", "theirs", "x1", "x2"]


@pytest.mark.parametrize("mine", ["overwrite", "drop", "overwrite all"])
def test_changes_of_the_same_partition_conflict(mine: str) -> None:
    """A change that others made to one table is a conflict for all tables; the error names that table."""
    metastore = new_metastore()
    draft = Draft(metastore)
    write(draft.metastore, "t", mine)
    write(draft.metastore, "u", "append")
    write(metastore, "t", "append", "theirs")
    theirs = contents(metastore)
    with pytest.raises(CommitConflictError, match=r"Table default\.t: partition d=1/s=a was changed"):
        draft.commit()
    assert contents(metastore) == theirs


def test_other_partitions_of_others_stay() -> None:
    """A change of another partition is no conflict."""
    metastore = new_metastore()
    draft = Draft(metastore)
    write(draft.metastore, "t", "overwrite", "x")
    write(draft.metastore, "u", "append")
    write(metastore, "t", "overwrite", "theirs", 2)
    draft.commit()
    assert content(metastore.table("default", "t")) == {(1, "a"): ["x"], (2, "b"): ["theirs"]}


def test_what_a_transaction_cannot_do() -> None:
    """A transaction refuses to make, change and drop databases, and to delete files."""
    metastore = new_metastore()
    metastore.create_database("db")
    draft = Draft(metastore)
    for refused in (
        lambda: draft.metastore.create_database("other"),
        lambda: draft.metastore.alter_database("db", {"a": "b"}),
        lambda: draft.metastore.drop_database("db"),
        lambda: vacuum(draft.metastore.table("default", "t"), older_than=0),
    ):
        with pytest.raises(UnsupportedError, match="transaction"):
            refused()
    write(draft.metastore, "t", "append")
    draft.commit()
    assert metastore.databases() == ["db", "default"]


def test_a_table_that_is_dropped_meanwhile() -> None:
    """A commit fails as a whole if one of the tables is gone."""
    metastore = new_metastore()
    draft = Draft(metastore)
    write(draft.metastore, "t", "append")
    write(draft.metastore, "u", "append")
    metastore.drop_table("default", "u")
    with pytest.raises(TableNotFoundError):
        draft.commit()
    assert content(metastore.table("default", "t"))[1, "a"] == ["a"]


def test_a_rollback_of_a_table_within_a_transaction() -> None:
    """An earlier version can be brought back, and changed, before all is committed."""
    metastore = new_metastore()
    write(metastore, "t", "overwrite", "later")
    draft = Draft(metastore)
    earlier = draft.metastore.table("default", "t", version=1)
    back = Transaction(draft.metastore.table("default", "t"), "rollback")
    back.restore(earlier, next(iter(earlier.partitions())))
    commit(back)
    write(draft.metastore, "t", "append", "x")
    draft.commit()
    assert content(metastore.table("default", "t"))[1, "a"] == ["a", "x"]


@pytest.mark.parametrize("seed", range(examples(60)))
def test_random_statements_come_to_what_they_come_to_one_by_one(seed: int) -> None:
    """The commit of a transaction makes of the tables what its statements make of them without one."""
    chance = random.Random(seed)
    alone, together = new_metastore(), new_metastore()
    draft = Draft(together)
    for number in range(chance.randrange(1, 9)):
        about = chance.choice(TABLES)
        change = chance.choice(["append", "append", "overwrite", "drop", "overwrite all", "comment"])
        d = chance.choice([1, 2])
        for metastore in (alone, draft.metastore):
            write(metastore, about, change, f"x{number}", d)
        assert contents(draft.metastore) == contents(alone)
    draft.commit()
    assert contents(together) == contents(alone)
    for name in TABLES:
        write(together, name, "append", "next")


def skew(metastore: Metastore, reads: str, writes: str) -> Draft:
    """Return a transaction that has read partition 1 of one table, and appends to the other one."""
    draft = Draft(metastore)
    read = draft.metastore.table("default", reads)
    transaction = Transaction(draft.metastore.table("default", writes), "append")
    transaction.append((1, "a"), [file(f"of {reads}")])
    transaction.requirements.rely_on_other(read, whole_day(read, 1), frozenset())
    commit(transaction)
    return draft


def test_reads_of_other_tables_count() -> None:
    """A change of a partition that was read is a conflict in words; a change of another partition is none."""
    metastore = new_metastore()
    draft = skew(metastore, "t", "u")
    write(metastore, "t", "append", "z", 2)
    assert [version.version for version in draft.commit()] == [2]
    draft = skew(metastore, "t", "u")
    write(metastore, "t", "append", "z", 1)
    before = contents(metastore)
    words = r"Table default.t: partition d=1/s=a, which was read for it, was changed by version 3 \(append\), while a transaction"
    with pytest.raises(CommitConflictError, match=words):
        draft.commit()
    assert contents(metastore) == before
    draft = skew(metastore, "t", "u")  # and changes what it has read
    write(draft.metastore, "t", "append", "mine", 1)
    write(metastore, "t", "append", "theirs", 1)
    with pytest.raises(CommitConflictError, match="which was read for it, was changed by version 4"):
        draft.commit()


def test_no_write_skew() -> None:
    """If two transactions change what the other has read, one fails, whenever the other commits."""
    outcomes = set()
    for at in range(200):
        store = FaultyStore(MemoryStore())
        metastore = new_metastore(cast(Store, store))
        mine, theirs = skew(metastore, "t", "u"), skew(metastore, "u", "t")
        done: list[str] = []

        def attempt(draft: Draft, name: str, done: list[str] = done) -> None:
            with contextlib.suppress(CommitConflictError):
                draft.commit()
                done.append(name)

        first = store.writes

        def between(
            writes: int, first: int = first, at: int = at, theirs: Draft = theirs, store: FaultyStore = store
        ) -> None:
            if writes - first == at:
                store.before_write = None
                attempt(theirs, "theirs")

        store.before_write = between
        attempt(mine, "mine")
        if store.before_write is not None and not theirs.is_over:  # all writes were before
            assert done == ["mine"]
            break
        assert len(done) == 1, at
        outcomes.add(done[0])
    assert outcomes == {"mine", "theirs"}
