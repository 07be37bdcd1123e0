"""Folders that statements adopt, functions, and `spark.catalog`. Other statements that Spark supports only in
its own catalog are in `statements.test`.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql.types import IntegerType, StructField, StructType

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """Four partitions by two columns, of a row each."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, day STRING, r INT) USING parquet PARTITIONED BY (day, r)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 1), (4, NULL, 1)")
    return f"{db}.t"


def test_recover_partitions(spark: SparkSession, table: str, rows: Rows) -> None:
    """RECOVER PARTITIONS in SQL and in `spark.catalog` adds the folders on disk, as MSCK REPAIR TABLE does,
    and removes none.
    """
    location = Path(
        spark.sql(f"DESCRIBE EXTENDED {table}")
        .where("col_name = 'Location'")
        .first()[1]
        .removeprefix("file:")
    )
    (source,) = (location / "day=b" / "r=1").glob("*.parquet")
    for day in ("c", "d"):
        target = location / f"day={day}" / "r=1" / "theirs.parquet"
        target.parent.mkdir(parents=True)
        shutil.copy(source, target)
        if day == "c":
            told = rows(f"ALTER TABLE {table} RECOVER PARTITIONS")
            assert [row[:2] for row in told] == [("added", "day=c/r=1")]
        else:
            spark.catalog.recoverPartitions(table)
        assert rows(f"SELECT id FROM {table} WHERE day = '{day}'") == [(3,)]
    shutil.rmtree(location / "day=d")
    spark.catalog.recoverPartitions(table)
    assert ("day=d/r=1",) in rows(f"SHOW PARTITIONS {table}")


def test_functions_of_spark_catalog(spark: SparkSession) -> None:
    """`spark.catalog` lists Spark's own functions and the catalog's."""
    listed = {function.name for function in spark.catalog.listFunctions("lake.system")}
    assert {"abs", "hive_hash", "hive_bucket"} <= listed
    assert spark.catalog.functionExists("lake.system.hive_hash")


def test_spark_catalog(spark: SparkSession, db: str, table: str) -> None:
    """The other methods of `spark.catalog` answer for the current catalog, too."""
    spark.sql(f"USE {db}")
    catalog, name = spark.catalog, db.partition(".")[2]
    assert (catalog.currentCatalog(), catalog.currentDatabase()) == ("lake", name)
    assert name in {each.name for each in catalog.listDatabases()}
    assert catalog.databaseExists(name)
    assert not catalog.databaseExists("nope")
    assert catalog.getDatabase(db).catalog == "lake"
    assert [(each.name, each.tableType) for each in catalog.listTables()] == [("t", "MANAGED")]
    assert catalog.getTable("t").namespace == [name]
    assert [(each.name, each.isPartition) for each in catalog.listColumns("t")] == [
        ("id", False),
        ("day", True),
        ("r", True),
    ]
    assert catalog.tableExists("t")
    catalog.cacheTable("t")
    assert catalog.isCached("t")
    catalog.refreshTable("t")
    catalog.uncacheTable("t")
    assert not catalog.isCached("t")
    catalog.createTable("made", schema=StructType([StructField("a", IntegerType())]), source="parquet")
    assert catalog.listColumns("made")[0].dataType == "int"
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_FOUND"):
        catalog.listTables("nope")


@pytest.mark.parametrize("catalog", ["lake", "spark_catalog"])
def test_names_that_no_table_has(spark: SparkSession, rows: Rows, tmp_path: Path, catalog: str) -> None:
    """As in Spark's own catalog, such a name is not found: IF EXISTS takes it, and so do queries of files."""
    spark.range(3).write.parquet(f"{tmp_path}/files")
    try:
        spark.sql(f"USE {catalog}.default")
        assert rows(f"SELECT count(*) FROM parquet.`{tmp_path}/files`") == [(3,)]
        for kind in ("TABLE", "VIEW", "NAMESPACE"):
            spark.sql(f"DROP {kind} IF EXISTS `a/b`")
        assert not spark.catalog.tableExists(f"{catalog}.default.`a/b`")
        assert not spark.catalog.databaseExists("`a/b`")
        for statement in (
            "SELECT * FROM `a/b`",
            "SELECT * FROM `a/b`.t",
            "DROP TABLE `a/b`",
            "DESCRIBE ` x`",
        ):
            with pytest.raises(AnalysisException, match="TABLE_OR_VIEW_NOT_FOUND"):
                spark.sql(statement)
        with pytest.raises(AnalysisException, match="SCHEMA_NOT_FOUND"):
            spark.sql("USE `a/b`")
    finally:
        spark.sql("USE spark_catalog.default")
