"""Draw folded stacks as a flame graph, an SVG that needs nothing else.

Each box is a function or a question. Its width is its time with all that it called, and what it called is
above it. A box's title has its name, its time and its part of the whole.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

_WIDTH, _ROW, _CHARACTER = 1200, 18, 7
"""Pixels: of the picture, of a row, and of a character."""
_MIN_WIDTH = 0.3
"""Pixels of the narrowest box that is drawn."""
_COLOURS = ("#e4572e", "#f0803c", "#f3a712", "#e9c46a", "#d97b4f", "#c8553d")


class _Box:
    """A function on one way to it: its own time in microseconds, and what it called."""

    def __init__(self) -> None:
        self.own = 0
        self.called: dict[str, _Box] = {}

    def total(self) -> int:
        return self.own + sum(box.total() for box in self.called.values())

    def depth(self) -> int:
        return 1 + max((box.depth() for box in self.called.values()), default=0)


def draw_flame_graph(stacks: Mapping[str, int]) -> str:
    """Return the SVG of stacks.

    Args:
        stacks: the microseconds that each stack took by itself. A stack is its functions' names, the
            outermost first, joined by `;`.
    """
    root = _Box()
    for stack, time in stacks.items():
        box = root
        for name in stack.split(";"):
            box = box.called.setdefault(name, _Box())
        box.own += time
    whole = root.total()
    height = _ROW * root.depth()
    shapes: list[str] = []
    if whole:
        _draw("all", root, (0.0, height - _ROW), whole, shapes)
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'viewBox="0 0 {_WIDTH} {height}" font-family="monospace" font-size="11">',
        *shapes,
        "</svg>",
        "",
    ])  # fmt: skip


def _draw(name: str, box: _Box, corner: tuple[float, int], whole: int, shapes: list[str]) -> None:
    """Add the shapes of a box and of all above it; `corner` is the left upper one."""
    left, top = corner
    total = box.total()
    width = _WIDTH * total / whole
    if width < _MIN_WIDTH:
        return
    title = f"{name}: {total / 1000:,.2f} ms, {total / whole:.1%}"
    colour = _COLOURS[sum(name.encode()) % len(_COLOURS)]
    shown = name[: int(width / _CHARACTER)] if width > 3 * _CHARACTER else ""
    shapes.append(
        f'<g><title>{escape(title)}</title><rect x="{left:.1f}" y="{top}" width="{width:.1f}" '
        f'height="{_ROW - 1}" fill="{colour}" rx="1"/>'
        f'<text x="{left + 2:.1f}" y="{top + 12}">{escape(shown)}</text></g>'
    )
    for called, above in sorted(box.called.items()):
        _draw(called, above, (left, top - _ROW), whole, shapes)
        left += _WIDTH * above.total() / whole
