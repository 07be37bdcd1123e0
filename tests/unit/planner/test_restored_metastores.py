"""A restored metastore gives numbers of lost versions to others: the planner's caches know them apart."""

from __future__ import annotations

from pathlib import Path

import pytest

from parquetry.errors import CommitConflictError, TableNotFoundError
from parquetry.metastore import FileRecord, Metastore, TableColumn, TableSnapshot, Transaction, dump, restore
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


@pytest.mark.parametrize("versions_after", [0, 1, 2])
def test_a_change_that_was_prepared_on_a_lost_version(tmp_path: Path, versions_after: int) -> None:
    """It is refused, whether the restored table has fewer versions, as many or more. An append would bring
    the lost files back.
    """
    store = MemoryStore()
    metastore = Metastore(store, str(tmp_path))
    table = metastore.create_table("default", "t", metadata(location=str(tmp_path / "t")))
    dump(metastore, tmp_path / "dump")

    def append(file: str, base: TableSnapshot | None = None) -> Transaction:
        made = Transaction(base or metastore.table("default", "t"), "append")
        made.append((1, "a"), [FileRecord(file, 1, 1)])
        return made

    late = append("late", commit(append("lost", table)))
    store.delete_many([key for key, _ in store.scan(b"", None)])
    restore(Metastore(store, str(tmp_path)), tmp_path / "dump")
    for number in range(versions_after):
        commit(append(f"won {number}"))
    with pytest.raises(CommitConflictError, match="restored from a dump"):
        commit(late)
    found = [file.path for part in metastore.table("default", "t").partitions() for file in part.files]
    assert found == [f"won {number}" for number in range(versions_after)]
