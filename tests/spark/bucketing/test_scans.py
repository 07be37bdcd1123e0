"""A bucketed table is read in its sort order, in few tasks if buckets do not help, and pruned by runtime
filters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from parquetry.planner import statements
from parquetry.spark.configuration import BRIDGE_PACKAGE
from parquetry.spark.serving.callbacks import PlannerGateway
from tests.support.join_tables.made import MadeTables
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import settings, spare_classes

SHUFFLED = {"spark.sql.autoBroadcastJoinThreshold": -1}


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that does not broadcast."""
    spare_classes(spark)
    with settings(spark, SHUFFLED):
        yield spark


# -- order


def test_a_second_file_of_a_bucket_takes_no_sort(session: SparkSession, db: str) -> None:
    """Before compaction has made them one again, readers merge them."""
    table = f"{db}.grown"
    session.sql(f"CREATE TABLE {table} (k BIGINT, n INT) CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS")
    session.sql(f"INSERT INTO {table} SELECT id, id FROM range(20)")
    query = f"SELECT * FROM {table} l JOIN {table} r ON l.k = r.k"
    session.sql(f"INSERT INTO {table} SELECT * FROM {table} WHERE k < 7")
    found, nodes = plans.run(session.sql(query))
    assert (len(found), nodes["Exchange"], nodes["Sort"]) == (13 + 7 * 4, 0, 0)
    session.sql(f"CALL lake.system.compact('{table}')")
    found, nodes = plans.run(session.sql(query))
    assert (len(found), nodes["Exchange"], nodes["Sort"]) == (13 + 7 * 4, 0, 0)


def test_a_sort_within_partitions_stays_one(session: SparkSession, join_tables: MadeTables) -> None:
    """Spark leaves the sort out, as each bucket is sorted: then the buckets' files must not be mixed."""
    for adaptive in (True, False):
        with settings(session, {"spark.sql.adaptive.enabled": adaptive}):
            frame = session.table(join_tables["many"].table).sortWithinPartitions("k").select("k")
            for part in frame.rdd.glom().collect():
                keys = [row.k for row in part]
                assert keys == sorted(keys, key=lambda key: (key is not None, key or 0))


# -- tasks


@pytest.mark.parametrize("adaptive", [True, False])
def test_few_tasks_where_buckets_are_of_no_use(
    session: SparkSession, join_tables: MadeTables, adaptive: bool
) -> None:
    """A scan, a filter, an aggregate of all rows, or a broadcast join reads 64 small buckets together; a join
    reads them one by one.
    """
    with settings(session, {"spark.sql.adaptive.enabled": adaptive, "spark.sql.files.minPartitionNum": 2,
                            "spark.sql.files.openCostInBytes": 1}):  # fmt: skip
        table = join_tables["many"].table
        for query in (
            f"SELECT * FROM {table}",
            f"SELECT k + 1 FROM {table} WHERE n > 5",
            f"SELECT /*+ BROADCAST(r) */ * FROM {table} l JOIN {table} r ON l.k = r.k",
        ):
            assert plans.tasks(session.sql(query)) <= 4, query
        assert plans.tasks(session.sql(f"SELECT k, count(*) FROM {table} GROUP BY k")) > 20
        with settings(session, {"spark.sql.sources.bucketing.autoBucketedScan.enabled": False}):
            assert plans.tasks(session.sql(f"SELECT * FROM {table}")) > 20


# -- the larger number of buckets


def test_the_larger_number_is_asked_for_by_either_side(
    session: SparkSession, join_tables: MadeTables
) -> None:
    """An option of the read or the table's property requests the larger number, and the plan shows the
    repeated read.
    """
    three, six = join_tables["n_three"].table, join_tables["n_six"].table
    plain = session.sql(f"SELECT * FROM {three} l JOIN {six} r ON l.k = r.k")
    assert plans.tasks(plain) == 3
    for left, right in (("WITH ('bucket-join' = 'larger')", ""), ("", "WITH ('bucket-join' = 'larger')")):
        frame = session.sql(f"SELECT * FROM {three} {left} l JOIN {six} {right} r ON l.k = r.k")
        assert plans.tasks(frame) == 6
        assert "read as 6" in frame._jdf.queryExecution().toString()


class GraphGateway(PlannerGateway):
    """The planner, with the graphs of joins by buckets that it was asked about."""

    def __init__(self) -> None:
        super().__init__()
        self.graphs: list[dict[str, Any]] = []

    def ask(self, question: str) -> str:
        asked = json.loads(question)
        if asked["op"] == "plan_joins" and asked.get("graph"):
            self.graphs.append(asked["graph"])
        return super().ask(question)


@pytest.mark.newest("Spark 4.1 folds no buckets, so the planner chooses all numbers")
def test_numbers_of_buckets_are_one_question_a_plan(session: SparkSession, join_tables: MadeTables) -> None:
    """A plan asks once about all its joins, and not at all if their numbers are equal."""
    bridge = getattr(session._jvm, BRIDGE_PACKAGE).protocol.Bridge
    gateway = GraphGateway()
    bridge.install(gateway, list(statements.STATEMENT_WORDS))

    def graphs(query: str, mode: str) -> list[dict[str, Any]]:
        gateway.graphs.clear()
        with settings(session, {"parquetry.bucket-join": mode}):
            session.sql(join_tables.text(query))._jdf.queryExecution().executedPlan()
        return list(gateway.graphs)

    def reported(graph: dict[str, Any]) -> list[tuple[int, list[int], list[int]]]:
        return [
            (join["columns"], join["left"]["reported"], join["right"]["reported"]) for join in graph["joins"]
        ]

    chain = "SELECT * FROM {n_three} a JOIN {n_six} b ON a.k = b.k JOIN {twelve} c ON b.k = c.k"
    try:
        (graph,) = graphs("SELECT * FROM {n_three} a JOIN {n_six} b ON a.k = b.k", "smaller")
        assert [scan["count"] for scan in graph["scans"]] == [3, 6]
        (graph,) = graphs(chain, "smaller")
        assert [(scan["count"], scan["ordered"]) for scan in graph["scans"]] == [
            (3, True),
            (6, False),
            (12, True),
        ]
        assert graphs("SELECT * FROM {n_six} a JOIN {n_six} b ON a.k = b.k", "larger") == []
        (graph,) = graphs(chain, "larger")
        assert [scan["count"] for scan in graph["scans"]] == [3, 6, 12]
        assert reported(graph) == [(1, [0], [1]), (1, [0, 1], [2])]
        (graph,) = graphs("SELECT * FROM {two_of} a JOIN {six_of} b ON a.k = b.k AND a.p = b.p", "larger")
        assert reported(graph) == [(2, [0], [1])]
    finally:
        bridge.install(PlannerGateway(), list(statements.STATEMENT_WORDS))
