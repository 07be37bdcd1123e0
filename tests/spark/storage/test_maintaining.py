"""Maintenance on each storage: compact, vacuum, fsck, streams."""

from __future__ import annotations

from pathlib import Path

from tests.support.spark.storages import Storage
from tests.support.spark.streams import batches, into_table


def _filled(storage: Storage, inserts: int = 3) -> str:
    """Make a table by several small inserts, and return its name."""
    table = f"{storage.database}.t"
    storage.spark.sql(f"CREATE TABLE {table} (id BIGINT, p INT) USING parquet PARTITIONED BY (p)")
    for number in range(inserts):
        storage.spark.sql(
            f"INSERT INTO {table} SELECT id, id % 2 FROM range({number * 10}, {number * 10 + 10})"
        )
    return table


def test_compact_and_vacuum(storage: Storage) -> None:
    """Compaction makes one file of a partition's, and vacuum deletes the old ones; the rows stay."""
    table = _filled(storage)
    location = f"{storage.warehouse}/db.db/t"
    assert len(storage.files(location)) == 6
    storage.spark.sql(f"CALL {storage.catalog}.system.compact(table => 'db.t')")
    assert len(storage.files(location)) == 8
    later = "current_timestamp(), allow_recent => true"
    removed = storage.rows(f"CALL {storage.catalog}.system.vacuum(table => 'db.t', older_than => {later})")
    assert sum(row[0] == "data file" for row in removed) == 6
    assert len(storage.files(location)) == 2
    assert storage.rows(f"SELECT count(*), sum(id) FROM {table} WHERE id >= 0") == [(30, sum(range(30)))]


def test_doctor(storage: Storage) -> None:
    """The doctor finds all rights there, and leaves no file; it also checks a new warehouse without files."""
    call = f"CALL {storage.catalog}.system.doctor(write => true)"
    storage.spark.sql(f"CREATE TABLE {storage.database}.e (id BIGINT) USING parquet")
    assert False not in [row[1] for row in storage.rows(call)]
    _filled(storage)
    files = storage.files(storage.base, hidden=True)
    found = {row[0]: row[1] for row in storage.rows(call)}
    assert {found[name] for name in ("list", "write", "read", "clock of the files", "delete")} == {True}
    assert storage.files(storage.base, hidden=True) == files


def test_fsck(storage: Storage) -> None:
    """fsck names a file that is gone by its whole location, and takes it out of the table."""
    table = _filled(storage, 1)
    location = f"{storage.warehouse}/db.db/t"
    (gone,) = [path for path in storage.files(location) if path.startswith("p=1/")]
    storage.delete(f"{location}/{gone}")
    found = storage.rows(f"CALL {storage.catalog}.system.fsck(table => 'db.t')")
    assert [(row[0], row[2]) for row in found] == [
        ("missing file", f"{location}/{gone}".replace("file:", ""))
    ]
    storage.spark.sql(f"CALL {storage.catalog}.system.fsck(table => 'db.t', repair => true)")
    assert storage.rows(f"SELECT count(*) FROM {table} WHERE id >= 0") == [(5,)]
    assert storage.rows(f"CALL {storage.catalog}.system.fsck(table => 'db.t')") == []


def test_streams(storage: Storage, tmp_path: Path) -> None:
    """A stream from one table into another passes each row on once, over restarts."""
    table = _filled(storage, 2)
    target = f"{storage.database}.out"
    frame = storage.spark.readStream.table(table)
    assert batches(into_table(frame, target, tmp_path / "checkpoint")) == [20]
    storage.spark.sql(f"INSERT INTO {table} VALUES (100, 1)")
    assert batches(into_table(frame, target, tmp_path / "checkpoint")) == [1]
    assert storage.rows(f"SELECT count(*), sum(id) FROM {target} WHERE id >= 0") == [
        (21, sum(range(20)) + 100)
    ]
