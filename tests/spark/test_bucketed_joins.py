"""Joins of bucketed tables: the answers of plain Spark, and no shuffle, in each shape that there is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support import plans
from tests.support.bucketed_tables import Twins, make
from tests.support.effort import sampled

JOINS = ("INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")
LAYOUTS = tuple(product(("1", "2", "spark"), ("parquet", "orc")))
COLUMNS = "k bigint, j int, s string"
SMALL = "SET spark.sql.autoBroadcastJoinThreshold = -1"
Tables = dict[str, Twins]


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
    spark.conf.unset("spark.sql.adaptive.enabled")


@pytest.fixture(scope="module")
def tables(session: SparkSession) -> Callable[[str, str], Tables]:
    """Tables in a version of the hash and a format of files; made when they are first asked for."""
    made: dict[tuple[str, str], Tables] = {}

    def get(version: str, format: str) -> Tables:
        if (version, format) not in made:
            clauses = {
                "eight": "(k) SORTED BY (k) INTO 8 BUCKETS",
                "four": "(k) SORTED BY (k) INTO 4 BUCKETS",
                "quad": "(k) SORTED BY (k) INTO 4 BUCKETS",
                "six": "(k) INTO 6 BUCKETS",
                "both": "(k, j) INTO 4 BUCKETS",
                "pair": "(k, j) INTO 8 BUCKETS",
                "swapped": "(j, k) INTO 4 BUCKETS",
            }
            made[version, format] = {
                name: make(
                    session,
                    f"lake.joined.{name}_{version}_{format}",
                    COLUMNS,
                    clause,
                    rows(seed, 60 + 10 * seed),
                    version=version,
                    format=format,
                )
                for seed, (name, clause) in enumerate(clauses.items(), 1)
            }
        return made[version, format]

    return get


@pytest.fixture
def agree(session: SparkSession) -> Callable[..., Any]:
    """Run a query over bucketed tables and over views of the same rows; return the nodes of the first's plan."""

    def check(query: str, of: Tables, adaptive: bool = True) -> Any:
        session.conf.set("spark.sql.adaptive.enabled", str(adaptive).lower())
        found, nodes = plans.run(session.sql(query.format(**{n: t.table for n, t in of.items()})))
        wanted = session.sql(query.format(**{n: t.view for n, t in of.items()})).collect()
        assert plans.comparable(found) == plans.comparable(wanted)
        return nodes

    return check


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
    tables: Callable[[str, str], Tables], agree: Callable[..., Any], shape: str, version: str, format: str
) -> None:
    """Of every type, with adaptive execution and without, for each version of the hash and format of files."""
    for join, adaptive in sampled(list(product(JOINS, (True, False)))):
        nodes = agree(SHAPES[shape].replace("{join}", join), tables(version, format), adaptive)
        assert (nodes["Exchange"], nodes["SortMergeJoin"]) == (0, 1), (join, adaptive, nodes)
