"""A table's past is compacted, cleared away and checked, with its files. Other statements are in
`time_travel.test`.
"""

from __future__ import annotations

import time
from collections.abc import Callable
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
