"""Views in our catalog are read, pruned and listed as Spark's own are, and kept in the metastore. Statements
about views are in `views.test`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
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
