"""The empty text as a partition's value, which no directory can be named for; and zeros of both signs."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

Rows = Callable[..., list[tuple[Any, ...]]]

STATEMENTS = [
    "INSERT INTO {t} PARTITION (day = '') VALUES (2, 1)",
    "INSERT OVERWRITE {t} PARTITION (day = '') VALUES (2, 1)",
    "INSERT OVERWRITE {t} PARTITION (day = '', n = 1) VALUES (2)",
    "INSERT OVERWRITE {t} PARTITION (day = 'a', n = '') VALUES (2)",
    "INSERT INTO {t} PARTITION (day = '', n) VALUES (2, 1)",
    "WITH q AS (SELECT 1 AS x, 2 AS n) INSERT INTO {t} PARTITION (day = '') SELECT * FROM q",
    "TRUNCATE TABLE {t} PARTITION (day = '', n = 1)",
    "ALTER TABLE {t} DROP PARTITION (day = '')",
    "ALTER TABLE {t} DROP IF EXISTS PARTITION (day = 'a', n = 1), PARTITION (day = '', n = 1)",
    "ALTER TABLE {t} ADD PARTITION (day = '', n = 1)",
    "ALTER TABLE {t} ADD IF NOT EXISTS PARTITION (day = 'b', n = '')",
    "ALTER TABLE {t} PARTITION (day = '', n = 1) RENAME TO PARTITION (day = 'b', n = 1)",
    "ALTER TABLE {t} PARTITION (day = 'a', n = 1) RENAME TO PARTITION (day = '', n = 1)",
    "ALTER TABLE {t} PARTITION (day = '', n = 1) SET LOCATION '/tmp/x'",
    "ANALYZE TABLE {t} PARTITION (day = '') COMPUTE STATISTICS",
    "SHOW PARTITIONS {t} PARTITION (day = '')",
    "LOAD DATA INPATH '/tmp/x' INTO TABLE {t} PARTITION (day = '', n = 1)",
]

REFUSAL = re.compile(r"PARQUETRY_UNSUPPORTED.*(day|n) = ''\) has an empty value.* = NULL\)")


def error_of(spark: SparkSession, statement: str) -> str:
    """Return the error of a statement, or an empty text."""
    try:
        spark.sql(statement).collect()
    except PySparkException as error:
        return str(error)
    return ""


def test_empty_values_are_refused(spark: SparkSession, rows: Rows, db: str) -> None:
    """No statement takes '' for the partition of NULL, and the error says how to name that one."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, day STRING, n INT) PARTITIONED BY (day, n)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, NULL, 1), (9, 'a', 1)")
    errors = {statement: error_of(spark, statement.format(t=f"{db}.t")) for statement in STATEMENTS}
    assert {statement for statement, text in errors.items() if not REFUSAL.search(text)} == set()
    assert sorted(rows(f"SELECT id FROM {db}.t")) == [(1,), (9,)]
    spark.sql(f"INSERT OVERWRITE {db}.t PARTITION (day = NULL, n = 1) VALUES (2)")
    assert sorted(rows(f"SELECT id FROM {db}.t")) == [(2,), (9,)]


def test_zeros_of_both_signs_share_files(spark: SparkSession, rows: Rows, db: str) -> None:
    """Rows of 0.0 and -0.0 in turn are written to one file of one partition; NaN and NULL have their own."""
    for type_ in ("DOUBLE", "FLOAT"):
        spark.sql(f"CREATE TABLE {db}.{type_} (id BIGINT, f {type_}) PARTITIONED BY (f)")
        spark.sql(
            f"INSERT INTO {db}.{type_} SELECT /*+ COALESCE(1) */ id, CASE id % 4 WHEN 0 THEN 0.0D WHEN 1 THEN -0.0D "
            "WHEN 2 THEN double('NaN') END FROM range(200)"
        )
        found = rows(
            f"SELECT f, count(*), count(DISTINCT file) FROM (SELECT f, input_file_name() AS file FROM {db}.{type_}) GROUP BY f"
        )
        assert {(str(f), *counts) for f, *counts in found} == {
            ("0.0", 100, 1),
            ("nan", 50, 1),
            ("None", 50, 1),
        }
