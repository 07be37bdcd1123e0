"""Tables and their files, and DataFrames over tables that change. Statements are in `tables.test`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from parquetry.locations.uri import take_apart

Rows = Callable[..., list[tuple[Any, ...]]]
FORMATS = pytest.mark.parametrize("file_format", ["parquet", "orc"])


def detail(rows: Rows, table: str) -> dict[str, str]:
    """Return the lower part of DESCRIBE EXTENDED."""
    return {row[0]: row[1] for row in rows(f"DESCRIBE EXTENDED {table}")}


def files(folder: Path) -> list[str]:
    """Return the data files below a folder."""
    return sorted(path.name for path in folder.rglob("*") if path.is_file() and path.name[0] not in "._")


# -- locations


@FORMATS
@pytest.mark.parametrize("name", ["plain", "a b%20c", "x#y?z", "a:b", "it's {a}[b]*", "ünï"])
def test_external_tables(
    spark: SparkSession, rows: Rows, db: str, tmp_path: Path, file_format: str, name: str
) -> None:
    """An external table is at its LOCATION, for any name of the folder; DROP leaves its live files, and
    deletes dead ones.
    """
    folder = tmp_path / name
    spark.sql(
        f"CREATE EXTERNAL TABLE {db}.t (id int) PARTITIONED BY (p int) STORED AS {file_format} "
        f"LOCATION '{str(folder).replace(chr(39), chr(92) + chr(39))}/'"
    )
    assert detail(rows, f"{db}.t")["Type"] == "EXTERNAL"
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    dead = files(folder)
    spark.sql(f"INSERT OVERWRITE {db}.t PARTITION (p = 1) VALUES (3)")
    assert len(files(folder)) == 3
    spark.sql(f"DROP TABLE {db}.t")
    (live_1,), (live_2,) = files(folder / "p=1"), files(folder / "p=2")
    assert live_1 not in dead
    assert live_2 in dead
    found = spark.read.format(file_format).load(
        str(folder).replace("{", "\\{").replace("[", "\\[").replace("*", "\\*")
    )
    assert sorted(map(tuple, found.select("id", "p").collect())) == [(2, 2), (3, 1)]


def test_a_location_is_taken_apart_as_hadoop_does(spark: SparkSession, db: str, tmp_path: Path) -> None:
    """A URI is not decoded: `file:/…/a%20b` is a folder with a `%` in its name."""
    for text in ("file:/t/a%20b", "/t/x=1%2F2", "file:///t/a?b#c d", "s3a://bucket/t%", "hdfs://host:1/a:b"):
        path = spark._jvm.org.apache.hadoop.fs.Path(text)
        assert take_apart(text).path == path.toUri().getPath(), text
        assert take_apart(text).authority.removeprefix("//") == (path.toUri().getAuthority() or ""), text
    spark.sql(f"CREATE TABLE {db}.t (id int) USING parquet LOCATION 'file:{tmp_path}/a%20b'")
    spark.sql(f"INSERT INTO {db}.t VALUES (1)")
    assert len(files(tmp_path / "a%20b")) == 1


# -- dropping, renaming, replacing


# -- versions of a table within a session


@pytest.mark.needs("newer versions")
def test_a_frame_over_a_table_that_changes(spark: SparkSession, rows: Rows, db: str) -> None:
    """A DataFrame or view made before an INSERT reads the new rows when it runs; both sides of a join read
    one version.
    """
    spark.sql(f"CREATE TABLE {db}.t (id int, p int) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1)")
    frame = spark.table(f"{db}.t")
    view = f"v_{db.replace('.', '_')}"
    frame.createOrReplaceTempView(view)
    joined = frame.join(spark.table(f"{db}.t").withColumnRenamed("p", "q"), "id")
    spark.sql(f"INSERT INTO {db}.t VALUES (2, 2)")
    assert sorted(map(tuple, frame.collect())) == [(1, 1), (2, 2)]
    assert sorted(map(tuple, joined.collect())) == [(1, 1, 1), (2, 2, 2)]
    spark.sql(f"ALTER TABLE {db}.t ADD COLUMN n int")
    assert sorted(rows(f"SELECT id, p FROM {view}")) == [(1, 1), (2, 2)]
    spark.sql(f"DROP VIEW {view}")


@pytest.mark.needs("newer versions")
def test_a_frame_over_a_table_that_was_dropped(spark: SparkSession, rows: Rows, db: str) -> None:
    """A DataFrame over a table that was dropped or made again raises an error or reads the new table, never
    the old rows.
    """
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 1 AS a")
    frame = spark.table(f"{db}.t")
    spark.sql(f"DROP TABLE {db}.t")
    with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
        frame.collect()
    spark.sql(f"CREATE TABLE {db}.t AS SELECT 2 AS a")
    assert rows(f"SELECT a FROM {db}.t") == [(2,)]
    again = spark.table(f"{db}.t")
    spark.sql(f"CREATE OR REPLACE TABLE {db}.t AS SELECT 3 AS a")
    try:
        assert again.collect() == [(3,)]
    except AnalysisException as error:
        assert "replaced" in str(error) or "TABLE_ID_MISMATCH" in str(error)  # noqa: PT017


def test_a_frame_written_into_its_own_table(spark: SparkSession, rows: Rows, db: str) -> None:
    """A table may be appended to itself, and overwritten by a query over it, cached or not."""
    spark.sql(f"CREATE TABLE {db}.t AS SELECT id FROM range(3)")
    frame = spark.table(f"{db}.t").where("id > 0")
    frame.writeTo(f"{db}.t").append()
    assert sorted(rows(f"SELECT id FROM {db}.t")) == [(0,), (1,), (1,), (2,), (2,)]
    cached = spark.table(f"{db}.t").cache()
    assert cached.count() == 5
    spark.sql(f"INSERT OVERWRITE {db}.t SELECT id + 10 FROM {db}.t WHERE id = 2")
    assert sorted(rows(f"SELECT id FROM {db}.t")) == [(12,), (12,)]
    cached.unpersist()
