"""A scan opens partitions by keys and files by statistics, reads the requested columns, and reports its size
to Spark.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import parquetry

pytestmark = pytest.mark.core

Rows = Callable[[str], list[tuple[Any, ...]]]


@contextmanager
def settings(spark: SparkSession, **values: str) -> Iterator[None]:
    """Set session settings, dots written as underscores after `spark_sql`, and take them back."""
    names = {key.replace("__", "."): value for key, value in values.items()}
    for name, value in names.items():
        spark.conf.set(name, value)
    try:
        yield
    finally:
        for name in names:
            spark.conf.unset(name)


def step(query: DataFrame | str, name: str, scan: int = 0) -> tuple[int, int]:
    """Return kept and of."""
    found = parquetry.explain(query).to_dict()["scans"][scan]["steps"]
    return next((s["kept"], s["of"]) for s in found if s["name"] == name)


def plan(frame: DataFrame) -> str:
    return str(frame._jdf.queryExecution().executedPlan().toString())


@pytest.fixture(scope="module", params=["parquet", "orc"])
def table(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    """A table of 6 partitions (days 0 to 4 and NULL) and 12 files: two inserts, of ids below 60
    and from 60.
    """
    spark.sql(f"CREATE NAMESPACE lake.scans_{request.param}")
    name = f"lake.scans_{request.param}.t"
    spark.sql(
        f"CREATE TABLE {name} (id int, v double, s string, wide struct<a: int, b: string, c: struct<d: int, e: string>>,"
        f" day int) USING {request.param} PARTITIONED BY (day)"
    )
    for low in (0, 60):
        spark.sql(
            f"INSERT INTO {name} SELECT CAST(id AS INT), id * 1.5, concat('s', id), named_struct('a', CAST(id AS INT),"
            " 'b', repeat(uuid(), 20), 'c', named_struct('d', CAST(-id AS INT), 'e', repeat(uuid(), 20))),"
            f" nullif(CAST(id % 6 AS INT), 5) FROM range({low}, {low + 60}, 1, 1)"
        )
    yield name
    spark.sql(f"DROP NAMESPACE lake.scans_{request.param} CASCADE")


@pytest.mark.parametrize(
    ("where", "partitions", "files", "count"),
    [
        ("day = 3", 1, 2, 20),
        ("day IN (1, 2, 99)", 2, 4, 40),
        ("day > 2", 2, 4, 40),
        ("day IS NULL", 1, 2, 20),
        ("day <=> NULL", 1, 2, 20),
        ("day IS NOT NULL", 5, 10, 100),
        ("NOT (day IN (0, 1))", 3, 6, 60),
        ("day = 1 OR day IS NULL", 2, 4, 40),
        ("day = 99", 0, 0, 0),
        ("id < 60", 6, 6, 60),
        ("day = 1 AND id >= 60", 1, 1, 10),
        ("day = 1 OR id = 0", 6, 3, 21),
        ("s = 's7'", 6, 4, 1),
        ("id IS NULL", 6, 0, 0),
        ("hash(id) = 3 OR day = 2", 6, 12, 20),
        ("day % 2 = 1 AND day < 3", 1, 2, 20),
        ("wide.a = 5 AND day = 4", 1, 1, 0),
    ],
)
def test_conditions_open_these_partitions_and_files_only(
    spark: SparkSession, table: str, where: str, partitions: int, files: int, count: int
) -> None:
    """Conditions on keys select partitions, conditions on data columns select files by statistics, and the
    rows are right.
    """
    query = f"SELECT id, v, s, wide.a FROM {table} WHERE {where}"
    assert step(query, "partitions") == (partitions, 6)
    kept, of = step(query, "files")
    assert of == 2 * partitions
    if "'s" not in where:
        assert kept == files
    assert kept <= of
    rows = spark.sql(query).collect()
    assert len(rows) == count
    assert all(row.v == row.id * 1.5 and row.s == f"s{row.id}" and row.a == row.id for row in rows)


def test_only_the_columns_asked_for_are_read(spark: SparkSession, table: str) -> None:
    """The requested schema has only the necessary columns and nested fields, and the counted bytes are
    theirs.
    """
    every = step(f"SELECT * FROM {table}", "bytes")
    assert every[0] == every[1] > 0
    one = step(f"SELECT sum(id) FROM {table}", "bytes")
    assert one[1] == every[1]
    assert 0 < one[0] < every[0] / 20
    assert step(f"SELECT day FROM {table}", "bytes") == (0, every[1])
    frame = spark.sql(f"SELECT wide.c.d, day FROM {table} WHERE wide.a > 3")
    scans = frame._jdf.queryExecution().optimizedPlan().collectLeaves()
    schema = json.loads(scans.head().scan().readSchema().json())
    wide, day = schema["fields"]
    assert day["name"] == "day"
    assert [(f["name"], f["type"]) for f in wide["type"]["fields"] if f["name"] == "a"] == [("a", "integer")]
    (inner,) = [f for f in wide["type"]["fields"] if f["name"] == "c"]
    assert [f["name"] for f in inner["type"]["fields"]] == ["d"]
    assert [f["name"] for f in wide["type"]["fields"]] == ["a", "c"]
    assert sorted(frame.collect(), key=str) == sorted(
        [(-i, None if i % 6 == 5 else i % 6) for i in range(4, 120)], key=str
    ) or {tuple(row) for row in frame.collect()} == {
        (-i, None if i % 6 == 5 else i % 6) for i in range(4, 120)
    }


def test_a_pruned_table_is_broadcast(spark: SparkSession, db: str) -> None:
    """Spark gets the size after pruning: if two tables are too large to broadcast, the one pruned to a day is
    broadcast.
    """
    for name in ("big", "other"):
        spark.sql(f"CREATE TABLE {db}.{name} (k int, s string, day int) PARTITIONED BY (day)")
        spark.sql(
            f"INSERT INTO {db}.{name} SELECT CAST(id AS INT), uuid(), CAST(id % 10 AS INT) FROM range(10000)"
        )
    with settings(spark, spark__sql__autoBroadcastJoinThreshold="100000"):
        joined = f"SELECT count(a.s), count(b.s) FROM {db}.big a JOIN {db}.other b ON a.k = b.k"
        assert "SortMergeJoin" in plan(spark.sql(joined))
        pruned = spark.sql(f"{joined} WHERE b.day = 3")
        assert "BroadcastHashJoin" in plan(pruned)
        assert pruned.first() == (1000, 1000)
        scan = spark.sql(f"SELECT s FROM {db}.other WHERE day = 3")._jdf.queryExecution().optimizedPlan()
        kept = step(f"SELECT s FROM {db}.other WHERE day = 3", "bytes")[0]
        statistics = scan.collectLeaves().head().stats()
        assert int(str(statistics.sizeInBytes())) == kept


def test_the_cost_based_optimizer_broadcasts_what_it_broadcasts_of_other_files(
    spark: SparkSession, db: str
) -> None:
    """Spark's cost-based optimizer broadcasts all small sides of a chain of joins, and shuffles nothing. With
    a row count, and without statistics of the keys, it would take each join for a product of its sides.
    """
    tables = {
        "sales": "id % 1000 AS item, id % 10000 AS customer, id AS paid FROM range(100000)",
        "item": "id AS i, CAST(id % 10 AS STRING) AS category FROM range(1000)",
        "customer": "id AS c, id % 5000 AS address FROM range(10000)",
        "address": "id AS a, CAST(id % 50 AS STRING) AS city FROM range(5000)",
    }
    for name, rows in tables.items():
        spark.sql(f"CREATE TABLE {db}.{name} AS SELECT {rows}")
    query = spark.sql(
        f"SELECT count(*) FROM {db}.sales JOIN {db}.customer ON customer = c JOIN {db}.address ON address = a "
        f"JOIN {db}.item ON item = i WHERE category = '7' AND city = '7'"
    )
    with settings(spark, spark__sql__cbo__enabled="true", spark__sql__cbo__joinReorder__enabled="true"):
        text = plan(query)
        assert text.count("BroadcastHashJoin") >= 3  # subqueries for runtime values have some more
        assert text.count("SortMergeJoin") == text.count("Exchange hashpartitioning") == 0
        assert query.first() == (2000,)


def test_columns_that_take_no_bytes_are_no_empty_table(spark: SparkSession, db: str) -> None:
    """A scan of partition columns alone still has a size, so that Spark does not broadcast many rows."""
    spark.sql(f"CREATE TABLE {db}.t (k int, day int) PARTITIONED BY (day)")
    spark.sql(f"INSERT INTO {db}.t SELECT CAST(id AS INT), 1 FROM range(1000)")
    leaf = spark.sql(f"SELECT day FROM {db}.t")._jdf.queryExecution().optimizedPlan().collectLeaves().head()
    assert int(str(leaf.stats().sizeInBytes())) == 1000


def test_a_table_that_compresses_well_is_broadcast(spark: SparkSession, db: str) -> None:
    """Spark takes the bytes of its own tables' files for their size, and joins ours as it joins those."""
    rows = "SELECT id % 7 AS k, id % 3 AS v FROM range(200000)"
    for table in (f"{db}.t", "spark_catalog.default.compressed"):
        spark.sql(f"CREATE TABLE {table} USING parquet AS {rows}")
    try:
        with settings(spark, spark__sql__autoBroadcastJoinThreshold="400000"):
            for table in (f"{db}.t", "spark_catalog.default.compressed"):
                joined = spark.sql(
                    f"SELECT count(*) FROM {table} a JOIN {table} b USING (k) WHERE a.v + b.v = 0"
                )
                assert "SortMergeJoin" not in plan(joined)
    finally:
        spark.sql("DROP TABLE spark_catalog.default.compressed")


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_big_files_are_split_and_small_ones_packed(spark: SparkSession, db: str, file_format: str) -> None:
    """`spark.sql.files.maxPartitionBytes` and related settings split scans into tasks, and no row is read
    twice.
    """
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id bigint, s string, p int) USING {file_format} PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} SELECT id, uuid(), 0 FROM range(0, 20000, 1, 1)")
    (size,) = [f.bytes for f in spark_files(spark, table)]
    with settings(
        spark, spark__sql__files__maxPartitionBytes=str(size // 4 + 1), spark__sql__files__openCostInBytes="0"
    ):
        frame = spark.table(table)
        assert frame.rdd.getNumPartitions() == 4
        assert sorted(row.id for row in frame.select("id").collect()) == list(range(20000))
    spark.sql(f"INSERT INTO {table} SELECT id, 'x', CAST(id AS INT) + 1 FROM range(0, 12, 1, 1)")
    small = f"SELECT * FROM {table} WHERE p > 0"
    assert step(small, "files") == (12, 12)
    with settings(
        spark,
        spark__sql__files__maxPartitionBytes="4000000",
        spark__sql__files__openCostInBytes="1000000",
        spark__sql__files__minPartitionNum="1",
    ):
        # a file counts as its few bytes when it is added, and as one open cost more after that: four fit
        assert spark.sql(small).rdd.getNumPartitions() == 3
    assert spark.sql(small).rdd.getNumPartitions() < 12


def spark_files(spark: SparkSession, table: str) -> list[Any]:
    warehouse = spark.conf.get("spark.sql.catalog.lake.warehouse")
    return list(parquetry.open(str(warehouse)).files(table.removeprefix("lake.")))


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_a_broadcast_dimension_prunes_partitions_while_running(
    spark: SparkSession, db: str, file_format: str, adaptive: str
) -> None:
    """Runtime values of a join keep the partitions of these values, with and without a NULL among them."""
    spark.sql(
        f"CREATE TABLE {db}.fact (v int, `the day` date, r string) USING {file_format} PARTITIONED BY (`the day`, r)"
    )
    spark.sql(
        f"INSERT INTO {db}.fact SELECT CAST(id AS INT), date_add(DATE'2024-01-01', CAST(id % 10 AS INT)),"
        " nullif(concat('r', id % 2), 'r7') FROM range(200)"
    )
    spark.sql(f"INSERT INTO {db}.fact VALUES (-1, NULL, NULL)")
    spark.sql(f"CREATE TABLE {db}.dim (d date, name string) USING {file_format}")
    spark.sql(
        f"INSERT INTO {db}.dim SELECT date_add(DATE'2024-01-01', CAST(id AS INT)), concat('n', id % 4) FROM range(40)"
    )
    spark.sql(f"INSERT INTO {db}.dim VALUES (NULL, 'n1')")
    with settings(spark, spark__sql__adaptive__enabled=adaptive):
        frame = spark.sql(
            f"SELECT sum(v), count(*) FROM {db}.fact f JOIN {db}.dim d ON f.`the day` = d.d WHERE name = 'n1'"
        )
        assert step(frame, "partitions") == (10, 11)  # a join keeps no NULL
        days = [i for i in range(200) if i % 10 in (1, 5, 9)]
        assert frame.collect() == [(sum(days), len(days))]
        report = parquetry.report(frame).to_dict()["scans"]
        fact = next(scan for scan in report if scan["table"] == f"{db}.fact")
        partitions = fact["steps"][0]
        assert (partitions["kept"], partitions["of"]) == (3, 11)
        assert any("the day` IN" in by for by in partitions["by"])
        assert "run-time values `the day` IN" in str(parquetry.report(frame))
        assert not any("dynamicpruning" in note["condition"] for note in partitions["not_by"])


def test_files_without_statistics_are_read(spark: SparkSession, db: str, tmp_path: Path) -> None:
    """Files with truncated bounds, or none at all, are kept where their rows may answer."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    place = tmp_path / "p=1"
    place.mkdir()
    long = "k" * 3000
    pq.write_table(
        pa.table({"s": [long + "a", long + "z"], "n": pa.array([1, 9], pa.int32())}), place / "cut.parquet"
    )
    none = pa.table({"s": ["k", None], "n": pa.array([5, 6], pa.int32())})
    pq.write_table(none, place / "none.parquet", write_statistics=False)
    spark.sql(f"CREATE TABLE {db}.t (s string, n int, p int) PARTITIONED BY (p) LOCATION '{tmp_path}'")
    spark.sql(f"MSCK REPAIR TABLE {db}.t")
    for where, files, count in (
        (f"s = '{long}z'", 2, 1), (f"s > '{long}y'", 2, 1), ("s < 'k'", 1, 0), ("s = 'k'", 1, 1), ("n = 5", 2, 1),
        ("n > 9", 1, 0), ("s IS NULL", 1, 1), ("n IS NULL", 1, 0),
    ):  # fmt: skip
        assert step(f"SELECT s, n FROM {db}.t WHERE {where}", "files") == (files, 2), where
        assert spark.sql(f"SELECT s, n FROM {db}.t WHERE {where}").count() == count, where
    # neither tells whether its bounds are values
    assert "BatchScan" in plan(spark.sql(f"SELECT max(s) FROM {db}.t"))
    assert spark.sql(f"SELECT max(s), min(n), max(n), count(s) FROM {db}.t").first() == (long + "z", 1, 9, 3)


def test_padded_text_is_compared_as_spark_does(spark: SparkSession, db: str, rows: Rows) -> None:
    """A column of type char is not pruned by the bytes of its values, which Spark pads."""
    spark.sql(f"CREATE TABLE {db}.t (s string, c char(3), p char(2)) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES ('A', 'a', 'x')")
    spark.sql(f"INSERT INTO {db}.t VALUES ('a', 'ab', 'y')")
    assert rows(f"SELECT s FROM {db}.t WHERE c = 'a'") == [("A",)]
    assert rows(f"SELECT s, p FROM {db}.t WHERE p = 'x'") == [("A", "x ")]
    assert rows(f"SELECT max(c), min(s) FROM {db}.t") == [("ab ", "A")]


def test_odd_names_are_read(spark: SparkSession, db: str, rows: Rows) -> None:
    """Columns with dots, spaces, backticks and other scripts are pruned by, projected and counted."""
    table = f"{db}.`a table.é`"
    spark.sql(
        f"CREATE TABLE {table} (`a.b` int, `c ``d` struct<`e.f`: int, g: int>, `Größe` int, `p.q` int)"
        " PARTITIONED BY (`Größe`, `p.q`)"
    )
    spark.sql(
        f"INSERT INTO {table} SELECT 1, named_struct('e.f', 2, 'g', 3), 4, 5 UNION ALL SELECT 10, NULL, 40, 50"
    )
    where = "`a.b` < 5 AND `größe` = 4 AND `p.q` IN (5, 6)"
    assert rows(f"SELECT `c ``d`.`e.f`, `A.B`, `p.q` FROM {table} WHERE {where} AND `c ``d`.`e.f` = 2") == [
        (2, 1, 5)
    ]
    assert rows(f"SELECT max(`a.b`), max(`p.q`) FROM {table}") == [(10, 50)]
    assert step(f"SELECT `a.b` FROM {table} WHERE {where}", "partitions") == (1, 2)
    assert step(f"SELECT `Größe` FROM {table} WHERE `a.b` > 5", "files") == (1, 2)


def test_a_table_replaced_while_a_query_is_held_is_read_as_it_was(spark: SparkSession, db: str) -> None:
    """A query plans one version: what is inserted after its analysis is not half seen."""
    spark.sql(f"CREATE TABLE {db}.t (id int, p int) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1), (2, 2)")
    frame = spark.table(f"{db}.t").where("p > 0")
    plan(frame)
    spark.sql(f"INSERT OVERWRITE {db}.t VALUES (7, 7)")
    assert sorted(row.id for row in frame.collect()) == [1, 2]
    assert [row.id for row in spark.table(f"{db}.t").collect()] == [7]


def test_reads_with_different_options_are_different_scans(spark: SparkSession, table: str) -> None:
    """Spark reuses the result of one scan for an equal scan: one with the same options, however often it is
    made.
    """

    def scan(**options: str) -> Any:
        node = spark.read.options(**options).table(table).where("id > 5")._jdf.queryExecution().sparkPlan()
        while node.children().size():
            node = node.children().head()
        return node.scan()

    assert scan(mergeSchema="true").equals(scan(mergeSchema="true"))
    assert scan().equals(scan())
    assert not scan(mergeSchema="true").equals(scan())


@pytest.mark.needs("scan merging")
def test_subqueries_of_one_condition_are_read_once(spark: SparkSession, table: str) -> None:
    """Subqueries that differ only in their columns share a scan with their condition, and each answer is
    right.
    """
    where = f"FROM {table} WHERE day = 3 AND id >= 60"
    asked = ", ".join(f"(SELECT {value} {where})" for value in ("sum(id)", "max(v)", "count(s)"))
    frame = spark.sql(f"SELECT {asked}")
    assert [tuple(row) for row in frame.collect()] == [(900, 175.5, 10)]
    (scan,) = parquetry.report(frame).to_dict()["scans"]
    assert [(step["kept"], step["of"]) for step in scan["steps"] if step["name"] != "bytes"] == [
        (1, 6),
        (1, 2),
    ]


def _broadcasts(spark: SparkSession, query: str) -> int:
    """Return how many broadcasts a query makes: their numbers ascend."""
    before = spark.sparkContext.broadcast(0)._jbroadcast.id()  # type: ignore[attr-defined]
    spark.sql(query).collect()
    return int(spark.sparkContext.broadcast(0)._jbroadcast.id() - before - 1)  # type: ignore[attr-defined]


@pytest.mark.unaudited("an audit sends what it compares")
def test_settings_are_sent_to_readers_once(spark: SparkSession, db: str) -> None:
    """Scans of any columns and tables use the settings that were sent before, until one of them changes."""
    for table in ("t", "u"):
        spark.sql(f"CREATE TABLE {db}.{table} USING parquet AS SELECT id, id % 3 AS k FROM range(9)")
    tasks = 1  # of the only stage, a broadcast, too
    spark.sql(f"SELECT id FROM {db}.t").collect()
    assert _broadcasts(spark, f"SELECT k FROM {db}.t") == tasks
    assert _broadcasts(spark, f"SELECT id FROM {db}.u WHERE k > 0") == tasks
    hadoop = spark.sparkContext._jsc.hadoopConfiguration()  # type: ignore[union-attr]
    hadoop.set("parquetry.test", "1")
    try:
        assert _broadcasts(spark, f"SELECT k FROM {db}.u") == tasks + 1
        assert _broadcasts(spark, f"SELECT k FROM {db}.t") == tasks
        with settings(spark, any__setting="1"):
            assert _broadcasts(spark, f"SELECT k FROM {db}.u") == tasks + 1
    finally:
        hadoop.unset("parquetry.test")
    assert _broadcasts(spark, f"SELECT k FROM {db}.u") == tasks  # the settings of before were kept
