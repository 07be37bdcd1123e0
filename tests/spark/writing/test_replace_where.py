"""Rows that replace others must satisfy the statement's condition: if one does not, the statement is refused
as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession, functions as sf

from parquetry import metastore as ms
from parquetry.errors import OutsideConditionError
from parquetry.predicate.nodes import Compare, IsNull
from parquetry.spark.write.replace_where_check import check_partitions, check_rows
from parquetry.types import ColumnType
from tests.support.effort import sampled
from tests.support.planning.filters import make_filter, make_filters

Rows = Callable[[str], list[tuple[Any, ...]]]
OLD = "(1, 'x', 1, 'A'), (2, 'y', 1, 'B'), (3, 'z', 2, 'A'), (4, 'z', 2, NULL)"


def table(spark: SparkSession, db: str, fmt: str = "parquet") -> str:
    """Make a table of four rows in four partitions."""
    spark.sql(f"CREATE TABLE {db}.t (a INT, s STRING, p INT, r STRING) USING {fmt} PARTITIONED BY (p, r)")
    spark.sql(f"INSERT INTO {db}.t VALUES {OLD}")
    return f"{db}.t"


def state(spark: SparkSession, name: str, warehouse: Path) -> tuple[Any, ...]:
    """Return all that a refused statement must leave: rows, version, and files on disk."""
    content = sorted(str(tuple(row)) for row in spark.table(name).collect())
    files = sorted(str(path) for path in (warehouse / "lake").rglob("*") if "metastore" not in path.name)
    return content, spark.sql(f"SELECT max(version) FROM {name}.history").collect(), files


OUTSIDE = [
    ("p = 1", "SELECT 9, 'n', 2, 'A'", "p = 2"),
    ("p = 1", "SELECT 9, 'n', CAST(NULL AS INT), 'A'", "p = NULL"),
    ("p = 1", "SELECT id, 'n', if(id = 77, 7, 1), 'A' FROM range(0, 100, 1, 4)", "p = 7"),
    ("p = 1 AND r >= 'B'", "VALUES (8, 'n', 1, 'C'), (9, 'n', 1, 'A')", "p = 1, r = A"),
    ("p = 1 AND r >= 'B'", "SELECT 9, 'n', 1, ''", "p = 1, r = NULL"),
    ("r IS NULL", "SELECT 9, 'n', 2, 'x'", "r=x"),
    ("r IS NOT NULL", "SELECT 9, 'n', 2, ''", "r = NULL"),
    ("p <=> 1", "SELECT 9, 'n', 2, 'A'", "p ?= ?2"),
    ("p IN (2, 3) OR r = 'B'", "SELECT 9, 'n', 1, 'A'", "p = 1, r = A"),
    ("r != 'A'", "SELECT 9, 'n', 2, NULL", "r = NULL"),
    ("r NOT LIKE 'A%'", "SELECT 9, 'n', 5, 'AA'", "r = AA"),
    ("p = 77", "SELECT 9, 'n', 1, 'A'", "p = 1"),
    ("p = NULL", "SELECT 9, 'n', 1, 'A'", "p = 1, r = A"),
    ("p = 1 AND p = 2", "SELECT 9, 'n', 1, 'A'", "p = 1"),
    ("a = 1", "SELECT 9, 'n', 1, 'A'", "a = 9"),
    ("a = 1", "SELECT CAST(NULL AS INT), 'n', 1, 'A'", "a = NULL"),
    ("a = 1 AND r = 'A'", "SELECT 1, 'n', 1, 'B'", "r = B"),
    ("s = 'z'", "SELECT 9, \"it's \\\\ `n\", 1, 'A'", r"it's \\ `n"),
]


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
def test_a_row_outside_of_the_condition(spark: SparkSession, db: str, warehouse: Path, fmt: str) -> None:
    """If the condition is false or NULL for one row, the error names both and the remedy, and no row or file
    remains.
    """
    name = table(spark, db, fmt)
    before = state(spark, name, warehouse)
    for condition, query, says in sampled(OUTSIDE if fmt == "parquet" else OUTSIDE[::4], fmt):
        with pytest.raises(
            AnalysisException, match=f"does not satisfy REPLACE WHERE .*: .*{says}.*WHERE"
        ) as caught:
            spark.sql(f"INSERT INTO {name} REPLACE WHERE {condition} {query}")
        assert caught.value.getCondition() == "PARQUETRY_OUTSIDE_CONDITION"
        assert state(spark, name, warehouse) == before, condition


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
def test_a_frame_that_overwrites_by_condition(
    spark: SparkSession, db: str, warehouse: Path, fmt: str
) -> None:
    """`writeTo(t).overwrite(condition)` is REPLACE WHERE: rows outside are refused, those inside replace."""
    name = table(spark, db, fmt)
    before = state(spark, name, warehouse)
    frame = spark.sql("SELECT 9 AS a, 'n' AS s, 1 AS p, 'B' AS r")
    with pytest.raises(AnalysisException, match="p = 1") as caught:
        frame.writeTo(name).overwrite(sf.col("p") == 2)
    assert caught.value.getCondition() == "PARQUETRY_OUTSIDE_CONDITION"
    assert state(spark, name, warehouse) == before
    frame.writeTo(name).overwrite((sf.col("p") == 1) & (sf.col("r") > "A"))
    assert sorted(row.a for row in spark.table(name).collect()) == [1, 3, 4, 9]


def test_a_condition_on_data_columns(spark: SparkSession, db: str, rows: Rows) -> None:
    """If statistics show that whole partitions satisfy a condition on data, each new row has to satisfy it,
    too.
    """
    name = table(spark, db)
    spark.sql(f"INSERT INTO {name} REPLACE WHERE a >= 3 SELECT a + 1, s, p, r FROM {name} WHERE a >= 3")
    spark.sql(f"INSERT INTO {name} REPLACE WHERE s = 'z' AND p = 2 VALUES (7, 'z', 2, 'Q')")
    assert rows(f"SELECT * FROM {name} ORDER BY a") == [(1, "x", 1, "A"), (2, "y", 1, "B"), (7, "z", 2, "Q")]
    spark.sql(
        f"INSERT INTO {name} REPLACE WHERE s = \"it's\" OR s = '' VALUES (8, \"it's\", 3, 'R'), (9, '', 3, 'R')"
    )
    assert rows(f"SELECT s FROM {name} WHERE a > 7 ORDER BY a") == [("it's",), ("",)]


def test_renamed_columns(spark: SparkSession, db: str, rows: Rows) -> None:
    """The condition uses the current names of columns, not the names in the files."""
    name = table(spark, db)
    for old, new in (("a", "tmp"), ("s", "a"), ("tmp", "s"), ("p", "q")):
        spark.sql(f"ALTER TABLE {name} RENAME COLUMN {old} TO {new}")
    spark.sql(f"INSERT INTO {name} REPLACE WHERE q = 1 AND s < 3 SELECT 2, 'new', 1, 'B'")
    with pytest.raises(AnalysisException, match=r"does not satisfy REPLACE WHERE .*: s = 5, q = 1"):
        spark.sql(f"INSERT INTO {name} REPLACE WHERE q = 1 AND s < 3 SELECT 5, 'new', 1, 'B'")
    assert rows(f"SELECT * FROM {name} ORDER BY s") == [
        (2, "new", 1, "B"),
        (3, "z", 2, "A"),
        (4, "z", 2, None),
    ]


VALUES = [
    ("BOOLEAN", "true", "false"),
    ("TINYINT", "CAST(-128 AS TINYINT)", "127Y"),
    ("BIGINT", "CAST('-9223372036854775808' AS BIGINT)", "9223372036854775807"),
    ("FLOAT", "CAST(1.1 AS FLOAT)", "CAST('NaN' AS FLOAT)"),
    ("FLOAT", "CAST('Infinity' AS FLOAT)", "CAST(3.4e38 AS FLOAT)"),
    ("DOUBLE", "CAST('NaN' AS DOUBLE)", "CAST('-Infinity' AS DOUBLE)"),
    ("DOUBLE", "0.1D", "CAST('NaN' AS DOUBLE)"),
    ("DECIMAL(38, 18)", "CAST('12345678901234567890.000000000000000001' AS DECIMAL(38, 18))", "0"),
    ("STRING", r"'a\\b''c\n%'", "'é'"),
    ("CHAR(3)", "'ab'", "'b'"),
    ("VARCHAR(3)", "'ab '", "'ab'"),
    ("BINARY", "X'4100'", "X'42'"),
    ("BINARY", "X'41'", "X'42'"),
    ("DATE", "DATE '2024-02-29'", "DATE '0001-01-01'"),
    ("TIMESTAMP", "TIMESTAMP '2024-02-29 12:34:56.123456'", "TIMESTAMP '1900-01-01 00:00:00'"),
    ("TIMESTAMP_NTZ", "TIMESTAMP_NTZ '2024-02-29 12:34:56.1'", "TIMESTAMP_NTZ '1900-01-01 00:00:00'"),
]


def test_values_of_every_type(spark: SparkSession, db: str, rows: Rows) -> None:
    """A row that satisfies a comparison is written, and one that does not is refused, in data and partition
    columns.
    """
    name = f"{db}.t"
    types = {f"d{i}": type_ for i, (type_, _, _) in enumerate(VALUES)}
    types |= {f"p{i}": type_ for i, (type_, inside, _) in enumerate(VALUES) if inside != "X'4100'"}
    inside = {c: VALUES[int(c[1:])][1] for c in types}
    other = {c: VALUES[int(c[1:])][2] for c in types}
    partition_by = ", ".join(c for c in types if c[0] == "p")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    try:
        spark.sql(
            f"CREATE TABLE {name} ({', '.join(f'{c} {t}' for c, t in types.items())}) PARTITIONED BY ({partition_by})"
        )
        condition = " AND ".join(f"{c} = {inside[c]}" for c in types)
        for wrong in sampled(list(types), "refused"):
            row = {**inside, wrong: other[wrong] if int(wrong[1:]) % 2 else "NULL"}
            with pytest.raises(AnalysisException, match="does not satisfy REPLACE WHERE ") as caught:
                spark.sql(f"INSERT INTO {name} REPLACE WHERE {condition} SELECT {', '.join(row.values())}")
            assert caught.value.getCondition() == "PARQUETRY_OUTSIDE_CONDITION", wrong
        spark.sql(f"INSERT INTO {name} REPLACE WHERE {condition} SELECT {', '.join(inside.values())}")
        assert rows(f"SELECT count(*), count_if({condition}) FROM {name}") == [(1, 1)]
        static = ", ".join(f"{c} = {inside[c]}" for c in types if c[0] == "p" and "CAST" not in inside[c])
        dynamic = {c: v for c, v in inside.items() if c[0] == "p" and "CAST" in v}
        given = ", ".join([*(v for c, v in other.items() if c[0] == "d"), *dynamic.values()])
        spark.sql(f"INSERT OVERWRITE {name} PARTITION ({static}, {', '.join(dynamic)}) SELECT {given}")
        assert rows(f"SELECT count(*), count_if({condition}) FROM {name}") == [(1, 0)]
    finally:
        spark.conf.set("spark.sql.session.timeZone", "UTC")


def test_a_static_partition_is_not_checked_row_by_row(
    spark: SparkSession, db: str, warehouse: Path, rows: Rows
) -> None:
    """INSERT OVERWRITE … PARTITION assigns the partition itself: its rows pass without a check of each, only
    partitions are checked.
    """
    name = table(spark, db)
    frame = spark.table(name)
    with ms.open_metastore(str(warehouse / "lake")) as metastore:
        snapshot = metastore.table(db.split(".")[1], "t")
        static = make_filters([Compare("<=>", "p", 1, ColumnType("int")), IsNull("r")])
        named = make_filter(Compare("=", "p", 1, ColumnType("int")))
        assert check_rows(snapshot, static, frame) is frame
        assert check_rows(snapshot, [*static, named], frame) is not frame
        check_partitions(snapshot, static, [(1, None)])
        with pytest.raises(OutsideConditionError, match="p=1/r=A"):
            check_partitions(snapshot, static, [(1, None), (1, "A")])
    spark.sql(f"INSERT OVERWRITE {name} PARTITION (p = 1, r = 'A') SELECT 9, 'n'")
    spark.sql(f"INSERT OVERWRITE {name} PARTITION (p = 2, r) SELECT 10, 'n', 'B'")
    assert rows(f"SELECT a, p, r FROM {name} ORDER BY a") == [(2, 1, "B"), (9, 1, "A"), (10, 2, "B")]
