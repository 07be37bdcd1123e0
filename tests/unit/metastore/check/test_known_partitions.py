"""An fsck of a large table looks at its changes."""

from __future__ import annotations

from pathlib import Path

import pytest

from parquetry.metastore import (
    FileRecord,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
    open_metastore,
)
from parquetry.metastore.check.fsck import fsck
from parquetry.metastore.cleanup import upkeep_record
from parquetry.metastore.commits.committer import commit
from tests.support.stores.rows_examined import rows_examined

PARTITIONS = 40


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> TableSnapshot:
    monkeypatch.setattr(upkeep_record, "MIN_PARTITIONS", PARTITIONS)
    metastore = open_metastore(str(tmp_path), create=True)
    columns = (TableColumn("v", "integer"), TableColumn("p", "integer"))
    metadata = TableMetadata(columns, ("p",), "parquet", str(tmp_path / "t"))
    table = metastore.create_table("default", "t", metadata)
    return write(table, range(PARTITIONS))


def write(table: TableSnapshot, partitions: range) -> TableSnapshot:
    """Append a file of a byte to each of some partitions."""
    transaction = Transaction(table.refresh(), "append")
    for p in partitions:
        path = location(table, p)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"x")
        transaction.append((p,), [FileRecord(path.name, 1, 1, None, {})])
    return commit(transaction)


def location(table: TableSnapshot, p: int) -> Path:
    folder = Path(table.placement.default_location((p,)).removeprefix("file:"))
    return folder / f"pq-{table.id.hex()}-{p}.parquet"


def test_nothing_is_read_again_while_nothing_changes(
    table: TableSnapshot, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After an fsck without findings, the next one reads no row of a partition until a commit comes."""
    assert fsck(table) == []
    with rows_examined(monkeypatch, table.id) as rows:
        assert fsck(table) == []
    assert len(rows) == 0
    with rows_examined(monkeypatch, table.id) as rows:
        assert fsck(table, full=True) == []
    assert len(rows) == 3 * PARTITIONS  # the rows of all versions; the files; the files of other writers


def test_only_files_that_have_come_are_looked_at(table: TableSnapshot) -> None:
    """A file that is gone is found in a partition that has changed since, and with `full` in any."""
    assert fsck(table) == []
    location(table, 3).unlink()
    write(table, range(100, 103))
    location(table, 101).unlink()
    assert [found.partition for found in fsck(table)] == ["p=101"]
    assert [found.partition for found in fsck(table)] == ["p=101"]  # a finding is not forgotten
    assert [found.partition for found in fsck(table, full=True)] == ["p=3", "p=101"]
    assert [found.repaired for found in fsck(table, repair=True)] == [True, True]
    assert fsck(table, full=True) == []


def test_a_small_table_is_looked_at_as_a_whole(table: TableSnapshot, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where little is to look at, each fsck looks at all of it."""
    monkeypatch.setattr(upkeep_record, "MIN_PARTITIONS", PARTITIONS + 1)
    assert fsck(table) == []
    location(table, 3).unlink()
    assert [found.partition for found in fsck(table)] == ["p=3"]
