"""A table's past in SQL: read, listed, gone back to, cleared away, checked; and metadata tables."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from parquetry.metastore.manifest import entries

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """A table of four versions: created, two appends, an overwrite of one of its two partitions."""
    name = f"{db}.t"
    spark.sql(f"CREATE TABLE {name} (id BIGINT, day DATE) PARTITIONED BY (day)")
    for statement in (
        f"INSERT INTO {name} VALUES (1, DATE '2026-03-01')",
        f"INSERT INTO {name} VALUES (2, DATE '2026-03-02')",
        f"INSERT OVERWRITE {name} PARTITION (day = '2026-03-01') SELECT 3",
    ):
        time.sleep(0.01)
        spark.sql(statement)
    return name


def ids(rows: Rows, source: str) -> list[int]:
    return sorted(row[0] for row in rows(f"SELECT id FROM {source}"))


def short(table: str) -> str:
    return table.removeprefix("lake.")


def test_versions_and_times(rows: Rows, table: str) -> None:
    """VERSION AS OF and TIMESTAMP AS OF read what the table was, counts included."""
    assert [ids(rows, f"{table} VERSION AS OF {v}") for v in range(4)] == [[], [1], [1, 2], [2, 3]]
    history = rows(f"CALL lake.system.history(table => '{short(table)}')")
    times = {version: committed_at for version, committed_at, *_ in history}
    for version, expected in ((1, [1]), (2, [1, 2]), (3, [2, 3])):
        assert ids(rows, f"{table} TIMESTAMP AS OF '{times[version]}'") == expected
    assert rows(f"SELECT count(*) FROM {table} VERSION AS OF 1") == [(1,)]
    with pytest.raises(AnalysisException, match="has no version 9; it has versions 0 to 3"):
        rows(f"SELECT * FROM {table} VERSION AS OF 9")


def test_compact_metadata(spark: SparkSession, rows: Rows, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long manifests are rewritten, with a row that says so; queries answer as before, and a second run
    changes nothing.
    """
    monkeypatch.setattr(entries, "MAX_INLINE_BYTES", 10)
    monkeypatch.setattr(entries, "MAX_CHUNK_FILES", 4)
    table = f"{db}.grown"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, p INT) PARTITIONED BY (p) TBLPROPERTIES ('sort-by' = 'id')")
    for id in (5, 1, 4, 2, 3, 0):
        spark.sql(f"INSERT INTO {table} VALUES ({id}, 1)")
    before = ids(rows, table), rows(f"SELECT id FROM {table} WHERE id > 3 ORDER BY id")
    call = f"CALL lake.system.compact_metadata(table => '{short(table)}')"
    ((partitions, _, after),) = rows(call)
    assert (partitions, after) == (1, 2)
    assert (ids(rows, table), rows(f"SELECT id FROM {table} WHERE id > 3 ORDER BY id")) == before
    assert before == ([0, 1, 2, 3, 4, 5], [(4,), (5,)])
    assert rows(call) == [(0, 0, 0)]
    assert rows(f"CALL lake.system.history('{short(table)}')")[0][2] == "compact metadata"
    assert rows(f"CALL lake.system.fsck('{short(table)}')") == []


def test_history(rows: Rows, table: str) -> None:
    """A row for each commit, newest first, with counts after it."""
    history = rows(f"CALL lake.system.history(table => '{short(table)}')")
    assert [(row[0], row[2], *row[3:6]) for row in history] == [
        (3, "overwrite", 2, 2, 2),
        (2, "append", 2, 2, 2),
        (1, "append", 1, 1, 1),
        (0, "create", 0, 0, 0),
    ]
    assert all(isinstance(row[1], datetime) for row in history)
    assert rows(f"SELECT * FROM {table}.history") == history


def test_rollback(rows: Rows, table: str) -> None:
    """Going back is a new version, columns and properties included."""
    rows(f"ALTER TABLE {table} ADD COLUMNS (extra STRING)")
    rows(f"ALTER TABLE {table} DROP PARTITION (day = '2026-03-02')")
    assert rows(f"CALL lake.system.rollback(table => '{short(table)}', version => 2)") == [(5, 6)]
    assert sorted(rows(f"SELECT id, CAST(day AS STRING) FROM {table}")) == [
        (1, "2026-03-01"),
        (2, "2026-03-02"),
    ]
    assert [row[0] for row in rows(f"DESCRIBE {table}")][:2] == ["id", "day"]
    rows(f"INSERT INTO {table} VALUES (4, DATE '2026-03-01')")
    assert ids(rows, table) == [1, 2, 4]
    rows(f"CALL lake.system.rollback('{short(table)}', 3)")
    assert ids(rows, table) == [2, 3]


def test_vacuum(rows: Rows, table: str) -> None:
    """Vacuum deletes the files of expired versions, and keeps files of other versions; a dry run only lists
    them.
    """
    call = f"CALL lake.system.vacuum(table => '{short(table)}'"
    ((kind, path, versions, size, detail),) = rows(f"{call})")
    assert (kind, path, versions, detail.partition(",")[0]) == ("kept versions", None, 3, "versions 0 to 2")
    planned = rows(f"{call}, older_than => current_timestamp(), dry_run => true)")
    assert [(row[0], row[2]) for row in planned] == [
        ("data file", 1),
        ("checksum file", 1),
        ("partition versions", 1),
        ("commits", 3),
    ]
    assert ids(rows, f"{table} VERSION AS OF 1") == [1]
    path = Path(planned[0][1].removeprefix("file:"))
    assert path.stat().st_size == planned[0][3] == size
    assert rows(f"{call}, older_than => current_timestamp(), allow_recent => true)") == planned
    assert not path.exists()
    assert ids(rows, table) == [2, 3]
    assert [row[0] for row in rows(f"SELECT version FROM {table}.history")] == [3]
    with pytest.raises(
        AnalysisException,
        match=r"has no version 1 any more: a vacuum took the versions before 3\. It has version 3 only",
    ):
        rows(f"SELECT * FROM {table} VERSION AS OF 1")
    with pytest.raises(AnalysisException, match="has no version 1"):
        rows(f"CALL lake.system.rollback('{short(table)}', 1)")
    assert rows(f"MSCK REPAIR TABLE {table} SYNC PARTITIONS") == []


def test_fsck(rows: Rows, table: str) -> None:
    """fsck reports each fault, and removes missing files from the table on request."""
    call = f"CALL lake.system.fsck(table => '{short(table)}'"
    assert rows(f"{call})") == []
    ((path,),) = rows(f"SELECT path FROM {table}.files WHERE day = DATE '2026-03-02'")
    Path(path.removeprefix("file:")).unlink()
    ((kind, partition, found, _, repaired),) = rows(f"{call})")
    assert (kind, partition, repaired) == ("missing file", "day=2026-03-02", False)
    assert path.endswith(found)
    assert [row[4] for row in rows(f"{call}, repair => true)")] == [True]
    assert rows(f"{call})") == []
    assert ids(rows, table) == [3]


def test_metadata_tables(rows: Rows, db: str, table: str) -> None:
    """Partitions and files can be queried like a table, now and as they were; a real table comes first."""
    query = "SELECT CAST(day AS STRING), files, rows, bytes > 0, location LIKE '%/t/day=%' FROM"
    expected = [("2026-03-01", 1, 1, True, True), ("2026-03-02", 1, 1, True, True)]
    assert rows(f"{query} {table}.partitions ORDER BY day") == expected
    assert rows(f"{query} {table}.partitions VERSION AS OF 1") == expected[:1]
    assert rows(f"SELECT day FROM {table}.partitions WHERE day > DATE '2026-03-01'") == [
        (datetime(2026, 3, 2).date(),)
    ]
    assert rows(
        f"SELECT sum(rows), count(path), min(modified) > TIMESTAMP '2020-01-01' FROM {table}.FILES"
    ) == [(2, 2, True)]
    rows(f"CREATE TABLE {db}.history (files INT, n INT) PARTITIONED BY (files)")
    rows(f"INSERT INTO {db}.history VALUES (7, 1)")
    assert rows(f"SELECT n, files FROM {db}.history") == [(1, 7)]
    assert rows(f"SELECT files, _files FROM {db}.history.partitions") == [(7, 1)]
    for unknown, says in (
        (f"{table}.snapshots", r"does not exist here: read .*history"),
        (f"{table}.nothing", "TABLE_OR_VIEW_NOT_FOUND"),
        (f"{db}.nothing.files", "TABLE_OR_VIEW_NOT_FOUND"),
    ):
        with pytest.raises(AnalysisException, match=says):
            rows(f"SELECT * FROM {unknown}")
    with pytest.raises(AnalysisException):
        rows(f"INSERT INTO {table}.files SELECT * FROM {table}.files")


def test_procedures_refuse_null(rows: Rows, table: str) -> None:
    """The parameter is named."""
    for call, parameter in {
        "history(table => NULL)": "table",
        "vacuum(NULL)": "table",
        "fsck(table => NULL)": "table",
        "sync(table => NULL)": "table",
        "create_partition_index('x', NULL)": "columns",
    }.items():
        with pytest.raises(AnalysisException, match=f"parameter {parameter} is NULL"):
            rows(f"CALL lake.system.{call}")


def test_metadata_tables_cannot_be_dropped(rows: Rows, table: str) -> None:
    """And the table stays, too."""
    with pytest.raises(AnalysisException, match="cannot be dropped; to drop the table, say DROP TABLE"):
        rows(f"DROP TABLE {table}.partitions")
    assert rows(f"SELECT count(*) FROM {table}.partitions") != [(0,)]


def test_a_time_before_the_table(rows: Rows, table: str) -> None:
    """The error tells since when there are versions."""
    with pytest.raises(AnalysisException, match=r"no version as of 1999-01-01 00:00:00 UTC; it has .* of 20"):
        rows(f"SELECT * FROM {table} TIMESTAMP AS OF '1999-01-01'")
