"""No plan is nested more deeply for more data: statements on large tables end, with Spark's default stack and
2 GB of memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from pyspark.sql import SparkSession, functions as sf

from parquetry import metastore as ms
from parquetry.layout import ArrangementSpec, BucketSpec, SkewMap, SortColumn
from parquetry.planner import Destinations
from parquetry.spark.write.slots import RowSlots
from tests.support.effort import STEP

WHOLE = STEP == 1
"""Whether statements run in their full sizes, as in `make test-all`."""
PARTITIONS = 5_000
HEAVY_VALUES = 1_000 if WHOLE else 100
"""A table can name 1,000 at most."""
COLUMNS = 3_000 if WHOLE else 300
VERSIONS = 500 if WHOLE else 30
LITERALS = 20_000 if WHOLE else 2_000
COMPARISONS = 5_000 if WHOLE else 800
"""Spark generates code for each comparison that is no list. Queries of its own tables end without memory at
20,000 ranges.
"""

Run: TypeAlias = Callable[..., list[tuple[Any, ...]]]


@pytest.fixture
def run(spark: SparkSession, db: str) -> Iterator[Run]:
    """Run statements in a database, and return the rows of the last one."""

    def statements(*texts: str) -> list[tuple[Any, ...]]:
        return [list(map(tuple, spark.sql(text).collect())) for text in texts][-1]

    spark.sql(f"USE {db}")
    yield statements
    spark.catalog.setCurrentCatalog("spark_catalog")


def listed(texts: Iterator[str], word: str = ",") -> str:
    return f" {word} ".join(texts)


def test_slots_of_many_partitions(spark: SparkSession, db: str, store: ms.Metastore) -> None:
    """Partitions with heavy values of their own, half of them sorted in another way, need a short condition
    for the order of rows.
    """
    spark.sql(f"CREATE TABLE {db}.t (j BIGINT, i INT) PARTITIONED BY (i)")
    snapshot = store.table(db.partition(".")[2], "t")
    buckets = BucketSpec(("j",), 2), BucketSpec(("j",), 2, sort=(SortColumn("j", True),))
    own = {
        snapshot.key_of((i,)): ArrangementSpec(SkewMap(("j",), ((i,),), directories=True), buckets[i % 2])
        for i in range(PARTITIONS)
    }
    slots = RowSlots(snapshot, Destinations(None, own))
    rows = spark.range(100).select((sf.col("id") % 7 + 1).alias(slots.column), sf.col("id").alias("j"))
    order = slots.order(light_sorted=True)
    assert sum(len(str(each)) for each in order) < 1000
    in_order = rows.coalesce(1).sortWithinPartitions(sf.col(f"`{slots.column}`"), *order).collect()
    assert [row.j for row in in_order if row[0] == 1] == list(range(0, 100, 7))


@pytest.mark.exhaustive("test_slots_of_many_partitions shows the order of their rows")
def test_heavy_values_of_many_partitions(run: Run, db: str) -> None:
    """Tables whose partitions find heavy values of their own are written, read and changed."""
    total = PARTITIONS * (PARTITIONS - 1) // 2
    rows = f"SELECT id AS i, id % 1000 AS j FROM range({PARTITIONS})"
    run(
        "CREATE TABLE t USING parquet PARTITIONED BY (i) SKEWED BY (j) ON AUTO "
        f"TBLPROPERTIES ('list-bucketing-rules' = 'relaxed') AS {rows}",
        f"INSERT INTO t {rows}",
        "UPDATE t SET j = 7 WHERE j = 5",
        "DELETE FROM t WHERE j + 1 = 9",
        f"CALL lake.system.compact(table => '{db.partition('.')[2]}.t')",
    )
    assert run("SELECT count(*) FROM t WHERE j = 7") == [(PARTITIONS // 1000 * 4,)]
    run(f"INSERT OVERWRITE t {rows}")
    assert run("SELECT count(*), sum(i), count(DISTINCT j) FROM t") == [(PARTITIONS, total, 1000)]


@pytest.mark.exhaustive("test_slots_of_many_partitions and others show each statement on fewer partitions")
def test_many_partitions(spark: SparkSession, db: str, run: Run) -> None:
    """Statements on 5,000 partitions end, and so do their joins, time travel and overwrites."""
    run(
        f"CREATE TABLE t USING parquet PARTITIONED BY (p) AS SELECT id, id % 7 AS v, int(id) AS p FROM range({PARTITIONS})"
    )
    ((loaded,),) = run(f"SELECT max(version) FROM {db}.t.history")
    run(
        "UPDATE t SET v = 9 WHERE p % 2 = 0",
        "DELETE FROM t WHERE p % 5 = 1",
        "DELETE FROM t WHERE v = 3",
        "MERGE INTO t USING t s ON t.p = s.p AND t.id = s.id WHEN MATCHED THEN UPDATE SET v = s.v + 1",
    )
    kept = sum(1 for i in range(PARTITIONS) if i % 5 != 1 and not (i % 2 == 1 and i % 7 == 3))
    assert run("SELECT count(*) FROM t") == [(kept,)]
    assert run("SELECT count(*) FROM t a JOIN t b ON a.p = b.p WHERE b.p % 100 = 50") == [
        (PARTITIONS // 100,)
    ]
    assert run(f"SELECT count(*) FROM t VERSION AS OF {loaded}") == [(PARTITIONS,)]
    run(f"INSERT OVERWRITE t SELECT id, 1, int(id) FROM range({PARTITIONS})")
    spark.conf.set("spark.sql.sources.partitionOverwriteMode", "dynamic")
    try:
        run(f"INSERT OVERWRITE t SELECT id, 2, int(id) FROM range({PARTITIONS})")
    finally:
        spark.conf.unset("spark.sql.sources.partitionOverwriteMode")
    assert run("SELECT count(*), sum(v) FROM t") == [(PARTITIONS, 2 * PARTITIONS)]


def test_many_heavy_values(run: Run) -> None:
    """Tables with a directory for each of many values are written, read and changed; so are tuples."""
    values = listed(map(str, range(HEAVY_VALUES)))
    rows = f"SELECT id % {HEAVY_VALUES + 10} AS x, id AS v, 1 AS p FROM range({HEAVY_VALUES + 20})"
    run(
        f"CREATE TABLE t USING parquet PARTITIONED BY (p) SKEWED BY (x) ON ({values}) STORED AS DIRECTORIES "
        f"TBLPROPERTIES ('list-bucketing-rules' = 'relaxed') AS {rows}",
        "UPDATE t SET v = -1 WHERE x = 7",
        "DELETE FROM t WHERE x IN (1, 2, 3)",
        "MERGE INTO t USING (SELECT 5L AS x) s ON t.x = s.x WHEN MATCHED THEN UPDATE SET v = -1",
        f"INSERT OVERWRITE t {rows}",
    )
    assert run("SELECT count(*) FROM t WHERE x + 1 = 5 OR upper(string(x)) = '8'") == [(4,)]
    assert run("SELECT count(*) FROM t a JOIN t b ON a.x = b.x WHERE b.v = 50") == [(1,)]
    tuples = listed(f"({i}, 'a{i}')" for i in range(HEAVY_VALUES))
    run(
        f"CREATE TABLE u (x BIGINT, y STRING) USING parquet SKEWED BY (x, y) ON ({tuples})",
        f"INSERT INTO u SELECT id, concat('a', id) FROM range({HEAVY_VALUES})",
    )
    assert run("SELECT count(*) FROM u a JOIN u b ON a.x = b.x AND a.y = b.y") == [(HEAVY_VALUES,)]


def test_many_columns(run: Run) -> None:
    """Wide tables are made, written, read and changed, with a condition on each column."""
    names = [f"c{i}" for i in range(COLUMNS)]
    run(
        f"CREATE TABLE t (id BIGINT, {listed(f'{name} BIGINT' for name in names)}, p INT) PARTITIONED BY (p)",
        f"INSERT INTO t SELECT id, {listed(f'id + {i}' for i in range(COLUMNS))}, id % 2 FROM range(10)",
        "UPDATE t SET c0 = 5 WHERE id = 3",
        "DELETE FROM t WHERE id = 4",
        "MERGE INTO t USING (SELECT * FROM t WHERE id = 5) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *",
    )
    # Spark adds IS NOT NULL for each column, one within another: with 500, queries of its own tables overflow
    some = [f"{name} >= 0" for name in names[:300]]
    assert run(f"SELECT count(*) FROM t WHERE {listed(some, 'AND')}") == [(9,)]
    assert run(f"SELECT count(*) FROM t WHERE {listed((f'{name} = 3' for name in names), 'OR')}") == [(3,)]


def test_many_versions(spark: SparkSession, db: str, run: Run, tmp_path: Path) -> None:
    """Time travel, the history and a stream from the first version end after many versions."""
    run("CREATE TABLE t (id INT, p INT) PARTITIONED BY (p)")
    for number in range(VERSIONS):
        run(f"INSERT INTO t VALUES ({number}, {number % 5})")
    ((newest, count),) = run(f"SELECT max(version), count(*) FROM {db}.t.history")
    assert count >= VERSIONS
    assert run(f"SELECT count(*) FROM t VERSION AS OF {newest - 3}") == [(VERSIONS - 3,)]
    stream = spark.readStream.option("startingVersion", "1").table("t").writeStream.trigger(availableNow=True)
    stream.option("checkpointLocation", str(tmp_path)).toTable("copy").awaitTermination()
    assert run("SELECT count(*) FROM copy") == [(VERSIONS,)]


def _pair(number: int, column: str) -> str:
    return f"({number * 2}{'' if column == 'p' else 'L'}, {number * 2 % 4})"


CONDITIONS = {
    "a list": lambda column: f"{column} IN ({listed(str(i * 2) for i in range(LITERALS))})",
    "equalities": lambda column: listed((f"{column} = {i * 2}" for i in range(LITERALS)), "OR"),
    "inequalities": lambda column: listed((f"{column} <> {i * 2 + 1}" for i in range(LITERALS)), "AND"),
    "pairs": lambda column: listed((f"({column} = {i * 2} AND p >= 0)" for i in range(COMPARISONS)), "OR"),
    "ranges": lambda column: listed(
        (f"{column} BETWEEN {i * 4} AND {i * 4}" for i in range(COMPARISONS)), "OR"
    ),
    # Spark widens no value within a tuple
    "tuples": lambda column: f"({column}, p) IN ({listed(_pair(i, column) for i in range(LITERALS))})",
}


@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("column", ["id", "p", "v + 0"])
def test_many_literals(run: Run, condition: str, column: str) -> None:
    """SELECT, a join, DELETE, UPDATE and MERGE end with conditions of many literals."""
    where = CONDITIONS[condition](column)
    run(
        "CREATE TABLE t (id BIGINT, v BIGINT, p INT) PARTITIONED BY (p)",
        "INSERT INTO t SELECT id, id, id % 4 FROM range(40)",
    )
    matching = run(f"SELECT id FROM t WHERE {where} ORDER BY id")
    assert run(
        f"SELECT count(*) FROM t a JOIN t b ON a.id = b.id WHERE a.v >= 0 AND b.id IN (SELECT id FROM t WHERE {where})"
    ) == [(len(matching),)]
    run(f"UPDATE t SET v = v + 100 WHERE {where}")
    assert run("SELECT id FROM t WHERE v >= 100 ORDER BY id") == matching
    run(f"DELETE FROM t WHERE {where.replace('v + 0', 'id + 0')} AND v >= 100")
    assert run("SELECT count(*) FROM t") == [(40 - len(matching),)]
