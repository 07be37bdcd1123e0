"""Settings of a session. A case may change any of them between two statements."""

from __future__ import annotations

SETTINGS: dict[str, list[str]] = {
    "spark.sql.adaptive.enabled": ["true", "false"],
    "spark.sql.ansi.enabled": ["true", "false"],
    "spark.sql.autoBroadcastJoinThreshold": ["10485760", "-1"],
    "spark.sql.session.timeZone": ["UTC", "UTC", "America/New_York", "Asia/Kolkata"],
    "spark.sql.shuffle.partitions": ["1", "3"],
    "spark.sql.sources.v2.bucketing.partiallyClusteredDistribution.enabled": ["false", "false", "true"],
    "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled": ["true", "true", "false"],
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": ["true", "true", "false"],
    "spark.sql.parquet.enableVectorizedReader": ["true", "true", "true", "false"],
    "spark.sql.orc.enableVectorizedReader": ["true", "true", "true", "false"],
    "spark.sql.files.maxPartitionBytes": ["134217728", "2000"],
    # to compile the code of queries that run once takes longer than anything else
    "spark.sql.codegen.wholeStage": ["false", "false", "false", "true"],
    "spark.sql.codegen.factoryMode": ["NO_CODEGEN", "NO_CODEGEN", "NO_CODEGEN", "FALLBACK"],
    "parquetry.bucket-join": ["smaller", "larger"],
    "parquetry.skew-join": ["auto", "always", "off"],
    "parquetry.hot-bucket-rows": ["1000000", "1"],
    "parquetry.runtime-pruning": ["true", "true", "true", "false"],
    "parquetry.native-scans": ["auto", "on"],
    "parquetry.auto-compact": ["false", "false", "true"],
    "parquetry.auto-compact-min-files": ["2", "50"],
}
"""Settings that change how a query runs, and the choices of each."""
