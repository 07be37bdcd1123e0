"""Skewed values by parameters, and errors that stay Spark's own. Statements are in `statements.test`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException, ParseException
from pyspark.sql import SparkSession

from parquetry import metastore as ms
from parquetry.layout.skew_map import SkewMap

Rows = Callable[..., list[tuple[Any, ...]]]
COLUMNS = "(x INT, y STRING, p INT) USING parquet PARTITIONED BY (p)"
HEAVY = "SKEWED BY (x, y) ON ((1, 'UP'), ('2', NULL), (3, 'it''s \\\\ \"')) STORED AS DIRECTORIES"
CELLS = ((1, "UP"), (2, None), (3, "it's \\ \""))


@pytest.fixture
def skew(warehouse: Path, db: str) -> Callable[..., Any]:
    """Return what the record of a table says, or of its partitions."""

    def of(table: str, partitions: bool = False) -> Any:
        with ms.open_metastore(str(warehouse / "lake")) as metastore:
            found = metastore.table(db.split(".")[1], table)
            if partitions:
                return {part.values: part.arrangement.skew for part in found.partitions()}
            return found.metadata.arrangement.skew

    return of


@pytest.mark.needs("parameters")
def test_values_may_be_parameters(spark: SparkSession, db: str, skew: Callable[..., Any]) -> None:
    """By name and by place."""
    spark.sql(f"CREATE TABLE {db}.t {COLUMNS} {HEAVY}")
    spark.sql(f"ALTER TABLE {db}.t ADD PARTITION (p = 1)")
    spark.sql(
        f"alter table {db}.t partition (p = '1') set skewed location ((1, 'UP') = :uri)", {"uri": "file:/far"}
    )
    spark.sql(f"ALTER TABLE {db}.t SKEWED BY (y) ON (?, :x)".replace(":x", "?"), ["it's \\", None])
    assert skew("t") == SkewMap(("y",), (("it's \\",), (None,)))
    assert skew("t", partitions=True) == {(1,): SkewMap(("x", "y"), CELLS, True, ("file:/far", None, None))}


def test_tables_of_others_are_left_to_spark(spark: SparkSession, db: str) -> None:
    """Spark's own errors stay, to the letter and with their places; so do errors behind a clause of ours."""
    plain = spark._jvm.org.apache.spark.sql.execution.SparkSqlParser()
    for statement in (
        "CREATE TABLE s (x INT)\n  SKEWED BY (x) ON (1)",
        "ALTER TABLE spark_catalog.default.s NOT SKEWED",
        "ALTER TABLE s CONCATENATE",
        f"CREATE TABLE {db}.s (x INT) SKEWED BY x ON (1)",
        f"ALTER TABLE {db}.s NOT SKEWED AT ALL",
    ):
        with pytest.raises(ParseException) as alone:
            plain.parsePlan(statement)
        with pytest.raises(ParseException) as ours:
            spark.sql(statement)
        assert str(ours.value) == str(alone.value)
    with pytest.raises(ParseException, match=r"(?s)near 'USNIG'.*line 3, pos 2"):
        spark.sql(f"CREATE TABLE {db}.s (x INT)\n  SKEWED BY (x) ON (1) STORED AS DIRECTORIES\n  USNIG orc")
    with pytest.raises(AnalysisException, match=r"`nosuch`.*line 2 pos 8") as behind:
        spark.sql(f"CREATE TABLE {db}.s SKEWED BY (x) ON (1) AS\n SELECT nosuch AS x")
    assert "nosuch" in str(behind.value)
