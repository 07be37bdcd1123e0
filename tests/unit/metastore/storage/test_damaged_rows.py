"""A damaged row raises an error that names it, or changes no answer.

It never changes an answer silently.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from parquetry.errors import MetastoreDamagedError, ParquetryError
from parquetry.metastore import (
    ArrangementSpec,
    ColumnStatistics,
    FileRecord,
    Metastore,
    SkewMap,
    TableColumn,
    TableMetadata,
    TableSnapshot,
    Transaction,
)
from parquetry.metastore.check.fsck import fsck
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.commits.removed_files import files_removed
from parquetry.metastore.manifest.chunks import read_summaries
from parquetry.metastore.partition_rows.indexes import new_index
from parquetry.metastore.storage.checksums import _KINDS, is_damaged, with_checksum, without_checksum
from parquetry.metastore.storage.keyspace import (
    CHUNKS,
    FORMAT,
    HEADS,
    IN_FLIGHT,
    INDEXES,
    JOURNAL,
    PARTITIONS,
    SUMMARIES,
    prefix_range,
)
from parquetry.metastore.storage.model import RemovedFileRecord
from parquetry.metastore.versions.file_blocks import file_blocks
from parquetry.metastore.versions.partition import PartitionSnapshot
from parquetry.store import MemoryStore, Store
from tests.support.effort import STEP
from tests.support.stores.metastores import Crash, FaultyStore

ROW = re.compile(
    r"The metastore's row ([0-9a-f]+), which is a.*, is not as it was written: .*parquetry restore"
)
STATISTICS = {"x": ColumnStatistics(8, 0, 10, 99), "s": ColumnStatistics(8, 1, "a", "zz")}


def made(store: Store) -> Metastore:
    """Fill a store with rows of each kind, small ones, and one list of files."""
    metastore = Metastore(store, "/lake")
    metastore.create_database("d", {"location": "file:/lake/d", "comment": "mine"})
    metadata = TableMetadata(
        (
            TableColumn("x", "long"),
            TableColumn("s", "string"),
            TableColumn("p", "integer"),
            TableColumn("q", "string"),
        ),
        ("p", "q"),
        "parquet",
        "file:/lake/d/t",
        arrangement=ArrangementSpec(SkewMap(("x",), ((1,),), True, ("file:/far/one",))),
    )
    metadata = msgspec.structs.replace(metadata, indexes=(new_index(metadata, ["q"], ready=True),))
    table = metastore.create_table("d", "t", metadata)
    transaction = Transaction(table, "append")
    for n in range(3):
        files = [FileRecord(f"f{n}-{k}", 100 + k, 10, 7, STATISTICS) for k in range(2)]
        transaction.append((n, "abc"[n]), files)
    table = commit(transaction)
    transaction = Transaction(table, "change")
    transaction.drop((1, "b"))
    transaction.append((2, "c"), [FileRecord("more", 5, 5)])
    transaction.record_removed_files({"theirs": RemovedFileRecord(1, 7)})
    commit(transaction)
    long = metastore.create_table(
        "default", "long", TableMetadata((TableColumn("x", "long"),), (), "parquet", "file:/lake/long")
    )
    transaction = Transaction(long, "append")
    transaction.append(
        (), [FileRecord(f"pq-{n}", n, 1, n, {"x": ColumnStatistics(8, 0, n, n)}) for n in range(900)]
    )
    commit(transaction)
    return metastore


def answers(metastore: Metastore) -> dict[str, Any]:
    """Return all that a metastore answers."""
    found: dict[str, Any] = {}
    for database in metastore.databases():
        found[database] = metastore.database(database).properties
        for name in metastore.tables(database):
            table = metastore.table(database, name)
            for each in table.history():
                found[f"{name} {each.version}"] = (
                    each,
                    answers_of(metastore.table(database, name, version=each.version)),
                )
    return found


def answers_of(table: TableSnapshot) -> Any:
    """Return all answers of a version.

    They come from keys alone, from whole rows, from the index, and from part of the statistics.
    """
    partitions = list(table.partitions())
    keys = PartitionSnapshot.all_values(partitions)
    whole = [(each.location, each.arrangement, each.files, each.rows) for each in partitions]
    blocks = [
        (block.files.paths, block.files.rows.tolist(), block.skipped)
        for block in file_blocks(table.store, table.id, partitions, ["x"])
    ]
    found: list[Any] = []
    if table.metadata.indexes:
        (index,) = table.metadata.indexes
        found = sorted(key for key, _, _ in table.visible.index_entries(index.id).scan([(b"", None)]))
    chunks = [chunk for each in partitions for chunk in each.entry.chunks]
    sums = read_summaries(table.store, table.id, chunks)
    return table.metadata, table.totals, keys, whole, blocks, sums, found, list(files_removed(table))


def flipped(value: bytes, step: int) -> Iterator[bytes]:
    """Yield a value with a byte changed: each one, or every so many."""
    for place in range(0, len(value), step):
        for other in {value[place] ^ (1 << place % 8), value[place] ^ 0xFF}:
            yield value[:place] + bytes([other]) + value[place + 1 :]


def test_every_byte_of_every_row() -> None:
    """After a change of any byte of a row's value, reads are right, or the error names the row."""
    store = MemoryStore()
    expected = answers(made(store))
    rows = dict(store.scan(b"", None))
    assert {key[:1] for key in rows} >= set(_KINDS) - {JOURNAL, IN_FLIGHT}
    silent, named, others, refused = [], set(), [], set()
    for key, value in rows.items():
        for changed in flipped(value, min(STEP, 4) if len(value) < 600 else 499):
            store.put_many([(key, changed)])
            try:
                if answers(Metastore(store, "/lake")) != expected:
                    silent.append((key.hex(), changed.hex()))
            except MetastoreDamagedError as error:
                found = ROW.match(str(error))
                if found is not None and found[1] == key.hex():
                    named.add(key[:1])
                else:
                    others.append((key[:1], str(error)))
            except ParquetryError:
                refused.add(key)
        store.put_many([(key, value)])
    assert silent == []
    assert refused == {FORMAT}
    assert named >= set(_KINDS) - {JOURNAL, IN_FLIGHT}
    # The changed byte announced the checksum: the row then counts as one without, and cannot be decoded as
    # that.
    assert len(others) < 60, others


@pytest.mark.parametrize("tag", sorted(_KINDS))
def test_a_value_under_another_key(tag: bytes) -> None:
    """A row copied under the key of another row of its kind is not accepted as that row."""
    store = MemoryStore()
    metastore = made(store)
    value = next((value for _, value in metastore.store.scan(*prefix_range(tag))), b"\x92\x01\x02")
    one, other = (tag + bytes([number]) * 20 for number in (1, 2))
    kept = with_checksum(one, value)
    assert without_checksum(one, kept) in (value, kept)
    for key, changed in [
        (other, kept),
        *((one, each) for each in flipped(kept, 1 if len(kept) < 600 else 97)),
    ]:
        try:
            read = without_checksum(key, changed)
        except MetastoreDamagedError:
            continue
        assert is_damaged(read) or read == changed
        assert key == one or is_damaged(read)


def test_journals() -> None:
    """The journal rows of a crashed commit have checksums, too."""
    inner = MemoryStore()
    made(inner)
    store = FaultyStore(inner)
    store.crash_at = 3
    transaction = Transaction(Metastore(store, "/lake").table("d", "t"), "append")
    transaction.append((7, "z"), [FileRecord("f", 1, 1)])
    with contextlib.suppress(Crash):
        commit(transaction)
    rows = list(inner.scan(*prefix_range(JOURNAL)))
    assert rows
    for key, value in rows:
        assert is_damaged(without_checksum(key, value[:-1] + bytes([value[-1] ^ 1])))


def test_fsck_tells_of_damage(tmp_path: Path) -> None:
    """fsck reports damaged rows of partitions and chunks, and repairs index entries and summaries."""
    store = MemoryStore()
    metastore = made(store)
    expected = answers(metastore)
    for tag, kind, repaired in (
        (PARTITIONS, "unreadable row", False),
        (CHUNKS, "missing file list", False),
        (SUMMARIES, "file list sums", True),
        (INDEXES, "missing index entry", True),
    ):
        name = ("d", "t") if tag in (PARTITIONS, INDEXES) else ("default", "long")
        head = len(HEADS) + 8
        table = metastore.table(*name)
        rows = [row for row in store.scan(*prefix_range(tag + table.id)) if row[0][:head] == tag + table.id]
        key, value = rows[0]
        store.put_many([(key, value[:-1] + bytes([value[-1] ^ 1]))])
        found = fsck(metastore.table(*name), repair=repaired, footers=False)
        about = [each for each in found if each.kind == kind]
        assert about, found
        assert all(each.repaired is repaired for each in about)
        if repaired:
            left = {each.kind for each in fsck(metastore.table(*name), footers=False)}
            assert left <= {"missing file"}  # there are none on disk
            store.put_many([(key, value)])
            answers(Metastore(store, "/lake"))
        else:
            store.put_many([(key, value)])
            assert answers(Metastore(store, "/lake")) == expected


def test_a_table_beside_a_damaged_one() -> None:
    """Reads and writes of other tables work beside a damaged row."""
    store = MemoryStore()
    metastore = made(store)
    table = metastore.table("d", "t")
    key = HEADS + table.id
    store.put_many([(key, bytes([*store.get(key)[:-1], 0]))])  # type: ignore[index]
    again = Metastore(store, "/lake")
    with pytest.raises(MetastoreDamagedError, match=f"row {key.hex()}, which is a table's head"):
        again.table("d", "t")
    assert len(answers_of(again.table("default", "long"))[3]) == 1
    transaction = Transaction(again.table("default", "long"), "append")
    transaction.append((), [FileRecord("more", 1, 1)])
    assert commit(transaction).version == 2
    assert again.tables("default") == ["long"]
