"""Ranges of differences of times in units and months, and of conversions between UTC and a zone."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parquetry.predicate.expression import FunctionCall
from parquetry.predicate.functions.monotone import Monotone, is_kind
from parquetry.predicate.functions.times import MICROS_PER_UNIT, local_time
from parquetry.predicate.functions.values import OutOfRangeError
from parquetry.temporal import MICROS_PER_DAY, civil_from_days

_MICROS = {**MICROS_PER_UNIT, "DAY": MICROS_PER_DAY, "WEEK": 7 * MICROS_PER_DAY}
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}


def _toward_zero(number: int, unit: int) -> int:
    return number // unit if number >= 0 else -(-number // unit)


def _months(start: int, end: int) -> int:
    """Return the whole months between two local times, toward zero, as Java counts them.

    A day that is not over does not count. Then the months and days decide, and the hours no more.
    """
    (first, of_first), (last, of_last) = (divmod(each, MICROS_PER_DAY) for each in (start, end))
    if last > first and of_last < of_first:
        last -= 1
    elif last < first and of_last > of_first:
        last += 1
    months = [year * 12 + month - 1 for year, month, _ in map(civil_from_days, (first, last))]
    days = [day for _, _, day in map(civil_from_days, (first, last))]
    return _toward_zero((months[1] - months[0]) * 32 + days[1] - days[0], 32)


def _month_and_rest(local: int) -> tuple[int, tuple[int, int]]:
    """Return a local time's month, counted from year 0, and its day and time within it.

    Raises:
        OutOfRangeError: Spark may fail for a time that is so early or late.
    """
    days, of_day = divmod(local, MICROS_PER_DAY)
    year, month, day = civil_from_days(days)
    if not 0 < year <= 9999:
        raise OutOfRangeError
    return year * 12 + month - 1, (day, of_day)


def _units_between(call: FunctionCall, values: Sequence[int], end: int) -> int:
    """Return the whole units from the first time to the second one, as TIMESTAMPDIFF does."""
    unit = call.detail.upper()
    first, last = (local_time(call, place, values[place], end if place else -end) for place in (0, 1))
    if unit in _MONTHS:  # from a later time, which is in the next month, there may be a month more
        return _toward_zero(_months(first, last) + end, _MONTHS[unit])
    if unit not in _MICROS:
        raise OutOfRangeError
    return _toward_zero(last - first, _MICROS[unit])


_MONTHS_APART = 0.2
"""MONTHS_BETWEEN counts a month as 31 days, and the last days of two months as whole months apart. So its
results may be this far from their order in time."""


def _months_between(call: FunctionCall, values: Sequence[int], end: int) -> float:
    moments = (
        _month_and_rest(local_time(call, place, values[place], -end if place else end)) for place in (0, 1)
    )
    (last, of_last), (first, of_first) = moments
    days = of_last[0] - of_first[0] + (of_last[1] - of_first[1]) / MICROS_PER_DAY
    return last - first + days / 31 + end * _MONTHS_APART


def _in_zone(converted: Callable[[FunctionCall, int, int], int]) -> Monotone:
    """Return the rule of a conversion of a timestamp with a constant zone."""

    def point(call: FunctionCall, values: Sequence[int], end: int) -> int:
        if not is_kind(call.args[0].type, "timestamp"):
            raise OutOfRangeError
        return converted(call, values[0], end)

    return Monotone(point, (1, 0))


UNITS_BETWEEN = Monotone(_units_between, (-1, 1))
MONTHS_BETWEEN = Monotone(_months_between, (1, -1, 0))
FROM_UTC = _in_zone(lambda call, value, end: call.zone.local(value, end))
TO_UTC = _in_zone(lambda call, value, end: call.zone.instant(value, end))
