"""Draw the values of a catalog: as text for prompts, and as HTML for notebooks.

HTML is in the page's own colours, with every text escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

from parquetry.prune import CELL_STYLE, NUMBER_STYLE, PLAIN_STYLE
from parquetry.texts import cell


class PromptText(str):
    """A text that a prompt shows as it is, without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def table_text(title: str, rows: Sequence[Mapping[str, Any]], note: str = "") -> str:
    """Return a table of things with the same headings, as text; see `table_html`.

    >>> print(table_text("versions of t", [{"version": 1, "operation": "append"}], "the first 20"))
    versions of t (the first 20)
    version  operation
    1        append
    """
    lines = [list(rows[0]), *([cell(value) for value in row.values()] for row in rows)] if rows else []
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    drawn = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
    return "\n".join([f"{title} ({note})" if note else title, *drawn])


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
