"""Ranges of an expression's values in one container, and what all functions need to compute them.

A result that may be an error, or no value of its type, is not known at all (`UNKNOWN`). Then the container is
read, and Spark raises the error, or wraps the number, as it does without pruning.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from parquetry.types import ColumnType, extreme_values

NO_NULL, SOME_NULL, ONLY_NULL, NO_ROWS = 0, 1, 2, 3
"""Codes for NULLs among a container's rows: none, perhaps some, all; or there are no rows at all."""


class Range(NamedTuple):
    """The values of an expression in some rows of a container.

    Attributes:
        low: no value is less, or None if that is not known.
        high: no value is greater, NaN left out, or None if that is not known.
        nulls: whether rows are NULL, one of the codes above. If all are, there are no values.
        nan: whether values may be NaN.
        fails: whether a row may raise an error, so that the container has to be read.
    """

    low: Any = None
    high: Any = None
    nulls: int = SOME_NULL
    nan: bool = False
    fails: bool = False

    @property
    def void(self) -> bool:
        """Whether there are no values but NULL."""
        return self.nulls >= ONLY_NULL


UNKNOWN = Range(nan=True, fails=True)
"""Any value, or an error."""


class OutOfRangeError(Exception):
    """A result is no value of its type, or not known."""


def strict(ranges: Iterable[Range]) -> int:
    """Return whether results are NULL where each argument that is NULL makes the result NULL."""
    states = [each.nulls for each in ranges]
    if NO_ROWS in states:
        return NO_ROWS
    return max(states, default=NO_NULL)


def void(ranges: Sequence[Range]) -> Range:
    """Return the range of results that are all NULL."""
    return Range(nulls=strict(ranges), fails=any(each.fails for each in ranges))


def ends_of(type: ColumnType | None, each: Range) -> tuple[Any, Any]:
    """Return the least and the greatest value of a range; the type's own where it has none.

    Raises:
        OutOfRangeError: the type is not known.
    """
    low, high = extremes(type)
    if each.low is not None:
        low = each.low if low is None or each.low > low else low
    if each.high is not None:
        high = each.high if high is None or each.high < high else high
    return low, high


def extremes(type: ColumnType | None) -> tuple[Any, Any]:
    """Return the least and the greatest value of a type, NaN left out; None where there is none.

    Raises:
        OutOfRangeError: the type is not known.

    >>> extremes(ColumnType("tinyint")), extremes(ColumnType("string"))
    ((-128, 127), ('', None))
    """
    if type is None or type.facts.value is None:
        raise OutOfRangeError
    return extreme_values(type)


def fitting(type: ColumnType | None, value: Any) -> Any:
    """Return a result, if it is a value of its type.

    Raises:
        OutOfRangeError: it is not.
    """
    if value is None:
        return None
    low, high = extremes(type)
    if value != value or (low is not None and value < low) or (high is not None and value > high):
        raise OutOfRangeError
    return value


def hull(ranges: Sequence[Range]) -> Range:
    """Return one range for all rows of several."""
    if len(ranges) == 1:
        return ranges[0]
    valued = [each for each in ranges if not each.void]
    states = {each.nulls for each in ranges if each.nulls != NO_ROWS}
    if not valued:
        return Range(nulls=ONLY_NULL if states else NO_ROWS, fails=any(each.fails for each in ranges))
    lows, highs = [each.low for each in valued], [each.high for each in valued]
    return Range(
        None if None in lows else min(lows),
        None if None in highs else max(highs),
        NO_NULL if states == {NO_NULL} else SOME_NULL,
        any(each.nan for each in valued),
        any(each.fails for each in ranges),
    )
