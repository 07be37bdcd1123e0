"""`compact_metadata` writes lists of files in their newest form, and changes nothing that a query sees."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path

import pytest
from typer.testing import CliRunner

from parquetry.catalog import Catalog
from parquetry.cli.main import app
from parquetry.data_files.records import ColumnStatistics, FileRecord, TableColumn
from parquetry.errors import CommitConflictError, MetastoreDamagedError
from parquetry.metastore import Metastore, TableMetadata, TableSnapshot, Transaction, open_metastore
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.manifest import chunks, entries
from parquetry.metastore.manifest.chunks import read_summaries
from parquetry.metastore.operations.compact_metadata import compact_metadata
from parquetry.metastore.results import Compacted
from parquetry.metastore.storage.keyspace import chunk_key
from parquetry.store import MemoryStore, Store

COLUMNS = (TableColumn("v", "long"), TableColumn("p", "integer"))


def file(place: int) -> FileRecord:
    return FileRecord(f"f{place:05}", 100, 10, place, {"v": ColumnStatistics(4, 0, place, place)})


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", 200)
    monkeypatch.setattr(entries, "MAX_CHUNK_FILES", 50)
    monkeypatch.setattr(chunks, "MAX_TAIL_BYTES", 0)  # as if 50 files were many


def grown(store: Store, warehouse: str = "/lake", **properties: str) -> TableSnapshot:
    """Return a table with a long, unordered list of files in partition 1, and a short list in 2."""
    metastore = Metastore(store, warehouse)
    metadata = TableMetadata(COLUMNS, ("p",), "parquet", f"{warehouse}/t", properties=properties)
    table = metastore.create_table("default", "t", metadata)
    places = list(range(333))
    random.Random(3).shuffle(places)
    for first in range(0, 333, 9):
        transaction = Transaction(table, "append")
        transaction.append((1,), [file(place) for place in places[first : first + 9]])
        transaction.append((2,), [file(first)] if first < 18 else [])
        table = commit(transaction)
    return table


def bounds(table: TableSnapshot) -> list[tuple[int, int]]:
    """Return the least and the greatest value in each chunk of partition 1."""
    partition = table.partition((1,))
    assert partition is not None
    found = read_summaries(table.store, table.id, partition.entry.chunks)
    columns = [each.columns or {} for each in found if each is not None]
    return [(each["v"].min, each["v"].max) for each in columns]


def seen(table: TableSnapshot) -> object:
    """Return what a query sees of a table."""
    parts = {part.values: sorted(part.files, key=lambda file: file.path) for part in table.partitions()}
    return table.totals, table.metadata, repr(parts)


def test_a_sorted_table() -> None:
    """Compaction leaves full chunks in order, and a second run commits nothing.

    The old version is read as before.
    """
    table = grown(MemoryStore(), **{"sort-by": "v"})
    partition = table.partition((1,))
    assert partition is not None
    before = len(partition.entry.chunks)
    content = seen(table)
    assert compact_metadata(table) == Compacted(1, before, 7)
    after = table.refresh()
    assert after.version == table.version + 1
    assert after.operation == "compact metadata"
    assert seen(after) == seen(table) == content
    narrow = bounds(after)
    assert all(high < low for (_, high), (low, _) in itertools.pairwise(narrow))
    assert compact_metadata(after) == Compacted(0, 0, 0)
    assert table.refresh().version == after.version


def test_an_unsorted_table_shares_its_full_chunks() -> None:
    """Files keep their order; what is full already is not written again."""
    table = grown(MemoryStore())
    transaction = Transaction(table, "append")
    transaction.append((3,), map(file, range(120)))
    table = commit(transaction)
    for place in range(120, 180, 20):  # each in a chunk that is neither full nor made into one with the last
        transaction = Transaction(table, "append")
        transaction.append((3,), map(file, range(place, place + 20)))
        table = commit(transaction)
    before = table.partition((3,))
    assert before is not None
    assert [chunk.files for chunk in before.entry.chunks][:2] == [50, 50]
    compact_metadata(table)
    after = table.refresh().partition((3,))
    assert after is not None
    assert after.files == tuple(map(file, range(180)))
    assert after.entry.chunks[:2] == before.entry.chunks[:2]
    assert [chunk.files for chunk in after.entry.chunks] == [50, 50, 50, 30]
    assert compact_metadata(table.refresh()).partitions == 0


def test_what_others_append_meanwhile_stays() -> None:
    """An append between planning and commit keeps its file, and neither commit fails.

    A drop of the partition conflicts.
    """
    table = grown(MemoryStore(), **{"sort-by": "v"})
    transaction = Transaction(table, "compact metadata")
    transaction.recut((1,))
    others = Transaction(table, "append")
    others.append((1,), [file(5000)])
    commit(others)
    after = commit(transaction)
    partition = after.partition((1,))
    assert partition is not None
    assert len(partition.files) == 334
    transaction = Transaction(after, "compact metadata")
    transaction.recut((1,))
    others = Transaction(after, "drop")
    others.drop((1,))
    commit(others)
    with pytest.raises(CommitConflictError, match="p=1 was changed"):
        commit(transaction)


def test_a_list_that_cannot_be_read() -> None:
    """The error suggests fsck, and the table does not change."""
    table = grown(MemoryStore(), **{"sort-by": "v"})
    partition = table.partition((1,))
    assert partition is not None
    chunk = partition.entry.chunks[0]
    table.store.put_many([(chunk_key(table.id, chunk.ticket, chunk.number), b"\xc1nonsense")])
    with pytest.raises(MetastoreDamagedError, match=r"CALL system\.fsck"):
        compact_metadata(table)
    assert table.refresh().version == table.version


def test_the_command(tmp_path: Path) -> None:
    """The command prints what it did, and a second run prints that it had no work."""
    with open_metastore(str(tmp_path), create=True) as metastore:
        table = grown(metastore.store.rows, str(tmp_path))
        assert Catalog(metastore).fsck("t") != []  # the files are not there
        partition = table.partition((1,))
        assert partition is not None
        before = len(partition.entry.chunks)
    run = CliRunner().invoke
    found = run(app, ["compact-metadata", "t", "--warehouse", str(tmp_path), "--json"])
    assert found.exit_code == 0, found.output
    told = json.loads(found.stdout)
    assert told == [{"partitions": 1, "chunks_before": before, "chunks_after": 7}]
    again = run(app, ["compact-metadata", "t", "--warehouse", str(tmp_path)])
    assert "nothing to do" in again.stdout
