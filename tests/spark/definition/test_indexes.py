"""Secondary indexes in SQL: tables and procedures make them, writes maintain them, scans use them, and
reports show them. Calls that are refused are in `indexes.test`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import parquetry

Rows = Callable[[str], list[tuple[Any, ...]]]


def fill(spark: SparkSession, table: str, properties: str = "") -> None:
    """Make a table of 60 partitions: day × region, a row in each."""
    spark.sql(
        f"CREATE TABLE {table} (v int, day int, region string) PARTITIONED BY (day, region) {properties}"
    )
    spark.range(60).selectExpr("int(id) v", "int(id / 6) day", "concat('r', id % 6) region").writeTo(
        table
    ).append()


def way(warehouse: Path, table: str, where: str) -> tuple[set[str], int | None]:
    """Return the kinds of scans that a filter takes, and how many keys they examine."""
    with parquetry.open(warehouse / "lake") as catalog:
        plan = catalog.plan(table.removeprefix("lake."), where, run=True)
    return {scan["kind"] for scan in plan.to_dict()["scans"]}, plan.keys_examined


def test_create_use_rebuild_drop(spark: SparkSession, db: str, rows: Rows, warehouse: Path) -> None:
    """CALL system.create_partition_index and its sisters; queries give the same rows throughout."""
    table = f"{db}.t"
    fill(spark, table)
    query = f"SELECT sum(v), count(*) FROM {table} WHERE region = 'r2'"
    name = table.removeprefix("lake.")
    expected = rows(query)
    assert way(warehouse, table, "region = 'r2'") == ({"range"}, 60)
    created = rows(f"CALL lake.system.create_partition_index('{name}', array('region'))")
    assert [row[:2] for row in created] == [("region", "region")]
    assert rows(query) == expected
    assert way(warehouse, table, "region = 'r2'") == ({"index"}, 20)
    spark.sql(f"INSERT INTO {table} VALUES (1000, 99, 'r2')")
    spark.sql(f"ALTER TABLE {table} DROP PARTITION (day = 0, region = 'r2')")
    assert rows(query) == [(expected[0][0] + 1000 - 2, 10)]
    (scan,) = parquetry.explain(query).scans
    (partitions,) = [step for step in scan.steps if step.name == "partitions"]
    assert (partitions.kept, partitions.of) == (10, 60)
    rebuilt = rows(f"CALL lake.system.rebuild_partition_index(table => '{name}', name => 'region')")
    assert [row[:2] for row in rebuilt] == [("region", "region")]
    assert rows(query) == [(expected[0][0] + 1000 - 2, 10)]
    assert rows(f"CALL lake.system.fsck('{name}')") == []
    assert [r[2] for r in rows(f"CALL lake.system.history('{name}')")].count("index built") == 2
    assert rows(f"CALL lake.system.drop_partition_index('{name}', array('region'))") == []
    assert way(warehouse, table, "region = 'r2'") == (
        {"range"},
        62,
    )  # the dropped partition has two rows


def test_a_property_makes_it_with_the_table(
    spark: SparkSession, db: str, rows: Rows, warehouse: Path
) -> None:
    """`partition-indexes` at creation; SHOW TBLPROPERTIES and SHOW CREATE TABLE tell it as it is now."""
    table = f"{db}.t"
    fill(spark, table, "TBLPROPERTIES ('partition-indexes' = 'REGION')")
    assert way(warehouse, table, "region = 'r2'") == ({"index"}, 20)
    assert ("partition-indexes", "region") in rows(f"SHOW TBLPROPERTIES {table}")
    assert "'partition-indexes' = 'region'" in rows(f"SHOW CREATE TABLE {table}")[0][0]
    spark.sql(
        f"CREATE TABLE {db}.c PARTITIONED BY (day, region) TBLPROPERTIES ('partition-indexes' = 'region') AS SELECT * FROM {table}"
    )
    assert way(warehouse, f"{db}.c", "region = 'r2'") == ({"index"}, 20)
    spark.sql(f"ALTER TABLE {table} RENAME COLUMN region TO land")
    assert way(warehouse, table, "land = 'r2'") == ({"index"}, 20)
    assert ("partition-indexes", "land") in rows(f"SHOW TBLPROPERTIES {table}")
    with parquetry.open(warehouse / "lake") as catalog:
        assert catalog.table(table.removeprefix("lake.")).indexes == {"region": ("land",)}
    with pytest.raises(AnalysisException, match="partition-indexes"):
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES ('partition-indexes' = 'day')")
