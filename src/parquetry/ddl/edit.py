"""Parts of a text replaced by others, and texts as Spark reads them between quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_VISIBLE = re.compile(r"[^\s]")


@dataclass(frozen=True, slots=True)
class Edit:
    """Characters from `start` to before `end` are replaced by a text."""

    start: int
    end: int
    text: str


def edited(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with some of its parts, none of which overlap, replaced.

    >>> edited("a b c", [Edit(4, 5, "C"), Edit(0, 1, "A")])
    'A b C'
    """
    for edit in sorted(edits, key=lambda each: each.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def blank(text: str) -> str:
    """Return as many blanks, on as many lines, so that what follows stays where it is."""
    return _VISIBLE.sub(" ", text)


def string(text: str) -> str:
    r"""Return a text in quotes, as any session of Spark reads it; its lines stay lines.

    >>> print(string("it's \\"))
    'it\'s \\'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
