"""A program that reads a served warehouse by the Hive client of a PySpark without our jar, and writes by it.

It is run with the PySpark of any series. Standard input has JSON: `port`, `work` (a folder), `tables`,
`filters` (pairs of a table and a condition), `join` (a query) and `attacks`. It prints what it read as JSON.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession

RESULT = "RESULT"
"""The beginning of the line with the results."""

_ERROR_CHARACTERS = 20_000
"""Length of an error. Spark 3.5 writes the cause behind the calls that led to it."""


def session(port: int, work: str) -> SparkSession:
    """Start a session whose metastore is a served warehouse."""
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    settings = {
        "spark.sql.catalogImplementation": "hive",
        "spark.hadoop.hive.metastore.uris": f"thrift://127.0.0.1:{port}",
        "spark.sql.shuffle.partitions": "1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.warehouse.dir": f"{work}/plain",
    }
    for name, value in settings.items():
        builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def rows(spark: SparkSession, sql: str) -> list[str]:
    """Run SQL and return its rows as texts, sorted. Spark before 4.1 has binary values as `bytearray`."""
    found = (
        [bytes(each) if isinstance(each, bytearray) else each for each in row]
        for row in spark.sql(sql).collect()
    )
    return sorted(str(tuple(row)) for row in found)


def error(act: Callable[[], Any]) -> str:
    """Return the beginning of the error of an action, or an empty text."""
    try:
        act()
    except Exception as failure:  # noqa: BLE001 - any error is an answer
        return str(failure)[:_ERROR_CHARACTERS]
    return ""


def main(asked: dict[str, Any]) -> dict[str, Any]:
    """Read tables, filters and a join, write, and return what happened."""
    spark = session(asked["port"], asked["work"])
    tables: dict[str, Any] = {}
    for name in asked["tables"]:
        read: list[list[str]] = []
        failure = error(lambda: read.append(rows(spark, f"SELECT * FROM h.{name}")))  # noqa: B023 - at once
        tables[name] = read[0] if read else failure
    parts = [
        f"SELECT {number} AS f, count(*) AS n, sum(id) AS s FROM h.{table} WHERE {where}"
        for number, (table, where) in enumerate(asked["filters"])
    ]
    found = spark.sql(" UNION ALL ".join(parts)).collect()
    filters = {asked["filters"][row.f][1]: [row.n, row.s] for row in found}
    joined = spark.sql(asked["join"])
    plan: Any = joined._jdf.queryExecution().executedPlan()
    joined.collect()
    exchanges = str(plan.toString()).split("== Initial Plan ==")[0].count("Exchange hashpartitioning")
    said = {attack: error(lambda: spark.sql(attack)) for attack in asked["attacks"]}  # noqa: B023 - at once
    return {
        "version": spark.version,
        "tables": tables,
        "filters": filters,
        "exchanges": exchanges,
        "attacks": said,
    }


if __name__ == "__main__":
    print(RESULT, json.dumps(main(json.load(sys.stdin))))
