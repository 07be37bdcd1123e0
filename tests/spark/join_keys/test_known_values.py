"""If a join's key is computed from partition columns of the small table, its values are known at planning."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import parquetry
from parquetry.prune.report.scan import ScanReport
from tests.support.effort import sampled
from tests.support.spark import plans
from tests.support.spark.verdicts import Verdict, VerdictFile
from tests.support.tables.bucketed_tables import local_view, plainly, settings, spare_classes

DATABASE = "lake.known_values"
TABLES = {
    "f": "(v int, day date) PARTITIONED BY (day)",
    "t": "(v int, half int, day date) PARTITIONED BY (half, day)",
    "w": "(v int, half int, day date, third int) PARTITIONED BY (half, day, third)",
    "g": "(k int, v int) TBLPROPERTIES ('distribution' = 'none')",
    "h": "(v int, day date) PARTITIONED BY (day)",
    "d": "(name string, n int, day date, month int) PARTITIONED BY (month, day)",
    "s": "(name string, k smallint) PARTITIONED BY (k)",
}
DAY = "IF(id % 41 = 40, NULL, date_add(DATE'2026-01-01', CAST(id % 41 * 3 AS INT)))"
ROWS = {
    "f": f"SELECT id, {DAY} FROM range(410)",
    "t": f"SELECT id, id DIV 41 % 2, {DAY} FROM range(410)",
    "w": f"SELECT id, id DIV 41 % 2, {DAY}, id DIV 82 % 3 FROM range(410)",
    "g": "SELECT id DIV 10, id FROM range(0, 400, 1, 10)",
    "h": "SELECT id, date_add(DATE'2026-02-01', CAST(id AS INT)) FROM range(30)",
    "d": "SELECT concat('n', id), id, x, month(x) FROM (SELECT id, date_add(DATE'2026-01-01', CAST(id AS INT)) x FROM range(120))",
    "s": "SELECT concat('n', id), IF(id = 5, NULL, id * 3) FROM range(6)",
}
SHAPES = VerdictFile.named("known_values")
FEBRUARY = 9
"""Days of `f` in the month."""


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession) -> Iterator[None]:
    """Tables of the metastore, and views of the same rows."""
    spare_classes(spark)
    spark.sql(f"CREATE NAMESPACE {DATABASE}")
    for letter, definition in TABLES.items():
        spark.sql(f"CREATE TABLE {DATABASE}.{letter} {definition}")
        spark.sql(f"INSERT INTO {DATABASE}.{letter} {ROWS[letter]}")
        local_view(spark.table(f"{DATABASE}.{letter}"), f"known_{letter}")
    yield
    spark.sql(f"DROP NAMESPACE {DATABASE} CASCADE")


def planned(spark: SparkSession, query: str, letter: str) -> ScanReport:
    """Return the report of a table's scan before the query runs; its rows are plain Spark's, with AQE on and
    off.
    """
    names = {each: f"{DATABASE}.{each}" for each in TABLES}
    (told,) = [
        scan
        for scan in parquetry.explain(spark.sql(query.format(**names))).scans
        if scan.table == names[letter]
    ]
    expected = plainly(spark, query.format(**{each: f"known_{each}" for each in TABLES}))
    for adaptive in sampled((True, False), query):
        with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
            assert plans.comparable(spark.sql(query.format(**names)).collect()) == expected
    return told


def kept(told: ScanReport, name: str = "partitions") -> int:
    step = told.step(name)
    assert step is not None
    return step.kept


OTHERWISE_BEFORE = {
    "a function of a partition column of the small side": "Spark 4.2 and earlier infer the value later, and the report tells it"
}
"""Shapes whose verdict says something else on earlier series, by title, with what these do."""


@pytest.mark.parametrize(
    "title",
    [
        pytest.param(title, marks=pytest.mark.newest(OTHERWISE_BEFORE[title]))
        if title in OTHERWISE_BEFORE
        else title
        for title in SHAPES.titles
    ],
)
def test_shapes(spark: SparkSession, title: str) -> None:
    """Planning prunes partitions whose key is in no partition of the other table, if the answer stays the
    same.

    This is also true if a table has more partition columns than the key. If the key is no partition column,
    planning prunes files.
    """
    query = SHAPES.query(title)
    names = {each: f"{DATABASE}.{each}" for each in TABLES}
    verdicts = {}
    for letter in "g" if "{g}" in query else "ftw":
        told = planned(spark, query.replace("{f}", f"{{{letter}}}"), letter)
        verdicts[letter] = Verdict.from_scan(told.to_dict(), names)
    SHAPES.check(title, verdicts)


@pytest.mark.parametrize("key", ["f.day <=> x.day", "f.day = coalesce(x.day, DATE'2026-01-01')"])
def test_null_of_rows_without_a_match(spark: SparkSession, key: str) -> None:
    """An outer join gives NULL where no partition of the table has it: it is a value of the key, too."""
    side = "SELECT d.day FROM {s} s LEFT JOIN {d} d ON d.n = s.k + 1000 AND d.month = 2"
    query = f"SELECT count(*), sum(f.v) FROM {{f}} f JOIN ({side}) x ON {key}"
    planned(spark, query, "f")
    assert spark.sql(query.format(**{each: f"{DATABASE}.{each}" for each in TABLES})).collect()[0][0] == 60


def test_the_report(spark: SparkSession) -> None:
    """It says what was known, before the query has run, and no values are waited for then."""
    query = f"SELECT sum(v) FROM {DATABASE}.f f JOIN {DATABASE}.d d ON f.day = d.day WHERE d.month = 2"
    report = parquetry.explain(spark.sql(query))
    assert "run time: day → 9 values (known in planning): partitions 40 → 9" in str(report)
    assert "partitions 9 of 41 (values known in planning day IN (" in str(report)
    (scan,) = [scan for scan in report.to_dict()["scans"] if scan["table"] == f"{DATABASE}.f"]
    assert scan["run_time"]["values"] == [{"column": "day", "count": 9, "note": "known in planning"}]
    (line,) = [each for each in report.values if each.table == f"{DATABASE}.f"]
    values = f"9 values of {DATABASE}.d.day where month = 2 known in planning"
    assert str(line) == f"{DATABASE}.f.day: {values} (INNER JOIN)"
    frame = spark.sql(query)
    frame.collect()
    plan = frame._jdf.queryExecution().executedPlan().toString()
    assert "RuntimeFilters: []" in plan
    with settings(spark, {"parquetry.runtime-pruning": "false"}):
        assert "known in planning" not in str(parquetry.explain(spark.sql(query)))


def test_more_is_learnt_at_run_time(spark: SparkSession) -> None:
    """Where a condition is on the small table's rows, its values are waited for, too."""
    frame = spark.sql(
        f"SELECT sum(v) FROM {DATABASE}.f f JOIN {DATABASE}.d d ON f.day = d.day WHERE d.month = 2 AND d.n % 28 = 5"
    )
    frame.collect()
    (scan,) = [scan for scan in parquetry.report(frame).scans if scan.table == f"{DATABASE}.f"]
    assert kept(scan) == 1
    assert scan.run_time is not None
    assert [(each.count, each.note) for each in scan.run_time.values] == [(1, "known in planning"), (1, None)]
    assert next((cut.name, cut.before, cut.after) for cut in scan.run_time.cuts) == ("partitions", 40, 1)


def test_from_table_to_table(spark: SparkSession) -> None:
    """The partitions that remain of one table, after another table's values, select the partitions of the
    next.
    """
    query = "SELECT sum(f.v + h.v) FROM {d} d JOIN {f} f ON f.day = d.day JOIN {h} h ON h.day = f.day WHERE d.month = 2"
    assert kept(planned(spark, query, "h")) == FEBRUARY


def test_scans_of_other_joins_are_their_own(spark: SparkSession) -> None:
    """Exchanges of one table with different values, and so different partitions, do not replace
    each other.
    """
    query = (
        "SELECT /*+ MERGE(d) */ count(*), sum(v) FROM {t}.f f JOIN {t}.d d ON f.day = d.day WHERE d.month = 1 UNION ALL "
        "SELECT /*+ MERGE(d) */ count(*), sum(v) FROM {t}.f f JOIN {t}.d d ON f.day = d.day WHERE d.month = 2"
    )
    expected = plainly(spark, query.replace("{t}.", "known_"))
    for adaptive in (True, False):
        with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
            assert plans.comparable(spark.sql(query.format(t=DATABASE)).collect()) == expected
