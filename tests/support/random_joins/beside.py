"""Run random joins over mixed tables, and compare their rows with plain Spark's."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import Row, SparkSession

from tests.support.random_joins.expressions import ExpressionQuery
from tests.support.random_joins.queries import RandomQuery
from tests.support.random_joins.settings import random_settings
from tests.support.random_joins.tables import MixedTable, random_family
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import PLAINLY, settings

TABLES = 4
"""Tables of a seed."""
CORES = "spark.default.parallelism"
"""Spark's setting of how many tasks the planner counts on. It belongs to the context, not to a session."""
_SPLIT = re.compile(r"of the rows in \d+ tasks")
"""The text of a scan with a bucket that several tasks read."""


class Joined(NamedTuple):
    """A query over mixed tables.

    Attributes:
        text: the query over our tables.
        settings: of the session.
        nodes: how many nodes of each name its plan had, and scans with a `hot bucket` in several tasks.
        problem: how its rows differ from plain Spark's, or the error; empty if all is right.
    """

    text: str
    settings: dict[str, str]
    nodes: Counter[str]
    problem: str


class DrawnQuery(NamedTuple):
    """A random query.

    Attributes:
        ours: its text over our tables.
        plain: the same over Spark's own.
        settings: of the session.
        cores: how many tasks the planner counts on.
        signed: whether -0.0 and 0.0 differ in its rows: no table is in ORC.
    """

    ours: str
    plain: str
    settings: dict[str, str]
    cores: int
    signed: bool


class MixedTables:
    """The tables of a seed, and random joins of them.

    Args:
        spark: a session with the databases.
        seed: what makes tables and queries.
        expressions: whether queries join by expressions, and tables have values at the edges of calendars.
    """

    def __init__(self, spark: SparkSession, seed: int, *, expressions: bool = False) -> None:
        self._spark, self._seed, self._expressions = spark, seed, expressions
        chance = random.Random(seed)
        family = random_family(chance)
        # a bucket column alone: rows stay in buckets by expressions of all bucket columns
        self._family = family._replace(columns=family.columns[:1], edges=True) if expressions else family
        self.tables = [
            MixedTable(
                spark,
                f"mixed.{'e' if expressions else 't'}{seed}_{i}",
                chance,
                self._family,
                may_be_hot=i == 0,
            )
            for i in range(TABLES)
        ]

    def query(self, number: int) -> DrawnQuery:
        """Return the query of a number; it is the same whichever queries ran before."""
        chance = random.Random(f"{self._seed} {number}")
        made = ExpressionQuery if self._expressions else RandomQuery
        text = made(chance, self._family.columns).text()
        given = random_settings(chance)
        cores = chance.choice([2, 8])
        names = dict(zip("abc", chance.sample(self.tables, 3), strict=True))
        return DrawnQuery(
            text.format(**{letter: table.twins.table for letter, table in names.items()}),
            text.format(**{letter: table.twins.view for letter, table in names.items()}),
            given,
            cores,
            all(table.format != "orc" for table in names.values()),
        )

    def join(self, number: int) -> Joined:
        """Run the query of a number."""
        query = self.query(number)
        shown = query.settings | {CORES: str(query.cores)}
        nodes: Counter[str] = Counter()
        try:
            with settings(self._spark, PLAINLY):
                expected = texts(self._spark.sql(query.plain).collect(), signed=query.signed)
            with settings(self._spark, query.settings), planned_for_cores(self._spark, query.cores):
                frame = self._spark.sql(query.ours)
                rows, nodes = plans.run(frame)
                nodes["hot bucket"] = sum(bool(_SPLIT.search(line)) for line in plans.lines(frame))
        except (PySparkException, Py4JError) as error:
            return Joined(query.ours, shown, nodes, f"{type(error).__name__}: {str(error)[:2000]}")
        return Joined(query.ours, shown, nodes, difference(texts(rows, signed=query.signed), expected))

    def statements(self) -> str:
        """Return the statements that made the tables."""
        return "\n".join(statement for table in self.tables for statement in table.statements)


@contextmanager
def databases(spark: SparkSession) -> Iterator[None]:
    """Have a database for mixed tables, and one for Spark's own, for a while."""
    for catalog in ("lake", "spark_catalog"):
        spark.sql(f"CREATE DATABASE {catalog}.mixed")
    yield
    for catalog in ("lake", "spark_catalog"):
        spark.sql(f"DROP DATABASE {catalog}.mixed CASCADE")


@contextmanager
def planned_for_cores(spark: SparkSession, count: int) -> Iterator[None]:
    """Have queries planned for a number of cores for a while: on two, hot buckets are seldom split."""
    conf = spark.sparkContext._jsc.sc().conf()
    before = conf.get(CORES, "")
    conf.set(CORES, str(count))
    try:
        yield
    finally:
        if before:
            conf.set(CORES, before)
        else:
            conf.remove(CORES)


def texts(rows: list[Row], *, signed: bool) -> Counter[str]:
    """Return rows as texts, with NaN equal to itself, and how often each occurs.

    Args:
        rows: of a query.
        signed: whether -0.0 and 0.0 differ. In a batch of zeros, ORC's reader gives all the first one's sign.
    """
    return Counter(repr(tuple(row if signed else map(_unsigned, row))) for row in rows)


def _unsigned(value: object) -> object:
    return value + 0.0 if isinstance(value, float) else value


def difference(found: Counter[str], expected: Counter[str]) -> str:
    """Return how rows differ, or nothing."""
    more, missing = found - expected, expected - found
    if not more and not missing:
        return ""
    few = [
        f"{what} {list(rows.elements())[:3]}"
        for what, rows in (("too many:", more), ("missing:", missing))
        if rows
    ]
    return f"{found.total()} rows, and plain Spark has {expected.total()}; {'; '.join(few)}"
