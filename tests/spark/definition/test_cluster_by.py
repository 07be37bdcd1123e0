"""CLUSTER BY sorts rows within files, and Spark sees how a table is partitioned, clustered and bucketed."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import Row, SparkSession, functions as sf

import parquetry
from tests.support.spark import series
from tests.support.tables.data_files import rows_of

Rows = Callable[[str], list[tuple[Any, ...]]]
FORMATS = pytest.mark.parametrize("fmt", ["parquet", "orc"])
NESTED = "(id INT, s STRUCT<a: INT, `b c`: STRUCT<d: INT>>, `x.y` INT)"


def partitioning(spark: SparkSession, table: str) -> list[str]:
    """Return the partitioning of a table that Spark sees, in Spark's words."""
    catalog, database, name = table.split(".")
    namespace = spark.sparkContext._gateway.new_array(spark._jvm.String, 1)
    namespace[0] = database
    identifier = spark._jvm.org.apache.spark.sql.connector.catalog.Identifier.of(namespace, name)
    loaded = spark._jsparkSession.sessionState().catalogManager().catalog(catalog).loadTable(identifier)
    return [transform.toString() for transform in loaded.partitioning()]


def files(spark: SparkSession, table: str) -> list[str]:
    with parquetry.open(spark.conf.get("spark.sql.catalog.lake.warehouse")) as catalog:
        return [file.path for file in catalog.files(table.removeprefix("lake."))]


@FORMATS
def test_rows_are_sorted_by_fields(spark: SparkSession, db: str, fmt: str) -> None:
    """Rows are also sorted by fields of structs, and of renamed structs. NULL comes first; a NULL struct
    sorts like a struct whose field is NULL.
    """
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} {NESTED} USING {fmt} TBLPROPERTIES ('target-file-size' = '1kb') CLUSTER BY (s.`b c`.d, `x.y`)"
    )
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN s.`b c` TO e")
    assert partitioning(spark, table) == ["cluster_by(s.e.d, `x.y`)"]
    values = spark.range(0, 500, 1, 4).selectExpr(
        "cast(id AS INT)",
        "if(id % 7 = 0, NULL, named_struct('a', 1, 'e', named_struct('d', if(id % 5 = 0, NULL, cast(hash(id) % 100 AS INT)))))",
        "cast(hash(id, 1) AS INT)",
    )
    values.write.insertInto(table)
    paths = files(spark, table)
    assert len(paths) > 1
    ranges = []
    for path in paths:
        found = [(row["s"] and row["s"]["b c"] and row["s"]["b c"]["d"], row["x.y"]) for row in rows_of(path)]
        keys = [(d is not None, d or 0, xy) for d, xy in found]
        assert keys == sorted(keys)
        ranges.append((keys[0], keys[-1]))
    ranges.sort()
    assert all(left[1] <= right[0] for left, right in itertools.pairwise(ranges))
    stored, given = (
        sorted(str(tuple(row)) for row in frame.collect()) for frame in (spark.table(table), values)
    )
    assert stored == given
    assert len(stored) == 500


def test_whatever_makes_a_table_takes_the_clause(spark: SparkSession, db: str) -> None:
    """Queries, REPLACE, and DataFrames of both kinds; a later append keeps to it."""
    spark.sql(f"CREATE TABLE {db}.a CLUSTER BY (v) AS SELECT id, -id AS v FROM range(0, 10, 1, 3)")
    frame = spark.range(0, 10, 1, 3).select("id", (-sf.col("id")).alias("v"))
    frame.write.clusterBy("v", "id").saveAsTable(f"{db}.b")
    frame.writeTo(f"{db}.c").clusterBy("v").create()
    for name, by in (("a", "v"), ("b", "v, id"), ("c", "v")):
        table = f"{db}.{name}"
        assert partitioning(spark, table) == [f"cluster_by({by})"]
        [path] = files(spark, table)
        assert [row["v"] for row in rows_of(path)] == list(range(-9, 1))
        frame.write.mode("append").saveAsTable(table)
        spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
        try:  # which is for tables with partitions; others are replaced whole
            frame.where("id > 10").write.mode("overwrite").insertInto(table)
            assert spark.table(table).count() == 0
            spark.sql(f"INSERT INTO {table} VALUES (1, 1)")
            spark.sql(f"INSERT OVERWRITE {table} SELECT 2, 2 WHERE false")
        finally:
            spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
        assert spark.table(table).count() == 0
    spark.sql(f"REPLACE TABLE {db}.a (id INT, w INT) CLUSTER BY (w)")
    assert partitioning(spark, f"{db}.a") == ["cluster_by(w)"]


BUCKETED = "(a INT, b STRING, p INT) USING parquet PARTITIONED BY (p) CLUSTERED BY (a, b) SORTED BY (b) INTO 4 BUCKETS"


def test_buckets_are_among_the_partitioning(spark: SparkSession, rows: Rows, db: str, stock: str) -> None:
    """Spark sees the buckets as those are in its own tables in memory, and shows partitions as for a stock
    table.
    """
    for table in (f"{db}.t", f"{stock}.t"):
        spark.sql(f"CREATE TABLE {table} {BUCKETED}")
        spark.sql(f"INSERT INTO {table} VALUES (1, 'x', 7), (2, 'y', 8)")
    assert partitioning(spark, f"{db}.t") == ["identity(p)", "sorted_bucket(a, b, 4, b)"]
    for statement in ("DESCRIBE {}.t", "SHOW PARTITIONS {}.t"):
        assert rows(statement.format(db)) == rows(statement.format(stock))
    columns = {
        table: [(each.name, each.isPartition, each.isBucket) for each in spark.catalog.listColumns(f"{table}.t")]
        for table in (db, stock)
    }  # fmt: skip
    assert columns[db] == columns[stock] == [("a", False, True), ("b", False, True), ("p", True, False)]
    spark.sql(f"ALTER TABLE {db}.t DROP PARTITION (p = 7)")
    spark.sql(f"ALTER TABLE {db}.t ADD PARTITION (p = 9)")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        spark.sql(f"INSERT OVERWRITE {db}.t VALUES (3, 'z', 9)")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    spark.createDataFrame([Row(a=4, b="w", p=9)]).selectExpr(
        "cast(a AS INT)", "b", "cast(p AS INT)"
    ).write.mode("append").saveAsTable(f"{db}.t")
    assert sorted(rows(f"SELECT * FROM {db}.t")) == [(2, "y", 8), (3, "z", 9), (4, "w", 9)]
    assert rows(f"SELECT count(*) FROM {db}.t WHERE _metadata.file_size > 0") == [(3,)]
    if series.has("described partitions"):
        assert ("p", "int", None) in rows(f"DESCRIBE EXTENDED {db}.t PARTITION (p = 9)")


def test_buckets_without_partitions(spark: SparkSession, rows: Rows, db: str) -> None:
    """A table with buckets alone is not partitioned, and is overwritten as a whole.

    Spark does not see a descending order, as it has none.
    """
    spark.sql(f"CREATE TABLE {db}.t (a INT, b INT) CLUSTERED BY (a) SORTED BY (b DESC) INTO 2 BUCKETS")
    assert partitioning(spark, f"{db}.t") == ["bucket(2, a)"]
    [[text]] = rows(f"SHOW CREATE TABLE {db}.t")
    assert text.count("INTO 2 BUCKETS") == 1
    assert "PARTITIONED BY" not in text
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1)")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        spark.sql(f"INSERT OVERWRITE {db}.t SELECT 2, 2 WHERE false")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert rows(f"SELECT * FROM {db}.t") == []
    if series.has("create table like"):
        spark.sql(f"CREATE TABLE {db}.u LIKE {db}.t")
        assert rows(f"SHOW CREATE TABLE {db}.u") == [(text.replace(f"{db}.t", f"{db}.u"),)]
