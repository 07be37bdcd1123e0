"""A small table with dense keys is unlikely to prune a large table's files."""

from __future__ import annotations

from typing import Any

import pytest

from parquetry.joins.runtime.dense_keys import dense_key_count
from parquetry.metastore import (
    ColumnStatistics,
    CountedColumn,
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
Files = list[list[tuple[Any, ...]]]


def table(
    partitions: Files, properties: dict[str, str] | None = None, format: str = "parquet", **fields: Any
) -> TableSnapshot:
    """Return a table by day. Files are rows, the least and greatest k, and the size of its dictionary."""
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    metadata = TableMetadata(COLUMNS, ("day",), format, "/lake/t", properties=properties or {}, **fields)
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for day, files in enumerate(partitions):
        found = [
            FileRecord(f"{n}.parquet", 1000, rows, 1, {"k": _statistics(rows, *values)})
            for n, (rows, *values) in enumerate(files)
        ]
        transaction.append((day,), found)
    return commit(transaction)


def _statistics(rows: int, least: Any, greatest: Any, distinct: int | None = None) -> ColumnStatistics:
    return ColumnStatistics(8 * rows, 0, least, greatest, distinct=distinct)


CUSTOMERS = [[(50_000, 1, 50_000), (50_000, 50_001, 100_000)]]
SALES = [[(1500, 18, 99_950)]] * 20


@pytest.mark.parametrize(
    ("small", "large", "expected"),
    [
        (CUSTOMERS, SALES, 100_000),
        (CUSTOMERS, SALES * 10, 100_000),  # only a few of its partitions are sampled
        ([[(8_000, 1, 8_000)]], [[(1500, 1, 8_000)]], 8_000),
        ([[(100_000, 1, 3_000_000)]], SALES, None),  # not dense: files may have none of them
        ([[(100_000, 1, 200)]], SALES, None),  # of 99,933 numbers in a file
        (CUSTOMERS, [[(3, 18, 99_950)]] * 20, None),  # three rows may all be of others
        (CUSTOMERS, [[(1500, 200_000, 300_000)]] * 20, None),  # others
        (CUSTOMERS, [*SALES[:15], *[[(1500, 200_000, 300_000)]] * 5], None),  # others in some
        (CUSTOMERS, [*SALES[:19], [(1500, None, None)]], None),  # not known
        ([[(100_000, None, None)]], SALES, None),
    ],
)
def test_values_that_every_file_is_likely_to_have(small: Files, large: Files, expected: int | None) -> None:
    """Many, dense, and in the range of nearly all files."""
    assert dense_key_count(table(small), "k", table(large), "k") == expected


ITEMS = [[(1000, 0, 999, 1000)]]
STORES = [[(12, 1, 12, 12)]]


@pytest.mark.parametrize(
    ("small", "large", "expected"),
    [
        (ITEMS, [[(4000, 0, 999)]] * 20, 1000),
        (STORES, [[(4000, 1, 12)]] * 20, 12),
        ([[(12, 1, 12)]], [[(4000, 1, 12)]] * 20, 12),  # without a dictionary, as few keys occur twice
        ([[(1000, 0, 999, 3)]], [[(4000, 0, 999)]] * 20, None),  # three keys, each in many rows
        (ITEMS, [[(4000, day, day) for day in range(20)]], None),  # each file has one item, or nearly so
        (ITEMS, [[(4000, 50 * n, 50 * n + 49) for n in range(20)]], 1000),
        (
            ITEMS,
            [[(4000, 50 * n, 50 * n + 49) for n in range(40)]],
            None,
        ),  # half of the files have other items
    ],
)
def test_few_keys_that_are_counted(small: Files, large: Files, expected: int | None) -> None:
    """They are dense as well, if every file has several of them."""
    assert dense_key_count(table(small), "k", table(large), "k") == expected


def test_keys_of_a_format_without_dictionaries() -> None:
    """Twelve rows may have one key, unless ANALYZE has counted. Of very many rows, most have their own."""
    large = table([[(4000, 1, 12)]] * 20)
    assert dense_key_count(table([[(12, 1, 12)]], format="orc"), "k", large, "k") is None
    twelve = table([[(12, 1, 12)]], format="orc", counted=(CountedColumn("k", 12, 12),))
    assert dense_key_count(twelve, "k", large, "k") == 12
    one = table([[(12, 1, 12)]], format="orc", counted=(CountedColumn("k", 2, 12),))
    assert dense_key_count(one, "k", large, "k") is None
    assert dense_key_count(table(CUSTOMERS, format="orc"), "k", table(SALES), "k") == 100_000


def test_what_may_be_left_out_all_the_same() -> None:
    """Partitions by their values, and row groups of tables that say how files are laid out within."""
    assert dense_key_count(table(CUSTOMERS), "k", table(SALES), "day") is None
    assert dense_key_count(table(CUSTOMERS), "day", table(SALES), "k") is None
    sorted_ones = table(SALES, {"sort-by": "k"})
    assert dense_key_count(table(CUSTOMERS), "k", sorted_ones, "k") is None
