"""Draw the joins of a query as a graph: tables as boxes, and an arrow for values that one gave to another.

A join without values is a plain line. Tables that give stand to the left of the tables that take. The picture
is SVG without styles, so that a page may forbid them, and is in the page's own colour.

A text beside the picture has the same facts: each line of the report. So the picture has a short label for
readers of the screen, and its parts are not read one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from parquetry.prune.report.join import JoinReport
from parquetry.prune.report.join_values import ValuesReport
from parquetry.texts import quantity

MAX_DRAWN_TABLES = 40
"""Tables of a graph: with more of them its lines run into each other, and only the text is shown."""
_BOX_WIDTH, _BOX_HEIGHT = 168, 30
_COLUMN, _ROW = 330, 64
"""Pixels from one box to the next, in a row and in a column."""
_MARGIN = 14
_MAX_NAME_CHARACTERS, _MAX_LABEL_CHARACTERS = 24, 26


@dataclass(frozen=True, slots=True)
class JoinEdge:
    """A join of two tables of a query.

    Attributes:
        giver: the table that gave values, or the left side of a join without values.
        taker: the table that took them, or the right side.
        label: what the line says.
        detail: all that is known of it.
        gave: whether values were given; None for a join without a runtime filter.
        pruned: whether they left something out.
    """

    giver: str
    taker: str
    label: str
    detail: str
    gave: bool | None
    pruned: bool = False


def join_edges(joins: Iterable[JoinReport], values: Iterable[ValuesReport]) -> list[JoinEdge]:
    """Return the edges of the graph: one for each runtime filter, and for each join without one.

    >>> filter = ValuesReport("f", "k", "INNER", "d", "k", "shared", values=30)
    >>> [edge.label for edge in join_edges([JoinReport("INNER", "f", "d", ("k = k",), False, "")], [filter])]
    ['30 values of k']
    """
    edges = [_values_edge(each) for each in values]
    known = {frozenset((edge.giver, edge.taker)) for edge in edges}
    for join in joins:
        if frozenset((join.left, join.right)) not in known:
            label = "shuffled" if join.shuffles or join.shuffled else "no shuffle"
            edges.append(JoinEdge(join.left, join.right, label, str(join), None))
    return edges


def _values_edge(values: ValuesReport) -> JoinEdge:
    gave = values.how not in ("refused", "enough")
    if not gave:
        label = f"no values of {values.column}"
    elif values.how == "ends":
        label = f"range of {values.column}"
    elif values.values is None:
        label = f"values of {values.column}"
    else:
        label = f"{quantity(values.values, 'tuple' if values.tuples else 'value')} of {values.column}"
    return JoinEdge(values.build, values.table, label, str(values), gave, gave and not values.reason)


def draw_join_graph(joins: Sequence[JoinReport], values: Sequence[ValuesReport]) -> str:
    """Return the graph as SVG, or an empty text if there is nothing to draw."""
    edges = join_edges(joins, values)
    names = list(dict.fromkeys(name for edge in edges for name in (edge.giver, edge.taker)))
    if not edges or len(names) > MAX_DRAWN_TABLES:
        return ""
    corners = _place_boxes(names, edges)
    width = max(x for x, _ in corners.values()) + _BOX_WIDTH + _MARGIN
    height = max(y for _, y in corners.values()) + _BOX_HEIGHT + _MARGIN
    given = sum(edge.gave is True for edge in edges)
    label = f"Graph of joins: {quantity(len(names), 'table')}, {quantity(given, 'runtime filter')} with values. The lines below say the same."
    lines = "".join(_edge(edge, corners, edges) for edge in edges)
    boxes = "".join(_box(name, *corners[name]) for name in names)
    return (
        f'<div class="parquetry-graph"><svg width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
        f' role="img" aria-label="{escape(label)}" font-family="inherit" font-size="12" fill="currentColor">'
        f"{lines}{boxes}</svg></div>"
    )


def _place_boxes(names: Sequence[str], edges: Sequence[JoinEdge]) -> dict[str, tuple[int, int]]:
    """Return where each box has its upper left corner.

    A table stands one column to the right of the tables that give it values. Tables that give each other
    values stand where the first of them is. Within a column, a table is as high as its neighbours on average.
    """
    column = dict.fromkeys(names, 0)
    directed = [edge for edge in edges if edge.giver != edge.taker]
    for _ in range(len(names)):
        moved = False
        for edge in directed:
            if column[edge.taker] <= column[edge.giver] < len(names) - 1 and not _leads(
                edge.taker, edge.giver, directed
            ):
                column[edge.taker] = column[edge.giver] + 1
                moved = True
        if not moved:
            break
    row: dict[str, float] = {}
    for number in sorted(set(column.values())):
        members = [name for name in names if column[name] == number]
        members.sort(key=lambda name: _mean_row(name, row, directed))
        row |= {name: float(position) for position, name in enumerate(members)}
    deepest = max(sum(each == number for each in column.values()) for number in column.values())
    counts = {number: sum(each == number for each in column.values()) for number in column.values()}
    return {
        name: (
            _MARGIN + column[name] * _COLUMN,
            round(_MARGIN + (row[name] + (deepest - counts[column[name]]) / 2) * _ROW),
        )
        for name in names
    }


def _leads(start: str, end: str, edges: Sequence[JoinEdge]) -> bool:
    """Return whether values given by one table reach another, perhaps through others."""
    reached, waiting = {start}, [start]
    while waiting:
        name = waiting.pop()
        for edge in edges:
            if edge.giver == name and edge.taker not in reached:
                reached.add(edge.taker)
                waiting.append(edge.taker)
    return end in reached


def _mean_row(name: str, row: dict[str, float], edges: Sequence[JoinEdge]) -> float:
    givers = [row[edge.giver] for edge in edges if edge.taker == name and edge.giver in row]
    return sum(givers) / len(givers) if givers else len(row)


def _edge(edge: JoinEdge, corners: dict[str, tuple[int, int]], edges: Sequence[JoinEdge]) -> str:
    start, end = _line_ends(corners[edge.giver], corners[edge.taker])
    bend = (end[0] - start[0]) // 2
    path = f"M{start[0]},{start[1]} C{start[0] + bend},{start[1]} {end[0] - bend},{end[1]} {end[0]},{end[1]}"
    dashed = "" if edge.gave is not False else ' stroke-dasharray="4 4"'
    weight = 2 if edge.pruned else 1
    name = "pruned" if edge.pruned else "gave" if edge.gave else "refused" if edge.gave is False else "plain"
    arrow = _arrow(end, 1 if end[0] >= start[0] else -1) if edge.gave else ""
    return (
        f'<g class="parquetry-edge-{name}"><title>{escape(edge.detail)}</title>'
        f'<path d="{path}" fill="none" stroke="currentColor" stroke-width="{weight}"{dashed}/>{arrow}'
        f"{_edge_label(edge, start, end, edges)}</g>"
    )


def _line_ends(giver: tuple[int, int], taker: tuple[int, int]) -> tuple[tuple[int, int], tuple[int, int]]:
    """Return where the line between two boxes begins and ends, given their corners."""
    (x1, y1), (x2, y2) = giver, taker
    middle = _BOX_HEIGHT // 2
    if x2 > x1:
        return (x1 + _BOX_WIDTH, y1 + middle), (x2, y2 + middle)
    if x2 < x1:
        return (x1, y1 + middle), (x2 + _BOX_WIDTH, y2 + middle)
    return (x1 + _BOX_WIDTH // 2, y1 + _BOX_HEIGHT), (x2 + _BOX_WIDTH // 2, y2)


def _edge_label(
    edge: JoinEdge, start: tuple[int, int], end: tuple[int, int], edges: Sequence[JoinEdge]
) -> str:
    """Return the label of a line: above the end that it has for itself, or in the middle."""
    way = 1 if end[0] >= start[0] else -1
    if start[1] == end[1] or start[0] == end[0]:
        x, y, anchor = (start[0] + end[0]) // 2, (start[1] + end[1]) // 2 - 6, "middle"
    elif sum(edge.giver in (other.giver, other.taker) for other in edges) == 1:
        y = start[1] + (-6 if end[1] > start[1] else 16)  # on the side that the line bends away from
        x, anchor = start[0] + 10 * way, "start" if way > 0 else "end"
    elif sum(edge.taker in (other.giver, other.taker) for other in edges) == 1:
        y = end[1] + (16 if end[1] > start[1] else -6)
        x, anchor = end[0] - 12 * way, "end" if way > 0 else "start"
    else:
        x, y, anchor = (start[0] + end[0]) // 2, (start[1] + end[1]) // 2 - 6, "middle"
    text = escape(_short(edge.label, _MAX_LABEL_CHARACTERS))
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}" font-size="11">{text}</text>'


def _arrow(end: tuple[int, int], way: int) -> str:
    x, y = end
    return f'<path d="M{x},{y} l{-9 * way},-4 v8 z" fill="currentColor"/>'


def _box(name: str, x: int, y: int) -> str:
    text = escape(_short(name.removeprefix("lake."), _MAX_NAME_CHARACTERS))
    return (
        f'<g class="parquetry-node"><title>{escape(name)}</title>'
        f'<rect x="{x}" y="{y}" width="{_BOX_WIDTH}" height="{_BOX_HEIGHT}" rx="4" fill="none" stroke="currentColor"/>'
        f'<text x="{x + _BOX_WIDTH // 2}" y="{y + 19}" text-anchor="middle">{text}</text></g>'
    )


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[: longest - 1]}…"
