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


def string(text: str, *, one_line: bool = False) -> str:
    r"""Return a text in quotes, as any session of Spark reads it.

    Args:
        text: what is to be read.
        one_line: whether its lines become one, which is read as the same lines; else they stay lines.

    >>> print(string("it's \\"), string("a\nb", one_line=True))
    'it\'s \\' 'a\nb'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    if one_line:
        escaped = escaped.replace("\r", "\\r").replace("\n", "\\n")
    return f"'{escaped}'"
