"""Read the constants of an expression as our values.

A date is days, a timestamp microseconds of a clock without a zone. Hive 2 sends both as instants at which the
client's clock showed them, in a zone that it does not say. A date is its midnight there, which only one day
can have. A timestamp is known but for the greatest offset of a zone.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from parquetry import temporal
from parquetry.hive.expressions.layouts import VALUES
from parquetry.hive.expressions.objects import Boxed, JavaObject
from parquetry.hive.expressions.stream import UnreadExpressionError
from parquetry.hive.expressions.tree import CallNode, ConstantNode, ExpressionNode
from parquetry.types import ColumnType, Value, parse_type, to_float32

GREATEST_OFFSET = 15 * 3_600_000_000
"""Microseconds that a clock may differ from UTC: zones are between -12 and +14 hours, and a bit."""
TYPES_OF_CLASSES = {
    "java.lang.Boolean": "boolean",
    "java.lang.Byte": "tinyint",
    "java.lang.Short": "smallint",
    "java.lang.Integer": "int",
    "java.lang.Long": "bigint",
    "java.lang.Float": "float",
    "java.lang.Double": "double",
    "java.lang.String": "string",
    f"{VALUES}HiveVarchar": "varchar",
    f"{VALUES}HiveChar": "char",
    f"{VALUES}HiveDecimal": "decimal",
    f"{VALUES}Date": "date",
    "java.sql.Date": "date",
    f"{VALUES}Timestamp": "timestamp",
    "java.sql.Timestamp": "timestamp",
}
"""The types whose constants are of these classes of Java."""
INTEGER_CASTS = ("UDFToByte", "UDFToShort", "UDFToInteger", "UDFToLong")
FLOAT_CASTS = ("UDFToDouble", "UDFToFloat")
TEXT_CASTS = ("UDFToString", "ToString")
_DAY_MILLIS = 86_400_000
_HOUR_MILLIS = 3_600_000
_FIRST_DAY, _LAST_DAY = -141_427, 2_932_896
"""1582-10-15 and 9999-12-31: before, Hive's versions have other calendars, and after, texts another order."""
_DATE_TEXT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_TIMESTAMP_TEXT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?")
_NUMBER_TEXT = re.compile(r"-?[0-9]{1,18}(\.[0-9]{1,18})?")


@dataclass(frozen=True, slots=True)
class ConstantValue:
    """A constant.

    Attributes:
        value: our value; None is NULL.
        type: the type that Hive gives it.
        blur: microseconds that a timestamp may be too early or too late.
    """

    value: Value
    type: ColumnType
    blur: int = 0


def constant_value(node: ExpressionNode) -> ConstantValue | None:
    """Return the constant that a node is, after casts, or None if the node is no constant.

    Raises:
        UnreadExpressionError: the constant is not understood.
    """
    match node:
        case ConstantNode(value, type):
            return _constant(value, parse_type(type))
        case CallNode(function, (argument,), type):
            inner = constant_value(argument)
            return None if inner is None else _cast(inner, function, parse_type(type))
    return None


def untyped_constant(value: Any) -> ConstantValue:
    """Return a constant by its value alone: Hive does not say the types of a struct's fields.

    Raises:
        UnreadExpressionError: the constant is not understood.
    """
    name = TYPES_OF_CLASSES.get(_class_of(value))
    if name is None:
        raise UnreadExpressionError("a struct with a value of another type")
    return _constant(value, ColumnType(name))


def _class_of(value: Any) -> str:
    if isinstance(value, Boxed | JavaObject):
        return value.name
    return "java.lang.String" if isinstance(value, str) else ""


def _constant(value: Any, type: ColumnType) -> ConstantValue:
    if value is None:
        return ConstantValue(None, type)
    if TYPES_OF_CLASSES.get(_class_of(value)) != type.name:
        raise UnreadExpressionError(f"a constant of type {type} is not understood")
    match value:
        case str():
            return ConstantValue(value, type)
        case Boxed(_, number):
            return ConstantValue(number, type)
        case JavaObject(name, fields) if type.textual:
            text = fields["value"]
            if not isinstance(text, str):
                raise UnreadExpressionError(f"a {name} has no text")
            return ConstantValue(text if type.unpadded else text.rstrip(" "), type)
        case JavaObject(_, fields) if type.name == "decimal":
            return ConstantValue(_decimal(fields), type)
        case JavaObject(name, fields) if type.name == "date":
            return ConstantValue(
                _sql_date(fields) if name == "java.sql.Date" else _days(fields["localDate"]), type
            )
        case JavaObject(name, fields):
            if name == "java.sql.Timestamp":
                return ConstantValue(_sql_timestamp(fields), type, GREATEST_OFFSET)
            return ConstantValue(_timestamp(fields["localDateTime"]), type)
    raise UnreadExpressionError(f"a constant of type {type} is not understood")


def _decimal(fields: dict[str, Any]) -> Decimal:
    parts = [fields[name] for name in ("fast0", "fast1", "fast2")]
    scale, sign = fields["fastScale"], fields["fastSignum"]
    if not all(0 <= part < 10**16 for part in parts) or not 0 <= scale <= 38 or sign not in (-1, 0, 1):
        raise UnreadExpressionError("a decimal has parts that no decimal has")
    digits = parts[0] + parts[1] * 10**16 + parts[2] * 10**32
    if digits >= 10**38 or (sign == 0) != (digits == 0):
        raise UnreadExpressionError("a decimal has more than 38 digits, or a wrong sign")
    return Decimal((1 if sign < 0 else 0, tuple(map(int, str(digits))), -scale))


def _sql_date(fields: dict[str, Any]) -> int:
    """Return the day whose midnight, in some zone, is an instant."""
    day, rest = divmod(fields["millis"], _DAY_MILLIS)
    # midnight comes before UTC's in the east, by 14 hours at most, and after it in the west, by 12
    if rest % (_HOUR_MILLIS // 4) or 10 * _HOUR_MILLIS <= rest <= 12 * _HOUR_MILLIS:
        raise UnreadExpressionError("a date is no midnight of a zone that is certain")
    return _checked_day(day + (rest > 12 * _HOUR_MILLIS))


def _days(local: Any) -> int:
    if not isinstance(local, JavaObject):
        raise UnreadExpressionError("a date has no day")
    try:
        return _checked_day(
            temporal.days_from_civil(local.fields["year"], local.fields["month"], local.fields["day"])
        )
    except ValueError:
        raise UnreadExpressionError("a date does not exist") from None


def _checked_day(day: int) -> int:
    if not _FIRST_DAY <= day <= _LAST_DAY:
        raise UnreadExpressionError("a date is not between 1582-10-15 and 9999-12-31")
    return day


def _sql_timestamp(fields: dict[str, Any]) -> int:
    micros, rest = divmod(fields["nanos"], 1000)
    if rest or not 0 <= micros < 1_000_000:
        raise UnreadExpressionError("a timestamp has nanoseconds")
    value: int = fields["millis"] // 1000 * 1_000_000 + micros
    _checked_day(value // temporal.MICROS_PER_DAY)
    return value


def _timestamp(whole: Any) -> int:
    time = whole.fields["time"] if isinstance(whole, JavaObject) else None
    if not isinstance(time, JavaObject):
        raise UnreadExpressionError("a timestamp has no time")
    hour, minute, second, nano = (time.fields[part] for part in ("hour", "minute", "second", "nano"))
    if nano % 1000 or not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= second < 60 and 0 <= nano < 10**9):
        raise UnreadExpressionError("a timestamp has a time that does not exist, or nanoseconds")
    seconds = (_days(whole.fields["date"]) * 24 + hour) * 3600 + minute * 60 + second
    return int(seconds * 1_000_000 + nano // 1000)


def _cast(inner: ConstantValue, function: str, type: ColumnType) -> ConstantValue:
    """Convert a constant as a cast does, where the result is certain."""
    value = inner.value
    if value is None and (function.startswith(("UDFTo", "To")) or function in ("OPNegative", "OPPositive")):
        return ConstantValue(None, type)
    if isinstance(value, int | float | Decimal) and not isinstance(value, bool) and inner.type.numeric:
        if function == "OPPositive" and type == inner.type:
            return inner
        if (
            function == "OPNegative"
            and type == inner.type
            and (not isinstance(value, int) or _fits(-value, type))
        ):
            return ConstantValue(-value, type)
        if function in INTEGER_CASTS and isinstance(value, int) and _fits(value, type):
            return ConstantValue(value, type)
        if function in FLOAT_CASTS and type.floating:
            return ConstantValue(as_float(value, type), type)
    elif isinstance(value, str):
        if function in TEXT_CASTS and inner.type.unpadded and type.name == "string":
            return ConstantValue(value, type)
        if function == "ToDate" and type.name == "date":
            return ConstantValue(date_from_text(value), type)
    raise UnreadExpressionError(f"the constant {function}(…) is not understood")


def _fits(value: int, type: ColumnType) -> bool:
    return type.integral and -(1 << type.facts.bits >> 1) <= value < 1 << type.facts.bits >> 1


def as_float(value: Value, type: ColumnType) -> float:
    """Return a constant as the nearest double, or the nearest float, as Hive does before it compares.

    Raises:
        UnreadExpressionError: it is no finite number.
    """
    if isinstance(value, str) and _NUMBER_TEXT.fullmatch(value):
        value = Decimal(value)
    if not isinstance(value, int | float | Decimal):
        raise UnreadExpressionError("a text is no plain number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if type.name == "float":
        number = to_float32(number)
    if not math.isfinite(number):
        raise UnreadExpressionError("a number is not finite")
    return number


def date_from_text(text: str) -> int:
    """Return the day of a text of the form 2024-02-29, as Hive compares it with dates.

    Raises:
        UnreadExpressionError: Hive's versions differ in texts of other forms.
    """
    if not _DATE_TEXT.fullmatch(text):
        raise UnreadExpressionError("a text is no plain date")
    try:
        return _checked_day(temporal.date_from_text(text))
    except ValueError:
        raise UnreadExpressionError("a text is a date that does not exist") from None


def timestamp_from_text(text: str) -> int:
    """Return the clock of a text of the form 2024-02-29 12:34:56.5, in microseconds.

    Raises:
        UnreadExpressionError: Hive's versions differ in texts of other forms.
    """
    if not _TIMESTAMP_TEXT.fullmatch(text):
        raise UnreadExpressionError("a text is no plain timestamp")
    try:
        found = temporal.timestamp_from_text(text, None)
    except ValueError:
        raise UnreadExpressionError("a text is a timestamp that does not exist") from None
    _checked_day(found // temporal.MICROS_PER_DAY)
    return found
