"""Report what a query's scans read and prune, and which joins shuffle and why, before and after a run."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec
from pyspark.sql import DataFrame, SparkSession

from parquetry.prune.report import (
    SETTINGS,
    IneffectiveCondition,
    JoinFacts,
    Report,
    ScanReport,
    explain_joins,
)
from parquetry.prune.runtime import CandidateOutcome, reports
from parquetry.spark.session import attach

_UNTRANSLATED_REASON = "Spark does not hand this condition to a data source"


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
    return _report(_door(spark).ofSql(spark._jsparkSession, query, list(SETTINGS)))


def report(frame: DataFrame) -> Report:
    """Return what the scans of a DataFrame have read, or what they will read if it has not run yet.

    Joins are reported as planned, without the changes that adaptive execution makes while they run.

    The query of an INSERT is planned once more. An action that makes a DataFrame of its own, as `count()`
    does, is a run of that DataFrame.

    Args:
        frame: with scans of Parquetry's tables. Other scans are ignored.

    Raises:
        BridgeError: the session has no bridge.
        TypeError: `frame` is no DataFrame.
    """
    if not isinstance(frame, DataFrame):
        raise TypeError(f"{frame!r} is a {type(frame).__name__}: give a DataFrame, or SQL to explain.")
    return _report(_door(attach(frame.sparkSession)).of(frame._jdf, list(SETTINGS)))


def _door(spark: SparkSession) -> Any:
    return spark._jvm.org.apache.spark.sql.parquetry.reports.Reports


def _report(answer: str) -> Report:
    found = json.loads(answer)
    scans = []
    for each in found["scans"]:
        scan = ScanReport.from_dict(each["report"])
        notes = tuple(
            IneffectiveCondition(_bare(text), _UNTRANSLATED_REASON) for text in each["untranslated"]
        )
        steps = (
            s if s.counts_bytes else msgspec.structs.replace(s, not_by=s.not_by + notes) for s in scan.steps
        )
        scans.append(msgspec.structs.replace(scan, steps=tuple(steps)))
    joins = msgspec.convert(found["joins"], tuple[JoinFacts, ...])
    values = reports(msgspec.convert(found["values"], tuple[CandidateOutcome, ...]))
    return Report(tuple(scans), explain_joins(joins, found["settings"]), values)


def _bare(text: str) -> str:
    """Take the parentheses off a condition that stands in nothing but them.

    >>> _bare("((a = 1))"), _bare("(a = ')')"), _bare("(a + b) LIKE ('c')")
    ('a = 1', "a = ')'", "(a + b) LIKE ('c')")
    """
    while text.startswith("(") and text.endswith(")"):
        depth = 0
        for match in re.finditer(r"'(?:[^'\\]|\\.)*'|`[^`]*`|[()]", text):
            depth += {"(": 1, ")": -1}.get(match[0], 0)
            if depth == 0 and match[0] == ")":
                break
        if match.end() < len(text):
            break
        text = text[1:-1]
    return text
