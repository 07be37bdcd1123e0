"""fsck finds what is not as it should be, and mends what can be mended."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from parquetry.errors import MetastoreDamagedError, WarehouseError
from parquetry.metastore import ColumnStatistics, FileRecord, Metastore, Totals, Transaction
from parquetry.metastore.check.fsck import Finding, fsck
from parquetry.metastore.commits.committer import commit
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.manifest import entries
from parquetry.metastore.manifest.chunks import encode_summary, read_summaries
from parquetry.metastore.storage.head import read_head
from parquetry.metastore.storage.keyspace import (
    CHUNKS,
    chunk_key,
    commit_key,
    head_key,
    metadata_key,
    partition_prefix,
    prefix_range,
    summary_key,
)
from parquetry.metastore.storage.wire import encode
from parquetry.metastore.versions import snapshot
from tests.support.stores.metastores import Crash, FaultyStore, content, leftovers
from tests.support.tables.lakes import TableLake, busy


def kinds(found: list[Finding]) -> list[tuple[str, str | None, bool]]:
    return [(each.kind, each.partition, each.repaired) for each in found]


def path_of(lake: TableLake, key: tuple[int, str], name: str) -> Path:
    folder = lake.table().placement.default_location(key).removeprefix("file:")
    return Path(folder) / f"pq-{lake.id.hex()}-{name}.parquet"


def test_a_sound_table(tmp_path: Path) -> None:
    """fsck reports no problem of a sound table, and its repair makes no version."""
    lake = busy(tmp_path)
    assert fsck(lake.table(), repair=True) == []
    assert lake.table().version == 6


def test_a_partition_that_another_program_has_overwritten(tmp_path: Path) -> None:
    """Its missing files are named, and so is the foreign one in their place; hidden and own ones are not."""
    lake = busy(tmp_path)
    lost = path_of(lake, (1, "a"), "three")
    lost.unlink()
    for name in ("part-00000-theirs.c000.parquet", "_SUCCESS", path_of(lake, (1, "a"), "older").name):
        (lost.parent / name).write_bytes(b"theirs")
    found = fsck(lake.table())
    assert kinds(found) == [("missing file", "d=1/s=a", False), ("foreign file", "d=1/s=a", False)]
    assert "another program has written 1 file" in found[1].detail
    assert "such as part-00000-theirs.c000.parquet" in found[1].detail


def test_files(tmp_path: Path) -> None:
    """A missing file is removed on request, in one commit; a file of another size is reported."""
    lake = busy(tmp_path)
    lake.append((5, "e"), "five")
    path_of(lake, (1, "a"), "three").unlink()
    path_of(lake, (5, "e"), "five").write_bytes(b"another size")
    expected = [("missing file", "d=1/s=a", False), ("file size", "d=5/s=e", False)]
    found = fsck(lake.table())
    assert kinds(found) == expected
    assert found[0].path == str(path_of(lake, (1, "a"), "three"))
    assert "has 12 bytes, 4 are listed" in found[1].detail
    assert lake.listed() == {"three", "four", "five"}
    assert kinds(fsck(lake.table(), repair=True)) == [("missing file", "d=1/s=a", True), expected[1]]
    assert lake.listed() == {"four", "five"}
    assert content(lake.table())[1, "a"] == [f"pq-{lake.id.hex()}-four.parquet"]
    assert kinds(fsck(lake.table())) == expected[1:]


def test_totals(tmp_path: Path) -> None:
    """Totals that are not the sum of the partitions are put right; so are a partition's."""
    lake = busy(tmp_path)
    head = read_head(lake.store, lake.id)
    assert head is not None
    wrong = msgspec.structs.replace(head.commit, totals=Totals(7, 7, 7, 7, 0))
    lake.store.put_many([(head_key(lake.id), encode(msgspec.structs.replace(head, commit=wrong)))])
    assert kinds(fsck(lake.table())) == [("table totals", None, False)]
    assert kinds(fsck(lake.table(), repair=True)) == [("table totals", None, True)]
    assert fsck(lake.table()) == []
    assert lake.table().version == 6
    content(lake.table())
    row, value = next(lake.store.scan(*prefix_range(partition_prefix(lake.id))))
    entry = entries.decode_entry(value)
    lake.store.put_many([(row, entries.encode_entry(msgspec.structs.replace(entry, bytes=3, file_count=9)))])
    found = fsck(lake.table(), repair=True)
    assert kinds(found) == [("partition sums", "d=1/s=a", True), ("table totals", None, True)]
    assert fsck(lake.table()) == []
    content(lake.table())


def test_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Missing or unreadable rows are reported, and a repair does no further harm."""
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", 10)
    lake = busy(tmp_path)
    lake.append((5, "e"), "five")
    unneeded = chunk_key(lake.id, 1, 99)
    lake.store.put_many([(unneeded, encode((FileRecord("x", 1),)))])
    assert kinds(fsck(lake.table())) == [("unneeded file list", None, False)]
    assert kinds(fsck(lake.table(), repair=True)) == [("unneeded file list", None, True)]
    assert fsck(lake.table()) == []
    newest = list(lake.store.scan(*prefix_range(CHUNKS + lake.id)))[-1]
    lake.store.delete_many([newest[0]])
    assert kinds(fsck(lake.table(), repair=True)) == [("missing file list", "d=5/s=e", False)]
    lake.store.put_many([newest])
    row, value = next(lake.store.scan(*prefix_range(partition_prefix(lake.id))))
    lake.store.put_many([(row, b"\x01nonsense")])
    assert kinds(fsck(lake.table(), repair=True)) == [("unreadable row", "d=1/s=a", False)]
    lake.store.put_many([(row, value)])
    lake.store.delete_many([commit_key(lake.id, 3)])
    assert kinds(fsck(lake.table())) == [("missing commit", None, False)]
    lake.store.delete_many([metadata_key(lake.id, 0)])
    assert kinds(fsck(Metastore(lake.store, "/x").table("default", "t"))) == [
        ("missing commit", None, False),
        ("missing metadata", None, False),
    ]


def test_sums_of_file_lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A summary is reported if it is missing, damaged, or claims more than its files do.

    A repair writes it anew. A summary that claims less stays.
    """
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", 10)
    lake = busy(tmp_path)
    transaction = Transaction(lake.table(), "append")
    listed = lake.file((5, "e"), "five")
    columns = {"x": ColumnStatistics(4, 0, 10, 20), "gone": ColumnStatistics(4, 0, 1, 2)}
    described = [msgspec.structs.replace(listed, columns=columns)]
    transaction.append((5, "e"), described)
    commit(transaction)
    part = lake.table().partition((5, "e"))
    assert part is not None
    (chunk,) = part.entry.chunks
    row = summary_key(lake.id, chunk.ticket, chunk.number)
    (true,) = read_summaries(lake.table().store, lake.id, [chunk])
    assert true is not None
    assert true.columns == {"x": ColumnStatistics(4, 0, 10, 20), "gone": ColumnStatistics(4, 0)}
    assert fsck(lake.table()) == []

    def told(**column: Any) -> bytes:
        changed = msgspec.structs.replace(columns["x"], **column)
        return encode_summary(msgspec.structs.replace(true, columns={**(true.columns or {}), "x": changed}))

    less = [told(min=None), told(min=None, max=None), told(nulls=None)]
    for value in less:
        lake.store.put_many([(row, value)])
        assert fsck(lake.table()) == []
    more = [
        told(min=11),
        told(max=19),
        told(nulls=1),
        told(min=10.0),
        b"\xc1",
        encode_summary(FileRecord("", 1)),
    ]
    for wrong in [None, *more]:
        lake.store.delete_many([row])
        if wrong is not None:
            lake.store.put_many([(row, wrong)])
        assert kinds(fsck(lake.table())) == [("file list sums", "d=5/s=e", False)]
        assert kinds(fsck(lake.table(), repair=True)) == [("file list sums", "d=5/s=e", True)]
        assert fsck(lake.table()) == []
        assert read_summaries(lake.table().store, lake.id, [chunk]) == [true]


def test_dead_commits(tmp_path: Path) -> None:
    """The rows of a dead writer are reported, and removed on request."""
    lake = busy(tmp_path)
    store = FaultyStore(lake.store)
    transaction = Transaction(Metastore(store, str(tmp_path)).table("default", "t"), "append")
    transaction.append((8, "x"), [lake.file((8, "x"), "eight")])
    store.crash_at = 4
    with pytest.raises(Crash):
        commit(transaction)
    assert leftovers(lake.store, lake.id)
    assert kinds(fsck(lake.table())) == [("dead commit", None, False)]
    found = fsck(lake.table(), repair=True)
    assert kinds(found) == [("dead commit", None, True), ("journal", None, True)]
    assert leftovers(lake.store, lake.id) == []
    assert fsck(lake.table()) == []


@pytest.mark.parametrize("damage", [b"", b"\x93nonsense", b"\xff\xfe"])
def test_broken_rows(tmp_path: Path, damage: bytes) -> None:
    """Every reader reports a row of foreign bytes as damaged, and fsck reports the version."""
    lake = busy(tmp_path)
    ticket = lake.table().commit.metadata
    for key, says in (
        (commit_key(lake.id, 3), [("unreadable version", None, False)]),
        (metadata_key(lake.id, ticket), None),
        (head_key(lake.id), None),
    ):
        value = lake.store.get(key)
        assert value is not None
        lake.store.put_many([(key, damage)])
        metastore = Metastore(lake.store, "/x")
        snapshot._cache.clear()  # as another process, which has not read it before
        with pytest.raises(MetastoreDamagedError, match="cannot be read as"):
            dump(metastore, tmp_path / "dump")
        assert not (tmp_path / "dump").exists()
        if says is None:
            with pytest.raises(MetastoreDamagedError, match="fsck"):
                metastore.table("default", "t")
        else:
            assert kinds(fsck(metastore.table("default", "t"), repair=True)) == says
        lake.store.put_many([(key, value)])
    assert fsck(lake.table()) == []


def test_metadata_that_are_gone(tmp_path: Path) -> None:
    """The table is not taken for one that was dropped."""
    lake = busy(tmp_path)
    lake.store.delete_many([metadata_key(lake.id, lake.table().commit.metadata)])
    snapshot._cache.clear()
    with pytest.raises(MetastoreDamagedError, match=r"table default\.t.* are gone"):
        Metastore(lake.store, "/x").table("default", "t")


def test_a_dump_without_a_list_of_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It would lose the files of a partition, so none is made."""
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", 10)
    lake = busy(tmp_path)
    lake.append((5, "e"), "five")
    newest = list(lake.store.scan(*prefix_range(CHUNKS + lake.id)))[-1]
    lake.store.delete_many([newest[0]])
    with pytest.raises(WarehouseError, match="list of a partition's files is missing"):
        dump(lake.metastore, tmp_path / "dump")
    assert not (tmp_path / "dump").exists()
