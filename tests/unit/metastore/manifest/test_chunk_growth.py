"""Lists of files grow without being written again and again, and stay few and sorted."""

from __future__ import annotations

import math
import random
from collections.abc import Iterable, Sequence

import msgspec
import pytest
from hypothesis import given, settings, strategies as st

from parquetry.data_files.records import ColumnStatistics, FileRecord, TableColumn
from parquetry.layout.arrangement import PLAIN, ArrangementSpec
from parquetry.layout.bucket_spec import BucketSpec
from parquetry.layout.part import SortColumn
from parquetry.metastore import Metastore, TableMetadata, TableSnapshot, Transaction
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.manifest import entries
from parquetry.metastore.manifest.chunks import (
    LEVELS,
    MAX_TAIL_BYTES,
    TAIL_BYTES_PER_ADDED_BYTE,
    Room,
    chunk_files,
    files_in_order,
    read_chunks,
    read_summaries,
    read_together,
    sort_column,
    to_rewrite,
)
from parquetry.metastore.manifest.columns import MARK
from parquetry.metastore.manifest.summary import types_of
from parquetry.metastore.storage.format import FormatRow
from parquetry.metastore.storage.keyspace import (
    CHUNKS,
    FORMAT,
    SUMMARIES,
    chunk_key,
    prefix_range,
    summary_key,
)
from parquetry.metastore.storage.model import FileChunk
from parquetry.metastore.storage.wire import encode
from parquetry.store import MemoryStore, Store
from parquetry.store.base import Fields
from tests.support.effort import examples
from tests.support.stores.metastores import Crash, FaultyStore

COLUMNS = tuple(TableColumn(f"c{n}", "long") for n in range(12))
TYPES = types_of(COLUMNS)
ROOM = Room(1000, 1 << 22)


class CountingStore(MemoryStore):
    """A store that counts the bytes that are written."""

    written = 0

    def put_many(self, rows: Iterable[tuple[bytes, bytes]], fields: Fields | None = None) -> bool:
        listed = list(rows)
        self.written += sum(len(key) + len(value) for key, value in listed)
        return super().put_many(listed, fields)

    def compare_and_set(self, key: bytes, expected: bytes | None, value: bytes | None) -> bool:
        self.written += len(key) + len(value or b"")
        return super().compare_and_set(key, expected, value)


def file(place: int) -> FileRecord:
    """Return a file with statistics of all columns, whose values begin at a number."""
    columns = {column.name: ColumnStatistics(1 << 20, 0, place, place + 9) for column in COLUMNS}
    return FileRecord(f"pq-0123456789abcdef-{place:08}.zstd.parquet", 1 << 27, 1000, place, columns)


def new(store: Store, **properties: str) -> TableSnapshot:
    """Return a new table without partition columns."""
    metadata = TableMetadata(COLUMNS, (), "parquet", "/lake/t", properties=properties)
    return Metastore(store, "/lake").create_table("default", "t", metadata)


def append(table: TableSnapshot, files: Sequence[FileRecord]) -> TableSnapshot:
    """Commit files to the one partition."""
    transaction = Transaction(table, "append")
    transaction.append((), files)
    return commit(transaction)


def chunks(table: TableSnapshot) -> tuple[FileChunk, ...]:
    """Return the chunks of the one partition."""
    partition = table.partition(())
    assert partition is not None
    return partition.entry.chunks


def files_of(table: TableSnapshot) -> tuple[FileRecord, ...]:
    """Return the files of the one partition."""
    partition = table.partition(())
    assert partition is not None
    return partition.files


def test_appends_of_one_file_write_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """An append to a long list writes 16 KiB on average, including merges into larger chunks.

    All files stay, in order.
    """
    monkeypatch.setattr(entries, "MAX_CHUNK_FILES", 200)
    store = CountingStore()
    table = append(new(store), [file(place) for place in range(5000)])
    assert [chunk.files for chunk in chunks(table)] == [200] * 25
    store.written = 0
    for place in range(5000, 5400):
        table = append(table, [file(place)])
    assert store.written / 400 < 16 << 10
    assert files_of(table) == tuple(file(place) for place in range(5400))
    assert [chunk.files for chunk in chunks(table)][:25] == [200] * 25
    assert len(chunks(table)) < 25 + 4 + 2 * 8


def read_of(table: TableSnapshot) -> int:
    """Return the bytes of the one partition's row and of its chunks."""
    partition = table.partition(())
    assert partition is not None
    return partition.record_bytes + sum(chunk.bytes for chunk in partition.entry.chunks)


def test_a_list_that_grew_is_as_short_as_one_of_a_single_commit() -> None:
    """A list of some hundred single appends takes a reader at most 1.2 times the bytes of one commit."""
    store = CountingStore()
    table = new(store)
    most = 0
    for place in range(700):
        table = append(table, [file(place)])
        most = max(most, len(chunks(table)))
        if place >= 300 and place % 57 == 0:
            once = append(new(MemoryStore()), [file(place) for place in range(place + 1)])
            assert read_of(table) <= 1.2 * read_of(once), place
    assert store.written / 700 < 6 << 10
    assert most <= 3


@settings(max_examples=examples(200), deadline=None)
@given(
    st.lists(st.integers(1, 40) | st.integers(1, 3000), min_size=1, max_size=20),
    st.integers(1, 2000),
    st.data(),
)
def test_each_file_is_written_a_few_times(sizes: list[int], size: int, data: st.DataObject) -> None:
    """The bytes written are bounded by the bytes added, for commits of any size, and few chunks are light.

    Each level may write a file once, and each commit may rewrite a bounded number of bytes of short chunks.
    """
    held: list[FileChunk] = []
    written, bound = 0, 0
    for place in range(300):
        count = data.draw(st.sampled_from(sizes)) if len(sizes) < 4 else sizes[place % len(sizes)]
        again = to_rewrite(held, count, count * size, ROOM)
        files = count + sum(chunk.files for chunk in held[len(held) - again :])
        del held[len(held) - again :]
        while files > 0:
            held.append(FileChunk(1, 1, part := min(files, ROOM.holds(size)), part * size))
            files -= part
            written += part * size
        bound += (len(LEVELS) + 2) * count * size + min(
            MAX_TAIL_BYTES, TAIL_BYTES_PER_ADDED_BYTE * count * size
        )
        assert written <= bound
        short = [chunk for chunk in held if chunk.bytes < MAX_TAIL_BYTES / 2 and ROOM.weight(chunk) < 0.75]
        assert len(short) < 2 or min(sizes) * size * TAIL_BYTES_PER_ADDED_BYTE < MAX_TAIL_BYTES
    light = [chunk for chunk in held if ROOM.weight(chunk) < 0.75]
    assert len(light) <= 11 * len(LEVELS) + 8 * 512 * min(LEVELS) + len(held) / 4


def test_a_list_of_a_million_files_is_short() -> None:
    """A partition's row refers to a few hundred chunks, for single files and for large commits."""
    for count in (16, 1000, 5000):
        held: list[FileChunk] = []
        total, longest = 0, 0
        while total < 1_000_000:
            total += count
            room = entries.room_for(Room(1000, 4 << 20), total)
            again = to_rewrite(held, count, count * 25, room)
            longest = max(longest, again)
            files = count + sum(chunk.files for chunk in held[len(held) - again :])
            del held[len(held) - again :]
            while files > 0:
                held.append(FileChunk(1, 1, part := min(files, room.files), part * 25))
                files -= room.files
        assert len(held) < 400
        assert longest < 32


def test_many_files_are_cut_at_once() -> None:
    """Thousands of files of one commit are split into chunks of a thousand.

    Files of wide tables are split into smaller chunks.
    """
    store = MemoryStore()
    table = append(new(store), [file(place) for place in range(2500)])
    assert [chunk.files for chunk in chunks(table)] == [1000, 1000, 500]
    values = [table.store.get(chunk_key(table.id, chunk.ticket, chunk.number)) for chunk in chunks(table)]
    assert [chunk.bytes for chunk in chunks(table)] == [len(value or b"") for value in values]
    wide = {f"c{n}": ColumnStatistics(n, 0, f"{n:060}", f"{n:061}") for n in range(60)}
    other = append(new(MemoryStore()), [FileRecord(f"f{n}", 1, 1, 1, wide) for n in range(1100)])
    assert len(chunks(other)) > 1
    assert all(chunk.bytes < 8 << 20 for chunk in chunks(other))


def test_sorted_files_are_in_few_chunks() -> None:
    """Files of a table with `sort-by` are sorted before they are cut, so that few chunks hold a value."""
    places = list(range(0, 30_000, 10))
    random.Random(5).shuffle(places)
    table = append(new(MemoryStore(), **{"sort-by": "c3, c1"}), [file(place) for place in places])
    found = read_summaries(table.store, table.id, chunks(table))
    bounds = [(each.columns["c3"].min, each.columns["c3"].max) for each in found if each and each.columns]
    assert bounds == [(0, 9999), (10_000, 19_999), (20_000, 29_999)]
    assert {file.path for file in files_of(table)} == {file(place).path for place in places}
    table = append(table, [file(5)] * 100)
    assert [file.modified for file in files_of(table)][-100:] == [5] * 100


def test_the_order_of_files() -> None:
    """Decimals are sorted as numbers, and files without statistics of the column come last.

    Without a sort column the order stays.
    """
    files = [
        FileRecord(name, 1, 1, 1, None if least is None else {"c": ColumnStatistics(min=least)})
        for name, least in (("a", None), ("b", "10.0"), ("c", "9.0"), ("d", "bad"), ("e", "-1.0"))
    ]
    types = types_of([TableColumn("c", "decimal(5,1)")])
    assert [file.path for file in files_in_order(files, "c", types)] == ["e", "c", "b", "a", "d"]
    assert files_in_order(files, None, types) == files
    mixed = [
        FileRecord(str(n), 1, 1, 1, {"c": ColumnStatistics(min=n)}) for n in (3, "x", 1.5, math.nan, b"y")
    ]
    assert len(files_in_order(mixed, "c", types_of([TableColumn("c", "long")]))) == 5


def test_which_column_sorts() -> None:
    """A partition's own order comes first, then the order of its buckets, then the table's `sort-by`.

    The result is a physical name.
    """
    renamed = TableColumn("new", "long", metadata={"parquetry.physical": "old"})
    metadata = TableMetadata((*COLUMNS, renamed), (), "parquet", "/t", properties={"sort-by": "NEW, c1"})
    assert sort_column(metadata, PLAIN) == "old"
    assert sort_column(metadata, ArrangementSpec(sort=(SortColumn("c2"),))) == "c2"
    assert (
        sort_column(metadata, ArrangementSpec(buckets=BucketSpec(("c0",), 4, 2, (SortColumn("c4"),)))) == "c4"
    )
    for said in ({}, {"sort-by": "gone"}, {"sort-by": "("}):
        assert sort_column(msgspec.structs.replace(metadata, properties=said), PLAIN) is None


def test_both_forms_are_read() -> None:
    """Chunks of format 1 are read beside chunks in columns.

    They have no summaries, and a merge takes both.
    """
    store = MemoryStore()
    table = append(new(store), [file(place) for place in range(1500)])
    first, last = chunks(table)
    old = encode([(f.path, f.bytes, f.rows, f.modified, f.columns) for f in map(file, range(1000))])
    store.put_many([(chunk_key(table.id, first.ticket, first.number), old)])
    store.delete_many([summary_key(table.id, first.ticket, first.number)])
    read = list(read_chunks(store, table.id, [last, first]))
    assert [each.paths[0] for each in read] == [file(1000).path, file(0).path]
    assert [type(each).__name__ for each in read] == ["ChunkColumns", "RecordedFiles"]
    assert chunk_files(old).records() == [file(place) for place in range(1000)]
    for order in ([first, last], [last, first, last], [last, last, first]):
        together = list(read_together(store, table.id, order))
        assert [count for counts, _ in together for count in counts] == [each.files for each in order]
        records = [record for _, files in together for record in files.records()]
        assert records == [
            record for files in read_chunks(store, table.id, order) for record in files.records()
        ]
    nothing, known = read_summaries(table.store, table.id, [first, last])
    assert nothing is None
    assert known is not None
    assert (known.rows, known.bytes) == (500_000, 500 << 27)


def test_a_list_that_is_lost_keeps_nobody_from_appending(monkeypatch: pytest.MonkeyPatch) -> None:
    """An unreadable chunk stays unchanged, and new files are appended after it."""
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", 10)
    for damage in (None, MARK + b"nonsense"):
        store = MemoryStore()
        table = append(append(new(store), [file(1)]), [file(2)])
        lost = chunk_key(table.id, chunks(table)[-1].ticket, 0)
        if damage is None:
            store.delete_many([lost])
        else:
            store.put_many([(lost, damage)])
        for place in range(3, 20):
            table = append(table, [file(place)])
        assert sum(chunk.files for chunk in chunks(table)) == 19


def test_the_format_is_raised_before_columns_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """In whichever write a client dies, no list in columns is in a store that older libraries still open."""
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", 10)
    for stop in range(12):
        store = MemoryStore()
        new(store)
        store.put_many([(FORMAT, encode(FormatRow("parquetry metastore", 1, "0.1")))])
        dying = FaultyStore(store)
        dying.crash_at = stop
        table = Metastore(dying, "/lake").table("default", "t")
        crashed = False
        try:
            append(table, [file(1), file(2)])
        except Crash:
            crashed = True
        rows = list(store.scan(*prefix_range(CHUNKS))) + list(store.scan(*prefix_range(SUMMARIES)))
        version = msgspec.msgpack.decode(store.get(FORMAT) or b"", type=FormatRow).version
        assert version == 2 or not rows
        assert crashed or len(rows) == 2
    assert not crashed
