"""Report what a query's scans read and prune, and which joins shuffle and why, before and after a run."""

from __future__ import annotations

from typing import Any

from pyspark.sql import DataFrame, SparkSession

from parquetry.planner import report_from_json
from parquetry.prune.report import SETTINGS, Report
from parquetry.spark.connect import report_of_frame, report_of_sql
from parquetry.spark.session import attach


def explain(query: DataFrame | str) -> Report:
    """Plan a query without running it, and return what its scans will read.

    Values that joins find at run time are not known yet; `report` has them.

    Args:
        query: a DataFrame, or SQL for the active session, which is not run even if it is an INSERT.

    Raises:
        BridgeError: the session has no bridge.
    """
    if not isinstance(query, str):
        return report(query)
    spark = attach(SparkSession.active())
    if not hasattr(spark, "_jsparkSession"):
        return report_of_sql(spark, query)
    return report_from_json(_door(spark).ofSql(spark._jsparkSession, query, list(SETTINGS)))


def report(frame: DataFrame) -> Report:
    """Return what the scans of a DataFrame have read, or what they will read if it has not run yet.

    Joins are reported as planned, without the changes that adaptive execution makes while they run.

    The query of an INSERT is planned once more. An action that makes a DataFrame of its own, as `count()`
    does, is a run of that DataFrame.

    With Spark Connect, the report is of the newest run of a query with the same rows, among the application's
    last 20 queries.

    Args:
        frame: with scans of Parquetry's tables. Other scans are ignored.

    Raises:
        BridgeError: the session has no bridge.
        TypeError: `frame` is no DataFrame.
    """
    if not isinstance(frame, DataFrame):
        raise TypeError(f"{frame!r} is a {type(frame).__name__}: give a DataFrame, or SQL to explain.")
    if not hasattr(frame, "_jdf"):
        return report_of_frame(frame)
    return report_from_json(_door(attach(frame.sparkSession)).of(frame._jdf, list(SETTINGS)))


def _door(spark: SparkSession) -> Any:
    return spark._jvm.org.apache.spark.sql.parquetry.reports.Reports
