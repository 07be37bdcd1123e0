"""Charts as SVG: dots on a logarithmic axis, a row for each query and a dot for each variant."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

_COLOURS = ("#0f766e", "#9ca3af", "#d97706", "#7c3aed", "#111827")
_WIDTH, _LEFT, _RIGHT, _TOP, _ROW = 760, 150, 24, 74, 15
_STYLE = "font-family='system-ui, sans-serif' font-size='11' fill='#374151'"


def dots(
    title: str, unit: str, rows: Mapping[str, Mapping[str, float]], variants: Sequence[str], least: float
) -> str:
    """Return a chart.

    Args:
        title: above it.
        unit: of the axis.
        rows: of each query, by its name, the value of each variant; one that has none is left out.
        variants: in the order of the legend.
        least: values below it are drawn there.

    >>> "<circle" in dots("Files", "files", {"q1": {"a": 3.0}}, ["a"], 1)
    True
    """
    values = [max(value, least) for row in rows.values() for value in row.values()]
    low = math.floor(math.log10(min(values, default=least)))
    high = max(low + 1, math.ceil(math.log10(max(values, default=least))))
    bottom = _TOP + _ROW * len(rows)

    def x(value: float) -> float:
        share = (math.log10(max(value, least)) - low) / (high - low)
        return round(_LEFT + share * (_WIDTH - _LEFT - _RIGHT), 1)

    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {_WIDTH} {bottom + 34}' {_STYLE}>",
        f"<rect width='{_WIDTH}' height='{bottom + 34}' fill='#ffffff'/>",
        f"<text x='12' y='22' font-size='14' font-weight='600' fill='#111827'>{escape(title)}</text>",
        *_legend(variants),
    ]
    for power in range(low, high + 1):
        at = x(10.0**power)
        parts.append(f"<line x1='{at}' y1='{_TOP - 6}' x2='{at}' y2='{bottom}' stroke='#e5e7eb'/>")
        parts.append(f"<text x='{at}' y='{bottom + 14}' text-anchor='middle'>{_label(10.0**power)}</text>")
    parts.append(f"<text x='{_WIDTH - _RIGHT}' y='{bottom + 28}' text-anchor='end'>{escape(unit)}</text>")
    for place, (name, row) in enumerate(rows.items()):
        y = _TOP + _ROW * place + _ROW / 2
        ends = [x(value) for value in row.values()]
        parts.append(f"<text x='{_LEFT - 10}' y='{y + 4}' text-anchor='end'>{escape(name)}</text>")
        if ends:
            parts.append(f"<line x1='{min(ends)}' y1='{y}' x2='{max(ends)}' y2='{y}' stroke='#d1d5db'/>")
        # the first variant is drawn last, above the others
        for number, variant in reversed(list(enumerate(variants))):
            if variant in row:
                tip = f"<title>{escape(f'{name}, {variant}: {_label(row[variant])} {unit}')}</title>"
                colour = _COLOURS[number % len(_COLOURS)]
                parts.append(f"<circle cx='{x(row[variant])}' cy='{y}' r='4' fill='{colour}'>{tip}</circle>")
    return "\n".join([*parts, "</svg>", ""])


def _legend(variants: Sequence[str]) -> list[str]:
    parts, left = [], 12
    for number, variant in enumerate(variants):
        colour = _COLOURS[number % len(_COLOURS)]
        parts.append(f"<circle cx='{left + 4}' cy='42' r='4' fill='{colour}'/>")
        parts.append(f"<text x='{left + 13}' y='46'>{escape(variant)}</text>")
        left += 32 + 6 * len(variant)
    return parts


def _label(value: float) -> str:
    """Write a number shortly.

    >>> _label(1000.0), _label(0.01), _label(2.5)
    ('1,000', '0.01', '2.5')
    """
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
