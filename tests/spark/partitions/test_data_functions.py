"""Conditions on functions of data columns read the files that hold a row."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from pyspark.errors import ArithmeticException, NumberFormatException
from pyspark.sql import SparkSession

import parquetry
from tests.support.effort import portion

Rows = Callable[[str], list[tuple[Any, ...]]]

FILES = 24
_ROWS = (
    "SELECT CAST(id AS INT) AS id, ts, lpad(CAST(id AS STRING), 8, '0') AS code, CAST(ts AS DATE) AS day, "
    "concat('a/', lpad(CAST(id AS STRING), 8, '0'), '.x ') AS path, "
    "IF(id % 3 = 0, NULL, CAST(id AS INT)) AS gappy, CAST(id / 4 AS DECIMAL(9,2)) AS price, id / 8.0D AS f, "
    "date_add(DATE'2026-03-01', CAST(id DIV 100 AS INT)) AS batch, concat('no ', id DIV 100) AS label "
    "FROM (SELECT id, TIMESTAMP'2026-01-01 00:00:00' + make_interval(0, 0, 0, 0, 0, CAST(id * 25 AS INT)) AS ts "
    f"FROM range({FILES * 100}))"
)

CONDITIONS = (
    # of the list of requests that people made of other formats
    "CAST(ts AS DATE) = DATE'2026-01-05'",
    "date(ts) IN (DATE'2026-01-03', DATE'2026-01-09')",
    "ts >= '2026-02-10'",
    "date_format(ts, 'yyyy-MM-dd') = '2026-01-05'",
    "date_trunc('day', ts) = TIMESTAMP'2026-01-05 00:00:00'",
    "date_trunc('hour', ts) = TIMESTAMP'2026-01-05 03:00:00'",
    "to_date(ts) BETWEEN '2026-01-05' AND '2026-01-06'",
    "unix_timestamp(ts) > 1770000000",
    "year(ts) = 2026 AND month(ts) = 2",
    "ts + INTERVAL 1 DAY > TIMESTAMP'2026-02-11 00:00:00'",
    "datediff(DATE'2026-01-10', ts) = 3",
    "try_cast(code AS INT) = 777",
    "substr(code, 1, 6) = '000012'",
    "code LIKE '000012%'",
    "code LIKE '000012_5'",
    "code RLIKE '^000012[0-9]5$'",
    "regexp_like(code, '^00000777')",
    "code RLIKE '^(00000777|000012.5$)'",
    "NOT code RLIKE '^0000[01]'",
    "split(path, '[/]')[1] = '00000777.x '",
    "split_part(path, '/', 2) IN ('00000777.x ', '00001205.x ')",
    "substring_index(path, '.', 1) = 'a/00000777'",
    "trim(path) = 'a/00000777.x'",
    "instr(path, 'a/000012') = 1",
    "upper(path) LIKE 'A/000012%'",
    "find_in_set(code, '00000777,00001205') > 0",
    "exists(array('00000777', '0000120'), x -> startswith(code, x))",
    "path LIKE ANY ('a/0000077_.%', 'a/000012%x ')",
    "arrays_overlap(array(id, gappy), array(5, 1205))",
    "5 IN (id, gappy)",
    "array_contains(array(5, 1205), id)",
    "array_contains(array(5, 1205, NULL), id + 1)",
    "code < CAST(X'FF' AS STRING) AND id < 9",
    "concat(code, '') = '00000777'",
    "code || 'x' = '00000777x'",
    "id + 1 = 777",
    "id * 2 > 4750",
    "id - 5 BETWEEN 10 AND 12",
    "-id > -10",
    "abs(id) < 10",
    "id / 10 > 235",
    "CAST(id AS STRING) = '777'",
    "CAST(id AS DOUBLE) > 2350.5",
    "id = 777L OR code = '00000778'",
    "day = DATE'2026-01-05'",
    "day = '2026-01-05'",
    "CAST(day AS TIMESTAMP) >= TIMESTAMP'2026-02-10 00:00:00'",
    "day >= TIMESTAMP'2026-02-10 12:00:00'",
    "coalesce(id, -1) = 777",
    "nvl(id, 0) > 2390",
    "greatest(id, 0) < 9",
    "(id, code) IN ((777, '00000777'), (5, '00000005'))",
    "struct(id, code) = struct(777, '00000777')",
    "year(day) = 2026 AND dayofyear(day) = 5",
    "last_day(day) = DATE'2026-01-31'",
    "add_months(day, 1) = DATE'2026-02-05'",
    # the same kinds
    "coalesce(gappy, -1) = 778",
    "coalesce(gappy, 777) = 1",
    "ifnull(gappy, id) IN (5, 1205)",
    "id + 1 IN (5, 1205, 9999)",
    "3 * id - 7 <= 20",
    "id % 1000 = 7",
    "floor(price) = 17",
    "round(f, 1) = 12.5D",
    "price * 2 > 1190",
    "CAST(price AS INT) = 400",
    "least(id, 5000) > 2390",
    "CASE WHEN id < 100 THEN 'a' WHEN id < 200 THEN 'b' ELSE 'c' END = 'b'",
    "if(id > 2350, 1, 0) = 1",
    "hour(ts) = 3 AND date(ts) = DATE'2026-01-07'",
    "date_trunc('MONTH', ts) = TIMESTAMP'2026-02-01 00:00:00'",
    "trunc(day, 'MM') = DATE'2026-02-01'",
    "date_add(day, 7) = DATE'2026-01-12'",
    "day - INTERVAL 2 DAYS >= DATE'2026-02-08'",
    "ts - INTERVAL 1 MONTH < TIMESTAMP'2025-12-02 00:00:00'",
    "timestampadd(HOUR, 5, ts) < TIMESTAMP'2026-01-01 06:00:00'",
    "weekofyear(ts) = 2",
    "left(code, 6) IN ('000000', '000023')",
    "lower(concat('X', code)) = 'x00000777'",
    "NOT (coalesce(id, 0) >= 100)",
    "id + 1 < gappy + 1",
    "from_unixtime(unix_timestamp(ts), 'yyyy-MM-dd') = '2026-01-05'",
    # functions of columns with one value in each file, which Spark evaluates
    "dayname(batch) = 'Mon'",
    "next_day(batch, 'MON') = DATE'2026-03-09'",
    "date_format(batch, 'dd.MM.yyyy') IN ('05.03.2026', '07.03.2026')",
    "concat_ws('-', year(batch), month(batch), day(batch)) = '2026-3-5'",
    "CAST(label AS BINARY) = X'6E6F2037'",
    "initcap(label) = 'No 7' AND id % 2 = 0",
    "map('no 3', 1, 'no 5', 2)[label] = 2",
    "label LIKE 'no _' AND label RLIKE '[57]$'",
    "md5(concat(label, batch)) = md5('no 72026-03-08')",
    "levenshtein(label, 'no 12') < 2 AND dayofweek(batch) = 3",
    # further functions by their bounds
    "f BETWEEN 12 AND 13",
    "floor(f) = 30",
    "replace(path, '/0000', '=') = 'a=0777.x '",
    "regexp_replace(path, '[.]x', '') = 'a/00000777 '",
    "translate(path, '/.', '__') = 'a_00000777_x '",
    "regexp_extract(path, '^a/([0-9]+)', 1) = '00000777'",
    "rpad(code, 10, 'x') = '00000777xx'",
    "concat_ws('|', code, path) LIKE '00000777|%'",
    "lpad(CAST(id AS STRING), 6, '0') = '000777'",
    "CAST(price AS STRING) = '194.25'",
    "timestampdiff(DAY, TIMESTAMP'2026-01-01 00:00:00', ts) = 20",
    "datediff(HOUR, ts, TIMESTAMP'2026-02-01 00:00:00') < -200",
    "months_between(ts, DATE'2025-12-01') > 2.55",
    "from_utc_timestamp(ts, 'Asia/Tokyo') < TIMESTAMP'2026-01-01 10:00:00'",
    "exp(f) < 10",
    "ln(f + 1) < 1",
    "power(f, 2) < 4",
    "id >> 4 = 3",
    "id & 4095 = 777",
    "(id | 0) = 777",
    "price % 1000 > 598",
)
"""Conditions on a table of 24 files, each with 100 rows of following numbers and times."""

MORE = {
    "id + 1 < gappy + 1": FILES,
    "try_cast(code AS INT) = 777": FILES,
    "hour(ts) = 3 AND date(ts) = DATE'2026-01-07'": 2,
}
"""The files that conditions read if bounds cannot tell more."""


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[tuple[str, str]]:
    """A table of Parquetry's with 24 files, and one of plain Spark's with the same rows."""
    spark.sql("CREATE NAMESPACE lake.expressions")
    columns = (
        "id INT, ts TIMESTAMP, code STRING, day DATE, path STRING, gappy INT, price DECIMAL(9,2), f DOUBLE, "
        "batch DATE, label STRING"
    )
    spark.sql(f"CREATE TABLE lake.expressions.t ({columns})")
    spark.sql(
        f"INSERT INTO lake.expressions.t SELECT /*+ REPARTITION_BY_RANGE({FILES}, id) */ * FROM ({_ROWS})"
    )
    spark.sql("DROP TABLE IF EXISTS spark_catalog.default.expressions")
    spark.sql(f"CREATE TABLE spark_catalog.default.expressions USING parquet AS {_ROWS}")
    yield "lake.expressions.t", "spark_catalog.default.expressions"
    spark.sql("DROP TABLE spark_catalog.default.expressions")
    spark.sql("DROP NAMESPACE lake.expressions CASCADE")


def files_read(spark: SparkSession, table: str, condition: str) -> int:
    """Return how many files a query with a condition is planned to read."""
    report = parquetry.report(spark.sql(f"SELECT * FROM {table} WHERE {condition}"))
    (scan,) = report.scans
    step = scan.step("files")
    assert step is not None
    return step.kept


def test_files_that_hold_a_row(spark: SparkSession, tables: tuple[str, str]) -> None:
    """Each condition reads the files that hold a row of it, and its rows are the rows of plain Spark."""
    ours, plain = tables
    conditions = portion(CONDITIONS, 2, "data functions")
    holds = ", ".join(f"bool_or({condition}) AS c{i}" for i, condition in enumerate(conditions))
    by_file = spark.sql(f"SELECT {holds} FROM {ours} GROUP BY _file").collect()
    assert len(by_file) == FILES
    least = {condition: sum(row[i] is True for row in by_file) for i, condition in enumerate(conditions)}
    read = {condition: files_read(spark, ours, condition) for condition in conditions}
    assert read == least | {condition: files for condition, files in MORE.items() if condition in least}

    scans = " UNION ALL ".join(
        f"SELECT {i}, count(*), sum(id) FROM {ours} WHERE {condition}"
        for i, condition in enumerate(conditions)
    )
    sums = ", ".join(f"count_if({condition}), sum(IF({condition}, id, NULL))" for condition in conditions)
    expected = spark.sql(f"SELECT {sums} FROM {plain}").collect()[0]
    assert sorted(map(tuple, spark.sql(scans).collect())) == [
        (i, *expected[2 * i : 2 * i + 2]) for i in range(len(conditions))
    ]


def test_errors_are_raised(spark: SparkSession, db: str) -> None:
    """A file with a row that raises an error is read, as by plain Spark; one of other rows is not."""
    spark.sql(f"CREATE TABLE {db}.t (id INT, code STRING)")
    spark.sql(f"INSERT INTO {db}.t VALUES (2147483647, 'x')")
    spark.sql(f"INSERT INTO {db}.t VALUES (3, '3')")
    for condition in ("id + 1 = 5", "id * 2 = 5", "-id - 2 = 5", "abs(id) + 1 = 5", "CAST(code AS INT) = 5"):
        with pytest.raises(ArithmeticException if "code" not in condition else NumberFormatException):
            spark.sql(f"SELECT * FROM {db}.t WHERE {condition}").collect()
    assert files_read(spark, f"{db}.t", "id + 1 = 5") == 1
    assert files_read(spark, f"{db}.t", "id - 1 = 5") == 0
    spark.conf.set("spark.sql.ansi.enabled", "false")
    try:
        assert spark.sql(f"SELECT id FROM {db}.t WHERE id + 1 < 0").collect() == [(2147483647,)]
        assert files_read(spark, f"{db}.t", "id + 1 < 0") == 1
        assert spark.sql(f"SELECT id FROM {db}.t WHERE CAST(code AS INT) = 3").collect() == [(3,)]
    finally:
        spark.conf.unset("spark.sql.ansi.enabled")


def test_days_of_the_session_time_zone(spark: SparkSession, db: str) -> None:
    """Around a change of the clock, each local day has the rows of plain Spark."""
    spark.conf.set("spark.sql.session.timeZone", "America/Sao_Paulo")
    try:
        spark.sql(f"CREATE TABLE {db}.t (ts TIMESTAMP)")
        first = "TIMESTAMP'2010-10-10 00:30:00'"  # on 17 October 2010, the day began at one o'clock
        for day in range(14):
            spark.sql(f"INSERT INTO {db}.t SELECT {first} + make_dt_interval({day}, id) FROM range(24)")
        days = spark.sql(
            f"SELECT CAST(ts AS DATE) AS d, count(*) FROM {db}.t GROUP BY 1 ORDER BY 1"
        ).collect()
        assert [count for _, count in days] == [24] * 7 + [23, 25] + [24] * 5
        read = [files_read(spark, f"{db}.t", f"CAST(ts AS DATE) = DATE'{day}'") for day, _ in days]
        assert sum(read) <= 2 * len(days)
        for day, count in days[5:10]:
            condition = f"date_trunc('DAY', ts) = date_trunc('DAY', TIMESTAMP'{day} 12:00:00')"
            assert spark.sql(f"SELECT count(*) FROM {db}.t WHERE {condition}").collect() == [(count,)]
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


def test_files_without_a_column_are_judged_by_its_default(spark: SparkSession, db: str) -> None:
    """Files from before a column with a DEFAULT have the default in all rows, in functions of it, too."""
    table = f"{db}.t"
    spark.sql(f"CREATE TABLE {table} (id INT)")
    for i in range(3):
        spark.sql(f"INSERT INTO {table} VALUES ({i})")
    spark.sql(f"ALTER TABLE {table} ADD COLUMNS (kind STRING DEFAULT 'old', size BIGINT DEFAULT 7)")
    spark.sql(f"INSERT INTO {table} VALUES (3, 'new', 100)")
    read = {
        condition: files_read(spark, table, condition)
        for condition in (
            "kind = 'old'",
            "kind = 'new'",
            "size + 1 = 8",
            "size > 7",
            "kind IS NULL",
            "size < 7",
        )
    }
    assert list(read.values()) == [3, 1, 3, 1, 0, 0]
    found = spark.sql(f"SELECT id FROM {table} WHERE kind = 'old' AND size * 2 = 14 ORDER BY id").collect()
    assert found == [(0,), (1,), (2,)]
    assert spark.sql(f"SELECT min(size), max(size), count(kind) FROM {table}").collect() == [(7, 100, 4)]
    spark.sql(f"DELETE FROM {table} WHERE size + 1 = 101")
    assert spark.sql(f"SELECT count(*), max(size) FROM {table}").collect() == [(3, 7)]
