"""Conditions of every shape return the rows of plain Spark; statistics cannot answer most of
the conditions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from operator import and_, or_
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql.functions import col

import parquetry
from tests.support.effort import sampled
from tests.support.tables import filtered

Rows = Callable[[str], list[tuple[Any, ...]]]

# Spark 4.3.0 fails with an internal error when it translates AND, OR or NOT over a NULL or a CAST for a data
# source
_CONDITIONS = (
    "coalesce(tiny = 300, true)", "(b AND NULL) IS NULL", "coalesce(b OR NULL, id = 2)", "NOT (b AND NULL)",
    "coalesce(f < CAST('NaN' AS DOUBLE), true)", "CAST(s AS BOOLEAN) OR id = 5", "NOT CAST(s AS BOOLEAN) OR id = 2",
    "coalesce(b, true) OR id = 7", "if(b, true, false) OR id = 7", "nullif(b, false) OR id = 3", "b = (id = 1)",
    "CASE WHEN b THEN true END OR id = 4", "isnan(f) OR id = 1", "s RLIKE 'x' OR id = 1", "(id = 1) IN (true, NULL)",
    "id IN (SELECT max(id) FROM {0}) OR b", "EXISTS (SELECT 1 FROM {0} x WHERE x.id = id + 1)", "NOT (b <=> NULL)",
    "tiny IN (1, 300)", "coalesce(NOT tiny IN (1, 300, NULL), true)", "s LIKE '%u_' OR id = 1", "length(s) = 4",
    "nanvl(f, 1.0) = 1", "abs(id) = 1 OR id % 2 = 0 AND -id < 5", "concat(s, 'x') = 'truex'", "p + 1 = 2 AND NOT b",
    "date_add(DATE'2020-01-01', id) > DATE'2020-01-02'", "p = 1 AND coalesce(tiny = 300, true)", "b > (id = 3)",
)  # fmt: skip
_AGGREGATES = (
    "count_if(tiny = 300)", "sum(CASE WHEN tiny = 300 THEN 1 END)", "max(b AND NULL)", "max(CAST(s AS BOOLEAN) OR b)",
    "count(nullif(b OR NULL, false))", "count(*) FILTER (WHERE tiny = 300)", "bool_or(b)", "min(struct(id))",
    "count(id, s)", "count(DISTINCT b)", "count(*) + max(id)", "max(id), max(id), count(*)",
)  # fmt: skip


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[tuple[str, str]]:
    """A table of Parquetry's and one of plain Spark's with the same rows."""
    spark.sql("CREATE NAMESPACE lake.conditions")
    columns = "id int, tiny tinyint, b boolean, s string, f float, p int"
    spark.sql(f"CREATE TABLE lake.conditions.t ({columns}) PARTITIONED BY (p)")
    spark.sql(
        "INSERT INTO lake.conditions.t VALUES (1, 1, true, 'true', 1.0, 1), (2, NULL, NULL, NULL, NULL, 1),"
        " (3, 7, false, 'false', CAST('NaN' AS FLOAT), 2), (4, -1, true, 'true', -0.0, NULL)"
    )
    spark.sql("DROP TABLE IF EXISTS spark_catalog.default.conditions")
    spark.sql(
        "CREATE TABLE spark_catalog.default.conditions USING parquet AS SELECT * FROM lake.conditions.t"
    )
    yield "lake.conditions.t", "spark_catalog.default.conditions"
    spark.sql("DROP TABLE spark_catalog.default.conditions")
    spark.sql("DROP NAMESPACE lake.conditions CASCADE")


def test_conditions_that_no_source_understands_are_evaluated_by_spark(
    spark: SparkSession, tables: tuple[str, str]
) -> None:
    """Conditions with casts, functions, subqueries and NULL cause no internal error, and return the rows of
    plain Spark.
    """
    found, expected = (
        filtered.found(spark, table, [condition.format(table) for condition in _CONDITIONS])
        for table in tables
    )
    assert filtered.differences(_CONDITIONS, found, expected) == []
    assert any(expected)
    told = str(parquetry.explain(f"SELECT id FROM {tables[0]} WHERE coalesce(tiny = 300, true)"))
    assert "knownnullable" not in told
    assert "coalesce(" in told


def test_elements_of_arrays_and_maps(spark: SparkSession, db: str) -> None:
    """Spark pushes down an element of an array although it has no SQL for it: the query still works, and its
    report names the element.
    """
    spark.sql(f"CREATE TABLE {db}.t (a array<double>, d double, m map<string, int>, s struct<x: array<int>>)")
    spark.sql(
        f"INSERT INTO {db}.t SELECT array(-0.0D, id), id, map('k', int(id)), struct(array(int(id))) FROM range(20)"
    )
    conditions = ["a[1] = 3", "m['k'] = 3", "s.x[0] = 3", "NOT a[1] <> 3 OR cast(a[1] AS string) = '3.0'"]
    assert filtered.found(spark, f"{db}.t", conditions, "d") == [[3.0]] * 4
    assert "not by a[1] = 3.0" in str(parquetry.report(spark.table(f"{db}.t").where("a[1] = 3")))


def test_aggregates_that_no_source_understands_are_computed_by_spark(
    spark: SparkSession, tables: tuple[str, str], rows: Rows
) -> None:
    """The same among the arguments of aggregates, their filters, and what they are grouped by."""
    asked = [f"{aggregate} FROM {{0}}" for aggregate in _AGGREGATES] + [
        f"count(*), max(id) FROM {{0}} GROUP BY {group}"
        for group in ("b OR NULL", "p, b", "CAST(s AS BOOLEAN) AND b", "ROLLUP(p)")
    ]
    query = " UNION ALL ".join(
        f"SELECT {number}, CAST(struct({one.replace(' FROM', ') AS STRING) FROM')}"
        for number, one in enumerate(asked)
    )
    ours, plain = (sorted(rows(query.format(table))) for table in tables)
    assert ours == plain


def test_a_delete_by_such_a_condition_takes_its_rows(
    spark: SparkSession, db: str, tables: tuple[str, str], rows: Rows
) -> None:
    """DELETE with a condition that no source understands keeps the rows that do not satisfy it in plain
    Spark.
    """
    ours, plain = tables
    spark.sql(f"CREATE TABLE {db}.fewer USING parquet PARTITIONED BY (p) AS SELECT * FROM {ours}")
    for condition in ("coalesce(tiny = 300, true) AND id > 2", "coalesce(tiny = 300, true)"):
        spark.sql(f"DELETE FROM {db}.fewer WHERE {condition}")
        left = rows(f"SELECT id FROM {plain} WHERE NOT coalesce({condition}, false) ORDER BY id")
        assert rows(f"SELECT id FROM {db}.fewer ORDER BY id") == left, condition


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_times_are_found_in_every_time_zone_of_the_machine(
    spark: SparkSession, db: str, rows: Rows, file_format: str
) -> None:
    """ORC means times on the clock of the JVM that reads: statistics of another zone's JVM lose no row."""
    zone = spark._jvm.java.util.TimeZone
    before = zone.getDefault()
    times = (
        "2024-03-10 07:30:00.123456",
        "2024-11-03 05:30:00",
        "1999-12-31 23:59:59.999999",
        "2024-06-01 00:00:00",
    )
    try:
        table = f"{db}.t"
        spark.sql(f"CREATE TABLE {table} (t timestamp, n timestamp_ntz) USING {file_format}")
        for written, time in zip(
            ("America/New_York", "Asia/Kolkata", "Pacific/Kiritimati", "UTC"), times, strict=True
        ):
            zone.setDefault(zone.getTimeZone(written))
            spark.sql(f"INSERT INTO {table} VALUES (TIMESTAMP'{time}', TIMESTAMP_NTZ'{time}')")
        for read in sampled(("Pacific/Pago_Pago", "UTC", "Asia/Kolkata"), file_format):
            zone.setDefault(zone.getTimeZone(read))
            found = spark.sql(f"SELECT CAST(t AS STRING), CAST(n AS STRING) FROM {table}").collect()
            assert sorted(row[1] for row in found) == sorted(t.removesuffix(".000000") for t in times)
            conditions = [
                condition
                for t, n in found
                for condition in (f"t = TIMESTAMP'{t}'", f"t <= TIMESTAMP'{t}'", f"t >= TIMESTAMP'{t}'",
                                  f"n = TIMESTAMP_NTZ'{n}'", f"n < TIMESTAMP_NTZ'{n}'")
            ]  # fmt: skip
            (truth,) = rows(f"SELECT {', '.join(f'count_if({each})' for each in conditions)} FROM {table}")
            numbers = [len(each) for each in filtered.found(spark, table, conditions, "n")]
            assert dict(zip(conditions, numbers, strict=True)) == dict(zip(conditions, truth, strict=True)), (
                read
            )
    finally:
        zone.setDefault(before)


@pytest.mark.parametrize("file_format", ["parquet", "orc"])
def test_null_of_a_field_within_a_struct(spark: SparkSession, db: str, file_format: str) -> None:
    """A struct that is NULL has NULL for its fields; ORC's statistics of these count none."""
    table = f"{db}.nested_{file_format}"
    values = "(1, named_struct('a', 1, 'b', named_struct('c', 'x'))), (2, NULL), (3, named_struct('a', 3, 'b', NULL))"
    spark.sql(f"CREATE TABLE {table} (id INT, s STRUCT<a: INT, b: STRUCT<c: STRING>>) USING {file_format}")
    spark.sql(f"INSERT INTO {table} SELECT /*+ COALESCE(1) */ * FROM VALUES {values}")
    expected = {
        "s.a IS NULL": [2],
        "s.a <=> NULL": [2],
        "NOT (s.a IS NOT NULL)": [2],
        "s.a IS NULL AND id = 2": [2],
        "s.a IS NULL OR s.a = 3": [2, 3],
        "s.b.c IS NULL": [2, 3],
        "NOT (s.a <=> 1)": [2, 3],
        "s.a IS NOT NULL": [1, 3],
        "NOT (s.a = 1)": [3],
        "s IS NULL": [2],
    }
    assert dict(zip(expected, filtered.found(spark, table, [*expected]), strict=True)) == expected


@pytest.mark.parametrize("negated", [False, True])
def test_long_chains(spark: SparkSession, db: str, negated: bool) -> None:
    """Long chains by `reduce(or_, …)` and `reduce(and_, …)` nest as deeply as they have terms; they still
    prune and answer.
    """
    table = f"{db}.chains"
    spark.sql(f"CREATE TABLE {table} (id INT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), CAST(id % 10 AS INT) FROM range(40)")
    found = [(col("p") == n) & (col("id") > n) for n in range(8, 158)]
    chain = reduce(or_, found) if not negated else ~reduce(and_, [~each for each in found])
    query = spark.table(table).where(chain)
    assert sorted(row.id for row in query.collect()) == [18, 19, 28, 29, 38, 39]
    partitions = parquetry.report(query).scans[0].step("partitions")
    assert partitions is not None
    assert (partitions.kept, partitions.of) == (2, 10)


def test_conditions_deeper_than_a_plan_goes(spark: SparkSession, db: str) -> None:
    """Spark evaluates conditions that are too deep for the planner."""
    table = f"{db}.deep"
    spark.sql(f"CREATE TABLE {table} (id INT, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} SELECT CAST(id AS INT), CAST(id % 10 AS INT) FROM range(40)")
    text = "id >= 0"
    for n in range(110):
        text = (
            f"({text}) {'OR' if n % 2 else 'AND'} {'p' if n % 3 else 'id'} {'=' if n % 2 else '!='} {n % 7}"
        )
    query = spark.sql(f"SELECT id FROM {table} WHERE {text}")
    expected = spark.range(40).selectExpr("CAST(id AS INT) id", "CAST(id % 10 AS INT) p").where(text)
    assert sorted(row.id for row in query.collect()) == sorted(row.id for row in expected.collect())


def test_forms_that_are_known_by_their_text(spark: SparkSession, rows: Rows, db: str) -> None:
    """EXTRACT of a day and of a month are two conditions about a column, and the report tells which."""
    table = f"{db}.dates"
    spark.sql(f"CREATE TABLE {table} (d DATE, p INT) PARTITIONED BY (p)")
    spark.sql(f"INSERT INTO {table} SELECT date_add(DATE '2020-01-01', CAST(id AS INT)), 1 FROM range(366)")
    query = spark.sql(f"SELECT d FROM {table} WHERE day(d) = 1 AND month(d) = 3")
    assert [str(row.d) for row in query.collect()] == ["2020-03-01"]
    notes = [note.condition for step in parquetry.report(query).scans[0].steps for note in step.not_by]
    assert any("DAY" in note for note in notes)
    assert any("MONTH" in note for note in notes)
    spark.sql(f"DELETE FROM {table} WHERE day(d) = 1")
    assert rows(f"SELECT count(d), count_if(day(d) = 1) FROM {table}") == [(354, 0)]


def _each(text: str, word: str, count: int = 15) -> str:
    return f" {word} ".join(text.format(number) for number in range(count))


@pytest.mark.parametrize(
    ("condition", "lists"),
    [
        (_each("id = {}", "OR"), 1),
        (_each("{} = id", "OR") + " OR id IS NULL", 1),
        (_each("id <> {}", "AND", 3), 0),
        (_each("id <> {}", "AND") + " AND b", 1),
        (_each("NOT (id + 1 = {})", "AND"), 1),
        (f"NOT ({_each('tiny = {}', 'OR')})", 1),
        (f"coalesce({_each('tiny = {}', 'OR')} OR tiny = NULL, true)", 1),
        (_each("s = '{}'", "OR") + f" OR {_each('id = {}', 'OR', 2)} OR {_each('p = {}', 'OR')}", 2),
        ("p = 1 AND (" + _each("s = '{}'", "OR") + " OR s = 'true')", None),
        (_each("f = {}", "OR") + " OR f = CAST('NaN' AS FLOAT) OR f = -0.0", 0),
        (f"({_each('id = {}', 'OR')}) AND {_each('tiny <> {}', 'AND')}", 2),
        (f"id IN (SELECT id FROM {{0}} WHERE {_each('tiny = {}', 'OR')})", None),
        (_each("b = ({} = 1)", "OR"), None),
    ],
)
def test_many_equalities_are_a_list(
    spark: SparkSession, rows: Rows, tables: tuple[str, str], condition: str, lists: int | None
) -> None:
    """OR of many equalities of one expression, and AND of many inequalities, are looked up in a set."""
    ours, plain = (f"SELECT * FROM {table} WHERE {condition.replace('{0}', table)}" for table in tables)
    assert sorted(map(repr, rows(ours))) == sorted(map(repr, rows(plain)))
    if lists is not None:
        plan = str(spark.sql(ours)._jdf.queryExecution().optimizedPlan())
        assert plan.count("INSET") + plan.count(" IN (") == lists, plan
