"""Foreign files on each storage are adopted by MSCK and sync, with statistics, and found again
after a move.
"""

from __future__ import annotations

from parquetry.locations import use_file_systems
from parquetry.metastore import open_metastore
from parquetry.metastore.operations.relocate import relocate
from parquetry.spark.engine import SparkEngine
from tests.support.spark.storages import Storage


def _written(storage: Storage, folder: str, start: int = 0, mode: str = "overwrite") -> str:
    """Have plain Spark write forty rows in four directories, and return where."""
    location = f"{storage.base}/{folder}"
    rows = storage.spark.range(start, start + 40).selectExpr("id", "concat('d', id % 4) day")
    rows.coalesce(1).write.mode(mode).partitionBy("day").parquet(location)
    return location


def _adopted(storage: Storage, location: str) -> str:
    table = f"{storage.database}.e"
    storage.spark.sql(
        f"CREATE TABLE {table} (id BIGINT, day STRING) USING parquet PARTITIONED BY (day) LOCATION '{location}'"
    )
    storage.spark.sql(f"MSCK REPAIR TABLE {table}")
    return table


def test_msck_and_sync(storage: Storage) -> None:
    """MSCK adopts the files of plain Spark, and sync the appended and deleted ones; statistics come from the
    footers.
    """
    location = _written(storage, "plain")
    storage.write_text(f"{location}/day=d0/_hidden/x.parquet", "none of the table's")
    table = _adopted(storage, location)
    assert storage.rows(f"SELECT count(*), min(id), max(id) FROM {table}") == [(40, 0, 39)]
    _written(storage, "plain", 100, "append")
    found = storage.rows(f"CALL {storage.catalog}.system.sync(table => 'db.e')")
    assert [(row[0], row[1], row[3]) for row in found] == [("changed", f"day=d{n}", 20) for n in range(4)]
    assert storage.rows(f"SELECT count(*), max(id) FROM {table} WHERE id >= 100") == [(40, 139)]
    storage.delete(f"{location}/day=d2")
    storage.spark.sql(f"MSCK REPAIR TABLE {table} SYNC PARTITIONS")
    assert storage.rows(f"SELECT DISTINCT day FROM {table} ORDER BY day") == [("d0",), ("d1",), ("d3",)]
    storage.spark.sql(f"DROP TABLE {table}")
    assert len(storage.files(location)) == 6


def test_columns_are_inferred(storage: Storage) -> None:
    """A table over a folder gets the columns of its files, and the partition column of its directories."""
    location = _written(storage, "inferred")
    storage.spark.sql(f"CREATE TABLE {storage.database}.i USING parquet LOCATION '{location}'")
    assert storage.spark.table(f"{storage.database}.i").columns == ["id", "day"]


def test_a_broken_file_is_named(storage: Storage) -> None:
    """A file that is none of Parquet is named and left out; the others are taken in."""
    location = _written(storage, "broken")
    table = _adopted(storage, location)
    storage.write_text(f"{location}/day=d1/torn.parquet", "PAR1 and nothing else")
    (found,) = storage.rows(f"CALL {storage.catalog}.system.sync(table => 'db.e')")
    assert "torn.parquet' is not a whole Parquet file" in str(found)
    assert storage.rows(f"SELECT count(*) FROM {table}") == [(40,)]


def test_a_partition_elsewhere(storage: Storage) -> None:
    """ADD PARTITION … LOCATION takes in the files of another folder of the same storage."""
    location = _written(storage, "elsewhere")
    table = f"{storage.database}.m"
    storage.spark.sql(f"CREATE TABLE {table} (id BIGINT, day STRING) PARTITIONED BY (day)")
    storage.spark.sql(f"ALTER TABLE {table} ADD PARTITION (day = 'x') LOCATION '{location}/day=d3'")
    assert storage.rows(f"SELECT day, count(*), min(id) FROM {table} GROUP BY day") == [("x", 10, 3)]


def test_moved_files_are_found(storage: Storage) -> None:
    """After a folder was moved, `relocate` and MSCK have the table read its files at the new place."""
    table = _adopted(storage, _written(storage, "before"))
    storage.move(f"{storage.base}/before", f"{storage.base}/after")
    # a change of locations reads the warehouse's mark, by the session's file systems here
    with (
        open_metastore(storage.warehouse, storage.store) as metastore,
        use_file_systems(SparkEngine.file_systems),
    ):
        relocate(metastore, f"{storage.base}/before", f"{storage.base}/after")
    storage.spark.sql(f"MSCK REPAIR TABLE {table}")  # on S3, a file that was moved is a new one
    assert storage.rows(f"SELECT count(*), max(id) FROM {table} WHERE id >= 0") == [(40, 39)]
    assert storage.rows(f"CALL {storage.catalog}.system.fsck(table => 'db.e')") == []
