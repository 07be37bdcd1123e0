"""With several writers and readers at once, appends all succeed, overwrites win or conflict, and readers see
one version.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier, Event
from typing import Any

import pytest
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

import parquetry

Rows = Callable[[str], list[tuple[Any, ...]]]


def at_once(*works: Callable[[], Any]) -> list[Any]:
    """Run functions in threads that start together; return what each returned or raised."""
    start = Barrier(len(works))

    def run(work: Callable[[], Any]) -> Any:
        start.wait()
        try:
            return work()
        except AnalysisException as error:
            return error

    with ThreadPoolExecutor(len(works)) as pool:
        return [future.result() for future in [pool.submit(run, work) for work in works]]


@pytest.mark.parametrize(
    "fmt", ["parquet", pytest.param("orc", marks=pytest.mark.exhaustive("the case `parquet` commits alike"))]
)
def test_appends_at_once_all_succeed(spark: SparkSession, db: str, rows: Rows, fmt: str) -> None:
    """Six appends at once, into one partition and into one each, all succeed, each its own version."""
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, p INT) USING {fmt} PARTITIONED BY (p)")
    results = at_once(
        *(
            lambda n=n: spark.sql(
                f"INSERT INTO {db}.t SELECT id + {n} * 10, p FROM range(10), VALUES (0), ({n + 1}) AS v (p)"
            )
            for n in range(6)
        )
    )
    assert not [result for result in results if isinstance(result, Exception)]
    assert rows(f"SELECT count(*), sum(id) FROM {db}.t WHERE p = 0") == [(60, sum(range(60)))]
    assert rows(f"SELECT p, count(*) FROM {db}.t WHERE p > 0 GROUP BY p ORDER BY p") == [
        (n + 1, 10) for n in range(6)
    ]
    with parquetry.open(spark.conf.get("spark.sql.catalog.lake.warehouse")) as catalog:
        assert catalog.table(f"{db}.t".removeprefix("lake.")).version == 6


def test_of_overlapping_overwrites_one_wins(spark: SparkSession, db: str, rows: Rows, tmp_path: Path) -> None:
    """After three overwrites of one table, its content is one writer's, complete.

    Each loser gets a conflict, and leaves no file.
    """
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, p INT) PARTITIONED BY (p) LOCATION '{tmp_path}/t'")
    spark.sql(f"INSERT INTO {db}.t SELECT id, cast(id % 3 AS INT) FROM range(30)")
    results = at_once(
        *(
            lambda n=n: spark.sql(f"INSERT OVERWRITE {db}.t SELECT {n}, cast(id % 3 AS INT) FROM range(9)")
            for n in range(3)
        )
    )
    lost = [result for result in results if isinstance(result, Exception)]
    for error in lost:
        assert "PARQUETRY_COMMIT_CONFLICT" in str(error)
        assert f"Table {db.removeprefix('lake.')}.t" in str(error)
        assert "nothing was written: run it again" in str(error)
    (winner, count), *others = rows(f"SELECT id, count(*) FROM {db}.t GROUP BY id")
    assert (count, others) == (9, [])
    assert not isinstance(results[winner], Exception)
    written = list((tmp_path / "t").rglob("*.parquet"))
    assert len(written) == 3 + 3 * (3 - len(lost))


@pytest.mark.parametrize("how", ["PARTITION (p = {n}) SELECT id", "REPLACE"])
def test_overwrites_of_other_partitions_do_not_meet(
    spark: SparkSession, db: str, rows: Rows, how: str
) -> None:
    """Overwrites at once of different partitions, and appends beside them, all succeed."""
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t SELECT id, cast(id % 4 AS INT) FROM range(40)")

    def work(n: int) -> None:
        if how == "REPLACE":
            spark.range(n, n + 1).selectExpr("id", f"{n} AS p").writeTo(f"{db}.t").overwritePartitions()
        else:
            spark.sql(f"INSERT OVERWRITE {db}.t {how.format(n=n)} FROM range({n}, {n + 1})")

    results = at_once(
        lambda: work(0),
        lambda: work(1),
        lambda: work(2),
        lambda: spark.sql(f"INSERT INTO {db}.t VALUES (100, 3)"),
    )
    assert not [result for result in results if isinstance(result, Exception)]
    assert rows(f"SELECT p, count(*), max(id) FROM {db}.t GROUP BY p ORDER BY p") == [
        (0, 1, 0),
        (1, 1, 1),
        (2, 1, 2),
        (3, 11, 100),
    ]


def test_an_append_into_what_is_overwritten_is_kept_or_conflicts(
    spark: SparkSession, db: str, rows: Rows
) -> None:
    """A row that is appended during an overwrite of its partition stays, unless the append came first."""
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (0, 1)")
    overwrite, append = at_once(
        lambda: spark.sql(f"INSERT OVERWRITE {db}.t PARTITION (p = 1) SELECT 1"),
        lambda: spark.sql(f"INSERT INTO {db}.t VALUES (2, 1)"),
    )
    assert not isinstance(append, Exception)
    found = rows(f"SELECT id FROM {db}.t ORDER BY id")
    if isinstance(overwrite, Exception):
        assert "PARQUETRY_COMMIT_CONFLICT" in str(overwrite)
        assert found == [(0,), (2,)]
    else:
        assert found in ([(1,), (2,)], [(1,)])


def test_readers_see_one_version(spark: SparkSession, db: str, rows: Rows) -> None:
    """While partitions are overwritten together, a reader sees all of them before or all of them after."""
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t SELECT 0, cast(id AS INT) FROM range(20)")
    done = Event()
    seen: list[list[tuple[Any, ...]]] = []

    def read() -> None:
        while not done.is_set():
            seen.append(rows(f"SELECT id, count(*), count(DISTINCT p) FROM {db}.t GROUP BY id"))

    def write() -> None:
        try:
            for n in range(1, 6):
                spark.sql(f"INSERT OVERWRITE {db}.t SELECT {n}, cast(id AS INT) FROM range(20)")
        finally:
            done.set()

    assert at_once(read, write) == [None, None]
    assert len(seen) > 2
    assert all(len(found) == 1 and found[0][1:] == (20, 20) for found in seen)
    versions = [found[0][0] for found in seen]
    assert versions == sorted(versions)


def test_a_query_planned_before_an_overwrite_still_runs(spark: SparkSession, db: str) -> None:
    """A DataFrame that was planned keeps its version, whose files are still there."""
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1)")
    planned = spark.sql(f"SELECT id + 0 AS id FROM {db}.t")
    rdd = planned.rdd
    spark.sql(f"INSERT OVERWRITE {db}.t VALUES (2, 2)")
    assert [row.id for row in rdd.collect()] == [1]


_PROCESS = """
import json, sys
from pyspark.sql import SparkSession
import parquetry
from tests.spark.concurrency.test_writers_and_readers import compete
warehouse, table = sys.argv[1:]
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
builder = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.showConsoleProgress", "false")
spark = parquetry.configure(builder, "lake", warehouse).getOrCreate()
spark.sparkContext.setLogLevel("OFF")
spark.table(table).count()
print("ready", flush=True)
sys.stdin.readline()
print(json.dumps(compete(spark, table, 2)), flush=True)
"""


def compete(spark: SparkSession, table: str, me: int) -> list[str]:
    """Append to a partition of all, overwrite one's own, and one that others overwrite; return conflicts."""
    told = []
    for n in range(5):
        spark.sql(f"INSERT INTO {table} VALUES ({100 * me + n}, 0)")
        spark.sql(f"INSERT OVERWRITE {table} PARTITION (p = {me}) SELECT {n}")
        try:
            spark.sql(f"INSERT OVERWRITE {table} PARTITION (p = 9) SELECT {me} FROM range(3)")
        except AnalysisException as error:
            told.append(str(error))
    return told


def test_two_processes(spark: SparkSession, db: str, rows: Rows, warehouse: Path) -> None:
    """Two processes append to one partition, each overwrites one, and both compete for one: no row is lost or
    doubled.
    """
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (7, 9)")
    other = subprocess.Popen(
        [sys.executable, "-c", _PROCESS, str(warehouse / "lake"), f"{db}.t"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert other.stdin is not None
    assert other.stdout is not None
    assert other.stdout.readline() == "ready\n"
    other.stdin.write("\n")
    other.stdin.flush()
    told = [compete(spark, f"{db}.t", 1), json.loads(other.communicate(timeout=600)[0])]
    assert other.returncode == 0
    assert all("PARQUETRY_COMMIT_CONFLICT" in text for texts in told for text in texts)
    assert rows(f"SELECT id FROM {db}.t WHERE p = 0 ORDER BY id") == [
        (100 * me + n,) for me in (1, 2) for n in range(5)
    ]
    assert rows(f"SELECT id, p FROM {db}.t WHERE p IN (1, 2) ORDER BY p") == [(4, 1), (4, 2)]
    (shared,) = rows(f"SELECT min(id), max(id), count(*) FROM {db}.t WHERE p = 9")
    assert shared in [(1, 1, 3), (2, 2, 3)]
    with parquetry.open(warehouse / "lake") as catalog:
        assert catalog.table(f"{db}.t".removeprefix("lake.")).version == 1 + 2 * 10 + 10 - sum(map(len, told))
