"""`explain`, `explain_json` and `last_reports`: the reports of queries, for clients that have SQL alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Annotated, NamedTuple

from parquetry import prune
from parquetry.errors import UnsupportedError
from parquetry.operations.operation import Context, Timestamp, operation

_Query = Annotated[str, "A statement, which is planned and not run."]
_OfRun = Annotated[
    bool, "Whether to report the newest run of the same scans in this session, if there was one."
]


@operation(
    "Reports what the scans of a query read and leave out, why, and which of its joins shuffle.",
    by_engine=True,
)
def explain(context: Context, query: _Query, of_run: _OfRun = False) -> Iterator[prune.ReportRow]:
    """Report a query line by line."""
    yield from prune.report_rows(context.engine.report(query, of_run=of_run))


class JsonReport(NamedTuple):
    """A report as JSON."""

    report: str


@operation("Gives the report of a query as JSON, for programs.", by_engine=True)
def explain_json(context: Context, query: _Query, of_run: _OfRun = False) -> Iterator[JsonReport]:
    """Report a query as one text."""
    report = context.engine.report(query, of_run=of_run)
    yield JsonReport(json.dumps(report.to_dict(), ensure_ascii=False))


class FinishedQueryRow(NamedTuple):
    """A line of the report of a query that has run; see `FinishedQuery` and `prune.ReportRow`."""

    query: int
    ended_at: Timestamp
    milliseconds: int
    statement: str
    part: int
    table: str
    step: str
    kept: int | None
    total: int | None
    why: str


@operation(
    "Reports the last queries of the session that read tables of Parquetry, the newest first.",
    by_engine=True,
)
def last_reports(
    context: Context,
    count: Annotated[
        int, "How many of the session's last queries to report, the newest first. An application keeps 20."
    ] = 1,
) -> Iterator[FinishedQueryRow]:
    """Report queries that have run, line by line."""
    if count < 1:
        raise UnsupportedError(f"CALL system.last_reports: count is {count}; give 1 or more.")
    for query in context.engine.finished_queries(count):
        about = query.id, Timestamp(query.ended_at), query.milliseconds, query.statement
        for row in prune.report_rows(query.report):
            yield FinishedQueryRow(*about, row.part, row.table, row.step, row.kept, row.total, row.why)
