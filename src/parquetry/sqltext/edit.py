"""Replace parts of a text, and write texts in quotes for Spark."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_VISIBLE = re.compile(r"[^\s]")


@dataclass(frozen=True, slots=True)
class Edit:
    """The replacement of the characters from `start` to before `end` by a text."""

    start: int
    end: int
    text: str


def apply_edits(text: str, edits: Iterable[Edit]) -> str:
    """Return a text with some parts replaced; the parts must not overlap.

    >>> apply_edits("a b c", [Edit(4, 5, "C"), Edit(0, 1, "A")])
    'A b C'
    """
    for edit in sorted(edits, key=lambda edit: edit.start, reverse=True):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def blank(text: str) -> str:
    """Return a text with each visible character replaced by a blank; text after it keeps its position."""
    return _VISIBLE.sub(" ", text)


def string(text: str, *, one_line: bool = False) -> str:
    r"""Return a text in quotes, as any session of Spark reads it.

    Args:
        text: the text that Spark reads.
        one_line: whether line breaks are written as escapes, so that the quoted text is one line.

    >>> print(string("it's \\"), string("a\nb", one_line=True))
    'it\'s \\' 'a\nb'
    """
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    if one_line:
        escaped = escaped.replace("\r", "\\r").replace("\n", "\\n")
    return f"'{escaped}'"
