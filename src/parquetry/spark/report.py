"""Report what a query's scans read and prune, and which joins shuffle and why, before and after a run.

Also take a profile of the questions that a session asks to plan its queries.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
from pyspark.sql import DataFrame, Row, SparkSession

from parquetry.errors import UnsupportedError
from parquetry.joins import SETTINGS
from parquetry.planner import TRACE_VARIABLE, AnsweredQuestion, report_from_json
from parquetry.prune import Report
from parquetry.spark.active import bridge_class
from parquetry.spark.configuration import BRIDGE_PACKAGE
from parquetry.spark.connect import report_of_frame, report_of_sql
from parquetry.spark.serving.trace import Trace
from parquetry.spark.session import attach
from parquetry.texts import shorten

_SHOWN_LENGTH = 100


def explain(query: DataFrame | str) -> Report:
    """Plan a query without running it, and return what its scans will read.

    Values that joins find at run time are not known yet; `report` has them.

    Args:
        query: a DataFrame, or SQL for the active session, which is not run even if it is an INSERT.

    Raises:
        BridgeError: the session has no bridge.
    """
    if not isinstance(query, str):
        frame = _require_frame(query, "explain")
        if not hasattr(frame, "_jdf"):
            return report_of_frame(frame, of_run=False)
        return report_from_json(_door(attach(frame.sparkSession)).planned(frame._jdf, list(SETTINGS)))
    spark = attach(SparkSession.active())
    if not hasattr(spark, "_jsparkSession"):
        return report_of_sql(spark, query)
    return report_from_json(_door(spark).ofSql(spark._jsparkSession, query, list(SETTINGS)))


def report(query: DataFrame | str) -> Report:
    """Return what the scans of a query have read, or what they will read if it has not run yet.

    Joins are reported as planned, without the changes that adaptive execution makes while they run.

    An action such as `show()`, `count()` or `write` runs a DataFrame of its own, with the same scans as this
    one: of the same versions of tables, by the same conditions. If this DataFrame has not run itself, the
    report is of the newest such run in its session, among the application's last 20 queries and the last 20
    within statements. If there is none, the report's first line says that the query has not run.

    Args:
        query: a DataFrame, or SQL for the active session, which is not run here. Scans of other tables than
            Parquetry's are ignored.

    Raises:
        BridgeError: the session has no bridge.
        TypeError: `query` is neither a DataFrame nor SQL.
    """
    if isinstance(query, str):
        spark = attach(SparkSession.active())
        if not hasattr(spark, "_jsparkSession"):
            return report_of_sql(spark, query, of_run=True)
        queries = bridge_class(spark._jvm, "reports.FinishedQueries")
        return report_from_json(queries.reportOfRun(spark._jsparkSession, query, list(SETTINGS)))
    frame = _require_frame(query, "report")
    if not hasattr(frame, "_jdf"):
        return report_of_frame(frame)
    return report_from_json(_door(attach(frame.sparkSession)).of(frame._jdf, list(SETTINGS)))


def trace(*, functions: bool = False) -> Trace:
    """Measure what the queries of a `with` block ask the planner, and the rules that plan them.

    The result is complete after the block. It has a table of the questions (`rows`, or `print` it), the rules
    that ran (`rules`), and folded stacks (`stack_lines`). Other tools draw flame graphs of them.

    Args:
        functions: whether the stacks have the planner's functions, too. The planner is several times as
            slow then: the times show which functions take it, and not how long it takes.

    Raises:
        BridgeError: the session has no bridge.
        UnsupportedError: the session is a client of a server, whose process an environment variable traces.
    """
    spark = attach(SparkSession.active())
    if not hasattr(spark, "_jsparkSession"):
        raise UnsupportedError(
            f"This session is a client of Spark Connect, and its planner runs beside the server: start the server with {TRACE_VARIABLE}=FILE."
        )
    return Trace(getattr(spark._jvm, BRIDGE_PACKAGE).protocol.Tracing, functions=functions)


def read_trace(path: str | os.PathLike[str]) -> Trace:
    """Return the trace that processes wrote because of the environment variable PARQUETRY_TRACE.

    Its times are of the planner alone: `ms` is `planner_ms`, and it has no `rules`.

    Args:
        path: of the file.
    """
    read = Trace(None, functions=False)
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    read.put([msgspec.json.decode(line, type=AnsweredQuestion) for line in lines], [])
    return read


def _require_frame(frame: Any, function: str) -> DataFrame:
    if isinstance(frame, DataFrame):
        return frame
    if isinstance(frame, list | tuple | Row) or hasattr(frame, "to_dict"):  # collected, or of pandas or Arrow
        raise TypeError(
            f"A {type(frame).__name__} has rows, and not the query that gave them: keep the DataFrame, and say "
            f"parquetry.{function}(query) after query.collect()."
        )
    shown = shorten(repr(frame), _SHOWN_LENGTH)
    raise TypeError(
        f"{shown} is of type {type(frame).__name__}: parquetry.{function} takes a DataFrame, or SQL as text."
    )


def _door(spark: SparkSession) -> Any:
    return bridge_class(spark._jvm, "reports.Reports")
