"""Branches: versions beside a table's own, whose files no vacuum takes, and which one commit publishes."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from parquetry.catalog import Catalog
from parquetry.errors import CommitConflictError, ParquetryError, TableNotFoundError, UnsupportedError
from parquetry.metastore import (
    Draft,
    FileRecord,
    Metastore,
    TableSnapshot,
    TableVersions,
    Transaction,
    branches_of,
    check_of_new_files,
    create_branch,
    create_index,
    drop_branch,
    dump,
    fsck,
    history,
    metastore as metastore_module,
    publish_branch,
    purge,
    purge_replaced,
    restore,
    rollback,
    set_tag,
    vacuum,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.operations import branch_publishing, branches
from parquetry.metastore.operations.drop import Dropping
from parquetry.metastore.ownership.handover import find_changed_table
from parquetry.metastore.storage.format import BRANCHED, version_in
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.storage.keyspace import FORMAT, HEADS, head_key, table_in
from parquetry.metastore.storage.owner import leave
from parquetry.metastore.vacuuming import delete_files
from parquetry.store import MemoryStore, SQLiteStore, Store
from tests.support.stores.metastores import content, leftovers, metadata
from tests.support.tables.lakes import NOW, TableLake, busy

ONE, TWO = (1, "a"), (2, "b")


class BranchLake(TableLake):
    """A table with a branch `try`."""

    def file(self, key: tuple[int, str], name: str, own: bool = True) -> FileRecord:
        """Write a file that is older than the vacuums of these tests."""
        written = super().file(key, name, own)
        path = Path(self.table().placement.default_location(key).removeprefix("file:")) / written.path
        os.utime(path, (path.stat().st_mtime - 60,) * 2)
        return written

    def branch(self, name: str = "try", version: int | None = None) -> TableSnapshot:
        return self.metastore.table("default", f"t/{name}", version=version)

    def write(self, change: str, key: tuple[int, str], name: str = "") -> None:
        """Commit a change of one partition to the branch: append, replace or drop."""
        written = [self.file(key, name)] if name else []
        transaction = Transaction(self.branch(), change)
        if change == "drop":
            transaction.drop(key)
        else:
            getattr(transaction, change)(key, written)
        commit(transaction)

    def in_branch(self) -> set[str]:
        return self.names(self.branch())

    def names(self, table: TableSnapshot) -> set[str]:
        prefix = f"pq-{self.id.hex()}-"
        files = (file.path for part in table.partitions() for file in part.files)
        return {path.rpartition("/")[2].removeprefix(prefix).removesuffix(".parquet") for path in files}

    def vacuum(self) -> None:
        vacuum(self.table(), older_than=NOW, grace=0)

    def rows_of_branches(self) -> set[bytes]:
        """Return the ids of all tables with rows, but the table's own."""
        rows = self.metastore.store.scan(HEADS, b"\xff")
        return {table_in(key) for key, _ in rows if key[:1] not in (b"\x0e", b"\x0f")} - {self.id}


@pytest.fixture(params=["memory", "sqlite"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> BranchLake:
    """A table with two partitions, and a branch of it."""
    store: Store = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "rows.sqlite")
    made = BranchLake(tmp_path / "lake", store)
    made.append(ONE, "one")
    made.append(TWO, "two")
    create_branch(made.table(), "Try")
    return made


def test_a_branch_is_read_and_written_beside_its_table(lake: BranchLake) -> None:
    """The table does not show what a branch has, nor the branch what was written into the table since."""
    assert version_in(lake.metastore.store.rows.get(FORMAT) or b"") == BRANCHED
    assert content(lake.branch()) == content(lake.table())
    lake.write("append", ONE, "more")
    lake.write("replace", TWO, "other")
    lake.append((3, "c"), "three")
    assert lake.in_branch() == {"one", "more", "other"}
    assert lake.listed() == {"one", "two", "three"}
    for name in ("try", "TRY"):
        assert content(lake.metastore.table("default", "t", version=name)) == content(lake.branch())
    assert (lake.branch().label, lake.branch().owner) == ("default.t.branch_try", lake.id)
    assert lake.names(lake.branch(version=2)) == {"one", "two"}
    (found,) = branches_of(lake.table())
    assert (found.name, found.version, found.begins) == ("try", 4, 2)
    assert lake.metastore.tables("default") == ["t"]
    assert lake.metastore.ids() == {lake.id}


def test_publish(lake: BranchLake) -> None:
    """One commit has all changes of a branch, moves no file, and ends the branch."""
    lake.write("append", ONE, "more")
    lake.write("drop", TWO)
    lake.write("append", (3, "c"), "three")
    before = lake.on_disk()
    done = publish_branch(lake.table(), "try")
    assert (done.before.version, done.after.version, done.branch.version) == (2, 3, 5)
    assert lake.listed() == {"one", "more", "three"}
    assert content(lake.table())
    newest = next(iter(history(lake.table())))
    assert (newest.operation, newest.summary) == (
        "publish_branch",
        {"branch": "try", "branch_versions": "3"},
    )
    changes = newest.changes
    assert changes is not None
    assert (changes.files_added, changes.files_removed, changes.partitions_removed) == (2, 1, 1)
    assert lake.on_disk() == before
    assert not branches_of(lake.table())
    assert not lake.rows_of_branches()
    assert not leftovers(lake.metastore.store, lake.id)
    lake.vacuum()
    assert lake.on_disk() == lake.listed()


def test_appended_rows_are_appended_for_streams(lake: BranchLake) -> None:
    """A stream of the table sees the files that a branch appended, and that nothing was taken away."""
    lake.write("append", ONE, "more")
    publish_branch(lake.table(), "try")
    versions = TableVersions.read(lake.metastore.store, lake.id)
    assert versions is not None
    (change,) = versions.changes(2, 3)
    assert [[file.path for file in files] for _, files in change.brought] == [
        [f"pq-{lake.id.hex()}-more.parquet"]
    ]
    assert not change.takes_away


def test_publish_beside_other_commits(lake: BranchLake) -> None:
    """Appends merge, and other partitions do not matter. A conflict about a partition loses nothing."""
    lake.write("append", ONE, "more")
    lake.write("replace", TWO, "other")
    lake.append(ONE, "theirs")
    lake.append((3, "c"), "three")
    publish_branch(lake.table(), "try")
    assert lake.listed() == {"one", "theirs", "more", "other", "three"}
    create_branch(lake.table(), "try")
    lake.write("replace", TWO, "again")
    lake.append(TWO, "late")
    now = content(lake.table())
    with pytest.raises(CommitConflictError, match=r"partition d=2/s=b was changed by version 6 \(append\)"):
        publish_branch(lake.table(), "try")
    assert content(lake.table()) == now
    lake.write("append", ONE, "still open")
    lake.vacuum()
    assert lake.in_branch() == {"one", "theirs", "more", "again", "three", "still open"}
    assert lake.in_branch() <= lake.on_disk()
    drop_branch(lake.table(), "try")
    lake.vacuum()
    assert lake.on_disk() == lake.listed() == {"one", "theirs", "more", "other", "late", "three"}


def test_indexes_follow_a_branch_and_its_publication(lake: BranchLake) -> None:
    """The rows of an index fit the branch, and then the table."""
    drop_branch(lake.table(), "try")
    create_index(lake.table(), ["s"])
    create_branch(lake.table(), "try")
    lake.write("append", (3, "c"), "three")
    lake.write("replace", ONE, "other")
    lake.write("drop", TWO)
    assert fsck(lake.branch(), footers=False) == []
    publish_branch(lake.table(), "try")
    assert fsck(lake.table(), footers=False) == []
    assert [index.ready for index in lake.table().metadata.indexes] == [True]
    assert lake.listed() == {"other", "three"}


def test_vacuum_keeps_what_a_branch_needs(lake: BranchLake) -> None:
    """A vacuum takes no file of a branch, also if the table has replaced it. It does when the branch ends."""
    lake.write("append", ONE, "more")
    lake.write("replace", ONE, "newer")
    lake.replace(ONE, "mine")
    lake.drop(TWO)
    lake.vacuum()
    assert lake.in_branch() == {"newer", "two"}
    assert lake.names(lake.branch(version=3)) == {"one", "more", "two"}
    assert lake.on_disk() == {"one", "two", "more", "newer", "mine"}
    assert content(lake.table(2)) == {
        ONE: [f"pq-{lake.id.hex()}-one.parquet"],
        TWO: [f"pq-{lake.id.hex()}-two.parquet"],
    }
    restored = rollback(lake.branch(), lake.branch(version=3))
    assert lake.names(restored) == {"one", "more", "two"}
    drop_branch(lake.table(), "try")
    assert lake.on_disk() == {"one", "two", "more", "newer", "mine"}
    lake.vacuum()
    assert lake.on_disk() == lake.listed() == {"mine"}


def test_published_files_belong_to_the_table(lake: BranchLake) -> None:
    """A file of a published branch is deleted when the table has replaced it, unless a branch lists it."""
    lake.write("append", ONE, "more")
    publish_branch(lake.table(), "try")
    create_branch(lake.table(), "second")
    lake.replace(ONE, "mine")
    lake.vacuum()
    assert lake.names(lake.branch("second")) == {"one", "more", "two"}
    assert {"one", "more"} <= lake.on_disk()
    drop_branch(lake.table(), "second")
    lake.vacuum()
    assert lake.on_disk() == lake.listed() == {"mine", "two"}


def test_a_vacuum_beside_a_write_to_a_branch(lake: BranchLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of a commit under way stays: the vacuum waits for it, and finds the file listed then."""
    written = lake.file(ONE, "slow")
    transaction = Transaction(lake.branch(), "append")
    transaction.append(ONE, [written])
    seen: list[set[str]] = []

    def during() -> None:
        # the ticket is taken, and the rows are not written: the deletion of unlisted files has to wait
        with pytest.raises(CommitConflictError, match="without a pause"):
            lake.vacuum()
        seen.append(lake.on_disk())

    transaction.requirements.adopt(during)
    monkeypatch.setattr(delete_files, "PATIENCE_S", 0.1)
    commit(transaction)
    assert seen == [{"one", "two", "slow"}]
    lake.vacuum()
    assert lake.in_branch() == {"one", "slow", "two"}
    assert lake.on_disk() == {"one", "two", "slow"}


def test_a_write_whose_files_a_vacuum_took_fails(lake: BranchLake) -> None:
    """A commit to a branch that began before a vacuum of the table looks for its files."""
    written = lake.file(ONE, "slow")
    branch = lake.branch()
    transaction = Transaction(branch, "append")
    transaction.append(ONE, [written])
    place = branch.placement.default_location(ONE)
    transaction.requirements.keep(check_of_new_files(branch, [f"{place}/{written.path}"]))
    lake.vacuum()
    assert "slow" not in lake.on_disk()
    with pytest.raises(ParquetryError, match="deleted meanwhile"):
        commit(transaction)
    assert lake.in_branch() == {"one", "two"}


def test_purge_leaves_the_files_of_a_branch(lake: BranchLake) -> None:
    """A purge of the table deletes no file that a branch lists, and a purge of the branch deletes nothing."""
    before = list(lake.table().partitions())
    lake.replace(ONE, "mine")
    assert purge_replaced(before, lake.table()) == []
    locations = [f"{part.location}/{file.path}" for part in before for file in part.files]
    assert purge(lake.table(), locations) == []
    assert lake.on_disk() == {"one", "two", "mine"}
    in_branch = list(lake.branch().partitions())
    lake.write("replace", ONE, "newer")
    assert purge_replaced(in_branch, lake.branch()) == []
    assert purge(lake.branch(), locations) == []
    assert lake.on_disk() == {"one", "two", "mine", "newer"}


def test_drop_table_ends_its_branches(lake: BranchLake) -> None:
    """A DROP of the table deletes the files of its branches, and their rows."""
    lake.write("append", ONE, "more")
    dropping = Dropping(lake.metastore)
    dropping.drop("default", "t")
    dropping.delete_files()
    assert not lake.rows_of_branches()
    assert not lake.location.exists()


def test_a_drop_that_dies(lake: BranchLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vacuum deletes the rows of branches whose table is gone, and of branches that no head names."""
    other = lake.metastore.create_table("default", "u", metadata(location=f"file:{lake.folder}/u"))
    lake.write("append", ONE, "more")
    monkeypatch.setattr(branches, "remove_rows_of_branch", lambda *_: None)
    create_branch(lake.table(), "second")
    dropped = drop_branch(lake.table(), "second")
    assert (dropped.name, dropped.version) == ("second", 2)
    monkeypatch.setattr(metastore_module, "delete_table", lambda *_: None)
    lake.metastore.drop_table("default", "t")
    assert len(lake.rows_of_branches()) == 3
    vacuum(other, older_than=NOW, grace=0)
    assert lake.rows_of_branches() == {other.id}
    assert lake.metastore.store.get(head_key(lake.id)) is None


def test_rename(lake: BranchLake) -> None:
    """A branch follows its table to another name."""
    lake.write("append", ONE, "more")
    renamed = lake.metastore.rename_table("default", "t", "default", "u")
    moved = lake.metastore.table("default", "u/try")
    assert lake.names(moved) == {"one", "two", "more"}
    assert moved.label == "default.u.branch_try"
    with pytest.raises(TableNotFoundError, match=r"default\.t/try does not exist"):
        lake.metastore.table("default", "t/try")
    transaction = Transaction(moved, "append")
    transaction.requirements.keeps_name = True
    transaction.drop(TWO)
    assert lake.names(commit(transaction)) == {"one", "more"}
    assert publish_branch(renamed, "try").after.version == 3


REFUSED: list[tuple[Callable[[BranchLake], object], type[ParquetryError], str]] = [
    (lambda lake: create_branch(lake.table(), "TRY"), UnsupportedError, "has a branch 'try' already"),
    (lambda lake: create_branch(lake.table(), "main"), UnsupportedError, "newest version for readers of Iceberg"),
    (lambda lake: create_branch(lake.table(), "7"), UnsupportedError, "names the version of this number"),
    (lambda lake: create_branch(lake.table(), "a/b"), UnsupportedError, "holds a slash"),
    (lambda lake: create_branch(lake.branch(), "x"), UnsupportedError, "is a branch already"),
    (lambda lake: set_tag(lake.table(), "Try", 1), UnsupportedError, "has a branch 'Try'"),
    (lambda lake: drop_branch(lake.table(), "x"), TableNotFoundError, "has no branch 'x'; its branches are 'try'"),
    (lambda lake: publish_branch(lake.table(), "x"), TableNotFoundError, "CALL system.branch makes one"),
    (lambda lake: lake.branch("x"), TableNotFoundError, "has no branch 'x'"),
    (lambda lake: vacuum(lake.branch()), UnsupportedError, "the vacuum of its table"),
    (lambda lake: lake.metastore.drop_table("default", "t/try"), UnsupportedError, "drop_branch drops it"),
    (lambda lake: lake.metastore.rename_table("default", "t/try", "default", "v"), UnsupportedError, "cannot be renamed"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), REFUSED, ids=[words for _, _, words in REFUSED])
def test_what_is_refused(
    tmp_path: Path, call: Callable[[BranchLake], object], error: type[ParquetryError], words: str
) -> None:
    """Nothing changes, and the message says what to do."""
    lake = BranchLake(tmp_path)
    lake.append(ONE, "one")
    create_branch(lake.table(), "try")
    before = list(lake.store.scan(b"", None))
    with pytest.raises(error, match=words):
        call(lake)
    assert list(lake.store.scan(b"", None)) == before


def test_a_tag_keeps_its_name(tmp_path: Path) -> None:
    """Tags and branches share one name space."""
    lake = BranchLake(tmp_path)
    lake.append(ONE, "one")
    set_tag(lake.table(), "Try", 1)
    with pytest.raises(UnsupportedError, match="has a tag 'try'"):
        create_branch(lake.table(), "try")


def test_a_closed_branch(lake: BranchLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a branch is published, it takes no commits; another publisher goes on after a dead one."""
    lake.write("append", ONE, "more")
    seen: list[str] = []

    def die(*_: object) -> Transaction:
        with pytest.raises(CommitConflictError, match="is being published, and takes no more commits"):
            lake.write("append", ONE, "late")
        with pytest.raises(CommitConflictError, match="is being published by others"):
            publish_branch(lake.table(), "try")
        seen.append("died")
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(branch_publishing, "_changes", die)
        patch.setattr(branch_publishing, "_reopen", lambda *_: None)
        with pytest.raises(KeyboardInterrupt):
            publish_branch(lake.table(), "try")
    assert seen == ["died"]
    with pytest.raises(CommitConflictError, match=r"publish it again \(CALL system.publish_branch\)"):
        lake.write("append", ONE, "late")
    publish_branch(lake.table(), "try")
    assert lake.listed() == {"one", "two", "more"}


def test_a_publisher_that_was_taken_for_dead(lake: BranchLake, monkeypatch: pytest.MonkeyPatch) -> None:
    """It commits nothing once another has begun: the branch is published once."""
    lake.write("append", ONE, "more")
    real = branch_publishing._changes

    def overtaken(*about: object) -> Transaction:
        made = real(*about)  # type: ignore[arg-type]
        monkeypatch.setattr(branch_publishing, "_changes", real)
        head = read_head(lake.metastore.store, lake.branch().id)
        assert head is not None
        assert head.author is not None
        leave(head.author)
        publish_branch(lake.table(), "try")
        return made

    monkeypatch.setattr(branch_publishing, "_changes", overtaken)
    with pytest.raises(CommitConflictError, match="published or dropped by others meanwhile"):
        publish_branch(lake.table(), "try")
    assert sorted(path for files in content(lake.table()).values() for path in files) == sorted(
        f"pq-{lake.id.hex()}-{name}.parquet" for name in ("more", "one", "two")
    )


def test_long_lists_and_unchanged_branches(tmp_path: Path) -> None:
    """Chunks of long lists are copied and published; a branch without a change ends without a version."""
    lake = BranchLake(tmp_path)
    for group in range(3):
        transaction = Transaction(lake.table(), "append")
        transaction.append(ONE, [lake.file(ONE, f"{group}-{number}") for number in range(100)])
        commit(transaction)
    create_branch(lake.table(), "try")
    assert content(lake.branch()) == content(lake.table())
    for group in range(3, 6):
        transaction = Transaction(lake.branch(), "append")
        transaction.append(ONE, [lake.file(ONE, f"{group}-{number}") for number in range(100)])
        commit(transaction)
    lake.vacuum()
    assert len(lake.on_disk()) == 600
    wanted = lake.in_branch()
    publish_branch(lake.table(), "try")
    assert lake.listed() == wanted
    assert len(wanted) == 600
    content(lake.table())
    create_branch(lake.table(), "try")
    done = publish_branch(lake.table(), "try")
    assert done.before.version == done.after.version == lake.table().version
    assert not branches_of(lake.table())


def test_busy_table(tmp_path: Path) -> None:
    """A branch begins with any version that is kept, and the table's vacuum keeps that version."""
    lake = busy(tmp_path)
    create_branch(lake.table(2), "old")
    then = content(lake.table(2))
    vacuum(lake.table(), older_than=NOW, grace=0)
    branch = lake.metastore.table("default", "t", version="old")
    assert content(branch) == then
    head = read_head(lake.metastore.store, lake.id)
    assert head is not None
    assert head.oldest == 2


def test_a_transaction_has_no_branches(lake: BranchLake) -> None:
    """A transaction of several tables neither reads branches nor makes, publishes or drops them."""
    inside = Draft(lake.metastore).metastore
    table = inside.table("default", "t")
    for call in (
        lambda: inside.table("default", "t/try"),
        lambda: inside.table("default", "t", version="try"),
        lambda: create_branch(table, "second"),
        lambda: publish_branch(table, "try"),
        lambda: drop_branch(table, "try"),
    ):
        with pytest.raises(UnsupportedError, match="cannot be part of a transaction of several tables"):
            call()
    assert [each.name for each in branches_of(lake.table())] == ["try"]


def test_a_dump_says_what_it_lacks(lake: BranchLake, caplog: pytest.LogCaptureFixture) -> None:
    """A dump leaves branches out, and says so; a restored table has none."""
    with caplog.at_level(logging.WARNING, "parquetry"):
        dump(lake.metastore, str(lake.folder / "dump"))
    assert "does not have the branches of table default.t (try)" in caplog.text
    other = Metastore(MemoryStore(), lake.metastore.warehouse)
    restore(other, str(lake.folder / "dump"))
    assert content(other.table("default", "t")) == content(lake.table())
    assert branches_of(other.table("default", "t")) == []
    assert find_changed_table(lake.metastore.store.rows, other.store.rows) == (
        "table default.t has branches, which no dump has (publish or drop try)"
    )


def test_methods_of_a_catalog(lake: BranchLake) -> None:
    """Python makes, lists, reads, publishes and drops branches, named `database.table.branch_name`."""
    catalog = Catalog(lake.metastore)
    catalog.branch("default.t", "second", 1)
    assert [(each.name, each.begins) for each in catalog.branches("t")] == [("second", 1), ("try", 2)]
    lake.write("append", ONE, "more")
    for name in ("default.t.branch_try", "lake.default.t.branch_TRY", "default.`t`.branch_try"):
        assert len(list(catalog.files(name))) == 3
    assert catalog.table("default.t").files == 2
    assert catalog.publish_branch("default.t", "try").files == 3
    assert catalog.drop_branch("default.t", "second").begins == 1
    with pytest.raises(TableNotFoundError, match="has no branch 'try'"):
        catalog.table("default.t.branch_try")
    catalog.branch("t", "try")
    with pytest.raises(UnsupportedError, match="is a branch, on which this does not work"):
        catalog.vacuum("default.t.branch_try")
    with pytest.raises(UnsupportedError, match=r"is no earlier version of default\.t"):
        catalog.rollback("default.t", "try")
