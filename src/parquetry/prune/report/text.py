"""Draw a report as text, with a line for each scan, unused condition, join and runtime filter.

`html` draws it as HTML, in the same words.
"""

from __future__ import annotations

from collections.abc import Sequence

from parquetry.prune.condition import Origin
from parquetry.prune.report.audit import AuditReport
from parquetry.prune.report.join import HeavyKeysReport, JoinReport
from parquetry.prune.report.join_values import RunTimeReport, ValuesReport
from parquetry.prune.report.scan import BYTES_UNIT, ScanReport, Step
from parquetry.texts import quantity, size_text

_ORIGIN_PREFIXES: dict[Origin, str] = {
    "query": "",
    "join": "run-time values ",
    "known": "values known in planning ",
    "table": "the table's ",
    "result": "",
    "run": "",
}


NOT_RUN_TEXT = "This query has not run: these are the numbers before run-time values."
"""The first line of the report of a query that has not run."""


def report_text(
    scans: Sequence[ScanReport],
    joins: Sequence[JoinReport | HeavyKeysReport | AuditReport] = (),
    values: Sequence[ValuesReport] = (),
    *,
    not_run: bool = False,
) -> str:
    """Return the text of a report: scans (`table: partitions 2 of 10 (p = 1) …`), joins, runtime filters."""
    lines = [line for scan in scans for line in _lines(scan)]
    text = "\n".join([*lines, *map(str, joins), *map(str, values)]) or "no scans"
    return f"{NOT_RUN_TEXT}\n{text}" if not_run else text


def amount(step: Step, number: int) -> str:
    """Return a number of a step: bytes with a unit, others with separated thousands."""
    return size_text(number) if step.counts_bytes else f"{number:,}"


def condition_text(condition: str, origin: Origin) -> str:
    """Return a condition with its origin, unless that is the query.

    >>> condition_text("p = 1", "query"), condition_text("p IN (1, 2)", "join"), condition_text("p > 3", "table")
    ('p = 1', 'run-time values p IN (1, 2)', "the table's p > 3")
    """
    return f"{_ORIGIN_PREFIXES[origin]}{condition}"


def reason_text(step: Step) -> str:
    """Return why a step kept its number: the query's conditions, then others; or the columns read."""
    if step.counts_bytes:
        return _columns_text(step)
    asked: list[str] = []
    others: list[str] = []
    for condition, origin in step.causes():
        (asked if origin == "query" else others).append(condition_text(condition, origin))
    joined = " AND ".join(f"({text})" if " OR " in text and len(asked) > 1 else text for text in asked)
    skipped = [f"skip scan: {quantity(step.seeks, 'seek')}"] if step.seeks else []
    return ", ".join(([joined] if joined else []) + others + skipped)


def _columns_text(step: Step) -> str:
    """Return which columns are read, and the size of the files that they are in if these are not all files.

    >>> _columns_text(Step("bytes", 2_100, 786_000, ("amount",), unit="bytes", whole=8_700))
    'column amount; these files have 8.7 kB'
    >>> _columns_text(Step("bytes", 2_100, 8_700, ("amount",), unit="bytes", whole=8_700))
    'column amount'
    """
    if not step.by and (step.whole is None or step.kept == step.whole):
        return ""
    columns = (
        f"{'column' if len(step.by) == 1 else 'columns'} {', '.join(step.by)}" if step.by else "no column"
    )
    return (
        columns if step.whole in (None, step.of) else f"{columns}; these files have {size_text(step.whole)}"
    )


def run_time_text(found: RunTimeReport) -> str:
    """Return the effect of runtime values: `run time: k → 39 values: files 40 → 12`."""
    if found.off is not None:
        return f"run time: off ({found.off})"
    values = ", ".join(map(str, (*found.values, *found.missed)))
    cuts = " · ".join(
        f"{'about ' if cut.about else ''}{size_text(cut.before)} → {size_text(cut.after)}"
        if cut.name == BYTES_UNIT
        else f"{cut.name} {'about ' if cut.about else ''}{cut.before:,} → {cut.after:,}"
        for cut in found.cuts
    )
    listed = " (none listed before the values came)" if found.late else ""
    return f"run time: {values}: {cuts or 'nothing less is read'}{listed}"


def counted_text(scan: ScanReport) -> str:
    """Return how many files are not opened, since the metastore has the values of their rows."""
    return f"rows of {quantity(scan.counted, 'file')} from the metastore, without opening {'it' if scan.counted == 1 else 'them'}"


def _lines(scan: ScanReport) -> list[str]:
    parts = [f"not read: {scan.not_read}"] if scan.not_read else []
    steps = " · ".join(
        [
            *parts,
            *map(_step, scan.steps),
            *([counted_text(scan)] if scan.counted else []),
            *([] if scan.rows is None else [str(scan.rows)]),
        ]
    )
    return [
        f"{scan.table}: {steps}",
        *(() if scan.run_time is None else (f"  {run_time_text(scan.run_time)}",)),
        *(() if scan.native is None or scan.not_read else (f"  {scan.native}",)),
        *(f"  not by {condition_text(note.condition, note.origin)}: {note.reason}" for note in scan.unused()),
    ]


def _step(step: Step) -> str:
    about = "about " if step.about else ""
    name = "" if step.counts_bytes and step.unit == step.name else f"{step.name} "  # a size has its own unit
    reason = reason_text(step)
    return (
        f"{name}{about}{amount(step, step.kept)} of {amount(step, step.of)}{f' ({reason})' if reason else ''}"
    )
