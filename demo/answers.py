"""Compare two answers to one query: the same rows in any order, floating point within rounding."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

_RELATIVE = 1e-9
"""Sums of doubles depend on the order of their terms; nothing else may differ."""


def difference(ours: Iterable[Sequence[Any]], theirs: Iterable[Sequence[Any]]) -> str | None:
    """Return how two answers differ, or None if they do not.

    >>> difference([(1, 0.1 + 0.2), (None, 1.0)], [(None, 1.0), (1, 0.3)])
    >>> difference([(1,)], [(1,), (2,)])
    '1 rows instead of 2'
    >>> difference([(1, "a")], [(1, "b")])
    "row (1, 'a') instead of (1, 'b')"
    """
    left, right = sorted(map(tuple, ours), key=_order), sorted(map(tuple, theirs), key=_order)
    if len(left) != len(right):
        return f"{len(left):,} rows instead of {len(right):,}"
    for mine, other in zip(left, right, strict=True):
        if len(mine) != len(other) or not all(map(_same, mine, other)):
            return f"row {mine} instead of {other}"
    return None


def _same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=_RELATIVE, abs_tol=_RELATIVE) or (math.isnan(a) and math.isnan(b))
    return type(a) is type(b) and bool(a == b)


def _order(row: Sequence[Any]) -> tuple[Any, ...]:
    """Return a key to sort rows by, so that equal rows meet: floats last, and coarsely."""
    exact = [(value is not None, str(value)) for value in row if not isinstance(value, float)]
    return (exact, [f"{value:.6e}" for value in row if isinstance(value, float)])
