"""Buckets of rows above nodes that change these rows. A FULL join pads rows with NULL, and a UNION has rows
of several tables in one column.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.support.tables.bucketed_tables import Twins, agree, make, settings, spare_classes

pytestmark = pytest.mark.core

BUCKETS = 8
SHUFFLED = {"spark.sql.autoBroadcastJoinThreshold": -1}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[dict[str, Twins]]:
    """`a` and `few` are in buckets by `k`; `c` and `d` are in none that help."""
    spare_classes(spark)
    spark.sql("CREATE NAMESPACE lake.padded")
    columns, clause = "k int, j int, v string", f"(k) INTO {BUCKETS} BUCKETS"
    a = [(k, n % 3, f"a{k}") for n, k in enumerate([1, 3, 6, None, 5, 11, 0])]
    c = [(k, n % 4, f"c{k}") for n, k in enumerate([1, None, 3, 2, 9, None])]
    d = [(k, j, f"d{k}{j}") for k, j in [(1, 1), (None, 3), (None, 9), (5, None), (None, None), (0, 0)]]
    yield {
        "a": make(spark, "lake.padded.a", columns, clause, a),
        "few": make(spark, "lake.padded.few", columns, clause, [(n, n, "f") for n in range(12)]),
        "c": make(spark, "lake.padded.c", columns, "(v) INTO 1 BUCKETS", c),
        "d": make(spark, "lake.padded.d", columns, "(v) INTO 1 BUCKETS", d),
    }
    spark.sql("DROP NAMESPACE lake.padded CASCADE")


ZERO = "CASE WHEN c.k IS NULL THEN 0 ELSE c.k END"
NOT_NULL_FOR_NULL = {
    "if": ("c", "if(c.k IS NULL, 0, c.k) = a.k", "coalesce(if(c.k IS NULL, 0, c.k), a.k)"),
    "CASE": ("c", f"{ZERO} = a.k", f"coalesce({ZERO}, a.k)"),
    "coalesce": ("c", "nvl(c.k, 0) = a.k", "coalesce(nvl(c.k, 0), a.k)"),
    "of both sides": ("c", "nvl(c.k, 0) = nvl(a.k, 0)", "coalesce(nvl(c.k, 0), nvl(a.k, 0))"),
    "of the right side": ("a", "a.k = if(c.k IS NULL, 9, c.k)", "coalesce(a.k, if(c.k IS NULL, 9, c.k))"),
    "a constant": ("c", "3 = a.k AND c.j = a.j", "coalesce(3, a.k)"),
    "NULL as a value": ("c", "c.k <=> a.k", "coalesce(nullif(c.k, -1), a.k)"),
}
"""Keys that have a value in a row of NULL: the table on the left, the condition, and the key above it."""


@pytest.mark.every_case
@pytest.mark.parametrize("key", NOT_NULL_FOR_NULL)
def test_a_key_that_is_not_null_where_the_join_pads(
    spark: SparkSession, tables: dict[str, Twins], key: str
) -> None:
    """Groups and joins above a FULL join have all rows of a key, also if its padded side has a value."""
    left, on, above = NOT_NULL_FOR_NULL[key]
    right = "a" if left == "c" else "c"
    joined = f"{{{left}}} {left} FULL JOIN {{{right}}} {right} ON {on}"
    with settings(spark, SHUFFLED):
        agree(spark, f"SELECT {above} AS kk, count(*) FROM {joined} GROUP BY 1", tables)
        agree(
            spark,
            f"SELECT x.*, d.v FROM (SELECT {above} AS kk, a.k ak, c.k ck FROM {joined}) x "
            "LEFT JOIN {d} d ON d.k <=> x.ak AND d.j <=> x.ck AND coalesce(d.k, d.j) <=> x.kk",
            tables,
        )


@pytest.mark.every_case
@pytest.mark.parametrize("adaptive", [False, True])
def test_null_is_a_value_and_both_keys_are_used_above(
    spark: SparkSession, tables: dict[str, Twins], adaptive: bool
) -> None:
    """A join above a FULL join by <=> finds the matches of rows that either side has padded."""
    both = "SELECT a.k ak, c.k ck FROM {a} a FULL JOIN {c} c ON a.k <=> c.k"
    with settings(spark, SHUFFLED):
        for kind in ("LEFT", "FULL", "LEFT ANTI"):
            query = f"SELECT * FROM ({both}) x {kind} JOIN {{d}} d ON d.k <=> x.ak AND d.j <=> x.ck"
            agree(spark, query, tables, adaptive)
        agree(spark, f"SELECT ak, ck, count(*) FROM ({both}) GROUP BY ak, ck", tables, adaptive)


def test_a_key_that_is_null_for_null_still_needs_no_shuffle(
    spark: SparkSession, tables: dict[str, Twins]
) -> None:
    """A FULL join by a column, or by what is computed of it and stays NULL, shuffles only one side."""
    keys = ("c.k = a.k", "coalesce(c.k, a.k)"), ("c.k + 1 = a.k", "coalesce(c.k + 1, a.k)")
    with settings(spark, SHUFFLED):
        for on, above in keys:
            query = f"SELECT {above} AS kk, count(*) FROM {{c}} c FULL JOIN {{a}} a ON {on} GROUP BY 1"
            assert agree(spark, query, tables, adaptive=False)["Exchange"] == 1, on


def test_columns_of_a_union_that_say_nothing_of_the_other_tables_rows(
    spark: SparkSession, tables: dict[str, Twins]
) -> None:
    """A column of a UNION ALL read bucket by bucket is in buckets only if it is for all tables.

    It may be the bucket column of one table, and something else of the other.
    """
    union = "SELECT k AS x, k AS y FROM {a} UNION ALL SELECT k, 9 - k FROM {few}"
    query = f"SELECT u.x, u.y, c.v FROM ({union}) u LEFT JOIN {{c}} c ON u.x = c.k AND u.y = 9 - c.k"
    with settings(spark, {**SHUFFLED, "spark.sql.unionOutputPartitioning": False}):
        nodes = agree(spark, query, tables, adaptive=False)
        assert nodes["ZippedUnion"] == 1
        assert nodes["Exchange"] == 1
