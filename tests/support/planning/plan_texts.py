"""For tests of plans' texts: read a range's text back, as conditions on the values of the keys in it."""

from __future__ import annotations

import re
from collections.abc import Mapping

from parquetry.predicate.filter import EVERY_ROW, Filter
from parquetry.predicate.reading.parse import parse_filter
from parquetry.types import ColumnType

_PARTS = re.compile(
    r"(?P<quoted>'(?:[^']|'')*'|`(?:[^`]|``)*`)"
    r"|(?P<time>[+-]?\d{4,}-\d\d-\d\d(?: \d\d:\d\d:\d\d(?:\.\d+)?)?(?: UTC)?)"
    r"|(?P<comma>, )"
    r"|(?P<where> where )"
)
_KIND = re.compile(r"(get|scan index|scan) (.*)", re.DOTALL)


def read_range(line: str, types: Mapping[str, ColumnType]) -> tuple[str, Filter, Filter]:
    """Return the kind of a range, what its text says of the keys in it, and the residual."""
    found = _KIND.fullmatch(line)
    assert found, line
    kind, text = found.groups()
    bounds, place = "", 0
    for part in _PARTS.finditer(text):
        if part["where"]:
            return (
                kind,
                _bounds(bounds + text[place : part.start()], types),
                parse_filter(text[part.end() :], types),
            )
        said = f"'{part['time']}'" if part["time"] else " AND " if part["comma"] else part[0]
        bounds, place = bounds + text[place : part.start()] + said, part.end()
    return kind, _bounds(bounds + text[place:], types), EVERY_ROW


def _bounds(text: str, types: Mapping[str, ColumnType]) -> Filter:
    return EVERY_ROW if text == "everything" else parse_filter(text, types)
