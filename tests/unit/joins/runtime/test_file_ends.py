"""Files' statistics give the minimum and maximum of a key, also if some files lack statistics."""

from __future__ import annotations

from decimal import Decimal

import pytest

from parquetry.errors import ValueTypeError
from parquetry.joins.runtime.estimates import KeyFiles, key_files
from parquetry.joins.runtime.key_ranges import partition_key_ranges
from parquetry.metastore import FileRecord, Metastore, TableColumn, TableMetadata, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.prune.select import Selection, select_files
from parquetry.store.memory import MemoryStore
from parquetry.types import Value
from tests.support.tables.statistics import exact

COLUMNS = (
    TableColumn("n", "integer"),
    TableColumn("money", "decimal(5,2)"),
    TableColumn("text", "string"),
    TableColumn("p", "integer"),
)


def table(*partitions: list[FileRecord]) -> TableSnapshot:
    """Return a table with partitions 0, 1 and so on."""
    metastore = Metastore(MemoryStore(), "/lake")
    metastore.create_database("db")
    made = metastore.create_table("db", "t", TableMetadata(COLUMNS, ("p",), "parquet", "/lake/t"))
    transaction = Transaction(made, "append")
    for place, files in enumerate(partitions):
        transaction.append((place,), files)
    return commit(transaction)


def file(name: str, least: Value, greatest: Value, nulls: int | None = 0, column: str = "n") -> FileRecord:
    """Return a file of ten rows."""
    return FileRecord(f"{name}.parquet", 1000, 10, 1, {column: exact(10, nulls, least, greatest)})


def selected(snapshot: TableSnapshot) -> Selection:
    return select_files(snapshot, [], (), about=("n", "money", "text"))


@pytest.mark.parametrize("more", [0, 40])
def test_ends_of_partitions(more: int) -> None:
    """A partition has the minimum and maximum of its files, without NULL.

    A file without statistics may hold any value of the type. The number of partitions does not matter.
    """
    found = table(
        [file("a", 3, 7), file("b", 1, 4)],
        [file("c", 9, 9), FileRecord("d.parquet", 1000, 10)],
        [file("e", None, None, nulls=10)],
        [file("f", None, None, nulls=10), file("g", 5, 6)],
        [FileRecord("h.parquet", 1000, 10)],
        [file("i", -(1 << 31), (1 << 31) - 1, nulls=None)],
        [],
        *([file(f"{n}", n, n)] for n in range(more)),
    )
    lowest, highest = -(1 << 31), (1 << 31) - 1
    selection = selected(found)
    ends = {
        selection.partitions[part].values[0]: (least, greatest)
        for part, least, greatest in partition_key_ranges(found.metadata, selection, "n")
    }
    assert {place: ends[place] for place in ends if place < 7} == {
        0: (1, 7),
        1: (lowest, highest),
        3: (5, 6),
        4: (lowest, highest),
        5: (lowest, highest),
    }
    assert {place: ends[place] for place in ends if place >= 7} == {7 + n: (n, n) for n in range(more)}


def test_ends_of_decimals() -> None:
    """A file without statistics has the type's minimum and maximum of decimals."""
    found = table(
        [file("a", Decimal("1.25"), Decimal("2.50"), column="money")], [FileRecord("b.parquet", 1000, 10)]
    )
    assert partition_key_ranges(found.metadata, selected(found), "money") == [
        (0, Decimal("1.25"), Decimal("2.50")),
        (1, Decimal("-999.99"), Decimal("999.99")),
    ]


def test_a_column_of_which_no_file_tells() -> None:
    """Every partition may hold anything; and texts have no greatest."""
    found = table([FileRecord("a.parquet", 1000, 10)], [FileRecord("b.parquet", 1000, 10)])
    assert partition_key_ranges(found.metadata, selected(found), "n") == [
        (n, -(1 << 31), (1 << 31) - 1) for n in range(2)
    ]
    with pytest.raises(ValueTypeError, match="Type string"):
        partition_key_ranges(found.metadata, selected(found), "text")


@pytest.mark.parametrize(
    ("starts", "expected"),
    [
        (range(10), KeyFiles(1, in_order=True)),
        (range(10, 0, -1), KeyFiles(1, in_order=True)),
        ((0, 5, 1, 6, 2, 7, 3, 8, 4, 9), KeyFiles(1, in_order=False)),
        ((3,) * 10, KeyFiles(1, in_order=False)),
        ((1, 9), KeyFiles(1, in_order=True)),
    ],
)
def test_files_in_which_a_key_grows(starts: range | tuple[int, ...], expected: KeyFiles) -> None:
    """Keys are in order if they grow from partition to partition, or shrink; two files always are."""
    found = table(*([file(f"{place}", 10 * n, 10 * n + 15)] for place, n in enumerate(starts)))
    assert key_files(found.metadata, selected(found), "n", found.totals.files) == expected


def test_part_of_the_files_and_files_of_which_nothing_is_known() -> None:
    """The result has the fraction of files that the query's conditions keep.

    With a file without statistics there is no result.
    """
    found = table(*([file(f"{n}", n, n)] for n in range(10)))
    some = key_files(found.metadata, selected(found), "n", 40)
    assert some == KeyFiles(0.25, in_order=True)
    bare = table([FileRecord("a.parquet", 1000, 10)], *([file(f"{n}", n, n)] for n in range(10)))
    assert key_files(bare.metadata, selected(bare), "n", 11) is None
