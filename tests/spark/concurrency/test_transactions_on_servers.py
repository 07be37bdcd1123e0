"""A session's transaction with the metastore on a server: rows, new tables and new names at one moment."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.hbase import launcher as hbase
from tests.support.postgresql import launcher as postgresql


@pytest.mark.parametrize(
    "kind", [pytest.param(name, marks=getattr(pytest.mark, name)) for name in ("postgresql", "hbase")]
)
def test_a_transaction(spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """The session sees its changes, another one sees all of them after the commit."""
    server = {"postgresql": postgresql, "hbase": hbase}[kind].shared_server()
    lake = f"together_{kind}"
    other = spark.newSession()
    for session in (spark, other):
        session.conf.set(f"spark.sql.catalog.{lake}", "org.apache.spark.sql.parquetry.ParquetryCatalog")
        session.conf.set(f"spark.sql.catalog.{lake}.warehouse", str(tmp_path))
        session.conf.set(f"spark.sql.catalog.{lake}.store", server.url(lake))
    for name in ("a", "b"):
        spark.sql(f"CREATE TABLE {lake}.default.{name} AS SELECT 1 AS x")

    def seen(session: SparkSession) -> list[tuple[str, int]]:
        names = [row.tableName for row in session.sql(f"SHOW TABLES IN {lake}.default").collect()]
        return [(name, session.table(f"{lake}.default.{name}").count()) for name in names]

    with parquetry.transaction(lake, spark):
        spark.sql(f"INSERT INTO {lake}.default.a VALUES (2)")
        spark.sql(f"CREATE TABLE {lake}.default.c AS SELECT x FROM {lake}.default.a UNION ALL SELECT 3")
        spark.sql(f"ALTER TABLE {lake}.default.b RENAME TO {lake}.default.d")
        assert seen(spark) == [("a", 2), ("c", 3), ("d", 1)]
        assert seen(other) == [("a", 1), ("b", 1)]
    assert seen(other) == seen(spark) == [("a", 2), ("c", 3), ("d", 1)]
