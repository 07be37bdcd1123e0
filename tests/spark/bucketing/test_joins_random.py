"""Random joins of random bucketed tables return the rows that Python computes, and shuffle only
if they must.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import pytest
from pyspark.sql import SparkSession

from tests.support.effort import STEP
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import make, settings, spare_classes

CASES, TABLES = (500, 18) if STEP == 1 else (20, 8)
COLUMNS = "k bigint, j int, s string"
NAMES = ("k", "j", "s")
JOINS = ("INNER", "LEFT", "RIGHT", "FULL", "LEFT SEMI", "LEFT ANTI")
Record = tuple[Any, ...]


class Table(NamedTuple):
    """A table's name, what its rows are spread by, and these."""

    name: str
    by: tuple[str, ...]
    count: int
    version: str
    rows: list[Record]


def drawn(chance: random.Random, number: int) -> tuple[str, tuple[str, ...], int, str, str, list[Record]]:
    """Return what a table is to be: its clause, columns, number of buckets, version, format and rows."""
    by = chance.choice([("k",), ("k",), ("j",), ("s",), ("k", "j"), ("j", "k"), ("s", "k")])
    count = chance.choice([1, 2, 3, 4, 4, 6, 8, 12])
    order = chance.sample(NAMES, chance.randint(0, 2)) if chance.random() < 0.5 else list(by)
    sort = f"SORTED BY ({', '.join(order)})" if order else ""
    clause = f"({', '.join(by)}) {sort} INTO {count} BUCKETS"
    rows = [
        (
            chance.choice([None, *range(-6, 12)]),
            chance.choice([None, *range(4)]),
            chance.choice([None, "", "a", "b", "é"]),
        )
        for _ in range(chance.choice([0, 3, 25, 40]) if number else 30)
    ]
    return clause, by, count, chance.choice(["1", "2", "2", "spark"]), chance.choice(["parquet", "orc"]), rows


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[list[Table]]:
    """Tables of all sorts."""
    chance = random.Random(7)
    spare_classes(spark)
    spark.sql("CREATE NAMESPACE lake.random")
    made = []
    for number in range(TABLES):
        clause, by, count, version, format, rows = drawn(chance, number)
        name = f"lake.random.t{number}"
        make(spark, name, COLUMNS, clause, rows, version=version, format=format)
        made.append(Table(name, by, count, version, rows))
    with settings(spark, {"spark.sql.autoBroadcastJoinThreshold": -1}):
        yield made
    spark.sql("DROP NAMESPACE lake.random CASCADE")


def joined(join: str, left: Sequence[Record], right: Sequence[Record], on: Sequence[str]) -> list[Record]:
    """Return the rows of a join, found one by one."""
    places = [NAMES.index(name) for name in on]

    def meet(one: Record, other: Record) -> bool:
        return all(one[p] is not None and one[p] == other[p] for p in places)

    nothing = (None,) * len(NAMES)
    pairs = [(a, [b for b in right if meet(a, b)]) for a in left]
    if join == "LEFT SEMI":
        return [a for a, met in pairs if met]
    if join == "LEFT ANTI":
        return [a for a, met in pairs if not met]
    found = [a + b for a, met in pairs for b in met]
    if join in ("LEFT", "FULL"):
        found += [a + nothing for a, met in pairs if not met]
    if join in ("RIGHT", "FULL"):
        found += [nothing + b for b in right if not any(meet(a, b) for a in left)]
    return found


def meets_in_buckets(left: Table, right: Table, on: Sequence[str]) -> bool:
    """Return whether joined rows are in the same buckets of both tables, after folding if the
    counts differ.
    """
    return (
        (left.by, left.version) == (right.by, right.version)
        and set(left.by) <= set(on)
        and (left.count == right.count or math.gcd(left.count, right.count) > 1)
    )


def test_random_joins(spark: SparkSession, tables: list[Table]) -> None:
    """Joins of each type, on any columns, in the smaller or larger number of buckets, return the right rows.

    Adaptive execution is on or off.
    """
    chance = random.Random(11)
    met = 0
    for case in range(CASES):
        left, right = chance.choice(tables), chance.choice(tables)
        if chance.random() < 0.6:  # else most pairs would have nothing in common
            right = chance.choice([t for t in tables if (t.by, t.version) == (left.by, left.version)])
        on = chance.sample(NAMES, chance.randint(1, 3))
        if chance.random() < 0.6:
            on = list(dict.fromkeys([*on, *left.by]))
        join = chance.choice(JOINS)
        condition = " AND ".join(f"l.{name} = r.{name}" for name in on)
        query = f"SELECT * FROM {left.name} l {join} JOIN {right.name} r ON {condition}"
        with settings(
            spark,
            {
                "spark.sql.adaptive.enabled": chance.random() < 0.5,
                "parquetry.bucket-join": chance.choice(["smaller", "larger"]),
            },
        ):
            found, nodes = plans.run(spark.sql(query))
        label = (case, query, left[1:4], right[1:4])
        assert plans.comparable(found) == sorted(joined(join, left.rows, right.rows, on), key=repr), label
        together = meets_in_buckets(left, right, on)
        met += together
        if together:
            assert nodes["Exchange"] == 0, label
        elif found and left.rows and right.rows:  # a join of no rows may be gone from the plan
            assert nodes["Exchange"] > 0, label
    assert met > CASES // 5
