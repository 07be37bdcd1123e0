"""A small table with dense keys is unlikely to prune a large table's files."""

from __future__ import annotations

from typing import Any

import pytest

from parquetry.joins.runtime.dense_keys import dense_key_count
from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    Transaction,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.store.memory import MemoryStore

COLUMNS = (TableColumn("k", "long"), TableColumn("name", "string"), TableColumn("day", "integer"))


def table(
    partitions: list[list[tuple[int, Any, Any]]], properties: dict[str, str] | None = None
) -> TableSnapshot:
    """Return a table by day, of files given as rows, and the least and greatest k."""
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    metadata = TableMetadata(COLUMNS, ("day",), "parquet", "/lake/t", properties=properties or {})
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for day, files in enumerate(partitions):
        found = [
            FileRecord(f"{n}.parquet", 1000, rows, 1, {"k": ColumnStatistics(8 * rows, 0, least, greatest)})
            for n, (rows, least, greatest) in enumerate(files)
        ]
        transaction.append((day,), found)
    return commit(transaction)


CUSTOMERS = [[(50_000, 1, 50_000), (50_000, 50_001, 100_000)]]
SALES = [[(1500, 18, 99_950)]] * 20


@pytest.mark.parametrize(
    ("small", "large", "expected"),
    [
        (CUSTOMERS, SALES, 100_000),
        (CUSTOMERS, SALES * 10, 100_000),  # only a few of its partitions are sampled
        ([[(8_000, 1, 8_000)]], [[(1500, 1, 8_000)]], None),  # few
        ([[(100_000, 1, 3_000_000)]], SALES, None),  # not dense: files may have none of them
        ([[(100_000, 1, 500)]], SALES, None),  # many rows, few values
        (CUSTOMERS, [[(3, 18, 99_950)]] * 20, None),  # three rows may all be of others
        (CUSTOMERS, [[(1500, 200_000, 300_000)]] * 20, None),  # others
        (CUSTOMERS, [*SALES[:15], *[[(1500, 200_000, 300_000)]] * 5], None),  # others in some
        (CUSTOMERS, [*SALES[:19], [(1500, None, None)]], None),  # not known
        ([[(100_000, None, None)]], SALES, None),
    ],
)
def test_values_that_every_file_is_likely_to_have(
    small: list[list[tuple[int, Any, Any]]], large: list[list[tuple[int, Any, Any]]], expected: int | None
) -> None:
    """Many, dense, and in the range of nearly all files."""
    assert dense_key_count(table(small), "k", table(large), "k") == expected


def test_what_may_be_left_out_all_the_same() -> None:
    """Partitions by their values, and row groups of tables that say how files are laid out within."""
    assert dense_key_count(table(CUSTOMERS), "k", table(SALES), "day") is None
    assert dense_key_count(table(CUSTOMERS), "day", table(SALES), "k") is None
    sorted_ones = table(SALES, {"sort-by": "k"})
    assert dense_key_count(table(CUSTOMERS), "k", sorted_ones, "k") is None
