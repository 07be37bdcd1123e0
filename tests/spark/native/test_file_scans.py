"""Scans in the form of Spark's own scan of files, which native engines read: rows, files and fallbacks.

The setting `native-scans = on` gives them this form without an engine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import parquetry
from tests.support.tables.bucketed_tables import settings

pytestmark = pytest.mark.core
Rows = Callable[[str], list[tuple[Any, ...]]]
SETTING = "parquetry.native-scans"


@pytest.fixture(autouse=True)
def native_scans(spark: SparkSession) -> Iterator[None]:
    """Have plain scans take Spark's form."""
    spark.conf.set(SETTING, "on")
    yield
    spark.conf.unset(SETTING)


@pytest.fixture
def facts(spark: SparkSession, db: str) -> str:
    """A table of 8 files in 4 partitions: no value of `k` is in two files, no value of `p` in two partitions.

    `d` has some of the values.
    """
    spark.sql(
        f"CREATE TABLE {db}.f (id BIGINT, k INT, s STRING, t TIMESTAMP, p INT) USING parquet PARTITIONED BY (p)"
    )
    for part in (0, 1):
        spark.sql(
            f"INSERT INTO {db}.f SELECT id, int(id DIV 100), concat('s', id % 7), timestamp_seconds(id), "
            f"int(id DIV 100 % 4) FROM range({400 * part}, {400 * part + 400}, 1, 1)"
        )
    spark.sql(f"CREATE TABLE {db}.d (k INT, p INT, name STRING) USING parquet")
    spark.sql(f"INSERT INTO {db}.d SELECT int(id), int(id % 4), concat('n', id) FROM range(0, 8, 1, 1)")
    return f"{db}.f"


def scans(frame: DataFrame) -> list[tuple[str, int]]:
    """Return the nodes of a query's scans after its run: class, and number of files read (of our form: 0)."""
    found: list[tuple[str, int]] = []
    plan = frame._jdf.queryExecution().executedPlan()
    if plan.getClass().getSimpleName() == "AdaptiveSparkPlanExec":
        plan = plan.executedPlan()

    def visit(node: Any) -> None:
        name = node.getClass().getSimpleName()
        if name in ("FileSourceScanExec", "BatchScanExec"):
            metric = node.metrics().get("numFiles")
            found.append((name, int(metric.get().value()) if metric.isDefined() else 0))
        if name.endswith("QueryStageExec"):
            visit(node.plan())
        elif name == "ReusedExchangeExec":
            found.append((name, 0))
        for i in range(node.children().size()):
            visit(node.children().apply(i))

    visit(plan)
    return found


def compared(spark: SparkSession, sql: str) -> tuple[DataFrame, list[tuple[str, int]]]:
    """Run a query in both forms, compare the rows, and return it with its scans in Spark's form."""
    spark.conf.set(SETTING, "off")
    expected = sorted(map(tuple, spark.sql(sql).collect()), key=repr)
    spark.conf.set(SETTING, "on")
    frame = spark.sql(sql)
    assert sorted(map(tuple, frame.collect()), key=repr) == expected
    return frame, scans(frame)


def test_a_plain_scan_is_a_scan_of_files(spark: SparkSession, facts: str) -> None:
    """A plain scan becomes Spark's node, which reads the files that conditions on any column leave."""
    frame, nodes = compared(spark, f"SELECT p, s, t, id FROM {facts} WHERE k IN (2, 6) AND s <> 's1'")
    assert nodes == [("FileSourceScanExec", 2)]
    assert "native: Spark's scan of files reads it" in str(parquetry.report(frame))
    assert compared(spark, f"SELECT p, sum(id) FROM {facts} WHERE p > 1 GROUP BY p")[1] == [
        ("FileSourceScanExec", 4)
    ]


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize(
    ("on", "where", "files"),
    [
        ("f.k = d.k", "d.name IN ('n1', 'n5')", 2),
        ("f.p = d.k", "d.name = 'n3'", 2),
        ("f.k = d.k AND f.p = d.p", "d.name IN ('n1', 'n6', 'n7')", 3),
        ("f.k + 1 = d.k", "d.name = 'n4'", 1),
        ("f.k = d.k", "d.name = 'none'", 0),
    ],
)
def test_values_of_joins_decide_files(
    spark: SparkSession, facts: str, adaptive: str, on: str, where: str, files: int
) -> None:
    """Values of a join decide which files the node reads, by any column, by tuples and by functions."""
    dim = facts.replace(".f", ".d")
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    try:
        frame, nodes = compared(
            spark, f"SELECT f.id, d.name FROM {facts} f JOIN {dim} d ON {on} WHERE {where}"
        )
        report = str(parquetry.report(frame))
    finally:
        spark.conf.unset("spark.sql.adaptive.enabled")
    if files or adaptive == "false":  # adaptive execution drops the scan if the other side is empty
        assert ("FileSourceScanExec", files) in nodes
        assert f"files {files} of 8" in report or f"files 8 → {files}" in report


def test_a_second_run_gives_values(spark: SparkSession, facts: str) -> None:
    """A build side that is not broadcast runs once more for its values, and they decide files."""
    dim = facts.replace(".f", ".d")
    query = (
        f"SELECT /*+ MERGE(d) */ f.id, d.name FROM {facts} f JOIN {dim} d ON f.k = d.k WHERE d.name = 'n2'"
    )
    assert ("FileSourceScanExec", 1) in compared(spark, query)[1]


def test_equal_scans_are_read_once(spark: SparkSession, facts: str) -> None:
    """Equal scans in one plan share an exchange, and scans of different columns do not."""
    halves = " UNION ALL ".join([f"SELECT s, count(*) AS n FROM {facts} WHERE k > 3 GROUP BY s"] * 2)
    nodes = compared(spark, halves)[1]
    assert [name for name, _ in nodes].count("FileSourceScanExec") == 1
    assert [name for name, _ in nodes].count("ReusedExchangeExec") == 1


def test_values_of_partitions(spark: SparkSession, db: str) -> None:
    """Values of partitions come to the rows as in our form, also NULL and texts that paths escape."""
    spark.sql(
        f"CREATE TABLE {db}.t (id INT, a STRING, d DATE, n DECIMAL(5,2)) USING parquet PARTITIONED BY (a, d, n)"
    )
    spark.sql(
        f"INSERT INTO {db}.t VALUES (1, 'x y%/ä=', DATE '1969-12-31', 1.5), (2, NULL, NULL, NULL), "
        "(3, '#?+:', DATE '2024-02-29', -0.01)"
    )
    assert compared(spark, f"SELECT * FROM {db}.t")[1] == [("FileSourceScanExec", 3)]
    assert compared(spark, f"SELECT n, id FROM {db}.t WHERE a IS NULL")[1] == [("FileSourceScanExec", 1)]


def test_columns_that_older_files_lack_or_have_narrower(spark: SparkSession, db: str) -> None:
    """A column added later is NULL in older files, and a widened one has their values."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, x FLOAT, n DECIMAL(5,2)) USING parquet")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 1.5, 2.25), (2147483647, -0.0, NULL)")
    spark.sql(f"ALTER TABLE {db}.t ADD COLUMN later STRING")
    for column, wider in (("id", "BIGINT"), ("x", "DOUBLE"), ("n", "DECIMAL(9,2)")):
        spark.sql(f"ALTER TABLE {db}.t ALTER COLUMN {column} TYPE {wider}")
    spark.sql(f"INSERT INTO {db}.t VALUES (3000000000, 0.1, 1234567.89, 'new')")
    assert compared(spark, f"SELECT * FROM {db}.t")[1] == [("FileSourceScanExec", 2)]
    assert compared(spark, f"SELECT later FROM {db}.t WHERE id > 5")[1] == [("FileSourceScanExec", 2)]


@pytest.mark.parametrize("type", ["FLOAT", "DOUBLE"])
def test_both_zeros_and_nan(spark: SparkSession, db: str, type: str) -> None:
    """Readers tell the zeros apart, and know no NaN in statistics: they get no condition on a float."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, x {type}) USING parquet")
    for value in ("-0.0D", "0.0D", "'NaN'", "1.5D"):
        spark.sql(f"INSERT INTO {db}.t SELECT /*+ COALESCE(1) */ id, CAST({value} AS {type}) FROM range(100)")
    for where, rows in {
        "x = 0.0": 200,
        "x = -0.0": 200,
        "x IN (0.0, 7.0)": 200,
        "x > 1.0": 200,
        "x >= 'NaN'": 100,
        "id = 7 AND x = 0.0": 2,
        "NOT x < 1.5": 200,
        "x <=> -0.0": 200,
    }.items():
        frame, found = compared(spark, f"SELECT id FROM {db}.t WHERE {where}")
        assert [name for name, _ in found] == ["FileSourceScanExec"], where
        assert frame.count() == rows, where


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ("SELECT id, _file FROM {t}", "it reads columns of files themselves, or skips files that are missing or damaged"),
        ("SELECT list FROM {t}", "column list is of type array<int>"),
        ("SELECT id FROM {t} WITH (`mergeSchema` = 'true')", "the read has the option 'mergeSchema'"),
        ("SELECT id, input_file_name() FROM {t}", "the query asks for the names of files"),
        ("SELECT new FROM {t}", "files know column new by another name"),
    ],
)  # fmt: skip
def test_scans_that_keep_their_form(spark: SparkSession, db: str, query: str, reason: str) -> None:
    """Scans that Spark's node could read otherwise keep our form, and the report says why."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, old INT, list ARRAY<INT>) USING parquet")
    spark.sql(f"INSERT INTO {db}.t VALUES (1, 2, array(3)), (4, 5, NULL)")
    spark.sql(f"ALTER TABLE {db}.t RENAME COLUMN old TO new")
    frame, nodes = compared(spark, query.format(t=f"{db}.t"))
    assert nodes == [("BatchScanExec", 0)]
    assert f"  not native: {reason}" in str(parquetry.report(frame)).splitlines()


@pytest.mark.parametrize(
    ("version", "form", "line"),
    [
        ("spark", "FileSourceScanExec", "native: Spark's scan of files reads it"),
        ("2", "BatchScanExec", "not native: the plan uses its buckets"),
    ],
)
def test_buckets(spark: SparkSession, db: str, version: str, form: str, line: str) -> None:
    """Spark's node reports buckets by Spark's hash, and no join shuffles; other buckets keep our form."""
    for name, rows in (("a", 300), ("b", 900)):
        spark.sql(
            f"CREATE TABLE {db}.{name} USING parquet CLUSTERED BY (k) INTO 4 BUCKETS "
            f"TBLPROPERTIES ('bucketing-version' = '{version}') AS SELECT id % 211 AS k, id AS v FROM range({rows})"
        )
    join = f"SELECT /*+ MERGE(b) */ count(*), sum(a.v), sum(b.v) FROM {db}.a a JOIN {db}.b b ON a.k = b.k"
    frame, nodes = compared(spark, join)
    assert [name for name, _ in nodes] == [form] * 2
    text = frame._jdf.queryExecution().executedPlan().toString()
    assert text.count("Exchange hashpartitioning") == 0
    assert line in str(parquetry.report(frame))


@pytest.mark.parametrize("counts", [(4, 4), (4, 8), (8, 4), (4, 6)])
@pytest.mark.parametrize("larger", ["smaller", "larger"])
def test_unequal_counts_of_buckets(
    spark: SparkSession, db: str, counts: tuple[int, int], larger: str
) -> None:
    """Tables with other counts of buckets are joined in either form."""
    for name, count in zip("ab", counts, strict=True):
        spark.sql(
            f"CREATE TABLE {db}.{name} (k INT, v INT) USING parquet CLUSTERED BY (k) INTO {count} BUCKETS "
            f"TBLPROPERTIES ('bucketing-version' = 'spark', 'bucket-join' = '{larger}')"
        )
        spark.sql(f"INSERT INTO {db}.{name} SELECT int(id % 40), int(id) FROM range({count * 20})")
    with settings(spark, {"spark.sql.autoBroadcastJoinThreshold": -1}):
        for kind in ("JOIN", "LEFT ANTI JOIN", "FULL JOIN"):
            compared(spark, f"SELECT count(*) FROM {db}.a a {kind} {db}.b b ON a.k = b.k AND a.v < 60")


@pytest.mark.parametrize("batches", [True, False])
def test_values_out_of_joins_in_a_build_side(spark: SparkSession, facts: str, batches: bool) -> None:
    """A build side with joins of its own gives its values, whether rows come in batches or one by one."""
    dim = facts.replace(".f", ".d")
    sides = (
        f"SELECT b.p FROM {facts} b LEFT SEMI JOIN (SELECT k FROM {facts} WHERE p < 2) c ON b.k = c.k",
        f"SELECT b.p FROM {dim} b LEFT SEMI JOIN {facts} c ON b.k = c.k WHERE b.name <> 'n1'",
    )
    with settings(spark, {"spark.sql.parquet.enableVectorizedReader": batches}):
        for side in sides:
            compared(
                spark, f"SELECT /*+ BROADCAST(x) */ count(*) FROM {facts} a JOIN ({side}) x ON a.p = x.p"
            )


def test_changing_statements_read_their_own_form(spark: SparkSession, db: str, rows: Rows) -> None:
    """DELETE, UPDATE and MERGE find their rows as before, and the next query sees them."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, v INT) USING parquet")
    spark.sql(f"INSERT INTO {db}.t SELECT int(id), 0 FROM range(0, 10, 1, 2)")
    spark.sql(f"DELETE FROM {db}.t WHERE id = 3")
    spark.sql(f"UPDATE {db}.t SET v = 1 WHERE id IN (SELECT id FROM {db}.t WHERE id > 7)")
    spark.sql(
        f"MERGE INTO {db}.t t USING (SELECT id, v FROM {db}.t WHERE id < 2) s ON t.id = s.id "
        "WHEN MATCHED THEN UPDATE SET v = 2"
    )
    assert sorted(rows(f"SELECT id, v FROM {db}.t")) == [
        (0, 2), (1, 2), (2, 0), (4, 0), (5, 0), (6, 0), (7, 0), (8, 1), (9, 1),
    ]  # fmt: skip
