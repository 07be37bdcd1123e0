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
        frame = _checked(query)
        if not hasattr(frame, "_jdf"):
            return report_of_frame(frame, of_run=False)
        return report_from_json(_door(attach(frame.sparkSession)).planned(frame._jdf, list(SETTINGS)))
    spark = attach(SparkSession.active())
    if not hasattr(spark, "_jsparkSession"):
        return report_of_sql(spark, query)
    return report_from_json(_door(spark).ofSql(spark._jsparkSession, query, list(SETTINGS)))


def report(frame: DataFrame) -> Report:
    """Return what the scans of a DataFrame have read, or what they will read if they have not run yet.

    Joins are reported as planned, without the changes that adaptive execution makes while they run.

    An action such as `show()`, `count()` or `write` runs a DataFrame of its own, with the same scans as this
    one: of the same versions of tables, by the same conditions. If this DataFrame has not run itself, the
    report is of the newest such run in its session, among the application's last 20 queries and the last 20
    within statements. If there is none, the report's first line says that the query has not run.

    Args:
        frame: with scans of Parquetry's tables. Other scans are ignored.

    Raises:
        BridgeError: the session has no bridge.
        TypeError: `frame` is no DataFrame.
    """
    frame = _checked(frame)
    if not hasattr(frame, "_jdf"):
        return report_of_frame(frame)
    return report_from_json(_door(attach(frame.sparkSession)).of(frame._jdf, list(SETTINGS)))


def _checked(frame: Any) -> DataFrame:
    if not isinstance(frame, DataFrame):
        raise TypeError(f"{frame!r} is a {type(frame).__name__}: give a DataFrame, or SQL to explain.")
    return frame


def _door(spark: SparkSession) -> Any:
    return spark._jvm.org.apache.spark.sql.parquetry.reports.Reports
