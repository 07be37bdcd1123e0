"""Read the footers again of files whose records were made before statistics had a trust
(`data_files.records`).

Such a record says what an earlier version believed. Until it is made anew, its statistics may leave the file
out of a query, but answer nothing and prove nothing. Rows, cells and buckets do not change.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from parquetry.adoption.difference import Difference
from parquetry.data_files import FileRecord, FooterReader, FooterVisitor, Trust, without_table_types
from parquetry.errors import FileMissingError, UnsupportedError
from parquetry.locations import is_absolute
from parquetry.metastore import PartitionSnapshot, Transaction, row_sum
from parquetry.predicate import Filter, KnownValues, Match, match
from parquetry.progress import Progress, track


def read_again(
    transaction: Transaction, footers: FooterReader, condition: Filter | None, progress: Progress
) -> Iterator[Difference]:
    """Make a transaction replace the outdated records of files by what their footers say.

    Args:
        transaction: skips partitions that it changes otherwise; the next sync takes these.
        footers: reads footers. A table in a format that it cannot read is left out.
        condition: selects partitions, or None for all.
        progress: called with the number of partitions read, and of all outdated ones.
    """
    snapshot = transaction.base
    outdated = [
        partition
        for partition in snapshot.partitions()
        if partition.key not in transaction.changes
        and any(map(is_outdated, partition.files))
        and (condition is None or _holds(condition, snapshot.metadata.partition_by, partition))
    ]
    for partition in track(progress, "Reading footers again", outdated):
        files = partition.files
        old = [file for file in files if is_outdated(file)]
        try:
            new = _records(transaction, footers, partition, old)
        except (FileMissingError, UnsupportedError):
            continue
        if not new:
            continue
        transaction.replace(
            partition.values,
            [new.get(file.path, file) for file in files],
            partition.entry.location,
            partition.arrangement,
        )
        name = snapshot.describe(partition.key) if partition.values else None
        size = sum(file.bytes for file in files)
        detail = f"{len(new)} read again: an earlier version recorded their statistics"
        yield Difference("changed", name, len(files), row_sum(list(files)), size, detail)


def is_outdated(file: FileRecord) -> bool:
    """Return whether a file's statistics were recorded before they had a trust."""
    return any(statistics.trust == Trust.UNKNOWN for statistics in (file.columns or {}).values())


def _records(
    transaction: Transaction, footers: FooterReader, partition: PartitionSnapshot, files: Sequence[FileRecord]
) -> dict[str, FileRecord]:
    """Return new records of some files of a partition by their paths, without unreadable files."""
    metadata, visitor = transaction.base.metadata, FooterVisitor()
    found: dict[str, FileRecord] = {}
    for root, paths in _by_folder(partition.location, files).items():
        read = footers.data_files(metadata.format, root, list(paths), visitor=visitor)
        found |= {paths[file.path]: file for file in read}
    recorded = {file.path: file for file in files}
    return {
        path: msgspec.structs.replace(
            recorded[path], rows=file.rows, columns=without_table_types(file, metadata.data_columns).columns
        )
        for path, file in found.items()
        if file.bytes == recorded[path].bytes
    }


def _by_folder(location: str, files: Sequence[FileRecord]) -> dict[str, dict[str, str]]:
    """Return the recorded paths of files by a folder and their paths below it."""
    folders: dict[str, dict[str, str]] = {}
    for file in files:
        folder, _, name = file.path.rpartition("/") if is_absolute(file.path) else (location, "", file.path)
        folders.setdefault(folder, {})[name] = file.path
    return folders


def _holds(condition: Filter, names: Sequence[str], partition: PartitionSnapshot) -> bool:
    return bool(match(condition, KnownValues(names, [partition.values]))[0] == Match.MUST)
