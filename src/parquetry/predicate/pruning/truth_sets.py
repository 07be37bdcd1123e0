"""Sets of the truth values that a condition may take over some rows, and the tables that join them.

A set is a number: TRUE is 1, FALSE is 2, NULL is 4, so 3 says "TRUE or FALSE", and 0 that there are no rows
at all. There are 8 x 8 pairs of sets. AND and OR are computed once for all pairs and then looked up.

    {TRUE, FALSE} AND {TRUE, NULL}    AND(3, 5) = 7    each of the three may result

    {FALSE}       AND {TRUE, NULL}    AND(2, 5) = 2    always FALSE

`Codes` are such numbers, one for each of N containers: an array, or a list if the containers are few, since
one call of NumPy costs more than a short list. A lookup takes either, and returns the same kind.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Codes: TypeAlias = list[int] | NDArray[np.uint8]
"""A small number for each of N containers."""

MAX_LISTED_CONTAINERS = 16
"""Containers whose codes and values are kept in lists; for more, NumPy's arrays are faster."""

TRUE, FALSE, NULL = 1, 2, 4
EITHER = TRUE | FALSE
ANY = TRUE | FALSE | NULL
CODES_OF_TRUTH: dict[bool | None, int] = {True: TRUE, False: FALSE, None: NULL}


class Lookup:
    """A function of one code, defined by its values for 0, 1, 2 …"""

    def __init__(self, values: Sequence[int]) -> None:
        self._values = list(values)
        self._array = np.array(self._values, np.uint8)

    def __call__(self, codes: Codes) -> Codes:
        """Return the function's value for each code."""
        if isinstance(codes, list):
            values = self._values
            return [values[code] for code in codes]
        return self._array.take(codes)


class Lookup2:
    """A function of two codes, as a table: a row for each left code, a column for each right code."""

    def __init__(self, rows: Sequence[Sequence[int]]) -> None:
        self._rows = [list(row) for row in rows]
        self._width = len(self._rows[0])
        self._array = np.array(self._rows, np.uint8).ravel()

    def __call__(self, left: Codes, right: Codes) -> Codes:
        """Return the function's value for each pair of codes."""
        if isinstance(left, list) and isinstance(right, list):
            rows = self._rows
            return [rows[one][other] for one, other in zip(left, right, strict=True)]
        return self._array.take(np.asarray(left, np.uint8) * self._width + np.asarray(right, np.uint8))


def codes(outcomes: Sequence[int]) -> Codes:
    """Make `Codes` from single outcomes: a list if they are few, else an array."""
    return list(outcomes) if len(outcomes) <= MAX_LISTED_CONTAINERS else np.array(outcomes, np.uint8)


def same(code: int, count: int) -> Codes:
    """Return one code for each of `count` containers.

    >>> same(ANY, 3)
    [7, 7, 7]
    """
    return [code] * count if count <= MAX_LISTED_CONTAINERS else np.full(count, code, np.uint8)


def any_of(codes: Codes, wanted: int) -> bool:
    """Return whether one of the sets contains a truth value of `wanted`.

    >>> any_of([FALSE, FALSE | NULL], TRUE)
    False
    """
    if isinstance(codes, list):
        return any(code & wanted for code in codes)
    return bool((codes & wanted).any())


def _not(one: int) -> int:
    return (one & NULL) | (TRUE if one & FALSE else 0) | (FALSE if one & TRUE else 0)


def _and(left: int, right: int) -> int:
    if left in (FALSE, 0):
        return left  # decided, or no rows: a caller that goes from left to right may skip the rest
    if not right:
        return 0
    result = (left | right) & FALSE
    if left & TRUE and right & TRUE:
        result |= TRUE
    if (left & NULL and right & (TRUE | NULL)) or (right & NULL and left & (TRUE | NULL)):
        result |= NULL
    return result


NOT = Lookup([_not(one) for one in range(8)])
AND = Lookup2([[_and(left, right) for right in range(8)] for left in range(8)])
OR = Lookup2([[_not(_and(_not(left), _not(right))) for right in range(8)] for left in range(8)])
