"""The graph of joins: an arrow for each filter, from the table that gave values to the one that took them."""

from __future__ import annotations

import re
from html import escape
from typing import Any

import pytest

from parquetry.prune.report.join import JoinReport
from parquetry.prune.report.join_graph import MAX_DRAWN_TABLES, draw_join_graph, join_edges
from parquetry.prune.report.join_values import ValuesReport
from parquetry.prune.report.report import Report


def values(giver: str, taker: str, column: str = "k", **more: Any) -> ValuesReport:
    """Return a filter that has pruned something."""
    return ValuesReport(taker, column, "INNER", giver, column, **{"how": "shared", "values": 30, **more})


def corners(svg: str) -> dict[str, tuple[int, int]]:
    """Return where the box of each table is."""
    boxes = re.findall(r'<g class="parquetry-node"><title>([^<]*)</title><rect x="(\d+)" y="(\d+)"', svg)
    return {name: (int(x), int(y)) for name, x, y in boxes}


def test_givers_stand_left_of_takers() -> None:
    """In a chain and in a star, a table is to the right of all that gave it values; no two boxes overlap."""
    chain = corners(draw_join_graph([], [values("c", "b"), values("b", "a"), values("c", "a", "j")]))
    assert chain["c"][0] < chain["b"][0] < chain["a"][0]
    star = corners(draw_join_graph([], [values(f"d{number}", "f") for number in range(5)]))
    assert len({x for name, (x, _) in star.items() if name != "f"}) == 1
    assert star["f"][0] > star["d0"][0]
    assert len(set(star.values())) == 6


def test_tables_that_give_to_each_other_are_drawn() -> None:
    """A circle of values, and a table joined with itself, have places as well."""
    svg = draw_join_graph([], [values("a", "b"), values("b", "a"), values("a", "a", "j")])
    assert corners(svg).keys() == {"a", "b"}
    assert svg.count("parquetry-edge-") == 3


@pytest.mark.parametrize(
    ("more", "kind", "label"),
    [
        ({}, "pruned", "30 values of k"),
        ({"values": 1}, "pruned", "1 value of k"),
        ({"values": 8, "tuples": True}, "pruned", "8 tuples of k"),
        ({"reason": "every partition may hold a match"}, "gave", "30 values of k"),
        ({"how": "refused", "reason": "1 file left", "values": None}, "refused", "no values of k"),
        ({"how": "enough", "reason": "0 files left", "values": None}, "refused", "no values of k"),
        ({"how": "ends", "values": None}, "pruned", "range of k"),
        ({"how": "known", "values": None}, "pruned", "values of k"),
    ],
)
def test_a_line_says_what_became_of_its_filter(more: dict[str, Any], kind: str, label: str) -> None:
    """Values that pruned, that did not, and that were refused look different; the title has all facts."""
    report = values("d", "f", **more)
    svg = draw_join_graph([], [report])
    assert f'class="parquetry-edge-{kind}"' in svg
    assert f">{label}</text>" in svg
    assert escape(str(report)) in svg
    assert ("stroke-dasharray" in svg) == (kind == "refused")


def test_joins_without_values_are_plain_lines() -> None:
    """A join has one line: its filter's if it has one, otherwise whether it shuffles."""
    joins = [
        JoinReport("INNER", "f", "d", ("k = k",), True, "", ("left",)),
        JoinReport("LEFT OUTER", "f", "e", (), False, ""),
    ]
    edges = join_edges(joins, [values("d", "f")])
    assert [(edge.giver, edge.taker, edge.label, edge.gave) for edge in edges] == [
        ("d", "f", "30 values of k", True),
        ("f", "e", "no shuffle", None),
    ]


def test_names_are_escaped_and_long_ones_shortened() -> None:
    """A name cannot add markup, and the whole of a long one is in the title."""
    evil = "lake.db.<script>alert('&')"
    svg = Report((), values=(values(evil, "lake.db." + "long" * 20),)).to_html()
    assert "<script" not in svg
    assert f"<title>lake.db.{'long' * 20}</title>" in svg
    assert "…</text>" in svg


def test_too_many_tables_are_not_drawn() -> None:
    """Beyond a limit, and without joins, the text alone is shown."""
    many = [values(f"d{number}", "f") for number in range(MAX_DRAWN_TABLES)]
    assert draw_join_graph([], many) == ""
    assert draw_join_graph([], many[1:]) != ""
    assert draw_join_graph([], []) == ""
    assert Report((), values=tuple(many)).to_html().count("run-time values") == MAX_DRAWN_TABLES
