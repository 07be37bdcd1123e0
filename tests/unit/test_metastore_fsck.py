"""fsck finds what is not as it should be, and mends what can be mended."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from metastore_testing import Crash, FaultyStore, content, leftovers
from test_metastore_history import Lake, busy

from parquetry.maintenance.fsck import Finding, fsck
from parquetry.metastore import DataFile, Metastore, Totals, entries
from parquetry.metastore.head import read_head
from parquetry.metastore.keyspace import (
    CHUNKS,
    chunk_key,
    commit_key,
    head_key,
    metadata_key,
    partition_prefix,
    prefix_range,
)
from parquetry.metastore.model import encode


def kinds(found: list[Finding]) -> list[tuple[str, str | None, bool]]:
    return [(each.kind, each.partition, each.repaired) for each in found]


def path_of(lake: Lake, key: tuple[int, str], name: str) -> Path:
    folder = lake.table().default_location(key).removeprefix("file:")
    return Path(folder) / f"pq-{lake.id.hex()}-{name}.parquet"


def test_a_sound_table(tmp_path: Path) -> None:
    """Of a table that is in order, nothing is reported, and repairing it makes no version."""
    lake = busy(tmp_path)
    assert fsck(lake.table(), repair=True) == []
    assert lake.table().version == 6


def test_files(tmp_path: Path) -> None:
    """A missing file is taken out if asked for, in one commit; one of another size is reported."""
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
    """Rows that are gone or cannot be read are reported, with what to do, and nothing is made worse."""
    monkeypatch.setattr(entries, "INLINE_BYTES", 10)
    lake = busy(tmp_path)
    lake.append((5, "e"), "five")
    unneeded = chunk_key(lake.id, 1, 99)
    lake.store.put_many([(unneeded, encode((DataFile("x", 1),)))])
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


def test_dead_commits(tmp_path: Path) -> None:
    """What a dead writer left is reported, and removed on request."""
    lake = busy(tmp_path)
    store = FaultyStore(lake.store)
    transaction = Metastore(store, str(tmp_path)).table("default", "t").begin("append")
    transaction.append((8, "x"), [lake.file((8, "x"), "eight")])
    store.crash_at = 4
    with pytest.raises(Crash):
        transaction.commit()
    assert leftovers(lake.store, lake.id)
    assert kinds(fsck(lake.table())) == [("dead commit", None, False)]
    found = fsck(lake.table(), repair=True)
    assert kinds(found) == [("dead commit", None, True), ("journal", None, True)]
    assert leftovers(lake.store, lake.id) == []
    assert fsck(lake.table()) == []
