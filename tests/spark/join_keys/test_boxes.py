"""Values of a join that bound columns prune as boxes: each row of the small table by itself, not the hull of
all, and the answers are plain Spark's.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import local_view, plainly, settings

DATABASE = "lake.run_time_boxes"
TABLES = {
    # 12 days by 5 numbers, and in each file ten values of v that follow each other
    "f": (
        "(v int, day date, x int) PARTITIONED BY (day, x)",
        "SELECT int(id) v, date_add(date'2026-01-01', int(id DIV 50)) day, int(id DIV 10 % 5) x FROM range(600)",
    ),
    # days 0, 11 and NULL
    "d": (
        "(id int, day date, until date, x int)",
        "VALUES (0, date'2026-01-01', date'2026-01-02', 0), (11, date'2026-01-12', date'2026-01-13', 1), "
        "(99, NULL, date'2026-01-05', 2)",
    ),
    # 150 single days of 600, none of them next to another
    "many": ("(first int, last int)", "SELECT int(id * 4) first, int(id * 4 + 1) last FROM range(150)"),
}
SHAPES = {
    "intervals": ("f.day BETWEEN d.day AND d.until", (15, 60), None),
    "computed ends": ("f.day BETWEEN d.day AND date_add(d.day, 1)", (15, 60), None),
    "an OR of keys": ("f.day = d.day OR f.day = date_add(d.day, 1)", (15, 60), None),
    "keys within an OR": ("(f.day = d.day OR f.day = d.until) AND f.x = d.x", (4, 60), None),
    "an OR of pairs": ("(f.day = d.day AND f.x = d.x) OR (f.day = d.until AND f.x = d.id)", (3, 60), None),
    "an equality beside a range": ("f.x = d.x AND f.day BETWEEN d.day AND d.until", (3, 60), None),
    "one end": ("f.day < d.until", (60, 60), None),
    "the other end": ("f.day >= d.day AND d.id > 0", (5, 60), None),
    "a function of partition columns": (
        "dayofmonth(f.day) BETWEEN dayofmonth(d.day) AND dayofmonth(d.day) + 1", (15, 60), None,
    ),
    "data columns": ("f.v BETWEEN d.id AND d.id + 1", (60, 60), (4, 60)),
    "a data column and a partition column": ("f.v BETWEEN d.id AND d.id + 20 AND f.x = d.x", (36, 60), (2, 36)),
    "null-safe beside a range": ("f.day <=> d.until AND f.v > d.id", (10, 60), (10, 10)),
}  # fmt: skip
"""Conditions, with the partitions and files that are read, and the number there is to choose from; None where
files are not chosen by themselves."""


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[dict[str, dict[str, str]]]:
    """Names of tables of ours, and of views of the same rows, by the names in the queries."""
    spark.sql(f"CREATE NAMESPACE {DATABASE}")
    names: dict[str, dict[str, str]] = {"ours": {}, "plain": {}}
    for name, (columns, rows) in TABLES.items():
        names["ours"][name], names["plain"][name] = f"{DATABASE}.{name}", f"plain_boxes_{name}"
        spark.sql(f"CREATE TABLE {DATABASE}.{name} {columns}")
        spark.sql(f"INSERT INTO {DATABASE}.{name} {rows}")
        local_view(spark.table(f"{DATABASE}.{name}"), f"plain_boxes_{name}")
    yield names
    spark.sql(f"DROP NAMESPACE {DATABASE} CASCADE")


def kept(spark: SparkSession, query: str, names: dict[str, dict[str, str]]) -> dict[str, tuple[int, int]]:
    """Run a query, which has plain Spark's rows, and return what each step of the scan of f kept."""
    frame = spark.sql(query.format(**names["ours"]))
    rows, _ = plans.run(frame)
    assert plans.comparable(rows) == plainly(spark, query.format(**names["plain"]))
    scans = parquetry.report(frame).to_dict()["scans"]
    steps = next(each["steps"] for each in scans if each["table"] == f"{DATABASE}.f")
    return {each["name"]: (each["kept"], each["of"]) for each in steps}


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("title", SHAPES)
def test_shapes(spark: SparkSession, tables: dict[str, dict[str, str]], title: str, adaptive: bool) -> None:
    """Partitions and files are read that a row of the small table may match, and no others between them."""
    condition, partitions, files = SHAPES[title]
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        steps = kept(spark, f"SELECT count(*), sum(v) FROM {{f}} f JOIN {{d}} d ON {condition}", tables)
        assert steps["partitions"] == partitions
        assert files is None or steps["files"] == files


def test_semi_joins_and_outer_joins(spark: SparkSession, tables: dict[str, dict[str, str]]) -> None:
    """EXISTS prunes by boxes as well; of an outer join only the side whose rows need a match does."""
    exists = "SELECT count(*), sum(v) FROM {f} f WHERE {no}EXISTS (SELECT 1 FROM {d} d WHERE f.day BETWEEN d.day AND d.until)"
    for query, partitions in (
        (exists.replace("{no}", ""), 15),
        (exists.replace("{no}", "NOT "), 60),
        ("SELECT count(*), sum(v) FROM {d} d LEFT JOIN {f} f ON f.day BETWEEN d.day AND d.until", 15),
        ("SELECT count(*), sum(v) FROM {f} f LEFT JOIN {d} d ON f.day BETWEEN d.day AND d.until", 60),
    ):
        assert kept(spark, query, tables)["partitions"][0] == partitions, query


@pytest.mark.parametrize("adaptive", [True, False])
def test_subqueries_beside_or(spark: SparkSession, tables: dict[str, dict[str, str]], adaptive: bool) -> None:
    """IN and EXISTS beside OR leave what a value or the other condition allows. NOT prunes nothing."""
    query = "SELECT count(*), sum(v) FROM {f} f WHERE "
    for condition, partitions in (
        ("day IN (SELECT day FROM {d}) OR x = 4", 20),
        ("(day IN (SELECT until FROM {d} WHERE id = 0) OR x = 4) AND v < 1000", 16),
        ("EXISTS (SELECT 1 FROM {d} d WHERE f.day BETWEEN d.day AND d.until) OR x = 4", 24),
        ("(day, x) IN (SELECT day, x FROM {d}) OR x = 4", 14),
        ("day IN (SELECT day FROM {d} WHERE id * 2 = 1) OR x = 4", 12),
        ("day NOT IN (SELECT until FROM {d}) OR x = 4", 60),
        ("NOT EXISTS (SELECT 1 FROM {d} d WHERE d.day = f.day) OR x = 4", 60),
        ("day IN (SELECT day FROM {d}) OR v < 10", 60),
    ):
        with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
            steps = kept(spark, query + condition, tables)
        assert steps["partitions"][0] == partitions, condition


def test_many_boxes(spark: SparkSession, tables: dict[str, dict[str, str]]) -> None:
    """If boxes are too many for conditions, neighbours become one. An empty small table skips all files."""
    query = "SELECT count(*), sum(v) FROM {f} f JOIN {many} m ON f.v BETWEEN m.first AND m.last"
    assert kept(spark, f"{query} WHERE m.first < 100", tables)["files"] == (10, 60)
    assert kept(spark, query, tables)["files"] == (60, 60)
    assert kept(spark, f"{query} WHERE m.first * 2 = 1", tables)["files"][0] == 0
