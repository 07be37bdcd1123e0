"""An estimate from the table's totals equals the selection, and is None if the totals cannot give it."""

from __future__ import annotations

import pytest

from parquetry.joins.runtime.cost_model import LIMITS
from parquetry.joins.runtime.totals import estimate_from_totals
from parquetry.layout.arrangement import ArrangementSpec
from parquetry.layout.bucket_spec import BucketSpec
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
)
from parquetry.metastore.commits.committer import commit
from parquetry.predicate.nodes import And, Compare, IsNull, Not, Or, Predicate
from parquetry.prune.condition import Condition
from parquetry.prune.select import select_files
from parquetry.store.memory import MemoryStore
from parquetry.types import parse_type
from tests.support.planning.filters import make_filter

INT = parse_type("int")
COLUMNS = (
    TableColumn("v", "integer"),
    TableColumn("w", "integer"),
    TableColumn("p", "integer"),
    TableColumn("q", "integer"),
)


def file(name: str, size: int = 1000, part: int = 100, rows: int | None = 10) -> FileRecord:
    """Return a file whose column v takes some of its bytes."""
    columns = {"v": ColumnStatistics(part, 0, 1, 2), "w": ColumnStatistics(size - part, 0, 1, 2)}
    return FileRecord(name, size, rows, 1, columns)


def table(
    count: int = 150, nulls: int = 2, last: int = 100, arrangement: ArrangementSpec | None = None
) -> TableSnapshot:
    """Return a table of partitions (p, q) of two files each, some with NULL as p."""
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    made = TableMetadata(COLUMNS, ("p", "q"), "parquet", "/lake/db.db/t")
    if arrangement is not None:
        made = TableMetadata(COLUMNS, ("p", "q"), "parquet", "/lake/db.db/t", arrangement=arrangement)
    transaction = Transaction(metastore.create_table("db", "t", made), "append")
    for i in range(count):
        size = last if i == count - 1 else 100
        transaction.append(
            (None if i < nulls else i, i % 7), [file(f"a{i}", part=size), file(f"b{i}", part=size)]
        )
    return commit(transaction)


def asked(*nodes: Predicate) -> list[Condition]:
    return [Condition.from_filter(make_filter(node)) for node in nodes]


def not_null(name: str) -> Predicate:
    return Not(IsNull(name))


@pytest.mark.parametrize("nodes", [(), (not_null("p"),), (not_null("v"),), (not_null("p"), not_null("w"))])
@pytest.mark.parametrize("read", [("v", "w", "p", "q"), ("v",), ("p",)])
def test_totals_tell_what_selection_finds(nodes: tuple[Predicate, ...], read: tuple[str, ...]) -> None:
    """Where files are alike even the bytes of some columns are the same."""
    snapshot = table()
    found = estimate_from_totals(snapshot, asked(*nodes), read, table="db.t")
    assert found is not None
    selection = select_files(snapshot, asked(*nodes), read, about=())
    assert (found.files, found.bytes) == (selection.block.count, selection.bytes)
    assert found.rows == int(selection.block.files.rows.sum())
    assert [(s.name, s.kept, s.of) for s in found.report.steps] == [
        (s.name, s.kept, s.of) for s in selection.report.steps
    ]
    assert found.report.steps[0].by == selection.report.steps[0].by


def test_the_larger_share_counts() -> None:
    """A column with larger data in the last partitions counts as that large everywhere.

    A column that was added late is such a column.
    """
    found = estimate_from_totals(table(last=900), [], ["v"], table="db.t")
    assert found is not None
    assert found.bytes == 150 * 2 * 900


@pytest.mark.parametrize(
    "node",
    [
        Compare("=", "p", 3, INT),
        Compare(">", "v", 3, INT),  # prunes all files that are sampled
        Or((Compare("=", "v", 1, INT), Compare("=", "p", 3, INT))),
        IsNull("p"),
        And((not_null("p"), Compare("=", "q", 3, INT))),
        not_null("q"),  # the keys do not begin with it
    ],
    ids=str,
)
def test_other_conditions_need_a_look(node: Predicate) -> None:
    """A scan that the totals cannot estimate exactly needs a listing."""
    assert estimate_from_totals(table(), asked(node), ["v"], table="db.t") is None


def test_conditions_that_leave_all_at_both_ends() -> None:
    """They are taken to leave all: the files are counted as about so many."""
    found = estimate_from_totals(table(), asked(Compare("<", "v", 3, INT)), ["v"], table="db.t")
    assert found is not None
    assert [(step.name, step.kept, step.about) for step in found.report.steps] == [
        ("partitions", 150, False),
        ("files", 300, True),
        ("bytes", 30_000, True),
    ]
    last = table()
    transaction = Transaction(last, "append")
    transaction.append((900, 1), [FileRecord("other", 10, 1, 1, {"v": ColumnStatistics(5, 0, 7, 9)})])
    assert (
        estimate_from_totals(commit(transaction), asked(Compare("<", "v", 3, INT)), ["v"], table="db.t")
        is None
    )


def test_tables_that_are_listed_at_once() -> None:
    """A table with few partitions is listed at once.

    So is a table with buckets, because Spark needs to know them.
    """
    assert estimate_from_totals(table(LIMITS.listed_partitions - 1), [], ["v"], table="db.t") is None
    assert estimate_from_totals(table(LIMITS.listed_partitions), [], ["v"], table="db.t") is not None
    buckets = ArrangementSpec(buckets=BucketSpec(("v",), 4, 2))
    assert estimate_from_totals(table(arrangement=buckets), [], ["v"], table="db.t") is None


def test_unknown_rows() -> None:
    """Rows that one file does not tell are not known of all."""
    snapshot = table()
    transaction = Transaction(snapshot, "append")
    transaction.append((5, 5), [file("bare", rows=None)])
    found = estimate_from_totals(commit(transaction), [], ["v"], table="db.t")
    assert found is not None
    assert found.rows is None
