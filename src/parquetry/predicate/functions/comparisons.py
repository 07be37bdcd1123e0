"""Ranges of conditions within expressions, and of functions that choose, such as COALESCE and CASE.

A condition's range is one of booleans: from FALSE to TRUE if it may be either. Two structs are compared field
by field; there NULL equals NULL, and is below all values.

A choice returns one of its arguments.

Rows that take different arguments stay apart. Of `coalesce(id, -1)`, some rows have the `id` between 100 and
200, others -1, and none 50.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from parquetry.predicate.expression import Constant, ConstantList, Expression, FunctionCall
from parquetry.predicate.functions.monotone import Rule
from parquetry.predicate.functions.values import (
    NO_NULL,
    NO_ROWS,
    ONLY_NULL,
    SOME_NULL,
    UNKNOWN,
    Range,
    hull,
    strict,
    void,
)
from parquetry.types import ColumnType, order_key


class _Order(NamedTuple):
    """How a value of one range may compare with a value of another one."""

    less: bool
    equal: bool
    greater: bool


_TESTS: dict[str, tuple[bool, bool, bool]] = {
    "=": (False, True, False),
    "<=>": (False, True, False),
    "!=": (True, False, True),
    "<": (True, False, False),
    "<=": (True, True, False),
    ">": (False, False, True),
    ">=": (False, True, True),
}
"""Whether an operator holds for a value that is less, equal or greater."""


def kind(type: ColumnType | None) -> str | None:
    """Return the kind of a type; values of one kind can be compared in Python as Spark compares them."""
    if type is None or not type.keyed or type.name == "char":
        return None
    if type.numeric:
        return "number"
    return "text" if type.textual else type.name


def truth(may_hold: bool, may_fail: bool, nulls: int) -> Range:
    """Return the range of a condition; it is TRUE, FALSE or both where it is not NULL."""
    return Range(not may_fail, may_hold, nulls)


def may_be(found: Range, truth: bool | None) -> bool:
    """Return whether a condition with a range may be TRUE, FALSE or, as None, NULL."""
    if found.nulls == NO_ROWS:
        return False
    if truth is None:
        return found.nulls != NO_NULL
    if found.void:
        return False
    return found.high is not False if truth else found.low is not True


def _order(one: Range, other: Range) -> _Order:
    return _Order(
        _is_below(one.low, other.high) or other.nan,
        (_reaches(one.low, other.high) and _reaches(other.low, one.high)) or (one.nan and other.nan),
        _is_below(other.low, one.high) or one.nan,
    )


def _is_below(low: Any, high: Any) -> bool:
    return low is None or high is None or bool(low < high)


def _reaches(low: Any, high: Any) -> bool:
    return low is None or high is None or bool(low <= high)


def _comparison(op: str) -> Rule:
    test = _TESTS[op]

    def rule(call: FunctionCall, ranges: Sequence[Range]) -> Range:
        one, other = ranges
        if one.fails or other.fails or not _alike(*call.args):
            return UNKNOWN
        if op == "<=>":
            return _null_safe(one, other)
        if one.void or other.void:
            return void(ranges)
        order = _order(one, other)
        return truth(_any(order, test), _any(order, tuple(not each for each in test)), strict(ranges))

    return rule


def _any(order: _Order, test: Sequence[bool]) -> bool:
    return any(may and holds for may, holds in zip(order, test, strict=True))


def _null_safe(one: Range, other: Range) -> Range:
    order = _null_safe_order(one, other)
    if NO_ROWS in (one.nulls, other.nulls):
        return Range(nulls=NO_ROWS)
    return truth(order.equal, order.less or order.greater, NO_NULL)


def _null_safe_order(one: Range, other: Range) -> _Order:
    """Compare two values; NULL is less than all others."""
    less, equal, greater = (False, False, False) if one.void or other.void else _order(one, other)
    null, other_null = one.nulls != NO_NULL, other.nulls != NO_NULL
    return _Order(
        less or (null and not other.void),
        equal or (null and other_null),
        greater or (other_null and not one.void),
    )


def _alike(one: Expression, other: Expression) -> bool:
    """Return whether two expressions have types whose values can be compared."""
    kinds = kind(one.type), kind(other.type)
    null = any(isinstance(each, Constant) and each.value is None for each in (one, other))
    return null or (kinds[0] is not None and kinds[0] == kinds[1])


def _structs(op: str) -> Rule:
    """Return the rule that compares structs: the fields of the first one, then the fields of the second."""
    test = _TESTS[op]

    def rule(call: FunctionCall, ranges: Sequence[Range]) -> Range:
        count = len(ranges) // 2
        pairs = list(zip(call.args[:count], call.args[count:], strict=True))
        if any(each.fails for each in ranges) or not all(_alike(*pair) for pair in pairs):
            return UNKNOWN
        if NO_ROWS in (each.nulls for each in ranges):
            return Range(nulls=NO_ROWS)
        less = greater = False
        for one, other in zip(ranges[:count], ranges[count:], strict=True):
            order = _null_safe_order(one, other)
            less, greater = less or order.less, greater or order.greater
            if not order.equal:
                break
        else:
            return _decided(_Order(less, True, greater), test)
        return _decided(_Order(less, False, greater), test)

    return rule


def _decided(order: _Order, test: Sequence[bool]) -> Range:
    return truth(_any(order, test), _any(order, tuple(not each for each in test)), NO_NULL)


def _in(call: FunctionCall, ranges: Sequence[Range]) -> Range:
    each, (operand, literals) = ranges[0], call.args
    if each.fails or not isinstance(literals, ConstantList) or not _alike(operand, literals):
        return UNKNOWN
    keys = literals.keys
    if each.void or not (keys or literals.has_null):
        return void(ranges[:1]) if keys or literals.has_null else truth(False, True, NO_NULL)
    first = 0 if each.low is None else bisect_left(keys, order_key(each.low))
    end = len(keys) if each.high is None or each.nan else bisect_right(keys, order_key(each.high))
    may_hold = first < end
    holds = may_hold and each.low is not None and each.low == each.high and not each.nan
    if not literals.has_null:
        return truth(may_hold, not holds, each.nulls)
    if not may_hold:
        return Range(nulls=ONLY_NULL)
    return truth(may_hold=True, may_fail=False, nulls=each.nulls if holds else SOME_NULL)


def _is_null(null: bool) -> Rule:
    def rule(_: FunctionCall, ranges: Sequence[Range]) -> Range:
        (each,) = ranges
        if each.fails:
            return UNKNOWN
        if each.nulls == NO_ROWS:
            return each
        may_be_null, may_have_value = each.nulls != NO_NULL, not each.void
        return truth(*((may_be_null, may_have_value) if null else (may_have_value, may_be_null)), NO_NULL)

    return rule


def _is_nan(_: FunctionCall, ranges: Sequence[Range]) -> Range:
    """Return the range of ISNAN, which is FALSE for NULL."""
    (each,) = ranges
    if each.fails:
        return UNKNOWN
    if each.nulls == NO_ROWS:
        return each
    return truth(each.nan, each.nulls != NO_NULL or _has_numbers(each), NO_NULL)


def _has_numbers(each: Range) -> bool:
    """Return whether a range of floats may have other values than NaN."""
    return not each.void and (each.low is None or each.high is None or bool(each.low <= each.high))


def _not(_: FunctionCall, ranges: Sequence[Range]) -> Range:
    (each,) = ranges
    if each.void or each.fails:
        return each
    return truth(may_be(each, truth=False), may_be(each, truth=True), each.nulls)


def _joined(decisive: bool) -> Callable[[FunctionCall, Sequence[Range]], Range]:
    """Return the rule of AND, which FALSE decides, or of OR, which TRUE decides."""

    def rule(_: FunctionCall, ranges: Sequence[Range]) -> Range:
        if any(each.fails for each in ranges):
            return UNKNOWN
        if any(each.nulls == NO_ROWS for each in ranges):
            return Range(nulls=NO_ROWS)
        can_decide = any(may_be(each, decisive) for each in ranges)
        certain = any(not may_be(each, not decisive) and not may_be(each, truth=None) for each in ranges)
        can_be_other = all(may_be(each, not decisive) for each in ranges)
        can_be_null = not certain and any(may_be(each, truth=None) for each in ranges)
        if not can_decide and not can_be_other:
            return Range(nulls=ONLY_NULL)
        nulls = SOME_NULL if can_be_null else NO_NULL
        return truth(can_decide, can_be_other, nulls) if decisive else truth(can_be_other, can_decide, nulls)

    return rule


COMPARISONS: dict[str, Rule] = {op: _comparison(op) for op in _TESTS}
STRUCT_COMPARISONS: dict[str, Rule] = {f"STRUCT {op}": _structs(op) for op in _TESTS}
IN: Rule = _in
IS_NULL, IS_NOT_NULL = _is_null(null=True), _is_null(null=False)
IS_NAN: Rule = _is_nan
NOT: Rule = _not
AND, OR = _joined(decisive=False), _joined(decisive=True)


def _coalesce(_: FunctionCall, ranges: Sequence[Range]) -> Range | tuple[Range, ...]:
    parts: list[Range] = []
    for each in ranges:
        if each.fails:
            return UNKNOWN
        if each.nulls == NO_ROWS:
            return Range(nulls=NO_ROWS)
        if not each.void:
            parts.append(each._replace(nulls=NO_NULL))
        if each.nulls == NO_NULL:
            return tuple(parts)
    return (*parts, Range(nulls=ONLY_NULL))


def _nanvl(call: FunctionCall, ranges: Sequence[Range]) -> Range | tuple[Range, ...]:
    """Return the parts of NANVL: the numbers of the first argument, and the second one in place of NaN."""
    each, other = ranges
    if any(one.fails for one in ranges) or any(one.type != call.type for one in call.args):
        return UNKNOWN
    if each.void or not each.nan:
        return each
    return (each._replace(nan=False), other) if _has_numbers(each) or each.nulls != NO_NULL else other


def _extreme(greatest: bool) -> Rule:
    """Return the rule of GREATEST or LEAST, which take no notice of NULLs."""
    pick: Callable[[Any], Any] = max if greatest else min

    def rule(_: FunctionCall, ranges: Sequence[Range]) -> Range:
        if any(each.fails for each in ranges):
            return UNKNOWN
        whole = hull(ranges)
        if whole.void:
            return whole
        # the arguments that always have a value limit the result from one side
        certain = [each for each in ranges if each.nulls == NO_NULL and not (each.nan and not greatest)]
        limits = [each.low if greatest else each.high for each in certain]
        known = [limit for limit in limits if limit is not None]
        nulls = NO_NULL if any(each.nulls == NO_NULL for each in ranges) else SOME_NULL
        low, high = whole.low, whole.high
        if known and greatest:
            low = pick(known)
        elif known:
            high = pick(known)
        return Range(low, high, nulls, whole.nan)

    return rule


def _case(_: FunctionCall, ranges: Sequence[Range]) -> Range | tuple[Range, ...]:
    """Return the parts of the branches: conditions and results in turns, then what else the result is."""
    parts: list[Range] = []
    for position in range(0, len(ranges) - 1, 2):
        condition, result = ranges[position], ranges[position + 1]
        if condition.fails:
            return UNKNOWN
        if may_be(condition, truth=True):
            parts.append(result)
        if not may_be(condition, truth=False) and not may_be(condition, truth=None):
            break
    else:
        parts.append(ranges[-1] if len(ranges) % 2 else Range(nulls=ONLY_NULL))
    return UNKNOWN if any(each.fails for each in parts) else tuple(parts)


COALESCE: Rule = _coalesce
NANVL: Rule = _nanvl
GREATEST, LEAST = _extreme(greatest=True), _extreme(greatest=False)
CASE: Rule = _case
