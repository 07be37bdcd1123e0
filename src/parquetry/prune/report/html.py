"""Draw a report as HTML: a funnel for each scan, the graph of joins, and a line for each join and its values.

Notebooks, saved pages and the page of `parquetry ui` show the same elements, in the page's own colours, light
or dark. In a notebook each element has its style with it. The other two have `report.css`, as a page that
allows no inline style would ignore them. Every text is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources

from parquetry.prune.report.audit import AuditReport
from parquetry.prune.report.join import HeavyKeysReport, JoinReport
from parquetry.prune.report.join_graph import draw_join_graph
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
_BLOCK_STYLE = "margin:0 0 12px"
_TABLE_STYLE = "border-collapse:collapse;margin:2px 0;color:inherit;background:none"

_JoinLine = JoinReport | HeavyKeysReport | AuditReport | ValuesReport


@dataclass(frozen=True, slots=True)
class ReportMarkup:
    """The parts of a report as HTML.

    Attributes:
        styled: whether elements bring their styles. If not, they have the classes of `report.css` alone.
    """

    styled: bool = True

    def draw(
        self,
        scans: Sequence[ScanReport],
        joins: Sequence[JoinReport | HeavyKeysReport | AuditReport] = (),
        values: Sequence[ValuesReport] = (),
        *,
        not_run: bool = False,
    ) -> str:
        """Return a report of scans, joins and their values as an HTML fragment."""
        graph = draw_join_graph([each for each in joins if isinstance(each, JoinReport)], values)
        parts = [*map(self._scan, scans), graph, *map(self._line, joins), *map(self._line, values)]
        drawn = "".join(parts) or "no scans"
        if not_run:
            drawn = f"<div{self._look('note', 'margin:0 0 8px')}>{escape(NOT_RUN_TEXT)}</div>{drawn}"
        return f"<div{self._look('report', 'color:inherit')}>{drawn}</div>"

    def _look(self, name: str, style: str) -> str:
        """Return the attributes of an element: its class, and its style if elements bring theirs."""
        return f' class="parquetry-{name}"' + (f' style="{style}"' if self.styled else "")

    def _scan(self, scan: ScanReport) -> str:
        rows = "".join(map(self._row, scan.steps))
        notes = [
            *([run_time_text(scan.run_time)] if scan.run_time is not None else []),
            *([f"not read: {scan.not_read}"] if scan.not_read else []),
            *([counted_text(scan)] if scan.counted else []),
            *([str(scan.rows)] if scan.rows is not None else []),
            *([str(scan.native)] if scan.native is not None and not scan.not_read else []),
        ]
        items = "".join(f"<li>{escape(note)}</li>" for note in notes) + "".join(
            f"<li>not by <code>{escape(condition_text(note.condition, note.origin))}</code>: {escape(note.reason)}</li>"
            for note in scan.unused()
        )
        listed = f"<ul{self._look('notes', 'margin:2px 0 0;opacity:0.75')}>{items}</ul>" if items else ""
        return (
            f"<div{self._look('scan', _BLOCK_STYLE)}><strong>{escape(scan.table)}</strong>"
            f'<table{self._look("funnel", _TABLE_STYLE)} aria-label="What is read of {escape(scan.table)}">{rows}</table>'
            f"{listed}</div>"
        )

    def _line(self, line: _JoinLine) -> str:
        return (
            f"<div{self._look('join', _BLOCK_STYLE)}><strong>{escape(line.title)}</strong>: "
            f"{escape(line.outcome)}</div>"
        )

    def _row(self, step: Step) -> str:
        about = "about " if step.about else ""
        text = f"{about}{amount(step, step.kept)} of {amount(step, step.of)}"
        name = f'<th scope="row"{self._look("step", f"{CELL_STYLE};font-weight:normal")}>{escape(step.name)}</th>'
        cells = [
            ("share", CELL_STYLE, share_bar(step.kept, step.of)),
            ("number", NUMBER_STYLE, escape(text)),
            ("reason", CELL_STYLE, escape(reason_text(step))),
        ]
        drawn = "".join(f"<td{self._look(name, style)}>{inner}</td>" for name, style, inner in cells)
        background = ' style="background:none"' if self.styled else ""
        return f"<tr{background}>{name}{drawn}</tr>"


def share_bar(kept: int, of: int) -> str:
    """Return a bar as wide as the share that a step kept; a small share is still visible.

    >>> share_bar(1, 4)[:69]
    '<svg class="parquetry-bar" width="120" height="9" viewBox="0 0 120 9"'
    """
    share = 100 * kept / of if of else 0
    width = 1.18 * (max(share, 1) if kept else 0)
    return (
        '<svg class="parquetry-bar" width="120" height="9" viewBox="0 0 120 9" role="img"'
        f' aria-label="{share:.1f} % kept"><title>{share:.1f} %</title>'
        '<rect x="0.5" y="0.5" width="119" height="8" rx="1.5" fill="none" stroke="currentColor" stroke-opacity="0.4"/>'
        f'<rect x="1" y="1" width="{width:.1f}" height="7" rx="1" fill="currentColor"/></svg>'
    )


def page_style() -> str:
    """Return the style sheet of reports on a page."""
    return resources.files(__package__).joinpath("report.css").read_text(encoding="utf-8")


def whole_page(title: str, body: str) -> str:
    """Return a page with a report: a file by itself, without anything from elsewhere.

    Args:
        title: of the page.
        body: the fragment, without styles of its own.
    """
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{page_style()}</style></head>\n"
        f'<body class="parquetry-page"><main><h1>{escape(title)}</h1>{body}</main></body></html>\n'
    )
