"""Judge a condition on expressions, such as `id + 1 = 777`, by the bounds of its columns in each container.

    id              from 10 to 20     from 700 to 800
    id + 1          from 11 to 21     from 701 to 801
    id + 1 = 777    FALSE             TRUE or FALSE

`functions.ranges` evaluates an expression over one container. This module makes the ranges of columns out of
`Bounds`. A container where an error may be raised, or where a result is not known, may have all outcomes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from parquetry.predicate.expression import Expression, columns_in
from parquetry.predicate.functions.ranges import constant_range, truths
from parquetry.predicate.functions.values import ONLY_NULL, SOME_NULL, Range
from parquetry.predicate.pruning.held_values import HIGHEST, LOWEST, as_list
from parquetry.predicate.pruning.knowledge import Bounds, Knowledge
from parquetry.predicate.pruning.truth_sets import ANY, CODES_OF_TRUTH, TRUE, Codes, codes
from parquetry.types import ColumnType


class FormulaOutcomes(NamedTuple):
    """The outcomes of a condition, and the bounds of columns that they come from."""

    outcomes: Codes
    used: list[Bounds]


def formula_outcomes(formula: Expression, knowledge: Knowledge, outcomes: Codes) -> FormulaOutcomes:
    """Return the outcomes of a condition on expressions over all rows that the bounds allow.

    Args:
        formula: the condition.
        knowledge: the statistics of the containers.
        outcomes: what is known of the condition already; containers without TRUE keep them.

    >>> from parquetry.predicate.expression import FunctionCall, ColumnReference, Constant
    >>> from parquetry.predicate.pruning.knowledge import KnownValues
    >>> int_, boolean = ColumnType("int"), ColumnType("boolean")
    >>> sum = FunctionCall("+", (ColumnReference("p", int_), Constant(1, int_)), int_)
    >>> condition = FunctionCall("=", (sum, Constant(3, int_)), boolean)
    >>> formula_outcomes(condition, KnownValues(("p",), [(2,), (3,), (None,)]), [ANY] * 3).outcomes
    [1, 2, 4]
    """
    columns = {column.name: column.type for column in columns_in(formula)}
    known = {name: knowledge.bounds(name) for name in columns}
    before = as_list(outcomes)
    rows = {name: _ranges(known[name], type, knowledge.count) for name, type in columns.items()}
    found = []
    for here in before:
        row = {name: next(ranges) for name, ranges in rows.items()}
        found.append((truths(formula, row, CODES_OF_TRUTH.__getitem__) or ANY) if here & TRUE else here)
    return FormulaOutcomes(codes(found), [bounds for bounds in known.values() if bounds is not None])


def _ranges(bounds: Bounds | None, type: ColumnType, count: int) -> Iterator[Range]:
    """Yield the range of a column in each container."""
    if bounds is None:
        unknown = Range(nulls=SOME_NULL, nan=type.floating)
        yield from (unknown for _ in range(count))
        return
    ends = zip(as_list(bounds.least), as_list(bounds.greatest), as_list(bounds.nulls), strict=True)
    for low, high, nulls in ends:
        if nulls >= ONLY_NULL:
            yield Range(nulls=nulls)
        elif bounds.shared:
            yield _shared(low, high, nulls, type)
        else:
            yield Range(_bound(low), _bound(high), nulls, nan=type.floating)


def _shared(low: Any, high: Any, nulls: int, type: ColumnType) -> Range:
    """Return the range of a value that all rows share; it is not known if the two differ."""
    if low is high or low == high or (low != low and high != high):
        return constant_range(low)._replace(nulls=nulls)
    return Range(nulls=nulls, nan=type.floating)


def _bound(end: Any) -> Any:
    """Return a bound, or None for what stands for one that is not known."""
    return None if end is LOWEST or end is HIGHEST or end != end else end
