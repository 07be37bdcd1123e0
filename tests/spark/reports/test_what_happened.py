"""Reports of a run agree with the files that Linux saw being opened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import parquetry
from parquetry.prune.report.report import Report, report_rows
from parquetry.prune.report.text import NOT_RUN_TEXT
from tests.support.opened_files import OpenedFiles


@pytest.fixture(scope="module")
def db(spark: SparkSession) -> Iterator[str]:
    """A table of 40 partitions, `f`, one of 8 files, `g`, and a small one, `d`."""
    name = "lake.happened"
    spark.sql(f"CREATE NAMESPACE {name}")
    spark.sql(f"CREATE TABLE {name}.f (v INT, s STRING, day INT, x INT) PARTITIONED BY (day, x)")
    spark.sql(
        f"INSERT INTO {name}.f SELECT id, uuid(), CAST(id % 10 AS INT), CAST(id DIV 10 % 4 AS INT) FROM range(400)"
    )
    spark.sql(f"CREATE TABLE {name}.g (k INT)")
    for low in range(4):
        spark.sql(f"INSERT INTO {name}.g SELECT id FROM range({low * 100}, {low * 100 + 100}, 1, 2)")
    spark.sql(
        f"CREATE TABLE {name}.d AS SELECT CAST(id AS INT) day, CAST(id % 4 AS INT) x, id h FROM range(9)"
    )
    yield name
    spark.sql(f"DROP NAMESPACE {name} CASCADE")


@pytest.fixture
def folder(db: str, warehouse: Path) -> Path:
    """The folder of the database."""
    return warehouse / "lake" / f"{db.removeprefix('lake.')}.db"


def kept_files(report: Report, db: str) -> dict[str, int]:
    """Return how many files of each table were read, by the report."""
    kept: Counter[str] = Counter()
    for scan in report.scans:
        step = scan.step("files")
        assert step is not None
        kept[scan.table.removeprefix(f"{db}.")] += step.kept
    return {table: count for table, count in kept.items() if count}


def lines(report: Report, table: str) -> str:
    """Return the lines about the scans of a table."""
    return "\n".join(line for line in str(report).splitlines() if line.startswith(f"{table}: "))


@pytest.mark.unaudited("the audit opens files, too")
@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("SELECT sum(v) FROM {db}.f WHERE day IN (1, 2) AND x < 2", "partitions 4 of 40"),
        (
            "SELECT sum(f.v) FROM {db}.f f JOIN {db}.d d ON f.day = d.day WHERE d.h * 2 = 99",
            "not read: the other side of its INNER JOIN had no rows · partitions 0 of 40 · files 0 of ",
        ),
        (
            "SELECT count(*) FROM {db}.f WHERE v NOT IN (SELECT IF(h = 3, NULL, h + 1000) FROM {db}.d)",
            "not read: the subquery of NOT IN gave a NULL · partitions 0 of 40",
        ),
        ("SELECT v FROM {db}.f LIMIT 3", "files 1 of "),
        ("SELECT v FROM {db}.f WHERE v % 2 >= 0 LIMIT 3", "(no more rows were needed)"),
        (
            "SELECT sum(f.v) FROM {db}.f f JOIN {db}.d d ON f.day = d.day AND f.x = d.x WHERE d.h < 3",
            "run-time values (day, x) IN",
        ),
    ],
)
def test_files_told_are_files_opened(
    spark: SparkSession, db: str, folder: Path, query: str, said: str
) -> None:
    """For each table, the report counts exactly the opened files, and says why the others were not opened."""
    frame = spark.sql(query.format(db=db))
    with OpenedFiles(folder) as opened:
        frame.collect()
    report = parquetry.report(frame)
    assert kept_files(report, db) == opened.by_table(), str(report)
    assert said in lines(report, f"{db}.f"), str(report)


def test_a_condition_that_did_nothing_is_not_named(spark: SparkSession, db: str) -> None:
    """Spark's `IS NOT NULL` excludes no partition where no partition has a NULL."""
    frame = spark.sql(f"SELECT sum(v) FROM {db}.f WHERE day = 3 AND x >= 0 AND x IS NOT NULL")
    frame.collect()
    (scan,) = parquetry.report(frame).scans
    partitions = scan.step("partitions")
    assert partitions is not None
    assert partitions.by == ("day = 3",)
    assert ("x >= 0", "every partition may hold a match") in [
        (note.condition, note.reason) for note in partitions.not_by
    ]


def _write(frame: DataFrame, folder: Path, db: str) -> None:
    frame.write.mode("overwrite").parquet(str(folder / "out"))


def _save(frame: DataFrame, folder: Path, db: str) -> None:
    frame.write.mode("overwrite").saveAsTable(f"{db}.copy")


def _view(frame: DataFrame, folder: Path, db: str) -> None:
    frame.createOrReplaceTempView("happened")
    frame.sparkSession.sql("SELECT max(v) FROM happened").collect()


RUNS: dict[str, Callable[[DataFrame, Path, str], object]] = {
    "show": lambda frame, *_: frame.show(),
    "count": lambda frame, *_: frame.count(),
    "head": lambda frame, *_: frame.head(),
    "take": lambda frame, *_: frame.take(2),
    "toPandas": lambda frame, *_: frame.toPandas(),
    "write": _write,
    "saveAsTable": _save,
    "view": _view,
}


@pytest.mark.parametrize("run", RUNS)
def test_a_run_of_the_same_scans_is_reported(
    spark: SparkSession, db: str, tmp_path: Path, run: str, request: pytest.FixtureRequest
) -> None:
    """An action runs a query of its own, whose runtime values are reported; before it, the report says that
    no query has run.
    """
    number = list(RUNS).index(run)
    frame = spark.sql(f"SELECT f.v FROM {db}.f f JOIN {db}.d d ON f.day = d.day WHERE d.h = {number}")
    before = parquetry.report(frame)
    assert before.not_run
    assert str(before).startswith(NOT_RUN_TEXT)
    assert kept_files(before, db)["f"] == 40
    RUNS[run](frame, tmp_path, db)
    after = parquetry.report(frame)
    assert not after.not_run
    (scan,) = [each for each in after.scans if each.table == f"{db}.f"]
    assert scan.run_time is not None, str(after)
    assert scan.steps[0].kept == 4, str(after)
    assert parquetry.explain(frame).scans[0].run_time is None
    query = f"SELECT f.v FROM {db}.f f JOIN {db}.d d ON f.day = d.day WHERE d.h = {number}"
    rows = spark.sql(f"CALL lake.system.explain(query => '{query}', of_run => true)").collect()
    assert [tuple(row) for row in rows] == [tuple(row) for row in report_rows(after)]


def test_an_insert_is_a_run(spark: SparkSession, db: str) -> None:
    """The report of an INSERT has the run-time values of its query, and so has the report of that query."""
    query = f"SELECT f.v + 1 AS v FROM {db}.f f JOIN {db}.d d ON f.day = d.day WHERE d.h = 8"
    spark.sql(f"CREATE TABLE {db}.taken (v INT)")
    done = spark.sql(f"INSERT INTO {db}.taken {query}")
    for report in (parquetry.report(done), parquetry.report(spark.sql(query))):
        assert not report.not_run
        assert report.scans[0].steps[0].kept == 4, str(report)


def test_another_version_is_another_scan(spark: SparkSession, db: str) -> None:
    """A run before a commit is no run of the table as it is now."""
    spark.sql(f"CREATE TABLE {db}.versions AS SELECT id FROM range(10)")
    query = f"SELECT sum(id) FROM {db}.versions WHERE id > 3"
    spark.sql(query).show()
    assert not parquetry.report(spark.sql(query)).not_run
    spark.sql(f"INSERT INTO {db}.versions VALUES (77)")
    assert parquetry.report(spark.sql(query)).not_run


@pytest.mark.unaudited("the audit opens files, too")
def test_a_cache_is_told_as_a_cache(spark: SparkSession, db: str, folder: Path) -> None:
    """Rows from a cache are not reported as files, also if a query reads them twice; after UNCACHE, the files
    are.
    """
    spark.sql(f"CACHE TABLE one_x AS SELECT * FROM {db}.f WHERE x = 1")
    query = "SELECT count(*) FROM one_x a JOIN one_x b ON a.v = b.v"
    try:
        frame = spark.sql(query)
        with OpenedFiles(folder) as opened:
            frame.collect()
        report = parquetry.report(frame)
        assert (opened.by_table(), kept_files(report, db)) == ({}, {})
        (scan,) = report.scans
        assert scan.not_read == "its rows came from the cache one_x"
    finally:
        spark.sql("UNCACHE TABLE one_x")
    frame = spark.sql(f"SELECT count(*), sum(v) FROM {db}.f WHERE x = 1")
    with OpenedFiles(folder) as opened:
        frame.collect()
    assert kept_files(parquetry.report(frame), db) == opened.by_table() == {"f": 10}


@pytest.mark.unaudited("the audit opens files, too")
def test_the_query_that_fills_a_cache_reads(spark: SparkSession, db: str, folder: Path) -> None:
    """The query that fills a cache reports the files that it opens, and the next query reports none."""
    cached = spark.sql(f"SELECT * FROM {db}.f WHERE x = 3").cache()
    try:
        with OpenedFiles(folder) as opened:
            cached.collect()
        assert kept_files(parquetry.report(cached), db) == opened.by_table() == {"f": 10}
        next_one = cached.where("v > 5")
        next_one.collect()
        assert kept_files(parquetry.report(next_one), db) == {}
    finally:
        cached.unpersist()


INNER_NAMES = (
    "knownfloating",
    "normalizenan",
    "scalarsubquery",
    "OneRowRelation",
    "RDD",
    "EXISTENCE",
    "GlobalLimit",
    "#",
)


@pytest.mark.parametrize(
    "query",
    [
        "SELECT count(*) FROM {db}.z z JOIN {db}.zd d ON z.f = d.f WHERE d.h < 2",
        "SELECT count(*) FROM {db}.f WHERE day IN (SELECT day FROM {db}.d WHERE h = 1) OR x = 4",
        "SELECT count(*) FROM {db}.f f JOIN (SELECT rand() * 0 AS day) r ON f.day = r.day",
        "SELECT count(*) FROM {db}.f f JOIN {db}.d d ON f.x = d.x OR f.x = d.h WHERE d.h = 1",
        "SELECT count(*) FROM {db}.f f JOIN (SELECT * FROM {db}.d LIMIT 3) d ON f.v = d.h",
        "SELECT count(*) FROM {db}.f WHERE v > (SELECT min(h) FROM {db}.d) OR s = 'a'",
    ],
)
def test_texts_are_in_words_of_sql(spark: SparkSession, db: str, query: str) -> None:
    """No line has a name that only Spark's optimizer knows, and no set is listed twice."""
    if not spark.catalog.tableExists(f"{db}.z"):
        spark.sql(f"CREATE TABLE {db}.z (id INT, f DOUBLE) PARTITIONED BY (f)")
        spark.sql(f"INSERT INTO {db}.z SELECT id, CAST(id % 5 AS DOUBLE) FROM range(0, 50, 1, 1)")
        spark.sql(f"CREATE TABLE {db}.zd AS SELECT CAST(id AS DOUBLE) f, id h FROM range(3)")
    frame = spark.sql(query.format(db=db))
    frame.collect()
    text = str(parquetry.report(frame))
    assert not [name for name in INNER_NAMES if name in text], text
    told = [line for line in text.splitlines() if "run time:" in line]
    assert all(len(set(one)) == len(one) for one in (line.split(", ") for line in told)), text


def test_a_shuffle_beside_a_join_that_prunes_has_its_reason(spark: SparkSession, db: str) -> None:
    """Run-time values leave out the one partition without buckets, after Spark has planned the shuffle."""
    spark.sql(f"CREATE TABLE {db}.old (id INT, k INT, ds INT) PARTITIONED BY (ds)")
    spark.sql(f"INSERT INTO {db}.old SELECT id, id % 83, 1 FROM range(400)")
    spark.sql(f"ALTER TABLE {db}.old CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS")
    spark.sql(f"INSERT INTO {db}.old SELECT id, id % 83, 2 + id % 2 FROM range(400)")
    spark.sql(f"CREATE TABLE {db}.other (id INT, k INT) CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS")
    spark.sql(f"INSERT INTO {db}.other SELECT id, id % 120 FROM range(400)")
    threshold = spark.conf.get("spark.sql.autoBroadcastJoinThreshold")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    try:
        frame = spark.sql(
            f"SELECT /*+ BROADCAST(g) */ count(*), sum(f.id) FROM {db}.old f JOIN {db}.other z ON f.k = z.k "
            f"JOIN (SELECT x + 1 AS x FROM {db}.d WHERE h = 1) g ON f.ds = g.x"
        )
        frame.collect()
        report = parquetry.report(frame)
    finally:
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", threshold or "10MB")
    reasons: list[Any] = [join.reason for join in report.joins if join.parts]
    assert reasons == [f"{db}.old: partition ds=1 is not in buckets"], str(report)
