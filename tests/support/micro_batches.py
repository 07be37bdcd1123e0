"""Many small writes into one partition with `auto-compact`: decisions and commits, without data files."""

from __future__ import annotations

from dataclasses import dataclass

from parquetry.compaction import rewrites_after_write
from parquetry.data_files import FileRecord
from parquetry.metastore import Metastore, TableColumn, TableMetadata, TableSnapshot, Transaction, commit
from parquetry.store import MemoryStore


@dataclass(frozen=True, slots=True)
class MicroBatches:
    """The writes, and the table's settings.

    Attributes:
        file_bytes: size of the file of each write.
        target: `target-file-size`.
        min_files: `auto-compact-min-files`.
        max_bytes: `auto-compact-max-bytes`.
        compacts: whether the table has `auto-compact`.
    """

    file_bytes: int
    target: int
    min_files: int
    max_bytes: int
    compacts: bool = True


@dataclass(slots=True)
class MicroBatchResult:
    """The effect of the writes.

    Attributes:
        table: the newest version.
        most_files: files of the partition, at the most.
        compactions: number of compactions.
        bytes_written: by the writes.
        bytes_rewritten: by compactions.
        largest_rewrite: bytes of the largest compaction.
        bytes: of the partition at the end.
    """

    table: TableSnapshot
    most_files: int = 0
    compactions: int = 0
    bytes_written: int = 0
    bytes_rewritten: int = 0
    largest_rewrite: int = 0
    bytes: int = 0


def run_micro_batches(
    count: int, batches: MicroBatches, metastore: Metastore | None = None
) -> MicroBatchResult:
    """Make some writes, each followed by the compaction that `auto-compact` would make."""
    columns = (TableColumn("x", "integer"), TableColumn("p", "integer"))
    metadata = TableMetadata(columns, ("p",), "parquet", "/lake/t")
    table = (metastore or Metastore(MemoryStore(), "/lake")).create_table("default", "t", metadata)
    result = MicroBatchResult(table)
    for number in range(count):
        write = Transaction(table, "append")
        write.append((1,), [FileRecord(f"w{number}", batches.file_bytes, 1)])
        table = commit(write)
        result.bytes_written += batches.file_bytes
        partition = table.partition((1,))
        assert partition is not None
        result.most_files = max(result.most_files, partition.file_count)
        chosen = (
            rewrites_after_write(table, [partition], batches.target, batches.min_files, batches.max_bytes)
            if batches.compacts
            else []
        )
        for rewrite in chosen:
            merged = [
                FileRecord(f"c{number}-{part}", min(batches.target, rewrite.bytes - start), 1)
                for part, start in enumerate(range(0, rewrite.bytes, batches.target))
            ]
            compaction = Transaction(table, "auto-compact")
            compaction.replace((1,), [*rewrite.kept, *merged])
            table = commit(compaction)
            result.compactions += 1
            result.bytes_rewritten += rewrite.bytes
            result.largest_rewrite = max(result.largest_rewrite, rewrite.bytes)
    last = table.partition((1,))
    result.table, result.bytes = table, 0 if last is None else last.bytes
    return result
