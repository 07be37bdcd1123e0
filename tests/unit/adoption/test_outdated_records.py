"""Records of before statistics had a trust answer nothing, and are made anew by the next sync, once."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from parquetry.adoption.sync import SyncOptions, synchronise
from parquetry.data_files import ColumnStatistics, FileRecord, Trust
from parquetry.data_files.footers.footer_reader import ArrowFooters
from parquetry.metastore import Metastore, TableColumn, TableMetadata, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.prune.metadata_aggregates import answer_aggregate
from parquetry.prune.select import select_files
from parquetry.store import MemoryStore

COLUMNS = (TableColumn("x", "long"), TableColumn("p", "integer"))


@pytest.fixture
def table(tmp_path: Path) -> TableSnapshot:
    """A table with another writer's file, whose record has no trust and a wrong minimum."""
    metastore = Metastore(MemoryStore(), str(tmp_path))
    folder = tmp_path / "t"
    metadata = TableMetadata(COLUMNS, ("p",), "parquet", str(folder))
    transaction = Transaction(metastore.create_table("default", "t", metadata), "append")
    path = folder / "p=1" / "a.parquet"
    path.parent.mkdir(parents=True)
    pq.write_table(pa.table({"x": [1, 2, None]}), path)
    status = path.stat()
    record = FileRecord(
        "a.parquet",
        status.st_size,
        3,
        status.st_mtime_ns // 1_000_000,
        {"x": ColumnStatistics(9, 1, 0, 2)},
    )
    transaction.append((1,), [record])
    return commit(transaction)


def answers(table: TableSnapshot) -> object:
    selection = select_files(table, [], ["x"])
    return answer_aggregate(table.metadata, selection, [("min", "x"), ("count", "x")])


def test_an_older_record_answers_nothing_until_it_is_read_again(table: TableSnapshot) -> None:
    """Then its numbers are the footer's, and a second sync has nothing to do."""
    assert answers(table) is None
    (found,) = synchronise(table, ArrowFooters())
    assert (found.action, found.partition) == ("changed", "p=1")
    assert "1 read again" in (found.detail or "")
    now = table.refresh()
    assert answers(now) == [(1, 2)]
    (partition,) = now.partitions()
    (file,) = partition.files
    assert ((file.columns or {})["x"].trust, (file.columns or {})["x"].min) == (Trust.EXACT, 1)
    assert synchronise(now, ArrowFooters()) == []
    assert now.refresh().version == now.version


def test_a_dry_run_tells_and_changes_nothing(table: TableSnapshot) -> None:
    """The next sync has still to read the file."""
    assert len(synchronise(table, ArrowFooters(), SyncOptions(dry_run=True))) == 1
    assert table.refresh().version == table.version


def test_a_file_that_is_another_one_now_is_no_older_record(table: TableSnapshot) -> None:
    """It is read as a changed file."""
    path = Path(table.metadata.location.removeprefix("file:")) / "p=1" / "a.parquet"
    pq.write_table(pa.table({"x": [5, 6, 7, 8]}), path)
    (found,) = synchronise(table, ArrowFooters())
    assert "read again" not in (found.detail or "")
    assert answers(table.refresh()) == [(5, 4)]


def test_what_cannot_be_read_again_stays_as_it_was(table: TableSnapshot) -> None:
    """A partition that is elsewhere now, and a format that needs an engine, end no sync."""
    other = msgspec.structs.replace(table.metadata, format="orc")
    transaction = Transaction(table, "alter")
    transaction.set_metadata(other)
    assert synchronise(commit(transaction), ArrowFooters()) == []
