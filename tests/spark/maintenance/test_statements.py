"""Delta's statements about our tables: those that procedures do are done, and of others the error says what does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.errors.exceptions.base import PySparkException
from pyspark.sql import SparkSession

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """Two versions of rows, in two files of one partition."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, p INT) PARTITIONED BY (p)")
    for number in (1, 2):
        spark.sql(f"INSERT INTO {db}.t VALUES ({number}, 1)")
    return f"{db}.t"


def test_statements_that_procedures_do(spark: SparkSession, table: str, rows: Rows) -> None:
    """OPTIMIZE compacts, RESTORE goes back, VACUUM deletes, and history and details are shown, with the rows of the procedures."""
    assert rows(f"OPTIMIZE {table} WHERE p = 2") == []
    ((partition, before, after, *_),) = rows(f"OPTIMIZE {table} WHERE p = 1")
    assert (partition, before, after) == ("p=1", 2, 1)
    assert [row[2] for row in rows(f"DESCRIBE HISTORY {table}")] == ["compact", "append", "append", "create"]
    assert rows(f"DESC HISTORY {table} LIMIT 1") == rows(f"CALL lake.system.history('{table}')")[:1]
    assert rows(f"RESTORE TABLE {table} TO VERSION AS OF 1") == [(3, 4)]
    assert rows(f"SELECT id FROM {table}") == [(1,)]
    spark.sql(f"INSERT OVERWRITE {table} VALUES (3, 1)")
    assert rows(f"VACUUM {table}") == []
    assert rows(f"VACUUM {table} RETAIN 168 HOURS") == []
    assert [row[0] for row in rows(f"VACUUM {table} RETAIN 0 HOURS DRY RUN")].count("data file") >= 2
    for hours in ("RETAIN 0 HOURS", "RETAIN 167 HOURS"):
        with pytest.raises(PySparkException, match="'vacuum-retention-check' = 'false'"):
            spark.sql(f"VACUUM {table} {hours}")
    assert rows(f"SELECT count(*) FROM {table} VERSION AS OF 2") == [(2,)]
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('vacuum-retention-check' = 'false')")
    would = rows(f"VACUUM {table} RETAIN 0 HOURS DRY RUN")
    assert rows(f"VACUUM {table} RETAIN 0 HOURS") == would
    assert ("Location" in dict(row[:2] for row in rows(f"DESCRIBE DETAIL {table}"))) is True
    spark.sql(f"USE {table.rpartition('.')[0]}")
    try:
        assert len(rows("DESCRIBE HISTORY t LIMIT 1")) == 1
    finally:
        spark.sql("USE spark_catalog.default")


@pytest.mark.parametrize(
    ("statement", "says"),
    [
        ("OPTIMIZE {} ZORDER BY (id)", "CLUSTER BY .*CALL lake.system.compact.*Leave ZORDER BY out"),
        ("OPTIMIZE {} WHERE p = 1 ZORDER BY (id)", "CLUSTER BY"),
        ("RESTORE {} TO TIMESTAMP AS OF '2026-01-01'", "CALL lake.system.history.*CALL lake.system.rollback"),
        ("SELECT * FROM {}.snapshots", r"t\.snapshots does not exist here: read lake\..*t\.history"),
    ],
)
def test_what_no_procedure_does(spark: SparkSession, table: str, statement: str, says: str) -> None:
    """The error says what does it."""
    with pytest.raises(AnalysisException, match=says):
        spark.sql(statement.format(table))
