"""`CALL system.erase`: no file of the warehouse has a person's value afterwards, nor has a file's name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from parquetry import metastore as ms
from parquetry.iceberg.catalog import IcebergCatalog
from parquetry.iceberg.clients import Client
from parquetry.publishing.linked_folders import link_version
from tests.support.erasing.holders import holders

Rows = Callable[[str], list[tuple[Any, ...]]]
RELAXED = "TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')"


def steps(rows: Rows, table: str, condition: str, more: str = "") -> dict[str, tuple[str, int | None]]:
    """Erase, and return outcome and count of each step or place. A later step of the same name counts."""
    said = rows(f'CALL lake.system.erase("{table.removeprefix("lake.")}", "{condition}"{more})')
    return {step: (outcome, count) for step, outcome, count, *_ in said}


def places(warehouse: Path, value: str) -> set[str]:
    """Return the folders and kinds of the files in the warehouse that have a value."""
    known = ("_delta_log", "_iceberg", "_published", "metastore.sqlite")
    found = holders(warehouse / "lake", value)
    return {next((name for name in known if name in path), "data") for path in found}


def test_nothing_is_left(
    spark: SparkSession, rows: Rows, db: str, warehouse: Path, store: ms.Metastore
) -> None:
    """Files, statistics, heavy values, statements, the store's log, Delta log, manifests and links go."""
    value, table = f"Zyxwvut-{db}", f"{db}.people"
    spark.sql(f"CREATE TABLE {table} (id INT, name STRING) USING parquet SKEWED BY (name) ON AUTO {RELAXED}")
    many = f"SELECT 1, '{value}' FROM range(500) UNION ALL SELECT id, concat('b', id % 9) FROM range(900)"
    spark.sql(f"INSERT INTO {table} {many}")
    spark.sql(f"CALL lake.system.publish('{table}', format => 'delta', publish => 'follow')")
    spark.sql(f"INSERT INTO {table} VALUES (1, '{value}'), (3, 'c')")
    snapshot = store.table(db.removeprefix("lake."), "people")
    IcebergCatalog(store).load_table(snapshot.database, "people", Client.OTHER)
    link_version(snapshot, list(snapshot.partitions()))
    assert places(warehouse, value) == {"data", "_delta_log", "_iceberg", "_published", "metastore.sqlite"}
    planned = steps(rows, table, "id = 1", ", dry_run => true")
    assert planned["rows"] == ("planned", 502), "row 1 of the second half counts, too"
    assert {outcome for outcome, _ in planned.values()} == {"planned", "nothing", "not reached"}
    assert rows(f"SELECT count(*) FROM {table}") == [(1402,)]
    done = steps(rows, table, "id = 1")
    assert (done["rows"], done["heavy values"], done["Delta log"][0]) == (("done", 502), ("done", 1), "done")
    assert done["statements in the history"] == ("done", 1)
    assert holders(warehouse / "lake", value) == []
    assert rows(f"SELECT count(*) FROM {table}") == [(900,)]
    location = snapshot.metadata.location.removeprefix("file:")
    assert pa.types.is_integer(read_delta(location).schema.field("id").type)
    assert read_delta(location).num_rows == 900


def read_delta(location: str) -> pa.Table:
    from deltalake import DeltaTable

    return pa.table(DeltaTable(location).to_pyarrow_table())


def test_rows_that_were_deleted_by_hand(
    spark: SparkSession, rows: Rows, db: str, warehouse: Path, tmp_path: Path
) -> None:
    """Old versions, partition folders, other writers' files, and statements of kept versions are found."""
    value, table = f"Zyxwvut-{db}", f"{db}.parts"
    spark.sql(f"CREATE TABLE {table} (id INT, name STRING) USING parquet PARTITIONED BY (name)")
    spark.sql(f"INSERT INTO {table} VALUES (2, 'b')")
    folder = warehouse / "lake" / f"{db.removeprefix('lake.')}.db" / "parts" / f"name={value}"
    folder.mkdir(parents=True)
    pq.write_table(pa.table({"id": pa.array([1], pa.int32())}), folder / "theirs.parquet")
    spark.sql(f"MSCK REPAIR TABLE {table}")
    spark.sql(f"DELETE FROM {table} WHERE name = '{value}'")
    spark.sql(f"INSERT INTO {table} VALUES (3, 'c')")
    assert places(warehouse, value) == {"data", "metastore.sqlite"}
    done = steps(rows, table, f"name = '{value}'")
    assert done["rows"] == ("nothing", 0)
    assert done["statements in the history"][0] == "done"
    assert holders(warehouse / "lake", value) == []
    assert sorted(rows(f"SELECT * FROM {table}")) == [(2, "b"), (3, "c")]


def test_versions_without_such_rows_stay(spark: SparkSession, rows: Rows, db: str) -> None:
    """Only versions up to the last one with such rows end; a condition without rows ends none."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id INT) USING parquet")
    spark.sql(f"INSERT INTO {table} VALUES (1), (2)")
    spark.sql(f"DELETE FROM {table} WHERE id = 1")
    spark.sql(f"INSERT INTO {table} VALUES (3)")
    assert steps(rows, table, "id = 9")["versions"] == ("nothing", 0)
    assert [version for (version,) in rows(f"SELECT version FROM {table}.history")] == [3, 2, 1, 0]
    assert steps(rows, table, "id = 1")["versions"] == ("done", 2)
    assert rows(f"SELECT version, statement FROM {table}.history") == [(3, None), (2, None)]
    assert rows(f"SELECT id FROM {table} VERSION AS OF 2") == [(2,)]


def test_what_is_not_reached_is_named(spark: SparkSession, rows: Rows, db: str, tmp_path: Path) -> None:
    """Another writer's file of an external table stays and is named; so are dumps and copies."""
    table = f"{db}.away"
    pq.write_table(pa.table({"id": pa.array([1, 2], pa.int32())}), tmp_path / "theirs.parquet")
    spark.sql(f"CREATE TABLE {table} (id INT) USING parquet LOCATION '{tmp_path}'")
    spark.sql(f"MSCK REPAIR TABLE {table}")
    done = steps(rows, table, "id = 1")
    assert done["files of other writers"] == ("not reached", 1)
    assert {"dumps", "backups", "other tables", "streams", "sessions"} <= done.keys()
    assert (tmp_path / "theirs.parquet").exists()
    with pytest.raises(Exception, match="needs a condition, such as 'id = 1', and got ' '"):
        steps(rows, table, " ")
