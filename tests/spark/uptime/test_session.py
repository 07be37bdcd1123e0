"""A session that runs for months: what it has done leaves nothing behind in its processes and its store."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.support.growth import (
    growth,
    heap,
    java_threads,
    print_table,
    process_counts,
    process_memory,
    store_counts,
)
from tests.support.open_files import open_files_left

STATEMENTS_PER_ROUND = 15
STREAM_EVERY = 5
"""Rounds: a stream takes as long as ten other statements."""


def one_round(spark: SparkSession, db: str, number: int, checkpoint: Path) -> None:
    """Make a table, run statements of each kind on it and on a table that stays, and drop it."""
    t, kept = f"{db}.t{number}", f"{db}.kept"

    def sql(*statements: str) -> None:
        for statement in statements:
            spark.sql(statement).collect()

    sql(
        f"CREATE TABLE {t} (id BIGINT, v BIGINT, p INT) PARTITIONED BY (p)",
        f"INSERT INTO {t} SELECT id, id * 2, id % 2 FROM range(20)",
        f"UPDATE {t} SET v = v + 1 WHERE id = {number % 20}",
        f"SELECT sum(v) FROM {t} WHERE p = 1 AND id > 3",
        f"SELECT a.p, sum(a.v) FROM {kept} a JOIN {t} b ON a.id = b.id WHERE b.p = 1 GROUP BY a.p",
        f"DELETE FROM {t} WHERE id = 3",
        f"SELECT count(*) FROM {t} a JOIN {kept} b ON a.id = b.id AND a.p = b.p WHERE b.v < {number % 7 + 2}",
        f"MERGE INTO {t} USING (SELECT id FROM {kept} WHERE p = 0) s ON {t}.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = 0 WHEN NOT MATCHED THEN INSERT (id, v, p) VALUES (s.id, 1, 1)",
        f"ALTER TABLE {t} SET TBLPROPERTIES ('note' = '{number}')",
        f"UPDATE {t} SET p = 2 WHERE p = 1",
        f"CREATE VIEW {db}.v AS SELECT id FROM {t}",
        f"SELECT count(*) FROM {db}.v",
        f"DROP VIEW {db}.v",
        f"DELETE FROM {t} WHERE p = 0",
    )
    if number % STREAM_EVERY == 0:
        stream = spark.readStream.table(t).writeStream.trigger(availableNow=True)
        stream.option("checkpointLocation", str(checkpoint / str(number))).toTable(
            t + "_copy"
        ).awaitTermination()
        sql(f"DROP TABLE {t}_copy")
    sql(f"DROP TABLE {t}")


def soak(
    spark: SparkSession, db: str, warehouse: Path, folder: Path, rounds: int, *, memory: bool
) -> dict[str, tuple[int, int]]:
    """Run rounds of statements. Return what has grown after the first tenth of them.

    Args:
        spark: the session.
        db: a database.
        warehouse: of the database.
        folder: for checkpoints of streams.
        rounds: number of them.
        memory: whether the memory of both processes counts.
    """
    jvm = spark.sparkContext._jvm
    assert jvm is not None
    java = psutil.Process(int(jvm.java.lang.ProcessHandle.current().pid()))

    def counts() -> dict[str, int]:
        of_java = process_counts(java, "JVM") | java_threads(jvm)
        found = process_counts(psutil.Process(), "Python") | of_java | store_counts(warehouse)
        if memory:
            found |= process_memory(psutil.Process(), "Python") | heap(jvm)
        return found

    spark.sql(f"CREATE TABLE {db}.kept (id BIGINT, v BIGINT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.kept SELECT id, id * 2, id % 2 FROM range(10)")
    tenth = max(STREAM_EVERY + 1, rounds // 10)
    moments = {0: counts()}
    for number in range(1, rounds + 1):
        one_round(spark, db, number - 1, folder)
        if number in {tenth, rounds // 4, rounds // 2, rounds}:
            moments[number * STATEMENTS_PER_ROUND] = counts()
    print_table("statements", moments)
    return growth(moments[tenth * STATEMENTS_PER_ROUND], moments[rounds * STATEMENTS_PER_ROUND])


def test_nothing_grows(spark: SparkSession, db: str, warehouse: Path, tmp_path: Path) -> None:
    """After 300 statements, a session has as many threads, open files, connections and rows as after 90."""
    rounds = 300 // STATEMENTS_PER_ROUND
    assert soak(spark, db, warehouse / "lake", tmp_path, rounds, memory=False) == {}


@pytest.mark.exhaustive("test_nothing_grows runs 300 statements")
def test_nothing_grows_in_an_hour(spark: SparkSession, db: str, warehouse: Path, tmp_path: Path) -> None:
    """After 10,000 statements, a session has what it had after 1,000, and no more memory is in use."""
    rounds = 10_000 // STATEMENTS_PER_ROUND
    assert soak(spark, db, warehouse / "lake", tmp_path, rounds, memory=True) == {}


def test_at_the_limit_of_open_files(spark: SparkSession, db: str) -> None:
    """A statement that needs a file more than the process may open fails within seconds, and the error names
    the limit. Later ones succeed.
    """
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, n INT)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 0)")
    done, errors = 0, []
    for left in (0, 1, 2, 4):
        began = time.monotonic()
        try:
            with open_files_left(left):
                spark.sql(f"UPDATE {db}.t SET n = n + 1 WHERE id = 1")
            done += 1
        except PySparkException as error:
            errors.append(error)
        assert time.monotonic() - began < 60
    assert errors
    assert {error.getCondition() for error in errors} <= {
        "PARQUETRY_OPEN_FILES",
        "PARQUETRY_PLANNER_UNREACHABLE",
    }
    assert all("ulimit -n 65536" in str(error) for error in errors)
    spark.sql(f"UPDATE {db}.t SET n = n + 1 WHERE id = 1")
    assert spark.sql(f"SELECT n FROM {db}.t").collect() == [(done + 1,)]
