"""Values, counts and sizes as text for people and for JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from datetime import date, time, timedelta
from decimal import Decimal
from typing import Any

_UNITS = ("B", "kB", "MB", "GB", "TB", "PB", "EB")


def plain(value: Any) -> Any:
    """Return a value in a form that JSON has.

    Dates and times become ISO text, and intervals text such as `1 day, 2:00:00`. Decimals become text with
    all their digits, bytes hexadecimal text. NaN and the infinities, which JSON does not have, become text.

    >>> plain({"d": date(2024, 2, 29), "n": [Decimal("1.50"), math.inf], "b": b"ab"})
    {'d': '2024-02-29', 'n': ['1.50', 'Infinity'], 'b': '6162'}
    """
    match value:
        case date() | time():
            return value.isoformat()
        case timedelta():
            return str(value)
        case Decimal():
            return format(value, "f")
        case bytes():
            return value.hex()
        case float() if not math.isfinite(value):
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case Mapping():
            return {str(key): plain(part) for key, part in value.items()}
        case list() | tuple():
            return [plain(part) for part in value]
    return value


def cell(value: Any) -> str:
    """Return a value as a table shows it: NULL for None, unprintable characters escaped.

    >>> cell(None), cell(True), cell(12), cell("a\\tb")
    ('NULL', 'true', '12', 'a\\\\tb')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(value).lower()
    text = str(plain(value))
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else repr(char)[1:-1] for char in text)


def count(number: int | None) -> str:
    """Return a number with separators, or a question mark if it is not known.

    >>> count(1234567), count(None)
    ('1,234,567', '?')
    """
    return "?" if number is None else f"{number:,}"


def quantity(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun, which is plural unless the number is 1.

    >>> quantity(1, "partition"), quantity(1200, "file"), quantity(0, "entry", "entries")
    ('1 partition', '1,200 files', '0 entries')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def size_text(number: int) -> str:
    """Return a number of bytes with a decimal unit.

    >>> size_text(999), size_text(1_234_000), size_text(3_000_000_000), size_text(999_999)
    ('999 B', '1.2 MB', '3 GB', '1 MB')
    """
    value = float(number)
    for unit in _UNITS:
        rounded = f"{value:.1f}".removesuffix(".0") if value < 99.95 and unit != "B" else f"{value:.0f}"
        if float(rounded) < 1000 or unit == _UNITS[-1]:
            break
        value /= 1000
    return f"{rounded} {unit}"


MAX_MESSAGE = 900
"""Characters of a message: what a person reads before he looks for the remedy at its end."""
_MAX_LINE = 160
"""Characters of a line that an error marks: two lines of a terminal."""


def shorten(text: str, longest: int = MAX_MESSAGE) -> str:
    """Return a text, or its beginning and its end if it is longer than a limit.

    >>> shorten("abc"), shorten("a" * 300 + "b" * 300, 100)
    ('abc', 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa … 600 characters in all … bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb')

    Args:
        text: of any length.
        longest: number of characters, the remark in the middle included.
    """
    if len(text) <= longest:
        return text
    remark = f" … {len(text):,} characters in all … "
    kept = max(longest - len(remark), 0)
    return text[: kept - kept * 12 // 25] + remark + text[len(text) - kept * 12 // 25 :]


def excerpt(text: str, position: int) -> tuple[str, int]:
    r"""Return the line of a text around a position, without what is far from it, and the position there.

    >>> excerpt("a = 1\nAND b ? 2", 12)
    ('AND b ? 2', 6)
    """
    start = text.rfind("\n", 0, position) + 1
    end = text.find("\n", position)
    line, column = text[start : end if end >= 0 else len(text)], position - start
    if column > _MAX_LINE // 2:
        dropped = column - _MAX_LINE // 2
        line, column = f"…{line[dropped:]}", column - dropped + 1
    return (line if len(line) <= _MAX_LINE else f"{line[:_MAX_LINE]}…"), column
