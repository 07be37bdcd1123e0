"""Ranges of functions of the bits of whole numbers: shifts, and AND or OR with a constant."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from parquetry.predicate.expression import FunctionCall
from parquetry.predicate.functions.monotone import Monotone, Rule
from parquetry.predicate.functions.values import UNKNOWN, OutOfRangeError, Range, ends_of, void

_BITS = {"int": 32, "bigint": 64}


def _shift(shifted: Callable[[int, int], int]) -> Monotone:
    """Return the rule of a shift by a constant; a result that leaves its type is not known."""

    def point(call: FunctionCall, values: Sequence[int], _: int) -> int:
        bits = _BITS.get(call.type.name if call.type is not None else "", 0)
        if not 0 <= values[1] < bits:
            raise OutOfRangeError
        return shifted(values[0], values[1])

    return Monotone(point, (1, 0))


def _ends_beside_constant(call: FunctionCall, ranges: Sequence[Range]) -> tuple[Range, int, int, int] | None:
    """Return a call's range that is no constant, its ends and the constant, or None if there are no such."""
    for position in (0, 1):
        constant, each = call.constant(1 - position), ranges[position]
        if type(constant) is int and constant >= 0 and not each.fails:
            low, high = ends_of(call.args[position].type, each)
            return None if type(low) is not int else (each, low, high, constant)
    return None


def _and(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    if any(each.void for each in ranges):
        return void(ranges)
    found = _ends_beside_constant(call, ranges)
    if found is None:
        return UNKNOWN
    each, low, high, mask = found
    if low < 0:
        return Range(0, mask, each.nulls)
    if mask & (mask + 1) or low >> mask.bit_length() != high >> mask.bit_length():
        return Range(0, min(high, mask), each.nulls)
    return Range(low & mask, high & mask, each.nulls)  # the last bits, and all numbers have the same others


def _or(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    if any(each.void for each in ranges):
        return void(ranges)
    found = _ends_beside_constant(call, ranges)
    if found is None or found[1] < 0:
        return UNKNOWN
    each, low, high, constant = found
    return Range(max(low, constant), high + constant, each.nulls)


SHIFT_LEFT = _shift(lambda value, bits: value << bits)
SHIFT_RIGHT = _shift(lambda value, bits: value >> bits)
AND_BITS: Rule = _and
OR_BITS: Rule = _or
