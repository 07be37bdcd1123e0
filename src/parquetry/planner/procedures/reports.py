"""`CALL system.explain` and `CALL system.last_reports`: the reports of queries, for clients that have SQL
alone.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated

import msgspec

from parquetry.errors import UnsupportedError
from parquetry.planner.lake import Lake
from parquetry.planner.procedures.procedure import Procedure, Row
from parquetry.prune import report_rows

_COLUMNS = (
    ("part", "long"),
    ("table", "string"),
    ("step", "string"),
    ("kept", "long"),
    ("total", "long"),
    ("why", "string"),
)


class Explain(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `explain` and `explain_json`."""

    query: Annotated[str, "A statement, which is planned and not run."]
    of_run: Annotated[
        bool,
        "Whether to report the newest run of the same scans in this session, if there was one.",
    ] = False


class LastReports(msgspec.Struct, frozen=True, kw_only=True):
    """The arguments of `last_reports`."""

    count: Annotated[
        int, "How many of the session's last queries to report, the newest first. An application keeps 20."
    ] = 1


def _explain(lake: Lake, arguments: Explain) -> Iterator[Row]:
    yield from report_rows(lake.engine.report(arguments.query, of_run=arguments.of_run))


def _explain_json(lake: Lake, arguments: Explain) -> Iterator[Row]:
    report = lake.engine.report(arguments.query, of_run=arguments.of_run)
    yield (json.dumps(report.to_dict(), ensure_ascii=False),)


def _last_reports(lake: Lake, arguments: LastReports) -> Iterator[Row]:
    if arguments.count < 1:
        raise UnsupportedError(f"CALL system.last_reports: count is {arguments.count}; give 1 or more.")
    for query in lake.engine.finished_queries(arguments.count):
        about = (query.id, query.ended_at, query.milliseconds, query.statement)
        for row in report_rows(query.report):
            yield (*about, *row)


EXPLAIN = Procedure(
    "explain",
    "Reports what the scans of a query read and leave out, why, and which of its joins shuffle.",
    Explain,
    _COLUMNS,
    _explain,
    by_engine=True,
)
EXPLAIN_JSON = Procedure(
    "explain_json",
    "Gives the report of a query as JSON, for programs.",
    Explain,
    (("report", "string"),),
    _explain_json,
    by_engine=True,
)
LAST_REPORTS = Procedure(
    "last_reports",
    "Reports the last queries of the session that read tables of Parquetry, the newest first.",
    LastReports,
    (
        ("query", "long"),
        ("ended_at", "timestamp"),
        ("milliseconds", "long"),
        ("statement", "string"),
        *_COLUMNS,
    ),
    _last_reports,
    by_engine=True,
)
