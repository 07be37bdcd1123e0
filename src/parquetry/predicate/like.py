"""Take LIKE patterns apart, put them together, and match them.

The patterns are SQL's. Hive's metastore took them for Java's regular expressions; this module does not.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from enum import Enum
from functools import lru_cache

from parquetry.predicate.nodes import Like


class Rest(Enum):
    """The part of a pattern after its literal beginning."""

    NOTHING = "nothing"
    """The pattern is a literal text."""
    ANYTHING = "anything"
    """Only `%`: the pattern is a prefix."""
    MORE = "more"
    """Further conditions."""


@lru_cache(maxsize=1024)
def head(pattern: str, escape: str) -> tuple[str, Rest]:
    r"""Split a pattern into its literal beginning and the kind of its rest.

    >>> head('abc%', '\\'), head('a_c', '\\'), head('50\\%', '\\')
    (('abc', <Rest.ANYTHING: 'anything'>), ('a', <Rest.MORE: 'more'>), ('50%', <Rest.NOTHING: 'nothing'>))
    """
    parts = parts_of(pattern, escape)
    text = ""
    for position, (character, wild) in enumerate(parts):
        if wild:
            only_any = all(part == ("%", True) for part in parts[position:])
            return text, Rest.ANYTHING if only_any else Rest.MORE
        text += character
    return text, Rest.NOTHING


@lru_cache(maxsize=1024)
def matcher(pattern: str, escape: str) -> Callable[[str], bool]:
    r"""Compile a pattern.

    >>> matcher('a\\_%', '\\')('a_b'), matcher('a\\_%', '\\')('axb')
    (True, False)
    """
    parts = parts_of(pattern, escape)
    text = "".join(character for character, wild in parts if not wild)
    shape = "".join("t" if not wild else character for character, wild in parts)
    # The common shapes are answered by str's own methods, ten times as fast as an expression.
    if shape.count("%") == 1 and "_" not in shape:
        cut = shape.index("%")
        start, end = text[:cut], text[cut:]
        if not end:
            return lambda value: value.startswith(start)
        return lambda value: len(value) >= len(text) and value.startswith(start) and value.endswith(end)
    if not shape.strip("t"):
        return lambda value: value == text
    if shape.startswith("%") and shape.endswith("%") and not shape.strip("%").strip("t"):
        return lambda value: text in value
    first, *others = _segments(parts)
    middle, last = others[:-1], others[-1:]
    # The first place where a segment matches leaves the most text for the segments behind it: no second try
    # is needed.
    expression = "".join((first, *(f"(?>.*?{one})" for one in middle if one), *(f".*{one}" for one in last)))
    compiled = re.compile(expression, re.DOTALL)
    return lambda value: compiled.fullmatch(value) is not None


def _segments(parts: list[tuple[str, bool]]) -> list[str]:
    """Write the segments between the `%` as regular expressions."""
    segments = [""]
    for character, wild in parts:
        if wild and character == "%":
            segments.append("")
        else:
            segments[-1] += "." if wild else re.escape(character)
    return segments


def misplaced_escape(pattern: str, escape: str) -> int | None:
    """Find an escape that stands before something other than `%`, `_` or itself; SQL forbids that."""
    position = 0
    while escape and (position := pattern.find(escape, position)) >= 0:
        if pattern[position + 1 : position + 2] not in ("%", "_", escape):
            return position
        position += 2
    return None


def quote(text: str, escape: str = "\\") -> str:
    """Write a text as a pattern that matches it alone."""
    return "".join(escape + c if c in ("%", "_", escape) else c for c in text)


def starts_with(column: str, text: str) -> Like:
    """Return the condition that a column's text starts with a text."""
    return Like(column, quote(text) + "%")


def ends_with(column: str, text: str) -> Like:
    """Return the condition that a column's text ends with a text."""
    return Like(column, "%" + quote(text))


def contains(column: str, text: str) -> Like:
    """Return the condition that a column's text contains a text."""
    return Like(column, f"%{quote(text)}%")


def parts_of(pattern: str, escape: str) -> list[tuple[str, bool]]:
    """Return the characters of a pattern, each with whether it is a wildcard."""
    parts = []
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            # A lone escape at the end stands for itself; callers that can refuse it call `misplaced_escape`.
            parts.append((next(characters, escape), False))
        else:
            parts.append((character, character in "%_"))
    return parts
