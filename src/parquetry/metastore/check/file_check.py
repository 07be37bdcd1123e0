"""Look at the files of many partitions: whether they exist, and whether Spark can read their columns.

Files of other writers may have columns that Spark cannot read with the table's types.

`sync` reports such files when it takes them in. `fsck` checks again, since files may have come in other ways,
or columns may have been added since. Files that were written for the table are not checked: they have its
columns. ORC files are checked by their records: PyArrow does not give the types in ORC files.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import NamedTuple

from parquetry.data_files import (
    FileRecord,
    FooterVisitor,
    ParquetFooter,
    TableColumn,
    read_parquet_footer,
    unfit_columns,
    unfit_statistics,
)
from parquetry.errors import FileCorruptError, FileMissingError
from parquetry.locations import StoragePath, is_hidden, is_own, join_location, storage_path
from parquetry.metastore.deletion.file_access import FileAccess, Info
from parquetry.metastore.results import Finding
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.store import in_batches

_FILES_AT_ONCE = 1000
"""Files after which the partitions so far are looked at: so many records are kept in memory."""


class LookedAt(NamedTuple):
    """A partition and what the file systems say of its files.

    Attributes:
        partition: the partition.
        files: its files.
        infos: for each file its path, and its size and time of change, or None if it is missing.
    """

    partition: PartitionSnapshot
    files: Sequence[FileRecord]
    infos: Sequence[tuple[StoragePath, Info | None]]


def look_at_files(partitions: Iterable[PartitionSnapshot], system: FileAccess) -> Iterator[LookedAt]:
    """Yield partitions in their order, each with what is known of its files.

    Args:
        partitions: the partitions.
        system: the file systems.

    Raises:
        WarehouseError: a file system does not answer.
    """
    some: list[tuple[PartitionSnapshot, Sequence[FileRecord]]] = []
    count = 0
    for partition in partitions:
        some.append((partition, partition.files))
        count += len(some[-1][1])
        if count >= _FILES_AT_ONCE or len(some) >= _FILES_AT_ONCE:
            yield from _look(some, system)
            some, count = [], 0
    yield from _look(some, system)


def _look(
    some: Sequence[tuple[PartitionSnapshot, Sequence[FileRecord]]], system: FileAccess
) -> Iterator[LookedAt]:
    paths = [
        system.storage_path(join_location(partition.location, file.path))
        for partition, files in some
        for file in files
    ]
    info_of = dict(system.infos(paths))
    remaining = iter(paths)
    for partition, files in some:
        own = islice(remaining, len(files))
        yield LookedAt(partition, files, [(path, info_of[path]) for path in own])


def foreign_files(
    looked_at: LookedAt, table: bytes, system: FileAccess, removed: Collection[StoragePath]
) -> list[str]:
    """Return the names of files in a partition's folder that another program has written, not this table.

    Args:
        looked_at: the partition, and its files.
        table: id of the table.
        system: the file systems.
        removed: files that a version of the table has removed on purpose.

    Raises:
        WarehouseError: the folder cannot be listed.
    """
    own = {path for path, _ in looked_at.infos}
    folder = storage_path(looked_at.partition.location)
    own.update(removed)
    others = (path for path, info in system.below(folder) if info.bytes and path not in own)
    names = (path.path.removeprefix(f"{folder.path.rstrip('/')}/") for path in others)
    return sorted(
        name for name in names if not is_own(name, table) and not any(map(is_hidden, name.split("/")))
    )


_FILES_PER_BATCH = 1000
_MAX_READER_THREADS = 8


def unfit_files(table: TableSnapshot) -> Iterator[Finding]:
    """Read the footers of other writers' files, and yield the columns that cannot be read, and broken files.

    Args:
        table: the version to check.

    Raises:
        WarehouseError: a file cannot be opened.
    """
    system = FileAccess()
    if table.metadata.format != "parquet":
        yield from _unfit_records(table, system)
        return
    with ThreadPoolExecutor(_MAX_READER_THREADS) as pool:
        for batch in in_batches(_foreign(table, system), _FILES_PER_BATCH):
            looks = [
                pool.submit(_look_for_types, system, path, table.metadata.data_columns) for _, path in batch
            ]
            for (name, path), look in zip(batch, looks, strict=True):
                for kind, detail in look.result():
                    yield Finding(kind, name, system.name(path), detail)


def _unfit_records(table: TableSnapshot, system: FileAccess) -> Iterator[Finding]:
    """Yield other writers' files with columns that cannot be read, by their records."""
    for partition in table.partitions():
        for file in partition.files:
            if not is_own(file.path, table.id):
                path = system.storage_path(join_location(partition.location, file.path))
                for sentence in unfit_statistics(file, table.metadata.data_columns):
                    yield Finding(
                        "unfit column", table.describe(partition.key), system.name(path), f"{sentence}."
                    )


def _foreign(table: TableSnapshot, system: FileAccess) -> Iterable[tuple[str, StoragePath]]:
    """Yield other writers' files with the names of their partitions, and open their file systems."""
    for partition in table.partitions():
        for file in partition.each_listed():
            if not is_own(file.path, table.id):
                path = system.storage_path(join_location(partition.location, file.path))
                system.system_and_path(path)
                yield table.describe(partition.key), path


def _look_for_types(
    system: FileAccess, path: StoragePath, columns: Sequence[TableColumn]
) -> list[tuple[str, str]]:
    problems: list[tuple[str, str]] = []

    def look(_: str, footer: ParquetFooter) -> None:
        problems.extend(("unfit column", f"{sentence}.") for sentence in unfit_columns(footer, columns))

    filesystem, name = system.system_and_path(path)
    try:
        read_parquet_footer(filesystem, name, visitor=FooterVisitor(look))
    except FileMissingError:
        return []  # a finding of its own
    except FileCorruptError as error:
        return [("broken file", error.message)]
    return problems
