"""Compare a column with a constant as Hive does, or not at all.

Hive converts both sides to one type: a text and a number are compared as doubles, a date and a timestamp as
timestamps. A comparison here means the same for every value that the column may have. Where Hive would parse
texts, partitions are tested one by one (`texts`). Where it would round values, there is no comparison.
"""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal

from parquetry import temporal
from parquetry.hive.expressions.constants import ConstantValue, as_float, date_from_text, timestamp_from_text
from parquetry.hive.expressions.operands import Operand, decimal_holds
from parquetry.hive.expressions.stream import UnreadExpressionError
from parquetry.hive.expressions.texts import TextComparison
from parquetry.predicate import (
    NULL,
    NUMBER_TYPE,
    And,
    Compare,
    IsNull,
    Not,
    Opaque,
    Predicate,
    all_of,
    any_of,
    starts_with,
)
from parquetry.types import STRING, ColumnType, Value

OPERATORS = {
    "OPEqual": "=",
    "OPNotEqual": "!=",
    "OPLessThan": "<",
    "OPEqualOrLessThan": "<=",
    "OPGreaterThan": ">",
    "OPEqualOrGreaterThan": ">=",
    "OPEqualNS": "<=>",
}
"""The comparisons by the names of Hive's functions."""
_EQUALITIES = ("=", "!=", "<=>")
_BIGINT, _DOUBLE = ColumnType("bigint"), ColumnType("double")
_DATE = ColumnType("date")
_CLOCK = ColumnType("timestamp_ntz")
_MOST_DIGITS = 38
"""Digits of a decimal."""
_EXACT_DIGITS = 15
"""Digits of decimals that are different doubles, each with a text of its own."""


def compared_type(left: ColumnType, right: ColumnType) -> ColumnType | None:
    """Return the type that Hive converts both sides of a comparison to, or None if it converts neither.

    >>> print(compared_type(STRING, ColumnType("int")), compared_type(ColumnType("date"), STRING))
    double date

    Raises:
        UnreadExpressionError: it is not certain.
    """
    names = {left.name, right.name}
    if len(names) == 1 or "void" in names:
        return None
    if left.textual and right.textual:
        return STRING
    if left.integral and right.integral:
        return _BIGINT
    exact = all(each.integral or each.name == "decimal" for each in (left, right))
    if exact:
        return _common_decimal(left, right)
    numbers = all(each.integral or each.floating or each.name == "decimal" for each in (left, right))
    if numbers:
        return _DOUBLE if "double" in names else ColumnType("float")
    if names in ({"date", "string"}, {"timestamp", "string"}, {"timestamp", "date"}):
        return ColumnType("timestamp" if "timestamp" in names else "date")
    if "string" in names and any(each.integral or each.name == "decimal" for each in (left, right)):
        return _DOUBLE
    raise UnreadExpressionError(f"{left} and {right} are compared without a conversion")


def _common_decimal(left: ColumnType, right: ColumnType) -> ColumnType:
    sides = [
        (each.facts.digits, 0) if each.integral else (each.precision - each.scale, each.scale)
        for each in (left, right)
    ]
    whole, scale = max(side[0] for side in sides), max(side[1] for side in sides)
    if whole + scale > _MOST_DIGITS:
        raise UnreadExpressionError(f"{left} and {right} are rounded to a common type")
    return ColumnType("decimal", whole + scale, scale)


def compare(
    op: str, operand: Operand, constant: ConstantValue, converted: ColumnType | None, zone: str
) -> Predicate:
    """Compare a column with a constant.

    Args:
        op: the operator.
        operand: the column.
        constant: the constant.
        converted: the common type of both sides, or None if Hive converts neither.
        zone: the time zone of clients, who see the instants of timestamps in it.

    Raises:
        UnreadExpressionError: the comparison's result is not certain for each value of the column.
    """
    if constant.value is None:
        return IsNull(operand.name) if op == "<=>" else NULL
    if operand.year:
        return _year(op, operand, constant)
    numbers = converted is not None and converted.name == "double"
    if operand.beginning and constant.type.name != "string" and not numbers:
        raise UnreadExpressionError("the beginning of a text is compared with another type")
    if converted is None and operand.type.name != constant.type.name:
        raise UnreadExpressionError(f"{operand.type} and {constant.type} are compared without a conversion")
    type = converted or operand.type
    if type.integral:
        return _integers(op, operand, constant)
    if type.name == "decimal":
        return _decimals(op, operand, constant, converted)
    if type.floating:
        return _floats(op, operand, constant, type)
    if type.textual:
        return _texts(op, operand, constant, type)
    if type.name == "date" and operand.column.textual and operand.whole:
        return _text_comparison(op, operand, _day(constant), "date")
    if type.name == operand.type.name == "date":
        return Compare(op, operand.name, _day(constant), _DATE)
    if type.name == "timestamp" and operand.type.temporal:
        return _timestamps(op, operand, constant, zone)
    if type.name == operand.type.name == "boolean" and isinstance(constant.value, bool):
        return Compare(op, operand.name, constant.value, operand.column)
    raise UnreadExpressionError(f"{operand.type} and {constant.type} are compared as {type}")


def _year(op: str, operand: Operand, constant: ConstantValue) -> Predicate:
    """Compare the year of a date: the dates of a year are a range."""
    year = constant.value
    if not constant.type.integral or not isinstance(year, int) or not 1600 <= year < 9999:
        raise UnreadExpressionError("a year is compared with something else than a year")
    first, next_one = temporal.days_from_civil(year, 1, 1), temporal.days_from_civil(year + 1, 1, 1)

    def day(op: str, value: int) -> Predicate:
        return Compare(op, operand.name, value, _DATE)

    within = And((day(">=", first), day("<", next_one)))
    match op:
        case "=":
            return within
        case "!=":
            return Not(within)
        case "<=>":
            return And((Not(IsNull(operand.name)), within))
        case "<" | ">=":
            return day(op, first)
    return day("<" if op == "<=" else ">=", next_one)


def _integers(op: str, operand: Operand, constant: ConstantValue) -> Predicate:
    value = constant.value
    if not (operand.type.integral and constant.type.integral and isinstance(value, int)):
        raise UnreadExpressionError(f"{operand.type} and {constant.type} are compared as whole numbers")
    return Compare(op, operand.name, value, _BIGINT)


def _decimals(op: str, operand: Operand, constant: ConstantValue, converted: ColumnType | None) -> Predicate:
    value = constant.value
    exact = all(type.integral or type.name == "decimal" for type in (operand.type, constant.type))
    if not exact or not isinstance(value, int | Decimal):
        raise UnreadExpressionError(f"{operand.type} and {constant.type} are compared as decimals")
    number = Decimal(value)
    if converted is not None and not (decimal_holds(converted, operand.type) and _holds(converted, number)):
        raise UnreadExpressionError(f"{operand.type} and {constant.type} are rounded to {converted}")
    return Compare(op, operand.name, number, NUMBER_TYPE)


def _holds(wide: ColumnType, number: Decimal) -> bool:
    exponent = number.normalize().as_tuple().exponent
    assert isinstance(exponent, int), "a decimal of Hive is finite"
    return -exponent <= wide.scale and (not number or number.adjusted() < wide.precision - wide.scale)


def _floats(op: str, operand: Operand, constant: ConstantValue, type: ColumnType) -> Predicate:
    value, column = as_float(constant.value, type), operand.column
    if operand.parsed or operand.type.textual:
        if type.name != "double" or not column.unpadded:
            raise UnreadExpressionError(f"a {column} is compared as a {type}")
        return _text_comparison(op, operand, value, "number")
    bits = min(operand.bits, type.facts.exact_bits)
    if column.integral:
        if column.facts.bits > bits and abs(value) >= 1 << bits:
            raise UnreadExpressionError("whole numbers are rounded to floats")
    elif column.name == "decimal":
        if bits < _DOUBLE.facts.exact_bits or column.precision > _EXACT_DIGITS:
            raise UnreadExpressionError("decimals are rounded to floats")
    elif not column.floating or column.facts.exact_bits > bits or value == 0:
        # Hive's versions differ in whether -0.0 is 0.0
        raise UnreadExpressionError(f"{column} is compared with {value} as a {type}")
    return Compare(op, operand.name, value, _DOUBLE)


def _text_comparison(op: str, operand: Operand, value: Value, kind: str) -> TextComparison:
    """Return a comparison that is tested for each partition."""
    subject = f"substr({operand.name}, 1, {operand.beginning})" if operand.beginning else operand.name
    return TextComparison(
        f"{subject} {op} {value!r}",
        (operand.name,),
        f"a text is compared as a {kind}",
        op=op,
        value=value,
        kind=kind,
        beginning=operand.beginning,
    )


def _texts(op: str, operand: Operand, constant: ConstantValue, type: ColumnType) -> Predicate:
    text, column = constant.value, operand.column
    if not constant.type.textual or not isinstance(text, str):
        raise UnreadExpressionError(f"{operand.type} and {constant.type} are compared as texts")
    if type.length and len(text) > type.length:
        raise UnreadExpressionError(f"a text is cut to {type}")
    if operand.beginning:
        return _beginning(op, operand, text)
    seen = operand.type
    if not (seen.textual or seen.integral or seen.name == "date"):
        raise UnreadExpressionError(f"{seen} is compared as a text")
    if column.name == "date":
        return Compare(op, operand.name, date_from_text(text), _DATE)
    if column.integral:
        if op not in _EQUALITIES or not _plain_integer(text):
            raise UnreadExpressionError("a number is compared as a text")
        return Compare(op, operand.name, int(text), _BIGINT)
    if not column.textual:
        raise UnreadExpressionError(f"{column} is compared as a text")
    padded = not all(each.unpadded for each in (column, operand.type, constant.type, type))
    if padded and (op not in _EQUALITIES or text.endswith(" ") or column.unpadded):
        # Hive compares some chars with their blanks, and some without
        raise UnreadExpressionError("a char is compared with a text")
    return Compare(op, operand.name, text, STRING)


def _beginning(op: str, operand: Operand, text: str) -> Predicate:
    """Compare the first characters of a text.

    Hive counts halves of characters beyond the first 65,536, and cuts between them. So the order of texts
    with such a half is not certain, but a beginning that equals a text of other characters is.
    """
    name, column, count = operand.name, operand.column, operand.beginning
    if not text or max(text) > "\uffff":
        raise UnreadExpressionError("the beginning of a text is compared with an unusual text")
    if op in _EQUALITIES and (column.textual or len(text) == count):
        begins: Predicate = starts_with(name, text)
        if len(text) != count:
            begins = Compare("=", name, text, STRING) if len(text) < count else And((IsNull(name), NULL))
        return Not(begins) if op == "!=" else And((Not(IsNull(name)), begins)) if op == "<=>" else begins
    if op in _EQUALITIES or not column.textual:
        raise UnreadExpressionError("the beginning of a column is compared with a text")
    shared = text[: count - 1]
    implied: Predicate = Compare(op[0] + "=", name, text[:count], STRING)
    if shared:
        implied = any_of((implied, starts_with(name, shared)))
        return replace(_text_comparison(op, operand, text, "text"), implied=implied)
    raise UnreadExpressionError("the order of a text's beginning")


def _plain_integer(text: str) -> bool:
    digits = text.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) < 20 and str(int(text)) == text


def _day(constant: ConstantValue) -> int:
    if constant.type.name == "date" and isinstance(constant.value, int):
        return constant.value
    if constant.type.name == "string" and isinstance(constant.value, str):
        return date_from_text(constant.value)
    raise UnreadExpressionError(f"{constant.type} is compared as a date")


def _timestamps(op: str, operand: Operand, constant: ConstantValue, zone: str) -> Predicate:
    clock = _clock(constant)
    if operand.column.name == "timestamp":
        instant, blur = _instant(clock, zone)
        return _blurred(op, operand, instant, operand.column, max(blur, constant.blur))
    return _blurred(op, operand, clock, _CLOCK, constant.blur)


def _clock(constant: ConstantValue) -> int:
    value = constant.value
    if constant.type.name == "timestamp" and isinstance(value, int):
        return value
    if constant.type.name == "date" and isinstance(value, int):
        return value * temporal.MICROS_PER_DAY
    if constant.type.name == "string" and isinstance(value, str):
        return timestamp_from_text(value)
    raise UnreadExpressionError(f"{constant.type} is compared as a timestamp")


def _instant(clock: int, zone: str) -> tuple[int, int]:
    """Return the instant at which a zone's clock shows a time, and how uncertain it is in microseconds.

    Near a change of the clock, several instants may show one time, and the order of times is not theirs.
    """

    def instant(clock: int) -> int:
        return temporal.timestamp_from_text(temporal.timestamp_text(clock), zone)

    found, day = instant(clock), temporal.MICROS_PER_DAY
    steady = instant(clock - day) + day == found == instant(clock + day) - day
    return found, 0 if steady else day


def _blurred(op: str, operand: Operand, value: int, type: ColumnType, blur: int) -> Predicate:
    """Compare a time, or return the implied range if the constant is not certain."""
    name = operand.name
    if not blur:
        return Compare(op, name, value, type)
    lower: Predicate = Compare(">=", name, value - blur, type)
    upper: Predicate = Compare("<=", name, value + blur, type)
    ends = {"=": (lower, upper), "<=>": (lower, upper), "<": (upper,), "<=": (upper,)}
    ends |= {">": (lower,), ">=": (lower,)}
    if op not in ends:
        raise UnreadExpressionError("a time whose zone is not known")
    text = f"{name} {op} {temporal.timestamp_text(value)}"
    return Opaque(text, (name,), "a time whose zone is not known", all_of(ends[op]))


def equals_default_partition(constant: ConstantValue, default_partition: str) -> bool:
    """Return whether a constant is the name that Hive gives partitions of NULL."""
    return constant.type.textual and constant.value == default_partition
