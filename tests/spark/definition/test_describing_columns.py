"""`DESCRIBE EXTENDED` of a column shows the statistics that `ANALYZE TABLE … FOR COLUMNS` computes for
Spark's own tables.
"""

from __future__ import annotations

from typing import Any

import pytest
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
    if format == "parquet":
        assert (strings["distinct_count"], strings["avg_col_len"]) == ("2", "2")
    numbers = _told(spark, f"DESCRIBE TABLE EXTENDED {db}.t i")
    assert [numbers[key] for key in ("distinct_count", "avg_col_len", "max_col_len")] == ["2", "4", "4"]
