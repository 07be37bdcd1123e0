r"""Filters on partitions, as clients of Hive's metastore write them, as filters over a table's columns.

`parse_filter` reads nearly the same grammar, as it was made after Hive's. These differ:

| on the wire | means | who writes it |
|---|---|---|
| `s like "a.*"`, `".*a"`, `".*a.*"` | begins with, ends with, contains `a` | Spark: a regular expression, in which nothing is escaped |
| `s like "a%"` | the same, in SQL | people |
| `s = "__HIVE_DEFAULT_PARTITION__"` | `s IS NULL` | Hive's clients |
| `s = "a\b"` | a text with a backslash: nothing is unescaped | Spark |
| `hour = "7"`, `day = 2026-11-27`, `day = "2026-11-27"` | values with and without quotes | all |
| names as in the files, in any case | the columns, which may have been renamed | all |

Spark tests all partitions again that it gets, and others do not. So filters are read exactly where it is
certain what they mean. Of a regular expression with other signs than `.*`, the beginning before them counts,
and nothing counts below NOT: more partitions than there should be, and never fewer.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from parquetry.errors import FilterError
from parquetry.identifiers import quote_part
from parquetry.locations import DEFAULT_PARTITION
from parquetry.metastore import TableSnapshot
from parquetry.predicate import EVERY_ROW, Filter, parse_filter

MAX_FILTER_CHARACTERS = 1 << 18
"""Length of a filter: some ten thousand comparisons. It takes half a second to read."""
_SHOWN_CHARACTERS = 100
"""Characters of a long filter in an error."""
_TOKEN = re.compile(
    r"""(?P<text>'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*")|(?P<name>`[^`]*`|[^\W\d]\w*)|(?P<other>\s+|<=>|[<>=!]+|.)""",
    re.DOTALL,
)
_REGULAR_SIGNS = frozenset("[](){}+?^$|*")
"""Signs of a regular expression. A client may mean either the sign or its effect."""
_KEYWORDS = {
    "and",
    "or",
    "not",
    "in",
    "between",
    "like",
    "is",
    "null",
    "date",
    "timestamp",
    "struct",
    "const",
}
_KEYWORDS |= {"true", "false", "escape", "timestamp_ntz"}


def read_filter(snapshot: TableSnapshot, text: str, zone: str = "UTC") -> Filter:
    """Return the filter that a client means.

    Args:
        snapshot: the table.
        text: the filter. An empty one selects everything.
        zone: the time zone of timestamps without one.

    Raises:
        FilterError: the text is not a filter, is too long, or does not fit the partition columns.
    """
    if not text.strip():
        return EVERY_ROW
    if len(text) > MAX_FILTER_CHARACTERS:
        reason = f"The filter has {len(text):,} characters, and {MAX_FILTER_CHARACTERS:,} at most are read."
        raise FilterError(reason, text[:_SHOWN_CHARACTERS], 0)
    metadata = snapshot.metadata
    names = {column.physical.lower(): column.name for column in metadata.partition_columns}
    ours, exact = our_text(text, names)
    if not exact:
        return EVERY_ROW
    types = {column.name: column.column_type for column in metadata.partition_columns}
    return parse_filter(ours, types, zone)


def our_text(text: str, names: Mapping[str, str]) -> tuple[str, bool]:
    r"""Return a filter in the grammar of `parse_filter`, and whether it may be used.

    Args:
        text: the filter of a client.
        names: the columns' own names, by their names on the wire in lower case.

    >>> our_text('S like "a.*" and day = 2026-11-27', {"s": "s", "day": "on"})
    ('`s` like "a%" and `on` = 2026-11-27', True)
    >>> our_text('s = "__HIVE_DEFAULT_PARTITION__" or s != "a\\b"', {"s": "s"})
    ('`s` IS NULL or `s` != "a\\\\b"', True)
    >>> our_text('not s like "a[b].*"', {"s": "s"})
    ('not `s` like "a%"', False)
    """
    tokens = list(_TOKEN.finditer(text))
    words = [match[0] for match in tokens]
    exact, negated = True, False
    for position, match in enumerate(tokens):
        if match["text"] is not None:
            before = _before(words, position)
            if before is not None and words[before].lower() == "like":
                words[position], certain = _our_pattern(match[0])
                exact = exact and certain
            elif before is not None and _unquoted(match[0]) == DEFAULT_PARTITION:
                _compare_with_null(words, before, position)
            else:
                words[position] = _raw(match[0])
        elif match["name"] is not None:
            name = match[0].strip("`").lower()
            negated = negated or name == "not"
            if name in names and (match[0].startswith("`") or name not in _KEYWORDS):
                words[position] = quote_part(names[name])
        elif match[0] == "!":
            negated = True
    return "".join(words), exact or not negated


def _before(words: list[str], position: int) -> int | None:
    """Return the position of the last word before one, without blanks."""
    while position:
        position -= 1
        if words[position].strip():
            return position
    return None


def _unquoted(text: str) -> str:
    return text[1:-1]


def _raw(quoted: str) -> str:
    """Return a text in quotes whose backslashes are characters, except before a quote."""
    return re.sub(rf"\\(?!{quoted[0]})", r"\\\\", quoted[:-1]) + quoted[-1]


def _compare_with_null(words: list[str], before: int, position: int) -> None:
    """Write a comparison with the name of the default partition as IS [NOT] NULL."""
    operator = words[before]
    if operator in ("=", "==", "<=>"):
        words[before], words[position] = "IS", "NULL"
    elif operator in ("!=", "<>"):
        words[before], words[position] = "IS", "NOT NULL"


def _our_pattern(quoted: str) -> tuple[str, bool]:
    """Return a pattern of LIKE in SQL, in quotes, and whether it is exactly what the client means."""
    quote, pattern = quoted[0], quoted[1:-1]
    if ".*" not in pattern:
        return quoted, True
    parts = pattern.split(".*")
    ours: list[str] = []
    for part in parts:
        sign = next((at for at, character in enumerate(part) if character in _REGULAR_SIGNS), None)
        if sign is not None:
            return quote + _joined([*ours, part[:sign], ""], quote) + quote, False
        ours.append(part)
    return quote + _joined(ours, quote) + quote, True


def _joined(parts: list[str], quote: str) -> str:
    """Join literal texts with `%`; `.` is one character, and what LIKE would read as a sign is escaped."""
    escaped = "%".join(re.sub(r"([\\%_])", r"\\\1", part).replace(".", "_") for part in parts)
    return _raw(f"{quote}{escaped}{quote}")[1:-1]
