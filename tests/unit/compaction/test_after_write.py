"""A write with `auto-compact` rewrites partitions with many small files, and no more bytes than it may."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from parquetry.compaction import rewrites_after_write
from parquetry.data_files.records import FileRecord, TableColumn
from parquetry.layout.arrangement import PLAIN, ArrangementSpec
from parquetry.layout.bucket_spec import BucketSpec
from parquetry.metastore import Metastore, PartitionSnapshot, TableMetadata, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.store import MemoryStore
from tests.support.micro_batches import MicroBatches, run_micro_batches

TARGET = 100
MICRO_BATCHES = MicroBatches(file_bytes=100_000, target=128 << 20, min_files=50, max_bytes=1 << 30)
COLUMNS = (TableColumn("x", "integer"), TableColumn("p", "integer"))


def table_of(
    partitions: dict[int, Sequence[FileRecord]], arrangement: ArrangementSpec = PLAIN
) -> tuple[TableSnapshot, list[PartitionSnapshot]]:
    """Return a table with partitions of these files, and all its partitions."""
    metadata = TableMetadata(COLUMNS, ("p",), "parquet", "/lake/t", arrangement=arrangement)
    transaction = Transaction(
        Metastore(MemoryStore(), "/lake").create_table("default", "t", metadata), "append"
    )
    for value, files in partitions.items():
        transaction.append((value,), files, arrangement=arrangement)
    table = commit(transaction)
    return table, list(table.partitions())


def small(count: int, size: int = 1) -> list[FileRecord]:
    """Return small files."""
    return [FileRecord(f"f{i}-{size}", size, 1) for i in range(count)]


@pytest.mark.parametrize(
    ("partitions", "max_bytes", "chosen"),
    [
        ({1: small(4)}, 1000, []),
        ({1: small(5)}, 1000, [(1, 5)]),
        ({1: [*small(5), FileRecord("large", 99, 1)]}, 1000, [(1, 5)]),
        ({1: [*small(4), FileRecord("large", 99, 1)]}, 1000, []),
        ({1: small(5, 30), 2: small(5, 10), 3: small(9, 10)}, 1000, [(3, 9), (2, 5), (1, 5)]),
        ({1: small(5, 30), 2: small(5, 10), 3: small(9, 10)}, 149, [(3, 9), (2, 5)]),
        ({1: small(5, 30), 2: small(6, 10)}, 59, []),
    ],
)
def test_partitions(
    partitions: dict[int, list[FileRecord]], max_bytes: int, chosen: list[tuple[int, int]]
) -> None:
    """Partitions of five small files or more are chosen, the cheapest first, as far as the bytes go."""
    table, parts = table_of(partitions)
    found = rewrites_after_write(table, parts, TARGET, 5, max_bytes)
    assert [(each.partition.values[0], len(each.files)) for each in found] == chosen
    for each in found:
        assert sorted(file.path for file in (*each.files, *each.kept)) == sorted(
            file.path for file in each.partition.files
        )


@pytest.mark.parametrize(("inserts", "chosen"), [(4, 0), (5, 20)])
def test_each_bucket_counts(inserts: int, chosen: int) -> None:
    """A partition of four buckets is chosen after five inserts, not after one that wrote five files."""
    files = [FileRecord(f"{i}_{b}", 1, 1, bucket=b) for i in range(inserts) for b in range(4)]
    table, parts = table_of({1: files}, ArrangementSpec(buckets=BucketSpec(("x",), 4)))
    found = rewrites_after_write(table, parts, TARGET, 5, 1000)
    assert sum(len(each.files) for each in found) == chosen


def test_many_small_writes_keep_files_and_rewriting_bounded() -> None:
    """After a thousand writes of a small file, few files are left, and each byte was written a few times.

    No write compacts more bytes than it may.
    """
    result = run_micro_batches(1000, MICRO_BATCHES)
    assert result.most_files < 2 * MICRO_BATCHES.min_files
    assert result.bytes_rewritten <= 6 * result.bytes_written
    assert result.largest_rewrite <= MICRO_BATCHES.max_bytes
    assert result.bytes == result.bytes_written
    assert result.compactions < 1000 / MICRO_BATCHES.min_files + 1


def test_a_file_larger_than_all_others_waits() -> None:
    """A file of an earlier compaction is merged again once as many bytes have come."""
    for size, chosen in ((6, 5), (5, 6)):
        table, parts = table_of({1: [*small(5), FileRecord("earlier", size, 1)]})
        (found,) = rewrites_after_write(table, parts, TARGET, 5, 1000)
        assert len(found.files) == chosen
