"""Audited statements change rows once, also where Spark plans their rows anew while they run."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

from tests.support.tables.bucketed_tables import settings

STATEMENTS = (
    "DELETE FROM {t} WHERE id IN (SELECT id + 50 FROM range(5))",
    "UPDATE {t} SET v = 'b' WHERE id IN (SELECT id + 1 FROM range(5))",
    "MERGE INTO {t} t USING (SELECT * FROM {t} WHERE p = 1) s ON t.id = s.id + 1 "
    "WHEN MATCHED THEN UPDATE SET v = 'c' WHEN NOT MATCHED THEN INSERT *",
)


@pytest.mark.core
@pytest.mark.every_case
def test_statements_with_subqueries_run_once(spark: SparkSession, db: str) -> None:
    """A DELETE, an UPDATE and a MERGE with joins make a version each, and have the rows of plain Spark."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, v STRING, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} SELECT id, 'a', int(id % 3) FROM range(99)")
    with settings(spark, {"parquetry.audit": "on", "spark.sql.adaptive.enabled": True}):
        for statement in STATEMENTS:
            spark.sql(statement.format(t=table))
    found = spark.sql(f"SELECT v, count(*) FROM {table} GROUP BY v ORDER BY v").collect()
    assert [tuple(row) for row in found] == [("a", 61), ("b", 3), ("c", 31)]
    operations = spark.sql(f"SELECT operation FROM {table}.history ORDER BY version").collect()
    assert [row[0] for row in operations][-3:] == ["delete", "update", "merge"]
