"""`DESCRIBE EXTENDED` of a column shows the statistics that `ANALYZE TABLE … FOR COLUMNS` computes for
Spark's own tables.
"""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

_TYPES = {
    "i": "INT",
    "b": "BIGINT",
    "s": "STRING",
    "d": "DATE",
    "at": "TIMESTAMP",
    "x": "DECIMAL(9, 2)",
    "f": "DOUBLE",
    "yes": "BOOLEAN",
    "`a b`": "STRING",
    "p": "INT",
}
_ROWS = """
    (1, 10, 'x', DATE'2024-02-29', TIMESTAMP'2024-02-29 12:00:00.25', 1.50, 0.5, true, 'q', 1),
    (3, NULL, 'abc', DATE'1999-12-31', TIMESTAMP'1969-12-31 23:59:59', -7.25, -2.0, false, 'r', 1),
    (NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 2)
"""


def _told(spark: SparkSession, statement: str) -> dict[str, str]:
    return {row.info_name: row.info_value for row in spark.sql(statement).collect()}


@pytest.mark.parametrize("format", ["parquet", "orc"])
def test_least_greatest_and_nulls_are_those_of_sparks_own_table(
    spark: SparkSession, db: str, stock: str, format: str
) -> None:
    """For each type, of a partition column and a name in backquotes: without any ANALYZE on our side."""
    columns = ", ".join(f"{name} {type}" for name, type in _TYPES.items())
    for database in (db, stock):
        spark.sql(f"CREATE TABLE {database}.t ({columns}) USING {format} PARTITIONED BY (p)")
        spark.sql(f"INSERT INTO {database}.t VALUES {_ROWS}")
    spark.sql(f"ANALYZE TABLE {stock}.t COMPUTE STATISTICS FOR ALL COLUMNS")
    for name in _TYPES:
        ours = _told(spark, f"DESCRIBE TABLE EXTENDED {db}.t {name}")
        theirs = _told(spark, f"DESCRIBE TABLE EXTENDED {stock}.t {name}")
        assert ours.keys() == theirs.keys()
        same = ours.keys() - {"distinct_count", "avg_col_len", "max_col_len", "histogram"}
        # Spark keeps no bounds of strings; files keep no exact bounds of timestamps, and do not say whether a
        # NaN exists.
        if _TYPES[name] in ("STRING", "TIMESTAMP", "DOUBLE"):
            same -= {"min", "max"}
        differing: dict[str, Any] = {
            key: (ours[key], theirs[key]) for key in same if ours[key] != theirs[key]
        }
        assert not differing, name
    strings = _told(spark, f"DESCRIBE TABLE EXTENDED {db}.t s")
    assert (strings["min"], strings["max"], strings["num_nulls"]) == ("abc", "x", "1")


def test_what_is_not_known_is_null(spark: SparkSession, db: str) -> None:
    """Without rows a minimum is NULL. A value that files do not store exactly, such as the maximum of long
    strings, is not guessed.
    """
    spark.sql(f"CREATE TABLE {db}.t (i INT, s STRING) USING parquet")
    assert _told(spark, f"DESCRIBE EXTENDED {db}.t i") == _told(spark, f"DESCRIBE {db}.t i")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, repeat('x', 5000)), (NULL, 'a')")
    long = _told(spark, f"DESCRIBE EXTENDED {db}.t s")
    assert (long["max"], long["num_nulls"]) == ("NULL", "0")
    assert _told(spark, f"DESCRIBE EXTENDED {db}.t i")["num_nulls"] == "1"


def test_without_extended_and_wrong_names_are_as_in_spark(spark: SparkSession, db: str) -> None:
    """Only EXTENDED shows statistics of values; a missing column causes Spark's own error."""
    spark.sql(f"CREATE TABLE {db}.t (i INT COMMENT 'a number', s STRUCT<a: INT>) USING parquet")
    assert _told(spark, f"DESCRIBE {db}.t i") == {"col_name": "i", "data_type": "int", "comment": "a number"}
    assert _told(spark, f"DESCRIBE EXTENDED {db}.t s").keys() == {"col_name", "data_type", "comment"}
    with pytest.raises(AnalysisException, match="UNRESOLVED_COLUMN"):
        spark.sql(f"DESCRIBE EXTENDED {db}.t nothing").collect()
