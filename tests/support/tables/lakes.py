"""A table with real files, for the tests of what is deleted, and of its past."""

from __future__ import annotations

from pathlib import Path

from parquetry.metastore import FileRecord, Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.store import MemoryStore, Store
from tests.support.stores.metastores import metadata

NOW = 1 << 50
"""A time in milliseconds that is later than any commit."""


class TableLake:
    """A table `default.t` with real files; every change to it is a commit."""

    def __init__(self, folder: Path, store: Store | None = None, external: bool = False) -> None:
        self.folder = folder
        self.store = store or MemoryStore()
        self.metastore = Metastore(self.store, str(folder))
        self.location = folder / "t"
        table = self.metastore.create_table(
            "default", "t", metadata(location=f"file:{self.location}", external=external)
        )
        self.id = table.id

    def table(self, version: int | None = None) -> TableSnapshot:
        return self.metastore.table("default", "t", version=version)

    def file(self, key: tuple[int, str], name: str, own: bool = True) -> FileRecord:
        """Write a file of a partition, which nothing lists yet."""
        full = f"pq-{self.id.hex()}-{name}.parquet" if own else name
        path = Path(self.table().placement.default_location(key).removeprefix("file:")) / full
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(name.encode())
        return FileRecord(full, len(name), 1, path.stat().st_mtime_ns // 1_000_000)

    def append(self, key: tuple[int, str], name: str, own: bool = True) -> FileRecord:
        written = self.file(key, name, own)
        transaction = Transaction(self.table(), "append")
        transaction.append(key, [written])
        commit(transaction)
        return written

    def replace(self, key: tuple[int, str], name: str) -> None:
        written = self.file(key, name)
        transaction = Transaction(self.table(), "overwrite")
        transaction.replace(key, [written])
        commit(transaction)

    def drop(self, key: tuple[int, str]) -> None:
        transaction = Transaction(self.table(), "drop")
        transaction.drop(key)
        commit(transaction)

    def comment(self, text: str) -> None:
        transaction = Transaction(self.table(), "alter")
        transaction.set_metadata(metadata(location=f"file:{self.location}", comment=text))
        commit(transaction)

    def on_disk(self) -> set[str]:
        """Return the names of the files on disk, without what all own files have in common."""
        found = (path for path in self.location.rglob("*") if path.is_file())
        return {path.name.removeprefix(f"pq-{self.id.hex()}-").removesuffix(".parquet") for path in found}

    def listed(self, version: int | None = None) -> set[str]:
        prefix = f"pq-{self.id.hex()}-"
        files = (file.path for part in self.table(version).partitions() for file in part.files)
        return {path.rpartition("/")[2].removeprefix(prefix).removesuffix(".parquet") for path in files}


def busy(folder: Path, store: Store | None = None) -> TableLake:
    """Return a table of six versions with all kinds of changes; only version 6 is wanted."""
    lake = TableLake(folder, store)
    lake.append((1, "a"), "one")
    lake.append((2, "b"), "two")
    lake.replace((1, "a"), "three")
    lake.comment("changed")
    lake.drop((2, "b"))
    lake.append((1, "a"), "four")
    return lake
