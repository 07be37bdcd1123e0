"""Joins in buckets whose plan changes while it runs: adaptive execution finds a side empty, and plans the
rest anew over rows that it has shuffled already.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

from tests.support.tables.bucketed_tables import Twins, agree, local_view, make, settings, spare_classes

pytestmark = pytest.mark.core

BUCKETS = 4


def rows(count: int, keys: int) -> list[tuple[Any, ...]]:
    """Return rows whose columns `k` and `j` say different things of a bucket."""
    return [(n % keys, n % 13, n) for n in range(count)]


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[dict[str, Twins]]:
    """`whole` is in buckets, `part` has a partition that is not, and `more` has none."""
    spare_classes(spark)
    spark.sql("CREATE NAMESPACE lake.changing")
    columns, clause = "k int, j int, v int", f"(k) INTO {BUCKETS} BUCKETS"
    made = {
        "whole": make(spark, "lake.changing.whole", columns, clause, rows(400, 50)),
        "more": make(spark, "lake.changing.more", columns, "(v) INTO 1 BUCKETS", rows(200, 50)),
        "part": make(
            spark,
            "lake.changing.part",
            f"{columns}, p int",
            clause,
            [(*row, 0) for row in rows(300, 50)],
            partitioned="p",
        ),
    }
    table, view = made["part"]
    spark.sql(f"ALTER TABLE {table} NOT CLUSTERED")
    spark.sql(f"INSERT INTO {table} SELECT k, j, v, 1 FROM {made['whole'].view} WHERE v < 40")
    spark.sql(f"ALTER TABLE {table} CLUSTERED BY {clause}")
    local_view(spark.table(table), view)
    yield made
    spark.sql("DROP NAMESPACE lake.changing CASCADE")


@pytest.mark.every_case
@pytest.mark.parametrize("first", ["whole", "part", "union"])
def test_a_side_is_found_empty(spark: SparkSession, tables: dict[str, Twins], first: str) -> None:
    """Rows that were shuffled for a join that falls away are not taken for rows in their buckets, and none is
    read twice. There are as many partitions as buckets, so nothing else would tell.
    """
    source = "(SELECT * FROM {whole} UNION ALL SELECT * FROM {whole})" if first == "union" else f"{{{first}}}"
    changed = {
        "spark.sql.adaptive.enabled": True,
        "spark.sql.autoBroadcastJoinThreshold": -1,
        "spark.sql.shuffle.partitions": BUCKETS,
        "spark.sql.adaptive.coalescePartitions.enabled": False,
        "parquetry.runtime-pruning": False,
    }
    with settings(spark, changed):
        for kind in ("LEFT JOIN", "LEFT ANTI JOIN", "FULL JOIN", "JOIN"):
            for remainder in (9, 3):  # with the first, no row is left, and only the run tells
                query = (
                    f"SELECT count(*), sum(l.v), sum(m.v) FROM {source} l {kind} "
                    f"(SELECT * FROM {{more}} WHERE v % 7 = {remainder}) r ON l.j = r.j JOIN {{more}} m ON l.k = m.k"
                )
                agree(spark, query, tables)
