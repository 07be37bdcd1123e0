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


def test_names_in_another_letter_case(spark: SparkSession, db: str) -> None:
    """A statement may spell a column otherwise than the table: each of its conditions is audited."""
    spark.sql(f"CREATE TABLE {db}.t (Id INT, Name STRING, Day INT) PARTITIONED BY (Day)")
    for day in range(4):
        spark.sql(f"INSERT INTO {db}.t SELECT id + {10 * day}, concat('n', id), {day} FROM range(10)")
    with settings(spark, {"parquetry.audit": "on"}):
        for query, found in (
            (f"SELECT ID FROM {db}.t WHERE DAY = 2 AND id > 27 AND iD < 29", {(28,)}),
            (
                f"SELECT name FROM {db}.t WHERE ID IN (5, 35) AND dAY IN (0, 3) ORDER BY iD DESC LIMIT 1",
                {("n5",)},
            ),
            (
                f"SELECT a.id FROM {db}.t a JOIN {db}.t b ON a.DAY = b.ID WHERE b.id = 3 AND a.ID = 31",
                {(31,)},
            ),
            (f"SELECT max(ID), count(NAME) FROM {db}.t WHERE DAY < 2", {(19, 20)}),
        ):
            frame = spark.sql(query)
            assert {tuple(row) for row in frame.collect()} == found
            assert "Spark has no form" not in str(parquetry.report(frame))
        spark.sql(f"UPDATE {db}.t SET NAME = 'x' WHERE iD = 21 AND DAY = 2")
        spark.sql(f"DELETE FROM {db}.t WHERE DAY = 1")
        spark.sql(f"DELETE FROM {db}.t WHERE dAY = 2 AND ID = 21")
    assert spark.sql(f"SELECT count(*), sum(id) FROM {db}.t").collect() == [(29, 45 + 224 + 345)]
