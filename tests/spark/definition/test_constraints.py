"""Every statement that writes obeys CHECK; Spark sees keys; SHOW CREATE TABLE prints both, and its text makes
them again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

from parquetry.config import series_of
from parquetry.metastore import Metastore
from tests.support.spark import series
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
def test_rows_that_are_there_are_tested(spark: SparkSession, rows: Rows, table: str) -> None:
    """A constraint that some row violates is not added. One that all rows satisfy is added, and holds until
    it is dropped.
    """
    with pytest.raises(PySparkException, match="NEW_CHECK_CONSTRAINT_VIOLATION"):
        spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT few CHECK (id < 2)")
    spark.sql(f"INSERT INTO {table} VALUES (7, 7, struct(0), 1)")
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT few CHECK (id < 10)")
    with pytest.raises(PySparkException, match="few"):
        spark.sql(f"INSERT INTO {table} VALUES (10, 1, struct(0), 1)")
    with pytest.raises(AnalysisException, match=r"Constraint few is already there in table .*t"):
        spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT FEW CHECK (id < 20)")
    spark.sql(f"ALTER TABLE {table} DROP CONSTRAINT few")
    spark.sql(f"INSERT INTO {table} VALUES (10, 1, struct(0), 1)")
    assert rows(f"SELECT count(*) FROM {table}") == [(4,)]
    with pytest.raises(AnalysisException, match=r"has no constraint few; there are: positive"):
        spark.sql(f"ALTER TABLE {table} DROP CONSTRAINT few")
    spark.sql(f"ALTER TABLE {table} DROP CONSTRAINT IF EXISTS few")


@pytest.mark.needs("constraints")
def test_they_are_shown_and_made_again(spark: SparkSession, rows: Rows, db: str) -> None:
    """SHOW CREATE TABLE and DESCRIBE EXTENDED show CHECK, keys of all kinds and RELY, also for a clustered
    table.
    """
    spark.sql(f"CREATE TABLE {db}.o (k INT PRIMARY KEY)")
    spark.sql(
        f"CREATE TABLE {db}.t (a INT, b STRING, CONSTRAINT pk PRIMARY KEY (a), CONSTRAINT fk FOREIGN KEY (a) REFERENCES {db}.o (k) RELY, "
        "CONSTRAINT uk UNIQUE (b, a), CONSTRAINT c CHECK (b <> 'it''s') RELY) CLUSTER BY (a)"
    )
    [[text]] = rows(f"SHOW CREATE TABLE {db}.t")
    described = rows(f"DESCRIBE EXTENDED {db}.t")
    at = described.index(("# Constraints", "", ""))
    unreliable = "" if series.is_before("4.2") else " NORELY"
    assert [(name, text) for name, text, _ in described[at + 1 :]] == [
        ("pk", f"PRIMARY KEY (a) NOT ENFORCED{unreliable}"),
        ("fk", f"FOREIGN KEY (a) REFERENCES {db}.o (k) NOT ENFORCED RELY"),
        ("uk", f"UNIQUE (b, a) NOT ENFORCED{unreliable}"),
        ("c", "CHECK (b <> 'it''s') ENFORCED RELY"),
    ]
    spark.sql(f"DROP TABLE {db}.t")
    spark.sql(text)
    assert rows(f"SHOW CREATE TABLE {db}.t") == [(text,)]
    with pytest.raises(PySparkException, match="CHECK_CONSTRAINT_VIOLATION"):
        spark.sql(f"INSERT INTO {db}.t VALUES (1, 'it''s')")
    spark.sql(f"REPLACE TABLE {db}.t (a INT)")
    assert "CHECK" not in rows(f"SHOW CREATE TABLE {db}.t")[0][0]


@pytest.mark.needs("constraints")
def test_columns_that_a_check_names_stay(spark: SparkSession, rows: Rows, table: str) -> None:
    """The text would mean another column or none; others are renamed, and types widen."""
    for statement in ("RENAME COLUMN v TO w", "DROP COLUMN v", "RENAME COLUMN s.a TO b", "DROP COLUMN s"):
        with pytest.raises(AnalysisException, match=r"as constraint .* of table .*t names it"):
            spark.sql(f"ALTER TABLE {table} {statement}")
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN id TO n")
    spark.sql(f"ALTER TABLE {table} ALTER COLUMN v TYPE BIGINT")
    with pytest.raises(PySparkException, match="positive"):
        spark.sql(f"INSERT INTO {table} VALUES (3, -3000000000, struct(0), 1)")


@pytest.mark.needs("constraints")
def test_a_rollback_takes_its_constraints_along(spark: SparkSession, rows: Rows, table: str) -> None:
    """A rollback to a version before a CHECK drops it, as no statement has tested the rows of
    that version.
    """
    [[version]] = rows(f"SELECT max(version) FROM {table}.history")
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT few CHECK (id < 10)")
    spark.sql(f"CALL lake.system.rollback('{table.removeprefix('lake.')}', {version})")
    spark.sql(f"INSERT INTO {table} VALUES (10, 1, struct(0), 1)")
    with pytest.raises(PySparkException, match="positive"):
        spark.sql(f"INSERT INTO {table} VALUES (10, -1, struct(0), 1)")


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
