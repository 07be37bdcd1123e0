"""Names as SQL writes them: parts in backticks, names with dots, lists of columns.

A backtick within backticks is doubled. This module reads and writes texts only: it does not check which names
are allowed. An unreadable text raises a ValueError, and the caller adds which object the text should name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

RESERVED = frozenset(("and", "or", "not", "in", "like", "escape", "between", "is", "null", "true", "false"))
"""Words that name a column only within backticks."""

FIELD_SEPARATOR = "\x7f"
"""Character between the parts of a field's name. SQL writes dots, which names of columns may have as well."""

_PLAIN = re.compile(r"\w*[^\W\d]\w*")  # digits alone are a number
_QUOTED = r"`((?:[^`]|``)+)`"
_PART = re.compile(rf"\s*(?:{_QUOTED}|([^.`]*[^.`\s][^.`]*))\s*(?:(\.)|$)")
_COLUMN = re.compile(rf"\s*(?:{_QUOTED}|([^\s`,]+))(?:\s+(asc|desc))?\s*(,|$)", re.IGNORECASE)
_STEP = r"(?:`(?:[^`]|``)+`|[^\s`,.]+)"
_PATH = re.compile(rf"\s*({_STEP}(?:\s*\.\s*{_STEP})*)(?:\s+asc)?\s*(,|$)", re.IGNORECASE)
_CURVE = re.compile(r"\s*zorder\s*\((.*?)(\)\s*)?", re.IGNORECASE | re.DOTALL)
MAX_CURVE_COLUMNS = 6
SPARK_CATALOG = "spark_catalog"
"""The name of Spark's own catalog."""
"""Columns of a curve. Each has ten bits of a place, and of more columns none would leave out much."""
_LIST = re.compile(r"(?:`(?:[^`]|``)*`|[^;`])+")


def quote_part(part: str) -> str:
    """Return a name in backticks.

    >>> quote_part("it`s")
    '`it``s`'
    """
    return f"`{part.replace('`', '``')}`"


def part_text(part: str) -> str:
    """Return a name as SQL reads it, in backticks if it is not a plain word.

    >>> part_text("größe"), part_text("a b"), part_text("2024")
    ('größe', '`a b`', '`2024`')
    """
    return part if _PLAIN.fullmatch(part) else quote_part(part)


def join_name(parts: Iterable[str]) -> str:
    """Return a name of several parts.

    >>> join_name(["lake", "db", "a.b"])
    'lake.db.`a.b`'
    """
    return ".".join(map(part_text, parts))


def field_name(path: Iterable[str]) -> str:
    """Return the name of a column, or of a field within structs, as statistics and conditions have it.

    >>> field_name(["a"]), field_path(field_name(["s", "t.u", "b"]))
    ('a', ('s', 't.u', 'b'))
    """
    return FIELD_SEPARATOR.join(path)


def field_path(name: str) -> tuple[str, ...]:
    """Return the names that lead to a column or a field; see `field_name`."""
    return tuple(name.split(FIELD_SEPARATOR))


def is_field(name: str) -> bool:
    """Return whether a name is of a field within a struct, and not of a column."""
    return FIELD_SEPARATOR in name


def parse_name(text: str) -> list[str]:
    """Return the parts of a name with dots between them; blanks around a part do not count.

    Raises:
        ValueError: a part or a backtick is missing.

    >>> parse_name("db . `a.b`"), parse_name("`it``s`")
    (['db', 'a.b'], ['it`s'])
    """
    parts, at = [], 0
    while (match := _PART.match(text, at)) is not None:
        inside, plain, dot = match.groups()
        parts.append(_unquote(inside, plain))
        if not dot:
            return parts
        at = match.end()
    raise ValueError("not a name with dots between its parts, in backticks if they hold dots themselves")


def is_spark_table(name: str) -> bool:
    """Return whether a table's name in SQL begins with Spark's own catalog.

    >>> is_spark_table("spark_catalog.web.visits"), is_spark_table("`Spark_Catalog`.web.visits"), is_spark_table("web.visits")
    (True, True, False)
    """
    match = _PART.match(name)
    return match is not None and _unquote(match[1], match[2]).lower() == SPARK_CATALOG


def parse_ordered_columns(text: str) -> tuple[tuple[str, bool], ...]:
    """Split a list of names at its commas; return each name, and whether DESC follows it.

    Raises:
        ValueError: the text is not such a list.

    >>> parse_ordered_columns("day DESC, `a, b`")
    (('day', True), ('a, b', False))
    """
    columns = []
    for match in _match_list(_COLUMN, text):
        inside, plain, direction, _ = match.groups()
        columns.append((_unquote(inside, plain), (direction or "").lower() == "desc"))
    return tuple(columns)


def parse_columns(text: str) -> tuple[str, ...]:
    """Split a list of names at its commas.

    Raises:
        ValueError: the text is not such a list, or has a DESC in it.
    """
    columns = parse_ordered_columns(text)
    if any(descending for _, descending in columns):
        raise ValueError("not a list of column names separated by commas; DESC is not offered here")
    return tuple(name for name, _ in columns)


def parse_paths(text: str) -> tuple[tuple[str, ...], ...]:
    """Split a list of columns, or fields of structs, at its commas; return the path of names to each.

    Raises:
        ValueError: the text is not such a list.

    >>> parse_paths("day, s.`a.b`")
    (('day',), ('s', 'a.b'))
    """
    return tuple(
        tuple(parse_name(match[1])) for match in _match_list(_PATH, text, "; DESC is not offered here")
    )


class SortedBy(NamedTuple):
    """The columns, or fields of structs, that rows are sorted by: in turn, or along a curve.

    Attributes:
        paths: of names, to each.
        is_curve: whether they are sorted along a Z-order curve, `zorder(a, b)`.
    """

    paths: tuple[tuple[str, ...], ...]
    is_curve: bool = False

    def __str__(self) -> str:
        text = paths_text(self.paths)
        return f"zorder({text})" if self.is_curve else text


def parse_sorted_by(text: str) -> SortedBy:
    """Read what rows are sorted by.

    Raises:
        ValueError: the text is neither a list of columns nor `zorder(…)` of at least two.

    >>> parse_sorted_by("day, s.a"), str(parse_sorted_by("ZORDER (a, `b)`)"))
    (SortedBy(paths=(('day',), ('s', 'a')), is_curve=False), 'zorder(a, `b)`)')
    """
    curve = _CURVE.fullmatch(text)
    if curve is None:
        return SortedBy(parse_paths(text))
    paths = parse_paths(curve[1]) if curve[2] else ()
    if not 2 <= len(set(paths)) == len(paths) <= MAX_CURVE_COLUMNS:
        raise ValueError(f"zorder(…) is of two to {MAX_CURVE_COLUMNS} different columns")
    return SortedBy(paths, is_curve=True)


def _match_list(pattern: re.Pattern[str], text: str, more: str = "") -> Iterator[re.Match[str]]:
    """Yield the matches of a pattern, one after the other.

    The last group of each match is the comma behind it; after the last element the group is empty.
    """
    position, separator = 0, ","
    while separator:
        match = pattern.match(text, position)
        if match is None:
            raise ValueError(
                f"not a list of column names separated by commas, in backticks if they are no plain words{more}"
            )
        yield match
        separator, position = match.groups()[-1], match.end()


def parse_column_lists(text: str) -> tuple[tuple[str, ...], ...]:
    """Split a text at its semicolons into lists of names.

    Raises:
        ValueError: one of them is not a list of names.

    >>> parse_column_lists("region; `a;b`, hour")
    (('region',), ('a;b', 'hour'))
    """
    return tuple(parse_columns(part) for part in _LIST.findall(text) if part.strip())


def ordered_columns_text(columns: Iterable[tuple[str, bool]]) -> str:
    """Join names with commas, and write DESC after each descending one.

    >>> ordered_columns_text([("day", True), ("a b", False)])
    'day desc, `a b`'
    """
    return ", ".join(f"{part_text(name)} desc" if down else part_text(name) for name, down in columns)


def paths_text(paths: Iterable[Iterable[str]]) -> str:
    """Join columns, or fields of structs, with commas.

    >>> paths_text([["day"], ["s", "a.b"]])
    'day, s.`a.b`'
    """
    return ", ".join(map(join_name, paths))


def column_lists_text(lists: Iterable[Iterable[str]]) -> str:
    """Join lists of names with semicolons.

    >>> column_lists_text([["region"], ["a b", "hour"]])
    'region; `a b`, hour'
    """
    return "; ".join(", ".join(map(part_text, names)) for names in lists)


def _unquote(inside: str | None, plain: str) -> str:
    return plain.strip() if inside is None else inside.replace("``", "`")
