"""Values that the metastore knows narrow a scan after Spark has learned the buckets of its relation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

Rows = Callable[[str], list[tuple[Any, ...]]]


def claimed(frame: DataFrame, table: str) -> list[str]:
    """Return the buckets that each relation of a table claims in the optimized plan."""
    leaves = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    found = map(leaves.apply, range(leaves.size()))
    return [
        leaf.keyGroupedPartitioning().toString() for leaf in found if leaf.relation().table().name() == table
    ]


@pytest.mark.every_case
@pytest.mark.parametrize("now", ["CLUSTERED BY (j) INTO 4 BUCKETS", "NOT CLUSTERED"])
def test_a_relation_loses_buckets_that_its_files_are_not_in(
    spark: SparkSession, db: str, rows: Rows, now: str
) -> None:
    """All files are in buckets by `k`, and the table has got others since. A join's known values leave no
    file, so the scan is in the buckets of the table as it is: the relation no longer claims those by `k`.
    """
    spark.sql(
        f"CREATE TABLE {db}.f (k INT, j INT, p INT) USING parquet PARTITIONED BY (p) CLUSTERED BY (k) INTO 4 BUCKETS"
    )
    spark.sql(f"INSERT INTO {db}.f SELECT id, id % 7, id % 2 FROM range(40)")
    spark.sql(f"ALTER TABLE {db}.f {now}")
    spark.sql(f"CREATE TABLE {db}.u (k INT) USING parquet CLUSTERED BY (k) INTO 4 BUCKETS")
    spark.sql(f"INSERT INTO {db}.u SELECT id FROM range(30)")
    spark.sql(f"CREATE TABLE {db}.d (c INT, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.d VALUES (1, 9)")
    query = (
        f"SELECT /*+ MERGE(f, u) */ count(f.k), count(u.k) FROM (SELECT f.* FROM {db}.f f JOIN {db}.d d ON f.p = d.p) f "
        f"FULL JOIN {db}.u u ON f.k = u.k"
    )
    assert rows(query) == [(0, 30)]
    assert claimed(spark.sql(query), f"{db}.f") == ["None"]
