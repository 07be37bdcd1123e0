"""Take the values out of conditions, and find the columns that a condition names.

Both read a condition's text, as our filters and Spark's expressions are written. What cannot be read as a
name or a sign is taken for a value.
"""

from __future__ import annotations

import re
from collections.abc import Collection

MAX_MARKS = 20
"""Question marks of one list that are kept: how many values it had is clear by then."""
_PIECES = re.compile(
    r"""
    (?P<name>`(?:[^`]|``)*`)
    | (?P<value>
        (?:\b(?:DATE|TIMESTAMP(?:_NTZ|_LTZ)?|TIME|INTERVAL|X|R)\s*)?
        (?:'(?:[^'\\]|\\.|'')*(?:'|\Z)|"(?:[^"\\]|\\.|"")*(?:"|\Z))
        (?:\s+(?:YEAR|MONTH|DAY|HOUR|MINUTE|SECOND|WEEK)S?(?:\s+TO\s+\w+)?\b)?
        | (?<![\w.])[+-]?\d[\w.+-]*
        | (?<!\w)\.\d\w*
        | \b(?:TRUE|FALSE|NAN|INFINITY)\b
      )
    | (?P<word>[^\W\d]\w*)
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)
_LIST = re.compile(rf"\?(?:, ?\?){{{MAX_MARKS},}}")
_NAME = re.compile(r"(?:`(?:[^`]|``)+`|[^\W\d]\w*)(?:\.(?:`(?:[^`]|``)+`|[^\W\d]\w*))*")
_TEXT = re.compile(r"'(?:[^'\\]|\\.|'')*(?:'|\Z)|\"(?:[^\"\\]|\\.|\"\")*(?:\"|\Z)", re.DOTALL)


def without_values(text: str) -> str:
    """Return a condition with a question mark for each value.

    >>> without_values("day = DATE '2026-01-01' AND s IN ('a''b', 'c') AND `a 1`.b2 >= -1.5E10")
    'day = ? AND s IN (?, ?) AND `a 1`.b2 >= ?'
    >>> without_values("name LIKE 'Sm…"), without_values("ok = true"), without_values("x IS NOT NULL")
    ('name LIKE ?', 'ok = ?', 'x IS NOT NULL')
    """
    marked = _PIECES.sub(lambda found: "?" if found["value"] else found[0], text)
    return _LIST.sub(", ".join("?" * MAX_MARKS), marked)


_KEYWORDS = frozenset(
    [
        "and",
        "or",
        "not",
        "in",
        "is",
        "null",
        "like",
        "ilike",
        "rlike",
        "between",
        "escape",
        "date",
        "timestamp",
        "timestamp_ntz",
        "interval",
        "true",
        "false",
        "cast",
        "as",
        "case",
        "when",
        "then",
        "else",
        "end",
        "distinct",
        "from",
    ]
)


def mentioned_columns(text: str) -> tuple[str, ...]:
    """Return the names in a condition of a table that is not known: all that are no keyword and no function.

    >>> mentioned_columns("day = DATE '2026-01-03' OR upper(`my col`) = 'day' OR s.a IS NULL")
    ('day', 'my col', 's.a')
    """
    bare = _TEXT.sub(" ", text)
    names = (
        found[0].replace("`", "")
        for found in _NAME.finditer(bare)
        if bare[found.end() : found.end() + 1] != "("
    )
    return tuple(dict.fromkeys(name for name in names if name.lower() not in _KEYWORDS))


def named_columns(text: str, columns: Collection[str]) -> tuple[str, ...]:
    """Return the columns, or fields of structs, that a condition names, in its order.

    Args:
        text: the condition.
        columns: the table's columns and fields; fields have dots.

    >>> named_columns("upper(`Region`) = 'day' AND s.a > 3", ["day", "region", "s", "s.a"])
    ('region', 's.a')
    """
    known = {column.lower(): column for column in columns}
    found: dict[str, None] = {}
    for match in _NAME.finditer(_TEXT.sub(" ", text)):
        parts = [part.strip("`").replace("``", "`") for part in re.findall(r"`(?:[^`]|``)+`|\w+", match[0])]
        candidates = (
            ".".join(parts[first:last]).lower()
            for first in range(len(parts))
            for last in range(len(parts), first, -1)
        )
        name = next((known[each] for each in candidates if each in known), None)
        if name is not None:
            found[name] = None
    return tuple(found)
