"""Ranges of arithmetic: sums, products, quotients, remainders, roundings.

Floats are computed as Spark computes them: Python's doubles are Java's, and a float is a double that is
rounded once more. Integers that leave their type are not known (`values.fitting`), so no mode of arithmetic
matters.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_EVEN, ROUND_HALF_UP, Context, Decimal
from itertools import product
from typing import Any

from parquetry.predicate.expression import FunctionCall
from parquetry.predicate.functions.monotone import Monotone, Rule, at_corners, is_kind
from parquetry.predicate.functions.values import (
    UNKNOWN,
    OutOfRangeError,
    Range,
    ends_of,
    fitting,
    strict,
    void,
)
from parquetry.types import ColumnType, negative, to_float32

_EXACT = Context(prec=200)
"""More digits than sums and products of two decimals have."""
_DECIMAL128 = Context(prec=34, rounding=ROUND_HALF_EVEN)
_LEAST_QUOTIENT = Decimal((0, (1,), -38))
"""Spark rounds a quotient of decimals to these digits, and then to its type's."""


def rounded(type: ColumnType | None, value: Any) -> Any:
    """Round a number to a type's precision: a float to 32 bits, a decimal to its scale, half up."""
    if type is None or value is None:
        raise OutOfRangeError
    if type.name == "float":
        return to_float32(value)
    if type.name == "decimal":
        return value.quantize(Decimal((0, (1,), -type.scale)), rounding=ROUND_HALF_UP, context=_EXACT)
    return value


def _plus(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    if len(call.args) == 1:
        return ranges[0]
    return _with_infinities(call, ranges, at_corners(call, ranges, (1, 1), _sum), 1)


def _minus(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    if len(call.args) == 1:
        return _NEGATIVE(call, ranges)
    return _with_infinities(call, ranges, at_corners(call, ranges, (1, -1), _difference), -1)


def _sum(call: FunctionCall, values: Sequence[Any], _: int) -> Any:
    return rounded(_numeric(call), _on_decimals(operator.add, "add")(*values))


def _difference(call: FunctionCall, values: Sequence[Any], _: int) -> Any:
    return rounded(_numeric(call), _on_decimals(operator.sub, "subtract")(*values))


def _numeric(call: FunctionCall) -> ColumnType:
    """Return the type of a number.

    Raises:
        OutOfRangeError: it is not known, or is no number's.
    """
    type = call.type
    if type is None or not (type.numeric or type.interval):
        raise OutOfRangeError
    return type


def _on_decimals(function: Callable[[Any, Any], Any], name: str) -> Callable[[Any, Any], Any]:
    """Return a function of two numbers that loses no digits of decimals."""
    return lambda one, other: (
        getattr(_EXACT, name)(one, other) if isinstance(one, Decimal) else function(one, other)
    )


def _with_infinities(call: FunctionCall, ranges: Sequence[Range], found: Range, sign: int) -> Range:
    """Add NaN to a range if the terms may be infinities that annul each other."""
    if found.fails or found.void or not is_kind(call.type, "float", "double"):
        return found
    (low, high), (other_low, other_high) = (
        ends_of(argument.type, each) for argument, each in zip(call.args, ranges, strict=True)
    )
    ends = (other_low, other_high) if sign > 0 else (-other_high, -other_low)
    annulled = (low == -math.inf and ends[1] == math.inf) or (high == math.inf and ends[0] == -math.inf)
    return found._replace(nan=True) if annulled else found


def _bilinear(point: Callable[[Any, Any], Any], divides: bool) -> Rule:
    """Return the rule of a product or a quotient, whose extremes are at corners."""

    def rule(call: FunctionCall, ranges: Sequence[Range]) -> Range:
        if any(each.void for each in ranges):
            return void(ranges)
        if any(each.fails for each in ranges):
            return UNKNOWN
        nan = any(each.nan for each in ranges)
        try:
            type = _numeric(call)
            pairs = [ends_of(argument.type, each) for argument, each in zip(call.args, ranges, strict=True)]
            zeros = [low <= 0 <= high for low, high in pairs]
            if (nan and not type.floating) or (divides and zeros[1]):
                return UNKNOWN
            if type.floating and any(zeros) and any(map(math.isinf, sum(pairs, ()))):
                return UNKNOWN  # zero times infinity
            corners = [fitting(type, rounded(type, point(*pair))) for pair in product(*pairs)]
        except (OutOfRangeError, ArithmeticError, ValueError, TypeError):
            return UNKNOWN
        return Range(min(corners), max(corners), strict(ranges), nan)

    return rule


def _quotient(one: Any, other: Any) -> Any:
    if isinstance(one, Decimal):
        return _EXACT.divide(one, other).quantize(_LEAST_QUOTIENT, rounding=ROUND_HALF_UP, context=_EXACT)
    if isinstance(one, int) or isinstance(other, int):
        raise OutOfRangeError  # Spark divides doubles, or decimals
    return one / other


def _whole_quotient(one: Any, other: Any) -> int:
    if isinstance(one, float):
        raise OutOfRangeError
    if isinstance(one, Decimal):
        return int(_EXACT.divide(one, other).to_integral_value(rounding=ROUND_DOWN))
    quotient: int = abs(one) // abs(other)
    return quotient if (one < 0) == (other < 0) else -quotient


def _negated(value: Any, end: int) -> Any:
    """Return a number with the other sign; of a decimal with more than 34 digits the least or greatest one.

    Spark negates decimals in the precision of IEEE 754's decimal128.
    """
    exact = negative(value)
    if not isinstance(value, Decimal):
        return exact
    return (min if end < 0 else max)(exact, _DECIMAL128.plus(exact))


def _negative_point(_: FunctionCall, values: Sequence[Any], end: int) -> Any:
    return _negated(values[0], end)


_NEGATIVE = Monotone(_negative_point, (-1,))


def _absolute(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    (each,) = ranges
    if each.void or each.fails:
        return each
    try:
        low, high = ends_of(call.args[0].type, each)
        if low < 0:
            least = _negated(high, -1) if high < 0 else type(high)(0)
            low, high = least, fitting(call.type, max(_negated(low, 1), high))
    except (OutOfRangeError, TypeError):
        return UNKNOWN
    return Range(low, high, each.nulls, each.nan)


def _remainder(call: FunctionCall, ranges: Sequence[Range]) -> Range | tuple[Range, ...]:
    """Return the range of `a % n`, which has the sign of `a`, and of PMOD, which is never negative."""
    each, divisor = ranges[0], call.constant(1)
    if any(one.void for one in ranges):
        return void(ranges)
    if isinstance(divisor, Decimal) and not each.fails and divisor > 0:
        return _decimal_remainder(call, each, divisor)
    if each.fails or type(divisor) is not int or divisor == 0:
        return UNKNOWN
    positive = call.function == "PMOD"
    if positive and divisor < 0:
        return UNKNOWN
    divisor = abs(divisor)
    try:
        low, high = ends_of(call.args[0].type, each)
    except OutOfRangeError:
        return UNKNOWN
    if type(low) is not int:
        return UNKNOWN
    if low // divisor == high // divisor and (positive or low >= 0):
        return Range(low % divisor, high % divisor, each.nulls)
    if not positive and high < 0:
        if -low // divisor == -high // divisor:
            return Range(-(-low % divisor), -(-high % divisor), each.nulls)
        return Range(max(low, 1 - divisor), 0, each.nulls)
    if high // divisor == low // divisor + 1 and (positive or low >= 0):
        return Range(low % divisor, divisor - 1, each.nulls), Range(0, high % divisor, each.nulls)
    if positive:
        return Range(0, divisor - 1, each.nulls)
    return Range(max(min(low, 0), 1 - divisor), min(high, divisor - 1), each.nulls)


def _decimal_remainder(call: FunctionCall, each: Range, divisor: Decimal) -> Range:
    """Return the range of the remainder of decimals that are not negative."""
    try:
        low, high = ends_of(call.args[0].type, each)
    except OutOfRangeError:
        return UNKNOWN
    if not isinstance(low, Decimal) or low < 0 or not is_kind(call.type, "decimal"):
        return UNKNOWN
    if _EXACT.divide_int(low, divisor) != _EXACT.divide_int(high, divisor):
        return Range(Decimal(0), divisor, each.nulls)
    return Range(_EXACT.remainder(low, divisor), _EXACT.remainder(high, divisor), each.nulls)


def _whole(rounding: str) -> Rule:
    """Return the rule of FLOOR or CEIL of a number, to a whole number or, with two arguments, to digits."""

    def point(_: FunctionCall, values: Sequence[Any], __: int) -> Any:
        value = values[0]
        if isinstance(value, float):
            # what is no bigint is an error, or the nearest one: not known
            return math.floor(value) if rounding == ROUND_FLOOR else math.ceil(value)
        if isinstance(value, Decimal):
            return value.to_integral_value(rounding=rounding, context=_EXACT)
        return value

    monotone, to_digits = Monotone(point, (1,)), _to_digits(rounding)

    def rule(call: FunctionCall, ranges: Sequence[Range]) -> Range:
        if len(call.args) == 2:
            return to_digits(call, ranges)
        each = ranges[0]
        if each.nan and each.low is not None and each.high is not None and each.low > each.high:
            return Range(0, 0, each.nulls)  # nothing but NaN
        found = monotone(call, [each._replace(nan=False)])
        if not each.nan or found.fails:
            return found
        return found._replace(low=min(found.low, 0), high=max(found.high, 0))  # of NaN it is 0

    return rule


def _to_digits(rounding: str) -> Monotone:
    """Return the rule of ROUND and its kind: to some digits after the point, or before it."""

    def point(call: FunctionCall, values: Sequence[Any], end: int) -> Any:
        value, digits = values[0], int(values[1]) if len(values) > 1 else 0
        unit = Decimal((0, (1,), -digits))
        if not isinstance(value, float):
            number = Decimal(value).quantize(unit, rounding=rounding, context=_EXACT)
            return int(number) if isinstance(value, int) else rounded(call.type, number)
        if not math.isfinite(value):
            return value
        if not is_kind(call.type, "double"):
            raise OutOfRangeError
        # Java's text of a double may differ in its last digit: look at the next one outside, too
        outside = math.nextafter(value, end * math.inf)
        return rounded(
            call.type, float(Decimal(repr(outside)).quantize(unit, rounding=rounding, context=_EXACT))
        )

    return Monotone(point, (1, 0))


def _sign(call: FunctionCall, values: Sequence[Any], _: int) -> Any:
    value = values[0]
    sign = (value > 0) - (value < 0)
    return float(sign) if is_kind(call.type, "double") else sign


def _root(_: FunctionCall, values: Sequence[Any], __: int) -> float:
    return math.sqrt(values[0])  # of a negative number it is an error here, and so not known


PLUS: Rule = _plus
MINUS: Rule = _minus
NEGATIVE: Rule = _NEGATIVE
TIMES = _bilinear(_on_decimals(operator.mul, "multiply"), divides=False)
DIVIDED = _bilinear(_quotient, divides=True)
WHOLE_QUOTIENT = _bilinear(_whole_quotient, divides=True)
REMAINDER: Rule = _remainder
ABSOLUTE: Rule = _absolute
FLOOR, CEILING = _whole(ROUND_FLOOR), _whole(ROUND_CEILING)
ROUND, ROUND_EVEN = _to_digits(ROUND_HALF_UP), _to_digits(ROUND_HALF_EVEN)
SIGN = Monotone(_sign, (1,))
ROOT = Monotone(_root, (1,))
