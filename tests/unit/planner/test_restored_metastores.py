"""A restored metastore gives numbers of lost versions to others: the planner's caches know them apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from parquetry.errors import TableNotFoundError
from parquetry.metastore import FileRecord, Metastore, TableColumn, Transaction, dump, restore
from parquetry.metastore.commits.committer import commit
from parquetry.planner.engine import NoEngine
from parquetry.planner.lake import Lake, table_ref
from parquetry.predicate import Filter
from parquetry.prune import PartitionCache
from parquetry.store import MemoryStore
from tests.support.stores.metastores import metadata


def add(metastore: Metastore, column: str, file: str) -> None:
    """Add a column to the table, and a file to a partition: versions 1 and 2 by tickets 1 and 2."""
    table = metastore.table("default", "t")
    change = Transaction(table, "alter")
    change.metadata = metadata(columns=(*table.metadata.columns, TableColumn(column, "int")))
    table = commit(change)
    append = Transaction(table, "append")
    append.append((1, "a"), [FileRecord(file, 1, 1)])
    commit(append)


def test_a_number_of_a_lost_version(tmp_path: Path) -> None:
    """Metadata and partitions are the restored table's, and a question about a lost version is refused."""
    store = MemoryStore()
    lake = Lake("lake", Metastore(store, str(tmp_path)), NoEngine("UTC"))
    lake.metastore.create_table("default", "t", metadata(location=str(tmp_path / "t")))
    dump(lake.metastore, tmp_path / "dump")
    add(lake.metastore, "lost", "lost")
    lost = lake.metastore.table("default", "t")
    ref = lake.described(lost).table
    cache, everything = PartitionCache(), list[Filter]()
    cache.keep(lost, everything, list(lost.partitions()))
    store.delete_many([key for key, _ in store.scan(b"", None)])
    other = Metastore(store, str(tmp_path))
    restore(other, tmp_path / "dump")
    add(other, "won", "won")

    now = lake.metastore.table("default", "t")
    assert now.version == lost.version
    assert now.metadata.columns[-1].name == "won"
    assert cache.find(now, everything) is None
    assert not lake.is_described(ref, now)
    lake.cache(now)
    assert lake.snapshot(table_ref(now)) is now
    fresh = Lake("lake", lake.metastore, NoEngine("UTC"))
    with pytest.raises(TableNotFoundError, match="restored from a dump"):
        fresh.snapshot(ref)
