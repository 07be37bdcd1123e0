"""A value for each of N containers, and how these values compare with literals and with each other.

Numbers are stored in arrays of int64, float64 or bool, other values in arrays of Python objects. Up to
`truth_sets.MAX_LISTED_CONTAINERS` values of any type are stored in lists. A value that is not known is stored
as one below, or above, all others, so comparisons need no case for it.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from parquetry.predicate.pruning.truth_sets import MAX_LISTED_CONTAINERS, Codes
from parquetry.types import ColumnType, Value, order_key

Values: TypeAlias = list[Any] | NDArray[Any]
"""A value for each of N containers."""

LESS, EQUAL, GREATER = 0, 1, 2
"""How one value compares with another."""


class _ExtremeValue:
    """A value below all others, or above them."""

    def __init__(self, name: str, above: bool) -> None:
        self._name = name
        self._above = above

    def __lt__(self, other: object) -> bool:
        return not self._above and other is not self

    def __gt__(self, other: object) -> bool:
        return self._above and other is not self

    def __le__(self, other: object) -> bool:
        return not self._above or other is self

    def __ge__(self, other: object) -> bool:
        return self._above or other is self

    def __repr__(self) -> str:
        return self._name


LOWEST, HIGHEST = _ExtremeValue("LOWEST", above=False), _ExtremeValue("HIGHEST", above=True)
"""Stand-ins for values that are not known. For numbers the least and the greatest of their type stand in."""

_OBJECT_EXTREMES: tuple[Any, Any, Any] = (LOWEST, HIGHEST, np.object_)
_TYPE_EXTREMES: dict[type, tuple[Any, Any, Any]] = {
    int: (-(1 << 63), (1 << 63) - 1, np.int64),
    float: (-math.inf, math.nan, np.float64),  # NaN is above all other numbers
    bool: (False, True, np.bool_),
}


def python_type(type: ColumnType) -> type:
    """Return the Python type of a column's values, `object` for all that are not numbers.

    >>> python_type(ColumnType("date")), python_type(ColumnType("string"))
    (<class 'int'>, <class 'object'>)
    """
    value = type.facts.value
    return value if value in (int, float, bool) else object


def value_array(values: Sequence[Value], kind: type, *, lowest: bool) -> Values:
    """Make a list or an array from values of one type.

    Args:
        values: a value for each container; None is not known.
        kind: the values' type, as `python_type` returns it.
        lowest: whether a value that is not known counts as below all others, else as above.

    >>> value_array(["a", None], object, lowest=False)
    ['a', HIGHEST]
    """
    low, high, dtype = _TYPE_EXTREMES.get(kind, _OBJECT_EXTREMES)
    end = low if lowest else high
    filled = [end if value is None else value for value in values] if None in values else list(values)
    if len(filled) <= MAX_LISTED_CONTAINERS:
        return filled
    try:
        return np.array(filled, dtype)
    except OverflowError:  # integers of damaged statistics
        return np.clip(np.array(filled, np.object_), low, high).astype(dtype)


def masked_value_array(values: NDArray[Any], mask: NDArray[np.bool_], kind: type, *, lowest: bool) -> Values:
    """Replace the numbers of an array that are not known, as `value_array` does.

    >>> masked_value_array(np.array([5, 0]), np.array([True, False]), int, lowest=True)
    array([                   5, -9223372036854775808])
    """
    low, high, dtype = _TYPE_EXTREMES[kind]
    return np.where(mask, values, dtype(low if lowest else high))


def take_values(values: Values, indices: NDArray[np.intp]) -> Values:
    """Return the value at each of some indices.

    >>> take_values([5, 7], np.array([1, 1, 0]))
    [7, 7, 5]
    """
    if len(indices) <= MAX_LISTED_CONTAINERS:
        return (
            [values[index] for index in indices.tolist()]
            if isinstance(values, list)
            else values[indices].tolist()
        )
    if isinstance(values, list):
        values = np.array(values, _TYPE_EXTREMES.get(values[0].__class__, _OBJECT_EXTREMES)[2])
    return values[indices]


def compare_with(values: Values, literal: Any) -> Codes:
    """Return for each value whether it is LESS than a literal, EQUAL or GREATER.

    NaN is greater than all other values, and equal to NaN.

    >>> compare_with([1, 5, HIGHEST], 5)
    [0, 1, 2]
    """
    if isinstance(values, list):
        if literal != literal:
            return [EQUAL if value != value else LESS for value in values]
        return [2 - (value < literal) - (value <= literal) for value in values]
    if literal != literal:
        return _sign(~np.isnan(values), np.ones(len(values), np.bool_))
    if values.dtype == np.object_:
        literal = np.array((literal,), np.object_)  # NumPy would drop the NULs at the end of a bare text
    return _sign(values < literal, values <= literal)


def _sign(less: NDArray[np.bool_], not_greater: NDArray[np.bool_]) -> NDArray[np.uint8]:
    return np.uint8(GREATER) - less.view(np.uint8) - not_greater.view(np.uint8)


def compare_pairs(left: Values, right: Values) -> Codes:
    """Return for each value whether it is LESS than its counterpart, EQUAL or GREATER. NaN is never equal."""
    if isinstance(left, list):
        return [2 - (one < other) - (one <= other) for one, other in zip(left, right, strict=True)]
    return _sign(left < right, left <= right)


def ranks(values: Values, literals: Sequence[Value], *, after: bool) -> Values:
    """Count for each value the literals that are less, or with `after` those not greater.

    Args:
        values: values of the literals' type.
        literals: sorted and unique; run-time filters bring thousands.
        after: whether literals that equal the value count.

    >>> ranks([2, 3], (1, 3, 5), after=False), ranks([2, 3], (1, 3, 5), after=True)
    ([1, 1], [1, 2])
    """
    if not isinstance(values, list) and values.dtype != np.object_ and len(literals) < 8 * len(values):
        return np.searchsorted(np.array(literals, values.dtype), values, "right" if after else "left")
    # A binary search for each of a few values takes less time than making an array of the literals.
    bisect = bisect_right if after else bisect_left
    if literals and isinstance(literals[0], float):  # NaN may be on either side
        counts = [bisect(literals, order_key(value), key=order_key) for value in as_list(values)]
    else:
        counts = [bisect(literals, value) for value in as_list(values)]
    return counts if isinstance(values, list) else np.array(counts, np.int64)


def as_list(values: Values) -> list[Any]:
    """Return the values as a list of Python values."""
    return values if isinstance(values, list) else values.tolist()
