"""Each batch of a streaming query is committed once, despite other writers and vacuums."""

from __future__ import annotations

from pathlib import Path

import pytest

from parquetry.errors import BatchCommittedError
from parquetry.metastore import Metastore, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.metastore.storage.model import StreamBatch
from parquetry.metastore.vacuuming.vacuum import vacuum
from parquetry.store import MemoryStore
from tests.support.stores.metastores import content, file, leftovers, new_table
from tests.support.tables.lakes import NOW, TableLake

KEY = (1, "a")


def write(table: TableSnapshot, query: str, number: int, name: str) -> TableSnapshot:
    """Commit a file as a batch."""
    transaction = Transaction(table, "append")
    transaction.append(KEY, [file(name)])
    transaction.set_stream_batch(StreamBatch(query, number))
    return commit(transaction)


def names(table: TableSnapshot) -> list[str]:
    return content(table)[KEY]


def test_a_batch_is_committed_once() -> None:
    """A batch whose number was already reached is refused, and leaves no row.

    Other queries have numbers of their own.
    """
    _, table = new_table()
    table = write(table, "q", 0, "q0")
    table = write(table, "other", 4, "other4")
    table = write(table, "q", 2, "q2")
    for query, number in (("q", 0), ("q", 2), ("other", 4)):
        assert StreamBatch(query, number).is_in(table.commit)
        with pytest.raises(
            BatchCommittedError,
            match=f"Batch {number} of the streaming query {query} was committed to table default.t",
        ):
            write(table, query, number, "again")
    assert (names(table.refresh()), table.refresh().version) == (["a", "q0", "other4", "q2"], table.version)
    assert leftovers(table.store, table.id) == []
    assert write(table, "q", 3, "q3").commit.streams == {"other": 4, "q": 3}


def test_of_two_who_commit_the_same_batch_one_does() -> None:
    """Both begin with a version that does not know it; the second finds it when it is about to publish."""
    _, table = new_table()
    write(table, "q", 0, "first")
    with pytest.raises(BatchCommittedError):
        write(table, "q", 0, "second")
    assert names(table.refresh()) == ["a", "first"]
    write(table, "p", 0, "other")  # on top of an old version, too
    assert table.refresh().commit.streams == {"q": 0, "p": 0}


def test_what_others_commit_carries_it_on(tmp_path: Path) -> None:
    """Appends, other metadata, a vacuum of all before, a dump and what it is restored into."""
    lake = TableLake(tmp_path / "lake")
    table = write(lake.table(), "q", 7, lake.file(KEY, "one").path)
    lake.append(KEY, "two")
    lake.comment("changed")
    vacuum(lake.table(), older_than=NOW)
    assert lake.table().commit.streams == {"q": 7}
    dump(lake.metastore, tmp_path / "dump")
    copy = Metastore(MemoryStore(), str(tmp_path / "lake"))
    restore(copy, tmp_path / "dump")
    assert copy.table("default", "t").commit.streams == {"q": 7}
    with pytest.raises(BatchCommittedError):
        write(copy.table("default", "t"), "q", 7, "again")
    assert table.commit.streams == {"q": 7}


def test_queries_that_have_not_written_for_longest_are_forgotten() -> None:
    """Each commit knows of a hundred, so that it stays small."""
    streams: dict[str, int] = {}
    for number in range(150):
        streams = StreamBatch(f"q{number}", number).add_to(streams)
        streams = StreamBatch("busy", number).add_to(streams)
    assert list(streams) == [f"q{number}" for number in range(51, 150)] + ["busy"]
    assert streams["busy"] == 149


def test_a_batch_without_rows_makes_no_version() -> None:
    """It is not remembered, and there is nothing that could be committed twice."""
    _, table = new_table()
    transaction = Transaction(table, "append")
    transaction.set_stream_batch(StreamBatch("q", 0))
    assert commit(transaction).version == table.version
