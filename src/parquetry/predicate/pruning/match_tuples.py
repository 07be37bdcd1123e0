"""Tuple IN, judged by the bounds of its columns: `(a, b) IN ((1, 2), (3, 4), (7, NULL))`.

A tuple may be in a container if each of its values lies within the bounds of its column; one with NULL never is. The
literals of a column are put in order, and the bounds become a range of their positions, so all that is compared for
each tuple and container are small numbers:

    column a: 1, 3         container with a from 2 to 9:    1 <= position < 2
    column b: 2, 4         the same, b always 4:            1 <= position < 2
    tuples as positions: (0, 0), (1, 1)                     the second may be in there
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.nodes import TupleIn
from parquetry.predicate.pruning.held_values import listed, ranks
from parquetry.predicate.pruning.knowledge import ONLY_NULL, Bounds
from parquetry.predicate.pruning.truth_sets import ANY, FALSE, NULL, OF_TRUTH, TRUE, Codes, codes
from parquetry.types import ColumnType, Value, order_key

_FEW_PAIRS = 64
"""Pairs of a tuple and a container, up to which they are compared one by one."""
_MOST_PAIRS = 1 << 20
"""Pairs that are compared in one go."""


class _Column(NamedTuple):
    """Where the tuples' values of a column stand among its literals, and the range that each container allows."""

    positions: list[int]
    first: list[int]
    end: list[int]


def judge_tuples(leaf: TupleIn, known: Sequence[Bounds | None], count: int) -> Codes:
    """Return the outcomes of a tuple IN over all rows that the bounds of its columns allow.

    Args:
        leaf: the condition.
        known: of each of its columns; None where nothing is known.
        count: how many containers there are.
    """
    tuples = [row for row in leaf.rows if None not in row]
    columns = [
        _column(bounds, type, [row[place] for row in tuples])
        for place, (bounds, type) in enumerate(zip(known, leaf.types, strict=True))
        if bounds is not None
    ]
    if not columns or not tuples:
        possible = [bool(tuples)] * count
    elif count * len(tuples) <= _FEW_PAIRS:
        possible = [_possible(columns, container) for container in range(count)]
    else:
        possible = _all_possible(columns, count)
    shared = [
        bounds for bounds in known if bounds is not None and bounds.shared and bounds.least is bounds.greatest
    ]
    if len(shared) == len(known):
        return _decided(leaf, shared, possible)
    return codes([ANY if each else FALSE | NULL for each in possible])


def _column(bounds: Bounds, type: ColumnType, values: Sequence[Value]) -> _Column:
    by_key = {order_key(value): value for value in values}
    keys = sorted(by_key)
    places = {key: place for place, key in enumerate(keys)}
    literals = [by_key[key] for key in keys]
    first = listed(ranks(bounds.least, literals, after=False))
    end = listed(ranks(bounds.greatest, literals, after=True))
    if type.floating and not bounds.shared and literals and literals[-1] != literals[-1]:
        end = [len(literals)] * len(end)  # NaN may be in any float column
    end = [0 if state >= ONLY_NULL else stop for stop, state in zip(end, listed(bounds.nulls), strict=True)]
    return _Column([places[order_key(value)] for value in values], first, end)


def _possible(columns: Sequence[_Column], container: int) -> bool:
    """Say whether one of the tuples may be in a container."""
    ranges = [(column.first[container], column.end[container]) for column in columns]
    return any(
        all(first <= position < end for position, (first, end) in zip(row, ranges, strict=True))
        for row in zip(*(column.positions for column in columns), strict=True)
    )


def _all_possible(columns: Sequence[_Column], count: int) -> list[bool]:
    """Say of each container whether one of the tuples may be in it.

    The tuples are put in order by the column that leaves the fewest, and only those that it leaves to a container
    are compared with the ranges of the others.
    """
    arrays = [tuple(np.array(each, np.int64) for each in column) for column in columns]
    order, start, left = min(map(_by_column, arrays), key=lambda column: int(column[2].sum()))
    until = np.cumsum(left)
    possible = np.zeros(count, np.bool_)
    here = 0
    while here < count:
        done = until[here] - left[here]
        there = max(here + 1, int(np.searchsorted(until, done + _MOST_PAIRS, "right")))
        container = np.repeat(np.arange(here, there), left[here:there])
        before = np.repeat(until[here:there] - left[here:there] - done, left[here:there])
        row = order[start[container] + np.arange(len(container)) - before]
        fits = np.ones(len(row), np.bool_)
        for positions, first, end in arrays:
            fits &= (first[container] <= positions[row]) & (positions[row] < end[container])
        possible[container[fits]] = True
        here = there
    return possible.tolist()


def _by_column(column: tuple[NDArray[np.int64], ...]) -> tuple[NDArray[np.int64], ...]:
    """Return the tuples in the order of a column, and for each container the first that the column leaves, and how many.

    A column of few values may leave half of all tuples to a container, another one a single tuple.
    """
    positions, first, end = column
    order = np.argsort(positions)
    start, stop = (np.searchsorted(positions[order], limit) for limit in (first, end))
    return order, start, np.maximum(stop - start, 0)


def _decided(leaf: TupleIn, shared: Sequence[Bounds], possible: Sequence[bool]) -> Codes:
    """Return the truth for containers of which all the values are known: what is possible is TRUE there."""
    exotic = any(None in row for row in leaf.rows)  # with NULL on either side, what is not TRUE may be NULL
    states = [listed(bounds.nulls) for bounds in shared]
    values = [listed(bounds.least) for bounds in shared]

    def truth(container: int) -> int:
        if possible[container]:
            return TRUE
        null = [state[container] == ONLY_NULL for state in states]
        if not exotic and not any(null):
            return FALSE
        row = [None if none else held[container] for none, held in zip(null, values, strict=True)]
        return OF_TRUTH[evaluate(leaf, dict(zip(leaf.columns, row, strict=True)))]

    return codes([truth(container) for container in range(len(possible))])
