"""How often a vacuum goes through the keys of a table."""

from __future__ import annotations

from pathlib import Path

import pytest

from parquetry.metastore import (
    FileRecord,
    Metastore,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
    open_metastore,
)
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.deletion.vacuum import vacuum
from parquetry.metastore.operations.indexes import create_index
from parquetry.metastore.storage.owner import now_ms
from tests.support.stores.rows_examined import rows_examined

PARTITIONS = 40


def table_of(metastore: Metastore, folder: Path) -> TableSnapshot:
    """Return a table of some partitions, each of one file."""
    metastore.create_database("db")
    columns = (TableColumn("v", "integer"), TableColumn("p", "integer"), TableColumn("q", "integer"))
    metadata = TableMetadata(columns, ("p", "q"), "parquet", str(folder / "t"))
    transaction = Transaction(metastore.create_table("db", "t", metadata), "append")
    for p in range(PARTITIONS):
        transaction.append((p, p % 3), [FileRecord("f", 100, 10, 7, {})])
    return commit(transaction)


@pytest.fixture
def table(tmp_path: Path) -> TableSnapshot:
    (tmp_path / "t").mkdir()
    return table_of(open_metastore(str(tmp_path), create=True), tmp_path)


def seen(monkeypatch: pytest.MonkeyPatch, table: TableSnapshot, *, dry_run: bool = False) -> int:
    """Return how many rows of partitions a vacuum looks at that has nothing to do."""
    vacuum(table, older_than=now_ms() + 1)  # the commits before
    with rows_examined(monkeypatch, table.id) as examined:
        assert vacuum(table, older_than=now_ms() + 1, dry_run=dry_run) == []
    return len(examined)


def test_nothing_to_do_is_found_by_four_passes(table: TableSnapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vacuum without work makes four passes over the rows of partitions.

    They look for folders, files of old rows, old rows, and manifest chunks. No further pass deletes.
    """
    assert seen(monkeypatch, table) == 4 * PARTITIONS
    assert seen(monkeypatch, table, dry_run=True) == 4 * PARTITIONS


def test_an_index_takes_one_pass_more(table: TableSnapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Old rows are gone through once more for their entries, where a table has an index."""
    create_index(table, ["q"])
    assert seen(monkeypatch, table.refresh()) == 5 * PARTITIONS
