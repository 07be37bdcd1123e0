"""Judge the leaves of a condition by the bounds of their column: comparison, IN, IS NULL, LIKE.

Each leaf is judged in two steps. The first step looks at rows that are not NULL: it compares the least and
the greatest value with the literal. For `n = 5` and three containers:

    least    greatest    least is    greatest is    outcomes
    1        4           LESS        LESS           FALSE
    1        9           LESS        GREATER        TRUE or FALSE
    5        5           EQUAL       EQUAL          TRUE

The second step adds NULL, since `n = 5` is NULL for NULL. If some rows may be NULL, NULL is one more outcome;
if all rows are NULL, it is the only one.

A tuple IN is judged by the bounds of its columns: `(a, b) IN ((1, 2), (3, 4), (7, NULL))`.

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

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from parquetry.predicate.evaluate import evaluate
from parquetry.predicate.functions.values import NO_NULL, ONLY_NULL
from parquetry.predicate.like import Rest, head, matcher
from parquetry.predicate.nodes import OPERATORS, Compare, In, IsNull, Like, TupleIn
from parquetry.predicate.pruning.held_values import (
    EQUAL,
    GREATER,
    LESS,
    Values,
    as_list,
    compare_pairs,
    compare_with,
    ranks,
    value_array,
)
from parquetry.predicate.pruning.knowledge import Bounds
from parquetry.predicate.pruning.truth_sets import (
    ANY,
    CODES_OF_TRUTH,
    EITHER,
    FALSE,
    MAX_LISTED_CONTAINERS,
    NULL,
    TRUE,
    Codes,
    Lookup,
    Lookup2,
    any_of,
    codes,
    same,
)
from parquetry.types import ColumnType, Value, order_key, text_from_value


def leaf_outcomes(leaf: Compare | In | IsNull | Like, bounds: Bounds) -> Codes:
    """Return the outcomes of a leaf over all rows that the bounds allow; no rows, no outcomes.

    >>> from parquetry.types import parse_type
    >>> int_ = parse_type('int')
    >>> bounds = Bounds.from_statistics(int_, [1, 1, 5], [4, 9, 5], [0, 1, 0])
    >>> leaf_outcomes(Compare('=', 'n', 5, int_), bounds)
    [2, 7, 1]
    """
    nulls = bounds.nulls
    match leaf:
        case Compare() if leaf.value is not None:
            return (_NULL_IS_FALSE if leaf.op == "<=>" else _NULL_IS_NULL)(_compared(leaf, bounds), nulls)
        case Compare():
            return _IS_NULL(nulls) if leaf.op == "<=>" else _CONSTANT_OUTCOMES[NULL](nulls)
        case In() if leaf.values:
            return _NULL_IS_NULL(_contained(leaf, bounds), nulls)
        case In():
            return _CONSTANT_OUTCOMES[NULL if leaf.has_null else FALSE](
                nulls
            )  # `IN ()` is FALSE for NULL, too
        case IsNull():
            return _IS_NULL(nulls)
        case Like():
            return _NULL_IS_NULL(_value_like(leaf, bounds) if bounds.shared else _like(leaf, bounds), nulls)


def _with_null(of_null: int) -> Lookup2:
    """Make the table that adds NULL to outcomes, by the code for the rows that are NULL."""
    return Lookup2([[one, one | of_null, of_null, 0] for one in range(8)])


_NULL_IS_NULL, _NULL_IS_FALSE = _with_null(NULL), _with_null(FALSE)
_IS_NULL = Lookup([FALSE, EITHER, TRUE, 0])
_CONSTANT_OUTCOMES = {truth: Lookup([truth, truth, truth, 0]) for truth in (FALSE, NULL)}


def _outcomes(op: str, below: bool, within: bool, above: bool) -> int:
    """Return the outcomes over rows that may be below the literal, equal to it, or above it."""
    holding = {
        "=": (within, below or above),
        "<=>": (within, below or above),
        "!=": (below or above, within),
        "<": (below, within or above),
        "<=": (below or within, above),
        ">": (above, below or within),
        ">=": (above or within, below),
    }
    may_hold, may_fail = holding[op]
    return (TRUE if may_hold else 0) | (FALSE if may_fail else 0)


def _bounds_table(op: str, hidden: bool) -> Lookup2:
    """Make the table from comparisons of the bounds to outcomes; `hidden` rows may be NaN, above all."""
    return Lookup2(
        [
            [
                _outcomes(op, low == LESS, low != GREATER and high != LESS, high == GREATER or hidden)
                for high in (LESS, EQUAL, GREATER)
            ]
            for low in (LESS, EQUAL, GREATER)
        ]
    )


_BOUNDS_TABLES = {(op, hidden): _bounds_table(op, hidden) for op in OPERATORS for hidden in (False, True)}


def _by_hidden_nan(bounds: Bounds, type: ColumnType, outcomes: Callable[[bool], Codes]) -> Codes:
    """Judge containers that may have NaN although no bound shows it, and the others."""
    hidden = bounds.hidden_nan(type)
    if isinstance(hidden, bool):
        return outcomes(hidden)
    mixed = np.where(hidden, *(np.asarray(outcomes(each), np.uint8) for each in (True, False)))
    return codes(mixed.tolist()) if len(mixed) <= MAX_LISTED_CONTAINERS else mixed


def _compared(leaf: Compare, bounds: Bounds) -> Codes:
    def compared(hidden: bool) -> Codes:
        if leaf.value != leaf.value and leaf.type.floating and not bounds.shared:
            # no value is above NaN, and no bound is NaN
            return same(_outcomes(leaf.op, below=True, within=hidden, above=False), len(bounds.nulls))
        return _BOUNDS_TABLES[leaf.op, hidden](*_compare_bounds(bounds.least, bounds.greatest, leaf.value))

    return _by_hidden_nan(bounds, leaf.type, compared)


def _compare_bounds(least: Values, greatest: Values, literal: Any) -> tuple[Codes, Codes]:
    low = compare_with(least, literal)
    return low, low if greatest is least else compare_with(greatest, literal)


def _contained(leaf: In, bounds: Bounds) -> Codes:
    return _by_hidden_nan(bounds, leaf.type, lambda hidden: _one_of(leaf, bounds, hidden=hidden))


def _one_of(leaf: In, bounds: Bounds, *, hidden: bool) -> Codes:
    otherwise = NULL if leaf.has_null else FALSE
    if hidden and leaf.values[-1] != leaf.values[-1]:
        return same(TRUE | otherwise, len(bounds.nulls))
    # Literals 10, 20, 30 and bounds 15 to 25: one literal is less than 15, two are not greater than 25, so
    # one is within.
    less = ranks(bounds.least, leaf.values, after=False)
    not_greater = ranks(bounds.greatest, leaf.values, after=True)
    single = same(LESS, len(bounds.nulls)) if hidden else _single(bounds)
    some = TRUE | otherwise
    table = Lookup2([[some, TRUE, some], [otherwise] * 3, [otherwise] * 3])
    return table(compare_pairs(less, not_greater), single)


def _single(bounds: Bounds) -> Codes:
    """Return EQUAL where least and greatest are equal, so that the container has one value only."""
    if bounds.greatest is bounds.least:
        return same(EQUAL, len(bounds.nulls))
    return compare_pairs(bounds.least, bounds.greatest)


def _like(leaf: Like, bounds: Bounds) -> Codes:
    """Judge the pattern's literal beginning: prefixes of one length sort in the order of the texts.

    A container's only text is compared with the whole pattern.
    """
    if not leaf.type.textual:
        return same(EITHER, len(bounds.nulls))
    text, rest = head(leaf.pattern, leaf.escape)
    least, greatest = bounds.least, bounds.greatest
    if rest is not Rest.NOTHING:
        least, greatest = _beginnings(least, len(text)), _beginnings(greatest, len(text))
    outcomes = _BOUNDS_TABLES["=", False](*_compare_bounds(least, greatest, text))
    if rest is not Rest.MORE or not any_of(outcomes, TRUE):
        return outcomes
    outcomes = _TRUE_OR_FALSE(outcomes)
    if not leaf.type.facts.plain:
        return outcomes
    found, matches = list(map(int, outcomes)), matcher(leaf.pattern, leaf.escape)
    values, single = as_list(bounds.least), as_list(_single(bounds))
    for place, code in enumerate(found):
        if code & TRUE and single[place] == EQUAL and isinstance(values[place], str):
            found[place] = TRUE if matches(values[place]) else FALSE
    return codes(found)


_TRUE_OR_FALSE = Lookup([one | FALSE if one & TRUE else one for one in range(8)])


def _beginnings(texts: Values, length: int) -> Values:
    if not length:
        return value_array([""] * len(texts), object, lowest=True)
    beginnings = [text[:length] if isinstance(text, str) else text for text in as_list(texts)]
    return value_array(beginnings, object, lowest=True)


def _value_like(leaf: Like, bounds: Bounds) -> Codes:
    """Match the exact values one by one; a value that is not text is first written as in a path."""
    matches = matcher(leaf.pattern, leaf.escape)

    def outcomes(value: Any, single: int, nulls: int) -> int:
        if single != EQUAL or nulls >= ONLY_NULL:
            return EITHER
        text = value if isinstance(value, str) else text_from_value(leaf.type, value)
        return TRUE if matches(text) else FALSE

    return codes(list(map(outcomes, as_list(bounds.least), as_list(_single(bounds)), as_list(bounds.nulls))))


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
    single = _of_one_tuple(leaf, all_bounds, count)
    return codes(
        [
            (TRUE if only else ANY) if each else FALSE | NULL
            for each, only in zip(possible, single, strict=True)
        ]
    )


def _of_one_tuple(leaf: TupleIn, all_bounds: Sequence[Bounds | None], count: int) -> list[bool]:
    """Return whether each column has one value, never NULL, in all rows of a container."""
    single = [True] * count
    for bounds, type in zip(all_bounds, leaf.types, strict=True):
        if bounds is None or not type.facts.plain:
            return [False] * count
        states, pairs = as_list(bounds.nulls), as_list(_single(bounds))
        single = [
            before and state == NO_NULL and pair == EQUAL
            for before, state, pair in zip(single, states, pairs, strict=True)
        ]
    return single


def _column(bounds: Bounds, type: ColumnType, values: Sequence[Value]) -> _TuplePositions:
    by_key = {order_key(value): value for value in values}
    keys = sorted(by_key)
    positions = {key: position for position, key in enumerate(keys)}
    literals = [by_key[key] for key in keys]
    first = as_list(ranks(bounds.least, literals, after=False))
    end = as_list(ranks(bounds.greatest, literals, after=True))
    hidden = bounds.hidden_nan(type)
    if hidden is not False and literals and literals[-1] != literals[-1]:
        nan = [True] * len(end) if hidden is True else np.asarray(hidden).tolist()
        end = [len(literals) if may_be else stop for stop, may_be in zip(end, nan, strict=True)]
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
