"""Ranges of casts. A cast is monotone between numbers, between times, and from times to text.

A text that is cast may have any value. If the cast raises errors, the container is read, since a text between
the bounds may be no number at all.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from decimal import ROUND_DOWN, Decimal
from typing import Any

from parquetry.predicate.expression import Expression, FunctionCall
from parquetry.predicate.functions.monotone import at_corners, is_kind
from parquetry.predicate.functions.numbers import rounded
from parquetry.predicate.functions.times import local_days, local_time, text_of_local
from parquetry.predicate.functions.values import UNKNOWN, OutOfRangeError, Range, ends_of, hull
from parquetry.temporal import MICROS_PER_SECOND, days_from_civil
from parquetry.types import STRING, ColumnType, Family, nearest_float32

_MAX_EXACT = 1 << 53
_MOST_TEXTS = 8
"""Ranges of texts of integers, by the number of digits; more are joined."""
_DATE = ColumnType("date")
_DATE_FORMATS = ("DATEFORMATCLASS", "DATE_FORMAT")


def cast(call: FunctionCall, ranges: Sequence[Range]) -> Range | tuple[Range, ...]:
    """Return the range of a cast's results; the texts of numbers have several, by their number of digits."""
    (each,), (argument,) = ranges, call.args
    source, target = argument.type, call.type
    if source is None or target is None:
        return UNKNOWN
    if _is_same(source, target):
        return each
    if source.integral and target == STRING:
        return _texts_of_integers(source, each)
    if target == _DATE and _is_text_of_date(argument):
        return _dates_of_texts(each)
    if source.textual and not call.raises and not each.fails:
        return Range(nan=True)
    return at_corners(call, ranges, (1,), _point)


def _texts_of_integers(type: ColumnType, each: Range) -> Range | tuple[Range, ...]:
    """Return the texts of integers. Texts of one length and one sign are in the order of their numbers."""
    if each.void or each.fails:
        return each
    low, high = ends_of(type, each)
    spans = [("", max(low, 0), high), ("-", max(-high, 1), -low)]
    parts = [
        Range(
            f"{sign}{max(least, 10 ** (digits - 1) if digits > 1 else 0)}",
            f"{sign}{min(most, 10**digits - 1)}",
            each.nulls,
        )
        for sign, least, most in spans
        if least <= most
        for digits in range(len(str(least)), len(str(most)) + 1)
    ]
    return tuple(parts) if len(parts) <= _MOST_TEXTS else hull(parts)


def _is_text_of_date(argument: Expression) -> bool:
    """Return whether an expression is a date's text as a cast to DATE reads it."""
    if not isinstance(argument, FunctionCall):
        return False
    return argument.function in _DATE_FORMATS and argument.constant(1) == "yyyy-MM-dd"


def _dates_of_texts(each: Range) -> Range:
    """Return the dates of texts, which are known from 1583 to 9999. There each text is a date's."""
    if each.void or each.fails:
        return each
    if each.low is None or each.high is None:
        return UNKNOWN
    low, high = (days_from_civil(*map(int, text.split("-"))) for text in (each.low, each.high))
    return Range(low, high, each.nulls)


def casts_text(expression: Expression) -> bool:
    """Return whether an expression casts a text to another type, and a text that does not fit is an error."""
    if not isinstance(expression, FunctionCall):
        return False
    source = expression.args[0].type if expression.function == "CAST" else None
    is_date = (
        expression.type == _DATE and expression.function == "CAST" and _is_text_of_date(expression.args[0])
    )
    if source is not None and source.textual and expression.raises and not is_date:
        return expression.type is None or not expression.type.textual
    return any(map(casts_text, expression.args))


def _is_same(source: ColumnType, target: ColumnType) -> bool:
    """Return whether a cast changes no value."""
    return source == target or (source.unpadded and target.unpadded)


def _point(call: FunctionCall, values: Sequence[Any], end: int) -> Any:
    (value,), source, target = values, call.args[0].type, call.type
    if source is None or target is None or value is None:
        raise OutOfRangeError
    convert = _CONVERSIONS.get((source.family, _target(target)))
    if convert is None:
        raise OutOfRangeError
    return convert(call, value, end)


def _target(type: ColumnType) -> Family | None:
    """Return the family that values are cast to. A varchar or char may be shorter than the text."""
    return None if type.textual and type.name != "string" else type.family


def _to_integer(call: FunctionCall, value: Any, end: int) -> int:
    if not isinstance(value, Decimal):
        return int(value)  # of an infinity it is an error, and so not known
    whole = int(value.to_integral_value(rounding=ROUND_DOWN))
    if is_kind(call.type, "bigint"):
        return whole
    # where an overflow is an error, Spark goes by the nearest double: of 0.99999999999999999 it is 1
    return (min if end < 0 else max)(whole, int(float(value)))


def _to_float(call: FunctionCall, value: Any, _: int) -> float:
    if isinstance(value, int) and abs(value) > _MAX_EXACT:
        raise OutOfRangeError
    if isinstance(value, Decimal) and is_kind(call.type, "float"):
        return nearest_float32(value)
    number: float = rounded(call.type, float(value))
    return number


def _to_decimal(call: FunctionCall, value: Any, _: int) -> Decimal:
    number: Decimal = rounded(call.type, Decimal(value))
    return number


def _float_to_decimal(call: FunctionCall, value: float, end: int) -> Decimal:
    """Return a bound of a float's decimal, which Spark makes of its text.

    The text has the fewest digits that identify the float, or some more. So it is nearer than the next one.
    """
    if math.isinf(value):
        raise OutOfRangeError
    number: Decimal = rounded(call.type, Decimal(math.nextafter(value, end * math.inf)))
    return number


def _between_times(call: FunctionCall, value: int, end: int) -> int:
    target = call.type.name if call.type is not None else ""
    if target == "date":
        return local_days(call, 0, value, end)
    local = local_time(call, 0, value, end)
    return local if target == "timestamp_ntz" else call.zone.instant(local, end)


def _seconds(call: FunctionCall, value: int, _: int) -> int:
    if call.args[0].type != ColumnType("timestamp"):
        raise OutOfRangeError
    return value // MICROS_PER_SECOND


def _from_seconds(call: FunctionCall, value: int, _: int) -> int:
    if call.type != ColumnType("timestamp"):
        raise OutOfRangeError
    return value * MICROS_PER_SECOND


def _time_text(call: FunctionCall, value: int, end: int) -> str:
    local = local_time(call, 0, value, end)
    if call.args[0].type == ColumnType("date"):
        return text_of_local(local, "yyyy-MM-dd")
    fraction = local % MICROS_PER_SECOND
    text = text_of_local(local, "yyyy-MM-dd HH:mm:ss")
    return f"{text}.{fraction:06d}".rstrip("0") if fraction else text


def _from_boolean(_: FunctionCall, value: Any, __: int) -> int:
    return int(value)


_CONVERSIONS: dict[tuple[Family, Family | None], Callable[[FunctionCall, Any, int], Any]] = {
    (Family.INTEGER, Family.INTEGER): _to_integer,
    (Family.DECIMAL, Family.INTEGER): _to_integer,
    (Family.FLOAT, Family.INTEGER): _to_integer,
    (Family.BOOLEAN, Family.INTEGER): _from_boolean,
    (Family.INTEGER, Family.FLOAT): _to_float,
    (Family.DECIMAL, Family.FLOAT): _to_float,
    (Family.FLOAT, Family.FLOAT): _to_float,
    (Family.INTEGER, Family.DECIMAL): _to_decimal,
    (Family.DECIMAL, Family.DECIMAL): _to_decimal,
    (Family.FLOAT, Family.DECIMAL): _float_to_decimal,
    (Family.TEMPORAL, Family.TEMPORAL): _between_times,
    (Family.TEMPORAL, Family.INTEGER): _seconds,
    (Family.INTEGER, Family.TEMPORAL): _from_seconds,
    (Family.TEMPORAL, Family.TEXT): _time_text,
}
"""By the families of both types; a cast of another pair is not monotone, or seldom used."""
