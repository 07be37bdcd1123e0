"""Arguments of CALL may be any expressions that Spark can evaluate before the procedure runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """Make a table with two versions, and return its name."""
    spark.sql(f"CREATE TABLE {db}.t (a INT)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1)")
    spark.sql("USE lake")
    return f"{db}.t".removeprefix("lake.")


@pytest.mark.parametrize(
    "argument",
    [
        "now() - INTERVAL '7' DAY",
        "current_timestamp() - INTERVAL 7 DAYS",
        "current_timestamp - make_dt_interval(7)",
        "timestampadd(DAY, -7, now())",
        "date_sub(current_date(), 7)",
        "(SELECT now() - INTERVAL '7' DAY)",
        "TIMESTAMP'2020-01-01 00:00:00' + INTERVAL '1' HOUR",
    ],
)
def test_arguments_may_be_worked_out(table: str, rows: Rows, argument: str) -> None:
    """A timestamp computed in some steps is one argument, by name and by position, with defaults for the
    others.
    """
    for arguments in (
        f"'{table}', older_than => {argument}",
        f"older_than => {argument}, dry_run => NOT false, table => concat('{table}', '')",
        f"concat('{table.upper()}', ''), {argument}, 1 < 2",
    ):
        assert [row[0] for row in rows(f"CALL lake.system.vacuum({arguments})")] == ["kept versions"]


def test_numbers_may_be_worked_out(table: str, rows: Rows) -> None:
    """A version that is a sum of two types is the version that it comes to."""
    assert rows(f"CALL lake.system.rollback('{table}', abs(-1) - 1L)") == [(1, 2)]
    assert rows(f"SELECT count(*) FROM lake.{table}") == [(0,)]


def test_wrong_arguments_are_spark_s_own_errors(spark: SparkSession, table: str) -> None:
    """A computed argument without a name, or one too many, causes the error of a plain one."""
    with pytest.raises(AnalysisException, match="UNRECOGNIZED_PARAMETER_NAME"):
        spark.sql(f"CALL lake.system.vacuum(table => '{table}', older => now() - INTERVAL '7' DAY)")
    with pytest.raises(AnalysisException, match="WRONG_NUM_ARGS"):
        spark.sql(
            f"CALL lake.system.vacuum('{table}', now() - INTERVAL '7' DAY, true, 24, false, 24, false, 1 + 1L)"
        )
    with pytest.raises(AnalysisException, match="DATATYPE_MISMATCH"):
        spark.sql(f"CALL lake.system.rollback('{table}', now() - INTERVAL '7' DAY)")
