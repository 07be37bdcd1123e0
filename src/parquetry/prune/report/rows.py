"""A report as rows, for clients that have SQL alone."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from parquetry.prune.report.report import Report
from parquetry.prune.report.text import NOT_RUN_TEXT, condition_text, counted_text, reason_text, run_time_text


class ReportRow(NamedTuple):
    """One line of a report.

    Attributes:
        part: number of the scan, the join or the values within the report, from 0; the lines of one scan have
            one number.
        table: that it is about; of a join what is joined, and of its values the column that they are for.
        step: the step of pruning: `partitions`, `directories`, `buckets`, `files`, `bytes`. Other lines have
            `run time`, `not used` (a condition that left out nothing), `not read` (a scan), `native` or
            `not native` (whether a native engine reads a scan), `join`, or
            `values` (of a join). `not run` is the first line for a query that has not run.
        kept: how many are read. None if the line counts nothing.
        total: how many there were. None if the line counts nothing.
        why: the conditions that did it, or the reason.
    """

    part: int
    table: str
    step: str
    kept: int | None
    total: int | None
    why: str


def report_rows(report: Report) -> Iterator[ReportRow]:
    """Yield the lines of a report: of its scans, its joins, and the values of joins.

    >>> from parquetry.prune.report.scan import ScanReport, Step
    >>> scan = ScanReport("lake.db.t", (Step("partitions", 2, 10, ("p IN (1, 2)",)),))
    >>> list(report_rows(Report((scan,))))
    [ReportRow(part=0, table='lake.db.t', step='partitions', kept=2, total=10, why='p IN (1, 2)')]
    """
    if report.not_run:
        yield ReportRow(0, "", "not run", None, None, NOT_RUN_TEXT)
    for part, scan in enumerate(report.scans):
        if scan.not_read:
            yield ReportRow(part, scan.table, "not read", None, None, scan.not_read)
        for step in scan.steps:
            yield ReportRow(part, scan.table, step.name, step.kept, step.of, reason_text(step))
        if scan.counted:
            yield ReportRow(part, scan.table, "not opened", scan.counted, None, counted_text(scan))
        if scan.native is not None and not scan.not_read:
            name, _, why = str(scan.native).partition(": ")
            yield ReportRow(part, scan.table, name, None, None, why)
        if scan.run_time is not None:
            why = run_time_text(scan.run_time).removeprefix("run time: ")
            yield ReportRow(part, scan.table, "run time", None, None, why)
        for note in scan.unused():
            why = f"{condition_text(note.condition, note.origin)}: {note.reason}"
            yield ReportRow(part, scan.table, "not used", None, None, why)
    first = len(report.scans)
    for part, join in enumerate(report.joins, first):
        yield ReportRow(part, join.title, "join", None, None, join.outcome)
    for part, values in enumerate(report.values, first + len(report.joins)):
        yield ReportRow(part, values.title, "values", None, None, values.outcome)
