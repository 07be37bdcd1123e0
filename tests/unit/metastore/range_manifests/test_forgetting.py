"""A value that has left a large table leaves range manifests, indexes, and rows of partitions."""

from __future__ import annotations

from pathlib import Path

import pytest

from parquetry.metastore import (
    ColumnStatistics,
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
    scrub_store,
    vacuum,
    withdraw_removed_files,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.operations.indexes import create_index
from parquetry.metastore.storage.keyspace import INDEXES, PARTITIONS, RANGE_MANIFESTS
from parquetry.store import MemoryStore

VALUE = "Zyxwvut"
COLUMNS = (TableColumn("v", "string"), TableColumn("day", "int"), TableColumn("name", "string"))


def table_with_value(tmp_path: Path) -> TableSnapshot:
    """Return a table of a hundred partitions: one has the value in its key, another in its bounds."""
    metadata = TableMetadata(COLUMNS, ("day", "name"), "parquet", f"{tmp_path}/t")
    table = Metastore(MemoryStore(), str(tmp_path)).create_table("default", "t", metadata)
    create_index(table, ["name"])
    transaction = Transaction(table.refresh(), "append")
    for day in range(100):
        last = VALUE if day == 42 else "b"
        file = FileRecord(f"f{day}.parquet", 100, 10, 5, {"v": ColumnStatistics(40, 0, "a", last)})
        transaction.append((day, f"n{VALUE if day == 17 else day}"), [file])
    commit(transaction)
    return table.refresh()


def holders(table: TableSnapshot) -> set[bytes]:
    """Return the first bytes of the keys of all rows with the value, which say what kind of row it is."""
    return {key[:1] for key, value in table.store.scan(b"", None) if VALUE.encode() in key + value}


@pytest.mark.parametrize("shrinks", [False, True])
def test_a_value_leaves_the_metastore(tmp_path: Path, shrinks: bool) -> None:
    """The steps of an erasure leave no row with it, also of a table that is small afterwards."""
    table = table_with_value(tmp_path)
    assert holders(table) >= {PARTITIONS, RANGE_MANIFESTS, INDEXES}
    transaction = Transaction(table, "delete")
    transaction.drop((17, f"n{VALUE}"))
    transaction.replace(
        (42, "n42"), [FileRecord("g.parquet", 100, 9, 5, {"v": ColumnStatistics(36, 0, "a", "b")})]
    )
    for day in range(43, 100) if shrinks else ():
        transaction.drop((day, f"n{day}"))
    commit(transaction)
    newest = table.refresh()
    assert holders(newest), "old versions still have it"
    vacuum(newest, keep_from=newest.version, full=True)
    newest = withdraw_removed_files(newest.refresh()) or newest
    vacuum(newest, keep_from=newest.version, full=True)
    scrub_store(newest.refresh())
    assert holders(newest) == set()
