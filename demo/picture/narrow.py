"""The chart for a phone: the same rows as `demo.picture.chart`, with each bar below its numbers."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from demo.outcome import Outcome
from demo.picture.chart import CAPTION, aloud, beside_text, ours_share, picture, text_at

_WIDTH, _MARGIN = 400, 16
"""A phone shows the picture in some 360 points, so its text of 12 or 13 keeps its size."""
_BARS = _WIDTH - 2 * _MARGIN
_CHARACTERS, _TITLE_CHARACTERS = 62, 34
_LINE, _TITLE_LINE, _BAR_HEIGHT, _LEAST_BAR = 15, 22, 9, 1.5


def narrow_chart(outcomes: Sequence[Outcome], title: str, *, within_page: bool = False) -> str:
    """Return the chart.

    Args:
        outcomes: a row for each, in order.
        title: above the bars.
        within_page: whether the chart becomes a part of a page; otherwise it is a file of its own.
    """
    parts, top = _head(title)
    for outcome in outcomes:
        row, top = _row(outcome, top)
        parts += row
    return picture(parts, (_WIDTH, top), aloud(outcomes, title), within_page=within_page)


def _head(title: str) -> tuple[list[str], int]:
    """Return the title, the caption and the legend, and where the rows begin."""
    parts, y = [], 12
    for line in textwrap.wrap(title, _TITLE_CHARACTERS):
        y += _TITLE_LINE
        parts.append(text_at(_MARGIN, y, line, "title"))
    y += 4
    for line in textwrap.wrap(CAPTION, _CHARACTERS):
        y += _LINE
        parts.append(text_at(_MARGIN, y, line, "soft"))
    y += 24
    for x, side, text in ((0, "beside", "plain Spark, the same rows"), (184, "ours", "Parquetry")):
        parts.append(f'<rect class="{side}" x="{_MARGIN + x}" y="{y - 10}" width="11" height="11" rx="2"/>')
        parts.append(text_at(_MARGIN + x + 17, y, text))
    parts.append(text_at(_WIDTH - _MARGIN, y, "times fewer", "soft", "end"))
    return parts, y + 16


def _row(outcome: Outcome, top: int) -> tuple[list[str], int]:
    """Return a scene's name, question and bars, and where the next row begins."""
    y = top + 22
    parts = [
        f'<line x1="{_MARGIN}" x2="{_WIDTH - _MARGIN}" y1="{top}" y2="{top}"/>',
        text_at(_MARGIN, y, outcome.scene.name, "name"),
        text_at(_WIDTH - _MARGIN, y, outcome.factor, "factor", "end"),
    ]
    for line in textwrap.wrap(outcome.scene.asks, _CHARACTERS):
        y += _LINE
        parts.append(text_at(_MARGIN, y, line, "soft"))
    sides = (
        ("beside", outcome.beside_share, beside_text(outcome)),
        ("ours", ours_share(outcome), outcome.ours.text),
    )
    for side, share, numbers in sides:
        y += 19
        parts.append(text_at(_MARGIN, y, numbers))
        y += 5
        width = max(_LEAST_BAR, share * _BARS) if share else 0.0
        if width:
            parts.append(
                f'<rect class="{side}" x="{_MARGIN}" y="{y}" width="{width:.1f}" height="{_BAR_HEIGHT}" rx="{min(2.0, width / 2):.1f}"/>'
            )
            y += _BAR_HEIGHT
    return parts, y + 14
