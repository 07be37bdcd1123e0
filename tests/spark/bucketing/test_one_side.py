"""Joins of a bucketed table with rows that are not in its buckets: these alone are shuffled, by the hash of
the table's files.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.effort import sampled
from tests.support.tables.bucketed_tables import OnDemand, Twins, agree, make, settings, spare_classes

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
    """A session without broadcasts and runtime filters, whose subqueries have exchanges of their own."""
    spare_classes(spark)
    spark.sql("CREATE NAMESPACE lake.sided")
    with settings(spark, {"spark.sql.autoBroadcastJoinThreshold": -1, "parquetry.runtime-pruning": False}):
        yield spark
    spark.sql("DROP NAMESPACE lake.sided CASCADE")


@pytest.fixture(scope="module")
def tables(session: SparkSession) -> Callable[[str, str], Tables]:
    """Tables by version of the hash and file format; each is made at its first use."""
    clauses = {
        "eight": "(k) SORTED BY (k) INTO 8 BUCKETS",
        "four": "(k) INTO 4 BUCKETS",
        "six": "(k) INTO 6 BUCKETS",
        "three": "(k) INTO 3 BUCKETS",
        "five": "(k) INTO 5 BUCKETS",
        "one": "(k) INTO 1 BUCKETS",
        "pair": "(k, j) INTO 4 BUCKETS",
        "text": "(s, k) INTO 5 BUCKETS",
        "by_j": "(j) INTO 4 BUCKETS",
        "plain": "(s) INTO 1 BUCKETS",
        "other": "(s) INTO 1 BUCKETS",
    }

    @functools.cache
    def get(version: str, format: str) -> Tables:
        def made(name: str) -> Twins:
            seed = 1 + list(clauses).index(name)
            twins = make(
                session,
                f"lake.sided.{name}_{version}_{format}",
                COLUMNS,
                clauses[name],
                rows(seed, 60 + 10 * seed),
                version=version,
                format=format,
            )
            return Twins(twins.view, twins.view) if name in ("plain", "other") else twins

        return OnDemand(made)

    return get


SHAPES = {
    "the right side": "SELECT * FROM {eight} l {join} JOIN {plain} r ON l.k = r.k",
    "the left side": "SELECT * FROM {plain} l {join} JOIN {eight} r ON l.k = r.k",
    "two bucket columns": "SELECT * FROM {pair} l {join} JOIN {plain} r ON l.j = r.j AND l.k = r.k",
    "two of other types": "SELECT * FROM {plain} l {join} JOIN {text} r ON l.k = r.k AND l.s = r.s AND l.j < r.j",
    "more keys": "SELECT * FROM {eight} l {join} JOIN {plain} r ON l.j = r.j AND l.k = r.k AND l.s <> r.s",
    "null-safe": "SELECT * FROM {pair} l {join} JOIN {plain} r ON l.k <=> r.k AND l.j <=> r.j",
    "a narrower key": "SELECT * FROM {by_j} l {join} JOIN {plain} r ON l.j = r.k",
    "a wider key": "SELECT * FROM {eight} l {join} JOIN {plain} r ON l.k = r.j",
    "other buckets": "SELECT * FROM {eight} l {join} JOIN {by_j} r ON l.k = r.k",
    "an aggregate": "SELECT * FROM (SELECT k, count(*) n FROM {eight} GROUP BY k) l {join} JOIN {plain} r ON l.k = r.k",
    "a hash join": "SELECT /*+ SHUFFLE_HASH(r) */ * FROM {four} l {join} JOIN {plain} r ON l.k = r.k",
}


@pytest.mark.parametrize(("version", "format"), sampled(LAYOUTS))
@pytest.mark.parametrize("shape", SHAPES)
def test_one_side_is_shuffled(
    session: SparkSession, tables: Callable[[str, str], Tables], shape: str, version: str, format: str
) -> None:
    """One exchange, of the side that is not in the buckets, in a join of each type, with and without adaptive
    execution, by each hash.
    """
    for join, adaptive in sampled(list(product(JOINS, (True, False)))):
        nodes = agree(
            session, SHAPES[shape].replace("{join}", join), tables(version, format), adaptive, KNOWN
        )
        assert (nodes["Exchange"], nodes["InBuckets"]) == (1, 1), (join, adaptive, nodes)
