"""How many questions a query asks the planner, what it asks again, and what a trace says of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pyspark
import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import parquetry
from parquetry import metastore as ms
from parquetry.config import series_of

Rows = Callable[[str], list[tuple[object, ...]]]
LOADS = 1 if series_of(pyspark.__version__) == "4.0" else 2
"""Spark loads a query's tables when it analyses the query, and since Spark 4.1 once more when it runs it."""


@pytest.fixture
def star(spark: SparkSession, db: str) -> str:
    """A fact `sales` of eight days, and three small tables."""
    spark.sql(f"CREATE TABLE {db}.sales (id bigint, item int, shop int, day int) PARTITIONED BY (day)")
    spark.sql(f"INSERT INTO {db}.sales SELECT id, id % 5, id % 3, id % 8 FROM range(80)")
    for name, count in (("days", 8), ("items", 5), ("shops", 3)):
        spark.sql(f"CREATE TABLE {db}.{name} (k int, name string)")
        spark.sql(f"INSERT INTO {db}.{name} SELECT id, concat('{name}', id) FROM range({count})")
    return db


def questions(run: Callable[[], object]) -> Counter[str]:
    """Return how often each question is asked while something runs."""
    with parquetry.trace() as trace:
        run()
    return Counter(row["question"] for row in trace.rows)


@pytest.mark.unaudited("the audit asks, too")
def test_a_point_query_asks_once(spark: SparkSession, rows: Rows, star: str, store: ms.Metastore) -> None:
    """A point query asks for its scan alone, and the same query again asks nothing, while no one writes.

    Another session's commit is seen by the next query, which asks for the new version, and about it.
    """
    query = "SELECT id FROM {}.sales WHERE day = {} AND id > {}"
    changed = {"load_relation": 1, "push_predicates": 1}
    first = questions(lambda: rows(query.format(star, 1, 50)))
    assert first.keys() == changed.keys()
    assert questions(lambda: rows(query.format(star, 1, 50))) == {}
    assert questions(lambda: rows(query.format(star, 2, 20))) == {"push_predicates": 1}
    frame = spark.table(f"{star}.sales").select("id").filter("day = 3 AND id > 50")
    assert questions(lambda: frame.collect()) == {"push_predicates": 1}
    assert rows(query.format(star, 1, 50)) == [(57,), (65,), (73,)]
    table = store.table(star.removeprefix("lake."), "sales")
    transaction = ms.Transaction(table, "delete")
    transaction.drop((1,))
    ms.commit(transaction)
    assert questions(lambda: rows(query.format(star, 1, 50))) == changed
    assert rows(query.format(star, 1, 50)) == []


@pytest.mark.unaudited("the audit asks, too")
def test_a_star_asks_once_for_each_scan(rows: Rows, star: str) -> None:
    """A star asks once for all versions, each scan and all joins, and nothing the next time."""
    query = f"""SELECT count(*), min(items.name) FROM {star}.sales JOIN {star}.days ON day = days.k
        JOIN {star}.items ON item = items.k JOIN {star}.shops ON shop = shops.k
        WHERE days.name = 'days3' AND items.name < 'items4' AND shops.name > 'shops0'"""
    answer = rows(query)
    again = questions(lambda: rows(query))
    assert again == {}
    asked = questions(lambda: rows(query.replace("days3", "days4")))
    # new are the scan of the changed table, the joins, and the scan of the fact by other values
    assert asked == {"push_predicates": 1, "plan_joins": 1, "plan_scan": 1}
    assert rows(query) == answer


def empty(store: ms.Metastore, db: str, name: str) -> None:
    """Delete all rows of a table that has no partitions, as another session does."""
    transaction = ms.Transaction(store.table(db.removeprefix("lake."), name), "delete")
    transaction.drop(())
    ms.commit(transaction)


@pytest.mark.parametrize("name", ["shops", "days"])
def test_a_query_sees_commits_since_its_analysis(
    spark: SparkSession, star: str, store: ms.Metastore, name: str
) -> None:
    """Spark loads the tables of a query again before it plans it: neither of them is older than that."""
    query = spark.sql(f"SELECT * FROM {star}.days JOIN {star}.shops USING (k)")
    twice = spark.sql(f"SELECT * FROM {star}.days JOIN {star}.shops USING (k)")
    assert "load_relations" not in questions(twice.collect)
    empty(store, star, name)
    asked = questions(query.collect)
    assert asked["load_relations"] == LOADS - 1
    assert len(query.collect()) == (3 if LOADS == 1 else 0)
    assert len(twice.filter("k >= 0").collect()) == (3 if LOADS == 1 else 0)


def test_answers_serve_one_refreshing(spark: SparkSession, star: str, store: ms.Metastore) -> None:
    """A table that Spark takes from its cache leaves an answer over, which no later query takes."""
    query = spark.sql(f"SELECT * FROM {star}.shops JOIN {star}.days USING (k)")
    spark.sql(f"CACHE TABLE {star}.shops")
    try:
        assert len(query.filter("k < 9").collect()) == 3
    finally:
        spark.sql(f"UNCACHE TABLE {star}.shops")
    empty(store, star, "shops")
    assert len(query.filter("k < 8").collect()) == (3 if LOADS == 1 else 0)
    assert spark.sql(f"SELECT * FROM {star}.shops JOIN {star}.days USING (k)").collect() == []


def test_names_that_mean_something_else(spark: SparkSession, star: str) -> None:
    """Names of a WITH and of temporary views hide tables, and a name that is not there is Spark's error."""
    before = spark.catalog.currentCatalog(), spark.catalog.currentDatabase()
    spark.range(1).selectExpr("7 AS k").createOrReplaceTempView("items")
    try:
        spark.sql(f"USE {star}")
        found = spark.sql(
            "WITH shops AS (SELECT 7 AS k) SELECT shops.k FROM shops JOIN days USING (k) JOIN items USING (k)"
        )
        assert found.collect() == [(7,)]
        with pytest.raises(AnalysisException, match="`absent`"):
            spark.sql("SELECT * FROM days JOIN shops USING (k) JOIN absent USING (k)")
        assert spark.sql("SELECT * FROM days JOIN shops USING (k) JOIN items USING (k)").collect() == []
    finally:
        spark.catalog.dropTempView("items")
        spark.catalog.setCurrentCatalog(before[0])
        spark.catalog.setCurrentDatabase(before[1])


def test_a_table_that_is_made_again_is_another(rows: Rows, spark: SparkSession, db: str) -> None:
    """Nothing that a session learned of a dropped table is true of the next one of its name."""
    for value in (1, 2):
        spark.sql(f"CREATE TABLE {db}.t (a int, p int) PARTITIONED BY (p)")
        spark.sql(f"INSERT INTO {db}.t VALUES ({value}, 0)")
        assert [rows(f"SELECT a FROM {db}.t WHERE p = 0") for _ in range(2)] == [[(value,)]] * 2
        spark.sql(f"DROP TABLE {db}.t")


def test_other_plans_are_looked_at_and_left(spark: SparkSession, stock: str) -> None:
    """A query of Spark's own tables asks nothing, and no rule of ours runs."""
    spark.sql(f"CREATE TABLE {stock}.t USING parquet AS SELECT id, id % 3 AS p FROM range(9)")
    with parquetry.trace() as trace:
        spark.sql(
            f"SELECT p, count(*) FROM {stock}.t JOIN {stock}.t u USING (p) WHERE p > 0 GROUP BY p"
        ).collect()
    assert (trace.rows, trace.rules) == ([], [])


def test_a_trace_has_a_table_and_stacks(spark: SparkSession, rows: Rows, star: str) -> None:
    """A trace says what asked each question and how long the answer took, and has its stacks."""
    with parquetry.trace(functions=True) as trace:
        rows(
            f"SELECT max(s.id) FROM {star}.sales s JOIN {star}.days ON s.day = days.k WHERE days.name = 'days3'"
        )
    frame = spark.createDataFrame(trace.rows)
    asked = {row["question"]: row["asked_by"] for row in frame.collect()}
    assert asked["plan_joins"].endswith("AddRuntimeFilters")
    assert asked["push_predicates"].endswith("ParquetryScanBuilder.pushPredicates")
    assert all(row["ms"] >= row["planner_ms"] > 0 for row in trace.rows)
    assert {"AddRuntimeFilters", "ForeseeScans"} <= {rule["rule"] for rule in trace.rules}
    assert str(trace).endswith(f"{len(trace.rows)} questions")
    assert any(";planner;planner._answer" in line for line in trace.stack_lines())
    assert any(line.startswith("AddRuntimeFilters;") for line in trace.stack_lines())
