"""SQL's intervals and their text: year-month intervals as months, day-time intervals as microseconds.

| type | value | text, as Spark casts it and SQL reads it |
|---|---|---|
| interval year to month | 14 | `INTERVAL '1-2' YEAR TO MONTH` |
| interval month | 14 | `INTERVAL '14' MONTH` |
| interval day to second | 93784005006 | `INTERVAL '1 02:03:04.005006' DAY TO SECOND` |
| interval hour to minute | -5400000000 | `INTERVAL '-01:30' HOUR TO MINUTE` |
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal

_MONTHS = {"year": 12, "month": 1}
_MICROS = {"day": 86_400_000_000, "hour": 3_600_000_000, "minute": 60_000_000, "second": 1_000_000}
_BETWEEN = {"year": "-", "day": " ", "hour": ":", "minute": ":"}
"""The separator after the number of each unit, if another unit follows."""
_LITERAL = re.compile(r"interval\s+([+-]?)\s*'([^']*)'\s+(.+)", re.IGNORECASE)


def _types(units: Sequence[str]) -> Iterator[str]:
    for i, first in enumerate(units):
        yield f"interval {first}"
        yield from (f"interval {first} to {last}" for last in units[i + 1 :])


INTERVAL_BITS = dict.fromkeys(_types(tuple(_MONTHS)), 32) | dict.fromkeys(_types(tuple(_MICROS)), 64)
"""Width of each interval type, in bits."""


def _parts(type: str) -> tuple[dict[str, int], list[str]]:
    """Return the units of a type's family, in months or microseconds, and the names of its own units."""
    first, _, last = type.removeprefix("interval ").partition(" to ")
    units = _MONTHS if first in _MONTHS else _MICROS
    names = list(units)
    return units, names[names.index(first) : names.index(last or first) + 1]


def interval_text(type: str, value: int) -> str:
    """Write an interval as Spark does.

    Args:
        type: its name, one of `INTERVAL_BITS`.
        value: months or microseconds. A remainder below the type's last unit is left out.

    >>> interval_text("interval day to second", 93784005006), interval_text("interval hour to minute", -5400000000)
    ("INTERVAL '1 02:03:04.005006' DAY TO SECOND", "INTERVAL '-01:30' HOUR TO MINUTE")
    """
    units, names = _parts(type)
    text, rest = "-" if value < 0 else "", abs(value)
    for name in names:
        count, left = divmod(rest, units[name])
        if name == "second":
            number = f"{count}.{left:06d}".rstrip("0").rstrip(".")
            text += f"0{number}" if count < 10 else number
        else:
            text += str(count) if units is _MONTHS or name == "day" else f"{count:02d}"
        rest = left
        if name != names[-1]:
            text += _BETWEEN[name]
    return f"INTERVAL '{text}' {type.removeprefix('interval ').upper()}"


def interval_from_text(type: str, text: str) -> int:
    """Read an interval: a literal of SQL, or the text between its quotes.

    Args:
        type: its name, one of `INTERVAL_BITS`.
        text: text of an interval with the same units.

    Raises:
        ValueError: the text is not such an interval, or the interval does not fit the type.

    >>> interval_from_text("interval year to month", "INTERVAL '1-2' YEAR TO MONTH"), interval_from_text("interval day", "-3")
    (14, -259200000000)
    """
    units, names = _parts(type)
    example = interval_text(type, sum(units[name] for name in names))
    literal = _LITERAL.fullmatch(text.strip())
    written, sign = (literal[2], literal[1]) if literal else (text, "")
    if literal and " ".join(literal[3].lower().split()) != type.removeprefix("interval "):
        raise ValueError(f"write it as {example}")
    pattern = "".join(
        (r"(\d+(?:\.\d{0,9})?)" if name == "second" else r"(\d+)")
        + (re.escape(_BETWEEN[name]) if name != names[-1] else "")
        for name in names
    )
    counts = re.fullmatch(r"\s*([+-]?)" + pattern + r"\s*", written, re.ASCII)
    if counts is None:
        raise ValueError(f"write it as {example}")
    numbers = [Decimal(number) for number in counts.groups()[1:]]
    for name, number, above in zip(names[1:], numbers[1:], names, strict=False):
        if number >= units[above] // units[name]:
            raise ValueError(f"there are no {number} {name}s beside {above}s: write it as {example}")
    total = int(sum(number * units[name] for name, number in zip(names, numbers, strict=True)))
    value = -total if (sign == "-") != (counts[1] == "-") else total
    limit = 1 << (INTERVAL_BITS[type] - 1)
    if not -limit <= value < limit:
        raise ValueError(f"it is longer than an {type} can be")
    return value
