"""A bucketed table is read in its sort order, in few tasks if buckets do not help, and pruned by runtime
filters.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from parquetry.planner import statements
from parquetry.spark.configuration import BRIDGE_PACKAGE
from parquetry.spark.serving.callbacks import PlannerGateway
from tests.support.effort import sampled
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import (
    OnDemand,
    Twins,
    agree,
    make,
    plainly,
    settings,
    spare_classes,
)

Tables = dict[str, Twins]
JOINS = ("INNER", "LEFT", "RIGHT", "LEFT SEMI", "LEFT ANTI", "FULL")
COLUMNS = "k bigint, n int, p int"
ROWS = [(None if n % 17 == 0 else n * 7 % 43, n, n % 5) for n in range(150)]
CLAUSES = {
    "up": "(k) SORTED BY (k) INTO 4 BUCKETS",
    "also": "(k) SORTED BY (k, n) INTO 4 BUCKETS",
    "six": "(k) INTO 6 BUCKETS",
    "three": "(k) SORTED BY (k) INTO 3 BUCKETS",
    "twelve": "(k) SORTED BY (k) INTO 12 BUCKETS",
    "two_of": "(k, p) INTO 3 BUCKETS",
    "six_of": "(k, p) INTO 6 BUCKETS",
    "by_both": "(k, p) SORTED BY (k, p) INTO 4 BUCKETS",
    "both_too": "(k, p) SORTED BY (k, p, n) INTO 4 BUCKETS",
    "many": "(k) SORTED BY (k) INTO 64 BUCKETS",
    "one_of_all": "(k, p, n) INTO 1 BUCKETS",
    "two_of_all": "(k, p, n) INTO 2 BUCKETS",
    "four_of_all": "(k, p, n) INTO 4 BUCKETS",
    "six_of_all": "(k, p, n) INTO 6 BUCKETS",
    "eight_of_all": "(k, p, n) INTO 8 BUCKETS",
    "days": "(k) INTO 4 BUCKETS",
}
"""Tables that are sorted and not, of different numbers of buckets, one of them partitioned."""
KNOWN: dict[str, list[tuple[Any, ...]]] = {}
"""The answers of plain Spark by the text of a query, as the tables do not change."""


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that does not broadcast, with a database for the tables of this module."""
    spare_classes(spark)
    spark.sql("CREATE NAMESPACE lake.scanned")
    with settings(spark, {"spark.sql.autoBroadcastJoinThreshold": -1}):
        yield spark
    spark.sql("DROP NAMESPACE lake.scanned CASCADE")


@pytest.fixture(scope="module")
def tables(session: SparkSession) -> Tables:
    """The tables of this module."""

    def made(name: str) -> Twins:
        by, seed = ("p", 0) if name == "days" else (None, list(CLAUSES).index(name))
        return make(session, f"lake.scanned.{name}", COLUMNS, CLAUSES[name], ROWS[seed:], partitioned=by)

    return OnDemand(made)


# -- order


@pytest.mark.parametrize("adaptive", [True, False])
def test_sorted_buckets_are_not_sorted_again(session: SparkSession, tables: Tables, adaptive: bool) -> None:
    """Where buckets are sorted files, also if a scan folds several buckets into one."""
    for join in sampled(JOINS):
        query = f"SELECT * FROM {{up}} l {join} JOIN {{also}} r ON l.k = r.k"
        nodes = agree(session, query, tables, adaptive, KNOWN)
        assert (nodes["Exchange"], nodes["Sort"]) == (0, 0), join
        query = f"SELECT * FROM {{by_both}} l {join} JOIN {{both_too}} r ON l.k = r.k AND l.p = r.p"
        nodes = agree(session, query, tables, adaptive, KNOWN)
        assert (nodes["Exchange"], nodes["Sort"]) == (0, 0), join
    nodes = agree(session, "SELECT * FROM {twelve} l JOIN {up} r ON l.k = r.k", tables, adaptive, KNOWN)
    assert (nodes["Exchange"], nodes["Sort"]) == (0, 0)
    nodes = agree(session, "SELECT * FROM {six} l JOIN {six} r ON l.k = r.k", tables, adaptive, KNOWN)
    assert (nodes["Exchange"], nodes["Sort"]) == (0, 2)


SORTED = {
    "{also} l {join} JOIN {also} r ON l.n = r.n AND l.k = r.k": 0,
    "{also} l {join} JOIN {also} r ON r.k = l.k AND r.n = l.n": 0,
    "{also} l {join} JOIN {up} r ON r.n = l.n AND l.p > 1 AND r.k = l.k": 1,
    "{up} l {join} JOIN (SELECT n AS m, k AS j, p FROM {also}) r ON l.n = r.m AND l.k = r.j": 1,
    "{by_both} l {join} JOIN {both_too} r ON l.p = r.p AND l.k = r.k": 0,
    "{by_both} l {join} JOIN {both_too} r ON l.n = r.n AND l.p = r.p AND l.k = r.k": 1,
    "{also} l {join} JOIN {also} r ON l.k = r.k AND l.p = r.p": 2,  # sorted by k and n
    "{also} l {join} JOIN {also} r ON l.n = r.k AND l.k = r.n": None,
}
"""Joins by more keys than bucket columns, or by keys in another order than the files' sort.

Each has the number of sides that are sorted, if only by the last of the keys.
"""


def test_keys_in_another_order_than_files_are_sorted(session: SparkSession, tables: Tables) -> None:
    """Any order of a join's keys is as good as the order of SORTED BY, if these keys come first in it."""
    for query, sorts in SORTED.items():
        for join, adaptive in sampled((("INNER", True), ("FULL", False), ("LEFT SEMI", False)), query):
            select = f"SELECT l.k, l.n FROM {query.replace('{join}', join)}"
            nodes = agree(session, select, tables, adaptive)
            if sorts is not None:
                assert (nodes["Exchange"], nodes["Sort"] + nodes["IncrementalSort"]) == (0, sorts), (
                    query,
                    join,
                )


def test_keys_in_another_order_where_a_hint_asks_for_a_merge(session: SparkSession, tables: Tables) -> None:
    """A small table is not broadcast then, and the order of the files counts as it does for large ones."""
    hinted = next(query for query, sorts in SORTED.items() if sorts == 0).replace("{join}", "INNER")
    with settings(session, {"spark.sql.autoBroadcastJoinThreshold": "10m"}):
        nodes = agree(session, f"SELECT /*+ MERGE(r) */ l.k FROM {hinted}", tables, False)
    assert (nodes["SortMergeJoin"], nodes["Exchange"], nodes["Sort"]) == (1, 0, 0)


def test_a_second_file_of_a_bucket_takes_no_sort(session: SparkSession) -> None:
    """Before compaction has made them one again, readers merge them."""
    rows = [(n, n) for n in range(20)]
    of = {
        "t": make(session, "lake.scanned.grown", "k bigint, n int", "(k) SORTED BY (k) INTO 4 BUCKETS", rows)
    }
    query = f"SELECT * FROM {of['t'].table} l JOIN {of['t'].table} r ON l.k = r.k"
    session.sql(f"INSERT INTO {of['t'].table} SELECT * FROM {of['t'].table} WHERE k < 7")
    found, nodes = plans.run(session.sql(query))
    assert (len(found), nodes["Exchange"], nodes["Sort"]) == (13 + 7 * 4, 0, 0)
    session.sql(f"CALL lake.system.compact('{of['t'].table}')")
    found, nodes = plans.run(session.sql(query))
    assert (len(found), nodes["Exchange"], nodes["Sort"]) == (13 + 7 * 4, 0, 0)


def test_a_sort_within_partitions_stays_one(session: SparkSession, tables: Tables) -> None:
    """Spark leaves the sort out, as each bucket is sorted: then the buckets' files must not be mixed."""
    for adaptive in (True, False):
        with settings(session, {"spark.sql.adaptive.enabled": adaptive}):
            frame = session.table(tables["many"].table).sortWithinPartitions("k").select("k")
            for part in frame.rdd.glom().collect():
                keys = [row.k for row in part]
                assert keys == sorted(keys, key=lambda key: (key is not None, key or 0))


# -- tasks


@pytest.mark.parametrize("adaptive", [True, False])
def test_few_tasks_where_buckets_are_of_no_use(session: SparkSession, tables: Tables, adaptive: bool) -> None:
    """A scan, a filter, an aggregate of all rows, or a broadcast join reads 64 small buckets together; a join
    reads them one by one.
    """
    with settings(session, {"spark.sql.adaptive.enabled": adaptive, "spark.sql.files.minPartitionNum": 2,
                            "spark.sql.files.openCostInBytes": 1}):  # fmt: skip
        table = tables["many"].table
        for query in (
            f"SELECT * FROM {table}",
            f"SELECT k + 1 FROM {table} WHERE n > 5",
            f"SELECT /*+ BROADCAST(r) */ * FROM {table} l JOIN {table} r ON l.k = r.k",
        ):
            assert plans.tasks(session.sql(query)) <= 4, query
        assert plans.tasks(session.sql(f"SELECT k, count(*) FROM {table} GROUP BY k")) > 20
        with settings(session, {"spark.sql.sources.bucketing.autoBucketedScan.enabled": False}):
            assert plans.tasks(session.sql(f"SELECT * FROM {table}")) > 20


SEVERAL = {
    ("two_of", "two_of"): (3, 3),
    ("six_of", "six_of"): (6, 6),
    ("two_of", "six_of"): (3, 6),
    ("six_of", "two_of"): (3, 6),
    ("by_both", "six_of"): (3, 3),  # in 2, and a task more
    ("four_of_all", "four_of_all"): (4, 4),
    ("eight_of_all", "four_of_all"): (4, 8),
    ("four_of_all", "six_of_all"): (4, 4),  # in 2, and two tasks more
    ("two_of_all", "eight_of_all"): (4, 8),
    ("two_of_all", "two_of_all"): (4, 4),
    ("one_of_all", "one_of_all"): (1, 1),
}
"""Joins of tables in buckets by two and three columns, and their tasks: buckets folded to fewer, or read in
more.
"""


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize(("left", "right"), SEVERAL)
def test_a_task_for_each_bucket_by_several_columns(
    session: SparkSession, tables: Tables, left: str, right: str, adaptive: bool
) -> None:
    """No task is without a bucket; but if the buckets are not more than the columns, there is one task more
    than columns.
    """
    joined = "l.p = r.p AND l.k = r.k" + " AND l.n = r.n" * left.endswith("_all")
    for mode, count in zip(("smaller", "larger"), SEVERAL[left, right], strict=True):
        for keys in dict.fromkeys((joined, "l.n = r.n AND l.p = r.p AND l.k = r.k")):
            query = f"SELECT * FROM {{{left}}} l FULL JOIN {{{right}}} r ON {keys}"
            with settings(session, {"parquetry.bucket-join": mode, "spark.sql.adaptive.enabled": adaptive}):
                frame = session.sql(query.format(**{name: tables[name].table for name in (left, right)}))
                found, nodes = plans.run(frame)
                assert (nodes["Exchange"], plans.tasks(frame)) == (0, count), (left, right, mode)
            if query not in KNOWN:
                views = {name: tables[name].view for name in (left, right)}
                KNOWN[query] = plainly(session, query.format(**views))
            assert plans.comparable(found) == KNOWN[query]


@pytest.mark.parametrize("adaptive", [True, False])
def test_a_task_for_each_bucket_of_groups(session: SparkSession, tables: Tables, adaptive: bool) -> None:
    """Groups by all bucket columns have as many tasks as there are buckets."""
    with settings(session, {"spark.sql.adaptive.enabled": adaptive}):
        for name, count in (("six_of", 6), ("two_of", 3), ("eight_of_all", 8)):
            grouped = session.sql(f"SELECT k, p, n, count(*) FROM {tables[name].table} GROUP BY k, p, n")
            assert plans.tasks(grouped) == count


# -- values that arrive while a query runs


@pytest.mark.needs("broadcasts of others")
@pytest.mark.parametrize("adaptive", [True, False])
def test_values_found_at_run_time(session: SparkSession, tables: Tables, adaptive: bool) -> None:
    """Runtime values prune partitions and keep files in their buckets, for each type of join, also if no file
    remains.
    """
    session.sql("CREATE OR REPLACE TEMP VIEW few AS SELECT * FROM VALUES (1, 'a'), (3, 'b') AS t(p, name)")
    session.sql("CREATE OR REPLACE TEMP VIEW nothing AS SELECT * FROM VALUES (77, 'a') AS t(p, name)")
    for small, join in sampled([*product(("few", "nothing"), ("INNER", "LEFT", "FULL"))]):
        query = (
            f"SELECT * FROM {{up}} l {join} JOIN "
            f"(SELECT /*+ BROADCAST(s) */ d.* FROM {{days}} d JOIN {small} s ON d.p = s.p WHERE s.name <> 'x') r ON l.k = r.k"
        )
        nodes = agree(session, query, tables, adaptive, KNOWN)
        assert nodes["Exchange"] == 0, (small, join)
    query = (
        f"SELECT * FROM {tables['up'].table} l JOIN "
        f"(SELECT /*+ BROADCAST(s) */ d.* FROM {tables['days'].table} d JOIN few s ON d.p = s.p WHERE s.name <> 'x') r ON l.k = r.k"
    )
    frame = session.sql(query)
    frame.collect()
    step = next(scan for scan in parquetry.report(frame).scans if scan.table.endswith("days")).step(
        "partitions"
    )
    assert step is not None
    assert (step.kept, step.of) == (2, 5)


# -- the larger number of buckets


@pytest.mark.parametrize("adaptive", [True, False])
def test_a_join_in_the_larger_number_of_buckets(
    session: SparkSession, tables: Tables, adaptive: bool
) -> None:
    """Joins of 3 and 6 buckets run in 6 tasks and read the files of the 3 twice, but return each row once."""
    with settings(session, {"parquetry.bucket-join": "larger"}):
        for join in sampled(JOINS):
            for left, right in (("three", "six"), ("six", "three"), ("three", "twelve")):
                query = f"SELECT * FROM {{{left}}} l {join} JOIN {{{right}}} r ON l.k = r.k"
                nodes = agree(session, query, tables, adaptive, KNOWN)
                assert nodes["Exchange"] == 0, (join, left, right)
            query = f"SELECT * FROM {{two_of}} l {join} JOIN {{six_of}} r ON l.k = r.k AND l.p = r.p"
            assert agree(session, query, tables, adaptive, KNOWN)["Exchange"] == 0
        chain = "SELECT * FROM {three} a JOIN {six} b ON a.k = b.k JOIN {twelve} c ON b.k = c.k"
        assert agree(session, chain, tables, adaptive, KNOWN)["Exchange"] == 0
        joined = session.sql(
            f"SELECT * FROM {tables['three'].table} l JOIN {tables['six'].table} r ON l.k = r.k"
        )
        assert plans.tasks(joined) == 6


def test_the_larger_number_is_asked_for_by_either_side(session: SparkSession, tables: Tables) -> None:
    """An option of the read or the table's property requests the larger number, and the plan shows the
    repeated read.
    """
    three, six = tables["three"].table, tables["six"].table
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
def test_numbers_of_buckets_are_one_question_a_plan(session: SparkSession, tables: Tables) -> None:
    """A plan asks once about all its joins, and not at all if their numbers are equal."""
    names = {name: tables[name].table for name in ("three", "six", "twelve", "two_of", "six_of")}
    bridge = getattr(session._jvm, BRIDGE_PACKAGE).protocol.Bridge
    gateway = GraphGateway()
    bridge.install(gateway, list(statements.STATEMENT_WORDS))

    def graphs(query: str, mode: str) -> list[dict[str, Any]]:
        gateway.graphs.clear()
        with settings(session, {"parquetry.bucket-join": mode}):
            session.sql(query.format(**names))._jdf.queryExecution().executedPlan()
        return list(gateway.graphs)

    def reported(graph: dict[str, Any]) -> list[tuple[int, list[int], list[int]]]:
        return [
            (join["columns"], join["left"]["reported"], join["right"]["reported"]) for join in graph["joins"]
        ]

    chain = "SELECT * FROM {three} a JOIN {six} b ON a.k = b.k JOIN {twelve} c ON b.k = c.k"
    try:
        (graph,) = graphs("SELECT * FROM {three} a JOIN {six} b ON a.k = b.k", "smaller")
        assert [scan["count"] for scan in graph["scans"]] == [3, 6]
        (graph,) = graphs(chain, "smaller")
        assert [(scan["count"], scan["ordered"]) for scan in graph["scans"]] == [
            (3, True),
            (6, False),
            (12, True),
        ]
        assert graphs("SELECT * FROM {six} a JOIN {six} b ON a.k = b.k", "larger") == []
        (graph,) = graphs(chain, "larger")
        assert [scan["count"] for scan in graph["scans"]] == [3, 6, 12]
        assert reported(graph) == [(1, [0], [1]), (1, [0, 1], [2])]
        (graph,) = graphs("SELECT * FROM {two_of} a JOIN {six_of} b ON a.k = b.k AND a.p = b.p", "larger")
        assert reported(graph) == [(2, [0], [1])]
    finally:
        bridge.install(PlannerGateway(), list(statements.STATEMENT_WORDS))


def test_nothing_is_read_again_for_a_broadcast(session: SparkSession, tables: Tables) -> None:
    """Where Spark broadcasts after all, each file is read once and no row is left out."""
    with settings(session, {"parquetry.bucket-join": "larger"}):
        for side in ("l", "r"):
            query = f"SELECT /*+ BROADCAST({side}) */ * FROM {{three}} l JOIN {{six}} r ON l.k = r.k"
            assert agree(session, query, tables)["SortMergeJoin"] == 0
