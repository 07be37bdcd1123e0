"""A large table that waits for runtime values lists partitions and files only after they arrive, and lists no
others.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import parquetry
from parquetry import metastore as ms
from tests.support.spark import plans
from tests.support.spark.verdicts import Verdict, VerdictFile, with_and_without_adaptive_execution
from tests.support.stores.rows_examined import RowsExamined, rows_examined
from tests.support.tables.bucketed_tables import local_view, plainly, settings, spare_classes

DAYS = 1000
SHAPES = VerdictFile.named("late_lists")
FACTS = {"f": "sales", "t": "by_two", "w": "by_three"}
SAMPLED = 4
"""Rows that estimate the columns' share of bytes: the first two partitions and the last, which is first
located, then read.
"""


@pytest.fixture(scope="module")
def star(spark: SparkSession, store: ms.Metastore) -> Iterator[str]:
    """A table of 1,000 partitions with one file of 2 rows each; two tables by more columns, with 300 and 900;
    and small ones.
    """
    spare_classes(spark)
    spark.sql("CREATE NAMESPACE lake.late")
    spark.sql("CREATE TABLE lake.late.sales (item int, amount int, day int) PARTITIONED BY (day)")
    rows = spark.range(2 * DAYS).selectExpr("int(id % 7) item", "int(id) amount", f"int(id % {DAYS}) day")
    rows.coalesce(1).writeTo("lake.late.sales").append()
    spark.sql("CREATE TABLE lake.late.days (day int, week int, year int)")
    spark.range(DAYS).selectExpr("int(id) day", "int(id DIV 3) week", "int(id DIV 300) year").coalesce(
        1
    ).writeTo("lake.late.days").append()
    local_view(rows, "late_sales")
    fewer = spark.range(900).selectExpr(
        "int(id % 7) item",
        "int(id) amount",
        "int(id DIV 150 % 2) half",
        "int(id % 150) day",
        "int(id DIV 300) third",
    )
    for name, columns, by in (
        ("by_two", "item int, amount int, third int, half int, day int", "half, day"),
        ("by_three", "item int, amount int, half int, day int, third int", "half, day, third"),
    ):
        spark.sql(f"CREATE TABLE lake.late.{name} ({columns}) PARTITIONED BY ({by})")
        fewer.select(*spark.table(f"lake.late.{name}").columns).coalesce(1).writeTo(
            f"lake.late.{name}"
        ).append()
    local_view(fewer, "late_fewer")
    yield "lake.late"
    spark.sql("DROP NAMESPACE lake.late CASCADE")


@pytest.fixture
def examined(
    spark: SparkSession, store: ms.Metastore, star: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[RowsExamined]:
    """The metastore rows that queries read of the large table's partitions, in a version that no query has
    read yet.
    """
    spark.sql(f"ALTER TABLE {star}.sales SET TBLPROPERTIES ('mine' = '{uuid.uuid4()}')")
    table = store.table("late", "sales")
    with rows_examined(monkeypatch, table.id) as found:
        yield found


JOIN = "SELECT sum({what}) FROM {sales} s JOIN lake.late.days d ON s.day = d.day WHERE d.week = {week}"


@pytest.mark.unaudited("the audit reads the metastore, too")
@pytest.mark.parametrize(
    ("adaptive", "week", "what", "sampled"),
    [
        (True, 11, "amount", SAMPLED),
        (False, 12, "amount", SAMPLED),
        (True, 13, "amount + s.item", 0),
        (False, 14, "amount + s.item", 0),
    ],
)
def test_star_join_examines_what_it_reads(
    spark: SparkSession, star: str, examined: RowsExamined, adaptive: bool, week: int, what: str, sampled: int
) -> None:
    """A star join on 1,000 partitions reads the rows of the 3 that it scans, and of a few that estimate the
    bytes.
    """
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(JOIN.format(what=what, sales=f"{star}.sales", week=week))
        found = frame.collect()
        read = len(examined)
        told = parquetry.report(frame)
        assert len(examined) == read
        assert found == plainly(spark, JOIN.format(what=what, sales="late_sales", week=week))
    assert read == 3 + sampled
    scan = next(s for s in told.to_dict()["scans"] if s["table"] == f"{star}.sales")
    kept = {step["name"]: (step["kept"], step["of"]) for step in scan["steps"]}
    assert kept["partitions"] == (3, DAYS)
    assert kept["files"] == (3, 3)
    cuts = {cut["name"]: (cut["before"], cut["after"]) for cut in scan["run_time"]["cuts"]}
    assert cuts["partitions"] == (DAYS, 3)
    assert cuts["files"] == (DAYS, 3)
    assert scan["run_time"]["late"]


def test_explain_lists_what_would_be_read_without_values(
    spark: SparkSession, star: str, examined: RowsExamined
) -> None:
    """EXPLAIN, the report before the run and `parquetry.explain` show all files, with the bytes of their
    columns.
    """
    query = JOIN.format(what="amount", sales=f"{star}.sales", week=15)
    whole = f"SELECT sum(amount), sum(day) FROM {star}.sales"
    line = "partitions 1,000 of 1,000 · files 1,000 of 1,000 · "
    told = str(parquetry.explain(whole)).split(line)[1].split("\n")[0]
    for text in (
        str(parquetry.explain(query)),
        str(parquetry.report(spark.sql(query))),
        spark.sql(f"EXPLAIN {query}").first()[0],
        spark.sql(query)._jdf.queryExecution().toString(),
    ):
        assert line + told in text
        assert "about" not in text
    assert len(set(examined.keys)) == DAYS


@pytest.mark.unaudited("the audit reads the metastore, too")
def test_values_that_do_not_come_leave_all_to_be_read(
    spark: SparkSession, star: str, examined: RowsExamined
) -> None:
    """Where Spark gives up its filter the files are listed once, when they are read."""
    never = {"spark.sql.autoBroadcastJoinThreshold": -1, "parquetry.runtime-pruning-max-build-size": "1b"}
    with settings(spark, never):
        frame = spark.sql(JOIN.format(what="amount + item", sales=f"{star}.sales", week=16))
        found = frame.collect()
        assert len(examined) == DAYS
    assert found == plainly(spark, JOIN.format(what="amount + item", sales="late_sales", week=16))
    scan = next(s for s in parquetry.report(frame).to_dict()["scans"] if s["table"] == f"{star}.sales")
    assert "run_time" not in scan
    assert {step["name"]: step["kept"] for step in scan["steps"]}["files"] == DAYS


@pytest.mark.unaudited("the audit reads the metastore, too")
@pytest.mark.parametrize("adaptive", [True, False])
def test_small_side_without_rows(
    spark: SparkSession, star: str, examined: RowsExamined, adaptive: bool
) -> None:
    """Without values, no partition is listed."""
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(
            JOIN.format(what="amount + item", sales=f"{star}.sales", week=16).replace("= 16", "= -5")
        )
        assert frame.collect()[0][0] is None
    assert len(examined) == 0


@pytest.mark.unaudited("the audit reads the metastore, too")
def test_each_place_reads_its_own(spark: SparkSession, star: str, examined: RowsExamined) -> None:
    """A table that a query reads twice is listed for each scan by its own values; two equal scans list it
    once.
    """
    query = """
        SELECT (SELECT sum(amount + item) FROM {sales} s JOIN lake.late.days d ON s.day = d.day WHERE d.week = 5) a,
               (SELECT sum(amount + item) FROM {sales} s JOIN lake.late.days d ON s.day = d.day WHERE d.week = 8) b,
               (SELECT sum(amount + item) FROM {sales} s JOIN lake.late.days d ON s.day = d.day WHERE d.week = 5) c"""
    found = spark.sql(query.format(sales=f"{star}.sales")).collect()
    assert found == plainly(spark, query.format(sales="late_sales"))
    assert len(set(examined.keys)) == 6
    assert len(examined) == 6


def test_null_partitions_are_subtracted(spark: SparkSession, db: str) -> None:
    """`day IS NOT NULL`, which Spark adds to the join, leaves out the partition of NULL: of totals, too."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (v int, day int) PARTITIONED BY (day)")
    spark.range(150).selectExpr("int(id) v", "IF(id = 7, NULL, int(id)) day").coalesce(1).writeTo(
        table
    ).append()
    spark.sql(f"CREATE TABLE {db}.d (day int, week int)")
    spark.range(150).selectExpr("int(id) day", "int(id DIV 3) week").coalesce(1).writeTo(f"{db}.d").append()
    frame = spark.sql(f"SELECT sum(v) FROM {table} t JOIN {db}.d d ON t.day = d.day WHERE d.week = 2")
    assert frame.collect()[0][0] == 6 + 8
    scan = next(s for s in parquetry.report(frame).to_dict()["scans"] if s["table"] == table)
    cuts = {cut["name"]: (cut["before"], cut["after"]) for cut in scan["run_time"]["cuts"]}
    assert cuts["partitions"] == (149, 2)
    assert cuts["files"] == (149, 2)
    assert scan["run_time"]["late"]


@pytest.mark.parametrize(
    "title",
    [
        pytest.param(title, marks=pytest.mark.needs("values of subqueries") if title == "a value" else ())
        for title in SHAPES.titles
    ],
)
def test_shapes_of_joins(spark: SparkSession, star: str, title: str) -> None:
    """With values from any source, or without, the answer is plain Spark's, and the scan reads the partitions
    that may match.
    """
    query = SHAPES.query(title)
    verdicts: dict[str, Verdict] = {}
    for letter, plain in (("f", "late_sales"), ("t", "late_fewer"), ("w", "late_fewer")):
        names = {"f": f"{star}.{FACTS[letter]}", "d": f"{star}.days"}
        expected = plainly(spark, query.format(f=plain, d=names["d"]))
        both = []
        for adaptive in (True, False):
            with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
                frame = spark.sql(query.format(**names))
                assert plans.comparable(frame.collect()) == expected
            both.append(Verdict.from_report(frame, names, "f"))
        verdicts |= with_and_without_adaptive_execution(letter, *both)
    SHAPES.check(title, verdicts)


def test_a_large_table_narrows_another(spark: SparkSession, star: str) -> None:
    """Two large tables joined by partition columns, with one pruned by a small table, return plain Spark's
    answer.
    """
    query = """SELECT sum(a.amount), count(*) FROM {sales} a JOIN {sales} b ON a.day = b.day AND a.item = b.item
               JOIN lake.late.days d ON b.day = d.day WHERE d.week = 27"""
    frame = spark.sql(query.format(sales=f"{star}.sales"))
    assert frame.collect() == plainly(spark, query.format(sales="late_sales"))
