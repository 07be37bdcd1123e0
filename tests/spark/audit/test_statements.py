"""Audited statements change rows once, also where Spark plans their rows anew while they run."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import parquetry
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


def test_answers_about_texts_of_a_length(spark: SparkSession, db: str) -> None:
    """The rows' least and greatest CHAR and VARCHAR are the metastore's, of partitions and of data."""
    table = f"{db}.t"
    spark.sql(
        f"CREATE TABLE {table} (id INT, c CHAR(4), v VARCHAR(9), p VARCHAR(5), q CHAR(3)) PARTITIONED BY (p, q)"
    )
    for first in (0, 10):
        spark.sql(
            f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ id, 'c' || id, 'v' || id, 'p' || id % 2, 'q' "
            f"FROM range({first}, {first + 10})"
        )
    columns = ", ".join(f"min({name}), max({name})" for name in ("id", "c", "v", "p", "q"))
    expected = [0, 19, "c0  ", "c9  ", "v0", "v9", "p0", "p1", "q  ", "q  "]
    with settings(spark, {"parquetry.audit": "on"}):
        for condition in ("", "WHERE id >= 0", "WHERE v >= 'v0'"):
            frame = spark.sql(f"SELECT count(*), {columns} FROM {table} {condition}")
            assert list(frame.collect()[0]) == [20, *expected]
            assert "all hold" in str(parquetry.report(frame))
        assert spark.sql(f"SELECT count(*), min(v), max(c) FROM {table} WHERE id > 4").collect() == [
            (15, "v10", "c9  ")
        ]
        assert spark.sql(f"SELECT p, q, min(c) FROM {table} GROUP BY p, q ORDER BY p").collect() == [
            ("p0", "q  ", "c0  "),
            ("p1", "q  ", "c1  "),
        ]
