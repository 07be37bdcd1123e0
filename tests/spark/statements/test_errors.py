"""Each kind of bad input is an error of its own, with the remedy, and leaves no partial result."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from parquetry import metastore as ms
from parquetry.metastore.storage.format import MAGIC, NEWEST, FormatRow
from parquetry.metastore.storage.keyspace import FORMAT
from parquetry.spark.configuration import settings
from parquetry.store.opening import open_store

Rows = Callable[..., list[tuple[Any, ...]]]


def catalog(spark: SparkSession, name: str, warehouse: Path) -> str:
    """Make a catalog known to the running session."""
    for key, value in settings(name, warehouse).items():
        if key.startswith("spark.sql.catalog."):
            spark.conf.set(key, value)
    return name


def test_a_warehouse_that_is_a_file(spark: SparkSession, tmp_path: Path) -> None:
    """A warehouse that cannot be a folder is an error with its path.

    The existing file stays; when it is removed, the warehouse works at once.
    """
    (tmp_path / "w").write_text("not a folder")
    name = catalog(spark, "blocked", tmp_path / "w")
    for statement in (f"SHOW NAMESPACES IN {name}", f"CREATE NAMESPACE {name}.db"):
        with pytest.raises(AnalysisException, match=rf"{tmp_path}/w.*is the folder writable") as caught:
            spark.sql(statement)
        assert caught.value.getCondition() == "PARQUETRY_WAREHOUSE"
    assert (tmp_path / "w").read_text() == "not a folder"
    (tmp_path / "w").unlink()
    spark.sql(f"CREATE NAMESPACE {name}.db")
    assert (tmp_path / "w" / "_parquetry" / "metastore.sqlite").exists()


def test_a_place_that_cannot_be_written(spark: SparkSession, rows: Rows, db: str, tmp_path: Path) -> None:
    """A table whose folder cannot be made is not made; an INSERT that cannot write its files leaves the table
    unchanged.
    """
    (tmp_path / "file").write_text("in the way")
    spark.sql(f"ALTER DATABASE {db} SET LOCATION '{tmp_path}/file/db'")
    for definition in ("(a int)", "AS SELECT 1 AS a"):
        with pytest.raises(AnalysisException, match=rf"{tmp_path}/file/db/t.*cannot be made") as caught:
            spark.sql(f"CREATE TABLE {db}.t {definition}")
        assert caught.value.getCondition() == "PARQUETRY_WAREHOUSE"
    assert rows(f"SHOW TABLES IN {db}") == []
    spark.sql(f"CREATE TABLE {db}.t (a int) USING parquet LOCATION '{tmp_path}/file/t'")
    with pytest.raises(
        AnalysisException, match=rf"{tmp_path}/file/t of table {db}\.t cannot be written: .*right to"
    ) as caught:
        spark.sql(f"INSERT INTO {db}.t VALUES (1)")
    assert caught.value.getCondition() == "PARQUETRY_WAREHOUSE"
    assert rows(f"SELECT * FROM {db}.t") == []
    assert rows(f"SELECT * FROM {db}.t VERSION AS OF 0") == []
    with pytest.raises(AnalysisException, match="no version 1"):
        spark.sql(f"SELECT * FROM {db}.t VERSION AS OF 1")
    assert (tmp_path / "file").read_text() == "in the way"


@pytest.mark.parametrize(
    ("row", "says"),
    [
        (
            msgspec.msgpack.encode(FormatRow(MAGIC, NEWEST + 1, "9.0")),
            rf"format {NEWEST + 1} \(written by Parquetry 9\.0\).*use (one|a version of Parquetry) that fits",
        ),
        (b"\x01", "not a metastore; choose another place"),
    ],
)
def test_a_metastore_of_a_later_version(spark: SparkSession, tmp_path: Path, row: bytes, says: str) -> None:
    """A metastore of a later version, or an invalid one, is an error with both versions, and
    does not change.
    """
    with ms.open_metastore(str(tmp_path), create=True) as metastore:
        metastore.store.put_many([(FORMAT, row)])
        before = list(metastore.store.scan(b"", None))
    name = catalog(spark, f"later{len(row)}", tmp_path)
    for statement in (f"SHOW NAMESPACES IN {name}", f"CREATE NAMESPACE {name}.db"):
        with pytest.raises(AnalysisException, match=says) as caught:
            spark.sql(statement)
        assert caught.value.getCondition() == "PARQUETRY_METASTORE_VERSION"
    store = open_store(None, str(tmp_path))
    assert list(store.scan(b"", None)) == before
    store.close()


def test_a_warehouse_that_is_removed_and_made_anew(spark: SparkSession, tmp_path: Path) -> None:
    """If its folder was deleted under a running session, a catalog starts again empty, and does not write
    into the deleted store.
    """
    name = catalog(spark, "ghost", tmp_path / "w")
    spark.sql(f"CREATE TABLE {name}.default.t AS SELECT 1 AS a")
    shutil.rmtree(tmp_path / "w")
    assert spark.sql(f"SHOW TABLES IN {name}.default").collect() == []
    spark.sql(f"CREATE TABLE {name}.default.t AS SELECT 2 AS a")
    assert spark.table(f"{name}.default.t").collect() == [(2,)]
    assert (tmp_path / "w" / "_parquetry" / "metastore.sqlite").exists()


def test_a_file_in_place_of_a_format(spark: SparkSession, rows: Rows, db: str, tmp_path: Path) -> None:
    """A partition added with a folder of invalid files is an error that names a file, and is not added."""
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "x.parquet").write_text("not parquet")
    for file_format in ("parquet", "orc"):
        spark.sql(f"CREATE OR REPLACE TABLE {db}.t (id int, p int) USING {file_format} PARTITIONED BY (p)")
        with pytest.raises(AnalysisException, match=r"p/x\.parquet") as caught:
            spark.sql(f"ALTER TABLE {db}.t ADD PARTITION (p = 1) LOCATION '{tmp_path}/p'")
        assert caught.value.getCondition() == "PARQUETRY_FILE_CORRUPT"
        assert rows(f"SHOW PARTITIONS {db}.t") == []
