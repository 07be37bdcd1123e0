"""Settings of Spark's that the documents name, each turned on once where no test of its feature does it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

Rows = Callable[[str], list[tuple[Any, ...]]]


def test_without_group_filters_all_files_are_rewritten_that_the_condition_leaves(
    spark: SparkSession, db: str, rows: Rows
) -> None:
    """rowLevelOperationGroupFilter turned off: statements change the same rows, and rewrite more files."""
    setting = "spark.sql.optimizer.runtime.rowLevelOperationGroupFilter.enabled"
    found = {}
    for value in ("true", "false"):
        name = f"{db}.t_{value}"
        spark.sql(f"CREATE TABLE {name} (id INT, v INT) USING parquet")
        for first in (0, 10, 20):
            spark.sql(f"INSERT INTO {name} SELECT int(id), 0 FROM range({first}, {first + 30}, 3, 1)")
        spark.conf.set(setting, value)
        try:
            spark.sql(f"UPDATE {name} SET v = 1 WHERE id IN (SELECT int(id) FROM range(21, 22))")
            spark.sql(
                f"MERGE INTO {name} t USING (SELECT 10 AS id) s ON t.id = s.id WHEN MATCHED THEN DELETE"
            )
        finally:
            spark.conf.unset(setting)
        rewritten = rows(
            f"SELECT regexp_extract(summary, 'files rewritten[^0-9]*([0-9]+)', 1) FROM {name}.history "
            "WHERE operation IN ('update', 'merge')"
        )
        found[value] = (sorted(rows(f"SELECT * FROM {name}")), sorted(rewritten))
    assert found["true"][0] == found["false"][0]
    assert found["true"][1] < found["false"][1]
