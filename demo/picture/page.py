"""The outcomes as one HTML page without other files: the chart, each scene, and how it was measured."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path

from demo.outcome import Outcome, Side, counted_text
from demo.picture.chart import chart
from demo.picture.narrow import narrow_chart

_STYLE = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
_LEAST_PERCENT = 0.4
"""Width of a bar that stands for something, however little."""
_HOW = (
    "Both sides ran in one JVM on two cores, one after the other: Parquetry first, so plain Spark had the warmer disk and the "
    "warmer code. What took less than four seconds on both sides together ran twice, and each side's better time counts. Every answer was compared, row by row, and a difference fails the demo.",
    "Plain Spark reads the very files that Parquetry reads, in the same order and number, partitioned by the same column, and "
    "it had listed them before the clock started. Only list bucketing's directories it does not understand: there it has the "
    "same rows partitioned by year, in as many files.",
    "Files and bytes count what a side opened of the large tables. For plain Spark they are the metrics of its scans, number "
    "and size of files read. For Parquetry they come from its report, which is the source of its scans' metrics, too. A file "
    "counts whole, whichever columns are read of it. DuckDB has counted from the raw rows how few files are enough; reading more fails the demo.",
)


def page(outcomes: Sequence[Outcome], alike: Sequence[Outcome], notes: Sequence[str], title: str) -> str:
    """Return the page.

    Args:
        outcomes: of the scenes, in their order.
        alike: of the queries where Spark prunes as well.
        notes: further sentences about how it was measured.
        title: of the page and the chart.
    """
    wrong = [outcome for outcome in (*outcomes, *alike) if outcome.faults]
    verdict = (
        f'<p class="fault">{counted_text(len(wrong), "answer")} wrong or read too much: see below.</p>'
        if wrong
        else '<p class="soft">One question each. Every answer is the same on both sides.</p>'
    )
    how = "".join(f"<p>{escape(text)}</p>" for text in (*_HOW, *notes))
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<style>{_STYLE}</style></head>\n<body><h1>What only Parquetry leaves out</h1>{verdict}\n"
        f'<div class="chart wide">{chart(outcomes, title, within_page=True)}</div>\n'
        f'<div class="chart narrow">{narrow_chart(outcomes, title, within_page=True)}</div>\n'
        f"<h2>The questions, one by one</h2>\n{''.join(map(_article, outcomes))}"
        f"<h2>Where Spark prunes as well</h2>\n{_alike(alike)}"
        f"<h2>How it was measured</h2>\n{how}</body></html>\n"
    )


def _article(outcome: Outcome) -> str:
    scene = outcome.scene
    report = (
        f"<details{' open' if outcome.scene.reports else ''}><summary>What the report says after the run</summary><pre>{escape(str(outcome.report))}</pre></details>"
        if outcome.report is not None
        else ""
    )
    faults = "".join(f'<p class="fault">{escape(fault)}</p>' for fault in outcome.faults)
    share = min(1.0, outcome.share)
    return (
        f"<article><header><h3>{escape(scene.name)}</h3>{_verdict(outcome)}</header>"
        f'<p class="question">{escape(scene.asks)}</p>{faults}<div class="sides">'
        f"{_side(outcome.beside_name, 'beside', outcome.beside_share, outcome.beside)}{_side('Parquetry', 'ours', share, outcome.ours)}</div>"
        f'<p class="soft">{escape(scene.why)}</p>{report}'
        f"<details><summary>The statement</summary><pre>{escape(scene.sql)}</pre></details></article>\n"
    )


def _verdict(outcome: Outcome) -> str:
    if outcome.faults:
        return '<span class="verdict wrong">✗ wrong</span>'
    return f'<span class="verdict">✓ {counted_text(outcome.rows, "row")}</span>'


def _side(name: str, style: str, share: float, side: Side) -> str:
    width = max(_LEAST_PERCENT, 100 * share) if side.counted and share else 0.0
    return (
        f'<span>{escape(name)}</span><span class="track"><i class="{style}" style="width:{width:.1f}%"></i></span>'
        f'<span class="numbers">{escape(side.text)}</span>'
    )


def _alike(outcomes: Sequence[Outcome]) -> str:
    rows = "".join(
        f"<tr><td>{escape(each.scene.name)}</td><td>{escape(each.scene.asks)}"
        f"{''.join(f'<br><span class=fault>{escape(fault)}</span>' for fault in each.faults)}</td>"
        f"<td>{escape(each.beside.text)}</td><td>{escape(each.ours.text)}</td></tr>"
        for each in outcomes
    )
    return (
        '<p class="soft">Conditions on the partition column: there both sides open the same files, and neither has an edge.</p>'
        '<table class="alike"><tr><th>query</th><th></th><th>plain Spark</th><th>Parquetry</th></tr>'
        f"{rows}</table>\n"
    )
