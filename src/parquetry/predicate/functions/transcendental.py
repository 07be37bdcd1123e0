"""Ranges of exponentials, logarithms, roots and powers of doubles.

Spark computes them by the JVM's `StrictMath`, Python by the C library. The two differ in the last digits at
most. So a result is moved outwards by a few of the nearest doubles.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from parquetry.predicate.expression import FunctionCall
from parquetry.predicate.functions.monotone import Monotone, Rule, is_kind
from parquetry.predicate.functions.values import (
    ONLY_NULL,
    SOME_NULL,
    UNKNOWN,
    OutOfRangeError,
    Range,
    ends_of,
    void,
)

_NEIGHBOURS = 8
"""A result is moved outwards by so many doubles. Both libraries promise an error of one; log2 divides two."""


def _outside(value: float, end: int) -> float:
    for _ in range(_NEIGHBOURS):
        value = math.nextafter(value, end * math.inf)
    return value


def _value(function: Callable[[float], float], argument: float) -> float:
    try:
        return function(argument)
    except OverflowError:
        return math.inf


def _growing(function: Callable[[float], float]) -> Monotone:
    """Return the rule of a function that grows with its only argument, a double."""

    def point(call: FunctionCall, values: Sequence[float], end: int) -> float:
        if not is_kind(call.args[0].type, "double"):
            raise OutOfRangeError
        return _outside(_value(function, values[0]), end)

    return Monotone(point, (1,))


def _logarithm(function: Callable[[float], float], asymptote: float) -> Rule:
    """Return the rule of a logarithm, which is NULL for arguments that are not above the asymptote."""
    growing = _growing(function)

    def rule(call: FunctionCall, ranges: Sequence[Range]) -> Range:
        (each,) = ranges
        if each.void:
            return each
        if each.fails or not is_kind(call.args[0].type, "double"):
            return UNKNOWN
        low, high = ends_of(call.args[0].type, each)
        if high <= asymptote:
            return Range(nulls=SOME_NULL, nan=True) if each.nan else Range(nulls=ONLY_NULL)
        if low > asymptote:
            return growing(call, ranges)
        greatest = math.inf if math.isinf(high) else _outside(function(high), 1)
        return Range(-math.inf, greatest, SOME_NULL, each.nan)

    return rule


def _power(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    """Return the range of a power with a constant exponent."""
    each, exponent = ranges[0], call.constant(1)
    if any(one.void for one in ranges):
        return void(ranges)
    if each.fails or not isinstance(exponent, float) or not math.isfinite(exponent) or exponent == 0:
        return UNKNOWN
    if not is_kind(call.args[0].type, "double"):
        return UNKNOWN
    low, high = ends_of(call.args[0].type, each)

    def raised(base: float, end: int) -> float:
        try:
            return _outside(math.pow(base, exponent), end)
        except OverflowError:
            return _outside(math.inf if base > 0 or exponent % 2 == 0 else -math.inf, end)

    if low >= 0 and (exponent > 0 or low > 0):
        ends = (low, high) if exponent > 0 else (high, low)
    elif exponent > 0 and exponent % 2 == 1:
        ends = (low, high)
    elif exponent > 0 and exponent % 2 == 0:
        ends = (0.0 if high >= 0 else high, max(low, high, key=abs))
    else:
        return UNKNOWN
    return Range(raised(ends[0], -1), raised(ends[1], 1), each.nulls, each.nan)


def _binary_logarithm(value: float) -> float:
    return math.log(value) / math.log(2)


EXP, EXPM1, CUBE_ROOT = _growing(math.exp), _growing(math.expm1), _growing(math.cbrt)
DEGREES, RADIANS = _growing(math.degrees), _growing(math.radians)
LN, LOG10, LOG2 = (_logarithm(each, 0.0) for each in (math.log, math.log10, _binary_logarithm))
LOG1P = _logarithm(math.log1p, -1.0)
POWER: Rule = _power
