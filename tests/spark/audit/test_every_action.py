"""Each way to run a query is audited: actions, statements that write, and caches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.support.exchanged_files import alike, exchange

pytestmark = [pytest.mark.core, pytest.mark.every_case, pytest.mark.unaudited("its table is not as recorded")]

ACTIONS: dict[str, Callable[[DataFrame], Any]] = {
    "collect": lambda rows: rows.collect(),
    "count": lambda rows: rows.count(),
    "show": lambda rows: rows.show(),
    "take": lambda rows: rows.take(2),
    "toArrow": lambda rows: rows.toArrow(),
    "toLocalIterator": lambda rows: list(rows.toLocalIterator()),
    "foreach": lambda rows: rows.foreach(print),
    "rdd": lambda rows: rows.rdd.collect(),
    "cache": lambda rows: rows.cache().count(),
    "localCheckpoint": lambda rows: rows.localCheckpoint(),
    "noop": lambda rows: rows.write.format("noop").mode("overwrite").save(),
}
STATEMENTS = (
    "INSERT INTO {db}.other {query}",
    "INSERT OVERWRITE {db}.other {query}",
    "CREATE TABLE {db}.made AS {query}",
    "CREATE OR REPLACE TABLE {db}.made AS {query}",
    "MERGE INTO {db}.other o USING ({query}) s ON o.id = s.id WHEN NOT MATCHED THEN INSERT *",
    "CACHE TABLE made AS {query}",
    "CREATE TABLE spark_catalog.default.audited USING parquet LOCATION '{folder}/table' AS {query}",
    "INSERT OVERWRITE DIRECTORY '{folder}/files' USING json {query}",
    "SELECT (SELECT max(id) FROM ({query})) FROM range(1)",
    "WITH found AS ({query}) SELECT * FROM found UNION ALL SELECT * FROM found",
    "EXECUTE IMMEDIATE '{query}'",
)


@pytest.fixture(scope="module")
def query(spark: SparkSession) -> Iterator[str]:
    """A query whose table has two files under each other's records, so that it lacks a row."""
    spark.sql("CREATE NAMESPACE lake.actions")
    spark.sql("CREATE TABLE lake.actions.t (id INT, v STRING)")
    spark.sql("CREATE TABLE lake.actions.other (id INT, v STRING)")
    for first in (100, 200):
        spark.sql(
            f"INSERT INTO lake.actions.t SELECT /*+ COALESCE(1) */ id, 'x' FROM range({first}, {first + 9})"
        )
    exchange(*alike(spark, "lake.actions.t"))
    spark.conf.set("parquetry.audit", "on")
    yield "SELECT * FROM lake.actions.t WHERE id = 105"
    spark.conf.unset("parquetry.audit")
    spark.sql("DROP NAMESPACE lake.actions CASCADE")


@pytest.mark.parametrize("action", ACTIONS)
def test_actions(spark: SparkSession, query: str, action: str) -> None:
    """The action fails, and names the row that was left out."""
    with pytest.raises(PySparkException, match=r"PARQUETRY_AUDIT.*id = 105"):
        ACTIONS[action](spark.sql(query))
    spark.catalog.clearCache()


@pytest.mark.parametrize("statement", STATEMENTS)
def test_statements(spark: SparkSession, query: str, statement: str, tmp_path: Path) -> None:
    """The statement fails, and writes nothing."""
    text = statement.format(query=query, db="lake.actions", folder=tmp_path)
    with pytest.raises(PySparkException, match=r"PARQUETRY_AUDIT.*id = 105"):
        spark.sql(text).collect()
    assert not spark.catalog.tableExists("lake.actions.made")
    assert not spark.catalog.tableExists("spark_catalog.default.audited")
    assert [path for path in tmp_path.rglob("part-*") if path.is_file()] == []
    spark.conf.set("parquetry.audit", "off")
    assert spark.table("lake.actions.other").count() == 0
    spark.conf.set("parquetry.audit", "on")


def test_rows_are_kept_until_the_query_ends(spark: SparkSession, query: str, tmp_path: Path) -> None:
    """After a right query, Spark holds no rows of it, also if its rows were not collected."""
    right = spark.sql(query.replace("105", "205 OR v = 'x'"))
    right.write.parquet(f"{tmp_path}/out")
    assert spark.read.parquet(f"{tmp_path}/out").count() == len(list(right.toLocalIterator())) == 18
    right.foreach(lambda row: None)
    spark._jsc.sc().listenerBus().waitUntilEmpty()
    held = spark._jsc.sc().getRDDStorageInfo()
    assert sum(each.numCachedPartitions() for each in held) <= 2  # of the iterator


def test_a_share_of_the_queries(spark: SparkSession, query: str) -> None:
    """A share of 0.5 audits about half of the queries. A text that is no share is refused."""
    failed = 0
    spark.conf.set("parquetry.audit", "0.5")
    for _ in range(40):
        try:
            assert spark.sql(query).collect() == []
        except PySparkException as error:
            failed += "PARQUETRY_AUDIT" in str(error)
    assert 5 <= failed <= 35  # outside by chance once in a million runs
    for share in ("sometimes", "2", "-1", "nan"):
        with pytest.raises(PySparkException, match=rf"'parquetry\.audit' is '{share}'"):
            spark.conf.set("parquetry.audit", share)
    spark.conf.set("parquetry.audit", "on")
