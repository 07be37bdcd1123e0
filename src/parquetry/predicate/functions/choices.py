"""Ranges of functions that return one of their arguments: COALESCE, GREATEST, LEAST, CASE and IF.

Rows that take different arguments stay apart. Of `coalesce(id, -1)`, some rows have the `id` between 100 and
200, others -1, and none 50.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from parquetry.predicate.expression import FunctionCall
from parquetry.predicate.functions.comparisons import may_be
from parquetry.predicate.functions.monotone import Rule
from parquetry.predicate.functions.values import NO_NULL, NO_ROWS, ONLY_NULL, SOME_NULL, UNKNOWN, Range, hull


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
GREATEST, LEAST = _extreme(greatest=True), _extreme(greatest=False)
CASE: Rule = _case
