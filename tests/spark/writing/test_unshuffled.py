"""If no clause says which rows belong together, a write shuffles none, keeps their order, and makes few files
of few rows.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, functions as sf

import parquetry
from tests.support.tables.data_files import rows_of

pytestmark = [
    pytest.mark.core,
    pytest.mark.unaudited("the audit runs queries of its own, whose plans count, too"),
]

Rows = Callable[[str], list[tuple[Any, ...]]]
MANY = "SELECT id, id / 7.0D AS v, sha1(cast(id AS STRING)) AS s FROM range(0, 200000, 1, 4)"
"""Some megabytes in four tasks, in order."""
FEW = "SELECT id, id / 7.0D AS v, sha1(cast(id AS STRING)) AS s FROM range(0, 900, 1, 9)"
COLUMNS = "id BIGINT, v DOUBLE, s STRING"


def files_of(spark: SparkSession, name: str) -> list[Any]:
    """Return a table's files as the metastore lists them, in key order."""
    with parquetry.open(spark.conf.get("spark.sql.catalog.lake.warehouse")) as catalog:
        return list(catalog.files(name.removeprefix("lake.")))


def exchanges_and_sorts(spark: SparkSession, write: Callable[[], object]) -> tuple[int, int]:
    """Return how many exchanges and sorts were planned for the rows of a write."""
    bus, store = spark.sparkContext._jsc.sc().listenerBus(), spark._jsparkSession.sharedState().statusStore()
    bus.waitUntilEmpty()
    before = store.executionsCount()
    write()
    bus.waitUntilEmpty()
    new = store.executionsList(before, 20)
    assert new.size() > 0
    trees = [new.apply(i).physicalPlanDescription().split("== Initial Plan ==")[0] for i in range(new.size())]
    found = [(len(re.findall(r"\bExchange \(", t)), len(re.findall(r"\bSort \(", t))) for t in trees]
    return max(number for number, _ in found), max(number for _, number in found)


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
def test_order_is_kept(spark: SparkSession, db: str, rows: Rows, fmt: str) -> None:
    """Each of the query's tasks writes its rows in their order: no exchange is planned, and a filter prunes
    three files of four.
    """
    spark.sql(f"CREATE TABLE {db}.t ({COLUMNS}) USING {fmt}")
    assert exchanges_and_sorts(spark, lambda: spark.sql(f"INSERT INTO {db}.t {MANY}")) == (0, 0)
    files = files_of(spark, f"{db}.t")
    bounds = sorted((file.statistics["id"].min, file.statistics["id"].max) for file in files)
    assert bounds == [(i * 50_000, (i + 1) * 50_000 - 1) for i in range(4)]
    for file in files:
        found = [row["id"] for row in rows_of(file.path, "id")]
        assert found == sorted(found)
    frame = spark.sql(f"SELECT sum(id) FROM {db}.t WHERE id < 1000")
    assert frame.collect()[0][0] == 499_500
    assert [
        (step.kept, step.of) for step in parquetry.report(frame).scans[0].steps if step.name == "files"
    ] == [(1, 4)]
    assert rows(f"SELECT count(*), sum(id) FROM {db}.t") == [(200_000, 19_999_900_000)]


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_few_rows_make_one_file(spark: SparkSession, db: str, adaptive: str) -> None:
    """Nine tasks with some kilobytes together make one file, in their order, without an exchange."""
    spark.sql(f"CREATE TABLE {db}.t ({COLUMNS})")
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        assert exchanges_and_sorts(spark, lambda: spark.sql(f"INSERT INTO {db}.t {FEW}")) == (0, 0)
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    (file,) = files_of(spark, f"{db}.t")
    assert [row["id"] for row in rows_of(file.path, "id")] == list(range(900))
    values = ", ".join(f"({i}, {i}D, 'x')" for i in range(10))
    assert exchanges_and_sorts(spark, lambda: spark.sql(f"INSERT INTO {db}.t VALUES {values}")) == (0, 0)
    assert sorted(file.rows for file in files_of(spark, f"{db}.t")) == [10, 900]


def test_tasks_are_merged_as_far_as_they_are_small(spark: SparkSession, db: str) -> None:
    """If 40 tasks have about five megabytes together, tasks with consecutive rows are merged until each
    writes about one megabyte.
    """
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT)")
    spark.sql(f"INSERT INTO {db}.t SELECT id FROM range(0, 600000, 1, 40)")  # 4.8 MB
    bounds = sorted((f.statistics["id"].min, f.statistics["id"].max) for f in files_of(spark, f"{db}.t"))
    assert len(bounds) == 5
    assert all(left[1] + 1 == right[0] for left, right in itertools.pairwise(bounds))


def of_a_function(spark: SparkSession) -> DataFrame:
    """Return rows of a function of the user's, which may take any time."""
    return spark.range(0, 90, 1, 9).select(sf.udf(lambda i: i, "bigint")("id").alias("id"))


def exploded(spark: SparkSession) -> DataFrame:
    """Return rows whose number is unknown at planning."""
    return spark.range(0, 9, 1, 9).select(sf.explode(sf.sequence(sf.lit(1), sf.lit(10))).alias("id"))


def sampled(spark: SparkSession) -> DataFrame:
    """Return a few of many rows, which must all be computed."""
    return spark.range(0, 4_000_000, 1, 9).sample(0.0001, 7)


def cached(spark: SparkSession) -> DataFrame:
    """Return rows that are to be kept, which may have to be made."""
    return spark.range(0, 90, 1, 9).cache()


def repartitioned(spark: SparkSession) -> DataFrame:
    """Return rows in as many tasks as the query says."""
    return spark.range(0, 90, 1, 2).repartition(9)


@pytest.mark.parametrize("make", [of_a_function, exploded, sampled, cached, repartitioned])
def test_tasks_stay_where_bytes_do_not_tell_their_work(
    spark: SparkSession, db: str, make: Callable[[SparkSession], DataFrame]
) -> None:
    """No task of nine takes the work of others if it may be much,
    or if the query gives the number of tasks.
    """
    spark.sql(f"CREATE TABLE {db}.t (id BIGINT)")
    frame = make(spark)
    try:
        frame.writeTo(f"{db}.t").append()
    finally:
        frame.unpersist()
    assert len(files_of(spark, f"{db}.t")) == 9


@pytest.fixture
def partitioned(spark: SparkSession, db: str) -> str:
    """A table with two partition columns."""
    spark.sql(f"CREATE TABLE {db}.p ({COLUMNS}, day DATE, k STRING) PARTITIONED BY (day, k)")
    return f"{db}.p"


ONE = "PARTITION (day = DATE '2026-01-01', k = 'a')"


@pytest.mark.parametrize("statement", ["INSERT INTO", "INSERT OVERWRITE"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (MANY, [50_000] * 4),
        (FEW, [900]),
        (f"{FEW} UNION ALL {FEW}", [1800]),
        ("VALUES (1, 2D, 'x')", [1]),
        ("SELECT 1, 2D, 'x'", [1]),
    ],
    ids=["many", "few", "union", "values", "a row"],
)  # fmt: skip
def test_a_partition_that_is_named_needs_no_shuffle(
    spark: SparkSession, partitioned: str, statement: str, query: str, expected: list[int]
) -> None:
    """Rows of one partition, which the statement names, are neither shuffled nor sorted."""
    write = exchanges_and_sorts(spark, lambda: spark.sql(f"{statement} {partitioned} {ONE} {query}"))
    assert write == (0, 0)
    files = files_of(spark, partitioned)
    assert [file.rows for file in files] == expected
    assert {(str(file.partition["day"]), file.partition["k"]) for file in files} == {("2026-01-01", "a")}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (f"SELECT *, DATE '2026-01-01', 'a' FROM ({FEW})", 0),
        (f"SELECT *, DATE '2026-01-01', '' FROM ({FEW})", 0),
        (f"SELECT *, NULL, NULL FROM ({FEW})", 0),
        (f"SELECT max(id), 1D, 'x', DATE '2026-01-01', 'a' FROM ({FEW}) GROUP BY s", 1),
        (f"SELECT max(id), 1D, 'x', DATE '2026-01-01', cast(count(*) AS STRING) FROM ({FEW}) GROUP BY id < 9", 2),
        (f"SELECT *, DATE '2026-01-01', if(id < 5, 'a', 'b') FROM ({FEW})", 1),
        (f"SELECT *, DATE '2026-01-01', concat('a', cast(floor(rand() * 3) AS INT)) FROM ({FEW})", 1),
        (f"SELECT *, DATE '2026-01-01', 'a' FROM ({FEW}) UNION ALL SELECT *, DATE '2026-01-01', 'b' FROM ({FEW})", 1),
        ("VALUES (1, 2D, 'x', DATE '2026-01-01', 'a'), (1, 2D, 'x', DATE '2026-01-01', 'a')", 0),
        ("VALUES (1, 2D, 'x', DATE '2026-01-01', 'a'), (1, 2D, 'x', DATE '2026-01-01', 'b')", 1),
    ],
)  # fmt: skip
def test_a_query_says_whether_its_rows_are_of_one_partition(
    spark: SparkSession, partitioned: str, query: str, expected: int
) -> None:
    """Constants are one partition, in any clause; rows of several partitions are shuffled once, and make one
    file for each.
    """
    assert exchanges_and_sorts(spark, lambda: spark.sql(f"INSERT INTO {partitioned} {query}"))[0] == expected
    files = files_of(spark, partitioned)
    assert len(files) == len({tuple(file.partition.values()) for file in files})
    assert sum(file.rows for file in files) == spark.sql(query).count()


def test_one_partition_that_is_sorted_is_shuffled(spark: SparkSession, partitioned: str) -> None:
    """With sort-by, the rows of a partition that is named come together, and its files are in order."""
    spark.sql(f"ALTER TABLE {partitioned} SET TBLPROPERTIES ('sort-by' = 's')")
    assert exchanges_and_sorts(spark, lambda: spark.sql(f"INSERT OVERWRITE {partitioned} {ONE} {MANY}")) == (
        1,
        1,
    )
    (file,) = files_of(spark, partitioned)
    found = [row["s"] for row in rows_of(file.path, "s")]
    assert found == sorted(found)


@pytest.fixture
def changed(spark: SparkSession, db: str) -> str:
    """A table without partitions, of nine files."""
    spark.sql(f"CREATE TABLE {db}.c (id BIGINT) TBLPROPERTIES ('distribution' = 'none')")
    spark.range(0, 90, 1, 9).writeTo(f"{db}.c").append()
    spark.sql(f"ALTER TABLE {db}.c UNSET TBLPROPERTIES ('distribution')")
    return f"{db}.c"


def test_files_that_are_written_anew_are_gathered(spark: SparkSession, changed: str, rows: Rows) -> None:
    """UPDATE and compact, which read many small files, make one of them."""
    spark.sql(f"UPDATE {changed} SET id = id + 1 WHERE id < 45")
    assert sorted(file.rows for file in files_of(spark, changed)) == [10, 10, 10, 10, 50]
    spark.sql(f"CALL lake.system.compact(table => '{changed.removeprefix('lake.')}')")
    assert [file.rows for file in files_of(spark, changed)] == [90]
    assert rows(f"SELECT sum(id) FROM {changed}") == [(90 * 89 // 2 + 45,)]


def test_a_batch_of_a_stream_is_gathered(spark: SparkSession, db: str, tmp_path: Path) -> None:
    """A batch of nine small tasks makes one file."""
    spark.range(0, 90, 1, 9).write.parquet(str(tmp_path / "in"))
    spark.sql(f"CREATE TABLE {db}.s (id BIGINT)")
    stream = spark.readStream.schema("id BIGINT").option("latestFirst", "false").parquet(str(tmp_path / "in"))
    options = {"checkpointLocation": str(tmp_path / "checkpoint")}
    query = stream.repartition(9).writeStream.options(**options).trigger(availableNow=True).toTable(f"{db}.s")
    query.awaitTermination()
    assert [file.rows for file in files_of(spark, f"{db}.s")] == [90]
