"""Replace an IN with many values by a few ranges that cover them, so that planning takes less time.

    p IN (1, 2, 3, 50, 51, 90)        p BETWEEN 1 AND 3 OR p BETWEEN 50 AND 51 OR p = 90

A runtime filter may have a hundred thousand values. Making a key for each value takes longer than reading
some keys more and looking up their values afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parquetry.predicate import And, Compare, Filter, In, Or, Predicate, conjoin, disjoin
from parquetry.types import Value

MAX_IN_VALUES = 5_000
"""Values in one IN that are planned one by one; more values are planned as `_RANGES_PER_IN` ranges."""
_RANGES_PER_IN = 300


def coarse(filter: Filter) -> Filter:
    """Return a filter without a long IN that is TRUE wherever `filter` is; the same one if it has none."""
    node = _coarse(filter.node)
    return filter if node is filter.node else Filter(node)


def _coarse(node: Predicate) -> Predicate:
    match node:
        case And(children) | Or(children):
            coarser = [_coarse(child) for child in children]
            if all(new is old for new, old in zip(coarser, children, strict=True)):
                return node
            return conjoin(coarser) if isinstance(node, And) else disjoin(coarser)
        case In(values=values) if len(values) > MAX_IN_VALUES:
            return disjoin(_between(node, low, high) for low, high in ranges(values, _RANGES_PER_IN))
    return node  # a NOT is not changed: wider ranges under it would select fewer rows


def ranges(values: Sequence[Value], most: int) -> list[tuple[int, int]]:
    """Return the positions of each range's first and last value; ranges of numbers end at widest gaps.

    Args:
        values: values of one type, in order, at least one.
        most: the greatest number of ranges.

    >>> ranges((1, 2, 3, 50, 51, 90), 3)
    [(0, 2), (3, 4), (5, 5)]
    """
    count = min(most, len(values))
    if isinstance(values[0], int):
        gaps = np.argsort(np.diff(np.array(values, np.int64).astype(np.float64)))
        ends = np.append(np.sort(gaps[len(gaps) - count + 1 :]), len(values) - 1)
    else:
        ends = np.linspace(0, len(values), count + 1, dtype=np.int64)[1:] - 1
    starts = np.append(0, ends[:-1] + 1)
    return list(zip(starts.tolist(), ends.tolist(), strict=True))


def _between(node: In, low: int, high: int) -> Predicate:
    least, greatest = node.values[low], node.values[high]
    if low == high:
        return Compare("=", node.column, least, node.type)
    return And(
        (Compare(">=", node.column, least, node.type), Compare("<=", node.column, greatest, node.type))
    )
