"""Tables with files of their own on disk, in metastores that are opened as users open them."""

from __future__ import annotations

import os
import time
from pathlib import Path

from parquetry.metastore import FileRecord, Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from tests.support.stores.metastores import metadata

TWO_DAYS = 2 * 24 * 60 * 60


def make(metastore: Metastore, name: str = "t", folder: Path | None = None) -> TableSnapshot:
    """Make a table; with a folder, it is external and there."""
    location = f"file:{folder or f'{metastore.warehouse}/{name}'}"
    return metastore.create_table(
        "default", name, metadata(location=location, external=folder is not None, partition_by=("d",))
    )


def write(metastore: Metastore, file: str, name: str = "t", *, replaces: bool = False) -> Path:
    """Write a file of a table, two days old, and commit it. Return its path."""
    table = metastore.table("default", name)
    folder = Path(table.metadata.location.removeprefix("file:")) / "d=1"
    path = folder / f"pq-{table.id.hex()}-{file}.parquet"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"rows")
    os.utime(path, (time.time() - TWO_DAYS,) * 2)
    transaction = Transaction(table, "append")
    record = FileRecord(path.name, 4, 1, path.stat().st_mtime_ns // 1_000_000)
    (transaction.replace if replaces else transaction.append)((1,), [record])
    commit(transaction)
    return path


def files(metastore: Metastore, name: str = "t") -> list[str]:
    """Return the names of a table's files that it lists."""
    table = metastore.table("default", name)
    return sorted(
        file.path.rpartition("-")[2].removesuffix(".parquet")
        for part in table.partitions()
        for file in part.files
    )
