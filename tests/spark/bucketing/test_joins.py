"""Joins of bucketed tables: the answers of plain Spark, and no shuffle, in each shape that there is."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.effort import sampled
from tests.support.tables.bucketed_tables import OnDemand, Twins, agree, make

pytestmark = pytest.mark.core

JOINS = ("INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")
LAYOUTS = tuple(product(("1", "2", "spark"), ("parquet", "orc")))
COLUMNS = "k bigint, j int, s string"
Tables = dict[str, Twins]
KNOWN: dict[str, list[tuple[Any, ...]]] = {}
"""The rows of queries, which are the same in all layouts."""


def rows(seed: int, count: int) -> list[tuple[Any, ...]]:
    """Return rows with keys that repeat, that others lack, and that are NULL."""
    return [
        (None if n % 11 == 0 else n * seed % 37 - 9, None if n % 13 == 0 else n % 3, f"{seed}-{n}")
        for n in range(count)
    ]


@pytest.fixture(scope="module")
def session(spark: SparkSession) -> Iterator[SparkSession]:
    """A session that does not broadcast, with a database for the tables of this module."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.sql("CREATE NAMESPACE lake.joined")
    yield spark
    spark.sql("DROP NAMESPACE lake.joined CASCADE")
    spark.conf.unset("spark.sql.autoBroadcastJoinThreshold")


@pytest.fixture(scope="module")
def tables(session: SparkSession) -> Callable[[str, str], Tables]:
    """Tables by version of the hash and file format; each is made at its first use."""
    clauses = {
        "sixteen": "(k) INTO 16 BUCKETS",
        "eight": "(k) SORTED BY (k) INTO 8 BUCKETS",
        "four": "(k) SORTED BY (k) INTO 4 BUCKETS",
        "quad": "(k) SORTED BY (k) INTO 4 BUCKETS",
        "six": "(k) INTO 6 BUCKETS",
        "both": "(k, j) INTO 4 BUCKETS",
        "pair": "(k, j) INTO 8 BUCKETS",
        "swapped": "(j, k) INTO 4 BUCKETS",
    }

    @functools.cache
    def get(version: str, format: str) -> Tables:
        def made(name: str) -> Twins:
            seed = 1 + list(clauses).index(name)
            return make(
                session,
                f"lake.joined.{name}_{version}_{format}",
                COLUMNS,
                clauses[name],
                rows(seed, 60 + 10 * seed),
                version=version,
                format=format,
            )

        return OnDemand(made)

    return get


SHAPES = {
    "equal": "SELECT * FROM {four} l {join} JOIN {quad} r ON l.k = r.k",
    "folded": "SELECT * FROM {eight} l {join} JOIN {four} r ON l.k = r.k",
    "folded on the other side": "SELECT * FROM {four} l {join} JOIN {eight} r ON l.k = r.k",
    "folded on both sides": "SELECT * FROM {four} l {join} JOIN {six} r ON l.k = r.k",
    "more keys": "SELECT * FROM {four} l {join} JOIN {eight} r ON l.j = r.j AND l.k = r.k AND l.s <> r.s",
    "several columns": "SELECT * FROM {both} l {join} JOIN {pair} r ON l.j = r.j AND l.k = r.k",
    "other names": "SELECT * FROM {both} l {join} JOIN (SELECT k AS kk, j AS jj, s FROM {pair}) r ON kk = l.k AND jj = l.j",
}


@pytest.mark.parametrize(("version", "format"), sampled(LAYOUTS))
@pytest.mark.parametrize("shape", SHAPES)
def test_a_join_without_a_shuffle(
    session: SparkSession, tables: Callable[[str, str], Tables], shape: str, version: str, format: str
) -> None:
    """A join of each type needs no shuffle, with and without adaptive execution, in each version of the hash
    and file format.
    """
    for join, adaptive in sampled(list(product(JOINS, (True, False)))):
        nodes = agree(
            session, SHAPES[shape].replace("{join}", join), tables(version, format), adaptive, KNOWN
        )
        assert (nodes["Exchange"], nodes["SortMergeJoin"]) == (0, 1), (join, adaptive, nodes)


OTHERS = {
    "a chain in 16, 8 and 4": (
        "SELECT * FROM {sixteen} a JOIN {eight} b ON a.k = b.k JOIN {four} c ON b.k = c.k", {"SortMergeJoin": 2},
    ),
    "a chain upwards": (
        "SELECT * FROM {four} a JOIN {eight} b ON a.k = b.k LEFT JOIN {sixteen} c ON a.k = c.k", {"SortMergeJoin": 2},
    ),
    "a hash join": (
        "SELECT /*+ SHUFFLE_HASH(r) */ * FROM {eight} l LEFT JOIN {four} r ON l.k = r.k", {"ShuffledHashJoin": 1},
    ),
    "an aggregate": ("SELECT k, count(*), max(s) FROM {eight} GROUP BY k", {}),
    "an aggregate by more": ("SELECT j, k, count(*) FROM {eight} GROUP BY j, k", {}),
    "an aggregate of a join": ("SELECT l.k, count(*) FROM {eight} l JOIN {four} r ON l.k = r.k GROUP BY l.k", {"SortMergeJoin": 1}),
    "an aggregate of distinct values": ("SELECT k, count(DISTINCT s) FROM {eight} GROUP BY k", {}),
    "distinct rows": ("SELECT DISTINCT k, j FROM {eight}", {}),
    "a window": ("SELECT k, s, row_number() OVER (PARTITION BY k ORDER BY s) FROM {eight}", {"Window": 1}),
    "a window by more": ("SELECT k, s, sum(j) OVER (PARTITION BY j, k) FROM {eight}", {"Window": 1}),
    "several columns, an aggregate by them": ("SELECT j, k, count(*) FROM {both} GROUP BY k, j", {}),
    "a self-join": ("SELECT * FROM {eight} l JOIN {eight} r ON l.k = r.k AND l.s < r.s", {"SortMergeJoin": 1}),
    "a subquery": ("SELECT * FROM {eight} WHERE k IN (SELECT k FROM {four} WHERE j > 0)", {"SortMergeJoin": 1}),
    "an aggregate joined": (
        "SELECT * FROM {eight} l JOIN (SELECT k, count(*) n FROM {four} GROUP BY k) r ON l.k = r.k", {"SortMergeJoin": 1},
    ),
}  # fmt: skip


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("what", OTHERS)
def test_what_else_needs_no_shuffle(
    session: SparkSession, tables: Callable[[str, str], Tables], what: str, adaptive: bool
) -> None:
    """Chains of joins, aggregates, windows and distinct rows by the bucket columns, or by these and more."""
    query, wanted = OTHERS[what]
    nodes = agree(session, query, tables("2", "parquet"), adaptive)
    assert nodes["Exchange"] == 0, nodes
    assert {name: nodes[name] for name in wanted} == wanted
