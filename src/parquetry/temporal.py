"""Dates and timestamps of any year as the integers Spark uses, and their texts.

A date is days since 1970-01-01, a timestamp microseconds since its midnight in UTC, both in the proleptic
Gregorian calendar. Python's own types end at the years 1 and 9999; Spark's do not, and a partition of the
year 12345 must not break a plan. The module `types` decides which column is a date or a timestamp.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from functools import lru_cache
from zoneinfo import ZoneInfo

MICROS_PER_SECOND = 1_000_000
MICROS_PER_DAY = 86_400 * MICROS_PER_SECOND
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_NAIVE = datetime(1970, 1, 1)

_DATE = r"(?P<year>[+-]?\d{4,7})(?:-(?P<month>\d{1,2})(?:-(?P<day>\d{1,2}))?)?"
_TIME = r"(?P<hour>\d{1,2})(?::(?P<minute>\d{1,2})(?::(?P<second>\d{1,2})(?:\.(?P<fraction>\d{0,9}))?)?)?"
_DATE_TEXT = re.compile(rf"{_DATE}(?(day)(?:[ T].*)?)", re.ASCII | re.DOTALL)
_TIMESTAMP_TEXT = re.compile(rf"{_DATE}(?:[ T]{_TIME}(?:\s*(?P<zone>Z|[+-]\d.*|[A-Za-z].*))?)?", re.ASCII)
_OFFSET = re.compile(
    r"(?:(?:UTC|GMT|UT)?(?P<sign>[+-])(?P<hours>\d{1,2})(?::?(?P<minutes>\d{2})(?::?(?P<seconds>\d{2}))?)?)",
    re.ASCII,
)


def days_from_civil(year: int, month: int, day: int) -> int:
    """Count the days from 1970-01-01 to a date of the proleptic Gregorian calendar.

    Raises:
        ValueError: there is no such date.

    >>> days_from_civil(1970, 1, 1), days_from_civil(2024, 2, 29), days_from_civil(0, 1, 1)
    (0, 19782, -719528)
    """
    if not 1 <= month <= 12:
        raise ValueError(f"month {month} is not in 1..12")
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    length = 29 if month == 2 and leap else (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]
    if not 1 <= day <= length:
        raise ValueError(f"day {day} is not in 1..{length}")
    # Years begin in March here, so that the leap day is the last one (Hinnant, "chrono-Compatible Low-Level
    # Date Algorithms").
    shifted = year - (month <= 2)
    era, year_of_era = divmod(shifted, 400)
    day_of_year = (153 * ((month + 9) % 12) + 2) // 5 + day - 1
    return era * 146_097 + year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + day_of_year - 719_468


def civil_from_days(days: int) -> tuple[int, int, int]:
    """Return year, month and day of a count of days since 1970-01-01.

    >>> civil_from_days(19782)
    (2024, 2, 29)
    """
    era, day_of_era = divmod(days + 719_468, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * day_of_year + 2) // 153
    month = (shifted_month + 2) % 12 + 1
    year = era * 400 + year_of_era + (month <= 2)
    return year, month, day_of_year - (153 * shifted_month + 2) // 5 + 1


def date_text(days: int) -> str:
    """Write a date as Java's LocalDate does: four digits of year, a sign beyond them.

    >>> date_text(19782), date_text(-719529), date_text(2932897)
    ('2024-02-29', '-0001-12-31', '+10000-01-01')
    """
    year, month, day = civil_from_days(days)
    sign = "-" if year < 0 else "+" if year > 9999 else ""
    return f"{sign}{abs(year):04d}-{month:02d}-{day:02d}"


def timestamp_text(micros: int) -> str:
    """Write a timestamp as Spark casts it to text, in UTC.

    >>> timestamp_text(1709210096500000), timestamp_text(0)
    ('2024-02-29 12:34:56.5', '1970-01-01 00:00:00')
    """
    days, rest = divmod(micros, MICROS_PER_DAY)
    seconds, fraction = divmod(rest, MICROS_PER_SECOND)
    minutes, second = divmod(seconds, 60)
    text = f"{date_text(days)} {minutes // 60:02d}:{minutes % 60:02d}:{second:02d}"
    return f"{text}.{fraction:06d}".rstrip("0") if fraction else text


def date_from_text(text: str) -> int:
    """Read a date, `yyyy[-m[-d]]`, as days since 1970-01-01.

    After a day, a blank or `T` and any text may follow, such as a time: Spark's cast ignores it, too.

    Raises:
        ValueError: the text is not a date.

    >>> date_from_text('2024-02-29'), date_from_text('+12345-01-01')
    (19782, 3789391)
    >>> date_from_text('1970-01-02 00:00:00'), date_from_text('1970-01-02T10:00')
    (1, 1)
    """
    match = _DATE_TEXT.fullmatch(text.strip())
    if match is None:
        raise ValueError("it is not of the form yyyy-MM-dd")
    return _days(match)


def timestamp_from_text(text: str, zone: str | None) -> int:
    """Read a timestamp, `yyyy-M-d[ T]h[:m[:s[.fraction]]][zone]`, as microseconds since the epoch.

    Args:
        text: a date alone means its midnight. Digits of a fraction after the sixth are dropped, as Spark
            does.
        zone: the zone of a text that names none. None leaves the wall clock as it is and ignores a zone in
            the text, as Spark does for `timestamp_ntz`.

    Raises:
        ValueError: the text is not a timestamp, or the zone is unknown.

    >>> timestamp_from_text('2024-02-29 12:34:56.5', 'UTC')
    1709210096500000
    >>> timestamp_from_text('1970-01-01 10', 'UTC') // 3_600_000_000
    10
    >>> timestamp_text(timestamp_from_text('2024-07-01T00:00:00', 'Europe/Berlin'))
    '2024-06-30 22:00:00'
    """
    match = _TIMESTAMP_TEXT.fullmatch(text.strip())
    if match is None:
        raise ValueError("it is not of the form yyyy-MM-dd HH:mm:ss[.fraction]")
    hour, minute, second = (int(match[part] or 0) for part in ("hour", "minute", "second"))
    if hour > 23 or minute > 59 or second > 59:
        raise ValueError("the time of day does not exist")
    fraction = int((match["fraction"] or "")[:6].ljust(6, "0"))
    wall = _days(match) * 86_400 + hour * 3600 + minute * 60 + second
    if zone is not None:
        wall -= _offset(zone_named(match["zone"] or zone), wall)
    return wall * MICROS_PER_SECOND + fraction


def midnight(days: int, zone: str) -> int:
    """Return the instant, in microseconds since the epoch, at which a date begins in a zone."""
    wall = days * 86_400
    return (wall - _offset(zone_named(zone), wall)) * MICROS_PER_SECOND


@lru_cache(maxsize=64)
def zone_named(name: str) -> tzinfo:
    """Find a time zone by an IANA name (`Europe/Berlin`) or an offset (`Z`, `+08:00`, `GMT+8`, `UTC`).

    Raises:
        ValueError: there is no such zone.
    """
    name = name.strip()
    if name in ("Z", "UTC", "GMT", "UT"):
        return UTC
    match = _OFFSET.fullmatch(name)
    if match is not None:
        hours, minutes, seconds = (int(match[part] or 0) for part in ("hours", "minutes", "seconds"))
        if hours > 18 or minutes > 59 or seconds > 59:
            raise ValueError(f"there is no time zone {name!r}: offsets end at 18 hours")
        offset = timedelta(hours=hours, minutes=minutes, seconds=seconds)
        return timezone(-offset if match["sign"] == "-" else offset)
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError) as error:
        raise ValueError(
            f"there is no time zone {name!r}: write it as Europe/Berlin, UTC or +01:00"
        ) from error


def datetime_from_micros(micros: int) -> datetime:
    """Return the aware datetime in UTC.

    Raises:
        OverflowError: the year is not in 1..9999.
    """
    return _EPOCH + timedelta(microseconds=micros)


def _days(match: re.Match[str]) -> int:
    return days_from_civil(int(match["year"]), int(match["month"] or 1), int(match["day"] or 1))


def _offset(zone: tzinfo, wall: int) -> int:
    """Return a zone's offset in seconds at a wall clock in seconds. Gaps and overlaps resolve as in Java."""
    days, seconds = divmod(wall, 86_400)
    year, month, day = civil_from_days(days)
    if not 1 < year < 9999:
        # The calendar repeats every 400 years, and zones know no rules that begin after year 9999.
        year = (8000 if year > 1 else 400) + year % 400
    local = datetime(year, month, day, tzinfo=zone) + timedelta(seconds=seconds)
    offset = zone.utcoffset(local)  # fold=0: the offset before the change, in a gap and in an overlap
    assert offset is not None
    return offset.days * 86_400 + offset.seconds
