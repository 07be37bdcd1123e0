"""The outcomes as a chart in SVG: two bars for each scene, in light or dark as the reader's system is."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from html import escape

from demo.outcome import Outcome

_WIDTH, _HEAD, _ROW, _FOOT = 960, 104, 70, 18
_QUESTION, _BAR, _BAR_WIDTH, _FACTOR = 24, 344, 256, 936
_BAR_HEIGHT, _GAP = 15, 5
_LEAST_BAR = 1.5
"""Width of a bar that stands for something, however little."""
CAPTION = (
    "A bar is as long as the first number beside it: files opened, shuffles, keys examined, or files rewritten. "
    "Without a grey bar, plain Spark did not run."
)
_QUESTION_CHARACTERS, _QUESTION_LINES = 50, 2
STYLE = """\
.pq text { font-family: system-ui, -apple-system, 'Segoe UI', sans-serif; font-size: 12px; fill: #23211d; }
.pq .title { font-weight: 650; font-size: 18px; } .pq .name { font-weight: 600; font-size: 13.5px; }
.pq .soft { font-size: 11px; fill: #6d685f; } .pq .factor { font-weight: 650; font-size: 17px; fill: #a8612a; }
.pq .paper { fill: #fbfaf7; } .pq .beside { fill: #c9c2b4; } .pq .ours { fill: #a8612a; } .pq line { stroke: #e4e0d7; }
@media (prefers-color-scheme: dark) {
.pq text { fill: #ebe6dc; } .pq .soft { fill: #a29b8e; } .pq .factor { fill: #dd9457; }
.pq .paper { fill: #191714; } .pq .beside { fill: #57503f; } .pq .ours { fill: #dd9457; } .pq line { stroke: #38332c; }
}
"""
"""Colours and fonts. They hold within `pq` alone, so a page around the chart keeps its own."""


def chart(outcomes: Sequence[Outcome], title: str, *, within_page: bool = False) -> str:
    """Return the chart.

    A bar is as long as its number's share of the other side's: the grey ones are all of the same length.

    Args:
        outcomes: a row for each, in order.
        title: above the bars.
        within_page: whether the chart becomes a part of a page; otherwise it is a file of its own.
    """
    parts = [
        text_at(_QUESTION, 34, title, "title"),
        text_at(_QUESTION, 55, CAPTION, "soft"),
        *_legend(),
        *(part for number, outcome in enumerate(outcomes) for part in _row(outcome, _HEAD + _ROW * number)),
    ]
    size = _WIDTH, _HEAD + _ROW * len(outcomes) + _FOOT
    return picture(parts, size, aloud(outcomes, title), within_page=within_page)


def aloud(outcomes: Sequence[Outcome], title: str) -> str:
    """Return the chart in words, for readers that do not see it."""
    sides = (f"{each.scene.name}: {each.beside.text}, Parquetry {each.ours.text}" for each in outcomes)
    return f"{title}. {'; '.join(sides)}"


def picture(parts: Sequence[str], size: tuple[int, int], words: str, *, within_page: bool) -> str:
    """Return the SVG of a chart.

    Args:
        parts: what is drawn.
        size: width and height.
        words: what a reader hears who does not see it.
        within_page: whether it becomes a part of a page.
    """
    width, height = size
    namespace = "" if within_page else ' xmlns="http://www.w3.org/2000/svg"'
    first = (
        f'<svg{namespace} class="pq" viewBox="0 0 {width} {height}" role="img" aria-label="{escape(words)}">'
    )
    paper = f'<rect class="paper" width="{width}" height="{height}" rx="{0 if within_page else 10}"/>'
    return "\n".join([first, f"<style>{STYLE}</style>", paper, *parts, "</svg>\n"])


def beside_text(outcome: Outcome) -> str:
    """Return the numbers of the other side, and that plain Spark did not run if so."""
    text = outcome.beside.text
    return text if outcome.ran_beside else f"{text} in {outcome.beside_name}; plain Spark did not run"


def ours_share(outcome: Outcome) -> float:
    """Return the length of Parquetry's bar as a share of the longest."""
    return min(1.0, outcome.share) if outcome.ours.counted else 0.0


def _legend() -> list[str]:
    y = 82
    return [
        f'<rect class="beside" x="{_BAR}" y="{y - 10}" width="11" height="11" rx="2"/>',
        text_at(_BAR + 17, y, "plain Spark, the same rows"),
        f'<rect class="ours" x="{_BAR + 194}" y="{y - 10}" width="11" height="11" rx="2"/>',
        text_at(_BAR + 211, y, "Parquetry"),
        text_at(_FACTOR, y, "times fewer, or none", "soft", "end"),
    ]


def _row(outcome: Outcome, top: int) -> list[str]:
    lines = textwrap.wrap(
        outcome.scene.asks, _QUESTION_CHARACTERS, max_lines=_QUESTION_LINES, placeholder=" …"
    )
    first = top + 18
    second = first + _BAR_HEIGHT + _GAP
    return [
        f'<line x1="{_QUESTION}" x2="{_FACTOR}" y1="{top}" y2="{top}"/>',
        text_at(_QUESTION, top + 24, outcome.scene.name, "name"),
        *(text_at(_QUESTION, top + 41 + 15 * number, line, "soft") for number, line in enumerate(lines)),
        *_bar("beside", outcome.beside_share, first, beside_text(outcome)),
        *_bar("ours", ours_share(outcome), second, outcome.ours.text),
        text_at(_FACTOR, top + 42, outcome.factor, "factor", "end"),
    ]


def _bar(side: str, share: float, top: int, label: str) -> list[str]:
    width = max(_LEAST_BAR, share * _BAR_WIDTH) if share else 0.0
    return [
        f'<rect class="{side}" x="{_BAR}" y="{top}" width="{width:.1f}" height="{_BAR_HEIGHT}" rx="{min(2.0, width / 2):.1f}"/>',
        text_at(_BAR + width + 7, top + 12, label),
    ]


def text_at(x: float, y: float, text: str, style: str = "", anchor: str = "start") -> str:
    """Return a line of text at a place, in one of the style sheet's classes."""
    named = f' class="{style}"' if style else ""
    anchored = "" if anchor == "start" else f' text-anchor="{anchor}"'
    return f'<text x="{x:.1f}" y="{y}"{named}{anchored}>{escape(text)}</text>'
