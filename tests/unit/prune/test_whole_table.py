"""A few keys answer COUNT(*), and MIN and MAX of the first partition column, of a whole table.

The answers equal the answers of all files.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from parquetry.errors import TableNotFoundError
from parquetry.metastore import (
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.versions.snapshot import load, load_commit
from parquetry.prune.metadata_aggregates import (
    MAX_SKIPPED_KEYS,
    AggregateCall,
    answer_aggregate,
    answer_whole_table,
)
from parquetry.prune.select import select_files
from parquetry.prune.steps import unread
from parquetry.store.memory import MemoryStore
from parquetry.types import Value
from tests.support.effort import examples
from tests.support.stores.rows_examined import rows_examined

COLUMNS = (TableColumn("v", "integer"), TableColumn("day", "date"), TableColumn("hour", "integer"))
COUNT: AggregateCall = ("count", None)
LEAST: AggregateCall = ("min", "day")
GREATEST: AggregateCall = ("max", "day")
ALL = [LEAST, GREATEST, COUNT]


def make(
    metastore: Metastore, columns: Sequence[TableColumn] = COLUMNS, by: tuple[str, ...] = ("day", "hour"),
    descending: tuple[bool, ...] = (),
) -> TableSnapshot:  # fmt: skip
    metastore.create_database("db")
    made = TableMetadata(tuple(columns), by, "parquet", "/lake/db.db/t", descending=descending)
    return metastore.create_table("db", "t", made)


def fill(table: TableSnapshot, partitions: dict[tuple[Value, ...], int | None]) -> TableSnapshot:
    """Add a file of so many rows to each partition; of 0 rows none."""
    transaction = Transaction(table, "append")
    for values, rows in partitions.items():
        files = [] if rows == 0 else [FileRecord(f"f{table.version}", 10, rows, 1, {})]
        transaction.append(values, files)
    return commit(transaction)


def at(table: TableSnapshot, version: int) -> TableSnapshot:
    """Return a version of a table, as a reader of it would."""
    head = read_head(table.store, table.id)
    assert head is not None
    return load(table.store, table.id, head, load_commit(table.store, table.id, head, version))


def by_files(table: TableSnapshot, aggregates: Sequence[AggregateCall]) -> list[tuple[Value, ...]] | None:
    """Return the answer of all files."""
    return answer_aggregate(table.metadata, select_files(table, [], []), aggregates)


def answer(table: TableSnapshot, aggregates: Sequence[AggregateCall]) -> tuple[Value, ...] | None:
    """Return the answer without the files, after a check that answer and report equal the files' own."""
    found = answer_whole_table(table, aggregates, table="db.t")
    if found is None:
        return None
    rows, report = found
    assert rows == by_files(table, aggregates)
    assert report == unread(select_files(table, [], []).report)
    return rows[0]


# a day, an hour, and rows; rows of None: the partition is dropped
_CHANGE = st.tuples(
    st.sampled_from([None, *range(6)]), st.sampled_from([None, 0, 1]), st.sampled_from([0, 0, 1, 5, None])
)


@settings(max_examples=examples(150))
@given(
    commits=st.lists(st.lists(_CHANGE, min_size=1, max_size=5), max_size=5),
    turned=st.sampled_from([(), (True, False), (False, True), (True, True)]),
    hours=st.booleans(),
)
def test_every_version_is_told_as_its_files_tell_it(
    commits: list[list[tuple[int | None, int | None, int | None]]], turned: tuple[bool, ...], hours: bool
) -> None:
    """Each version of a random history has the answer of its files.

    The histories have empty partitions, NULL, drops and additions, and ascending and descending keys.
    """
    by = ("day", "hour") if hours else ("day",)
    columns = COLUMNS[: 1 + len(by)]
    table = make(Metastore(MemoryStore(), "/lake"), columns, by, turned[: len(by)])
    for each in commits:
        transaction = Transaction(table, "append")
        for values, rows in {(day, hour)[: len(by)]: rows for day, hour, rows in each}.items():
            if rows is not None:
                transaction.append(values, [FileRecord(f"f{table.version}", 10, rows, 1, {})] if rows else [])
            elif table.partition(values) is not None:
                transaction.drop(values)
        table = commit(transaction)
    for version in range(table.version + 1):
        assert answer(at(table, version), ALL) is not None


@pytest.fixture
def metastore(tmp_path: Path) -> Metastore:
    return open_metastore(str(tmp_path), create=True)


def keys_read(monkeypatch: pytest.MonkeyPatch, table: TableSnapshot, *aggregates: AggregateCall) -> int:
    """Return how many keys are read for an answer."""
    answer(table, aggregates)
    with rows_examined(monkeypatch, table.id) as examined:
        assert answer_whole_table(table, aggregates, table="db.t") is not None
    return len(examined)


def test_few_keys_are_read_of_many(metastore: Metastore, monkeypatch: pytest.MonkeyPatch) -> None:
    """In 20,000 partitions, a count reads no key, the minimum reads one key, and the maximum two."""
    hours = {(day, hour): 1 for day in range(1000) for hour in range(20)}
    table = fill(make(metastore), hours)
    assert answer(table, ALL) == (0, 999, 20_000)
    assert keys_read(monkeypatch, table, COUNT) == 0
    assert keys_read(monkeypatch, table, LEAST) == 1
    assert keys_read(monkeypatch, table, GREATEST) == 2
    assert keys_read(monkeypatch, table, *ALL, LEAST) == 3


def test_what_has_no_rows_is_passed_over(metastore: Metastore, monkeypatch: pytest.MonkeyPatch) -> None:
    """No key of a NULL partition is read for an extreme.

    Empty partitions are read at either end, but do not count for the answer.
    """
    table = fill(
        make(metastore),
        {(None, hour): 7 for hour in range(50)}
        | {
            (1, 0): 0,
            (1, 1): 0,
            (2, 0): 0,
            (2, 1): 3,
            (8, 0): 0,
            (8, 1): 4,
            (9, 0): 0,
            (9, 1): 0,
            (10, 3): 0,
        },
    )
    assert answer(table, ALL) == (2, 8, 357)
    assert keys_read(monkeypatch, table, LEAST) == 4
    # of 10, 9 and 8 the last key, and then all of 10, all of 9, and of 8 the first two
    assert keys_read(monkeypatch, table, GREATEST) == 3 + 1 + 2 + 2


def test_no_row_has_no_extremes(metastore: Metastore, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table that is empty, has only empty partitions, or has only NULL, has the extreme NULL.

    The first two need no key.
    """
    table = make(metastore)
    assert answer(table, ALL) == (None, None, 0)
    table = fill(table, {(1, 1): 0})
    assert answer(table, ALL) == (None, None, 0)
    assert keys_read(monkeypatch, table, *ALL) == 0
    assert answer(fill(table, {(None, 1): 5}), ALL) == (None, None, 5)


def test_versions_are_told_as_they_were(metastore: Metastore, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys of later versions and of dropped partitions are skipped with two reads for each day."""
    old = fill(make(metastore), {(day, 0): 1 for day in range(100, 200)})
    new = fill(old, {(day, 0): 2 for day in range(90, 210)})
    transaction = Transaction(new, "drop")
    transaction.drop((209, 0))
    last = commit(transaction)
    assert [answer(each, ALL) for each in (old, new, last)] == [
        (100, 199, 100), (90, 209, 340), (90, 208, 338),
    ]  # fmt: skip
    assert keys_read(monkeypatch, last, GREATEST) < 10
    assert keys_read(monkeypatch, at(last, 1), GREATEST) < 50


def test_keys_of_other_partition_columns_are_passed_over(metastore: Metastore) -> None:
    """A table whose partition columns changed has keys of both kinds.

    Each version is answered by keys of its own kind.
    """
    old = fill(make(metastore), {(None, 1): 2} | {(day, 1): 1 for day in range(5)})
    columns = (TableColumn("v", "integer"), TableColumn("s", "string"), TableColumn("hour", "integer"))
    emptied = Transaction(old, "truncate")
    emptied.replace_where(None)
    other = Transaction(commit(emptied), "replace")
    other.set_metadata(TableMetadata(columns, ("s",), "parquet", "/lake/db.db/t"))
    new = fill(commit(other), {(text,): 1 for text in ("", "\0", "a", "\u00ff", "\uffff")})
    assert answer(new, [("min", "s"), ("max", "s"), COUNT]) == ("", "\uffff", 5)
    assert answer(at(new, old.version), ALL) == (0, 4, 7)


def test_what_is_far_from_the_ends_is_looked_for_everywhere(metastore: Metastore) -> None:
    """There is no answer behind more empty partitions than the limit; the other end has its answer."""
    table = fill(make(metastore), {(0, 0): 1} | {(day, 0): 0 for day in range(1, MAX_SKIPPED_KEYS + 5)})
    assert answer(table, [LEAST, COUNT]) == (0, 1)
    assert answer(table, [GREATEST]) is None
    assert by_files(table, [GREATEST]) == [(0,)]


@pytest.mark.parametrize(
    "aggregates",
    [[("min", "hour")], [("max", "v")], [("count", "day")], [("sum", "day")], [COUNT, ("max", "hour")], []],
)  # fmt: skip
def test_other_questions_are_left_to_the_files(metastore: Metastore, aggregates: list[AggregateCall]) -> None:
    """Other columns and functions have no answer, alone or beside supported ones."""
    assert answer(fill(make(metastore), {(1, 1): 1}), aggregates) is None


def test_unknown_numbers_of_rows_are_left_to_the_files(metastore: Metastore) -> None:
    """A file with an unknown number of rows prevents each answer, until its partition is dropped."""
    table = fill(make(metastore), {(1, 1): 3, (2, 2): None})
    assert [answer(table, [each]) for each in ALL] == [None, None, None]
    transaction = Transaction(table, "drop")
    transaction.drop((2, 2))
    assert answer(commit(transaction), ALL) == (1, 1, 3)


@pytest.mark.parametrize("kind", ["double", "float", "char(3)"])
def test_types_whose_extremes_are_not_told(metastore: Metastore, kind: str) -> None:
    """A partition column of floating point or char is computed, as before."""
    columns = (TableColumn("v", "integer"), TableColumn("p", kind))
    values = ("a", "b") if kind == "char(3)" else (1.0, 2.0)
    table = fill(make(metastore, columns, ("p",)), {(value,): 1 for value in values})
    assert answer(table, [COUNT]) == (2,)
    assert answer(table, [("min", "p")]) is None


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("string", ["", "a", "a\0", "ab", "\uffff", "\U0001f600"]),
        ("timestamp", [-5, 0, 1_700_000_000_000_000]),
        ("boolean", [False, True]),
        ("binary", [b"", b"\x00", b"\xff"]),
    ],
)
def test_types_are_ordered_as_in_files(metastore: Metastore, kind: str, values: list[Value]) -> None:
    """The first and last keys have the minimum and maximum value, in any spelling of the column."""
    table = make(metastore, (TableColumn("v", "integer"), TableColumn("P", kind)), ("P",))
    table = fill(table, {(value,): 1 for value in values[1:-1]} | {(values[0],): 2, (values[-1],): 2})
    assert answer(table, [("min", "p"), ("max", "P")]) == (values[0], values[-1])


def test_a_table_without_partition_columns_is_counted(metastore: Metastore) -> None:
    """By the totals; and with the report of its files alone."""
    table = make(metastore, COLUMNS[:1], ())
    assert answer(table, [COUNT]) == (0,)
    assert answer(fill(table, {(): 5}), [COUNT]) == (5,)


def test_a_version_that_was_vacuumed_is_not_told_of(metastore: Metastore) -> None:
    """Rows that tell of an end may have been deleted meanwhile, as of a table that was dropped."""
    table = fill(make(metastore), {(day, 0): 1 for day in range(3)})
    metastore.drop_table("db", "t")
    with pytest.raises(TableNotFoundError):
        answer_whole_table(table, [GREATEST], table="db.t")
