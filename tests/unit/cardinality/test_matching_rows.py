"""Estimates of rows that satisfy conditions: between the rows of files that must, and that may."""

from __future__ import annotations

import random

import pytest

from parquetry.cardinality.matching_rows import MatchingRows, estimate_matching_rows
from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.predicate import Filter
from parquetry.predicate.nodes import And, Compare, In, Not, Predicate
from parquetry.prune.select import select_files
from parquetry.store.memory import MemoryStore
from parquetry.types import parse_type
from tests.support.tables.statistics import exact

INT, STRING = parse_type("int"), parse_type("string")


def table(*files: FileRecord) -> TableSnapshot:
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    columns = (TableColumn("d", "integer"), TableColumn("name", "string"))
    transaction = Transaction(
        metastore.create_table("db", "t", TableMetadata(columns, (), "parquet", "/lake/t")), "append"
    )
    transaction.append((), list(files))
    return commit(transaction)


def estimate(snapshot: TableSnapshot, *conditions: Predicate) -> MatchingRows | None:
    selection = select_files(snapshot, [Filter(each) for each in conditions])
    return estimate_matching_rows(snapshot.metadata, selection, conditions)


def file(name: str, low: int, high: int, rows: int = 1000) -> FileRecord:
    statistics = {"d": exact(40, 0, low, high), "name": exact(125 * rows // 1000 * 3, 0, "a", "z")}
    return FileRecord(name, 1000, rows, 1, statistics)


def test_files_whole_and_in_part() -> None:
    """Files whose rows must match count whole, files whose rows may match in part, and others not at all."""
    snapshot = table(file("a", 0, 49), file("b", 50, 69), file("c", 60, 159), file("d", 200, 299))
    asked = And((Compare(">=", "d", 40, INT), Compare("<=", "d", 69, INT)))
    assert estimate(snapshot, asked) == MatchingRows(1000, 200 + 1000 + 100, 3000)
    assert estimate(snapshot) == MatchingRows(4000, 4000, 4000)


def test_equalities_of_texts() -> None:
    """An equality keeps one of the distinct texts, and a condition that is not understood keeps all."""
    snapshot = table(file("a", 0, 49))
    assert estimate(snapshot, Compare("=", "name", "b", STRING)) == MatchingRows(0, 125, 1000)
    assert estimate(snapshot, In("name", ("b", "c"), STRING)) == MatchingRows(0, 250, 1000)
    assert estimate(snapshot, Not(Compare("=", "name", "b", STRING))) == MatchingRows(0, 1000, 1000)


def test_unknown_rows() -> None:
    """Without the number of a file's rows there is no estimate."""
    assert estimate(table(FileRecord("a", 10, None, 1, {"d": exact(40, 0, 1, 2)}))) is None


@pytest.mark.parametrize("seed", range(15))
def test_the_truth_is_between_the_least_and_the_most(seed: int) -> None:
    """For random rows and ranges, the rows that match are between both numbers, and so is the estimate."""
    draw = random.Random(seed)
    rows, files = [], []
    for number in range(draw.randint(1, 6)):
        start = draw.randint(0, 100)
        values = [draw.randint(start, start + draw.randint(1, 40)) for _ in range(draw.randint(1, 60))]
        rows += values
        files.append(file(str(number), min(values), max(values), len(values)))
    low, high = sorted(draw.randint(0, 140) for _ in range(2))
    found = estimate(table(*files), Compare(">=", "d", low, INT), Compare("<=", "d", high, INT))
    assert found is not None
    assert found.least <= sum(low <= value <= high for value in rows) <= found.most
    assert found.least <= found.likely <= found.most
