"""Every way to write obeys CHECK. Statements about constraints are in `constraints.test`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from parquetry.config import series_of
from parquetry.metastore import Metastore
from tests.support.spark.asked_lake import BridgeLake

Rows = Callable[..., list[tuple[Any, ...]]]
COLUMNS = "(id INT, v INT, s STRUCT<a: INT>, p INT, CONSTRAINT positive CHECK (v > 0), CHECK (s.a < p))"
KEPT = [(1, 1, 0, 1), (2, 2, 1, 2)]


@pytest.fixture(params=["", "PARTITIONED BY (p)"], ids=["whole", "partitioned"])
def table(spark: SparkSession, db: str, request: pytest.FixtureRequest) -> str:
    """A table with two constraints and two rows."""
    spark.sql(f"CREATE TABLE {db}.t {COLUMNS} {request.param}")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1, struct(0), 1), (2, 2, struct(1), 2)")
    return f"{db}.t"


BAD = "SELECT 3 AS id, 0 AS v, named_struct('a', 1) AS s, 2 AS p"
DEEP = "SELECT 3 AS id, 9 AS v, named_struct('a', 2) AS s, 2 AS p"
STATEMENTS = [
    "INSERT INTO {} VALUES (3, 3, struct(0), 1), (4, -4, struct(0), 1)",
    f"INSERT INTO {{}} BY NAME {BAD}",
    f"INSERT INTO {{}} {DEEP}",
    f"INSERT OVERWRITE {{}} {BAD}",
    f"INSERT INTO {{}} REPLACE WHERE p = 2 {DEEP}",
    "UPDATE {} SET v = v - 1",
    "UPDATE {} SET s.a = 5 WHERE id = 2",
    f"MERGE INTO {{}} AS t USING ({BAD}) AS n ON t.id = n.id WHEN NOT MATCHED THEN INSERT *",
    "MERGE INTO {} AS t USING (SELECT 1 AS id) AS n ON t.id = n.id WHEN MATCHED THEN UPDATE SET v = -t.v",
]


@pytest.mark.needs("constraints")
@pytest.mark.parametrize("mode", ["static", "dynamic"])
def test_no_statement_writes_a_row_that_a_check_excludes(
    spark: SparkSession, rows: Rows, table: str, mode: str
) -> None:
    """The error names the constraint, and no version is committed; rows for a condition that is NULL pass."""
    before = rows(f"SELECT version FROM {table}.history ORDER BY version")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", mode)
    frame = spark.sql(BAD)
    partitioned = any(column.isPartition for column in spark.catalog.listColumns(table))
    statements = [each for each in STATEMENTS if partitioned or "REPLACE WHERE" not in each]
    writes = [
        *((lambda statement=statement: spark.sql(statement.format(table))) for statement in statements),
        lambda: frame.write.mode("append").saveAsTable(table),
        lambda: frame.write.mode("overwrite").insertInto(table),
        lambda: frame.writeTo(table).append(),
        lambda: frame.writeTo(table).overwritePartitions(),
    ]
    try:
        for write in writes:
            with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
                write()
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert rows(f"SELECT version FROM {table}.history ORDER BY version") == before
    assert sorted(rows(f"SELECT id, v, s.a, p FROM {table}")) == KEPT
    spark.sql(f"UPDATE {table} SET v = v + 1 WHERE id = 1")
    spark.sql(f"INSERT INTO {table} VALUES (5, NULL, NULL, 1)")
    assert sorted(rows(f"SELECT id, v FROM {table}")) == [(1, 2), (2, 2), (5, None)]


@pytest.mark.parametrize("where", ["", "PARTITIONED BY (p)"])
def test_a_check_of_another_session_holds(
    spark: SparkSession, rows: Rows, db: str, warehouse: Path, store: Metastore, where: str
) -> None:
    """No statement in any Spark version writes a row that a CHECK excludes. A Spark version without
    constraints writes no row, and names the constraint.
    """
    spark.sql(f"CREATE TABLE {db}.t (id INT, v INT, s STRUCT<a: INT>, p INT) {where}")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1, struct(0), 1), (2, 2, struct(1), 2)")
    lake = BridgeLake(warehouse / "lake", store)
    added = {"name": "positive", "kind": "check", "predicate": "v > 0", "enforced": True}
    change = {"change": "add_constraint", "constraint": added, "version": None}
    lake.ask("alter_table", namespace=[db.removeprefix("lake.")], name="t", changes=[change])
    table, frame = f"{db}.t", spark.sql(BAD)
    statements = [each for each in STATEMENTS if DEEP not in each and "s.a" not in each]
    writes = [
        *((lambda statement=statement: spark.sql(statement.format(table))) for statement in statements),
        lambda: frame.write.mode("append").saveAsTable(table),
        lambda: frame.write.mode("overwrite").insertInto(table),
        lambda: frame.writeTo(table).append(),
        lambda: frame.writeTo(table).overwritePartitions(),
    ]
    refused = (
        r"positive CHECK \(v > 0\), and Spark 4\.0.* write with Spark 4\.1 or later"
        if series_of(pyspark.__version__) == "4.0"
        else "CHECK_CONSTRAINT_VIOLATION"
    )
    for write in writes:
        with pytest.raises(PySparkException, match=refused):
            write()
    assert sorted(rows(f"SELECT id, v, s.a, p FROM {table}")) == KEPT
    spark.sql(f"DELETE FROM {table} WHERE v + id = 2")
    assert rows(f"SELECT id FROM {table}") == [(2,)]


@pytest.mark.needs("constraints")
def test_streams_do_not_write_past_a_check(spark: SparkSession, rows: Rows, db: str, tmp_path: Path) -> None:
    """Spark tests no rows of streams: they are refused, and go by statements with foreachBatch."""
    spark.sql(f"CREATE TABLE {db}.source AS SELECT 1 AS v")
    spark.sql(f"CREATE TABLE {db}.t (v INT, CHECK (v > 0))")
    stream = spark.readStream.table(f"{db}.source")
    writer = stream.writeStream.trigger(availableNow=True)
    with pytest.raises(PySparkException, match="A streaming query cannot write into table"):
        writer.option("checkpointLocation", str(tmp_path / "one")).toTable(f"{db}.t").awaitTermination()
    assert rows(f"SELECT * FROM {db}.t") == []
    stream.writeStream.trigger(availableNow=True).option(
        "checkpointLocation", str(tmp_path / "two")
    ).foreachBatch(lambda batch, _: batch.writeTo(f"{db}.t").append()).start().awaitTermination()
    assert rows(f"SELECT * FROM {db}.t") == [(1,)]
