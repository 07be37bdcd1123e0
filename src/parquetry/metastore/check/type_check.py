"""Find other writers' files whose columns Spark cannot read with the table's types.

`sync` reports such files when it takes them in. `fsck` checks again, since files may have come in other ways,
or columns may have been added since. Files that were written for the table are not checked: they have its
columns. ORC files are checked by their records: PyArrow does not give the types in ORC files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from parquetry.data_files import (
    FooterVisitor,
    ParquetFooter,
    TableColumn,
    read_parquet_footer,
    unfit_columns,
    unfit_statistics,
)
from parquetry.errors import FileCorruptError, FileMissingError
from parquetry.locations import StoragePath, is_own, join_location
from parquetry.metastore.deletion.file_access import FileAccess
from parquetry.metastore.results import Finding
from parquetry.metastore.versions.snapshot import TableSnapshot
from parquetry.store import in_batches

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
            looks = [pool.submit(_look, system, path, table.metadata.data_columns) for _, path in batch]
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


def _look(system: FileAccess, path: StoragePath, columns: Sequence[TableColumn]) -> list[tuple[str, str]]:
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
