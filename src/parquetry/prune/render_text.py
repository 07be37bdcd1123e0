"""A report as plain text: one line per scan, and a line for each condition that did not help."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from parquetry.prune.report import Report, ScanReport, Step

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def report_text(report: Report) -> str:
    """Return a report's text, `table: partitions 2 of 10 (p = 1) · files …`."""
    return "\n".join(line for scan in report.scans for line in _lines(scan)) or "no scans"


def amount(step: Step, number: int) -> str:
    """Return a number of a step: bytes with a unit, others with separated thousands."""
    return size_text(number) if step.name == "bytes" else f"{number:,}"


def size_text(number: int) -> str:
    """Return a number of bytes with a decimal unit.

    >>> size_text(999), size_text(1_234_000), size_text(3_000_000_000), size_text(999_999)
    ('999 B', '1.2 MB', '3 GB', '1 MB')
    """
    value = float(number)
    for unit in _UNITS:
        rounded = f"{value:.1f}".removesuffix(".0") if value < 99.95 and unit != "B" else f"{value:.0f}"
        if float(rounded) < 1000 or unit == _UNITS[-1]:
            break
        value /= 1000
    return f"{rounded} {unit}"


def reason_text(step: Step) -> str:
    """Return what a step went by: conditions, or the columns read."""
    if step.name == "bytes":
        return f"{'column' if len(step.by) == 1 else 'columns'} {', '.join(step.by)}" if step.by else ""
    return " AND ".join(f"({text})" if " OR " in text and len(step.by) > 1 else text for text in step.by)


def _lines(scan: ScanReport) -> list[str]:
    steps = " · ".join(_step(step) for step in scan.steps)
    return [
        f"{scan.table}: {steps}",
        *(f"  not by {note.condition}: {note.reason}" for note in scan.unused()),
    ]


def _step(step: Step) -> str:
    name = "" if step.name == "bytes" else f"{step.name} "
    reason = reason_text(step)
    return f"{name}{amount(step, step.kept)} of {amount(step, step.of)}{f' ({reason})' if reason else ''}"
