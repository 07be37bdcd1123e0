"""For keys of a wider type than the big table's column, the small side's values are cast back; a value that
the column cannot have is dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.spark import plans
from tests.support.tables.bucketed_tables import settings

DATABASE = "lake.run_widened"
COLUMNS = {
    "b": "CAST(id AS TINYINT)", "s": "CAST(id AS SMALLINT)", "i": "CAST(id AS INT)", "l": "id", "f": "CAST(id AS FLOAT)",
    "n": "CAST(id AS DECIMAL(5,1))", "d": "date_add(DATE'2020-01-01', CAST(id AS INT))", "v": "id",
}  # fmt: skip
KEYS = {
    ("b", "smallint"): ("1000", "-32768"),
    ("b", "float"): ("57.5", "'NaN'"),
    ("s", "int"): ("65539", "-2147483648"),
    ("s", "double"): ("57.5", "1e300", "'-Infinity'"),
    ("i", "bigint"): ("4294967299", "-9223372036854775808"),
    ("i", "decimal(20,2)"): ("57.5", "99999999999.99", "-0.01"),
    ("i", "double"): ("57.5", "'NaN'", "4294967299"),
    ("l", "decimal(20,0)"): ("99999999999999999999", "18446744073709551619"),
    ("f", "double"): ("57.00000001", "1e300", "-0.0"),  # of NaN, every file may hold one
    ("n", "decimal(12,3)"): ("57.049", "123456789.001"),
    ("d", "timestamp"): ("'2020-02-27 12:00:00'", "'9999-12-31 23:59:59'", "'0001-01-01 00:00:00'"),
    ("d", "timestamp_ntz"): ("'2020-02-27 00:00:01'", "'9999-12-31 23:59:59'"),
}
"""Columns and types of keys, with values that no row has, beside the values of rows 3 and 57."""
FOUND = {"d": ("'2020-01-04'", "'2020-02-27'")}


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[dict[str, str]]:
    """A table of ten files, ten rows each, and the view of the same rows."""
    spark.sql(f"CREATE NAMESPACE {DATABASE}")
    rows = ", ".join(f"{text} {name}" for name, text in COLUMNS.items())
    spark.sql(
        f"CREATE TABLE {DATABASE}.t TBLPROPERTIES ('distribution' = 'none') AS SELECT {rows} FROM range(0, 100, 1, 10)"
    )
    spark.sql(f"SELECT {rows} FROM range(0, 100, 1, 10)").createOrReplaceTempView("run_widened_rows")
    yield {"ours": f"{DATABASE}.t", "plain": "run_widened_rows"}
    spark.sql(f"DROP NAMESPACE {DATABASE} CASCADE")


@pytest.mark.usefixtures("tables")
def test_a_day_that_a_zone_left_out(spark: SparkSession) -> None:
    """Samoa had no 2011-12-30: as a timestamp it is the next day, so both days match, and neither may be
    pruned.
    """
    table = f"{DATABASE}.samoa"
    days = "SELECT date_add(DATE'2011-12-28', CAST(id AS INT)) d FROM range(0, 6, 1, 6)"
    query = "SELECT /*+ BROADCAST(k) */ t.d FROM {} t JOIN (VALUES (TIMESTAMP'2011-12-31 00:00:00')) k (x) ON t.d = k.x"
    with settings(spark, {"spark.sql.session.timeZone": "Pacific/Apia"}):
        for clause in ("TBLPROPERTIES ('distribution' = 'none')", "PARTITIONED BY (d)"):
            spark.sql(f"DROP TABLE IF EXISTS {table}")
            spark.sql(f"CREATE TABLE {table} {clause} AS SELECT 1 v, d FROM ({days})")
            found = plans.comparable(spark.sql(query.format(table)).collect())
            assert found == plans.comparable(spark.sql(query.format(f"({days})")).collect())
            assert len(found) == 2


def test_functions_of_partitions(spark: SparkSession, tables: dict[str, str]) -> None:
    """Spark evaluates a key over each partition's value, and partitions of other years are not read."""
    table = f"{DATABASE}.days"
    spark.sql(
        f"CREATE TABLE {table} PARTITIONED BY (d) AS SELECT v, add_months(d, CAST(v % 10 AS INT) * 12) d FROM {tables['ours']} WHERE v < 20"
    )
    spark.sql(f"CREATE TABLE {DATABASE}.years AS SELECT 2023 y UNION ALL SELECT 1999")
    frame = spark.sql(f"SELECT sum(v) FROM {table} t JOIN {DATABASE}.years k ON year(t.d) = k.y")
    assert frame.collect() == [(3 + 13,)]
    partitions = parquetry.report(frame).scans[0].step("partitions")
    assert partitions is not None
    assert (partitions.kept, partitions.of) == (2, 20)


@pytest.mark.parametrize("adaptive", [True, False], ids=["adaptive", "planned"])
@pytest.mark.parametrize(("column", "type"), KEYS)
def test_values_are_cast_back(
    spark: SparkSession, tables: dict[str, str], column: str, type: str, adaptive: bool
) -> None:
    """The query reads two files of ten, which contain the matching rows, and returns plain Spark's rows."""
    values = (*FOUND.get(column, ("3", "57")), *KEYS[column, type], "NULL")
    small = ", ".join(f"(CAST({value} AS {type}))" for value in values)
    query = f"SELECT /*+ BROADCAST(k) */ t.v, k.x FROM {{}} t JOIN (VALUES {small}) k (x) ON t.{column} = k.x"
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(query.format(tables["ours"]))
        found = plans.comparable(frame.collect())
        assert found == plans.comparable(spark.sql(query.format(tables["plain"])).collect())
        assert {3, 57} <= {v for v, _ in found}
        report = parquetry.report(frame)
        files = report.scans[0].step("files")
        assert files is not None
        assert files.kept == 2, str(report)
        assert [each.how for each in report.values if each.how != "refused"] == ["collected"], str(report)
