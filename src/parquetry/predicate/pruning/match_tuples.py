"""Judge a tuple IN by the bounds of its columns: `(a, b) IN ((1, 2), (3, 4), (7, NULL))`.

A container may have a tuple if each of its values is within the bounds of its column; a tuple with NULL never
matches. The literals of each column are sorted, and the bounds become a range of positions among them. So
only small numbers are compared for each tuple and container. Take a container with `a` from 2 to 9 and `b`
always 4:

| column  | literals | positions allowed   | position of (1, 2) | position of (3, 4) |
|---------|----------|---------------------|--------------------|--------------------|
| `a`     | 1, 3     | 1 <= position < 2   | 0                  | 1                  |
| `b`     | 2, 4     | 1 <= position < 2   | 0                  | 1                  |

The second tuple may be in the container; the first one cannot.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.functions.values import ONLY_NULL
from parquetry.predicate.nodes import TupleIn
from parquetry.predicate.pruning.held_values import as_list, ranks
from parquetry.predicate.pruning.knowledge import Bounds
from parquetry.predicate.pruning.truth_sets import ANY, CODES_OF_TRUTH, FALSE, NULL, TRUE, Codes, codes
from parquetry.types import ColumnType, Value, order_key

_MAX_LOOPED_PAIRS = 64
"""Pairs of a tuple and a container that a plain loop compares; for more, arrays are faster."""
_PAIRS_PER_BATCH = 1 << 20
"""Pairs of a tuple and a container that are compared in one array operation; an array of them takes 8 MiB."""


class _TuplePositions(NamedTuple):
    """Positions of the tuples' values among a column's literals, and each container's range of positions."""

    positions: list[int]
    first: list[int]
    end: list[int]


def tuple_outcomes(leaf: TupleIn, all_bounds: Sequence[Bounds | None], count: int) -> Codes:
    """Return the outcomes of a tuple IN over all rows that the bounds of its columns allow.

    Args:
        leaf: the condition.
        all_bounds: the bounds of each of its columns, or None if not known.
        count: the number of containers.
    """
    tuples = [row for row in leaf.rows if None not in row]
    columns = [
        _column(bounds, type, [row[position] for row in tuples])
        for position, (bounds, type) in enumerate(zip(all_bounds, leaf.types, strict=True))
        if bounds is not None
    ]
    if not columns or not tuples:
        possible = [bool(tuples)] * count
    elif count * len(tuples) <= _MAX_LOOPED_PAIRS:
        possible = [_possible(columns, container) for container in range(count)]
    else:
        possible = _all_possible(columns, count)
    constant = [
        bounds
        for bounds in all_bounds
        if bounds is not None and bounds.shared and bounds.least is bounds.greatest
    ]
    if len(constant) == len(all_bounds):
        return _decided(leaf, constant, possible)
    return codes([ANY if each else FALSE | NULL for each in possible])


def _column(bounds: Bounds, type: ColumnType, values: Sequence[Value]) -> _TuplePositions:
    by_key = {order_key(value): value for value in values}
    keys = sorted(by_key)
    positions = {key: position for position, key in enumerate(keys)}
    literals = [by_key[key] for key in keys]
    first = as_list(ranks(bounds.least, literals, after=False))
    end = as_list(ranks(bounds.greatest, literals, after=True))
    if type.floating and not bounds.shared and literals and literals[-1] != literals[-1]:
        end = [len(literals)] * len(end)  # NaN may be in any float column
    end = [0 if state >= ONLY_NULL else stop for stop, state in zip(end, as_list(bounds.nulls), strict=True)]
    return _TuplePositions([positions[order_key(value)] for value in values], first, end)


def _possible(columns: Sequence[_TuplePositions], container: int) -> bool:
    """Return whether a container may have one of the tuples."""
    ranges = [(column.first[container], column.end[container]) for column in columns]
    return any(
        all(first <= position < end for position, (first, end) in zip(row, ranges, strict=True))
        for row in zip(*(column.positions for column in columns), strict=True)
    )


def _all_possible(columns: Sequence[_TuplePositions], count: int) -> list[bool]:
    """Return for each container whether it may have one of the tuples.

    The tuples are sorted by the column whose ranges allow the fewest of them. Only tuples within a
    container's range of that column are compared with its other ranges.
    """
    arrays = [tuple(np.array(each, np.int64) for each in column) for column in columns]
    order, start, counts = min(map(_sorted_by_column, arrays), key=lambda column: int(column[2].sum()))
    until = np.cumsum(counts)
    possible = np.zeros(count, np.bool_)
    here = 0
    while here < count:
        done = until[here] - counts[here]
        there = max(here + 1, int(np.searchsorted(until, done + _PAIRS_PER_BATCH, "right")))
        container = np.repeat(np.arange(here, there), counts[here:there])
        before = np.repeat(until[here:there] - counts[here:there] - done, counts[here:there])
        row = order[start[container] + np.arange(len(container)) - before]
        fits = np.ones(len(row), np.bool_)
        for positions, first, end in arrays:
            fits &= (first[container] <= positions[row]) & (positions[row] < end[container])
        possible[container[fits]] = True
        here = there
    return possible.tolist()


def _sorted_by_column(column: tuple[NDArray[np.int64], ...]) -> tuple[NDArray[np.int64], ...]:
    """Return the tuples sorted by a column, and each container's first tuple and number of tuples.

    A column with few values may allow a container half of all tuples, another column a single one.
    """
    positions, first, end = column
    order = np.argsort(positions)
    start, stop = (np.searchsorted(positions[order], limit) for limit in (first, end))
    return order, start, np.maximum(stop - start, 0)


def _decided(leaf: TupleIn, constant: Sequence[Bounds], possible: Sequence[bool]) -> Codes:
    """Return the truth for containers whose values are exact: there a possible tuple makes it TRUE."""
    exotic = any(None in row for row in leaf.rows)  # with NULL on either side, FALSE may be NULL instead
    states = [as_list(bounds.nulls) for bounds in constant]
    values = [as_list(bounds.least) for bounds in constant]

    def truth(container: int) -> int:
        if possible[container]:
            return TRUE
        null = [state[container] == ONLY_NULL for state in states]
        if not exotic and not any(null):
            return FALSE
        row = [None if none else column[container] for none, column in zip(null, values, strict=True)]
        return CODES_OF_TRUTH[evaluate(leaf, dict(zip(leaf.columns, row, strict=True)))]

    return codes([truth(container) for container in range(len(possible))])
