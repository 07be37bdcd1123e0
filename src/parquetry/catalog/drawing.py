"""Draw the values of a catalog as HTML for notebooks: in the page's own colours, with every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from parquetry.prune import CELL_STYLE, NUMBER_STYLE, PLAIN_STYLE
from parquetry.texts import cell


def table_html(title: str, rows: Sequence[Mapping[str, Any]], note: str = "") -> str:
    """Return a table of things with the same headings.

    Args:
        title: above it.
        rows: values by headings.
        note: after the title.
    """
    headings = "".join(
        f'<th style="{CELL_STYLE}">{escape(heading)}</th>' for heading in (rows[0] if rows else ())
    )
    lines = "".join(f'<tr style="background:none">{"".join(map(_cell, row.values()))}</tr>' for row in rows)
    behind = f" ({escape(note)})" if note else ""
    return (
        f'<div style="margin:0 0 12px"><strong>{escape(title)}</strong>{behind}'
        f'<table style="border-collapse:collapse;{PLAIN_STYLE}"><tr style="background:none">{headings}</tr>{lines}</table></div>'
    )


def facts_html(facts: Iterable[tuple[str, str]]) -> str:
    """Return named texts, a line each."""
    lines = "".join(
        f'<tr style="background:none"><td style="{CELL_STYLE}">{escape(name)}</td>'
        f'<td style="{CELL_STYLE}">{escape(text)}</td></tr>'
        for name, text in facts
    )
    return f'<table style="border-collapse:collapse;{PLAIN_STYLE}">{lines}</table>'


def text_html(title: str, text: str) -> str:
    """Return a text of several lines, unchanged."""
    return f'<strong>{escape(title)}</strong><pre style="color:inherit;background:none">{escape(text)}</pre>'


def _cell(value: Any) -> str:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    text = f"{value:,}" if isinstance(value, int) and number else cell(value)
    return f'<td style="{NUMBER_STYLE if number else CELL_STYLE}">{escape(text)}</td>'
