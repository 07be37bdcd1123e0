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

import parquetry
from tests.support.effort import sampled
from tests.support.tables.bucketed_tables import (
    OnDemand,
    Twins,
    agree,
    local_frame,
    make,
    settings,
    spare_classes,
)

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


@pytest.fixture(scope="module")
def mixed(session: SparkSession) -> Tables:
    """Tables with two partitions in buckets, one in another number, and one in none; by name."""

    def made(name: str) -> Twins:
        table = f"lake.sided.{name}"
        make(session, table, "k bigint, j int, s string, p int", "(k) INTO 4 BUCKETS", [], partitioned="p")
        values = [(*row, n % 4) for n, row in enumerate(rows(5 + len(name), 120))]
        twins = Twins(table, f"rows_of_{name}")
        local_frame(session, values, "k bigint, j int, s string, p int").createOrReplaceTempView(twins.view)
        for where, change in (
            ("p < 2", None),
            ("p = 2", "CLUSTERED BY (k) INTO 3 BUCKETS"),
            ("p = 3", "NOT CLUSTERED"),
        ):
            if change is not None:
                session.sql(f"ALTER TABLE {table} {change}")
            session.sql(f"INSERT INTO {table} SELECT * FROM {twins.view} WHERE {where}")
        return twins

    return OnDemand(made)


MIXED = {
    "with the same buckets": ("SELECT * FROM {mixed} l {join} JOIN {four} r ON l.k = r.k", 1),
    "with more buckets": ("SELECT * FROM {eight} l {join} JOIN {mixed} r ON l.k = r.k", 1),
    "with none": ("SELECT * FROM {mixed} l {join} JOIN {plain} r ON l.k = r.k AND l.s <> r.s", 2),
    "with itself": ("SELECT * FROM {mixed} l {join} JOIN {mixed} r ON l.k = r.k AND l.j = r.j", 2),
    "with conditions": ("SELECT * FROM (SELECT k, p FROM {mixed} WHERE s > '1' AND p > 0) l {join} JOIN {four} r ON l.k = r.k", 1),
    "without the old partitions": ("SELECT * FROM (SELECT * FROM {mixed} WHERE p < 2) l {join} JOIN {four} r ON l.k = r.k", 0),
    "as an aggregate": ("SELECT * FROM (SELECT k, sum(p) n FROM {mixed} GROUP BY k) l {join} JOIN {four} r ON l.k = r.k", 1),
}  # fmt: skip


@pytest.mark.parametrize("shape", MIXED)
def test_old_partitions_alone_are_shuffled(
    session: SparkSession, tables: Callable[[str, str], Tables], mixed: Tables, shape: str
) -> None:
    """Partitions in the common buckets are joined where they are, in a join of each type."""
    query, exchanges = MIXED[shape]
    both = OnDemand(lambda name: (mixed if name == "mixed" else tables("2", "parquet"))[name])
    for join, adaptive in sampled(list(product(JOINS, (True, False)))):
        nodes = agree(session, query.replace("{join}", join), both, adaptive, KNOWN)
        assert nodes["Exchange"] + nodes["ReusedExchange"] == exchanges, (join, adaptive, nodes)


MIXED_UNION = "a UNION ALL whose partitions Spark mixes"
COUNTS = {
    "one and six": ("SELECT * FROM {one} l {join} JOIN {six} r ON l.k = r.k", 0),
    "three and five": ("SELECT * FROM {three} l {join} JOIN {five} r ON l.k = r.k", 0),
    "a chain of four, six and eight": (
        "SELECT * FROM {four} a {join} JOIN {six} b ON a.k = b.k JOIN {eight} c ON a.k = c.k WHERE a.s < c.s", 0),
    "a UNION ALL": (
        "SELECT * FROM (SELECT k, s FROM {four} UNION ALL SELECT k, s FROM {eight}) l {join} JOIN {four} r ON l.k = r.k", 0),
    MIXED_UNION: (
        "SELECT * FROM (SELECT k, s FROM {four} UNION ALL SELECT k, s FROM {eight}) l {join} JOIN {four} r ON l.k = r.k", 0),
    "a UNION ALL of whole tables, whose keys a condition makes NOT NULL": (
        "SELECT * FROM (SELECT * FROM {four} UNION ALL SELECT * FROM {eight}) l {join} JOIN {four} r ON l.k = r.k", 0),
    "a UNION ALL with rows from elsewhere": (
        "SELECT * FROM (SELECT k, s FROM {four} UNION ALL SELECT k, s FROM {six}) l {join} JOIN {plain} r ON l.k = r.k", 1),
    "after a FULL join": (
        "SELECT * FROM (SELECT * FROM {four} FULL JOIN {eight} USING (k)) l {join} JOIN {four} r ON l.k = r.k", 0),
    "an aggregate after a FULL join": (
        "SELECT k, count(*) FROM {four} FULL JOIN {plain} USING (k) GROUP BY k", 1),
    "two joins with rows from elsewhere": (
        "SELECT * FROM {four} a JOIN {plain} b ON a.k = b.k {join} JOIN {other} c ON b.k = c.k", 2),
    "a view": ("SELECT * FROM v_four l {join} JOIN {plain} r ON l.key = r.k", 1),
}  # fmt: skip


@pytest.mark.parametrize("shape", COUNTS)
def test_numbers_and_shapes(session: SparkSession, tables: Callable[[str, str], Tables], shape: str) -> None:
    """Only rows outside the buckets are shuffled: for numbers that Spark cannot fold, in chains, unions and
    views, and after other joins.
    """
    query, exchanges = COUNTS[shape]
    of = tables("2", "parquet")
    for join, adaptive in sampled(list(product(JOINS[:4], (True, False)))):
        text = query.replace("{join}", join)
        if "v_four" in text:
            text = text.replace(
                "v_four", "(SELECT cast(k AS BIGINT) AS key, s FROM {four} WHERE s IS NOT NULL)"
            )
        with settings(session, {"spark.sql.unionOutputPartitioning": shape != MIXED_UNION}):
            nodes = agree(session, text, of, adaptive, KNOWN)
        assert nodes["Exchange"] == exchanges, (join, adaptive, nodes)


def test_joins_of_scalar_subqueries(session: SparkSession, tables: Callable[[str, str], Tables]) -> None:
    """A join within a scalar subquery, or within one of those, shuffles one side alone, too."""
    of = tables("2", "parquet")
    counted = "SELECT count(*) FROM {eight} l LEFT JOIN {plain} r ON l.k = r.k AND l.j < r.j"
    for query, exchanges in (
        (f"SELECT k, ({counted}) AS n FROM {{four}} WHERE k > 2", 1),
        (
            f"SELECT k FROM {{plain}} WHERE k < ({counted} WHERE l.k > (SELECT min(j) FROM {{four}} JOIN {{other}} USING (k, j)))",
            2,
        ),
    ):
        for adaptive in (True, False):
            nodes = agree(session, query, of, adaptive, KNOWN)
            assert nodes["InBuckets"] == exchanges, (query, adaptive, nodes)


def test_runtime_values_may_leave_old_partitions_alone(
    session: SparkSession, tables: Callable[[str, str], Tables], mixed: Tables
) -> None:
    """Values that come while the query runs may leave partitions in buckets, others, or none. Rows stay in
    the buckets of the plan.
    """
    session.sql(
        "SELECT * FROM VALUES (0, 'a'), (2, 'b'), (3, 'c'), (1, 'd'), (3, 'd') AS t (p, name)"
    ).write.saveAsTable("lake.sided.days")
    query = (
        "SELECT /*+ BROADCAST(d) */ * FROM {mixed} l {join} JOIN {four} r ON l.k = r.k "
        "JOIN lake.sided.days d ON l.p = d.p WHERE d.name = '{name}'"
    )
    both = OnDemand(lambda name: (mixed if name == "mixed" else tables("2", "parquet"))[name])
    with settings(session, {"parquetry.runtime-pruning": True}):
        for join, name in sampled(list(product(JOINS[:4], "abcde"))):
            agree(session, query.replace("{join}", join).replace("{name}", name), both, known=KNOWN)


def test_a_report_says_what_is_shuffled(
    session: SparkSession, tables: Callable[[str, str], Tables], mixed: Tables
) -> None:
    """A report counts a join's shuffles and sorts, and says why. A scan in two parts is one scan."""
    eight, four = (tables("2", "parquet")[name].table for name in ("eight", "four"))
    found = parquetry.explain(
        f"SELECT * FROM {mixed['mixed'].table} l LEFT JOIN {four} r ON l.k = r.k AND l.s > r.s"
    )
    (join,) = found.joins
    assert len(found.scans) == 2
    assert (join.shuffles, join.sorts) == (1, 2)
    assert join.outcome == (
        "a part of the left side shuffled, 2 sorts (lake.sided.mixed: partition p=3 is not in buckets)"
    )
    (join,) = parquetry.explain(f"SELECT * FROM {eight} l JOIN range(99) r ON l.k = r.id").joins
    assert (join.shuffles, join.sorts) == (1, 1)
    assert join.outcome == (
        f"one side shuffled, the right, 1 sort (range() is not in buckets; {eight} stays in its buckets by k)"
    )
