"""Branches from Spark: statements write to them, queries read them, and one commit publishes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import SparkSession

from parquetry import metastore as ms
from parquetry.catalog import Catalog

Rows = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """A table of two partitions with a branch `try`."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, v INT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 10, 1), (2, 20, 1), (3, 30, 2)")
    spark.sql(f"CALL lake.system.branch('{db}.t', 'try')")
    return f"{db}.t"


@pytest.mark.core
def test_write_audit_publish(spark: SparkSession, table: str, rows: Rows, store: ms.Metastore) -> None:
    """All kinds of writes go to a branch, which the table shows after it is published, by one version."""
    branch, every = f"{table}.branch_try", "ORDER BY id, v"
    before = rows(f"SELECT id, v, p FROM {table} {every}")
    assert rows(f"SELECT id, v, p FROM {branch} {every}") == before
    spark.sql(f"INSERT INTO {branch} VALUES (4, 40, 3)")
    spark.sql(f"UPDATE {branch} SET v = v + 1 WHERE id = 1")
    spark.sql(f"DELETE FROM {branch} WHERE id = 3")
    spark.sql(
        f"MERGE INTO {branch} t USING (SELECT * FROM VALUES (2, 22), (5, 50) AS s(id, v)) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = s.v WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, s.v, 3)"
    )
    more = spark.sql("SELECT 6 AS id, 60 AS v, 4 AS p")
    more.writeTo(branch).append()
    more.write.insertInto(branch)
    more.write.mode("append").saveAsTable(branch)
    spark.sql(f"INSERT OVERWRITE {branch} PARTITION (p = 5) VALUES (7, 70)")
    wanted = [(1, 11, 1), (2, 22, 1), (4, 40, 3), (5, 50, 3), *[(6, 60, 4)] * 3, (7, 70, 5)]
    assert rows(f"SELECT id, v, p FROM {branch} {every}") == wanted
    assert rows(f"SELECT id, v, p FROM {table} VERSION AS OF 'try' {every}") == wanted
    assert spark.read.option("versionAsOf", "TRY").table(table).count() == 8
    assert rows(f"SELECT count(*), max(v) FROM {branch} VERSION AS OF 1") == [(3, 30)]
    assert rows(f"SELECT id, v, p FROM {table} {every}") == before
    lake, name = Catalog(store), table.removeprefix("lake.")
    assert lake.scan(f"{name}.branch_try").count() == lake.scan(name, version="try").count() == 8
    # a join of both, whose rows are of the same folder
    assert rows(f"SELECT count(*) FROM {table} a JOIN {branch} b USING (id)") == [(2,)]
    refs = rows(f"SELECT name, type, version FROM {table}.refs")
    assert refs == [("try", "BRANCH", 9)]
    assert [row[:3] for row in rows(f"CALL lake.system.branches('{table}')")] == [("try", 9, 1)]
    spark.sql(
        f"CALL lake.system.vacuum(table => '{table}', older_than => current_timestamp(), allow_recent => true)"
    )
    assert rows(f"SELECT id, v, p FROM {branch} {every}") == wanted
    ((name, old, new, operation, *_),) = rows(f"CALL lake.system.publish_branch('{table}', 'try')")
    assert (name, old, new, operation) == ("try", 1, 2, "publish_branch")
    assert rows(f"SELECT id, v, p FROM {table} {every}") == wanted
    assert rows(f"SELECT id, v, p FROM {table} VERSION AS OF 1 {every}") == before
    assert rows(f"SELECT version, operation FROM {table}.history LIMIT 1") == [(2, "publish_branch")]
    assert rows(f"SELECT * FROM {table}.refs") == []
    spark.sql(
        f"CALL lake.system.vacuum(table => '{table}', older_than => current_timestamp(), allow_recent => true)"
    )
    assert rows(f"SELECT id, v, p FROM {table} {every}") == wanted
    assert rows(f"CALL lake.system.fsck('{table}')") == []


def test_constraints_and_statements_of_definition(spark: SparkSession, table: str, rows: Rows) -> None:
    """A constraint holds in a branch, and statements that define tables are refused with the remedy."""
    spark.sql(f"ALTER TABLE {table} ADD CONSTRAINT positive CHECK (v > 0)")
    spark.sql(f"CALL lake.system.branch('{table}', 'checked')")
    branch = f"{table}.branch_checked"
    with pytest.raises(Exception, match="positive"):
        spark.sql(f"INSERT INTO {branch} VALUES (9, -1, 1)")
    assert rows(f"SELECT count(*) FROM {branch}") == [(3,)]
    for statement, words in {
        f"ALTER TABLE {branch} ADD COLUMN w INT": "is a branch of a table, and cannot be altered",
        f"MSCK REPAIR TABLE {branch}": "is a branch, on which this does not work",
        f"ALTER TABLE {branch} ADD PARTITION (p = 9)": "is a branch, on which this does not work",
        f"DROP TABLE {branch}": "CALL lake.system.drop_branch drops it",
        f"ALTER TABLE {branch} RENAME TO other": "cannot be renamed",
        f"CREATE OR REPLACE TABLE {branch} AS SELECT 1 AS id": "cannot be made or replaced",
        f"CALL lake.system.erase('{table}', 'id = 1')": "would leave the rows in branch 'checked'",
        f"CALL lake.system.branch('{table}', 'try')": "has a branch 'try' already",
        f"CALL lake.system.tag('{table}', 'try')": "has a branch 'try'",
        f"SELECT * FROM {table} VERSION AS OF 'other'": "no version of tag 'other'.*its branches are 'checked', 'try'",
        f"CALL lake.system.rollback(table => '{table}', tag => 'try')": "is no earlier version of",
    }.items():
        with pytest.raises(Exception, match=words):
            spark.sql(statement).collect()
    with pytest.raises(Exception, match="TABLE_OR_VIEW_NOT_FOUND"):
        spark.sql(f"SELECT * FROM {table}.branch_other").collect()


def test_a_conflict_and_merged_appends(spark: SparkSession, table: str, rows: Rows) -> None:
    """Others' appends merge; a partition that both have changed is a conflict, which loses nothing."""
    branch = f"{table}.branch_try"
    spark.sql(f"INSERT INTO {branch} VALUES (4, 40, 1)")
    spark.sql(f"INSERT INTO {table} VALUES (5, 50, 1)")
    spark.sql(f"CALL lake.system.publish_branch('{table}', 'try')")
    assert rows(f"SELECT id FROM {table} ORDER BY id") == [(1,), (2,), (3,), (4,), (5,)]
    spark.sql(f"CALL lake.system.branch('{table}', 'try')")
    spark.sql(f"UPDATE {branch} SET v = 0 WHERE id = 1")
    spark.sql(f"UPDATE {table} SET v = 1 WHERE id = 2")
    with pytest.raises(Exception, match=r"partition p=1 was changed by version \d+ \(update\)"):
        spark.sql(f"CALL lake.system.publish_branch('{table}', 'try')")
    assert rows(f"SELECT v FROM {branch} WHERE id < 3 ORDER BY id") == [(0,), (20,)]
    assert rows(f"SELECT v FROM {table} WHERE id < 3 ORDER BY id") == [(10,), (1,)]
    spark.sql(f"CALL lake.system.drop_branch('{table}', 'try')")
    spark.sql(
        f"CALL lake.system.vacuum(table => '{table}', older_than => current_timestamp(), allow_recent => true)"
    )
    assert rows(f"SELECT id, v FROM {table} WHERE id < 3 ORDER BY id") == [(1, 10), (2, 1)]
