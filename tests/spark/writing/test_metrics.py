"""The numbers of writes that Spark gets: rows that `observe` counts, and the numbers in its UI."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql import DataFrame, Observation, SparkSession, functions as sf

Rows = Callable[[str], list[tuple[Any, ...]]]

_WRITES: dict[str, Callable[[DataFrame, str], None]] = {
    "append": lambda frame, table: frame.writeTo(table).append(),
    "overwrite": lambda frame, table: frame.writeTo(table).overwrite(sf.col("p") == 1),
    "dynamic": lambda frame, table: frame.writeTo(table).overwritePartitions(),
    "saveAsTable": lambda frame, table: frame.write.mode("append").saveAsTable(table),
    "insertInto": lambda frame, table: frame.write.insertInto(table, overwrite=True),
    "create": lambda frame, table: frame.writeTo(f"{table}_new").partitionedBy(sf.col("p")).create(),
    "replace": lambda frame, table: frame.write.mode("overwrite").saveAsTable(table),
}


@pytest.mark.parametrize("how", [*_WRITES, "merge"])
def test_observed_rows(spark: SparkSession, db: str, rows: Rows, how: str) -> None:
    """Observed rows of a write equal the rows that the table got, counted once, as in a write to Spark's own
    table.
    """
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, p INT) USING parquet PARTITIONED BY (p)")
    observation = Observation()
    frame = spark.range(1, 101).selectExpr("id", "1 AS p").repartition(3).where("id % 10 <> 0")
    seen = frame.observe(observation, sf.count(sf.lit(1)).alias("n"), sf.max("id").alias("most"))
    if how == "merge":
        spark.sql(f"INSERT INTO {table} VALUES (1000, 1)")
        seen.createOrReplaceTempView("news")
        spark.sql(
            f"MERGE INTO {table} t USING news n ON n.id = t.id WHEN MATCHED THEN DELETE WHEN NOT MATCHED THEN INSERT *"
        )
        assert rows(f"SELECT count(*) FROM {table}") == [(91,)]
    else:
        _WRITES[how](seen, table)
        assert rows(f"SELECT count(*), max(id) FROM {table}{'_new' if how == 'create' else ''}") == [(90, 99)]
    assert observation.get == {"n": 90, "most": 99}


class _Listener:
    """Hears of queries as a `QueryExecutionListener` of Spark's does."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def onSuccess(self, name: str, _execution: Any, _duration: int) -> None:  # noqa: N802
        self.told.append(name)

    def onFailure(self, name: str, _execution: Any, _error: Any) -> None:  # noqa: N802
        self.told.append(f"{name} failed")

    class Java:
        implements = ("org.apache.spark.sql.util.QueryExecutionListener",)


def test_a_listener_is_told_of_a_write_once(spark: SparkSession, db: str) -> None:
    """A listener gets one event for each statement, as in a write to Spark's own table, and none for the
    write of its files.
    """
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, p INT) USING parquet PARTITIONED BY (p)")
    frame = spark.range(3).selectExpr("id", "cast(id AS INT) AS p")
    listener, bus = _Listener(), spark.sparkContext._jsc.sc().listenerBus()
    told = []
    bus.waitUntilEmpty()
    spark._jsparkSession.listenerManager().register(listener)
    try:
        for write in (
            lambda: spark.sql(f"INSERT INTO {db}.t SELECT id, 1 FROM range(3)"),
            lambda: frame.writeTo(f"{db}.t").append(),
            lambda: frame.write.insertInto(f"{db}.t", overwrite=True),
            lambda: frame.observe(Observation(), sf.count("id")).writeTo(f"{db}.t").append(),
            lambda: spark.sql(f"DELETE FROM {db}.t WHERE id = 1 AND p = 1"),
            lambda: spark.sql(f"UPDATE {db}.t SET id = id + 1 WHERE id IN (SELECT max(id) FROM {db}.t)"),
            lambda: spark.sql(
                f"MERGE INTO {db}.t USING (SELECT 9 AS k) s ON id = k WHEN NOT MATCHED THEN INSERT (id, p) VALUES (k, k)"
            ),
        ):
            listener.told.clear()
            write()
            bus.waitUntilEmpty()
            told.append(len(listener.told))
    finally:
        spark._jsparkSession.listenerManager().unregister(listener)
    assert told == [1, 1, 1, 1, 1, 1, 1]


def test_numbers_in_the_ui(spark: SparkSession, db: str, rows: Rows) -> None:
    """INSERT, observed or not, and statements on rows show the files, bytes, rows and partitions that the
    metastore lists.
    """
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id BIGINT, p INT) USING parquet PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} SELECT id, id % 3 FROM range(90)")
    shown = _last_numbers(spark)
    ((files, size),) = rows(f"SELECT count(*), sum(bytes) FROM {table}.files")
    assert shown == {"files": files, "rows": 90, "partitions": 3, "bytes": size}
    spark.range(5).selectExpr("id", "7 AS p").observe(Observation(), sf.count("id")).writeTo(table).append()
    shown = _last_numbers(spark)
    ((size,),) = rows(f"SELECT sum(bytes) FROM {table}.files WHERE p = 7")
    assert shown == {"files": 1, "rows": 5, "partitions": 1, "bytes": size}
    spark.sql(f"UPDATE {table} SET id = -id WHERE p = 7 AND id = 3")
    assert {**_last_numbers(spark), "bytes": 0} == {"files": 1, "rows": 5, "partitions": 1, "bytes": 0}


def _last_numbers(spark: SparkSession) -> dict[str, int]:
    """Return what the UI shows as written by the statement that ended last and wrote something."""
    spark._jsparkSession.sparkContext().listenerBus().waitUntilEmpty()
    store = spark._jsparkSession.sharedState().statusStore()
    executions = store.executionsList()
    for place in reversed(range(executions.size())):
        execution = executions.apply(place)
        values, metrics = store.executionMetrics(execution.executionId()), execution.metrics()
        found = {}
        for position in range(metrics.size()):
            metric = metrics.apply(position)
            value = values.get(metric.accumulatorId())
            if (named := re.fullmatch(r"(\w+) written", metric.name())) and value.isDefined():
                found[named[1]] = int(re.sub(r"\D", "", value.get().split("(")[0]))
        if found:
            return found
    return {}
