"""A value's forms: in memory, in a path, in SQL, in Python.

A value in memory (`Value`) has the form of Spark's InternalRow: None, bool, int, float, Decimal, str or
bytes. A date is days since 1970-01-01, a timestamp microseconds since the epoch. So any year fits, and
statistics, keys and filters compare plain Python values. `keys` turns values into sortable bytes; `layout`
escapes them in paths.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from decimal import Context, Decimal, Inexact, InvalidOperation
from functools import lru_cache
from typing import Any, TypeAlias

from parquetry import temporal
from parquetry.errors import ValueTypeError
from parquetry.intervals import interval_from_text, interval_text
from parquetry.types.column_type import ColumnType
from parquetry.types.facts import Family

Value: TypeAlias = bool | int | float | Decimal | str | bytes | None

_INTEGER = re.compile(r"[+-]?\d+", re.ASCII)
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_BOOLEANS = dict.fromkeys(("true", "t", "yes", "y", "1"), True) | dict.fromkeys(
    ("false", "f", "no", "n", "0"), False
)
_SPECIAL = {"nan": math.nan} | {
    sign + name: -math.inf if sign == "-" else math.inf
    for sign in ("", "+", "-")
    for name in ("inf", "infinity")
}
# Wide enough for any decimal(38, s) met with any literal; Inexact says that digits would be lost.
_EXACT = Context(prec=200, traps=[InvalidOperation, Inexact])


def value_from_text(type: ColumnType, text: str, zone: str = "UTC") -> Value:
    """Read a value from the text of a path or of a quoted literal.

    Args:
        type: type of the value.
        text: unescaped text. Blanks around anything but strings are dropped, as Spark's casts do.
        zone: the zone of a `timestamp` without one of its own.

    Raises:
        ValueTypeError: the text does not fit the type.

    >>> from parquetry.types import parse_type
    >>> value_from_text(parse_type('int'), '007'), value_from_text(parse_type('decimal(10,2)'), '1.5')
    (7, Decimal('1.50'))
    """
    try:
        reader = _READERS[type.family]
    except KeyError:
        raise ValueTypeError(f"Type {type}: values of this type cannot be read from text.") from None
    try:
        return reader(type, text, zone)
    except (ValueError, InvalidOperation, Inexact, OverflowError) as error:
        reason = f": {error}" if isinstance(error, ValueError) and str(error) else ""
        raise ValueTypeError(f"Value {text!r} does not fit type {type}{reason}.") from None


def _read_boolean(_type: ColumnType, text: str, _zone: str) -> Value:
    value = _BOOLEANS.get(text.strip().lower())
    if value is None:
        raise ValueError("write true or false")
    return value


def _read_integer(type: ColumnType, text: str, _zone: str) -> Value:
    stripped = text.strip()
    if not _INTEGER.fullmatch(stripped):
        raise ValueError("write a whole number")
    return _check_range(type, int(stripped))


def _read_time(type: ColumnType, text: str, zone: str) -> Value:
    if type.name == "date":
        return _check_range(type, temporal.date_from_text(text))
    return _check_range(type, temporal.timestamp_from_text(text, zone if type.name == "timestamp" else None))


def _check_range(type: ColumnType, value: int) -> int:
    limit = 1 << (type.facts.bits - 1)
    if not -limit <= value < limit:
        raise ValueError(f"the range is {-limit} to {limit - 1}")
    return value


def _read_float(type: ColumnType, text: str, _zone: str) -> Value:
    stripped = text.strip()
    special = _SPECIAL.get(stripped.lower())
    if special is not None:
        return special
    if stripped[-1:] in "dDfF":
        stripped = stripped[:-1]
    if not _NUMBER.fullmatch(stripped):
        raise ValueError("write a number, NaN or Infinity")
    return float(stripped) if type.name == "double" else nearest_float32(Decimal(stripped))


def _read_decimal(type: ColumnType, text: str, _zone: str) -> Value:
    stripped = text.strip()
    if not _NUMBER.fullmatch(stripped):
        raise ValueError("write a number")
    return _scale(type, Decimal(stripped))


def _scale(type: ColumnType, value: Decimal) -> Decimal:
    if value and value.adjusted() >= type.precision - type.scale:
        raise ValueError("it has too many digits before the point")
    try:
        scaled = value.quantize(Decimal((0, (1,), -type.scale)), context=_EXACT)
    except Inexact:
        raise ValueError("it has too many digits after the point") from None
    return abs(scaled) if scaled.is_zero() else scaled


def _read_text(type: ColumnType, text: str, _zone: str) -> Value:
    if not type.length:
        return text
    if len(text) > type.length:
        if text[type.length :].strip(" "):
            raise ValueError(f"it is longer than {type.length} characters")
        text = text[: type.length]
    # Spark and SQL compare a char padded to its length, so that is its one form in memory.
    return text.ljust(type.length) if type.name == "char" else text


_READERS: dict[Family, Callable[[ColumnType, str, str], Value]] = {
    Family.BOOLEAN: _read_boolean,
    Family.INTEGER: _read_integer,
    Family.FLOAT: _read_float,
    Family.DECIMAL: _read_decimal,
    Family.TEXT: _read_text,
    Family.BINARY: lambda _type, text, _zone: text.encode(),
    Family.TEMPORAL: _read_time,
    Family.INTERVAL: lambda kind, text, _zone: interval_from_text(kind.name, text),
}


def text_from_value(type: ColumnType, value: Value) -> str:
    """Write a value other than NULL as Spark writes it into a path, before escaping.

    A timestamp is written in UTC, a double as Java prints it, a decimal with its scale, bytes as UTF-8.

    Raises:
        ValueTypeError: the value is NULL, which has no text.

    >>> from parquetry.types import parse_type
    >>> text_from_value(parse_type('double'), 1e10), text_from_value(parse_type('date'), 0)
    ('1.0E10', '1970-01-01')
    >>> text_from_value(parse_type('float'), 2.0**-149), text_from_value(parse_type('double'), 5e-324)
    ('1.4E-45', '4.9E-324')
    """
    if value is None:
        raise ValueTypeError(f"NULL of type {type} has no text: write the default partition's name instead.")
    if type.name == "date":
        return temporal.date_text(int(value))
    if type.temporal:
        return temporal.timestamp_text(int(value))
    if type.interval:
        return interval_text(type.name, int(value))
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return _java_text(value, single=type.name == "float")
    if isinstance(value, Decimal):
        return f"{value:f}"
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def decimal_from_unscaled(unscaled: int, scale: int) -> Decimal:
    """Return a decimal by its digits and the number of those after the point. `scaleb` rounds to 28 digits.

    >>> decimal_from_unscaled(-12345678901234567890123456789012, 2)
    Decimal('-123456789012345678901234567890.12')
    """
    return Decimal((unscaled < 0, tuple(map(int, str(abs(unscaled)))), -scale))


def negative(number: Any) -> Any:
    """Return a number with the other sign. Python's minus and `abs` round a decimal to 28 digits.

    >>> negative(Decimal("123456789012345678901234567890.12")), negative(Decimal("0.0")), negative(5)
    (Decimal('-123456789012345678901234567890.12'), Decimal('0.0'), -5)
    """
    if not isinstance(number, Decimal):
        return -number
    return number.copy_abs() if number.is_zero() else number.copy_negate()


def to_float32(value: float) -> float:
    """Round to the nearest single-precision number. A number beyond its range becomes infinite."""
    try:
        rounded: float = struct.unpack(">f", struct.pack(">f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded


def nearest_float32(number: Decimal) -> float:
    """Round to the nearest single-precision number in one step.

    A double between may be a tie that the number is not.

    >>> nearest_float32(Decimal("1.000000059604644775390625000001")), to_float32(1.0000000596046448)
    (1.0000001192092896, 1.0)
    """
    double = float(number)
    below, above = (to_float32(math.nextafter(double, end)) for end in (-math.inf, math.inf))
    if below != above and below + above == 2 * double and number != Decimal(double):
        return above if number > Decimal(double) else below
    return to_float32(double)


def _java_text(value: float, single: bool) -> str:
    if single:
        value = to_float32(value)
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    # Java writes the shortest digits that name a number. If one digit does, it writes the nearest two:
    # 4.9E-324 for 5e-324. A single-precision number needs fewer than its double.
    nearest = to_float32 if single else float
    text = next(t for t in (f"{value:.{n}e}" for n in range(1, 17)) if nearest(float(t)) == value)
    sign, digits, _ = Decimal(text).as_tuple()
    exponent = Decimal(text).adjusted() if value else 0
    figures = "".join(map(str, digits)).rstrip("0") or "0"
    if -3 <= exponent < 7:
        shifted = "0" * -exponent + figures if exponent < 0 else figures.ljust(exponent + 1, "0")
        point = max(exponent, 0) + 1
        body = f"{shifted[:point]}.{shifted[point:] or '0'}"
    else:
        body = f"{figures[0]}.{figures[1:] or '0'}E{exponent}"
    return ("-" if sign else "") + body


def to_python(type: ColumnType, value: Value) -> Any:
    """Return a value as Python's users expect it: date, datetime (a `timestamp` is aware, in UTC), Decimal, …

    A date or timestamp outside the years 1 to 9999 becomes its text. So does an interval of years and months:
    Python has no type for it.

    >>> from parquetry.types import parse_type
    >>> to_python(parse_type('date'), 19782)
    datetime.date(2024, 2, 29)
    """
    if value is None:
        return None
    try:
        if type.name == "date":
            return date(1970, 1, 1) + timedelta(days=int(value))
        if type.name == "timestamp":
            return temporal.datetime_from_micros(int(value))
        if type.name == "timestamp_ntz":
            return temporal.datetime_from_micros(int(value)).replace(tzinfo=None)
        if type.interval:
            is_duration = type.facts.bits == 64
            return timedelta(microseconds=int(value)) if is_duration else text_from_value(type, value)
    except OverflowError:
        return text_from_value(type, value)
    return value


def sql_literal(type: ColumnType, value: Value) -> str:
    """Write a value as Spark's SQL reads it.

    >>> from parquetry.types import STRING, parse_type
    >>> sql_literal(STRING, "it's"), sql_literal(parse_type('date'), 0), sql_literal(STRING, None)
    ("'it''s'", "DATE '1970-01-01'", 'NULL')
    """
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        return f"X'{value.hex().upper()}'"
    text = text_from_value(type, value)
    if type.name == "date":
        return f"DATE '{text}'"
    if type.name == "timestamp":
        return f"TIMESTAMP '{text} UTC'"
    if type.name == "timestamp_ntz":
        return f"TIMESTAMP_NTZ '{text}'"
    if type.interval:
        return text
    if isinstance(value, str):
        escaped = text.replace("\\", "\\\\").replace("'", "''")
        return f"'{escaped}'"
    if isinstance(value, float):
        # SQL reads 0.1 as a decimal and compares it as a double. A float's 0.1 is another double, so write
        # all of its digits. SQL has no bare NaN or Infinity, but takes a quoted one where a number is due.
        return _java_text(value, single=False) if math.isfinite(value) else f"'{text}'"
    return text


@lru_cache(maxsize=256)
def extreme_values(type: ColumnType) -> tuple[Value, Value]:
    """Return the least and the greatest value of a type, NaN left out; None where there is none.

    >>> from parquetry.types import parse_type
    >>> extreme_values(parse_type("tinyint")), extreme_values(parse_type("string"))
    ((-128, 127), ('', None))
    """
    if type.facts.value is int:
        limit = 1 << (type.facts.bits - 1)
        return -limit, limit - 1
    if type.floating:
        return -math.inf, math.inf
    if type.name == "decimal":
        least, greatest = (Decimal((sign, (9,) * type.precision, -type.scale)) for sign in (1, 0))
        return least, greatest
    if type.name == "boolean":
        return False, True
    return ("" if type.textual else b"" if type.name == "binary" else None), None


def order_key(value: Value) -> Any:
    """Return a sort key in SQL's order for values of one type: NULL first, NaN greatest, -0.0 equal to 0.0.

    >>> sorted([float('nan'), 1.0, None, -2.0], key=order_key)
    [None, -2.0, 1.0, nan]
    """
    if value is None:
        return (0, 0)
    return (2, 0) if value != value else (1, value)


def identity(values: Sequence[Value]) -> tuple[Value, ...]:
    """Return values as a key of a dict.

    NaN does not equal itself but is one partition, so it becomes a text.
    """
    return tuple("NaN" if value != value else value for value in values)
