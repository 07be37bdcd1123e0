"""Random settings of a session that change how joins are planned, and no answer."""

from __future__ import annotations

import random

_SPARK = "spark.sql.sources.v2.bucketing."
_RARE = {
    f"{_SPARK}enabled": ["false"],
    f"{_SPARK}pushPartValues.enabled": ["false"],
    f"{_SPARK}shuffle.enabled": ["true"],
    f"{_SPARK}partiallyClusteredDistribution.enabled": ["true"],
    f"{_SPARK}allowCompatibleTransforms.enabled": ["false"],
    f"{_SPARK}allowKeysSubsetOfPartitionKeys.enabled": ["true"],
    f"{_SPARK}allowJoinKeysSubsetOfPartitionKeys.enabled": ["true"],
    "spark.sql.requireAllClusterKeysForCoPartition": ["true", "false"],
    "spark.sql.requireAllClusterKeysForDistribution": ["true"],
    "spark.sql.sources.bucketing.autoBucketedScan.enabled": ["false"],
    "spark.sql.join.preferSortMergeJoin": ["false"],
    "spark.sql.execution.replaceHashWithSortAgg": ["false"],
    "spark.sql.unionOutputPartitioning": ["false"],
    "spark.sql.exchange.reuse": ["false"],
}
"""Settings that a query has with one of these values, seldom."""


def random_settings(chance: random.Random) -> dict[str, str]:
    """Return the settings of a query."""
    found = {
        "spark.sql.adaptive.enabled": chance.choice(["true", "false"]),
        "spark.sql.adaptive.coalescePartitions.enabled": chance.choice(["true", "false"]),
        "spark.sql.codegen.wholeStage": "true" if chance.random() < 0.15 else "false",
        "spark.sql.autoBroadcastJoinThreshold": "10485760" if chance.random() < 0.12 else "-1",
        "spark.sql.shuffle.partitions": chance.choice(["1", "3", "4", "5", "8", "9"]),
        "parquetry.bucket-join": chance.choice(["smaller", "smaller", "larger"]),
        "parquetry.hot-bucket-rows": chance.choice(["5", "20", "1000000"]),
        "parquetry.skew-join": chance.choice(["auto", "always", "always", "off"]),
        "parquetry.runtime-pruning": chance.choice(["true", "false"]),
    }
    for name, values in _RARE.items():
        if chance.random() < 0.06:
            found[name] = chance.choice(values)
    return found
