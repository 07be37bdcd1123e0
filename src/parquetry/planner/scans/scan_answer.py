"""Describe a scan for Spark, apart from its files: statistics, metrics, EXPLAIN's line and the report."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from parquetry.metastore import TableSnapshot
from parquetry.planner.protocol import answers
from parquetry.predicate import IsNull, Not
from parquetry.prune import Condition, Report, ScanReport, condition_text, steps

_MIN_ROW_BYTES = 8
_MAX_PUSHED_CHARACTERS = 1000


def without_added(conditions: Sequence[Condition], report: ScanReport) -> ScanReport:
    """Return a report without notes on the `c IS NOT NULL` that Spark adds beside `f(c) = 1`."""
    added = {
        one.text
        for i, one in enumerate(conditions)
        if isinstance(one.predicate, Not)
        and isinstance(one.predicate.child, IsNull)
        and any(one.about <= other.about for j, other in enumerate(conditions) if j != i)
    }
    informative = (
        msgspec.structs.replace(s, not_by=tuple(n for n in s.not_by if n.condition not in added))
        for s in report.steps
    )
    return msgspec.structs.replace(report, steps=tuple(informative))


def statistics(size: int, rows: int | None, files: int) -> answers.ScanStatistics:
    """Return the sizes that Spark chooses joins by."""
    # a column with one value takes almost no space in files, yet billions of its rows must not be broadcast
    return answers.ScanStatistics(size if rows is None else max(size, rows * _MIN_ROW_BYTES), rows, files)


def metrics(report: ScanReport) -> list[answers.Metric]:
    """Return the numbers for Spark's UI: two for each step, None if the scan has no such step.

    Every answer lists all of them: Spark accepts a metric only if it knew the name before the query ran.
    """
    numbers: list[answers.Metric] = []
    for rule in steps.STEPS:
        step = report.step(rule.name)
        kept, of = (None, None) if step is None else (step.kept, step.of)
        numbers.append(answers.Metric(f"{rule.name}Kept", rule.kept_text, kept))
        numbers.append(answers.Metric(f"{rule.name}Total", rule.of_text, of))
    return numbers


def description(
    snapshot: TableSnapshot, conditions: Sequence[Condition], report: ScanReport, buckets: str | None = None
) -> str:
    """Return EXPLAIN's line for a scan. `buckets` is its part about buckets."""
    pushed = ", ".join(condition_text(condition.text, condition.origin) for condition in conditions)
    if len(pushed) > _MAX_PUSHED_CHARACTERS:
        pushed = f"{pushed[: _MAX_PUSHED_CHARACTERS - 1]}…"
    fractions = str(Report((report,))).split("\n")[0]
    line = f"{snapshot.metadata.format} version {snapshot.version} · pushed filters: [{pushed}] · {fractions}"
    return line if buckets is None else f"{line} · {buckets}"


def decided(report: ScanReport) -> list[str]:
    """Return the conditions of the query that pruned partitions, as text."""
    step = report.step("partitions")
    return [] if step is None else [text for text, origin in step.causes() if origin == "query"]


def report_of(report: ScanReport) -> dict[str, Any]:
    """Return a scan's report as the bridge reads it."""
    scans: list[dict[str, Any]] = Report((report,)).to_dict()["scans"]
    return scans[0]
