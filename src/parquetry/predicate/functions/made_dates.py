"""The range of MAKE_DATE, which makes a date of a year, a month and a day.

Years come before months, and months before days. So of the dates of

    a year from 2025 to 2026, month 3, a day from 5 to 9

the least is 2025-03-05, and the greatest 2026-03-09. A day that a month does not have is an error, or NULL.
"""

from __future__ import annotations

from collections.abc import Sequence

from parquetry.predicate.expression import FunctionCall
from parquetry.predicate.functions.monotone import Rule
from parquetry.predicate.functions.values import UNKNOWN, OutOfRangeError, Range, ends_of, strict, void
from parquetry.temporal import days_from_civil

_LAST_DAYS = 28, 30, 31
"""The last day of February, of four months, and of the others."""


def _make_date(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    if any(each.void for each in ranges):
        return void(ranges)
    if any(each.fails for each in ranges) or len(ranges) != 3:
        return UNKNOWN
    try:
        ends = [ends_of(argument.type, each) for argument, each in zip(call.args, ranges, strict=True)]
    except OutOfRangeError:
        return UNKNOWN
    (year, last_year), (month, last_month), (day, last_day) = ends
    if not (0 < year <= last_year <= 9999 and 1 <= month <= last_month <= 12 and day >= 1):
        return UNKNOWN
    if last_day > min(_days(number) for number in range(month, last_month + 1)):
        return UNKNOWN
    low, high = days_from_civil(year, month, day), days_from_civil(last_year, last_month, last_day)
    return Range(low, high, strict(ranges))


def _days(month: int) -> int:
    """Return the days that a month has in each year."""
    return _LAST_DAYS[0] if month == 2 else _LAST_DAYS[1 if month in (4, 6, 9, 11) else 2]


MAKE_DATE: Rule = _make_date
