"""Statements about whole tables and catalogs that Spark supports only in its own catalog, and
`spark.catalog`.
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
KEPT = "Every commit keeps the statistics: nothing was to be computed."


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """Four partitions by two columns, of a row each."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, day STRING, r INT) USING parquet PARTITIONED BY (day, r)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 'a', 1), (2, 'a', 2), (3, 'b', 1), (4, NULL, 1)")
    return f"{db}.t"


def test_drop_partitions_by_some_columns(spark: SparkSession, table: str, rows: Rows) -> None:
    """All partitions that agree are dropped in one commit, also if two specifications agree with one
    partition.

    If none agrees, the statement fails unless it says IF EXISTS.
    """
    for statement in ("DROP PARTITION (r = 9)", "DROP PARTITION (day = 'a'), PARTITION (day = 'c')"):
        with pytest.raises(AnalysisException, match="PARTITIONS_NOT_FOUND"):
            spark.sql(f"ALTER TABLE {table} {statement}")
    with pytest.raises(AnalysisException, match="PARTITIONS_NOT_FOUND"):
        spark.sql(f"ALTER TABLE {table} DROP PARTITION (id = 1)")
    for statement, says in (
        (f"{table}.files DROP PARTITION (r = 1)", "(?i)partition"),
        (f"{table}_nope DROP PARTITION (r = 1)", "TABLE_OR_VIEW_NOT_FOUND"),
    ):
        with pytest.raises(AnalysisException, match=says):
            spark.sql(f"ALTER TABLE {statement}")
    spark.sql(f"ALTER TABLE {table} DROP IF EXISTS PARTITION (r = 9)")
    assert rows(f"SELECT count(*) FROM {table}") == [(4,)]
    spark.sql(f"CACHE TABLE {table}")
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (day = 'a'), PARTITION (day = 'a', r = 2)")
    assert rows(f"SELECT id FROM {table} ORDER BY id") == [(3,), (4,)]
    assert [row[2] for row in rows(f"CALL lake.system.history(table => '{table}')")] == [
        "drop partitions",
        "append",
        "create",
    ]
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (day = NULL)")
    assert rows(f"SHOW PARTITIONS {table}") == [("day=b/r=1",)]
    spark.sql(f"ALTER TABLE {table} DROP IF EXISTS PARTITION (r = 1), PARTITION (day = 'b') PURGE")
    assert rows(f"SELECT * FROM {table}") == []


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


def test_analyze(spark: SparkSession, db: str, table: str, rows: Rows) -> None:
    """Without columns of files, it computes nothing and makes no version; names that are none are errors."""
    known = rows(f"ANALYZE TABLE {table} COMPUTE STATISTICS")
    assert known == [(table, 4, 4, 4, known[0][4], KEPT)]
    assert known[0][4] > 0
    for statement in (
        f"TABLE {table} COMPUTE STATISTICS NOSCAN",
        f"TABLE {table} COMPUTE STATISTICS FOR COLUMNS DAY",
        f"TABLE {table} PARTITION (day = 'a') COMPUTE STATISTICS",
        f"TABLES IN {db} COMPUTE STATISTICS",
    ):
        assert rows(f"ANALYZE {statement}") == known
    for statement, says in (
        (f"TABLE {table} COMPUTE STATISTICS FOR COLUMNS nope", "Column 'nope' is not in the table"),
        (
            f"TABLE {table} PARTITION (id = 1) COMPUTE STATISTICS",
            "id is no partition column; those are day, r",
        ),
        (f"TABLE {db}.nope COMPUTE STATISTICS", "TABLE_OR_VIEW_NOT_FOUND"),
    ):
        with pytest.raises(AnalysisException, match=says):
            spark.sql(f"ANALYZE {statement}")
    assert len(rows(f"CALL lake.system.history(table => '{table}')")) == 2


def test_show_functions(spark: SparkSession, db: str, rows: Rows) -> None:
    """Spark's own, which can be called in any catalog, and the catalog's by their full names."""
    spark.catalog.setCurrentCatalog("spark_catalog")
    own = rows("SHOW SYSTEM FUNCTIONS")
    ours = [("lake.system.hive_bucket",), ("lake.system.hive_hash",)]
    assert rows(f"SHOW FUNCTIONS IN {db}") == own
    assert rows(f"SHOW USER FUNCTIONS IN {db}") == []
    assert rows("SHOW USER FUNCTIONS IN lake") == ours
    assert rows("SHOW USER FUNCTIONS IN lake.system LIKE '*hash'") == ours[1:]
    spark.sql(f"USE {db}")
    assert rows("SHOW FUNCTIONS") == [*own, *ours]
    assert rows("SHOW SYSTEM FUNCTIONS LIKE 'abs'") == [("abs",)]
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
