"""LIMIT, the first rows in an order, and aggregates: which files stay, and what the report says."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.predicate import MAX_LISTED_CONTAINERS
from parquetry.predicate.nodes import Compare, Opaque, Predicate
from parquetry.prune.condition import Condition
from parquetry.prune.needed_rows import AggregateFunction, FirstRows, Hindrance, SortKey, WholeAggregate
from parquetry.prune.report.report import Report
from parquetry.prune.rule import Scan
from parquetry.prune.select import Selection, select_for
from parquetry.store.memory import MemoryStore
from parquetry.types import parse_type
from tests.support.planning.filters import make_filter
from tests.support.tables.statistics import exact

INT = parse_type("int")
COLUMNS = (
    TableColumn("v", "integer"),
    TableColumn("t", "timestamp"),
    TableColumn("f", "double"),
    TableColumn("c", "char(3)"),
    TableColumn("p", "integer"),
)


def make(files: int = 8, rows: int = 10) -> TableSnapshot:
    """Return a table of files by ascending `v`: file n has the values from 10 * n to 10 * n + 9."""
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    table = metastore.create_table("db", "t", TableMetadata(COLUMNS, ("p",), "parquet", "/lake/db.db/t"))
    transaction = Transaction(table, "append")
    for n in range(files):
        low, high = 10 * n, 10 * n + 9
        columns = {
            "v": exact(50, 0, low, high),
            "t": exact(50, 0, low * 10**6, high * 10**6),
            "f": exact(50, 0, float(low), float(high)),
            "c": exact(50, 0, f"{n}", f"{n}z"),
        }
        transaction.append((0,), [FileRecord(f"{n}", 1000 - n, rows, 1, columns)])
    return commit(transaction)


def select(table: TableSnapshot, *where: Predicate, **needs: Any) -> Selection:
    """Return the selection of a scan that needs some rows."""
    conditions = tuple(Condition.from_filter(make_filter(node)) for node in where)
    scan = Scan(table, conditions, None, frozenset(("p",)), None)
    return select_for(replace(scan, **needs), about=())


def kept(selection: Selection) -> list[str]:
    """Return the names of the selected files."""
    return [file.file.path for file in selection.files]


def texts(selection: Selection) -> tuple[str, ...]:
    """Return the report's part about files, and its lines about conditions that pruned nothing."""
    line, *notes = str(Report((selection.report,))).split("\n")
    return (line.split(" · ")[1], *(note.strip() for note in notes))


def above(value: int) -> Compare:
    """Return the condition `v >= value`."""
    return Compare(">=", "v", value, INT)


def test_a_limit_keeps_the_fewest_files_and_then_the_smallest() -> None:
    """The smallest file of enough rows suffices; else the largest, and the smallest that completes them."""
    table = make()
    found = select(table, first=FirstRows(10))
    assert (kept(found), texts(found)) == (["7"], ("files 1 of 8 (enough rows for LIMIT 10)",))
    assert kept(select(table, first=FirstRows(25))) == ["0", "1", "7"]
    found = select(table, above(35), first=FirstRows(10))
    assert (kept(found), texts(found)[0]) == (["7"], "files 1 of 8 (v >= 35, enough rows for LIMIT 10)")
    assert found.bytes == 993


def test_files_that_may_match_are_kept_where_matching_files_have_too_few_rows() -> None:
    """All files that may match stay, with the reason; a LIMIT of all rows has nothing against it."""
    table = make()
    found = select(table, above(55), first=FirstRows(21))
    assert kept(found) == ["5", "6", "7"]
    assert "not by LIMIT 21: the files with only rows that match have 20 rows" in texts(found)
    found = select(table, Compare("=", "v", 33, INT), first=FirstRows(1))
    assert kept(found) == ["3"]
    assert texts(select(table, first=FirstRows(100))) == ("files 8 of 8",)
    unknown = select(table, Opaque("hash(v) = 3", ("v",), "function on the column"), first=FirstRows(1))
    assert "not by LIMIT 1: no file is known to have only rows that match" in texts(unknown)


@pytest.mark.parametrize(
    ("hindrance", "reason"),
    [
        (Hindrance(unknown=["rand() < 0.5"]), "a row may fail rand() < 0.5, which statistics do not decide"),
        (Hindrance(skipping="ignoreMissingFiles"), "ignoreMissingFiles lets readers skip files"),
    ],
)
def test_what_the_planner_cannot_know_keeps_all_files(hindrance: Hindrance, reason: str) -> None:
    """Conditions that the scan lacks, and readers that skip files, are the first reason against it."""
    table = make()
    for first in (FirstRows(3, hindrance=hindrance), FirstRows(3, SortKey("v", "v"), hindrance=hindrance)):
        found = select(table, above(35), first=first)
        assert len(kept(found)) == 5
        assert f"not by {first.text}: {reason}" in texts(found)
    wanted = WholeAggregate([AggregateFunction("count", None)], hindrance)
    found = select(table, above(35), aggregate=wanted)
    assert (found.answer, len(kept(found))) == (None, 5)


@pytest.mark.parametrize("files", [8, MAX_LISTED_CONTAINERS + 8])
def test_files_after_the_first_rows_of_an_order_are_left_out(files: int) -> None:
    """The bound is the value that enough rows are certain to reach, for few files and for many."""
    table = make(files)
    last = files - 1
    found = select(table, first=FirstRows(15, SortKey("v", "v", descending=True)))
    assert kept(found) == [f"{last - 1}", f"{last}"]
    assert texts(found) == (f"files 2 of {files} (15 greatest of v, from {10 * last - 10})",)
    found = select(table, above(35), first=FirstRows(5, SortKey("v", "v")))
    assert kept(found) == ["3", "4"]
    assert texts(found)[0] == f"files 2 of {files} (v >= 35, 5 least of v, up to 49)"
    found = select(table, first=FirstRows(1, SortKey("t", "t")))
    assert texts(found)[0] == f"files 1 of {files} (1 least of t, up to TIMESTAMP '1970-01-01 00:00:09 UTC')"


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        (SortKey("f", "f"), "column f may have NaN, which statistics leave out"),
        (SortKey(None, "v + 1"), "v + 1 is not a column"),
        (SortKey("c", "c"), "column c is sorted without its blanks"),
    ],
)
def test_orders_that_bounds_do_not_know_keep_all_files(key: SortKey, reason: str) -> None:
    """A float may have NaN anywhere, an expression has no bounds, and bounds of chars are of padded texts."""
    found = select(make(), first=FirstRows(3, key))
    assert kept(found) == list("01234567")
    assert texts(found) == ("files 8 of 8", f"not by ORDER BY {key.text} LIMIT 3: {reason}")
    if key.column == "c":
        assert kept(select(make(), first=FirstRows(3, SortKey("c", "c", padded=True)))) == ["0"]


def test_ties_are_kept_if_another_key_decides_among_them() -> None:
    """All files share the value of `p`: one suffices for it alone, all are needed if another key follows."""
    table = make()
    key = SortKey("p", "p")
    assert len(kept(select(table, first=FirstRows(3, key)))) == 1
    found = select(table, first=FirstRows(3, key, ties=True))
    assert texts(found) == (
        "files 8 of 8",
        "not by ORDER BY p LIMIT 3: every file may have one of these rows",
    )


def test_an_aggregate_leaves_out_the_files_whose_part_is_known() -> None:
    """The part of files whose rows all match is known; a file with no better value is not read either."""
    table = make()
    count = AggregateFunction("count", None)
    both = WholeAggregate([count, AggregateFunction("max", "v")])
    found = select(table, above(35), aggregate=both)
    assert (found.answer, kept(found)) == ((40, 79), ["3"])
    assert texts(found)[0] == "files 1 of 8 (v >= 35, count(*), max(v) in 4 from the metastore)"
    found = select(table, above(35), aggregate=WholeAggregate([AggregateFunction("max", "v")]))
    assert (found.answer, kept(found)) == ((79,), [])
    found = select(table, above(35), aggregate=WholeAggregate([AggregateFunction("min", "v")]))
    assert (found.answer, kept(found)) == ((40,), ["3"])
    found = select(table, above(35), aggregate=WholeAggregate([AggregateFunction("max", "f")]))
    assert (found.answer, len(kept(found))) == (None, 5)
