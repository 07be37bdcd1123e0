"""Ranges of the parts of times, such as the month or the hour.

A part grows within a period, such as a year or a day. In a file of one year, the month is between two months.
In a file of two years, it is from some month on, or up to another one; with more years it may be any.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

from parquetry.predicate.expression import FunctionCall
from parquetry.predicate.functions.monotone import Rule
from parquetry.predicate.functions.times import MICROS_PER_UNIT, local_time
from parquetry.predicate.functions.values import UNKNOWN, OutOfRangeError, Range, ends_of, void
from parquetry.temporal import MICROS_PER_DAY, civil_from_days, days_from_civil

_Period: TypeAlias = Callable[[int], tuple[int, int]]
"""From a local time to its period's number and to the part within it."""


def _of_days(period: Callable[[int], tuple[int, int]]) -> _Period:
    return lambda local: period(local // MICROS_PER_DAY)


def _month(day: int) -> tuple[int, int]:
    return civil_from_days(day)[:2]


def _quarter(day: int) -> tuple[int, int]:
    year, month, _ = civil_from_days(day)
    return year, (month + 2) // 3


def _day(day: int) -> tuple[int, int]:
    year, month, of_month = civil_from_days(day)
    return year * 12 + month, of_month


def _day_of_year(day: int) -> tuple[int, int]:
    year = civil_from_days(day)[0]
    return year, day - days_from_civil(year, 1, 1) + 1


def _week_of_year(day: int) -> tuple[int, int]:
    thursday = day - (day + 3) % 7 + 3
    year, of_year = _day_of_year(thursday)
    return year, (of_year - 1) // 7 + 1


def _part(period: _Period, least: int, greatest: int) -> Rule:
    """Return the rule of a part between two numbers: one range within a period, two in neighbouring ones."""

    def rule(call: FunctionCall, ranges: Sequence[Range]) -> Range | tuple[Range, ...]:
        (each,) = ranges
        if each.void:
            return void(ranges)
        if each.fails:
            return UNKNOWN
        try:
            low, high = ends_of(call.args[0].type, each)
            first, start = period(local_time(call, 0, low, -1))
            last, stop = period(local_time(call, 0, high, 1))
        except (OutOfRangeError, ArithmeticError, ValueError):
            return UNKNOWN
        if first == last:
            return Range(start, stop, each.nulls)
        if last == first + 1:
            return Range(start, greatest, each.nulls), Range(least, stop, each.nulls)
        return Range(least, greatest, each.nulls)

    return rule


def _clock(unit: str, within: str, greatest: int) -> Rule:
    period = MICROS_PER_UNIT.get(within, MICROS_PER_DAY)
    return _part(lambda local: (local // period, local % period // MICROS_PER_UNIT[unit]), 0, greatest)


MONTH, QUARTER = _part(_of_days(_month), 1, 12), _part(_of_days(_quarter), 1, 4)
DAY, DAY_OF_YEAR = _part(_of_days(_day), 1, 31), _part(_of_days(_day_of_year), 1, 366)
WEEK_OF_YEAR = _part(_of_days(_week_of_year), 1, 53)
DAY_OF_WEEK = _part(_of_days(lambda day: ((day + 4) // 7, (day + 4) % 7 + 1)), 1, 7)
WEEKDAY = _part(_of_days(lambda day: ((day + 3) // 7, (day + 3) % 7)), 0, 6)
HOUR, MINUTE, SECOND = _clock("HOUR", "DAY", 23), _clock("MINUTE", "HOUR", 59), _clock("SECOND", "MINUTE", 59)
