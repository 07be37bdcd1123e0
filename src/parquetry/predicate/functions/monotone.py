"""The one definition of *monotone*: a function that keeps, or reverses, the order of its arguments.

For example, `DATEDIFF(end, start)` grows with `end` and falls with `start`; its directions are `(1, -1)`. So
its least result over some rows is its value at the least `end` and the greatest `start`. Such a function is
defined by its value at a point (`Monotone.point`) and by its directions. All else follows:

| question                                | answer                                                           |
|-----------------------------------------|------------------------------------------------------------------|
| its values over ranges of its arguments | the values at two corners                                        |
| a result that is no value of its type   | not known, as the number wraps or Spark raises an error          |
| NULL                                    | NULL for each argument that is NULL                              |
| NaN                                     | NaN if the results are floats, else not known                    |
| clocks that are set back or forward     | `point` has an earliest and a latest result (`zones`)            |
| the arguments for a range of results    | a binary search among the points (`preimage`)                    |

It need not be strict: `DATE_TRUNC` has one result for many arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from parquetry.predicate.expression import FunctionCall
from parquetry.predicate.functions.values import (
    UNKNOWN,
    OutOfRangeError,
    Range,
    ends_of,
    fitting,
    strict,
    void,
)
from parquetry.types import ColumnType, Value

CONSTANT = 0
"""The direction of an argument that must be a constant, such as the unit of DATE_TRUNC."""

Rule: TypeAlias = Callable[[FunctionCall, Sequence[Range]], Range | tuple[Range, ...]]
"""A function from the ranges of a call's arguments to the range of its results, or to several ranges."""

Point: TypeAlias = Callable[[FunctionCall, Sequence[Any], int], Value]
"""A function from a call, one value for each argument, and an end to a result. The end is -1 for the least
result and 1 for the greatest. They differ only near changes of a time zone's offset. None is unbounded."""


@dataclass(frozen=True, slots=True)
class Monotone:
    """The ranges of a monotone function.

    Attributes:
        point: its value for values of its arguments. A range without an end gives None for an argument, if
            its type has no least or greatest value.
        directions: for each argument 1, -1 or `CONSTANT`.
    """

    point: Point
    directions: tuple[int, ...]

    def __call__(self, call: FunctionCall, ranges: Sequence[Range]) -> Range:
        """Return the range of the results."""
        return at_corners(call, ranges, self.directions, self.point)


def at_corners(call: FunctionCall, ranges: Sequence[Range], directions: Sequence[int], point: Point) -> Range:
    """Return the range of the results of a function that is monotone in each of its arguments."""
    nulls = strict(ranges)
    if any(each.void for each in ranges):
        return void(ranges)
    nan = any(each.nan for each in ranges)
    if any(each.fails for each in ranges) or (nan and (call.type is None or not call.type.floating)):
        return UNKNOWN
    try:
        ends = [_corner(call, ranges, directions, end) for end in (-1, 1)]
        low, high = (
            fitting(call.type, point(call, corner, end)) for corner, end in zip(ends, (-1, 1), strict=True)
        )
    except (OutOfRangeError, ArithmeticError, ValueError):
        return UNKNOWN
    return Range(low, high, nulls, nan)


def _corner(call: FunctionCall, ranges: Sequence[Range], directions: Sequence[int], end: int) -> list[Any]:
    """Return the values of the arguments that give the least result (`end` -1) or the greatest one."""
    corner = []
    for position, (argument, each) in enumerate(zip(call.args, ranges, strict=True)):
        direction = directions[position] if position < len(directions) else CONSTANT
        if direction == CONSTANT:
            value = call.constant(position)
            if value is None:
                raise OutOfRangeError
            corner.append(value)
        else:
            low, high = ends_of(argument.type, each)
            corner.append(low if direction * end < 0 else high)
    return corner


def required(value: Any) -> Any:
    """Return a value that must be known.

    Raises:
        OutOfRangeError: it is None.
    """
    if value is None:
        raise OutOfRangeError
    return value


def is_kind(type: ColumnType | None, *names: str) -> bool:
    """Return whether a type is known and has one of some names."""
    return type is not None and type.name in names
