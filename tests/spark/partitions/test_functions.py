"""Conditions on partition columns that need a function never keep more partitions than Spark's
own tables do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession, functions as sf

import parquetry
from tests.support.effort import sampled

pytestmark = pytest.mark.core

Rows = Callable[..., list[tuple[Any, ...]]]

TABLES = {
    "ev": (
        "ds STRING, region STRING",
        "SELECT id, id % 7 AS v, CAST(date_add(DATE'2026-08-20', CAST(id / 3 AS INT)) AS STRING) AS ds, "
        "CASE id % 3 WHEN 0 THEN 'eu' WHEN 1 THEN 'Us' END AS region FROM range(180)",
    ),
    "evd": (
        "d DATE",
        "SELECT id, id % 7 AS v, date_add(DATE'2025-11-20', CAST(id AS INT)) AS d FROM range(90)",
    ),
    "ymd": (
        "year INT, month SMALLINT, day BIGINT",
        "SELECT id, id % 7 AS v, year(d) AS year, CAST(month(d) AS SMALLINT) AS month, CAST(day(d) AS BIGINT) AS day "
        "FROM (SELECT id, date_add(DATE'2025-12-01', CAST(id AS INT)) AS d FROM range(70))",
    ),
    "evt": (
        "t TIMESTAMP, price DECIMAL(6,2), f DOUBLE, flag BOOLEAN",
        "SELECT id, id % 7 AS v, TIMESTAMP'2026-09-25 22:30:00' + make_interval(0, 0, 0, 0, CAST(id * 5 AS INT)) AS t, "
        "CAST(id / 4 AS DECIMAL(6,2)) AS price, IF(id % 9 = 0, double('NaN'), id / 8.0D) AS f, "
        "IF(id % 5 = 0, NULL, id % 2 = 0) AS flag FROM range(60)",
    ),
}
"""The partition columns of each table, and its rows."""

EXPRESSIONS: dict[str, list[tuple[list[str], list[str]]]] = {
    "ev": [
        (
            ["substr(ds, 1, 7)", "left(ds, 7)", "substring(ds, 0, 7)", "date_format(ds, 'yyyy-MM')"],
            [
                "= '2026-09'",
                "> '2026-09'",
                "<= '2026-08'",
                "IN ('2026-08', '2026-10')",
                "!= '2026-09'",
                "LIKE '%-09'",
            ],
        ),
        (
            ["substr(ds, 1, 3)", "substr(ds, 6, 2)", "right(ds, 2)", "split(ds, '-')[1]"],
            ["= '09'", "< '1'", "= '202'"],
        ),
        (
            ["CAST(ds AS DATE)", "to_date(ds)", "ds"],
            ["= DATE'2026-09-03'", ">= DATE'2026-10-01'", "BETWEEN DATE'2026-09-28' AND DATE'2026-10-02'"],
        ),
        (["date_trunc('month', ds)"], ["= TIMESTAMP'2026-09-01'", "> TIMESTAMP'2026-09-01'"]),
        (
            ["year(ds)", "month(ds)", "day(ds)", "dayofweek(ds)", "quarter(ds)"],
            ["= 9", "IN (1, 3, 2026)", ">= 4"],
        ),
        (
            ["CAST(replace(ds, '-', '') AS INT)", "hash(ds) % 10", "length(ds)"],
            [">= 20261001", "= 0", "= 10"],
        ),
        (
            ["concat(ds, '')", "reverse(reverse(ds))", "trim(ds)", "ds || ''"],
            ["= '2026-09-01'", "< '2026-09-01'"],
        ),
        (
            [
                "upper(region)",
                "lower(region)",
                "coalesce(region, 'x')",
                "nvl(region, 'Eu')",
                "initcap(region)",
            ],
            ["= 'EU'", "= 'eu'", "= 'x'", "IN ('EU', 'Us')", "!= 'eu'", "IS NULL", "<=> NULL", "LIKE '_u'"],
        ),
        (
            ["element_at(map('eu', 1, 'Us', 2), region)", "CASE region WHEN 'eu' THEN 1 ELSE 2 END"],
            ["= 1", "> 1"],
        ),
    ],
    "evd": [
        (
            ["year(d)"],
            ["= 2026", "!= 2026", "< 2026", ">= 2026", "IN (2024, 2025)", "= 2025.0", "<=> 2026", "> 2030"],
        ),
        (["month(d)", "extract(MONTH FROM d)", "quarter(d)"], ["= 12", "IN (1, 2)", "> 4"]),
        (
            ["last_day(d)", "d + 1", "date_add(d, 3)", "add_months(d, 1)"],
            ["= DATE'2025-12-31'", ">= DATE'2026-01-01'"],
        ),
        (
            ["trunc(d, 'MM')", "trunc(d, 'YEAR')", "date_trunc('week', d)"],
            ["= DATE'2026-01-01'", "< DATE'2025-12-01'"],
        ),
        (["substr(d, 1, 7)", "date_format(d, 'yyyy-MM')"], ["= '2026-01'", "> '2025-12'"]),
        (["CAST(d AS TIMESTAMP)"], [">= TIMESTAMP'2026-01-31 12:00:00'", "< TIMESTAMP'2025-12-01'"]),
        (["date_diff(DATE'2026-02-01', d)", "weekday(d)"], ["<= 7", "= 0"]),
    ],
    "ymd": [
        (
            ["year + 0", "-year", "year * 100 + month", "CAST(year AS STRING)"],
            ["= 2026", "> 202512", "= '2026'", "< -2025"],
        ),
        (["year % 2", "day % 10", "abs(month - 6)"], ["= 0", "IN (1, 5)", "> 4"]),
        (["make_date(year, month, day)"], [">= DATE'2026-02-01'", "= DATE'2025-12-24'"]),
        (
            ["CAST(month AS BIGINT)", "CAST(day AS DECIMAL(20,1))", "CAST(year AS DOUBLE)"],
            ["= 1", "<= 2", "> 2025.5"],
        ),
    ],
    "evt": [
        (
            ["to_date(t)", "CAST(t AS DATE)"],
            ["= DATE'2026-10-01'", "> DATE'2026-10-05'", "IN (DATE'2026-09-26')"],
        ),
        (
            ["date_trunc('DAY', t)", "date_trunc('month', t)", "date_trunc('HOUR', t)"],
            ["= TIMESTAMP'2026-10-01'", ">= TIMESTAMP'2026-10-01'", "< TIMESTAMP'2026-09-26 08:00:00'"],
        ),
        (["year(t)", "month(t)", "hour(t)"], ["= 2026", "= 10", "> 12"]),
        (
            ["floor(price)", "price * 2", "CAST(price AS INT)", "CAST(price AS DECIMAL(10,3))"],
            ["= 3", ">= 20", "< 1.5"],
        ),
        (["f + 1", "isnan(f)", "try_cast(f AS INT)", "-f", "f * 0"], ["= 2", "> 5", "= true", "< -3"]),
        (["NOT flag", "flag AND price > 3", "coalesce(flag, true)", "flag <=> NULL"], ["", "IS NULL"]),
    ],
}
WHOLE: dict[str, list[str]] = {
    "ev": [
        "ds >= date_sub(DATE'2026-10-18', 7)",
        "(ds, region) IN (('2026-09-01', 'eu'), ('2026-09-02', 'Us'))",
        "(ds, region) NOT IN (('2026-09-01', 'eu'))",
        "region < ds",
        "greatest(ds, '2026-10-01') = ds",
        "NOT (substr(ds, 1, 7) = '2026-09')",
        "NOT (substr(ds, 1, 7) = '2026-09' OR upper(region) = 'EU')",
        "year(ds) = 2026 AND month(ds) = 9",
        "year(ds) = 2026 OR upper(region) = 'EU'",
        "(substr(ds, 1, 7) = '2026-09' AND id > 5) OR (ds = '2026-10-02' AND v > 3)",
        "(upper(region) = 'EU' AND id > 90) OR (ds = '2026-10-02' AND v > 3)",
        "substr(ds, 1, 7) = '2026-09' AND id > 5",
        "upper(region) = 'EU' OR id = 3",
        "IF(region IS NULL, ds > '2026-10', ds < '2026-09')",
        "nullif(region, 'eu') IS NULL",
        "contains(concat(ds, region), '1eu')",
        "ds = '2026-09-01' AND upper(region) = 'EU'",
        "upper(region) = 'EU' AND upper(region) = 'US'",
        "lower(NULL) = region",
        "rand() < 2 AND upper(region) = 'EU'",
        "try_cast(ds AS INT) > 3",
        "try_cast(region AS INT) IS NULL",
        "region RLIKE '^e'",
        "ds ILIKE '2026-09%'",
        "array_contains(array('eu', 'as'), region)",
        "exists(array('2026-09-01', '2026-09-02'), x -> x = ds)",
    ],
    "evd": [
        "year(d) = 2025 AND month(d) = 12",
        "d BETWEEN DATE'2025-12-30' AND date_add(DATE'2025-12-30', v)",
    ],
    "ymd": [
        "month BETWEEN day AND 12",
        "(year, month) IN ((2026, 1), (2025, 12))",
        "year = month + 2014",
        "year = 2025 AND day + month > 40",
    ],
    "evt": ["t > current_timestamp()", "price > f", "NOT flag AND year(t) = 2026"],
}

DAYS = ", ".join(f"'{day:02}'" for day in range(1, 13))
"""More values than Spark's optimizer leaves as a list."""


def predicates(table: str) -> list[str]:
    """Every expression with every end that it can be compared with, or a sample of these."""
    made = [
        f"{left} {right}" for lefts, rights in EXPRESSIONS[table] for left, right in product(lefts, rights)
    ]
    return [*sampled(made, table), *WHOLE[table]]


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[None]:
    """The same rows as Spark's own tables, and as ours."""
    spark.sql("CREATE NAMESPACE lake.functions")
    for name, (partitions, rows) in TABLES.items():
        by = ", ".join(column.split()[0] for column in partitions.split(", "))
        for table in (f"spark_catalog.default.fn_{name}", f"lake.functions.{name}"):
            spark.sql(
                f"CREATE TABLE {table} (id BIGINT, v BIGINT, {partitions}) USING parquet PARTITIONED BY ({by})"
            )
            spark.sql(f"INSERT INTO {table} {rows}")
    yield
    for name in TABLES:
        spark.sql(f"DROP TABLE spark_catalog.default.fn_{name}")
    spark.sql("DROP NAMESPACE lake.functions CASCADE")


def kept_by_spark(frame: DataFrame) -> int:
    """Count the partitions that Spark's own source reads."""
    waiting = [frame._jdf.queryExecution().executedPlan()]
    while waiting:
        node = waiting.pop()
        if node.getClass().getSimpleName() == "FileSourceScanExec":
            return int(node.selectedPartitions().partitionCount())
        children = node.children()
        waiting += [children.apply(i) for i in range(children.size())]
    return 0  # a contradiction is no scan


def kept_by_us(frame: DataFrame) -> int:
    """Count the partitions that our scan reads."""
    scans = parquetry.report(frame).scans
    step = scans[0].step("partitions") if scans else None
    return 0 if step is None else step.kept


class TestBesideSpark:
    """Never more partitions than Spark's own table keeps, and the same rows."""

    @pytest.mark.parametrize("table", list(TABLES))
    def test_partitions_kept(self, spark: SparkSession, tables: None, table: str) -> None:
        """Hundreds of conditions that need functions."""
        worse, compared = [], 0
        asked = predicates(table)
        for condition in asked:
            stock = spark.table(f"spark_catalog.default.fn_{table}")
            ours = spark.table(f"lake.functions.{table}")
            try:
                theirs = kept_by_spark(stock.where(condition))
            except Exception as error:
                if "DATATYPE_MISMATCH" in str(error) or "CAST_INVALID_INPUT" in str(error):
                    continue  # an expression does not go with every end
                raise
            compared += 1
            mine = kept_by_us(ours.where(condition))
            if mine > theirs:
                worse.append((condition, mine, theirs))
        assert worse == []
        assert compared > len(asked) // 2

    @pytest.mark.parametrize("table", list(TABLES))
    def test_rows(self, spark: SparkSession, tables: None, table: str) -> None:
        """Some hundred conditions in one query select the rows that satisfy them in Spark.

        Spark evaluates all of them on each row of its own table, so it can prune nothing there.
        """
        ours, stock = f"lake.functions.{table}", spark.table(f"spark_catalog.default.fn_{table}")
        conditions, tried = [], predicates(table)
        for condition in tried:
            if "CAST(ds AS INT)" in condition or "region AS INT" in condition:
                continue
            try:
                stock.where(condition)
            except Exception as error:
                if "DATATYPE_MISMATCH" in str(error):
                    continue
                raise
            conditions.append(condition)
        assert len(conditions) > len(tried) // 2
        expected, found = set(), set()
        for start in range(0, len(conditions), 40):
            asked = list(enumerate(conditions))[start : start + 40]
            for row in stock.select("id", *(sf.expr(condition) for _, condition in asked)).collect():
                expected |= {(n, row.id) for (n, _), holds in zip(asked, row[1:], strict=True) if holds}
            union = " UNION ALL ".join(f"SELECT {n} AS n, id FROM {ours} WHERE {each}" for n, each in asked)
            rows = [tuple(row) for row in spark.sql(union).collect()]
            assert len(rows) == len(set(rows))
            found |= set(rows)
        assert {conditions[n] for n, _ in found ^ expected} == set()
        assert found


class TestReport:
    """The report names the conditions that Spark evaluated."""

    def test_condition_is_named(self, spark: SparkSession, tables: None) -> None:
        """As it is written, with what it kept; a condition that kept nothing away says so."""
        frame = spark.sql(
            "SELECT * FROM lake.functions.ev WHERE substr(ds, 1, 7) = '2026-09' AND length(ds) = 10"
        )
        step = parquetry.report(frame).scans[0].step("partitions")
        assert step is not None
        assert (step.kept, step.of, step.by) == (90, 180, ("substr(ds, 1, 7) = '2026-09'",))
        assert [(note.condition, note.reason) for note in step.not_by] == [
            ("length(ds) = 10", "every partition may hold a match")
        ]

    @pytest.mark.parametrize(
        ("condition", "told"),
        [
            (
                "(ds, region) IN (('2026-09-01', 'eu'), ('2026-09-02', 'Us'))",
                "(ds, region) IN (('2026-09-01', 'eu'), ('2026-09-02', 'Us'))",
            ),
            (
                "(substr(ds, 6, 2), region) NOT IN (('09', 'eu'), ('08', 'Us'))",
                "(substr(ds, 6, 2), region) NOT IN (('09', 'eu'), ('08', 'Us'))",
            ),
            ("region NOT IN (ds, 'eu')", "region NOT IN (ds, 'eu')"),
            ("upper(region) IS NULL", "upper(region) IS NULL"),
            (f"substr(ds, 9, 2) IN ({DAYS})", f"substr(ds, 9, 2) IN ({DAYS})"),
            ("exists(array('eu'), x -> x = region)", "exists(ARRAY('eu'), x -> (x = region))"),
        ],
    )
    def test_condition_is_readable(
        self, spark: SparkSession, tables: None, condition: str, told: str
    ) -> None:
        """Lists, tuples and lambdas stand there as SQL has them."""
        step = parquetry.report(spark.table("lake.functions.ev").where(condition)).scans[0].step("partitions")
        assert step is not None
        assert step.by == (told,)

    @pytest.mark.needs("functions of partitions")
    def test_no_filter_is_left(self, spark: SparkSession, tables: None) -> None:
        """A condition that Spark evaluated over the partitions is not evaluated over rows again, and counts
        read no file.
        """
        frame = spark.sql("SELECT v FROM lake.functions.ev WHERE upper(region) = 'EU'")
        assert (
            "Filter" not in frame._jdf.queryExecution().executedPlan().toString().split("pushed filters")[0]
        )
        counted = spark.sql("SELECT count(*), min(ds) FROM lake.functions.ev WHERE upper(region) = 'EU'")
        assert counted.collect() == [(60, "2026-08-20")]
        files = parquetry.report(counted).scans[0].step("files")
        assert files is not None
        assert (files.kept, files.by) == (0, ("answered by the metastore",))

    def test_what_cannot_be_evaluated_is_left_to_spark(
        self, spark: SparkSession, tables: None, rows: Rows
    ) -> None:
        """A cast that fails for one partition fails only where Spark gets to it."""
        sql = "SELECT count(*) FROM lake.functions.ev WHERE ds = '2026-09-01' AND "
        assert rows(f"{sql} (id < 1000 OR CAST(region AS INT) = 1)") == [(3,)]
        with pytest.raises(Exception, match="CAST_INVALID_INPUT"):
            rows(f"{sql} CAST(region AS INT) = 1")


class TestKeyRanges:
    """A function that keeps the order of its column becomes a range of keys."""

    @pytest.mark.parametrize(
        ("table", "condition", "most"),
        [
            ("evd", "year(d) = 2026 AND month(d) = 1", 60),
            ("evd", "trunc(d, 'MM') = DATE'2026-01-01'", 35),
            ("evd", "CAST(d AS TIMESTAMP) >= TIMESTAMP'2026-02-10 12:00:00'", 12),
            ("ev", "substr(ds, 1, 7) = '2026-08'", 40),
            ("ev", "left(ds, 7) IN ('2026-08', '2026-10') AND upper(region) = 'EU'", 90),
            ("evt", "to_date(t) = DATE'2026-10-01'", 20),
            ("evt", "date_trunc('DAY', t) = TIMESTAMP'2026-10-01'", 20),
            ("ymd", "CAST(year AS DOUBLE) > 2025.5", 40),
        ],
    )
    def test_few_partitions_are_evaluated(
        self,
        spark: SparkSession,
        tables: None,
        monkeypatch: pytest.MonkeyPatch,
        table: str,
        condition: str,
        most: int,
    ) -> None:
        """Spark gets few values, not the values of all partitions, and none if it inverts the condition
        itself.
        """
        from parquetry.planner import planner
        from parquetry.planner.protocol import questions
        from parquetry.planner.scans import scans

        given: list[int] = []

        def counting(lake: Any, question: Any) -> Any:
            answer = scans.partition_values(lake, question)
            given.extend(map(len, answer.values))
            return answer

        monkeypatch.setitem(planner._ANSWERS, questions.PartitionValues, counting)
        frame = spark.table(f"lake.functions.{table}").where(condition)
        assert 0 < kept_by_us(frame) <= most
        assert max(given, default=0) <= most


class TestRunTime:
    """Values that are known when the query runs."""

    def test_scalar_subquery_under_a_cast(self, spark: SparkSession, tables: None, rows: Rows) -> None:
        """Evaluated over the partitions' values as soon as the subquery's is known."""
        sql = "SELECT id FROM lake.functions.ev WHERE CAST(ds AS DATE) >= (SELECT max(d) - 125 FROM lake.functions.evd)"
        frame = spark.sql(sql)
        assert len(frame.collect()) == len(
            rows(sql.replace("lake.functions.ev ", "spark_catalog.default.fn_ev "))
        )

    def test_join_of_other_types(self, spark: SparkSession, tables: None) -> None:
        """A join's values meet a cast of the partition column: only their partitions are read."""
        with_values = spark.sql(
            "SELECT a.id FROM lake.functions.ymd a JOIN (SELECT CAST(id AS DECIMAL(20,0)) AS m FROM range(12) "
            "WHERE id % 12 = 2) b ON CAST(a.month AS DECIMAL(20,0)) = b.m"
        )
        assert len(with_values.collect()) == 8


class TestStatements:
    """DELETE and REPLACE WHERE by conditions that need functions."""

    @pytest.fixture
    def table(self, spark: SparkSession, db: str) -> str:
        """Three months of a region or none."""
        name = f"{db}.t"
        spark.sql(
            f"CREATE TABLE {name} (id BIGINT, ds STRING, region STRING) USING parquet PARTITIONED BY (ds, region)"
        )
        spark.sql(
            f"INSERT INTO {name} SELECT id, CAST(add_months(DATE'2026-01-15', CAST(id / 3 AS INT)) AS STRING), "
            "CASE id % 3 WHEN 0 THEN 'eu' WHEN 1 THEN 'Us' END FROM range(9)"
        )
        return name

    def test_replace_where_by_dataframe(self, spark: SparkSession, rows: Rows, table: str) -> None:
        """The same through writeTo."""
        frame = spark.createDataFrame([(51, "2026-03-01", None)], "id BIGINT, ds STRING, region STRING")
        frame.writeTo(table).overwrite(sf.month("ds") >= 2)
        assert rows(f"SELECT id FROM {table} ORDER BY id") == [(i,) for i in (0, 1, 2, 51)]
