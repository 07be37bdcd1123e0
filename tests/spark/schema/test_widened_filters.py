"""For conditions on widened columns, readers get a filter only if its literals fit the types of the file.

Each narrow value is in its own file, so that a filter with another meaning in the file's type would skip it.
A condition in SELECT reaches no reader: it is the oracle.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.support.tables import filtered
from tests.support.tables.bucketed_tables import settings

WIDENINGS: dict[str, tuple[str, str, list[str], list[str]]] = {
    "integer decimal": (
        "DECIMAL(9,0)", "DECIMAL(18,0)", ["5", "-5", "999999999"],
        ["4294967301", "-4294967291", "999999999999999999"],
    ),
    "scaled decimal": (
        "DECIMAL(9,2)", "DECIMAL(18,2)", ["5.01", "-5.00", "9999999.99"],
        ["42949677.97", "-42949667.95", "9999999999999999.99"],
    ),
    "long decimal": (
        "DECIMAL(18,0)", "DECIMAL(38,0)", ["5", "-5", "999999999999999999"],
        ["18446744073709551621", "-18446744073709551611", "9999999999999999999999999999999999"],
    ),
    "decimal in bytes": (
        "DECIMAL(20,0)", "DECIMAL(38,0)", ["5", "-5", "99999999999999999999"],
        ["12345678901234567890123456789012345678", "-7", "100000000000000000000000"],
    ),
    "decimal in fewer bytes": (
        "DECIMAL(20,0)", "DECIMAL(30,0)", ["5", "-5", "7"], ["123456789012345678901234567890", "-7", "-5"],
    ),
    "greater scale": ("DECIMAL(5,2)", "DECIMAL(20,4)", ["5.00", "-5.01", "9.99"], ["5.0001", "429496.7301", "9007199254740993.5"]),
    "byte": ("TINYINT", "BIGINT", ["5", "-5", "127"], ["4294967301", "261", "-9223372036854775807"]),
    "short": ("SMALLINT", "INT", ["5", "-5", "32767"], ["65541", "2147483647", "-65531"]),
    "int": ("INT", "BIGINT", ["5", "-5", "2147483647"], ["4294967301", "-9223372036854775807", "9223372036854775807"]),
    "int to double": ("INT", "DOUBLE", ["5", "-5", "0"], ["4294967301", "'NaN'", "5.5"]),
    "float": ("FLOAT", "DOUBLE", ["1.1", "'-0.0'", "'NaN'"], ["1.1", "1e300", "'-Infinity'"]),
    "int to decimal": ("INT", "DECIMAL(20,2)", ["5", "-5", "0"], ["42949678.01", "5.01", "42949677.96"]),
    "long to decimal": ("BIGINT", "DECIMAL(20,0)", ["5", "-5", "0"], ["18446744073709551621", "9223372036854775808", "7"]),
    "date": ("DATE", "TIMESTAMP_NTZ", ["'2026-01-01'", "'1500-01-01'", "'1970-01-01'"], ["'2026-01-01 00:00:00.000001'", "'9999-12-31 23:59:59'", "'1969-12-31 00:00:00'"]),
    "varchar": ("VARCHAR(3)", "VARCHAR(9)", ["'abc'", "'a'", "''"], ["'abcd'", "'abcdefghi'", "'a€'"]),
    "char": ("CHAR(3)", "STRING", ["'abc'", "'a'", "'z'"], ["'abcd'", "'a'", "'a  '"]),
}  # fmt: skip
"""The old and the new type, values of the old one, and values of the new one."""
IN_ORC = {name for name in WIDENINGS if "decimal in" in name or name in ("integer decimal", "scaled decimal", "long decimal", "byte", "short", "int", "float", "varchar", "char")}  # fmt: skip
COMPARISONS = (
    "v = {}",
    "v <> {}",
    "v < {}",
    "v <= {}",
    "v > {}",
    "v >= {}",
    "NOT (v < {})",
    "NOT (v >= {})",
    "v <=> {} OR id = 99",
)


def literal(value: str, type: str) -> str:
    return value if type.startswith(("CHAR", "VARCHAR")) or type == "STRING" else f"CAST({value} AS {type})"


def conditions(old: list[str], new: list[str], type: str) -> list[str]:
    """The conditions on a column by all values, alone and in lists."""
    literals = [literal(value, type) for value in old[:1] + new]
    listed = [
        f"v IN ({', '.join(literals)})",
        f"v NOT IN ({', '.join(literals[1:])})",
        f"v IN ({', '.join(literals)}) AND v <> {literals[1]}",
    ]
    return [each.format(one) for one in literals for each in COMPARISONS] + listed


def wrong(spark: SparkSession, table: str, tried: list[str]) -> list[str]:
    """The conditions whose rows are others than where the readers get no condition."""
    expected = filtered.evaluated(spark, table, tried)
    assert any(expected)
    answers = filtered.found(spark, table, tried)
    return [f"{each}: {got}" for each, got, _ in filtered.differences(tried, answers, expected)]


def joined(spark: SparkSession, table: str, key: str) -> None:
    """A self join gives the rows that its condition selects from all pairs."""
    every = spark.sql(f"SELECT a.id x, b.id y, a.v = {key} m FROM {table} a CROSS JOIN {table} b").collect()
    frame = spark.sql(f"SELECT a.id x, b.id y FROM {table} a JOIN {table} b ON a.v = {key}")
    assert sorted((row["x"], row["y"]) for row in frame.collect()) == sorted(
        (row["x"], row["y"]) for row in every if row["m"]
    )


@pytest.mark.parametrize(
    ("format", "name"),
    [("parquet", name) for name in WIDENINGS] + [("orc", name) for name in WIDENINGS if name in IN_ORC],
)
def test_widened_columns(spark: SparkSession, db: str, format: str, name: str) -> None:
    """Literals, lists and runtime values select the right rows of old and new files, read in batches or row
    by row.
    """
    old, new, before, after = WIDENINGS[name]
    spark.sql(f"CREATE TABLE {db}.t (id INT, v {old}) USING {format}")
    values, number = ", ".join(literal(value, old) for value in before), len(before)
    spark.sql(f"ALTER TABLE {db}.t SET TBLPROPERTIES ('distribution' = 'none')")
    spark.sql(  # each value by a task of its own, into a file of its own
        f"INSERT INTO {db}.t SELECT CAST(id AS INT), element_at(array({values}), CAST(id AS INT) + 1) "
        f"FROM range(0, {number}, 1, {number})"
    )
    spark.sql(f"ALTER TABLE {db}.t UNSET TBLPROPERTIES ('distribution')")
    assert spark.sql(f"SELECT path FROM {db}.t.files").count() == number
    spark.sql(f"ALTER TABLE {db}.t ALTER COLUMN v TYPE {new}")
    spark.sql(
        f"INSERT INTO {db}.t VALUES (50, NULL), "
        + ", ".join(f"({60 + i}, {literal(value, new)})" for i, value in enumerate(after))
    )
    tried = conditions(before, after, new)
    for batches in ("true", "false") if "decimal" in name else ("true",):
        with settings(spark, {f"spark.sql.{format}.enableVectorizedReader": batches}):
            assert wrong(spark, f"{db}.t", tried) == []
            joined(spark, f"{db}.t", "-b.v" if not before[0].startswith("'") else "b.v")


def test_files_of_other_writers(spark: SparkSession, db: str, tmp_path: Path) -> None:
    """Narrow decimals of another writer, in as few bytes as possible, are compared with values that do not
    fit these bytes.
    """
    with settings(spark, {"spark.sql.parquet.writeLegacyFormat": "true"}):
        spark.sql(
            "SELECT 1 AS id, CAST(5 AS DECIMAL(2,0)) AS v, named_struct('w', CAST(5 AS DECIMAL(2,0))) AS s"
        ).coalesce(1).write.parquet(str(tmp_path / "t"))
        spark.sql(
            "SELECT 2 AS id, CAST(-5 AS DECIMAL(6,0)) AS v, named_struct('w', CAST(-5 AS DECIMAL(6,0))) AS s"
        ).coalesce(1).write.mode("append").parquet(str(tmp_path / "t"))
    spark.sql(
        f"CREATE TABLE {db}.t (id INT, v DECIMAL(9,0), s STRUCT<w: DECIMAL(9,0)>) USING parquet LOCATION '{tmp_path / 't'}'"
    )
    spark.sql(f"MSCK REPAIR TABLE {db}.t")
    tried = conditions(["5"], ["-5", "261", "16777221", "-16777211", "999999999"], "DECIMAL(9,0)")
    assert wrong(spark, f"{db}.t", tried) == []
    assert wrong(spark, f"{db}.t", [each.replace("v ", "s.w ") for each in tried]) == []


def test_times_between_milliseconds(spark: SparkSession, db: str, tmp_path: Path) -> None:
    """Times of another writer, in milliseconds, are compared with times between two milliseconds. (Spark's
    own tables lose rows here.)
    """
    with settings(spark, {"spark.sql.parquet.outputTimestampType": "TIMESTAMP_MILLIS"}):
        for number, millis in enumerate(("001", "002")):
            spark.sql(f"SELECT {number} AS id, TIMESTAMP'2026-01-01 00:00:00.{millis}' AS v").coalesce(
                1
            ).write.mode("append").parquet(str(tmp_path / "t"))
    spark.sql(f"CREATE TABLE {db}.t (id INT, v TIMESTAMP) USING parquet LOCATION '{tmp_path / 't'}'")
    spark.sql(f"MSCK REPAIR TABLE {db}.t")
    tried = conditions(
        ["'2026-01-01 00:00:00.001'"],
        ["'2026-01-01 00:00:00.0015'", "'2026-01-01 00:00:00.002001'"],
        "TIMESTAMP",
    )
    assert wrong(spark, f"{db}.t", tried) == []
