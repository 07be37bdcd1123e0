"""Where a join's key is computed of partition columns of the small table, its values are known before anything runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from parquetry.prune.report.scan import ScanReport
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import settings

DATABASE = "lake.known_values"
TABLES = {
    "f": "(v int, day date) PARTITIONED BY (day)",
    "g": "(k int, v int) TBLPROPERTIES ('distribution' = 'none')",
    "h": "(v int, day date) PARTITIONED BY (day)",
    "d": "(name string, n int, day date, month int) PARTITIONED BY (month, day)",
    "s": "(name string, k smallint) PARTITIONED BY (k)",
}
ROWS = {
    "f": "SELECT id, IF(id % 41 = 40, NULL, date_add(DATE'2026-01-01', CAST(id % 41 * 3 AS INT))) FROM range(410)",
    "g": "SELECT id DIV 10, id FROM range(0, 400, 1, 10)",
    "h": "SELECT id, date_add(DATE'2026-02-01', CAST(id AS INT)) FROM range(30)",
    "d": "SELECT concat('n', id), id, x, month(x) FROM (SELECT id, date_add(DATE'2026-01-01', CAST(id AS INT)) x FROM range(120))",
    "s": "SELECT concat('n', id), IF(id = 5, NULL, id * 3) FROM range(6)",
}
FEBRUARY = 9
"""Days of `f` in the month."""


@pytest.fixture(scope="module", autouse=True)
def tables(spark: SparkSession) -> Iterator[None]:
    """Tables of the metastore, and views of the same rows."""
    spark.sql(f"CREATE NAMESPACE {DATABASE}")
    for letter, definition in TABLES.items():
        spark.sql(f"CREATE TABLE {DATABASE}.{letter} {definition}")
        spark.sql(f"INSERT INTO {DATABASE}.{letter} {ROWS[letter]}")
        plain = spark.createDataFrame(
            spark.table(f"{DATABASE}.{letter}").toArrow(), spark.table(f"{DATABASE}.{letter}").schema
        )
        plain.createOrReplaceTempView(f"known_{letter}")
    yield
    spark.sql(f"DROP NAMESPACE {DATABASE} CASCADE")


def planned(spark: SparkSession, query: str, letter: str) -> ScanReport:
    """Return the report of a table's scan before the query runs; the rows it gives are plain Spark's, AQE on and off."""
    names = {each: f"{DATABASE}.{each}" for each in TABLES}
    (told,) = [
        scan
        for scan in parquetry.explain(spark.sql(query.format(**names))).scans
        if scan.table == names[letter]
    ]
    expected = plans.comparable(
        spark.sql(query.format(**{each: f"known_{each}" for each in TABLES})).collect()
    )
    for adaptive in (True, False):
        with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
            assert plans.comparable(spark.sql(query.format(**names)).collect()) == expected
    return told


def kept(told: ScanReport, name: str = "partitions") -> int:
    step = told.step(name)
    assert step is not None
    return step.kept


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT sum(v) FROM {f} f JOIN {d} d ON f.day = d.day WHERE d.month = 2", FEBRUARY),
        ("SELECT /*+ MERGE(d) */ sum(v) FROM {d} d JOIN {f} f ON f.day = d.day WHERE month = 2", FEBRUARY),
        ("SELECT sum(v) FROM {f} f JOIN {d} d ON f.day = d.day WHERE d.month = 2 AND d.name < 'n4'", 3),
        ("SELECT sum(v) FROM {f} WHERE day IN (SELECT day FROM {d} WHERE month IN (1, 2))", 20),
        ("SELECT sum(v) FROM {f} WHERE day IN (SELECT max(day) FROM {d} WHERE month = 2)", 0),
        ("SELECT d.day, sum(v) FROM {d} d LEFT JOIN {f} f ON f.day = d.day WHERE d.month = 2 GROUP BY d.day", FEBRUARY),
        ("SELECT d.name FROM {d} d LEFT ANTI JOIN {f} f ON f.day = d.day WHERE d.month = 2", FEBRUARY),
        ("SELECT f.v, d.name FROM {f} f LEFT JOIN {d} d ON f.day = d.day AND d.month = 2", 41),
        ("SELECT f.v FROM {f} f LEFT ANTI JOIN {d} d ON f.day = d.day AND d.month = 2", 41),
        ("SELECT f.v, d.name FROM {f} f FULL JOIN (SELECT * FROM {d} WHERE month = 2) d ON f.day = d.day", 41),
        ("SELECT v FROM {f} WHERE day NOT IN (SELECT day FROM {d} WHERE month = 2)", 41),
        ("SELECT sum(v) FROM {f} f JOIN {d} d ON f.day = d.day + INTERVAL '1' DAY WHERE d.month = 2", 9),
        ("SELECT sum(v) FROM {f} f JOIN {d} d ON date_add(f.day, 1) = d.day WHERE d.month = 2", 10),
        ("SELECT sum(v) FROM {f} f JOIN {d} d ON f.day <=> d.day WHERE d.month = 2", -1),
        ("SELECT sum(v) FROM {f} f JOIN {d} d ON year(f.day) * 100 + month(f.day) = 202600 + d.month WHERE d.month = 2", FEBRUARY),
        ("SELECT sum(f.v) FROM {f} f JOIN {d} d ON f.day = d.day JOIN {h} h ON h.day = f.day WHERE d.month = 1", 0),
        ("SELECT sum(v) FROM {f} f JOIN (SELECT day FROM {h} UNION ALL SELECT DATE'2026-01-01') d ON f.day = d.day", -1),
        ("SELECT sum(v) FROM {f} f JOIN (SELECT DISTINCT day FROM {d} WHERE month = 2) d ON f.day = d.day", FEBRUARY),
        ("SELECT sum(x) FROM (SELECT max(v) x FROM {f} LIMIT 3) f JOIN {d} d ON f.x = d.n", 41),
        ("SELECT sum(v) FROM {f} f JOIN {d} d ON f.day = d.day WHERE d.month = 13", 0),
    ],
)  # fmt: skip
def test_partitions(spark: SparkSession, query: str, expected: int) -> None:
    """Partitions whose key is in no partition of the other table are left out in planning, where the answer stays the same."""
    told = planned(spark, query, "f")
    if expected >= 0:
        assert kept(told) == expected, told


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
    assert [(each.count, each.note) for each in scan.run_time.values] == [(9, "known in planning"), (1, None)]
    assert next((cut.name, cut.before, cut.after) for cut in scan.run_time.cuts) == ("partitions", 40, 1)


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("SELECT sum(v) FROM {g} f JOIN {s} s ON f.k = s.k", 4),
        ("SELECT sum(v) FROM {g} f JOIN {s} s ON f.k = s.k WHERE s.k > 6", 2),
        ("SELECT sum(v) FROM {g} f JOIN (SELECT CAST(k AS BIGINT) k FROM {s}) s ON f.k = s.k", 4),
        (
            "SELECT sum(v) FROM {g} f JOIN (SELECT CAST(k AS BIGINT) + 5000000000 k FROM {s}) s ON f.k = s.k",
            0,
        ),
        ("SELECT sum(v) FROM {g} f JOIN {s} s ON f.k <=> s.k", -1),
        ("SELECT sum(v) FROM {g} f JOIN {s} s ON f.k + 1 = s.k", 10),
    ],
)
def test_other_columns(spark: SparkSession, query: str, expected: int) -> None:
    """The values leave out files of tables whose key is no partition column."""
    told = planned(spark, query, "g")
    if expected >= 0:
        assert kept(told, "files") == expected, told


def test_from_table_to_table(spark: SparkSession) -> None:
    """What is left of one table by the values of another tells which partitions of the next are wanted."""
    query = "SELECT sum(f.v + h.v) FROM {d} d JOIN {f} f ON f.day = d.day JOIN {h} h ON h.day = f.day WHERE d.month = 2"
    assert kept(planned(spark, query, "h")) == FEBRUARY


def test_scans_of_other_joins_are_their_own(spark: SparkSession) -> None:
    """Exchanges of one table, of which different values leave different partitions, are not taken for each other."""
    query = (
        "SELECT /*+ MERGE(d) */ count(*), sum(v) FROM {t}.f f JOIN {t}.d d ON f.day = d.day WHERE d.month = 1 UNION ALL "
        "SELECT /*+ MERGE(d) */ count(*), sum(v) FROM {t}.f f JOIN {t}.d d ON f.day = d.day WHERE d.month = 2"
    )
    expected: list[Any] = spark.sql(query.replace("{t}.", "known_")).collect()
    for adaptive in (True, False):
        with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
            assert spark.sql(query.format(t=DATABASE)).collect() == expected
