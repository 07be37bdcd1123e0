"""INSERT OVERWRITE with a PARTITION clause with all values is static in any mode, as in Hive and Spark's own
tables.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

MODE = "spark.sql.sources.partitionOverwriteMode"
STATEMENTS = [
    "INSERT OVERWRITE {t} PARTITION (p = 1, r = 'A') SELECT 9 WHERE false",
    "INSERT OVERWRITE {t} PARTITION (R = NULL, P = 2) SELECT 9 WHERE false",
    "INSERT OVERWRITE {t} PARTITION (p = 3, r = 'not there') SELECT 9 WHERE false",
    "INSERT OVERWRITE IDENTIFIER('{t}') PARTITION (p = 1, r = 'B') SELECT 9 WHERE false",
    "WITH c AS (SELECT 9 AS a) INSERT OVERWRITE {t} PARTITION (p = 2, r = 'A') SELECT a FROM c WHERE a < 9",
    "INSERT OVERWRITE {t} PARTITION (p = 4, r = 'some') SELECT 9",
    "INSERT OVERWRITE {t} PARTITION (p = 4, r = 'some') BY NAME SELECT 9 AS a WHERE false",
    "INSERT OVERWRITE {t} WITH (compression = 'zstd') PARTITION (p = 1, r = 'C') SELECT 9 WHERE false",
    "FROM (SELECT 9 AS a) INSERT OVERWRITE {t} PARTITION (p = 5, r = 'x') SELECT a "
    "INSERT OVERWRITE {t} PARTITION (p = 1, r = 'D') SELECT a WHERE false",
    # a value is left open: what gets no rows stays
    "INSERT OVERWRITE {t} PARTITION (p = 1, r) SELECT 9, 'E' WHERE false",
    "INSERT OVERWRITE {t} PARTITION (p, r) SELECT 9, 1, 'E' WHERE false",
    "INSERT OVERWRITE {t} SELECT 9, 1, 'E' WHERE false",
]


@pytest.fixture
def dynamic(spark: SparkSession) -> Iterator[None]:
    """Dynamic overwrites, for a whole session."""
    spark.conf.set(MODE, "dynamic")
    yield
    spark.conf.unset(MODE)


def state(spark: SparkSession, table: str) -> tuple[list[str], list[str]]:
    """Return a table's rows and its partitions."""
    rows = sorted(str(tuple(row)) for row in spark.table(table).collect())
    return rows, sorted(row[0] for row in spark.sql(f"SHOW PARTITIONS {table}").collect())


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
def test_given_partitions_are_replaced_by_no_rows_too(
    spark: SparkSession, db: str, stock: str, dynamic: None, fmt: str
) -> None:
    """After each statement, rows and partitions equal Spark's own table, which empties or makes a partition
    that the clause names.
    """
    tables = [f"{db}.t", f"{stock}.t"]
    for table in tables:
        spark.sql(f"CREATE TABLE {table} (a INT, p INT, r STRING) USING {fmt} PARTITIONED BY (p, r)")
        values = ", ".join(f"({p}, {p}, '{r}')" for p in (1, 2) for r in "ABCDE")
        spark.sql(f"INSERT INTO {table} VALUES {values}, (7, 2, NULL)")
    for statement in STATEMENTS:
        for table in tables:
            spark.sql(statement.format(t=table))
        assert state(spark, tables[0]) == state(spark, tables[1]), statement
    assert len(state(spark, tables[0])[0]) == 6


def test_given_values_are_cast_as_in_a_static_overwrite(
    spark: SparkSession, db: str, stock: str, dynamic: None
) -> None:
    """Values of any type, written in any way, name the partition that they name in Spark's own tables."""
    tables = [f"{db}.t", f"{stock}.t"]
    for table in tables:
        spark.sql(
            f"CREATE TABLE {table} (a INT, c CHAR(3), d DATE, n INT, ts TIMESTAMP, b BOOLEAN) USING parquet "
            "PARTITIONED BY (c, d, n, ts, b)"
        )
        for c in "xyz":
            spark.sql(
                f"INSERT INTO {table} VALUES (1, '{c}', DATE'2026-01-02', 3, TIMESTAMP'2026-01-02 00:00:00', true)"
            )
        for c, n in (("x", "3"), ("y", "'03'"), ("new", "3")):
            spark.sql(
                f"INSERT OVERWRITE {table} PARTITION (c = '{c}', d = DATE'2026-01-02', n = {n}, ts = '2026-01-02', b = true) "
                "SELECT 1 WHERE false"
            )
    assert state(spark, tables[0]) == state(spark, tables[1])
    assert len(state(spark, tables[0])[0]) == 1


def test_frames_name_no_partition(spark: SparkSession, db: str, stock: str, dynamic: None) -> None:
    """insertInto and overwritePartitions of no rows leave all partitions, as in Spark's own tables."""
    for table in (f"{db}.t", f"{stock}.t"):
        spark.sql(f"CREATE TABLE {table} (a INT, p INT) USING parquet PARTITIONED BY (p)")
        spark.sql(f"INSERT INTO {table} VALUES (1, 1), (2, 2)")
        before = state(spark, table)
        spark.table(table).limit(0).write.mode("overwrite").insertInto(table)
        if table.startswith("lake."):
            spark.table(table).limit(0).writeTo(table).overwritePartitions()
        assert state(spark, table) == before
