"""Files that Spark writes have the table's field ids."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession, functions as sf

import parquetry
from parquetry.data_files import IdsInFile
from parquetry.metastore import TableSnapshot, open_metastore

pytestmark = pytest.mark.core

Rows = Callable[[str], list[tuple[Any, ...]]]
NESTED = "NAMED_STRUCT('x', id, 'y', ARRAY(NAMED_STRUCT('z', id))) AS s, MAP('k', ARRAY(id)) AS m"
IDS = {
    "id": 1, "s": 2, "s.x": 3, "s.y": 4, "s.y.element": 5, "s.y.element.z": 6, "m": 7, "m.key": 8, "m.value": 9,
    "m.value.element": 10,
}  # fmt: skip


def snapshot(spark: SparkSession, name: str) -> TableSnapshot:
    warehouse = spark.conf.get("spark.sql.catalog.lake.warehouse")
    assert warehouse is not None
    with open_metastore(warehouse) as metastore:
        return metastore.table(*name.split(".")[-2:])


def paths(spark: SparkSession, name: str) -> list[str]:
    """Return the paths of a table's files, in the order of their rows."""
    warehouse = spark.conf.get("spark.sql.catalog.lake.warehouse")
    files = parquetry.open(warehouse).files(".".join(name.split(".")[-2:]))
    return [file.path.removeprefix("file:") for file in files]


def states(spark: SparkSession, name: str) -> set[int | None]:
    """Return what the records of a table's files say of their ids."""
    warehouse = spark.conf.get("spark.sql.catalog.lake.warehouse")
    assert warehouse is not None
    with open_metastore(warehouse) as metastore:
        partitions = list(metastore.table(*name.split(".")[-2:]).partitions())
        return {file.field_ids for partition in partitions for file in partition.files}


def parquet_ids(path: str) -> dict[str, int]:
    """Return the ids in a Parquet file, by the paths of columns and fields."""
    ids: dict[str, int] = {}

    def visit(field: pa.Field, label: str) -> None:
        if field.metadata and b"PARQUET:field_id" in field.metadata:
            ids[label] = int(field.metadata[b"PARQUET:field_id"])
        kind = field.type
        if pa.types.is_struct(kind):
            for inner in kind:
                visit(inner, f"{label}.{inner.name}")
        elif pa.types.is_list(kind):
            visit(kind.value_field, f"{label}.element")
        elif pa.types.is_map(kind):
            visit(kind.key_field, f"{label}.key")
            visit(kind.item_field, f"{label}.value")

    for field in pq.ParquetFile(path).schema_arrow:
        visit(field, field.name)
    return ids


def orc_ids(spark: SparkSession, path: str) -> dict[str, int]:
    """Return the ids in an ORC file, by the paths of columns and fields."""
    jvm = spark._jvm
    assert jvm is not None
    options = jvm.org.apache.orc.OrcFile.readerOptions(spark._jsparkSession.sessionState().newHadoopConf())
    reader = jvm.org.apache.orc.OrcFile.createReader(jvm.org.apache.hadoop.fs.Path(path), options)
    ids: dict[str, int] = {}

    def visit(kind: Any, label: str) -> None:
        if (number := kind.getAttributeValue("iceberg.id")) is not None:
            ids[label] = int(number)
        category = kind.getCategory().getName()
        names = {"struct": kind.getFieldNames, "array": lambda: ["element"], "map": lambda: ["key", "value"]}
        for name, child in zip(names.get(category, list)(), kind.getChildren() or (), strict=True):
            visit(child, f"{label}.{name}".strip("."))

    visit(reader.getSchema(), "")
    reader.close()
    return ids


@pytest.mark.parametrize("legacy", ["false", "true"])
def test_all_columns_and_fields_have_ids(spark: SparkSession, db: str, rows: Rows, legacy: str) -> None:
    """Elements, keys and values as well, in both forms of lists, and Spark's own schema has no id.

    Spark reads the same rows, also if it is to find columns by ids.
    """
    spark.conf.set("spark.sql.parquet.writeLegacyFormat", legacy)
    spark.sql(
        f"CREATE TABLE {db}.t USING parquet PARTITIONED BY (p) AS SELECT 1 AS p, id, {NESTED} FROM range(2)"
    )
    spark.conf.unset("spark.sql.parquet.writeLegacyFormat")
    (path, *_) = paths(spark, f"{db}.t")
    assert parquet_ids(path) == IDS
    assert states(spark, f"{db}.t") == {IdsInFile.OLD_LISTS if legacy == "true" else IdsInFile.OURS}
    assert all(field.metadata == {} for field in spark.table(f"{db}.t").schema)
    assert all(field.metadata == {} for field in spark.read.parquet(path).schema)
    with_ids = "spark.sql.parquet.fieldId.read.enabled"
    spark.conf.set(with_ids, "true")
    assert rows(f"SELECT s.y[0].z, m['k'][0] FROM {db}.t ORDER BY id") == [(0, 0), (1, 1)]
    spark.conf.unset(with_ids)


def test_orc_columns_have_ids(spark: SparkSession, db: str, rows: Rows) -> None:
    """They are attributes, where Iceberg's readers look for them. Rows and types are as before."""
    spark.sql(
        f"CREATE TABLE {db}.t (id BIGINT, s STRUCT<x: BIGINT, y: ARRAY<STRUCT<z: BIGINT>>>, m MAP<STRING, ARRAY<BIGINT>>, c CHAR(3), "
        "t TIMESTAMP_NTZ) USING orc"
    )
    spark.sql(
        f"INSERT INTO {db}.t SELECT id, {NESTED}, 'a', TIMESTAMP_NTZ'2026-11-27 01:02:03' FROM range(2)"
    )
    assert orc_ids(spark, paths(spark, f"{db}.t")[0]) == {**IDS, "c": 11, "t": 12}
    assert states(spark, f"{db}.t") == {IdsInFile.OURS}
    assert rows(f"SELECT s.y[0].z, m['k'][0], c, CAST(t AS STRING) FROM {db}.t ORDER BY id") == [
        (number, number, "a  ", "2026-11-27 01:02:03") for number in (0, 1)
    ]


def test_ids_stay_when_columns_change(spark: SparkSession, db: str) -> None:
    """Renaming keeps an id; a column that was dropped and added again has another one, also in buckets."""
    spark.sql(
        f"CREATE TABLE {db}.t (p INT, a BIGINT, b BIGINT, s STRUCT<x: INT>) USING parquet PARTITIONED BY (p) CLUSTERED BY (a) INTO 2 BUCKETS"
    )
    for change in (
        "RENAME COLUMN b TO c", "ADD COLUMN b BIGINT FIRST", "ADD COLUMN s.y INT FIRST", "DROP COLUMN c",
        "ADD COLUMN c BIGINT", "RENAME COLUMN s.x TO z", "RENAME COLUMN p TO q",
    ):  # fmt: skip
        spark.sql(f"ALTER TABLE {db}.t {change}")
    spark.sql(f"INSERT INTO {db}.t (b, a, s, c, q) VALUES (NULL, 1, NULL, 2, 3)")
    ids = {"a": 1, "s": 3, "s.x": 4, "b_1": 6, "s.y": 7, "c": 8}
    assert [parquet_ids(path) for path in paths(spark, f"{db}.t")] == [ids]
    spark.sql(f"ALTER TABLE {db}.t ADD COLUMN d INT")
    assert snapshot(spark, f"{db}.t").metadata.ids_by_path[("d",)] == 9


def test_ids_of_a_data_frame_are_kept(spark: SparkSession, db: str) -> None:
    """Later columns get other ids, and rows that come with other ids get the table's."""
    frame = spark.range(1).select(
        sf.col("id").alias("a", metadata={"parquet.field.id": 7}),
        sf.col("id").alias("b"),
        sf.array("id").alias("c", metadata={"parquet.field.id": 1}),
    )
    frame.writeTo(f"{db}.t").using("parquet").create()
    spark.range(1).select(
        sf.col("id").alias("a", metadata={"parquet.field.id": 5}),
        sf.col("id").alias("b"),
        sf.array("id").alias("c"),
    ).writeTo(f"{db}.t").append()
    spark.sql(f"ALTER TABLE {db}.t ADD COLUMN d INT")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 2, ARRAY(3), 4)")
    first, second, third = (
        parquet_ids(path) for path in sorted(paths(spark, f"{db}.t"), key=os.path.getmtime)
    )
    assert first == second == {"a": 7, "b": 2, "c": 1, "c.element": 3}
    assert third == {**first, "d": 8}
    assert all(field.metadata == {} for field in spark.table(f"{db}.t").schema)


def test_files_of_others_get_ids_when_they_are_compacted(spark: SparkSession, db: str, rows: Rows) -> None:
    """A file with foreign ids is rewritten even if it is alone; one without ids on request."""
    spark.sql(f"CREATE TABLE {db}.t (a BIGINT, b BIGINT) USING parquet")
    location = snapshot(spark, f"{db}.t").metadata.location.removeprefix("file:")
    foreign = pa.schema(
        [
            pa.field(name, pa.int64(), metadata={"PARQUET:field_id": number})
            for name, number in (("a", "2"), ("b", "1"))
        ]
    )
    pq.write_table(pa.table({"a": [1], "b": [2]}, foreign), f"{location}/foreign.parquet")
    name = f"{db}.t".removeprefix("lake.")
    spark.sql(f"CALL lake.system.sync('{name}')")
    assert states(spark, f"{db}.t") == {IdsInFile.FOREIGN}
    spark.sql(f"CALL lake.system.compact('{name}')")
    assert states(spark, f"{db}.t") == {IdsInFile.OURS}
    assert [parquet_ids(path) for path in paths(spark, f"{db}.t")] == [{"a": 1, "b": 2}]
    assert rows(f"SELECT a, b FROM {db}.t") == [(1, 2)]
    pq.write_table(pa.table({"b": [4], "a": [3]}), f"{location}/swapped.parquet")
    spark.sql(f"CALL lake.system.sync('{name}')")
    assert states(spark, f"{db}.t") == {IdsInFile.OURS, IdsInFile.ABSENT}
    spark.sql(f"CALL lake.system.compact('{name}', for_other_readers => true)")
    assert states(spark, f"{db}.t") == {IdsInFile.OURS}
    assert rows(f"SELECT a, b FROM {db}.t ORDER BY a") == [(1, 2), (3, 4)]


def test_partition_columns_in_files(spark: SparkSession, db: str, rows: Rows) -> None:
    """Spark, Polars, DuckDB and PyArrow read the same rows, and files have the values of their partition."""
    spark.sql(
        f"CREATE TABLE {db}.t (p STRING, d DATE, a BIGINT) USING parquet PARTITIONED BY (d, p) "
        "TBLPROPERTIES ('partition-columns-in-files' = 'true')"
    )
    spark.sql(
        f"INSERT INTO {db}.t (a, p, d) VALUES (1, 'x/y', DATE'2026-11-27'), (2, '', NULL), (3, NULL, DATE'2026-11-27')"
    )
    spark.sql(f"UPDATE {db}.t SET a = 4 WHERE a = 3")
    files = sorted(paths(spark, f"{db}.t"))
    assert states(spark, f"{db}.t") == {IdsInFile.WITH_PARTITION_COLUMNS}
    schemas = {tuple(pq.ParquetFile(path).schema_arrow.names) for path in files}
    assert schemas == {("a", "d", "p")}
    assert {tuple(parquet_ids(path).items()) for path in files} == {(("a", 1), ("d", 3), ("p", 2))}
    expected = [(1, "2026-11-27", "x/y"), (2, None, None), (4, "2026-11-27", None)]
    assert rows(f"SELECT a, CAST(d AS STRING), p FROM {db}.t ORDER BY a") == expected
    assert rows(f"SELECT a FROM {db}.t WHERE p = 'x/y' AND d = DATE'2026-11-27'") == [(1,)]
    polars = (
        pl.scan_parquet(files, hive_partitioning=False)
        .select("a", pl.col("d").cast(pl.String), "p")
        .sort("a")
    )
    assert polars.collect().rows() == expected
    assert (
        duckdb.execute("SELECT a, CAST(d AS VARCHAR), p FROM read_parquet(?) ORDER BY a", [files]).fetchall()
        == expected
    )
    arrow = [row for path in files for row in pq.ParquetFile(path).read().to_pylist()]
    assert sorted((row["a"], row["d"] and str(row["d"]), row["p"]) for row in arrow) == expected
