"""Print results: objects as JSON for programs, tables for people.

Both go to standard output. The commands decide what to print.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from parquetry.texts import cell, plain

_TABLE_ROWS = 1_000
"""Rows whose widths are computed together. A longer listing may continue with other widths."""


def print_json(objects: Iterable[Mapping[str, Any]]) -> None:
    """Print objects as a JSON list, one a line. Each is printed as soon as it is ready."""
    separator = "["
    for fields in objects:
        print(f"{separator}{json_text(fields)}", end="")
        separator = ",\n "
    print("[]" if separator == "[" else "]")


def json_text(value: Any) -> str:
    """Return a value as JSON in one line, in characters that standard output can encode."""
    unicode = "utf" in (sys.stdout.encoding or "").lower()
    return json.dumps(plain(value), ensure_ascii=not unicode, allow_nan=False)


def print_table(
    headings: Sequence[str],
    rows: Iterable[Sequence[Any]],
    numbers: Iterable[str] = (),
    empty: str = "nothing",
) -> None:
    """Print a table for people.

    Args:
        headings: one per column.
        rows: values, see `cell`.
        numbers: headings of the right-aligned columns.
        empty: the text if there are no rows.
    """
    right = [heading in set(numbers) for heading in headings]
    show = _show_on_terminal if sys.stdout.isatty() else _show_plainly
    remaining = iter(rows)
    head: Sequence[str] | None = headings
    while chunk := [[cell(value) for value in row] for row in islice(remaining, _TABLE_ROWS)]:
        show(head, chunk, right)
        head = None
    if head is not None:
        print(empty)


def _show_on_terminal(head: Sequence[str] | None, rows: list[list[str]], right: list[bool]) -> None:
    """Print rows folded to the terminal's width."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, show_header=head is not None)
    for index, flush_right in enumerate(right):
        table.add_column(
            head[index] if head is not None else "",
            justify="right" if flush_right else "left",
            no_wrap=flush_right,
            overflow="fold",
        )
    for row in rows:
        table.add_row(*row)
    Console(markup=False, emoji=False, highlight=False).print(table)


def _show_plainly(head: Sequence[str] | None, rows: list[list[str]], right: list[bool]) -> None:
    """Print each row in a line of any length: for files and pipes, and hundreds of times as fast as Rich."""
    lines = rows if head is None else [list(head), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    for line in lines:
        cells = (
            text.rjust(width) if flush_right else text.ljust(width)
            for text, width, flush_right in zip(line, widths, right, strict=True)
        )
        print("  ".join(cells).rstrip())
