"""In each pair of statements, the second runs as a whole before the first commits: the tests check which
pairs conflict.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession, functions as sf

from tests.support.effort import sampled
from tests.support.spark.pairs import before_the_commit
from tests.support.tables.bucketed_tables import settings

Rows = Callable[[str], list[tuple[Any, ...]]]
SERIALIZABLE = {"parquetry.isolation": "serializable"}


COLUMNS = "(id INT, v INT, p INT) USING parquet PARTITIONED BY (p)"


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """Five rows in three partitions, `p` = 0, 1 and 2; of the files only the rows are known."""
    spark.sql(f"CREATE TABLE {db}.t {COLUMNS}")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 10, 0), (2, 20, 0), (3, 30, 1), (4, 40, 1), (5, 50, 2)")
    return f"{db}.t"


def pair(spark: SparkSession, first: str | Callable[[], Any], second: str) -> str | None:
    """Run two statements, the second before the first commits; return how the first conflicts, or None if it
    does not.
    """
    told = None
    with before_the_commit(lambda: spark.sql(second)) as done:
        try:
            spark.sql(first) if isinstance(first, str) else first()
        except AnalysisException as error:
            if error.getCondition() != "PARQUETRY_COMMIT_CONFLICT":
                raise
            told = str(error)
    assert done, "the second ran"
    return told


UPSERT = "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT *"
INSERT = "WHEN NOT MATCHED THEN INSERT *"
INSERTS = "WHEN NOT MATCHED AND s.v = 1 THEN INSERT (id, p) VALUES (s.id, s.p) WHEN NOT MATCHED THEN INSERT *"


def merge(table: str, p: object, clauses: str, on: str = "t.id = s.id", of: int = 99) -> str:
    """Return a MERGE of one row, whose values Spark does not know before it runs."""
    row = f"SELECT CAST(id AS INT) AS id, CAST(id - id + 7 AS INT) AS v, IF(id < 0, 1L, {p}) AS p FROM range({of}, {of + 1})"
    return f"MERGE INTO {table} t USING ({row}) s ON {on} {clauses}"


@pytest.mark.parametrize(
    "clauses", [UPSERT, INSERT, INSERTS, f"{UPSERT} WHEN NOT MATCHED BY SOURCE THEN DELETE"]
)
def test_two_merges_of_one_new_key(spark: SparkSession, table: str, rows: Rows, clauses: str) -> None:
    """The second statement fails for each partition that they insert into, existing or new; if repeated, it
    finds the row.
    """
    for number, (one, other) in enumerate(sampled([(0, 3), (4, 0), (5, 5), (1, 1)], clauses)):
        key = 900 + number
        told = pair(spark, merge(table, one, clauses, of=key), merge(table, other, clauses, of=key))
        assert told is not None
        assert "which was read for it" in told or "BY SOURCE" in clauses
        assert "nothing was written: run it again" in told
        spark.sql(merge(table, one, clauses, of=key))
        assert rows(f"SELECT count(*), min(p) FROM {table} WHERE id = {key}") == [(1, other)]


BY_P = "t.p = s.p AND t.id = s.id"
SEARCHES = [
    # ON, clauses, the partition inserted into, what others do, whether it is in the way
    (BY_P, UPSERT, 0, "INSERT INTO {} VALUES (8, 8, 1)", False),
    (BY_P, UPSERT, 0, "INSERT INTO {} VALUES (8, 8, 6)", False),
    (BY_P, UPSERT, 0, "INSERT INTO {} VALUES (8, 8, 0)", True),
    (BY_P, UPSERT, 6, "INSERT INTO {} VALUES (8, 8, 6)", True),
    (BY_P, INSERT, 0, "INSERT INTO {} VALUES (8, 8, 1)", False),
    (BY_P, INSERT, 0, "INSERT INTO {} VALUES (8, 8, 0)", True),
    (BY_P, INSERTS, 6, "INSERT INTO {} VALUES (8, 8, 1)", False),
    (BY_P, INSERTS, 6, "INSERT INTO {} VALUES (8, 8, 6)", True),
    ("t.p <=> s.p AND t.id = s.id", UPSERT, "NULL", "INSERT INTO {} VALUES (8, 8, 1)", False),
    ("t.p <=> s.p AND t.id = s.id", UPSERT, "NULL", "INSERT INTO {} VALUES (8, 8, NULL)", True),
    # looked for in one partition, and inserted into another
    (BY_P, "WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, s.v, 7)", 0, "INSERT INTO {} VALUES (8, 8, 0)", True),
    ("t.p = s.v AND t.id = s.id", UPSERT, 0, "INSERT INTO {} VALUES (8, 8, 2)", True),
    ("t.p + 0 = s.p AND t.id = s.id", INSERT, 0, "INSERT INTO {} VALUES (8, 8, 2)", True),
    # what ON says by itself
    ("t.p IN (0, 1) AND t.id = s.id", UPSERT, 0, "INSERT INTO {} VALUES (8, 8, 2)", False),
    ("t.p IN (0, 1) AND t.id = s.id", UPSERT, 2, "INSERT INTO {} VALUES (8, 8, 1)", True),
    ("t.p IN (0, 1) AND t.id = s.id", INSERT, 0, "INSERT INTO {} VALUES (8, 8, 2)", False),
    ("t.p < 9 AND t.id = s.id", INSERT, 0, "INSERT INTO {} VALUES (8, 8, 8)", True),
    ("pmod(t.p, 4) = 3 AND t.id = s.id", INSERT, 0, "INSERT INTO {} VALUES (8, 8, 3)", True),
    ("pmod(t.p, 4) = 3 AND t.id = s.id", UPSERT, 0, "INSERT INTO {} VALUES (8, 8, 3)", True),
    # what adds no row
    ("t.id = s.id", UPSERT, 0, "DELETE FROM {} WHERE p = 2", False),
    ("t.id = s.id", UPSERT, 0, "DELETE FROM {} WHERE id = 3", False),
    ("t.id = s.id", INSERT, 0, "ALTER TABLE {} DROP PARTITION (p = 0)", False),
    ("t.id = s.id", UPSERT, 0, "UPDATE {} SET id = 99 WHERE id = 5", True),
    # no row is inserted
    ("t.id = s.id", "WHEN MATCHED THEN UPDATE SET v = s.v, p = s.p", 0, "INSERT INTO {} VALUES (8, 8, 0)", False),
    ("t.id = s.id", "WHEN MATCHED THEN UPDATE SET v = s.v, p = s.p", 0, "INSERT INTO {} VALUES (8, 8, 2)", True),
]  # fmt: skip


@pytest.mark.parametrize(("on", "clauses", "p", "other", "conflicts"), SEARCHES)
def test_where_a_merge_looked_for_matches(
    spark: SparkSession, table: str, on: str, clauses: str, p: object, other: str, conflicts: bool
) -> None:
    """Rows that others add to the searched partitions conflict. Rows elsewhere and statements that add none
    do not.
    """
    key = 99 if "INSERT" in clauses else 5
    told = pair(spark, merge(table, p, clauses, on, key), other.format(table))
    assert (told is not None) == conflicts, told


def test_a_compaction_beside_a_merge(spark: SparkSession, table: str) -> None:
    """A compaction changes no rows, so a search before it remains true."""
    spark.sql(f"INSERT INTO {table} VALUES (6, 60, 1)")
    compact = f"CALL lake.system.compact(table => '{table}')"
    with settings(spark, SERIALIZABLE):
        assert pair(spark, merge(table, 0, INSERT), compact) is None
    assert spark.sql(f"SELECT count(*) FROM {table}.files WHERE p = 1").first()[0] == 1


SKEWS = [
    (
        "DELETE FROM {0} WHERE p = 0 AND EXISTS (SELECT 1 FROM {0} WHERE p = 1)",
        "DELETE FROM {0} WHERE p = 1 AND EXISTS (SELECT 1 FROM {0} WHERE p = 0)",
    ),
    (
        "UPDATE {0} SET v = (SELECT sum(v) FROM {0} WHERE p = 1) WHERE p = 0",
        "UPDATE {0} SET v = (SELECT sum(v) FROM {0} WHERE p = 0) WHERE p = 1",
    ),
    (
        "INSERT INTO {0} SELECT max(id) + 1, 0, 0 FROM {0}",
        "INSERT INTO {0} SELECT max(id) + 1, 0, 3 FROM {0}",
    ),
    (
        "INSERT INTO {0} SELECT max(id + v), 0, 0 FROM {0} WHERE p > 2 OR p = 1",
        "INSERT INTO {0} VALUES (9, 9, 3)",
    ),
    (
        "INSERT OVERWRITE {0} PARTITION (p = 2) SELECT count(*), 0 FROM {0} WHERE v > 0",
        "DELETE FROM {0} WHERE id = 3",
    ),
    ("INSERT INTO {0} SELECT count(*), 0, 0 FROM {0} WHERE pmod(p, 4) = 3", "INSERT INTO {0} VALUES (9, 9, 3)"),
    ("INSERT INTO {0} SELECT count(*), 0, 0 FROM {0} WHERE p = 1", "ALTER TABLE {0} DROP PARTITION (p = 1)"),
    ("INSERT INTO {0} SELECT sum(rows), 0, 0 FROM {0}.files", "INSERT INTO {0} VALUES (9, 9, 3)"),
    ("UPDATE {0} SET v = 20 WHERE v = 10", "UPDATE {0} SET v = 10 WHERE v = 50"),
    ("DELETE FROM {0} WHERE v = 50", "INSERT INTO {0} VALUES (9, 50, 1)"),
    ("DELETE FROM {0} WHERE v > 45", "INSERT INTO {0} VALUES (9, 50, 1)"),
    (
        "MERGE INTO {0} t USING (SELECT max(v) AS v FROM {0} WHERE p = 2) s ON t.id = 1 WHEN MATCHED THEN UPDATE SET v = s.v",
        "UPDATE {0} SET v = 51 WHERE id = 5",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("first", "second"), SKEWS)
def test_what_a_statement_read_counts_if_it_is_to_be_serializable(
    spark: SparkSession, table: str, rows: Rows, first: str, second: str
) -> None:
    """Under serializable isolation, the second of a pair fails, and the table stays as the other left it.
    Under snapshot isolation both succeed (write skew).
    """
    spark.sql(f"CREATE TABLE {table}2 {COLUMNS}")
    spark.sql(f"INSERT INTO {table}2 TABLE {table}")
    assert pair(spark, first.format(f"{table}2"), second.format(f"{table}2")) is None
    with settings(spark, SERIALIZABLE):
        told = pair(spark, first.format(table), second.format(table))
    assert told is not None
    assert "which was read for it, was changed" in told
    after = rows(f"SELECT * FROM {table} ORDER BY ALL")
    spark.sql(f"CALL lake.system.rollback(table => '{table}', version => 1)")
    spark.sql(second.format(table))
    assert rows(f"SELECT * FROM {table} ORDER BY ALL") == after
    with settings(spark, SERIALIZABLE):
        spark.sql(first.format(table))


def test_merges_into_an_empty_table(spark: SparkSession, table: str) -> None:
    """Two that insert the same row conflict: neither found it, and one row is enough."""
    spark.sql(f"CREATE TABLE {table}2 {COLUMNS}")
    merge = f"MERGE INTO {table}2 t USING (SELECT 1 AS id, 1 AS v, 1 AS p) s ON t.id = s.id WHEN NOT MATCHED THEN INSERT *"
    assert pair(spark, merge, merge) is not None
    assert spark.table(f"{table}2").count() == 1


def test_where_serializable_is_said(spark: SparkSession, table: str) -> None:
    """The session's setting overrides the table's property, and an option of a write overrides the setting.

    A wrong value is an error.
    """

    def write(**options: str) -> None:
        values = sf.max("id").alias("id"), sf.lit(0).alias("v"), sf.lit(0).alias("p")
        spark.table(table).agg(*values).writeTo(table).options(**options).append()

    other = f"INSERT INTO {table} VALUES (77, 7, 2)"
    assert pair(spark, write, other) is None
    assert pair(spark, lambda: write(isolation="serializable"), other) is not None
    spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES (isolation = 'serializable')")
    assert pair(spark, write, other) is not None
    delete = f"DELETE FROM {table} WHERE v = 10"
    with settings(spark, {"parquetry.isolation": "snapshot"}):
        assert pair(spark, write, other) is None
        assert pair(spark, lambda: write(isolation="serializable"), other) is not None
        assert pair(spark, delete, other) is None
    spark.sql(f"INSERT INTO {table} VALUES (1, 10, 0)")
    assert pair(spark, delete, other) is not None
    with pytest.raises(
        AnalysisException, match="Table property 'isolation' is 'strict': not one of snapshot"
    ):
        spark.sql(f"ALTER TABLE {table} SET TBLPROPERTIES (isolation = 'strict')")
    with pytest.raises(AnalysisException, match=r"'parquetry.isolation' is 'strict': not one of snapshot"):
        spark.conf.set("parquetry.isolation", "strict")


def test_what_does_not_count(spark: SparkSession, table: str) -> None:
    """Partitions that conditions leave out, versions that are named, other tables, and what is compacted."""
    spark.sql(f"CREATE TABLE {table}2 {COLUMNS}")
    spark.sql(f"INSERT INTO {table} VALUES (6, 60, 2)")
    with settings(spark, SERIALIZABLE):
        for first, second in (
            ("DELETE FROM {0} WHERE p = 0 AND EXISTS (SELECT 1 FROM {0} WHERE p = 1)", "INSERT INTO {0} VALUES (9, 9, 2)"),
            ("INSERT INTO {0} VALUES (10, 9, 2)", "INSERT INTO {0} VALUES (9, 9, 2)"),
            ("INSERT INTO {0} SELECT max(id), 0, 0 FROM {0} VERSION AS OF 1", "INSERT INTO {0} VALUES (9, 9, 2)"),
            ("INSERT INTO {0} SELECT count(*), 0, 0 FROM {0}2", "INSERT INTO {0}2 VALUES (9, 9, 2)"),
            ("INSERT INTO {0} SELECT max(id), 0, 0 FROM {0}", "CALL lake.system.compact(table => '{0}')"),
        ):  # fmt: skip
            assert pair(spark, first.format(table), second.format(table)) is None, first


def test_rows_that_were_read_some_time_ago(spark: SparkSession, table: str, rows: Rows) -> None:
    """Cached rows, observed rows and an earlier DataFrame count as reads of the version that was read."""
    with settings(spark, SERIALIZABLE):
        other = f"INSERT INTO {table} VALUES (9, 9, 2)"
        values = (sf.max("id") + 1).alias("id"), sf.lit(0).alias("v"), sf.lit(0).alias("p")
        observed = spark.table(table).agg(*values).observe("seen", sf.count(sf.lit(1)))
        assert pair(spark, lambda: observed.writeTo(table).append(), other) is not None
        cached = spark.table(table).cache()
        try:
            assert cached.count() == 6
            assert pair(spark, lambda: cached.agg(*values).writeTo(table).append(), other) is not None
        finally:
            cached.unpersist()
        view = spark.table(table)
        view.createOrReplaceTempView("ours")
        assert pair(spark, f"INSERT INTO {table} SELECT max(id) + 1, 0, 0 FROM ours", other) is not None
