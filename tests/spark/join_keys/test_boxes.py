"""Values of a join that bound columns prune as boxes: each row of the small table by itself, not the hull of
all, and the answers are plain Spark's.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import parquetry
from tests.support.effort import examples
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


NULLS = {
    "nullable": (
        "(a int, b int, r double, day date) PARTITIONED BY (day)",
        "SELECT IF(id % 5 = 0, NULL, int(id)) a, IF(id % 3 = 0, NULL, int(id % 7)) b, "
        "IF(id % 4 = 0, double('NaN'), id / 4) r, IF(id < 8, NULL, date_add(date'2026-01-01', int(id DIV 8))) day "
        "FROM range(64)",
    ),
    "small": (
        "(a int, b int, r double, day date, until date)",
        "VALUES (5, NULL, double('NaN'), NULL, NULL), (NULL, 3, 4.5D, date'2026-01-03', date'2026-01-04'), "
        "(2147483647, 1, -0.0D, date'2026-01-06', NULL), (17, 6, NULL, NULL, date'2026-01-02')",
    ),
}
ATOMS = [
    "f.a <=> NULL", "f.a <=> d.a", "f.b <=> d.b", "f.r <=> d.r", "f.day <=> d.day", "f.a = d.a", "f.r = d.r",
    "f.r >= d.r", "f.a BETWEEN d.b AND d.a", "f.day BETWEEN d.day AND d.until", "f.a + 1 = d.a", "f.a + 1 > d.a",
    "f.a - d.b < 3", "f.day + 1 = d.until", "date_add(f.day, 1) <=> d.until", "f.b IS NULL", "f.day IS NULL",
    "-f.a = d.b", "coalesce(f.b, 9) = d.b", "greatest(f.a, f.b) <= d.b",
]  # fmt: skip
"""Conditions on the rows of both tables, which a random condition joins."""


def random_condition(chance: random.Random, depth: int = 2) -> str:
    """Return a condition of one to eight atoms."""
    if not depth or chance.random() < 0.3:
        return chance.choice(ATOMS)
    word = chance.choice([" AND ", " OR "])
    return f"({word.join(random_condition(chance, depth - 1) for _ in range(2))})"


def test_random_conditions(spark: SparkSession) -> None:
    """Random conditions with NULL, NaN, `<=>` and the end of integers have plain Spark's rows, as joins and
    as subqueries beside OR, with ANSI's errors or without.
    """
    spark.sql(f"CREATE NAMESPACE {DATABASE}_random")
    for name, (columns, rows) in NULLS.items():
        spark.sql(f"CREATE TABLE {DATABASE}_random.{name} {columns}")
        spark.sql(f"INSERT INTO {DATABASE}_random.{name} {rows}")
        local_view(spark.table(f"{DATABASE}_random.{name}"), f"plain_random_{name}")
    chance = random.Random(47)
    for number in range(examples(60, least=12)):
        on, more, last = (random_condition(chance, depth) for depth in (2, 1, 0))
        exists = "EXISTS (SELECT 1 FROM {small} d WHERE %s)"
        condition = chance.choice(
            [exists % on, f"({exists % on} OR {exists % more})", f"({exists % on} OR f.a = 5) AND f.r > 1",
             f"({exists % on} AND {exists % more}) OR {exists % last}", f"NOT {exists % on} OR {exists % more}"]
        )  # fmt: skip
        query = f"SELECT count(*), sum(a), sum(b) FROM {{nullable}} f WHERE {condition}"
        if number % 2:
            query = f"SELECT count(*), sum(f.a), sum(d.b) FROM {{nullable}} f JOIN {{small}} d ON {on}"
        with settings(spark, {"spark.sql.ansi.enabled": number % 3 > 0}):
            ours, plain = (
                query.format(**{name: prefix + name for name in NULLS})
                for prefix in (f"{DATABASE}_random.", "plain_random_")
            )
            try:
                expected = plainly(spark, plain)
            except PySparkException:  # Spark infers sums of the small table's values, which overflow
                continue
            assert spark.sql(ours).collect() == expected, query
    spark.sql(f"DROP NAMESPACE {DATABASE}_random CASCADE")


def test_two_subqueries_beside_or(spark: SparkSession, tables: dict[str, dict[str, str]]) -> None:
    """Several subqueries beside one OR leave what a value of any allows; of an AND of two, one is used."""
    query = "SELECT count(*), sum(v) FROM {f} f WHERE "
    for condition, partitions in (
        ("day IN (SELECT day FROM {d}) OR x IN (SELECT x + 2 FROM {d})", 40),
        ("day IN (SELECT day FROM {d}) OR x IN (SELECT id FROM {d}) OR x = 4", 30),
        ("(day, x) IN (SELECT day, x FROM {d}) OR day IN (SELECT until FROM {d} WHERE id = 0)", 7),
        ("(day IN (SELECT day FROM {d}) AND x IN (SELECT x FROM {d})) OR v < 10", 60),
        ("(day IN (SELECT day FROM {d}) AND x IN (SELECT x FROM {d})) OR x IN (SELECT id FROM {d})", 20),
        ("v IN (SELECT id FROM {d}) OR v - 1 IN (SELECT id + 300 FROM {d})", 60),
    ):
        steps = kept(spark, query + condition, tables)
        assert steps["partitions"][0] == partitions, condition
    assert steps["files"] == (6, 60)
