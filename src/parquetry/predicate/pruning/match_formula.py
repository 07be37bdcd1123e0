"""Judge a condition on expressions, such as `id + 1 = 777`, by the bounds of its columns in each container.

    id              from 10 to 20     from 700 to 800
    id + 1          from 11 to 21     from 701 to 801
    id + 1 = 777    FALSE             TRUE or FALSE

`functions.ranges` evaluates an expression over one container. This module makes the ranges of columns out of
`Bounds`. A container where an error may be raised, or where a result is not known, may have all outcomes.

Many containers are judged together first: one range for a thousand files often excludes all of them. Only if
it does not, they are judged in smaller groups, and at last one by one.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from parquetry.predicate.expression import Expression, columns_in
from parquetry.predicate.functions.table import constant_range, ranges, truths
from parquetry.predicate.functions.values import NO_NULL, NO_ROWS, ONLY_NULL, SOME_NULL, Range, hull
from parquetry.predicate.pruning.held_values import HIGHEST, LOWEST, as_list
from parquetry.predicate.pruning.knowledge import Bounds, Knowledge
from parquetry.predicate.pruning.truth_sets import ANY, CODES_OF_TRUTH, TRUE, Codes, codes
from parquetry.types import ColumnType

_GROUPS = 32
"""Parts that a group of containers is divided into if it cannot be judged as a whole."""


def formula_outcomes(formula: Expression, knowledge: Knowledge, outcomes: Codes) -> Codes:
    """Return the outcomes of a condition on expressions over all rows that the bounds allow.

    Args:
        formula: the condition.
        knowledge: the statistics of the containers.
        outcomes: what is known of the condition already; containers without TRUE keep them.

    >>> from parquetry.predicate.expression import ColumnReference, Constant, FunctionCall
    >>> from parquetry.predicate.pruning.knowledge import KnownValues
    >>> int_, boolean = ColumnType("int"), ColumnType("boolean")
    >>> sum = FunctionCall("+", (ColumnReference("p", int_), Constant(1, int_)), int_)
    >>> condition = FunctionCall("=", (sum, Constant(3, int_)), boolean)
    >>> formula_outcomes(condition, KnownValues(("p",), [(2,), (3,), (None,)]), [ANY] * 3)
    [1, 2, 4]
    """
    columns = {column.name: column.type for column in columns_in(formula)}
    bounds_of = {name: knowledge.bounds(name) for name in columns}
    ranges = {
        name: _ColumnRanges(bounds, columns[name]) for name, bounds in bounds_of.items() if bounds is not None
    }
    unknown = {
        name: Range(nulls=SOME_NULL, nan=columns[name].floating)
        for name, bounds in bounds_of.items()
        if bounds is None
    }
    evaluator = _FormulaEvaluator(formula, ranges, unknown, as_list(outcomes))
    if knowledge.count:
        evaluator.evaluate_group(0, knowledge.count)
    return codes(evaluator.outcomes)


class Exclusions(NamedTuple):
    """Values of a column that no row of interest has: NULL, NaN, both or neither."""

    null: bool = False
    nan: bool = False


def expression_ranges(
    expression: Expression, knowledge: Knowledge, excluded: Mapping[str, Exclusions]
) -> list[Range]:
    """Return the range of an expression's values in the rows of interest of each container.

    Args:
        expression: any expression, or a column.
        knowledge: the statistics of the containers.
        excluded: for each of its columns, the values that no row of interest has.
    """
    columns = {column.name: column.type for column in columns_in(expression)}
    bounds = {name: knowledge.bounds(name) for name in columns}
    by_column = {
        name: [Range(nulls=SOME_NULL, nan=type.floating)] * knowledge.count
        if (known := bounds[name]) is None
        else _ColumnRanges(known, type).each()
        for name, type in columns.items()
    }
    results: dict[tuple[Range, ...], Range] = {}
    rows = []
    for values in zip(*by_column.values(), strict=True):
        if values not in results:
            row = {name: _without(value, excluded[name]) for name, value in zip(columns, values, strict=True)}
            results[values] = hull(ranges(expression, row))
        rows.append(results[values])
    return rows


def _without(values: Range, excluded: Exclusions) -> Range:
    nulls = NO_NULL if excluded.null and values.nulls == SOME_NULL else values.nulls
    return values._replace(nulls=nulls, nan=values.nan and not excluded.nan)


class _FormulaEvaluator:
    """Evaluates a condition over groups of containers.

    Args:
        formula: the condition.
        ranges: the ranges of columns with statistics.
        unknown: the range of each other column, the same in all containers.
        outcomes: what is known already, by container.

    Attributes:
        outcomes: what is known by now.
    """

    def __init__(
        self,
        formula: Expression,
        ranges: dict[str, _ColumnRanges],
        unknown: dict[str, Range],
        outcomes: list[int],
    ) -> None:
        self._formula = formula
        self._ranges = ranges
        self._unknown = unknown
        self.outcomes = list(outcomes)

    def evaluate_group(self, start: int, stop: int) -> None:
        """Judge the containers from `start` on, before `stop`."""
        if not any(here & TRUE for here in self.outcomes[start:stop]):
            return
        row = {name: each.over(start, stop) for name, each in self._ranges.items()}
        code = truths(self._formula, {**row, **self._unknown}, CODES_OF_TRUTH.__getitem__) or ANY
        if stop - start == 1:
            self.outcomes[start] = code
            return
        proved = code == TRUE and all(each.nulls == NO_NULL for each in row.values())
        if proved or not code & TRUE:
            decided = [code if here & TRUE else here for here in self.outcomes[start:stop]]
            self.outcomes[start:stop] = decided
            return
        step = -(-(stop - start) // _GROUPS)
        for first in range(start, stop, step):
            self.evaluate_group(first, min(first + step, stop))


class _ColumnRanges:
    """The ranges of a column over containers."""

    def __init__(self, bounds: Bounds, type: ColumnType) -> None:
        self._low = as_list(bounds.least)
        self._high = self._low if bounds.greatest is bounds.least else as_list(bounds.greatest)
        self._nulls = as_list(bounds.nulls)
        self._shared = bounds.shared
        self._nan = bounds.hidden_nan(type)
        if type.floating and not bounds.shared:  # NaN stands for a bound that is not known
            self._low = [-math.inf if low != low else low for low in self._low]
            self._high = [math.inf if high != high else high for high in self._high]

    def each(self) -> list[Range]:
        """Return the range of each container."""
        return [self._of_one(container) for container in range(len(self._low))]

    def over(self, start: int, stop: int) -> Range:
        """Return one range for the containers from `start` on, before `stop`."""
        if stop - start == 1:
            return self._of_one(start)
        states = set(self._nulls[start:stop])
        nulls = (
            states.pop() if len(states) == 1 else ONLY_NULL if states <= {ONLY_NULL, NO_ROWS} else SOME_NULL
        )
        if nulls >= ONLY_NULL:
            return Range(nulls=nulls)
        lows, highs = self._low[start:stop], self._high[start:stop]
        if self._shared and any(low != low or low is not high for low, high in zip(lows, highs, strict=True)):
            return Range(nulls=nulls, nan=True)
        return Range(_bound(min(lows)), _bound(max(highs)), nulls, self._may_be_nan(start, stop))

    def _may_be_nan(self, start: int, stop: int) -> bool:
        return self._nan if isinstance(self._nan, bool) else bool(self._nan[start:stop].any())

    def _of_one(self, container: int) -> Range:
        low, high, nulls = self._low[container], self._high[container], self._nulls[container]
        if nulls >= ONLY_NULL:
            return Range(nulls=nulls)
        if not self._shared:
            return Range(_bound(low), _bound(high), nulls, self._may_be_nan(container, container + 1))
        if low is high or low == high or (low != low and high != high):
            return constant_range(low)._replace(nulls=nulls)
        return Range(nulls=nulls, nan=True)  # where the two differ, the value is not known


def _bound(end: Any) -> Any:
    """Return a bound, or None for what stands for one that is not known."""
    return None if end is LOWEST or end is HIGHEST else end
