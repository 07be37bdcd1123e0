"""Draw a report as HTML for notebooks: self-contained, and in the page's own colours, light or dark."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from parquetry.prune.report.audit import AuditReport
from parquetry.prune.report.heavy_keys import HeavyKeysReport
from parquetry.prune.report.join import JoinReport
from parquetry.prune.report.join_values import ValuesReport
from parquetry.prune.report.scan import ScanReport, Step
from parquetry.prune.report.text import (
    NOT_RUN_TEXT,
    amount,
    condition_text,
    counted_text,
    reason_text,
    run_time_text,
)

PLAIN_STYLE = "color:inherit;background:none;border:0"
"""The style of elements in the page's own colours."""
CELL_STYLE = f"{PLAIN_STYLE};padding:2px 12px 2px 0;text-align:left;vertical-align:top"
"""The style of a table's cell."""
NUMBER_STYLE = f"{CELL_STYLE};text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums"
"""The style of a cell with a number."""
_TRACK_STYLE = (
    "display:inline-block;position:relative;width:120px;height:0.7em;border-radius:2px;overflow:hidden;"
    "border:1px solid currentColor"
)
_BAR_STYLE = "position:absolute;left:0;top:0;bottom:0;background:currentColor"


def report_html(
    scans: Sequence[ScanReport],
    joins: Sequence[JoinReport | HeavyKeysReport | AuditReport] = (),
    values: Sequence[ValuesReport] = (),
    *,
    not_run: bool = False,
) -> str:
    """Return a report of scans, joins and their values as an HTML fragment; every text in it is escaped."""
    drawn = "".join([*map(_scan, scans), *map(_join, joins), *map(_join, values)]) or "no scans"
    if not_run:
        drawn = f'<div style="margin:0 0 8px">{escape(NOT_RUN_TEXT)}</div>{drawn}'
    return f'<div class="parquetry-report" style="color:inherit">{drawn}</div>'


def _scan(scan: ScanReport) -> str:
    rows = "".join(_row(step) for step in scan.steps)
    notes = "".join(
        f"<li>not by <code>{escape(condition_text(note.condition, note.origin))}</code>: {escape(note.reason)}</li>"
        for note in scan.unused()
    )
    if scan.native is not None and not scan.not_read:
        notes = f"<li>{escape(str(scan.native))}</li>{notes}"
    if scan.counted:
        notes = f"<li>{escape(counted_text(scan))}</li>{notes}"
    if scan.not_read:
        notes = f"<li>{escape(f'not read: {scan.not_read}')}</li>{notes}"
    if scan.run_time is not None:
        notes = f"<li>{escape(run_time_text(scan.run_time))}</li>{notes}"
    listed = f'<ul style="margin:2px 0 0;opacity:0.75">{notes}</ul>' if notes else ""
    return (
        f'<div style="margin:0 0 12px"><strong>{escape(scan.table)}</strong>'
        f'<table style="border-collapse:collapse;margin:2px 0;color:inherit;background:none">{rows}</table>'
        f"{listed}</div>"
    )


def _join(join: JoinReport | HeavyKeysReport | AuditReport | ValuesReport) -> str:
    return f'<div style="margin:0 0 12px"><strong>{escape(join.title)}</strong>: {escape(join.outcome)}</div>'


def _row(step: Step) -> str:
    share = 100 * step.kept / step.of if step.of else 0
    # A small share is still visible.
    width = max(share, 1) if step.kept else 0
    text = f"{amount(step, step.kept)} of {amount(step, step.of)}"
    return (
        f'<tr style="background:none"><td style="{CELL_STYLE}">{escape(step.name)}</td>'
        f'<td style="{CELL_STYLE}"><span role="img" title="{share:.1f} %" style="{_TRACK_STYLE}">'
        f'<span style="{_BAR_STYLE};width:{width:.1f}%"></span></span></td>'
        f'<td style="{NUMBER_STYLE}">{escape(text)}</td><td style="{CELL_STYLE}">{escape(reason_text(step))}</td></tr>'
    )
