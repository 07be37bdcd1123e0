"""Ranges of monotone functions of dates and times: truncations, sums with intervals, differences, texts.

Dates are days, timestamps microseconds, local times (`timestamp_ntz`) microseconds of a clock. A function of
a timestamp goes by the local time in its zone (`zones`).
Parts of times, such as the month or the hour, have ranges of their own.

A part grows within a period, such as a year or a day. In a file of one year, the month is between two months.
In a file of two years, it is from some month on, or up to another one; with more years it may be any.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from parquetry.predicate.expression import FunctionCall
from parquetry.predicate.functions.monotone import Monotone, Rule, is_kind
from parquetry.predicate.functions.values import UNKNOWN, OutOfRangeError, Range, ends_of, fitting, void
from parquetry.temporal import MICROS_PER_DAY, MICROS_PER_SECOND, civil_from_days, days_from_civil
from parquetry.types import ColumnType

_TIMESTAMP = ColumnType("timestamp")
MICROS_PER_UNIT = {
    "HOUR": 3600 * MICROS_PER_SECOND,
    "MINUTE": 60 * MICROS_PER_SECOND,
    "SECOND": MICROS_PER_SECOND,
    "MILLISECOND": 1000,
    "MICROSECOND": 1,
}
"""The microseconds of the units of a day."""
_UNITS = {
    **dict.fromkeys(("YEAR", "YYYY", "YY"), "YEAR"),
    **dict.fromkeys(("MON", "MONTH", "MM"), "MONTH"),
    **dict.fromkeys(("DAY", "DD"), "DAY"),
    **{unit: unit for unit in ("QUARTER", "WEEK", *MICROS_PER_UNIT)},
}


def local_days(call: FunctionCall, position: int, value: int, end: int) -> int:
    """Return the earliest or latest local date of an argument's value, a date or a time."""
    return local_time(call, position, value, end) // MICROS_PER_DAY


def local_time(call: FunctionCall, position: int, value: int, end: int) -> int:
    """Return the earliest or latest local time of an argument's value, a date or a time."""
    type = call.args[position].type
    if is_kind(type, "date"):
        return value * MICROS_PER_DAY
    if is_kind(type, "timestamp_ntz"):
        return value
    if is_kind(type, "timestamp"):
        return call.zone.local(value, end)
    raise OutOfRangeError


def _from_local(call: FunctionCall, type: ColumnType | None, local: int, end: int) -> int:
    """Return a local time as a value of a type of times."""
    if is_kind(type, "date"):
        return local // MICROS_PER_DAY
    if is_kind(type, "timestamp_ntz"):
        return local
    if is_kind(type, "timestamp"):
        return call.zone.instant(local, end)
    raise OutOfRangeError


def first_day(unit: str, day: int) -> int:
    """Return the first day of the year, quarter, month or week of a day; weeks begin on Mondays.

    >>> first_day("QUARTER", days_from_civil(2026, 5, 20)) == days_from_civil(2026, 4, 1)
    True
    """
    if unit == "DAY":
        return day
    if unit == "WEEK":
        return day - (day + 3) % 7
    year, month, _ = civil_from_days(day)
    if unit == "YEAR":
        return days_from_civil(year, 1, 1)
    return days_from_civil(year, month - (month - 1) % 3 if unit == "QUARTER" else month, 1)


def _truncated(call: FunctionCall, value: int, unit_text: Any, position: int, end: int) -> int:
    unit = _UNITS.get(str(unit_text).upper())
    if unit is None:
        raise OutOfRangeError
    type = call.args[position].type
    if unit in ("SECOND", "MILLISECOND", "MICROSECOND"):
        return value - value % MICROS_PER_UNIT[unit]
    local = local_time(call, position, value, end)
    if unit in MICROS_PER_UNIT:
        return _from_local(call, type, local - local % MICROS_PER_UNIT[unit], end)
    return _from_local(call, type, first_day(unit, local // MICROS_PER_DAY) * MICROS_PER_DAY, end)


def _date_trunc(call: FunctionCall, values: Sequence[Any], end: int) -> int:
    return _truncated(call, values[1], values[0], 1, end)


def _trunc(call: FunctionCall, values: Sequence[Any], end: int) -> int:
    if str(values[1]).upper() not in _UNITS or _UNITS[str(values[1]).upper()] in ("DAY", *MICROS_PER_UNIT):
        raise OutOfRangeError
    return _truncated(call, values[0], values[1], 0, end)


def _added_months(day: int, months: int) -> int:
    """Add months to a day; the last day of a month may become an earlier one."""
    year, month, of_month = civil_from_days(day)
    year, month = year + (month - 1 + months) // 12, (month - 1 + months) % 12 + 1
    last = days_from_civil(year + month // 12, month % 12 + 1, 1) - 1
    return min(days_from_civil(year, month, 1) + of_month - 1, last)


def _months_later(local: int, months: int, end: int) -> int:
    """Return a local time after some months, or the earliest or latest one of its day.

    Several days may become one, the last of a month: January 30 at 23:00 and January 31 at 1:00 become
    February 28 at 23:00 and at 1:00. Only days keep their order there.
    """
    day, of_day = divmod(local, MICROS_PER_DAY)
    later = _added_months(day, months)
    if _added_months(day - end, months) == later:
        of_day = 0 if end < 0 else MICROS_PER_DAY - 1
    return later * MICROS_PER_DAY + of_day


def _add_months(call: FunctionCall, values: Sequence[Any], end: int) -> int:
    local = local_time(call, 0, values[0], end)
    return _from_local(call, call.type, _months_later(local, int(values[1]), end), end)


def _add_days(sign: int) -> Callable[[FunctionCall, Sequence[Any], int], int]:
    return lambda call, values, end: _from_local(
        call, call.type, (local_days(call, 0, values[0], end) + sign * int(values[1])) * MICROS_PER_DAY, end
    )


def _add_interval(call: FunctionCall, values: Sequence[Any], end: int) -> int:
    """Add microseconds; whole days of them are days of the local time."""
    if not is_kind(call.args[0].type, "timestamp", "timestamp_ntz"):
        raise OutOfRangeError
    micros = int(values[1])
    days = abs(micros) // MICROS_PER_DAY * (1 if micros >= 0 else -1)
    local = local_time(call, 0, values[0], end) + days * MICROS_PER_DAY if days else 0
    moved = _from_local(call, call.args[0].type, local, end) if days else values[0]
    return int(moved + micros - days * MICROS_PER_DAY)


def _add_units(call: FunctionCall, values: Sequence[Any], end: int) -> int:
    """Add a number of units, as TIMESTAMPADD does; the unit is no argument."""
    unit, count = call.detail.upper(), int(values[0])
    if unit in MICROS_PER_UNIT:
        return int(values[1]) + count * MICROS_PER_UNIT[unit]
    local = local_time(call, 1, values[1], end)
    months = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}.get(unit)
    if months is not None:
        return _from_local(call, call.type, _months_later(local, months * count, end), end)
    days = {"WEEK": 7, "DAY": 1, "DAYOFYEAR": 1}.get(unit)
    if days is None:
        raise OutOfRangeError
    return _from_local(call, call.type, local + days * count * MICROS_PER_DAY, end)


def _difference_in_days(call: FunctionCall, values: Sequence[Any], end: int) -> int:
    days = local_days(call, 0, values[0], end) - local_days(call, 1, values[1], -end)
    return days * MICROS_PER_DAY if is_kind(call.type, "interval day") else days


def _difference(call: FunctionCall, values: Sequence[Any], end: int) -> int:
    return local_time(call, 0, values[0], end) - local_time(call, 1, values[1], -end)


def _last_day(call: FunctionCall, values: Sequence[Any], end: int) -> int:
    year, month, _ = civil_from_days(local_days(call, 0, values[0], end))
    return days_from_civil(year + month // 12, month % 12 + 1, 1) - 1


def _per(micros: int) -> Monotone:
    """Return the function from instants to whole units of microseconds since 1970, rounded down."""

    def point(call: FunctionCall, values: Sequence[Any], end: int) -> int:
        return _instant(call, values[0], end) // micros

    return Monotone(point, (1, 0))


def _instant(call: FunctionCall, value: int, end: int) -> int:
    """Return the earliest or latest instant of the first argument's value, a date or a timestamp."""
    if is_kind(call.args[0].type, "date"):
        return int(fitting(_TIMESTAMP, call.zone.midnight(value, end)))
    if not is_kind(call.args[0].type, "timestamp"):
        raise OutOfRangeError
    return value


def _unix_timestamp(call: FunctionCall, values: Sequence[Any], end: int) -> int:
    """Return the seconds since 1970 as UNIX_TIMESTAMP rounds them: toward zero, unlike UNIX_SECONDS."""
    instant = _instant(call, values[0], end)
    return instant // MICROS_PER_SECOND if instant >= 0 else -(-instant // MICROS_PER_SECOND)


def _from_units(micros: int) -> Monotone:
    """Return the function from a whole number of units since 1970 to instants."""

    def point(_: FunctionCall, values: Sequence[Any], __: int) -> int:
        if not isinstance(values[0], int):
            raise OutOfRangeError
        return values[0] * micros

    return Monotone(point, (1,))


def _as_they_are(_: FunctionCall, values: Sequence[Any], __: int) -> int:
    return int(values[0])


def _year(call: FunctionCall, values: Sequence[Any], end: int) -> int:
    return civil_from_days(local_days(call, 0, values[0], end))[0]


# Texts.

_FIELDS = ("yyyy", "MM", "dd", "HH", "mm", "ss", "SSS")


_PARTS = re.compile(r"(?P<field>([A-Za-z])\2*)|'(?P<quoted>[^']+)'|(?P<other>[-/.:_ 0-9])")
"""The parts of a pattern of a date's text: fields, and literal texts."""


@functools.lru_cache(maxsize=256)
def _pattern_parts(pattern: str) -> Sequence[tuple[str, bool]] | None:
    """Split a pattern of a date's text into its parts, or return None if texts sort otherwise.

    The fields must go from the year on to smaller ones, and each has a fixed number of digits.

    Returns:
        The parts, and of each whether it is a field.

    >>> _pattern_parts("yyyy-MM'T'"), _pattern_parts("MM/yyyy")
    ((('yyyy', True), ('-', False), ('MM', True), ('T', False)), None)
    """
    found = list(_PARTS.finditer(pattern))
    if "".join(each[0] for each in found) != pattern or "''" in pattern:
        return None
    fields = tuple(each["field"] for each in found if each["field"])
    if not fields or fields != _FIELDS[: len(fields)]:
        return None
    return tuple(
        (each["field"] or each["quoted"] or each["other"], each["field"] is not None) for each in found
    )


def text_of_local(local: int, pattern: str) -> str:
    """Write a local time by a pattern, after the change of calendars in 1582 and up to the year 9999.

    Raises:
        OutOfRangeError: texts of another year, or by this pattern, do not sort as times do.

    >>> text_of_local(0, "yyyy-MM-dd HH:mm")
    '1970-01-01 00:00'
    """
    parts = _pattern_parts(pattern)
    days, of_day = divmod(local, MICROS_PER_DAY)
    year, month, day = civil_from_days(days)
    if parts is None or not 1582 < year <= 9999:
        raise OutOfRangeError
    seconds, micros = divmod(of_day, MICROS_PER_SECOND)
    values = (year, month, day, seconds // 3600, seconds // 60 % 60, seconds % 60, micros // 1000)
    numbers = dict(zip(_FIELDS, values, strict=True))
    return "".join(f"{numbers[part]:0{len(part)}d}" if is_field else part for part, is_field in parts)


def _date_format(call: FunctionCall, values: Sequence[Any], end: int) -> str:
    return text_of_local(local_time(call, 0, values[0], end), str(values[1]))


def _seconds_format(call: FunctionCall, values: Sequence[Any], end: int) -> str:
    return text_of_local(call.zone.local(values[0] * MICROS_PER_SECOND, end), str(values[1]))


DATE_TRUNC, TRUNC = Monotone(_date_trunc, (0, 1)), Monotone(_trunc, (1, 0))
YEAR, LAST_DAY = Monotone(_year, (1,)), Monotone(_last_day, (1,))
ADD_MONTHS, ADD_UNITS = Monotone(_add_months, (1, 0)), Monotone(_add_units, (0, 1))
ADD_DAYS, SUBTRACT_DAYS = Monotone(_add_days(1), (1, 1)), Monotone(_add_days(-1), (1, -1))
ADD_INTERVAL = Monotone(_add_interval, (1, 0))
DAYS_BETWEEN, TIME_BETWEEN = Monotone(_difference_in_days, (1, -1)), Monotone(_difference, (1, -1))
UNIX_SECONDS, UNIX_MILLIS, UNIX_MICROS = _per(MICROS_PER_SECOND), _per(1000), _per(1)
UNIX_TIMESTAMP = Monotone(_unix_timestamp, (1, 0))
UNIX_DAYS = AS_THEY_ARE = Monotone(_as_they_are, (1,))
FROM_SECONDS, FROM_MILLIS, FROM_MICROS = _from_units(MICROS_PER_SECOND), _from_units(1000), _from_units(1)
DATE_FORMAT, SECONDS_FORMAT = Monotone(_date_format, (1, 0)), Monotone(_seconds_format, (1, 0))


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
