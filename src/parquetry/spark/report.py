"""What the scans of a query read and left out, and which of its joins shuffle, and why: before a run, and after it."""

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
    """Return what the scans of a DataFrame have read; of one that has not run yet, what they will.

    Its joins are told as they were planned; what adaptive execution makes of them while they run is not.

    Of an INSERT, its query is planned once more. An action that makes a frame of its own, as `count()` does, is a run
    of that frame.

    Of a frame of Spark Connect it is the newest run of a query that gives the same rows, among the last 100 of the application.

    Args:
        frame: with scans of Parquetry's tables; others are passed over.

    Raises:
        BridgeError: the session has no bridge.
        TypeError: it is something else.
    """
    if not isinstance(frame, DataFrame):
        raise TypeError(f"{frame!r} is a {type(frame).__name__}: give a DataFrame, or SQL to explain.")
    if not hasattr(frame, "_jdf"):
        return report_of_frame(frame)
    return report_from_json(_door(attach(frame.sparkSession)).of(frame._jdf, list(SETTINGS)))


def _door(spark: SparkSession) -> Any:
    return spark._jvm.org.apache.spark.sql.parquetry.reports.Reports
