"""Zeros of both signs and NaN: no row is lost to row groups, dictionaries, file statistics or caches."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.effort import sampled

_CONDITIONS = (
    "f = 0.0", "f = -0.0D", "f >= 0.0", "f > -0.0D", "f <= 0.0", "f <= -0.0D", "f < 0.0", "f <=> 0.0", "f IN (0.0)",
    "f IN (-0.0D, 7.5)", "f IN (CAST('NaN' AS DOUBLE))", "f NOT IN (0.0)", "NOT (f = 0.0)", "NOT (f > 0.0)",
    "NOT (f >= 0.0)", "NOT (f < 0.0)", "NOT (f <=> 0.0)", "f <> 0.0", "f BETWEEN -0.0D AND 0.0", "f > 5", "f >= 1e30",
    "f = CAST('NaN' AS DOUBLE)", "f < CAST('NaN' AS DOUBLE)", "f <= CAST('NaN' AS DOUBLE)", "NOT (f <= 5)", "f = 1.5",
    "f > 5 OR id = 3", "f = 0.0 OR f > 5", "f = 0.0 AND id < 500", "f IS NULL", "f IS NOT NULL",
)  # fmt: skip


@pytest.fixture(scope="module", params=["parquet", "orc"])
def tables(request: pytest.FixtureRequest, spark: SparkSession) -> Iterator[str]:
    """Tables `float` and `double` of small row groups: one kind of special value in each run of 2100 rows."""
    db = f"lake.floats_{request.param}"
    spark.sql(f"CREATE NAMESPACE {db}")
    values = "CASE id DIV 2100 WHEN 0 THEN '-0.0' WHEN 1 THEN '0.0' WHEN 2 THEN 'NaN' WHEN 3 THEN '1.5' WHEN 4 THEN NULL"
    mixed = "ELSE element_at(array('-0.0', '0.0', 'NaN', '-2', '7.5', NULL), CAST(id % 6 + 1 AS INT)) END"
    for kind in ("float", "double"):
        spark.sql(
            f"CREATE TABLE {db}.{kind} (id int, f {kind}) USING {request.param} TBLPROPERTIES ("
            "'parquet.block.size' = '64', 'parquet.page.size' = '64', 'parquet.block.size.row.check.min' = '10', "
            "'parquet.page.size.row.check.min' = '10', 'orc.stripe.size' = '64', 'orc.stripe.row.count' = '100', "
            "'orc.rows.between.memory.checks' = '1')"
        )
        # one file of all, and one of each
        spark.sql(
            f"INSERT INTO {db}.{kind} SELECT CAST(id AS INT), CAST({values} {mixed} AS {kind}) FROM range(0, 11500, 1, 1)"
        )
        for n in range(4):
            rows = f"range({n * 2100}, {n * 2100 + 10}, 1, 1)"
            spark.sql(
                f"INSERT INTO {db}.{kind} SELECT CAST(id + 20000 AS INT), CAST({values} {mixed} AS {kind}) FROM {rows}"
            )
    yield db
    spark.sql(f"DROP NAMESPACE {db} CASCADE")


def _asked(*case: str) -> list[str]:
    """Return conditions for a case: one that finds zeros of both signs, one that finds NaN, and others."""
    return list(dict.fromkeys(["f = 0.0", "f > 5", *sampled(_CONDITIONS, *case)]))


def _answers(spark: SparkSession, table: str, asked: list[str]) -> list[tuple[int, int | None]]:
    """Return number and sum of the ids that each condition leaves: one scan for each condition."""
    union = " UNION ALL ".join(f"SELECT {n} AS n, id FROM {table} WHERE {c}" for n, c in enumerate(asked))
    counted = spark.sql(f"SELECT n, count(id), sum(id) FROM ({union}) GROUP BY n").collect()
    found = {n: (count, total) for n, count, total in counted}
    return [found.get(n, (0, None)) for n in range(len(asked))]


def _evaluated(spark: SparkSession, table: str, asked: list[str]) -> list[tuple[int, int | None]]:
    """Return the number and the sum of the ids that satisfy each condition, evaluated on every row."""
    counts = ", ".join(f"count_if({c}), sum(CASE WHEN {c} THEN id END)" for c in asked)
    row = spark.sql(f"SELECT {counts} FROM {table}").collect()[0]
    return [(row[2 * n], row[2 * n + 1]) for n in range(len(asked))]


@pytest.mark.parametrize("kind", ["float", "double"])
def test_zeros_and_nan_are_found_under_every_operator(spark: SparkSession, tables: str, kind: str) -> None:
    """-0.0 equals 0.0, and NaN is greater than all numbers, over row groups, dictionaries and files, of both
    widths.
    """
    asked = _asked(tables, kind)
    expected = _evaluated(spark, f"{tables}.{kind}", asked)
    assert expected[0][0] > 4200  # zeros of both signs
    assert expected[1][0] > 2100  # NaN and 7.5
    found = _answers(spark, f"{tables}.{kind}", asked)
    assert [asked[n] for n in range(len(expected)) if found[n] != expected[n]] == []


def test_the_row_groups_are_many(spark: SparkSession, tables: str, warehouse: object) -> None:
    """The file of the other tests has several row groups, so that wrong pruning would show."""
    import pyarrow.orc
    import pyarrow.parquet

    import parquetry

    found = parquetry.open(f"{warehouse}/lake").files(f"{tables.removeprefix('lake.')}.double")
    largest = max(found, key=lambda file: file.rows or 0).path.removeprefix("file:")
    if tables.endswith("orc"):
        assert pyarrow.orc.ORCFile(largest).nstripes > 3
    else:
        assert pyarrow.parquet.ParquetFile(largest).num_row_groups > 3


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_a_cache_loses_no_nan(spark: SparkSession, tables: str, adaptive: str) -> None:
    """Conditions on a cached table find NaN and both zeros, with adaptive execution and without."""
    table = f"{tables}.double"
    asked = _asked(tables, adaptive)
    expected = _evaluated(spark, table, asked)
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    spark.conf.set("spark.sql.inMemoryColumnarStorage.batchSize", "100")
    try:
        spark.sql(f"CACHE TABLE floats_cached AS SELECT * FROM {table}")
        assert _answers(spark, "floats_cached", asked) == expected
        frame = spark.table(table).cache()
        assert frame.where("f > 5").count() == expected[1][0]
        frame.unpersist()
    finally:
        spark.catalog.dropTempView("floats_cached")
        spark.conf.unset("spark.sql.adaptive.enabled")
        spark.conf.unset("spark.sql.inMemoryColumnarStorage.batchSize")


def test_a_cached_condition_on_other_columns_still_prunes_batches(spark: SparkSession, tables: str) -> None:
    """Only conditions on floats are taken from the cache's pruning: one on `id` keeps its place."""
    frame = spark.table(f"{tables}.double").cache()
    try:
        plan = frame.where("f > 5 AND id < 50")._jdf.queryExecution().executedPlan().toString()
        line = next(line for line in plan.split("\n") if "InMemoryTableScan" in line)
        assert "< 50" in line
        assert "> 5.0" not in line
    finally:
        frame.unpersist()


FILES_READ = {
    "f > 15": 3, "f > 100": 2, "f >= 9": 4, "f < 5": 3, "f <= 0": 3, "f = CAST('NaN' AS DOUBLE)": 2, "NOT (f <= 19)": 2,
    "f IN (12, CAST('NaN' AS DOUBLE))": 3, "f <> 3 AND f > 100": 2, "f * 2 > 100": 2, "s.f > 15": 3, "s.f > 100": 2,
    "f BETWEEN 12 AND 13": 3, "exp(s.f) > 1e20": 2, "(f, id) IN ((CAST(12 AS {kind}), 12), (CAST('NaN' AS {kind}), 40))": 2,
}  # fmt: skip
"""Conditions, and the files that they read of five: 0 to 9, 10 to 19, 20 to 29 and a NaN, NULL, NaN."""


@pytest.mark.core
@pytest.mark.parametrize("kind", ["double", "float"])
def test_files_whose_writer_has_seen_no_nan(spark: SparkSession, db: str, kind: str) -> None:
    """A file of Spark's writer with numbers as bounds has no NaN; a greater literal leaves it out."""
    table = f"{db}.{kind}s"
    value = "CASE WHEN id >= 40 OR id = 25 THEN 'NaN' WHEN id < 30 THEN string(id) END"
    spark.sql(f"CREATE TABLE {table} (id INT, f {kind}, s STRUCT<f: {kind}>)")
    rows = f"SELECT id, CAST({value} AS {kind}) f FROM range(50)"
    spark.sql(
        f"INSERT INTO {table} SELECT /*+ REPARTITION_BY_RANGE(5, id) */ CAST(id AS INT) id, f, named_struct('f', f) FROM ({rows})"
    )
    spark.sql(
        f"CREATE OR REPLACE TEMP VIEW floats_here AS SELECT CAST(id AS INT) id, f, named_struct('f', f) s FROM ({rows})"
    )
    for text, files in FILES_READ.items():
        condition = text.format(kind=kind)
        frame = spark.sql(f"SELECT id FROM {table} WHERE {condition}")
        (scan,) = parquetry.report(frame).scans
        step = scan.step("files")
        assert step is not None
        assert step.kept == files, condition
        plain = spark.sql(f"SELECT id FROM floats_here WHERE {condition}")
        assert sorted(frame.collect()) == sorted(plain.collect()), condition
    assert spark.sql(f"SELECT count(*) FROM {table} WHERE f < 50").collect() == [(29,)]
    spark.sql(f"DELETE FROM {table} WHERE f < 10")
    spark.sql(f"DELETE FROM {table} WHERE f > 40")
    assert spark.sql(f"SELECT count(*), count(f), max(f) FROM {table}").collect() == [(29, 19, 29.0)]
