"""Conditions on the day or the year of a time, as ranges of the time, which the language of texts can say."""

from __future__ import annotations

import re
from datetime import date, timedelta

_TIME = r"(?:CAST\((?P<cast>[\w.`]+) AS DATE\)|(?:TO_)?DATE\((?P<date>[\w.`]+)\)|YEAR\((?P<year>[\w.`]+)\))"
_LITERAL = r"(?:(?:DATE\s*)?'(?P<day>\d{4}-\d\d-\d\d)'|CAST\('(?P<text>\d{4}-\d\d-\d\d)' AS DATE\)|(?P<number>\d{4}))"
_COMPARISON = re.compile(rf"{_TIME}\s*(?P<op>=|<=|>=|<|>)\s*{_LITERAL}", re.IGNORECASE)


def without_time_functions(text: str) -> str:
    """Return a condition with ranges in the place of comparisons of days and years.

    >>> without_time_functions("CAST(ts AS DATE) = DATE '2026-03-01'")
    "(ts >= '2026-03-01 00:00:00' AND ts < '2026-03-02 00:00:00')"
    >>> without_time_functions("year(ts) <= 2025 AND k = 1")
    "(ts < '2026-01-01 00:00:00') AND k = 1"
    """
    return _COMPARISON.sub(_range, text)


def _range(match: re.Match[str]) -> str:
    """Return the range of times of a comparison, or its own text if the literal does not fit."""
    is_year = match["year"] is not None
    if is_year != (match["number"] is not None):
        return match[0]
    try:
        if is_year:
            first, end = date(int(match["number"]), 1, 1), date(int(match["number"]) + 1, 1, 1)
        else:
            first = date.fromisoformat(match["day"] or match["text"])
            end = first + timedelta(days=1)
    except (ValueError, OverflowError):
        return match[0]
    column = match["cast"] or match["date"] or match["year"]
    ends = {
        "=": ((">=", first), ("<", end)),
        "<": (("<", first),),
        "<=": (("<", end),),
        ">": ((">=", end),),
        ">=": ((">=", first),),
    }[match["op"]]
    return f"({' AND '.join(f'{column} {op} {chr(39)}{day} 00:00:00{chr(39)}' for op, day in ends)})"
