"""The changes of a commit have their effect on partitions, files and locations, or are refused."""

from __future__ import annotations

import pytest

from parquetry.errors import (
    CommitConflictError,
    PartitionExistsError,
    PartitionNotFoundError,
    TableNotFoundError,
    UnsupportedError,
    ValueTypeError,
)
from parquetry.metastore import Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.manifest import entries
from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.reading.parse import parse_filter
from parquetry.scan.generate import plan_scan
from parquetry.scan.plan import ScanPlan
from parquetry.store import MemoryStore
from tests.support.stores.commits import Change
from tests.support.stores.metastores import FaultyStore, content, file, metadata, new_table, whole_day


def test_appends_add_up() -> None:
    """Several appends of one commit to a partition follow its existing files, in order."""
    _, table = new_table()
    transaction = Transaction(table, "append")
    transaction.append((1, "a"), [file("one")])
    transaction.append((1, "a"), [file("two"), file("three")])
    after = commit(transaction)
    assert content(after)[1, "a"] == ["a", "one", "two", "three"]
    part = after.partition((1, "a"))
    assert part is not None
    assert (part.rows, part.bytes, part.file_count) == (40, 400, 4)


def test_rows_are_unknown_as_long_as_one_file_does_not_know() -> None:
    """The number of rows is None while some file's is not known, and comes back when the file goes."""
    _, table = new_table()
    transaction = Transaction(table, "append")
    transaction.append((1, "a"), [file("unknown", rows=None)])
    after = commit(transaction)
    assert after.totals.rows is None
    assert content(after)
    transaction = Transaction(after, "overwrite")
    transaction.replace((1, "a"), [file("known", rows=5)])
    assert commit(transaction).totals.rows == 15


def test_locations() -> None:
    """Files are in the location that their writer gave, which may be the default or the partition's own."""
    _, table = new_table()
    transaction = Transaction(table, "add")
    transaction.add((5, "e/f"), location="/elsewhere/5/")
    transaction.append((6, None), [file("six")])
    transaction.append((1, "a"), [file("far")], location="/far")
    transaction.append((2, "b"), [file("near")], location="/lake/t/d=2/s=b/")
    table = commit(transaction)
    places = {part.values: part.location for part in table.partitions()}
    assert places == {
        (1, "a"): "/lake/t/d=1/s=a",
        (2, "b"): "/lake/t/d=2/s=b",
        (5, "e/f"): "/elsewhere/5",
        (6, None): "/lake/t/d=6/s=__HIVE_DEFAULT_PARTITION__",
    }
    assert content(table)[1, "a"] == ["a", "/far/far"]
    assert content(table)[2, "b"] == ["b", "near"]
    transaction = Transaction(table, "append")
    transaction.append((5, "e/f"), [file("g")])
    transaction.replace((2, "b"), [file("h")], location="/moved")
    table = commit(transaction)
    part = table.partition((5, "e/f"))
    assert part is not None
    assert (part.location, [each.path for each in part.files]) == ("/elsewhere/5", ["g"])
    moved = table.partition((2, "b"))
    assert moved is not None
    assert (moved.location, content(table)[2, "b"]) == ("/moved", ["h"])


def test_append_keeps_its_place_when_the_partition_moves() -> None:
    """Files written to the default place are found there, though the partition went elsewhere meanwhile."""
    _, table = new_table()
    late = Transaction(table, "append")
    late.append((1, "a"), [file("late"), file("s3a://bucket/absolute")])
    late.append((8, "n"), [file("late")])
    early = Transaction(table, "move")
    early.replace((1, "a"), [file("a")], location="/moved")
    early.add((8, "n"), location="/other", files=[file("n")])
    commit(early)
    found = content(commit(late))
    assert found[1, "a"] == ["a", "/lake/t/d=1/s=a/late", "s3a://bucket/absolute"]
    assert found[8, "n"] == ["n", "/lake/t/d=8/s=n/late"]


def test_rename_keeps_files_in_place() -> None:
    """A partition with other values has the same files, where they are."""
    _, table = new_table()
    transaction = Transaction(table, "rename")
    transaction.rename((1, "a"), (3, "x"))
    table = commit(transaction)
    assert content(table) == {(2, "b"): ["b"], (3, "x"): ["a"]}
    part = table.partition((3, "x"))
    assert part is not None
    assert part.location == "/lake/t/d=1/s=a"
    transaction = Transaction(table, "back")
    transaction.rename((3, "x"), (1, "a"))
    back = commit(transaction).partition((1, "a"))
    assert back is not None
    assert (back.location, back.entry.location) == ("/lake/t/d=1/s=a", None)


def test_replace_where() -> None:
    """A scope is emptied but for what the same commit writes into it, and parts outside are left alone."""
    _, table = new_table()
    transaction = Transaction(table, "overwrite")
    transaction.append((1, "c"), [file("c")])
    table = commit(transaction)
    transaction = Transaction(table, "overwrite")
    transaction.replace_where(whole_day(table, 1))
    transaction.append((1, "a"), [file("fresh")])
    transaction.append((1, "new"), [file("new")])
    table = commit(transaction)
    assert content(table) == {(1, "a"): ["fresh"], (1, "new"): ["new"], (2, "b"): ["b"]}
    transaction = Transaction(table, "truncate")
    transaction.replace_where(None)
    assert content(commit(transaction)) == {}


@pytest.mark.parametrize("what", ["append", "append beside", "drop"])
def test_scopes_conflict_with_what_happens_in_them(what: str) -> None:
    """A partition that others add, change or drop in a scope is a conflict that names it."""
    _, table = new_table()
    scoped = Transaction(table, "overwrite")
    scoped.replace_where(whole_day(table, 1))
    early = Transaction(table, "early")
    if what == "append":
        early.append((1, "a"), [file("x")])
    elif what == "append beside":
        early.append((1, "beside"), [file("x")])
    else:
        early.drop((1, "a"))
    after = commit(early)
    name = "d=1/s=beside" if what == "append beside" else "d=1/s=a"
    with pytest.raises(CommitConflictError, match=name) as error:
        commit(scoped)
    assert "version 2" in error.value.message
    assert "version 1" in error.value.message
    assert content(after.refresh()) == content(after)


def test_what_was_read_must_be_as_it_was() -> None:
    """A commit fails if a partition that it read has changed, even if it read a version before its base.

    Other partitions, and operations that count as harmless, do not conflict.
    """
    _, before = new_table()
    between = Transaction(before, "elsewhere")
    between.append((2, "b"), [file("b2")])
    table = commit(between)

    def append(version: TableSnapshot, plan: ScanPlan | None, harmless: frozenset[str] = frozenset()) -> int:
        transaction = Transaction(table, "append")
        transaction.append((3, "c"), [file(f"c{version.version}")])
        transaction.requirements.rely_on(version, plan, harmless)
        return commit(transaction).version

    assert append(before, whole_day(before, 1)) == 3
    assert append(before, None, frozenset({"elsewhere", "append"})) == 4
    assert append(table, whole_day(table, 2)) == 5
    with pytest.raises(
        CommitConflictError, match=r"d=2/s=b, which was read for it, was changed by version 2"
    ):
        append(before, whole_day(before, 2))
    with pytest.raises(
        CommitConflictError, match=r"d=3/s=c, which was read for it, was changed by version 5"
    ):
        append(table, None, frozenset({"elsewhere"}))
    assert table.refresh().version == 5


def test_several_changes_of_one_partition() -> None:
    """Within a commit a partition may be dropped and made again, or made and dropped."""
    _, table = new_table()
    transaction = Transaction(table, "change")
    transaction.drop((1, "a"))
    transaction.append((1, "a"), [file("again")])
    transaction.drop((2, "b"))
    transaction.add((2, "b"), files=[file("b2")])
    transaction.add((3, "c"))
    transaction.drop((3, "c"))
    transaction.replace((4, "d"), [file("d")])
    transaction.append((4, "d"), [file("d2")])
    assert content(commit(transaction)) == {(1, "a"): ["again"], (2, "b"): ["b2"], (4, "d"): ["d", "d2"]}


def test_wrong_input_writes_nothing() -> None:
    """An impossible change is refused before any write, and the error names its object."""
    store = FaultyStore(MemoryStore())
    _, table = new_table(store)
    before = store.writes

    def refused(error: type[Exception], match: str, change: Change) -> None:
        transaction = Transaction(table, "wrong")
        transaction.append((1, "a"), [file("x")])
        with pytest.raises(error, match=match):
            (change(transaction), commit(transaction))

    refused(PartitionNotFoundError, "d=7/s=n", lambda transaction: transaction.drop((7, "n")))
    refused(PartitionNotFoundError, "d=7/s=n", lambda transaction: transaction.rename((7, "n"), (8, "n")))
    refused(PartitionExistsError, "d=2/s=b", lambda transaction: transaction.add((2, "b")))
    refused(PartitionExistsError, "d=1/s=a", lambda transaction: transaction.add((1, "a")))
    refused(UnsupportedError, "make two", lambda transaction: transaction.rename((1, "a"), (3, "c")))
    refused(ValueTypeError, "2 partition columns", lambda transaction: transaction.drop((1,)))
    refused(ValueTypeError, "x", lambda transaction: transaction.drop(("x", "a")))
    refused(
        UnsupportedError,
        "partition columns",
        lambda transaction: transaction.set_metadata(metadata(partition_by=("s",))),
    )
    assert store.writes == before
    done = Transaction(table, "append")
    done.append((1, "a"), [])
    commit(done)
    with pytest.raises(UnsupportedError, match="begin another"):
        commit(done)


def test_nothing_to_do_makes_no_version() -> None:
    """A transaction without changes returns its base."""
    _, table = new_table()
    assert commit(Transaction(table, "nothing")).version == table.version
    same = Transaction(table, "same")
    same.set_metadata(metadata())
    assert commit(same).version == table.version


def test_long_lists_of_files_are_not_rewritten(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files beyond a row's size go to chunks, which later versions share; their order and number stay."""
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", 300)
    monkeypatch.setattr(entries, "MAX_CHUNK_BYTES", 200)
    metastore, table = new_table()
    wanted = ["a"]
    for n in range(40):
        transaction = Transaction(table, "append")
        names = [f"file-{n}-{m}" for m in range(n % 7)]
        wanted += names
        transaction.append((1, "a"), [file(name) for name in names])
        table = commit(transaction)
        part = table.partition((1, "a"))
        assert part is not None
        assert [each.path for each in part.files] == wanted
    assert part.file_count == len(wanted)
    assert len(part.entry.chunks) > 3
    transaction = Transaction(table, "rename")
    transaction.rename((1, "a"), (5, "moved"))
    table = commit(transaction)
    assert content(table)[5, "moved"] == wanted
    old = metastore.table("default", "t", version=30)
    assert content(old)[1, "a"] == wanted[: len(content(old)[1, "a"])]


def test_unpartitioned_tables() -> None:
    """A table without partition columns has one partition, at the table's location."""
    metastore = Metastore(MemoryStore(), "/lake")
    table = metastore.create_table("default", "u", metadata(partition_by=()))
    assert content(table) == {}
    for n in range(3):
        transaction = Transaction(table, "append")
        transaction.append((), [file(f"f{n}")])
        table = commit(transaction)
    assert content(table) == {(): ["f0", "f1", "f2"]}
    part = table.partition(())
    assert part is not None
    assert part.location == "/lake/t"
    transaction = Transaction(table, "overwrite")
    transaction.replace_where(None)
    transaction.append((), [file("new")])
    assert content(commit(transaction)) == {(): ["new"]}


def test_dropped_tables_refuse_commits() -> None:
    """A commit to a table that was dropped meanwhile fails with an error that says so."""
    metastore, table = new_table()
    transaction = Transaction(table, "append")
    transaction.append((1, "a"), [file("x")])
    metastore.drop_table("default", "t")
    with pytest.raises(TableNotFoundError, match="dropped"):
        commit(transaction)
    with pytest.raises(TableNotFoundError, match="dropped"):
        list(table.partitions())
    with pytest.raises(TableNotFoundError, match="dropped"):
        table.partition((1, "a"))


@pytest.mark.parametrize(
    "text",
    [
        "d = 3",
        "d > 5 AND s LIKE '%b'",
        "s = 'a'",
        "d IN (1, 4, 7) AND s IN ('a', 'c')",
        "d = 1 OR s = 'b'",
        "d = 99",
    ],
)
def test_plans_select_partitions(text: str) -> None:
    """A plan finds the partitions that fulfil its filter, residuals included, in the order of the keys."""
    _, table = new_table()
    transaction = Transaction(table, "fill")
    transaction.replace_where(None)
    rows = [(d, s) for d in range(10) for s in ("a", "ab", "b", "c")]
    for values in rows:
        transaction.append(values, [file("f")])
    table = commit(transaction)
    condition = parse_filter(text, table.key_schema.types)
    found = [part.values for part in table.partitions(plan_scan(condition, table.key_schema))]
    assert found == [
        values for values in rows if evaluate(condition.node, dict(zip("ds", values, strict=True)))
    ]
