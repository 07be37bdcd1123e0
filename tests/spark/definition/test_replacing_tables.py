"""REPLACE TABLE in all its forms is one commit of the same table, whose earlier versions do not change."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import parquetry

Rows = Callable[[str], list[tuple[Any, ...]]]

SHAPES = [
    "(id int, s string) USING parquet",
    "(s string, id bigint, p int) USING orc PARTITIONED BY (p)",
    "(id string, p string, q date) USING parquet PARTITIONED BY (q, p)",
    "(id int, p int) USING parquet PARTITIONED BY (p) CLUSTERED BY (id) INTO 4 BUCKETS",
    "(id int, s string, p int) USING parquet PARTITIONED BY (p) SKEWED BY (s) ON ('a') STORED AS DIRECTORIES TBLPROPERTIES ('list-bucketing-rules' = 'relaxed')",
    "(q date, id double) USING orc PARTITIONED BY (q) TBLPROPERTIES ('descending' = 'q')",
    "(p int, id struct<a: int>) USING parquet CLUSTER BY (p)",
]
ROWS = [
    "SELECT int(id), concat('t', id) FROM range(6)",
    "SELECT concat('u', id), id, int(id % 3) FROM range(9)",
    "SELECT string(id), concat('v', id % 2), date_add(date'2026-01-01', int(id % 2)) FROM range(8)",
    "SELECT int(id), int(id % 2) FROM range(20)",
    "SELECT int(id), if(id < 5, 'a', 'b'), int(id % 2) FROM range(10)",
    "SELECT date'2026-02-01', double(id) FROM range(3)",
    "SELECT int(id), named_struct('a', int(id)) FROM range(5)",
]


def content(spark: SparkSession, table: str, version: int | None = None) -> tuple[list[str], list[str]]:
    """Return the columns of a version and its rows, in an order of their own."""
    at = "" if version is None else f" VERSION AS OF {version}"
    frame = spark.sql(f"SELECT * FROM {table}{at}")
    return [f"{f.name} {f.dataType.simpleString()}" for f in frame.schema], sorted(map(str, frame.collect()))


def test_every_shape_after_every_other(spark: SparkSession, db: str, rows: Rows, warehouse: Path) -> None:
    """Columns, partitioning, format and layout change; every version stays readable, and rollback restores
    it.
    """
    table = f"{db}.t"
    told: list[tuple[list[str], list[str]]] = []
    spark.sql(f"CREATE TABLE {table} {SHAPES[0]}")
    told.append(content(spark, table))
    for shape, query in zip(SHAPES, ROWS, strict=True):
        spark.sql(f"CREATE OR REPLACE TABLE {table} {shape}")
        told.append(content(spark, table))
        assert told[-1][1] == []
        spark.sql(f"INSERT INTO {table} {query}")
        told.append(content(spark, table))
        assert len(told[-1][1]) == spark.sql(query).count()
    for version, expected in enumerate(told):
        assert content(spark, table, version) == expected
    name = table.removeprefix("lake.")
    for version in (6, 2, 10, 4, 14, 8, 12):
        spark.sql(f"CALL lake.system.rollback('{name}', {version})").collect()
        assert content(spark, table) == told[version]
        assert content(spark, table, version) == told[version]
        columns = {column.split(" ")[0] for column in told[version][0]}
        for key in columns & {"p", "q"}:
            counted = rows(f"SELECT {key}, count(*) FROM {table} GROUP BY {key} ORDER BY {key}")
            assert [rows(f"SELECT count(*) FROM {table} WHERE {key} = '{k}'") for k, _ in counted] == [
                [(n,)] for _, n in counted
            ]
    assert rows(f"CALL lake.system.fsck('{name}')") == []
    with parquetry.open(warehouse / "lake") as lake:
        lake.vacuum(name, older_than=datetime.now(UTC), allow_recent=True)
    assert content(spark, table) == told[12]
    assert rows(f"CALL lake.system.fsck('{name}')") == []
    with pytest.raises(PySparkException, match="has no version 3"):
        content(spark, table, 3)


def test_statements_that_replace(spark: SparkSession, db: str, rows: Rows) -> None:
    """SQL with rows and without, and the DataFrame writers, make one version each, and a rollback undoes a
    mistake.
    """
    table = f"{db}.t"
    frame = spark.range(3).selectExpr("id + 100 AS id", "'n' AS k")
    spark.sql(f"CREATE OR REPLACE TABLE {table} PARTITIONED BY (k) AS SELECT id, 'a' AS k FROM range(5)")
    spark.sql(f"REPLACE TABLE {table} AS SELECT 'new' AS b")
    frame.write.mode("overwrite").saveAsTable(table)
    frame.write.mode("overwrite").partitionBy("k").format("orc").saveAsTable(table)
    frame.writeTo(table).using("parquet").replace()
    frame.writeTo(table).using("parquet").createOrReplace()
    spark.sql(f"CREATE OR REPLACE TABLE {table} AS SELECT id + 1 AS id FROM {table}")
    operations = [
        operation for _, operation in rows(f"SELECT version, operation FROM {table}.history ORDER BY version")
    ]
    assert operations[2:] == ["replace"] * 6
    assert sorted(rows(f"SELECT id FROM {table}")) == [(101,), (102,), (103,)]
    assert rows(f"SELECT b FROM {table} VERSION AS OF 2") == [("new",)]
    spark.sql(f"CALL lake.system.rollback('{table.removeprefix('lake.')}', 1)").collect()
    assert sorted(rows(f"SELECT id, k FROM {table}")) == [(i, "a") for i in range(5)]


def test_a_statement_that_fails_leaves_the_table_and_no_file(
    spark: SparkSession, db: str, warehouse: Path
) -> None:
    """Where its query fails, the table is what it was, with no version more, and nothing new is on disk."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} PARTITIONED BY (k) AS SELECT id, id % 2 AS k FROM range(10)")
    before = content(spark, table)
    with parquetry.open(warehouse / "lake") as lake:
        folder = Path(lake.table(table.removeprefix("lake.")).location.removeprefix("file:"))
        files = sorted(path.name for path in folder.rglob("*.parquet"))
        with pytest.raises(PySparkException, match="boom"):
            spark.sql(
                f"CREATE OR REPLACE TABLE {table} AS SELECT id, if(id > 90, raise_error('boom'), 1) AS x FROM range(0, 100, 1, 4)"
            )
        assert content(spark, table) == before
        assert lake.table(table.removeprefix("lake.")).version == 1
        assert sorted(path.name for path in folder.rglob("*.parquet")) == files


def test_a_frame_from_before_reads_its_own_version(spark: SparkSession, db: str, rows: Rows) -> None:
    """A query that has begun goes on with the version that it began with."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} PARTITIONED BY (k) AS SELECT id, id % 4 AS k FROM range(40)")
    rest = spark.sql(f"SELECT id FROM {table}").toLocalIterator()
    first = next(rest)
    spark.sql(f"REPLACE TABLE {table} (x string, y int) PARTITIONED BY (y)")
    assert len({first.id, *(row.id for row in rest)}) == 40
    assert rows(f"SELECT * FROM {table}") == []


def test_places(spark: SparkSession, db: str, rows: Rows, tmp_path: Path) -> None:
    """A table keeps its location unless the statement says LOCATION.

    Files of earlier versions in other locations stay readable until a vacuum deletes them.
    """
    table, name = f"{db}.t", f"{db}.t".removeprefix("lake.")
    one, two = tmp_path / "one", tmp_path / "two"
    spark.sql(f"CREATE TABLE {table} (id int) USING parquet LOCATION 'file:{one}'")
    spark.sql(f"INSERT INTO {table} VALUES (1)")
    spark.sql(f"CREATE OR REPLACE TABLE {table} AS SELECT 2 AS id, 'x' AS p")
    assert len(list(one.glob("*.parquet"))) == 2
    spark.sql(
        f"CREATE OR REPLACE TABLE {table} USING parquet PARTITIONED BY (p) LOCATION 'file:{two}' AS SELECT 3 AS id, 'x' AS p"
    )
    assert len(list(two.rglob("*.parquet"))) == 1
    for version, expected in ((1, [(1,)]), (2, [(2,)]), (3, [(3,)])):
        assert rows(f"SELECT id FROM {table} VERSION AS OF {version}") == expected
    with parquetry.open(Path(spark.conf.get("spark.sql.catalog.lake.warehouse"))) as lake:
        assert lake.table(name).external
        lake.vacuum(name, older_than=datetime.now(UTC), allow_recent=True)
    assert (list(one.rglob("*.parquet")), len(list(two.rglob("*.parquet")))) == ([], 1)
    assert rows(f"SELECT id FROM {table}") == [(3,)]


def test_purged_at_once_where_the_owner_says_so(spark: SparkSession, db: str, warehouse: Path) -> None:
    """With purge-on-overwrite, who reads the folder by its path finds the new files alone."""
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} USING parquet PARTITIONED BY (k) TBLPROPERTIES ('purge-on-overwrite' = 'true') AS SELECT id, id AS k FROM range(3)"
    )
    with parquetry.open(warehouse / "lake") as lake:
        folder = Path(lake.table(table.removeprefix("lake.")).location.removeprefix("file:"))
    spark.sql(f"CREATE OR REPLACE TABLE {table} AS SELECT 7 AS x")
    assert [row.x for row in spark.read.parquet(f"file:{folder}").collect()] == [7]
