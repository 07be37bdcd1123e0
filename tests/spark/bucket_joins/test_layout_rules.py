"""Rules about the layout of rows change nothing when they run again. A plan that is made anew has no layout
of the old one. That a derived layout holds for the rows is checked by random joins, audited.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from parquetry.spark.configuration import BRIDGE_PACKAGE
from tests.support.effort import STEP
from tests.support.random_joins.beside import MixedTables, databases, planned_for_cores
from tests.support.tables.bucketed_tables import settings, spare_classes

ADAPTIVE = "spark.sql.adaptive.enabled"
QUERIES = range(60) if STEP == 1 else (2, 11, 28, 31, 47)
CHOSEN_ANEW = 28
"""A query whose stages chose other numbers of buckets each time, and so never ended."""


@pytest.fixture(scope="module")
def mixed(spark: SparkSession) -> Iterator[MixedTables]:
    """Tables in buckets of several numbers, hashes and orders, some in part only."""
    spare_classes(spark)
    with databases(spark):
        yield MixedTables(spark, seed=2)


def test_rules_change_nothing_again(spark: SparkSession, mixed: MixedTables) -> None:
    """The rule that decides about buckets, and the last look, leave a plan that they have made."""
    bridge = getattr(spark._jvm, BRIDGE_PACKAGE)
    changed = 0
    for number in QUERIES:
        query = mixed.query(number)
        given = query.settings | {ADAPTIVE: "false"}
        with settings(spark, given), planned_for_cores(spark, query.cores):
            execution = spark.sql(query.ours)._jdf.queryExecution()
            optimized, planned = execution.optimizedPlan(), execution.executedPlan()
            assert bridge.buckets.JoinInBuckets.apply(optimized).fastEquals(optimized), query
            assert bridge.rowlayout.CheckLayouts.apply(planned).fastEquals(planned), query
            changed += "InBuckets" in optimized.toString() or "hot" in planned.toString()
    assert changed


def test_stages_keep_the_chosen_buckets(mixed: MixedTables) -> None:
    """A query that adaptive execution plans anew ends, with the right rows."""
    joined = mixed.join(CHOSEN_ANEW)
    assert joined.settings[ADAPTIVE] == "true"
    assert not joined.problem
