"""Evaluate an expression over the rows of containers, to ranges of its values.

    id        from 10 to 20                   in one container
    id * 2    from 20 to 40
    coalesce(id * 2, -1)                      20 to 40, and -1

Rows that take their values from different arguments have ranges of their own. If these become many, they are
joined into one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import product

from parquetry.predicate.expression import ColumnReference, Constant, ConstantList, Expression
from parquetry.predicate.functions.comparisons import may_be
from parquetry.predicate.functions.table import FUNCTIONS
from parquetry.predicate.functions.values import NO_NULL, ONLY_NULL, UNKNOWN, Range, hull

MAX_PARTS = 16
"""Combinations of the parts of a call's arguments; if there are more, each argument becomes one range."""

Parts = tuple[Range, ...]


def ranges(expression: Expression, columns: Mapping[str, Range]) -> Parts:
    """Return the ranges of an expression's values in one container; each row is in one of them.

    Args:
        expression: to be evaluated.
        columns: the ranges of its columns.

    >>> from parquetry.predicate.expression import FunctionCall, ColumnReference, Constant
    >>> from parquetry.types import ColumnType
    >>> int_ = ColumnType("int")
    >>> sum = FunctionCall("+", (ColumnReference("id", int_), Constant(1, int_)), int_)
    >>> ranges(sum, {"id": Range(10, 20, 0)})
    (Range(low=11, high=21, nulls=0, nan=False, fails=False),)
    """
    match expression:
        case ColumnReference(name):
            return (columns[name],)
        case Constant(value):
            return (constant_range(value),)
        case ConstantList():
            return (Range(),)
    function = FUNCTIONS.get(expression.function)
    if function is None:
        return (UNKNOWN,)
    parts = [ranges(argument, columns) for argument in expression.args]
    count = 1
    for each in parts:
        count *= len(each)
    if count > MAX_PARTS:
        parts = [(hull(each),) for each in parts]
    if count == 1:
        result = function.rule(expression, [each[0] for each in parts])
        return (result,) if isinstance(result, Range) else result
    found: dict[Range, None] = {}
    for combination in product(*parts):
        result = function.rule(expression, combination)
        found.update(dict.fromkeys((result,) if isinstance(result, Range) else result))
    return tuple(found)


def constant_range(value: object) -> Range:
    """Return the range of a constant."""
    if value is None:
        return Range(nulls=ONLY_NULL)
    if value != value:
        return Range(float("inf"), float("-inf"), NO_NULL, nan=True)
    return Range(value, value, NO_NULL)


def truths(expression: Expression, columns: Mapping[str, Range], codes: Callable[[bool | None], int]) -> int:
    """Return the truth values that a condition may have in a container, as a sum of codes; 0 if not known.

    Args:
        expression: a condition.
        columns: the ranges of its columns.
        codes: the code of a truth value.
    """
    total = 0
    for each in ranges(expression, columns):
        if each.fails:
            return 0
        for value in (True, False, None):
            if may_be(each, value):
                total |= codes(value)
    return total
