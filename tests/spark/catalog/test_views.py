"""Views in our catalog are made, read, shown, altered and dropped as Spark's own are, and kept in the
metastore.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import parquetry
from parquetry import metastore as ms
from parquetry.metastore.dumps.dump import dump
from parquetry.metastore.dumps.restore import restore
from parquetry.store import MemoryStore

pytestmark = pytest.mark.needs("views")

Rows = Callable[[str], list[tuple[Any, ...]]]


@pytest.fixture
def table(spark: SparkSession, db: str) -> str:
    """Three partitions of a row each, `p` = 1 to 3."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, s STRING, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (10, 'a', 1), (20, 'b', 2), (30, NULL, 3)")
    return f"{db}.t"


def test_a_view_is_read_as_its_query(spark: SparkSession, db: str, table: str, rows: Rows) -> None:
    """SQL and DataFrames read views in any current catalog, in joins and in views of views; the table's scan
    is pruned.
    """
    spark.sql(f"USE {db}")
    spark.sql("CREATE VIEW v (n COMMENT 'number', part) COMMENT 'few' AS SELECT id, p FROM t WHERE p > 1")
    spark.sql("CREATE VIEW double AS SELECT n * 2 AS m, part FROM v")
    spark.catalog.setCurrentCatalog("spark_catalog")
    assert rows(f"SELECT * FROM {db}.v ORDER BY n") == [(20, 2), (30, 3)]
    assert sorted(map(tuple, spark.table(f"{db}.v").collect())) == [(20, 2), (30, 3)]
    assert rows(f"SELECT a.m, b.n FROM {db}.double a JOIN {db}.v b USING (part) WHERE part = 3") == [(60, 30)]
    found = spark.sql(f"SELECT n FROM {db}.v WHERE part = 3")
    (scan,) = parquetry.report(found).to_dict()["scans"]
    assert scan["table"] == table
    plan = rows(f"EXPLAIN SELECT n FROM {db}.v WHERE part = 3")[0][0]
    assert "partitions 1 of 3" in plan
    spark.sql(f"INSERT INTO {table} VALUES (40, 'd', 4)")
    assert rows(f"SELECT count(*) FROM {db}.v") == [(3,)]


def test_it_is_read_by_the_settings_of_then(spark: SparkSession, db: str, rows: Rows) -> None:
    """As Spark's own views are: a cast that gives NULL without ANSI mode does so in a session with it."""
    spark.sql("SET spark.sql.ansi.enabled = false")
    try:
        for view in (f"{db}.v", "spark_catalog.default.settings_of_then"):
            spark.sql(f"CREATE OR REPLACE VIEW {view} AS SELECT CAST('x' AS INT) AS n")
    finally:
        spark.sql("RESET spark.sql.ansi.enabled")
    with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
        rows("SELECT CAST('x' AS INT)")
    assert (
        rows(f"SELECT * FROM {db}.v")
        == rows("SELECT * FROM spark_catalog.default.settings_of_then")
        == [(None,)]
    )


def test_it_is_shown_as_sparks_own_views_are(spark: SparkSession, db: str, table: str, rows: Rows) -> None:
    """SHOW CREATE TABLE recreates the view; DESCRIBE, SHOW COLUMNS and TBLPROPERTIES answer as for Spark's
    own view.
    """
    query = f"(n COMMENT 'number', part) COMMENT 'few' TBLPROPERTIES ('k' = '1') AS SELECT id, p FROM {table}"
    plain = "spark_catalog.default.shown"
    for view in (f"{db}.v", plain):
        spark.sql(f"DROP VIEW IF EXISTS {view}")
        spark.sql(f"CREATE VIEW {view} {query}")
    for statement in ("DESCRIBE {}", "SHOW COLUMNS IN {}", "SHOW TBLPROPERTIES {} ('k')"):
        assert rows(statement.format(f"{db}.v")) == rows(statement.format(plain))
    shown = rows(f"SHOW CREATE TABLE {db}.v")[0][0]
    assert shown.replace(f"{db}.v", "default.shown") == rows(f"SHOW CREATE TABLE {plain}")[0][0]
    extended = dict(row[:2] for row in rows(f"DESCRIBE EXTENDED {db}.v"))
    assert {
        "Type": "VIEW",
        "Comment": "few",
        "View Text": f"SELECT id, p FROM {table}",
    }.items() <= extended.items()
    spark.sql(f"DROP VIEW {db}.v")
    spark.sql(shown)
    assert rows(f"SHOW CREATE TABLE {db}.v")[0][0] == shown
    spark.sql(f"DROP VIEW {plain}")


def test_it_is_listed(spark: SparkSession, db: str, table: str, rows: Rows) -> None:
    """SHOW VIEWS has views alone, SHOW TABLES and `spark.catalog` both, and each says which it is."""
    spark.sql(f"CREATE VIEW {db}.v AS SELECT 1 AS one")
    name = db.partition(".")[2]
    assert rows(f"SHOW VIEWS IN {db}") == rows(f"SHOW VIEWS IN {db} LIKE 'v*'") == [(name, "v", False)]
    assert rows(f"SHOW VIEWS IN {db} LIKE 't'") == []
    assert [row[1] for row in rows(f"SHOW TABLES IN {db}")] == ["t", "v"]
    shown = {row[1]: row for row in rows(f"SHOW TABLE EXTENDED IN {db} LIKE '*'")}
    assert (list(shown), [row[0] for row in shown.values()]) == (["t", "v"], [name, name])
    assert "Type: MANAGED" in shown["t"][3]
    assert "Type: VIEW\nView Text: SELECT 1 AS one" in shown["v"][3]
    assert "|-- one: integer (nullable = false)" in shown["v"][3]
    assert [row[1] for row in rows(f"SHOW TABLE EXTENDED IN {db} LIKE 'v*|w'")] == ["v"]
    listed = {each.name: each.tableType for each in spark.catalog.listTables(db)}
    assert listed == {"t": "MANAGED", "v": "VIEW"}
    assert spark.catalog.tableExists(f"{db}.v")
    assert not spark.catalog.tableExists(f"{db}.w")
    assert spark.catalog.getTable(f"{db}.v").tableType == "VIEW"
    assert [column.name for column in spark.catalog.listColumns(f"{db}.v")] == ["one"]


def test_it_is_made_once(spark: SparkSession, db: str, rows: Rows) -> None:
    """A second CREATE is refused, IF NOT EXISTS leaves it, OR REPLACE takes its place."""
    spark.sql(f"CREATE VIEW {db}.v AS SELECT 1 AS one")
    with pytest.raises(AnalysisException, match="ALREADY_EXISTS"):
        spark.sql(f"CREATE VIEW {db}.v AS SELECT 2 AS two")
    spark.sql(f"CREATE VIEW IF NOT EXISTS {db}.v AS SELECT 2 AS two")
    assert rows(f"SELECT * FROM {db}.v") == [(1,)]
    spark.sql(f"CREATE OR REPLACE VIEW {db}.v AS SELECT 2 AS two, 'x' AS x")
    assert rows(f"SELECT two, x FROM {db}.v") == [(2, "x")]
    spark.sql(f"CREATE OR REPLACE VIEW {db}.w AS SELECT 3 AS three")
    assert rows(f"SELECT * FROM {db}.w") == [(3,)]
    with pytest.raises(AnalysisException, match="RECURSIVE_VIEW"):
        spark.sql(f"CREATE OR REPLACE VIEW {db}.w AS SELECT * FROM {db}.w")
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_FOUND"):
        spark.sql("CREATE VIEW lake.nowhere.v AS SELECT 1 AS one")


@pytest.mark.parametrize(
    "statement",
    [
        "CREATE VIEW {db}.t AS SELECT 1 AS one",
        "CREATE OR REPLACE VIEW {db}.t AS SELECT 1 AS one",
        "ALTER VIEW {db}.v RENAME TO {db}.t",
        "ALTER VIEW {db}.t AS SELECT 1 AS one",
        "DROP VIEW {db}.t",
        "DROP VIEW IF EXISTS {db}.t",
        "CREATE TABLE {db}.v (x INT)",
        "CREATE TABLE {db}.v AS SELECT 1 AS x",
        "CREATE OR REPLACE TABLE {db}.v (x INT)",
        "CREATE OR REPLACE TABLE {db}.v AS SELECT raise_error('no row is read') AS x",
        "REPLACE TABLE {db}.v AS SELECT 1 AS x",
        "ALTER TABLE {db}.t RENAME TO {db}.v",
        "DROP TABLE {db}.v",
        "DROP TABLE IF EXISTS {db}.v",
        "INSERT INTO {db}.v VALUES (1)",
        "ALTER TABLE {db}.v ADD COLUMN x INT",
        "SELECT * FROM {db}.v VERSION AS OF 0",
        "CALL lake.system.history(table => '{db}.v')",
    ],
)
def test_neither_is_taken_for_the_other(
    spark: SparkSession, db: str, table: str, rows: Rows, statement: str
) -> None:
    """Statements for tables do not find views, statements for views do not find tables, and both stay
    unchanged.
    """
    spark.sql(f"CREATE VIEW {db}.v AS SELECT 7 AS seven")
    with pytest.raises(Exception, match=r"(?i)view|already exists|not be found") as raised:
        spark.sql(statement.format(db=db)).collect()
    assert "no row is read" not in str(raised.value)
    assert rows(f"SELECT * FROM {db}.v") == [(7,)]
    assert rows(f"SELECT count(*) FROM {table}") == [(3,)]


def test_tables_are_left_where_a_view_is_not_needed(
    spark: SparkSession, db: str, table: str, rows: Rows
) -> None:
    """IF NOT EXISTS does nothing where the name is the other's, as for Spark's own."""
    spark.sql(f"CREATE VIEW {db}.v AS SELECT 7 AS seven")
    spark.sql(f"CREATE VIEW IF NOT EXISTS {db}.t AS SELECT 1 AS one")
    spark.sql(f"CREATE TABLE IF NOT EXISTS {db}.v (x INT)")
    assert rows(f"SELECT * FROM {db}.v") == [(7,)]
    assert rows(f"SELECT count(*) FROM {table}") == [(3,)]


def test_it_is_altered(spark: SparkSession, db: str, table: str, rows: Rows) -> None:
    """Its query, its properties and its name; the rest stays, and a rename stays within the catalog."""
    spark.sql(f"CREATE VIEW {db}.v COMMENT 'few' TBLPROPERTIES ('a' = '1') AS SELECT id FROM {table}")
    spark.sql(f"ALTER VIEW {db}.v SET TBLPROPERTIES ('b' = '2')")
    spark.sql(f"ALTER VIEW {db}.v UNSET TBLPROPERTIES ('a')")
    spark.sql(f"ALTER VIEW {db}.v AS SELECT s AS text FROM {table} WHERE p = 2")
    assert rows(f"SELECT * FROM {db}.v") == [("b",)]
    assert rows(f"SHOW TBLPROPERTIES {db}.v") == [("b", "2")]
    assert ("Comment", "few", "") in rows(f"DESCRIBE EXTENDED {db}.v")
    spark.sql(f"ALTER VIEW {db}.v RENAME TO {db}.w")
    assert [row[1] for row in rows(f"SHOW VIEWS IN {db}")] == ["w"]
    assert rows(f"SELECT text FROM {db}.w") == [("b",)]
    with pytest.raises(Exception, match=r"View lake\.\w+\.w cannot become a\.b\.c"):
        spark.sql(f"ALTER VIEW {db}.w RENAME TO a.b.c")
    spark.sql(f"DROP VIEW {db}.w")
    spark.sql(f"DROP VIEW IF EXISTS {db}.w")
    with pytest.raises(AnalysisException, match="VIEW_NOT_FOUND"):
        spark.sql(f"DROP VIEW {db}.w")


def test_others_see_it(
    spark: SparkSession, db: str, table: str, store: ms.Metastore, warehouse: Path, tmp_path: Path
) -> None:
    """Another session reads it; the metastore has it, and so has what is restored of its dump."""
    spark.sql(f"CREATE VIEW {db}.v AS SELECT id, p FROM {table} WHERE p = 3")
    other = spark.newSession()
    assert (
        other._jsparkSession.sessionState().catalogManager()
        != spark._jsparkSession.sessionState().catalogManager()
    )
    assert [tuple(row) for row in other.sql(f"SELECT * FROM {db}.v").collect()] == [(30, 3)]
    database = db.partition(".")[2]
    dump(store, tmp_path / "dump")
    copy = ms.Metastore(MemoryStore(), str(warehouse / "lake"))
    restore(copy, tmp_path / "dump")
    for each in (store, copy):
        assert (each.tables(database), each.views(database)) == (["t"], ["v"])
        view = each.table(database, "v", kind="view").metadata.view
        assert view is not None
        assert (view.text, view.query_columns) == (f"SELECT id, p FROM {table} WHERE p = 3", ("id", "p"))


def test_a_database_goes_with_its_views_if_it_is_said(spark: SparkSession, db: str, rows: Rows) -> None:
    """Not without CASCADE."""
    spark.sql(f"CREATE VIEW {db}.v AS SELECT 1 AS one")
    with pytest.raises(AnalysisException, match="SCHEMA_NOT_EMPTY"):
        spark.sql(f"DROP DATABASE {db}")
    assert rows(f"SELECT * FROM {db}.v") == [(1,)]
    spark.sql(f"DROP DATABASE {db} CASCADE")
    spark.sql(f"CREATE DATABASE {db}")
    assert rows(f"SHOW VIEWS IN {db}") == []


def test_what_cannot_be_kept_is_refused(spark: SparkSession, db: str, table: str, rows: Rows) -> None:
    """Views over what only this session has, and metric views, with a sentence that says what else."""
    spark.sql("CREATE OR REPLACE TEMP VIEW of_this_session AS SELECT 1 AS one")
    with pytest.raises(AnalysisException, match="INVALID_TEMP_OBJ_REFERENCE"):
        spark.sql(f"CREATE VIEW {db}.v AS SELECT * FROM of_this_session")
    measures = "dimensions:\n  - name: p\n    expr: p\nmeasures:\n  - name: n\n    expr: count(1)\n"
    with pytest.raises(Exception, match=re.escape("would be a metric view, and views here are queries")):
        spark.sql(
            f"CREATE VIEW {db}.v WITH METRICS LANGUAGE YAML AS $$\nversion: '0.1'\nsource: {table}\n{measures}$$"
        )
    assert rows(f"SHOW VIEWS IN {db}") == []


def test_what_is_cached_of_it_is_right(spark: SparkSession, db: str, table: str, rows: Rows) -> None:
    """After its table changes, and after another query takes its place."""
    spark.sql(f"CREATE VIEW {db}.v AS SELECT id FROM {table}")
    spark.sql(f"CACHE TABLE {db}.v")
    assert rows(f"SELECT count(*) FROM {db}.v") == [(3,)]
    spark.sql(f"INSERT INTO {table} VALUES (1, 'z', 9)")
    assert rows(f"SELECT count(*) FROM {db}.v") == [(4,)]
    spark.sql(f"CREATE OR REPLACE VIEW {db}.v AS SELECT id FROM {table} WHERE p = 9")
    assert rows(f"SELECT * FROM {db}.v") == [(1,)]
