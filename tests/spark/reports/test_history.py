"""The history of queries as a session writes it, and queries of a file as a session plans them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import parquetry
from parquetry.workload import QueryCondition, QueryJoin, QueryRecord, ReadCount
from tests.support.effort import IS_NEWEST

SETTING = "parquetry.pruning-history"


@pytest.fixture(scope="module")
def db(spark: SparkSession) -> Iterator[str]:
    """A table of 10 partitions, `sales`, and one of names, `items`."""
    name = "lake.queried"
    spark.sql(f"CREATE NAMESPACE {name}")
    spark.sql(f"CREATE TABLE {name}.sales (id INT, item STRING, day INT) USING parquet PARTITIONED BY (day)")
    spark.sql(
        f"INSERT INTO {name}.sales SELECT CAST(id AS INT), concat('i', id % 5), CAST(id % 10 AS INT) FROM range(100)"
    )
    spark.sql(
        f"CREATE TABLE {name}.items USING parquet AS SELECT concat('i', id) item, id price FROM range(5)"
    )
    yield name
    spark.sql(f"DROP NAMESPACE {name} CASCADE")


@pytest.fixture
def session(spark: SparkSession) -> SparkSession:
    """A session that keeps a history."""
    new = spark.newSession()
    new.conf.set(SETTING, "on")
    return new


def history(spark: SparkSession, warehouse: Path, table: str) -> list[QueryRecord]:
    """Return the history of a table, once the queries so far are in it."""
    spark._jvm.org.apache.spark.sql.parquetry.reports.FinishedQueries.flushHistory()
    with parquetry.open(warehouse / "lake") as lake:
        return lake.queries(table)


@pytest.mark.core
def test_queries_of_a_session(spark: SparkSession, session: SparkSession, warehouse: Path, db: str) -> None:
    """Records have conditions without values, joins, columns, files and rows; other sessions leave none."""
    spark.sql(f"SELECT sum(id) FROM {db}.sales").collect()
    session.sql(
        f"SELECT i.price, count(s.id) FROM {db}.sales s JOIN {db}.items i ON s.item = i.item "
        "WHERE s.day IN (1, 2) AND s.id > 40 AND hash(s.id) IS NOT NULL GROUP BY 1"
    ).collect()
    session.table(f"{db}.sales").where("item = 'i3'").toPandas()
    session.sql(f"DELETE FROM {db}.sales WHERE id = 5")
    deleted, frame, joined = history(spark, warehouse, "queried.sales")
    assert [each.door for each in (frame, joined)] == ["dataframe", "sql"]
    if IS_NEWEST:  # Spark 4.0 loses a command's text
        assert deleted.door == "sql"
    assert {each.statement for each in (deleted, frame, joined)} == {None}
    sales, items = joined.reads
    assert (sales.table, items.table) == ("queried.sales", "queried.items")
    assert sales.conditions[:2] == (
        QueryCondition("day IN (?, ?)", ("day",), has_values=False, share=0.2),
        QueryCondition("id > ?", ("id",), has_values=False),
    )
    assert sales.joins == (QueryJoin("item", "queried.items", "item"),)
    assert (sales.partitions, sales.files) == (ReadCount(2, 10), ReadCount(2, 10))
    assert sales.rows == 12
    assert sales.left_out == (("partitions", 8),)
    assert joined.shuffles is not None
    assert joined.seconds is not None
    (read,) = frame.reads
    assert (read.conditions[0].text, read.columns, read.rows) == ("item = ?", ("id", "item", "day"), 20)
    assert deleted.reads[0].conditions[0].text == "id = ?"


def test_the_table_of_queries(session: SparkSession, db: str) -> None:
    """`queries` is a table: a query is in it at once, with its values if the table says so."""
    session.conf.unset(SETTING)
    session.sql(f"ALTER TABLE {db}.items SET TBLPROPERTIES ('pruning-history' = 'values')")
    statement = f"SELECT price FROM {db}.items WHERE item = 'i4' AND price >= 2"
    session.sql(statement).collect()
    rows = session.sql(f"SELECT * FROM {db}.items.queries WHERE door = 'sql'").collect()
    assert (rows[0].conditions, rows[0].statement) == ("item = 'i4' AND price >= 2", statement)
    assert (rows[0].files_read, rows[0].columns) == (1, "item, price")


def test_a_file_of_queries_is_planned(spark: SparkSession, tmp_path: Path, db: str) -> None:
    """Spark's optimizer says what statements read, of tables of any format, and none of them runs."""
    spark.sql(
        "CREATE TABLE spark_catalog.default.stock_of_history USING parquet AS SELECT id k, 'a' v FROM range(3)"
    )
    path = tmp_path / "queries.sql"
    path.write_text(
        f"USE {db}; SELECT s.id FROM sales s JOIN spark_catalog.default.stock_of_history t ON s.id = t.k "
        "WHERE t.v = 'it''s' AND s.day = 3; INSERT INTO items SELECT item, id FROM sales WHERE id > 90; SELECT nonsense"
    )
    before = spark.sql(f"SELECT count(*) FROM {db}.items").collect()
    joined, inserted = parquetry.read_queries(path, spark=spark)
    sales, stock = joined.reads
    assert [each.text for each in sales.conditions] == ["day = 3"]
    assert sales.joins[0].other_table == "default.stock_of_history"
    assert (stock.table, stock.joins) == (
        "default.stock_of_history",
        (QueryJoin("k", "queried.sales", "id"),),
    )
    assert [each.text for each in stock.conditions] == ["v = 'it\\'s'"]
    assert [each.text for each in inserted.reads[0].conditions] == ["id > 90"]
    assert spark.sql(f"SELECT count(*) FROM {db}.items").collect() == before
    spark.sql("DROP TABLE spark_catalog.default.stock_of_history")
