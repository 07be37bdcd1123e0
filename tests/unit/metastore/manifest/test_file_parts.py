"""The files of one partition, some thousand at a time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pytest

from parquetry.errors import TableNotFoundError
from parquetry.metastore import Metastore, PartitionSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.manifest.entries import FILES_PER_READ
from parquetry.store import MemoryStore
from tests.support.stores.metastores import file, new_table

TOTAL = 3 * FILES_PER_READ
KEY = (3, "c")


class Watched(MemoryStore):
    """A store that counts the rows read by their keys."""

    def __init__(self) -> None:
        super().__init__()
        self.read = 0

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        self.read += len(keys)
        return super().get_many(keys)


@pytest.fixture
def store() -> Watched:
    """A store."""
    return Watched()


@pytest.fixture
def partition(store: Watched) -> PartitionSnapshot:
    """A partition of many files, which several commits have brought, some of them in its own row."""
    _, table = new_table(store)
    for start in range(0, TOTAL, FILES_PER_READ // 4):
        transaction = Transaction(table, "append")
        transaction.append(KEY, [file(f"{n:06d}") for n in range(start, start + FILES_PER_READ // 4)])
        table = commit(transaction)
    transaction = Transaction(table, "append")
    transaction.append(KEY, [file(f"{n:06d}") for n in range(TOTAL, TOTAL + 5)])
    found = commit(transaction).partition(KEY)
    assert found is not None
    assert len(found.entry.chunks) > 3
    return found


def test_all_files_in_order(partition: PartitionSnapshot) -> None:
    """Reading in parts gives the same files as reading at once."""
    assert tuple(partition.each_file()) == partition.files
    assert [(each.path, each.bytes, each.rows, each.modified) for each in partition.each_listed()] == [
        (each.path, each.bytes, each.rows, each.modified) for each in partition.files
    ]


def test_no_more_is_read_than_is_asked_for(partition: PartitionSnapshot, store: Watched) -> None:
    """The first file needs only some of the chunks, and files before the start are not read."""
    chunks = partition.entry.chunks
    store.read = 0
    files: Iterator[object] = partition.each_file()
    next(files)
    assert 0 < store.read < len(chunks)
    store.read = 0
    assert [each.path for each in partition.each_listed(TOTAL)] == [
        each.path for each in partition.files[-5:]
    ]
    assert store.read == len(chunks)  # for the files that it is compared with, and no more


def test_any_place_can_be_gone_on_from(partition: PartitionSnapshot) -> None:
    """At the borders of chunks, next to them, and behind the end."""
    paths = [each.path for each in partition.files]
    borders = [0]
    for chunk in partition.entry.chunks:
        borders.append(borders[-1] + chunk.files)
    for start in {place + step for place in borders for step in (-1, 0, 1)} | {len(paths), len(paths) + 9}:
        if start >= 0:
            assert [each.path for each in partition.each_listed(start)] == paths[start:]


def test_a_table_that_is_dropped_in_the_middle(store: Watched, partition: PartitionSnapshot) -> None:
    """An error says so: no file is left out in silence."""
    files = partition.each_file()
    next(files)
    Metastore(store, "/lake").drop_table("default", "t")
    with pytest.raises(TableNotFoundError, match="was dropped while"):
        list(files)
