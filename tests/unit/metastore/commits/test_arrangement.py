"""A commit gives each partition its arrangement, and refuses files of another arrangement."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from parquetry.catalog import Arrangement as Shown, Buckets, Catalog, Skew
from parquetry.data_files.records import PHYSICAL_NAME
from parquetry.definition.changes import RenameColumn
from parquetry.definition.drop_columns import require_droppable
from parquetry.definition.schema_changes import change_columns
from parquetry.errors import ArrangementError, CommitConflictError, SkewError, UnsupportedError
from parquetry.metastore import (
    PLAIN,
    ArrangementSpec,
    AutoSkew,
    BucketSpec,
    ColumnStatistics,
    FileRecord,
    Metastore,
    SkewMap,
    SortColumn,
    TableColumn,
    TableSnapshot,
    Totals,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.manifest import entries
from parquetry.metastore.transactions.transaction import Transaction
from parquetry.store import MemoryStore
from tests.support.stores.metastores import file, leftovers, metadata, whole_day

FOUR = ArrangementSpec(buckets=BucketSpec(("x",), 4))
EIGHT = ArrangementSpec(buckets=BucketSpec(("x",), 8))
SKEWED = ArrangementSpec(SkewMap(("x",), ((10,), (20,)), directories=True))
KEY = (1, "a")
INTEGER = (TableColumn("x", "integer"), TableColumn("d", "integer"), TableColumn("s", "string"))


def new_table(arrangement: ArrangementSpec = FOUR, **changes: Any) -> TableSnapshot:
    """Return a table with one partition of one plain file."""
    table = Metastore(MemoryStore(), "/lake").create_table(
        "default", "t", metadata(arrangement=arrangement, **changes)
    )
    transaction = Transaction(table, "append")
    transaction.append(KEY, [file("a")])
    return commit(transaction)


def altered(table: TableSnapshot, arrangement: ArrangementSpec) -> TableSnapshot:
    transaction = Transaction(table, "alter")
    transaction.set_metadata(msgspec.structs.replace(table.metadata, arrangement=arrangement))
    return commit(transaction)


def own(table: TableSnapshot, key: tuple[int, str] = KEY) -> ArrangementSpec:
    part = table.partition(key)
    assert part is not None
    return part.arrangement


def test_a_partition_keeps_its_own() -> None:
    """The table's arrangement applies to partitions that are made later.

    Existing partitions keep their own.
    """
    table = altered(new_table(), EIGHT)
    assert own(table) == FOUR
    transaction = Transaction(table, "append")
    transaction.append(KEY, [FileRecord("b", 1, bucket=3)])
    transaction.append((2, "b"), [FileRecord("c", 1, bucket=7)])
    transaction.add((3, "c"))
    transaction.add((4, "d"), arrangement=SKEWED)
    transaction.replace((5, "e"), [file("e")])
    table = commit(transaction)
    found = {part.values: part.arrangement for part in table.partitions()}
    assert found == {KEY: FOUR, (2, "b"): EIGHT, (3, "c"): EIGHT, (4, "d"): SKEWED, (5, "e"): EIGHT}


def test_what_is_made_anew_gets_the_tables() -> None:
    """A partition that a commit drops and fills again is new, and gets the table's arrangement.

    A partition whose files are replaced keeps its own.
    """
    table = altered(new_table(), EIGHT)
    for change, expected in (
        (lambda t: t.replace(KEY, [file("b")]), FOUR),
        (lambda t: t.replace(KEY, [file("b")], arrangement=SKEWED), SKEWED),
        (lambda t: (t.replace_where(None), t.append(KEY, [file("b")])), EIGHT),
        (
            lambda t: (t.replace_where(whole_day(t.base, 1)), t.append(KEY, [file("b")], arrangement=PLAIN)),
            PLAIN,
        ),
        (lambda t: (t.drop(KEY), t.append(KEY, [file("b")])), EIGHT),
        (lambda t: (t.drop(KEY), t.add(KEY)), EIGHT),
        (lambda t: (t.drop(KEY), t.replace(KEY, [file("b")])), EIGHT),
    ):
        transaction = Transaction(table, "change")
        change(transaction)
        assert own(commit(transaction)) == expected
        table = table.refresh()
        transaction = Transaction(table, "back")
        transaction.replace(KEY, [file("a")], arrangement=FOUR)
        table = commit(transaction)


def test_a_transaction_that_sets_it_makes_partitions_so() -> None:
    """Metadata and new partitions of one commit go together."""
    table = new_table(PLAIN)
    transaction = Transaction(table, "change")
    transaction.append((2, "b"), [FileRecord("c", 1, bucket=3)])
    transaction.set_metadata(msgspec.structs.replace(table.metadata, arrangement=FOUR))
    assert own(commit(transaction), (2, "b")) == FOUR


def test_files_are_of_their_partitions_cells_and_buckets() -> None:
    """A file of an unknown bucket or cell, or of another arrangement than its partition, is refused.

    The commit writes no row.
    """
    table = altered(new_table(), EIGHT)
    rows = list(table.store.scan(b"", None))
    for key, files, arrangement, says in (
        (KEY, [FileRecord("b", 1, bucket=4)], None, "of bucket 4, and there are 4 buckets"),
        ((2, "b"), [FileRecord("b", 1, bucket=8)], None, "of bucket 8"),
        (KEY, [FileRecord("b", 1, cell=0)], None, "there are no cells"),
        (KEY, [FileRecord("b", 1, bucket=0)], EIGHT, r"d=1/s=a of table default\.t has another arrangement"),
        (
            (2, "b"),
            [],
            ArrangementSpec(buckets=BucketSpec(("d",), 8)),
            "'d' is not the physical name .* are: x",
        ),
    ):
        transaction = Transaction(table, "append")
        transaction.append(key, files, arrangement=arrangement)
        with pytest.raises(ArrangementError, match=says):
            commit(transaction)
    assert list(table.store.scan(b"", None)) == rows


def test_columns_that_are_not_in_the_files() -> None:
    """Rows are arranged by columns in the files, by their physical names; partition columns are in none."""
    columns = (
        TableColumn("now", "long", metadata={PHYSICAL_NAME: "x"}),
        TableColumn("d", "integer"),
        TableColumn("s", "string"),
    )
    table = new_table(FOUR, columns=columns)
    for name in ("now", "d", "X", "none"):
        wrong = ArrangementSpec(sort=(SortColumn(name),))
        with pytest.raises(ArrangementError, match=f"'{name}' is not the physical name of a column .*: x"):
            altered(table, wrong)
        with pytest.raises(ArrangementError, match=f"'{name}'"):
            new_table(wrong, columns=columns)


def test_two_arrangements_in_one_commit() -> None:
    """One transaction gives a partition one arrangement."""
    transaction = Transaction(new_table(), "append")
    transaction.append((2, "b"), [], arrangement=EIGHT)
    transaction.append((2, "b"), [], arrangement=EIGHT)
    with pytest.raises(UnsupportedError, match="two locations or arrangements"):
        transaction.append((2, "b"), [], arrangement=SKEWED)


ARRANGED = FileRecord("mine", 1, bucket=3)


@pytest.mark.parametrize(
    ("theirs", "mine", "conflict"),
    [
        (FOUR, ARRANGED, False),
        (EIGHT, ARRANGED, True),
        (PLAIN, ARRANGED, True),
        (EIGHT, file("mine"), False),
        (PLAIN, file("mine"), False),
    ],
)
@pytest.mark.parametrize("key", [KEY, (2, "b")])
def test_appends_meet_a_partition_that_was_made_meanwhile(
    key: tuple[int, str], theirs: ArrangementSpec, mine: FileRecord, conflict: bool
) -> None:
    """A file with a bucket is appended only to a partition with the same buckets.

    A file without a bucket is appended to any partition.
    """
    table = new_table()
    transaction = Transaction(table, "append")
    transaction.append(key, [mine])
    other = Transaction(table, "overwrite")
    other.replace(key, [file("theirs")], arrangement=theirs)
    commit(other)
    if conflict:
        with pytest.raises(
            CommitConflictError, match=rf"partition d={key[0]}/s={key[1]} was changed by version 2"
        ):
            commit(transaction)
        assert own(table.refresh(), key) == theirs
    else:
        after = commit(transaction)
        part = after.partition(key)
        assert part is not None
        assert (part.arrangement, part.files) == (theirs, (file("theirs"), mine))
    assert leftovers(table.store, table.id) == []


def rows_of(path: str, least: int, greatest: int, **known: int | None) -> FileRecord:
    """Return a file of the values of x from one to another."""
    columns = {"x": ColumnStatistics(nulls=0, min=least, max=greatest)}
    return FileRecord(path, 1, 9, columns=columns, **known)


def with_map(*cells: int) -> ArrangementSpec:
    return ArrangementSpec(SkewMap(("x",), tuple((cell,) for cell in cells), directories=True))


@pytest.mark.parametrize("inline", [10, 1 << 14])
def test_maps_of_partitions_grow(monkeypatch: pytest.MonkeyPatch, inline: int) -> None:
    """Two writers add a value each to a map of one value, a third adds none, and a fourth finds it full.

    No file of the rest claims more than it proves.
    """
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", inline)
    auto = ArrangementSpec(SkewMap(("x",), (), directories=True, auto=AutoSkew(0.05, 3)))
    table = new_table(auto, columns=INTEGER)
    transaction = Transaction(table, "append")
    first = [rows_of("ten", 10, 10, cell=0), rows_of("wide", 1, 99, cell=-1), rows_of("low", 1, 15, cell=-1)]
    transaction.grow((2, "b"), first, with_map(10))
    table = commit(transaction)
    assert own(table, (2, "b")) == with_map(10)
    writers = [Transaction(table, "append") for _ in range(4)]
    for writer, value, rest in zip(
        writers, (20, 30, None, 40), ((4, 25), (21, 40), (11, 60), (1, 5)), strict=True
    ):
        files = [rows_of(f"{value} rest", *rest, cell=-1), rows_of(f"{value} ten", 10, 10, cell=0)]
        if value is not None:
            files.append(rows_of(f"{value}", value, value, cell=1))
        writer.grow((2, "b"), files, with_map(*(10, value)[: 2 if value else 1]))
    for writer in writers:
        commit(writer)
    table = table.refresh()
    assert own(table, (2, "b")) == with_map(10, 20, 30)
    part = table.partition((2, "b"))
    assert part is not None
    assert {file.path: file.cell_number for file in part.files} == {
        "ten": 0,
        "wide": -3,
        "low": -1,  # up to 15: has none of the others
        "20 rest": -1,  # up to 25: none of 30
        "20 ten": 0,
        "20": 1,
        "30 rest": -1,  # from 21 on: none of 20
        "30 ten": 0,
        "30": 2,
        "None rest": -3,
        "None ten": 0,
        "40 rest": -1,
        "40 ten": 0,
        "40": -1,  # three are the most
    }
    assert leftovers(table.store, table.id) == []


def test_maps_do_not_grow_by_other_columns() -> None:
    """A partition that others made anew by other columns, or in buckets, refuses files of its old map."""
    table = new_table(SKEWED, columns=(*INTEGER, TableColumn("y", "integer")))
    for theirs in (
        FOUR,
        ArrangementSpec(SkewMap(("y",), ((1,),), True)),
        PLAIN,
        msgspec.structs.replace(SKEWED, buckets=FOUR.buckets),
    ):
        transaction = Transaction(table, "append")
        transaction.grow(KEY, [FileRecord("mine", 1, cell=0)], SKEWED)
        other = Transaction(table, "overwrite")
        other.replace(KEY, [file("theirs")], arrangement=theirs)
        table = commit(other)
        with pytest.raises(CommitConflictError, match="was changed by version"):
            commit(transaction)
        other = Transaction(table, "overwrite")
        other.replace(KEY, [file("a")], arrangement=SKEWED)
        table = commit(other)
    transaction = Transaction(table, "append")
    transaction.grow(KEY, [FileRecord("mine", 1, bucket=0)], FOUR)
    with pytest.raises(ArrangementError, match="has another arrangement"):
        commit(transaction)
    with pytest.raises(UnsupportedError, match="changed in another way"):
        transaction.grow(KEY, [], SKEWED)


def widening(table: TableSnapshot) -> Transaction:
    """Return a transaction that widens the bucket column; the table no longer has buckets."""
    transaction = Transaction(table, "alter")
    columns = (TableColumn("x", "long"), *INTEGER[1:])
    transaction.set_metadata(msgspec.structs.replace(table.metadata, columns=columns, arrangement=PLAIN))
    return transaction


@pytest.mark.parametrize("key", [KEY, (2, "b")])
def test_a_type_changes_while_files_are_written_into_buckets(key: tuple[int, str]) -> None:
    """The second of the two commits fails, because values of the new type have other buckets."""
    table = altered(new_table(PLAIN, columns=INTEGER), FOUR)
    write = Transaction(table, "overwrite")
    write.replace(key, [ARRANGED], arrangement=FOUR)
    commit(widening(altered(table, PLAIN)))
    with pytest.raises(
        CommitConflictError, match="the type of a column that rows are arranged by was changed"
    ):
        commit(write)

    table = altered(new_table(PLAIN, columns=INTEGER), FOUR)
    widened = widening(table)
    write = Transaction(table, "overwrite")
    write.replace(key, [ARRANGED], arrangement=FOUR)
    commit(write)
    with pytest.raises(CommitConflictError, match="how its partitions are arranged was changed"):
        commit(widened)


def test_a_type_changes_while_plain_files_are_written() -> None:
    """Plain files are found with either type, so the two commits do not conflict."""
    table = new_table(PLAIN, columns=INTEGER)
    write, widened = Transaction(table, "append"), widening(table)
    write.append((2, "b"), [file("mine")])
    commit(widened)
    assert commit(write).metadata.columns[0].type == "long"


def test_an_append_makes_anew_what_others_dropped() -> None:
    """The partition is made as the files were written for."""
    table = altered(new_table(), EIGHT)
    transaction = Transaction(table, "append")
    transaction.append(KEY, [ARRANGED])
    other = Transaction(table, "drop")
    other.drop(KEY)
    commit(other)
    assert own(commit(transaction)) == FOUR


def test_totals_say_whether_all_are_alike() -> None:
    """Whether all partitions are arranged in one way is known from the head, after any changes."""
    table = new_table()
    assert table.totals.all_arranged(FOUR)
    assert not table.totals.all_arranged(EIGHT)
    assert not table.totals.all_arranged(PLAIN)
    transaction = Transaction(altered(table, EIGHT), "append")
    transaction.append((2, "b"), [file("b")])
    transaction.append((3, "c"), [file("c")], arrangement=PLAIN)
    table = commit(transaction)
    assert not any(table.totals.all_arranged(each) for each in (FOUR, EIGHT, PLAIN))
    transaction = Transaction(table, "drop")
    transaction.drop(KEY)
    transaction.drop((3, "c"))
    table = commit(transaction)
    assert table.totals.all_arranged(EIGHT)
    transaction = Transaction(table, "rename")
    transaction.rename((2, "b"), (4, "d"))
    assert commit(transaction).totals.all_arranged(EIGHT)
    plain = new_table(PLAIN)
    assert plain.totals.all_arranged(PLAIN)
    assert (plain.totals.arrangements, Totals(3, 3, 3, 3, 0).all_arranged(PLAIN)) == (0, True)


def test_columns_renamed_and_dropped() -> None:
    """A renamed column stays in what partitions record, under its physical name, and cannot be dropped."""
    table = new_table(ArrangementSpec(SKEWED.skew, sort=(SortColumn("x", descending=True),)))
    before = own(table)
    change = RenameColumn(["x"], "weight")
    transaction = Transaction(table, "alter")
    transaction.set_metadata(
        msgspec.structs.replace(table.metadata, columns=change_columns(table.metadata, change))
    )
    table = commit(transaction)
    assert table.metadata.arrangement == own(table) == before
    shown = Catalog(Metastore(table.store, "/lake")).table("t").arrangement
    assert shown == Shown(Skew(("weight",), ((10,), (20,)), True, ()), None, ("weight DESC",))
    with pytest.raises(SkewError, match="weight is a skewed column"):
        require_droppable(table, table.metadata, ["weight"])
    plain = msgspec.structs.replace(table.metadata, arrangement=PLAIN)
    with pytest.raises(
        SkewError, match=r"Column weight cannot be dropped, .*INSERT OVERWRITE; d=1/s=a is one"
    ):
        require_droppable(table, plain, ["weight"])


def test_what_users_see() -> None:
    """Table, partitions and files show how rows are arranged; of plain ones there is nothing to show."""
    table = new_table()
    transaction = Transaction(table, "append")
    transaction.append(KEY, [FileRecord("b", 1, bucket=3)])
    transaction.add(
        (2, "b"), arrangement=SKEWED, files=[FileRecord("c", 1, cell=1), FileRecord("d", 1, cell=-1)]
    )
    transaction.add((3, "c"), arrangement=PLAIN)
    commit(transaction)
    catalog = Catalog(Metastore(table.store, "/lake"))
    buckets = Shown(None, Buckets(("x",), 4, 2, ()), ())
    assert catalog.table("t").arrangement == buckets
    assert [part.arrangement for part in catalog.partitions("t")] == [
        buckets,
        Shown(Skew(("x",), ((10,), (20,)), True, ()), None, ()),
        None,
    ]
    assert [
        (each.path.rpartition("/")[2], each.cell, each.bucket, each.sorted) for each in catalog.files("t")
    ] == [
        ("a", None, None, False),
        ("b", None, 3, False),
        ("c", 1, None, False),
        ("d", -1, None, False),
    ]
