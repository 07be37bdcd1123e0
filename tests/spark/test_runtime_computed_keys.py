"""Keys that are computed of data columns: the days of moments leave out files, of others the report says that they are computed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from pyspark.sql import SparkSession

import parquetry
from tests.support.bucketed_tables import settings


@pytest.fixture(scope="module")
def tables(spark: SparkSession) -> Iterator[str]:
    """A table of 20 files, each of one day and a row an hour, Spark's own of the same rows, and one of days."""
    spark.sql("CREATE NAMESPACE lake.computed")
    spark.sql(
        "CREATE TABLE lake.computed.f (v int, ts timestamp, ntz timestamp_ntz, d date) TBLPROPERTIES ('distribution' = 'none')"
    )
    moment = "timestamp'2026-01-01' + make_interval(0, 0, 0, 0, int(id))"
    rows = spark.range(0, 480, 1, 20).selectExpr(
        "int(id) v", f"{moment} ts", f"CAST({moment} AS timestamp_ntz) ntz", f"CAST({moment} AS date) d"
    )
    rows.writeTo("lake.computed.f").append()
    rows.write.saveAsTable("computed_f")
    spark.range(40).selectExpr(
        "date_add(date'2026-01-01', int(id)) day", "int(id DIV 3) a", "int(id) n", "int(id) + 1 m"
    ).coalesce(1).write.saveAsTable("computed_d")
    yield "lake.computed.f"
    for name in ("computed_f", "computed_d"):
        spark.sql(f"DROP TABLE {name}")
    spark.sql("DROP NAMESPACE lake.computed CASCADE")


@pytest.mark.parametrize("adaptive", [True, False])
@pytest.mark.parametrize("key", ["CAST(f.ts AS date)", "CAST(f.ntz AS date)", "to_date(f.ts)"])
def test_days_of_moments(spark: SparkSession, tables: str, adaptive: bool, key: str) -> None:
    """Three days of twenty, and those around them, as zones are not asked for; the answer is plain Spark's."""
    query = "SELECT count(*), sum(v) FROM {f} f JOIN computed_d d ON {key} = d.day WHERE d.a = 2"
    with settings(spark, {"spark.sql.adaptive.enabled": adaptive}):
        frame = spark.sql(query.format(f=tables, key=key))
        found = frame.collect()
    assert found == spark.sql(query.format(f="computed_f", key=key)).collect()
    assert found[0][0] == 72
    told = report_of(frame, tables)
    files = next(step for step in told["steps"] if step["name"] == "files")
    assert (files["kept"], files["of"]) == (6, 20)


@pytest.mark.parametrize(
    "key", ["f.v + 1", "f.v % 7", "hash(f.v)", "month(f.ts)", "datediff(f.d, date'2025-12-31')"]
)
def test_other_functions_have_a_reason(spark: SparkSession, tables: str, key: str) -> None:
    """What may overflow, or keeps no order, leaves out nothing; the report says that it is computed."""
    query = "SELECT count(*) FROM {f} f JOIN computed_d d ON {key} = d.m WHERE d.a = 2"
    frame = spark.sql(query.format(f=tables, key=key))
    assert frame.collect() == spark.sql(query.format(f="computed_f", key=key)).collect()
    assert "is computed of more than partition columns" in str(parquetry.report(frame))
    assert "run_time" not in report_of(frame, tables)


def report_of(frame: Any, table: str) -> dict[str, Any]:
    """Return what the report says of the scan of a table."""
    told: list[dict[str, Any]] = parquetry.report(frame).to_dict()["scans"]
    return next(scan for scan in told if scan["table"] == table)
