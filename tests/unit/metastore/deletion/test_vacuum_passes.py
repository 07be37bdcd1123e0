"""How often a vacuum goes through the keys of a table."""

from __future__ import annotations

import os
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
from parquetry.metastore.cleanup import upkeep_record
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.operations.indexes import create_index
from parquetry.metastore.storage.owner import now_ms
from parquetry.metastore.vacuuming.vacuum import vacuum
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


def test_nothing_to_do_is_found_by_one_pass(table: TableSnapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    """A vacuum without work makes one pass over the rows of partitions, also where there is an index."""
    assert seen(monkeypatch, table) == PARTITIONS
    assert seen(monkeypatch, table, dry_run=True) == PARTITIONS
    create_index(table, ["q"])
    assert seen(monkeypatch, table.refresh()) == PARTITIONS


def test_a_large_table_is_looked_at_again_if_it_has_changed(
    table: TableSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The rows of a large table are not read while no commit has come since a vacuum without work.

    With `full` they are read.
    """
    monkeypatch.setattr(upkeep_record, "MIN_PARTITIONS", PARTITIONS)
    now = now_ms() + 1
    vacuum(table, older_than=now)
    vacuum(table, older_than=now)

    def examined(**options: bool) -> int:
        with rows_examined(monkeypatch, table.id) as rows:
            assert vacuum(table, older_than=now, **options) == []
        return len(rows)

    assert examined() == 0
    assert examined(full=True) == PARTITIONS
    transaction = Transaction(table.refresh(), "append")
    transaction.append((100, 1), [FileRecord("f", 100, 10, 7, {})])
    commit(transaction)
    assert examined() == PARTITIONS + 1
    assert examined() == 0


def test_a_file_that_no_row_lists_is_found_without_the_rows(
    table: TableSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The folder is listed by each vacuum, so what killed writers leave there is deleted all the same."""
    monkeypatch.setattr(upkeep_record, "MIN_PARTITIONS", PARTITIONS)
    vacuum(table)
    vacuum(table)
    folder = Path(table.metadata.location.removeprefix("file:"))
    left = folder / f"pq-{table.id.hex()}-1-0.parquet"
    left.write_bytes(b"x")
    os.utime(left, (1_000_000_000, 1_000_000_000))
    assert [row.kind for row in vacuum(table)] == ["left-over file"]
    assert not left.exists()
