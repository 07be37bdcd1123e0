"""A condition with fewer values, from which a plan is made sooner: ranges that hold them all.

    p IN (1, 2, 3, 50, 51, 90)        p BETWEEN 1 AND 3 OR p BETWEEN 50 AND 51 OR p = 90

A join may find a hundred thousand values. To make a key of each, and to test each key for all of them, takes longer than to read a
few keys more and to look their values up, once for all.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from parquetry.predicate import And, Compare, Filter, In, Or, Predicate, conjoin, disjoin
from parquetry.types import Value

MAX_IN_VALUES = 5_000
"""Values in one IN, from which on ranges are planned in their place."""
_RANGES_PER_IN = 300


def coarse(filter: Filter) -> Filter:
    """Return a filter that is TRUE wherever a filter is, without an IN of many values; the same one if it has none."""
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
    return node  # a NOT is left as it is: under it, fewer rows would be wanted


def ranges(values: Sequence[Value], most: int) -> list[tuple[int, int]]:
    """Return the places of the first and the last value of each range; of numbers those lie between the widest gaps.

    Args:
        values: of one type, in order, one at least.
        most: ranges.

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
