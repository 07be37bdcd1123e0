"""Values at the edges of types, in a table of one row for each edge: SQL's text of each, for one statement.

A column of each type, and a second one with the same values in another order (`i` and `i_`).
"""

from __future__ import annotations

import random
from collections.abc import Collection
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from zoneinfo import ZoneInfo

ZONES = (
    "UTC",
    "America/New_York",
    "Pacific/Apia",
    "Europe/London",
    "Africa/Monrovia",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",
    "America/Sao_Paulo",
)
"""Zones with gaps and overlaps of an hour, of half an hour, at midnight and of a day, and odd offsets."""
MICROS = 1_000_000
DAY = 86_400 * MICROS
_EPOCH = datetime(1970, 1, 1)


class Edges(NamedTuple):
    """The edges of one type.

    Attributes:
        type: as SQL writes it.
        read_as: the type of the table's column, where Spark has another one for it in expressions.
        values: as SQL writes them.
    """

    type: str
    read_as: str
    values: list[str]


def _whole(type: str, bits: int) -> Edges:
    limit = 1 << (bits - 1)
    ends = [-limit, -limit + 1, limit - 2, limit - 1]
    near = [
        -1000,
        -128,
        -101,
        -100,
        -99,
        -50,
        -25,
        -15,
        -11,
        -10,
        -7,
        -5,
        -3,
        -2,
        -1,
        0,
        1,
        2,
        3,
        5,
        7,
        9,
        10,
        11,
    ]
    far = [15, 25, 49, 50, 51, 99, 100, 101, 127, 999, 1000, 2026, 19000, 86399, 86400]
    wide = [
        sign * (1 << power) + step for power in (24, 53, 62) for sign in (-1, 1) for step in (-1, 0, 1, 2)
    ]
    wide += [15_000_000, 2_147_483_648, -2_147_483_649, 253_402_300_799, -62_135_596_800, 9_223_372_036_854]
    fit = [each for each in sorted({*ends, *near, *far, *wide}) if -limit <= each < limit]
    return Edges(type, type, [f"CAST('{each}' AS {type})" for each in fit])


def _floats(type: str, values: list[str]) -> Edges:
    specials = ["NaN", "Infinity", "-Infinity", "-0.0", "0.0"]
    return Edges(type, type, [f"CAST('{each}' AS {type})" for each in (*specials, *values)])


_FLOATS = [
    "1.4E-45", "-1.4E-45", "1.1754942E-38", "1.17549435E-38", "3.4028235E38", "-3.4028235E38", "-100.5", "-2.5",
    "-1.5", "-1.0", "-0.5", "0.1", "0.3", "0.49999997", "0.5", "1.0", "1.00000012", "1.005", "1.5", "2.5", "2.675", "9.995",
    "16777216", "16777218", "8388609.5", "100.0", "9.2233720E18", "-9.2233720E18", "2147483648", "2147483520", "127.5", "-128.5",
]  # fmt: skip
_DOUBLES = [
    "4.9E-324", "-4.9E-324", "2.2250738585072014E-308", "1.7976931348623157E308", "-1.7976931348623157E308", "-100.5",
    "-2.5", "-1.5", "-1.0", "-0.5", "-0.1", "0.1", "0.29", "0.3", "0.49999999999999994", "0.5", "1.0", "1.005", "1.5", "2.5",
    "2.675", "9.995", "35.855", "1.0000000596046448", "1.000000059604645", "16777217", "9007199254740993", "4503599627370497.5", "100.0",
    "9.223372036854775807E18", "9.223372036854774784E18", "-9.223372036854775808E18", "-9.3E18", "2147483647.5", "-2147483648.9", "127.9", "-128.9",
    "2.0E-3", "3.4028235677973366E38", "3.4028235677973362E38", "1E23", "8.41E21", "2.0E-45", "7.006492321624085E-46",
]  # fmt: skip


def _decimals(precision: int, scale: int, more: list[str]) -> Edges:
    type = f"DECIMAL({precision},{scale})"
    whole, unit = "9" * (precision - scale), "0" * (scale - 1) + "1" if scale else ""
    greatest = f"{whole or '0'}.{'9' * scale}" if scale else whole
    found = [greatest, f"-{greatest}", "0", *more]
    if scale:
        found += [f"0.{unit}", f"-0.{unit}", f"0.{'4' + '9' * (scale - 1)}", f"0.5{'0' * (scale - 1)}"]
    if scale > 1:
        found += [f"-0.5{'0' * (scale - 1)}", f"-0.5{unit[1:]}"]
    return Edges(type, type.lower(), [f"CAST('{each}' AS {type})" for each in dict.fromkeys(found)])


_TEXTS = [
    "", " ", "  ", "0", "00", "007", "-5", "5", "5 ", " 5", "+5", "5.5", "-5.49", "1e3", "NaN", "9" * 25, "1" * 60, "A", "AB", "Ab", "a", "aB", "ab", "ab ", "ab%", "ab_",
    "abc", "abcd", "abd", "b", "straße", "strasse", "STRASSE", "i", "I", "ı", "İ", "i̇", "Iä", "ïi", "ß", "ẞ", "z", "zz", "é", "e\u0301", "ﬁ", "Σ", "ς", "ΑΣ",
    "ά", "Ά", "ǅ", "\u0345", "ŉ", "\uD7FF", "\uE000", "\uFFFD", "\uFFFF", "😀", "😀a", "\U00010428", "\U0010FFFF", "2026-03-08", "1969-12-31 23:59:59.5", "true", "f", "a\\b", "ab\x00c",
]  # fmt: skip
_BYTES = [b"\xff", b"\xc3", b"a\xff", b"\xed\xa0\x80", b"ab\x80c"]
"""Bytes that are no text in UTF-8."""


def _texts(type: str, longest: int) -> Edges:
    found = [each.encode() for each in _TEXTS if len(each) <= longest]
    return Edges("STRING", type, [f"CAST(X'{each.hex()}' AS STRING)" for each in [*found, *_BYTES]])


def _seconds(year: int, month: int, day: int, hour: int = 0, minute: int = 0) -> int:
    return int((datetime(year, month, day, hour, minute) - _EPOCH).total_seconds())


def changes(zone: str) -> list[int]:
    """Return a few seconds at which the clocks of a zone change: the last ones, and the first ones."""
    info = ZoneInfo(zone)

    def offset(second: int) -> timedelta | None:
        return datetime.fromtimestamp(second, UTC).astimezone(info).utcoffset()

    found, week = [], 7 * 86_400
    for start in range(_seconds(1880, 1, 1), _seconds(2037, 1, 1), week):
        low, high = start, start + week
        if (before := offset(low)) == offset(high):
            continue
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if offset(middle) == before else (low, middle)
        found.append(high)
    return [*found[:4], *found[-4:]]


_DATES = [
    (1, 1, 1), (1000, 2, 28), (1500, 3, 1), (1581, 12, 31), (1582, 10, 4), (1582, 10, 5), (1582, 10, 14), (1582, 10, 15), (1582, 12, 31), (1583, 1, 1), (1899, 12, 31), (1900, 1, 1), (1900, 3, 1),
    (1960, 1, 1), (1969, 12, 29), (1969, 12, 31), (1970, 1, 1), (1970, 1, 2), (1999, 12, 31), (2000, 2, 29), (2008, 12, 29), (2010, 1, 3), (2011, 12, 29), (2011, 12, 30), (2011, 12, 31), (2020, 12, 31),
    (2021, 1, 3), (2021, 1, 4), (2024, 1, 31), (2024, 2, 29), (2026, 1, 1), (2026, 1, 30), (2026, 1, 31), (2026, 2, 28), (2026, 3, 1), (2026, 3, 8), (2026, 3, 31), (2026, 10, 25), (2026, 12, 31), (2027, 1, 1), (9999, 12, 31),
]  # fmt: skip


def _dates() -> Edges:
    days = [_seconds(*each) // 86_400 for each in _DATES]
    days += [
        -(1 << 31),
        -(1 << 31) + 1,
        (1 << 31) - 1,
        -719_529,
        -719_528 - 366,
        2_932_897,
        106_751_991,
        -106_751_992,
    ]
    return Edges("DATE", "date", [f"date_from_unix_date({each})" for each in sorted(days)])


_TIMES = [
    -1, -500_000, -999_999, -1_000_000, -1_000_001, -1_500_000, -1_999_999, 0, 1, 500_000, 999_999, 1_000_000, 1_500_000, -315_619_199_750_000, -(1 << 63), (1 << 63) - 1, -62_135_596_800 * MICROS - 1,
    -62_135_596_800 * MICROS, 253_402_300_800 * MICROS, 253_402_300_799_999_999, -12_219_292_800 * MICROS, -12_219_292_800 * MICROS - 1, 1_772_928_245_123_456, 4_102_444_800 * MICROS + 1, -62_167_219_200 * MICROS - 5,
]  # fmt: skip


def _times(type: str, zone: str, function: str) -> Edges:
    found = {*_TIMES}
    for second in changes(zone):
        found |= {second * MICROS + step for step in (-1, 0)}
    for second in changes(zone)[-3:]:  # both sides of the change on the clock, and midnights about it
        local = second + int(
            (
                datetime.fromtimestamp(second, UTC).astimezone(ZoneInfo(zone)).utcoffset() or _EPOCH - _EPOCH
            ).total_seconds()
        )
        found |= {(second + step) * MICROS for step in (-3600, -1800, 1800, 3600)} | {
            local * MICROS,
            local * MICROS - 1,
        }
    return Edges(type, type.lower(), [function.format(each) for each in sorted(found)])


def edges(zone: str) -> dict[str, Edges]:
    """Return the edges of each column, for sessions in a time zone."""
    return {
        "t": _whole("TINYINT", 8), "h": _whole("SMALLINT", 16), "i": _whole("INT", 32), "b": _whole("BIGINT", 64),
        "f": _floats("FLOAT", _FLOATS), "d": _floats("DOUBLE", _DOUBLES),
        "p9": _decimals(9, 2, ["1.005", "2.5", "-2.5", "1.5", "-1.5", "12.345", "99.95", "-0.05", "3", "7", "127.99", "-128.99"]),
        "p18": _decimals(38, 18, [
            "12345678901234567890.000000499999999999", "10000000000000000000.000000000000000001", "3", "0.333333333333333333", "-7", "9007199254740993", "16777217", "1.000000059604644775",
            "-2147483648.999999999999999999", "9223372036854775807.5", "1.5", "2.5", "1000000.499999999999999999"]),
        "p30": _decimals(38, 30, [
            "1.000000059604644775390625000001", "1.000000059604644775390625", "1.000000059604644775390624999999", "-1.000000059604644775390625000001", "1.000000178813934326171875000001", "1.000000178813934326171875",
            "1.000000178813934326171874999999", "1.000000000000000111022302462516", "1.000000000000000111022302462515", "1.000000000000000333066907387547", "2.5", "3", "16777217.000000000000000000000000000001", "16777216.999999999999999999999999999999", "0.1"]),
        "p38": _decimals(38, 38, ["0.33333333333333333333333333333333333333", "0.66666666666666666666666666666666666667", "-0.1", "0.00000000000000000000000000000000000003", "0.7"]),
        "p0": _decimals(38, 0, [
            "3", "7", "-7", "9007199254740993", "9007199254740992", "16777217", "34028235677973366163753939545814256845", "9223372036854775807", "9223372036854775808",
            "-9223372036854775809", "10000000000000000000000000000000000001", "2147483648"]),
        "s": _texts("string", 99), "v": _texts("varchar(12)", 12),
        "y": Edges("BINARY", "binary", ["X''", "X'00'", "X'7F'", "X'80'", "X'FF'", "X'FF00'", "X'616263'"]),
        "bo": Edges("BOOLEAN", "boolean", ["true", "false"]),
        "dt": _dates(),
        "ts": _times("TIMESTAMP", zone, "timestamp_micros({})"),
        "nt": _times("TIMESTAMP_NTZ", zone, "CAST(timestamp_micros({}) AS TIMESTAMP_NTZ)"),
        "iv": Edges("INTERVAL DAY TO SECOND", "interval day to second", [f"INTERVAL '{each}' DAY TO SECOND" for each in ("0 00:00:00", "1 00:00:00", "-1 00:00:00", "0 12:00:00", "-2 12:30:00.000001", "400 00:00:00")]),
        "im": Edges("INTERVAL YEAR TO MONTH", "interval year to month", [f"INTERVAL '{each}' YEAR TO MONTH" for each in ("0-0", "0-1", "-0-1", "1-0", "-100-11", "8000-0")]),
    }  # fmt: skip


def statement(of_zone: dict[str, Edges], names: Collection[str], seed: int) -> str:
    """Return a SELECT of one row for each edge of some columns, with a number, and a row of NULLs."""
    dice = random.Random(seed)
    used = {name: each for name, each in of_zone.items() if {name, f"{name}_"} & {*names}}
    count = max(len(each.values) for each in used.values())
    columns: dict[str, list[str]] = {}
    for name, each in used.items():
        for column in (name, f"{name}_"):
            if column not in names:
                continue
            several = [*each.values, "NULL"] * (count // (len(each.values) + 1) + 1)
            rest = several[len(each.values) : count]
            dice.shuffle(rest)
            chosen = [*each.values, *rest]
            if column != name:
                dice.shuffle(chosen)
            columns[column] = [
                f"CAST(NULL AS {each.type})" if value == "NULL" else value for value in [*chosen, "NULL"]
            ]
    rows = zip(*columns.values(), strict=True)
    values = ", ".join(f"({number}, {', '.join(row)})" for number, row in enumerate(rows))
    return f"SELECT * FROM VALUES {values} AS edges(number, {', '.join(columns)})"
