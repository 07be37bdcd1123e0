"""Leaves of a condition, judged by the bounds of their column: a comparison, IN, IS NULL, LIKE.

Each is judged in two looks. First the rows that are not NULL: how do least and greatest compare with the literal?
For `n = 5`, of three containers:

    least    greatest    least is    greatest is    outcomes
    1        4           LESS        LESS           FALSE
    1        9           LESS        GREATER        TRUE or FALSE
    5        5           EQUAL       EQUAL          TRUE

Then NULL, for which `n = 5` is NULL: where rows may be NULL it is one outcome more, where all are the only one.
"""

from __future__ import annotations

from typing import Any

from parquetry.predicate.like import Rest, head, matcher
from parquetry.predicate.nodes import OPERATORS, Compare, In, IsNull, Like
from parquetry.predicate.pruning.held_values import (
    EQUAL,
    GREATER,
    LESS,
    Values,
    compare_pairs,
    compare_with,
    hold,
    listed,
    ranks,
)
from parquetry.predicate.pruning.knowledge import ONLY_NULL, Bounds
from parquetry.predicate.pruning.truth_sets import (
    EITHER,
    FALSE,
    NULL,
    TRUE,
    Codes,
    Lookup,
    Lookup2,
    codes,
    same,
)
from parquetry.types import text_from_value


def judge_leaf(leaf: Compare | In | IsNull | Like, known: Bounds) -> Codes:
    """Return the outcomes of a leaf over all rows that the bounds allow; no rows, no outcomes.

    >>> from parquetry.types import parse_type
    >>> int_ = parse_type('int')
    >>> known = Bounds.of_statistics(int_, [1, 1, 5], [4, 9, 5], [0, 1, 0])
    >>> judge_leaf(Compare('=', 'n', 5, int_), known)
    [2, 7, 1]
    """
    nulls = known.nulls
    match leaf:
        case Compare() if leaf.value is not None:
            return (_NULL_IS_FALSE if leaf.op == "<=>" else _NULL_IS_NULL)(_compared(leaf, known), nulls)
        case Compare():
            return _IS_NULL(nulls) if leaf.op == "<=>" else _ALWAYS[NULL](nulls)
        case In() if leaf.values:
            return _NULL_IS_NULL(_contained(leaf, known), nulls)
        case In():
            return _ALWAYS[NULL if leaf.has_null else FALSE](nulls)  # `IN ()` is FALSE for NULL, too
        case IsNull():
            return _IS_NULL(nulls)
        case Like():
            return _NULL_IS_NULL(_value_like(leaf, known) if known.shared else _like(leaf, known), nulls)


def _with_null(of_null: int) -> Lookup2:
    """Make the table from the outcomes for rows that are not NULL, and which of all are NULL, to those for all rows."""
    return Lookup2([[one, one | of_null, of_null, 0] for one in range(8)])


_NULL_IS_NULL, _NULL_IS_FALSE = _with_null(NULL), _with_null(FALSE)
_IS_NULL = Lookup([FALSE, EITHER, TRUE, 0])
_ALWAYS = {truth: Lookup([truth, truth, truth, 0]) for truth in (FALSE, NULL)}


def _outcomes(op: str, below: bool, within: bool, above: bool) -> int:
    """Give the outcomes over rows that may lie below the literal, be equal to it, or lie above it."""
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


def _by_bounds(op: str, hidden: bool) -> Lookup2:
    """Make the table from how the bounds compare with a literal to the outcomes; `hidden` rows may be NaN, above it."""
    return Lookup2(
        [
            [
                _outcomes(op, low == LESS, low != GREATER and high != LESS, high == GREATER or hidden)
                for high in (LESS, EQUAL, GREATER)
            ]
            for low in (LESS, EQUAL, GREATER)
        ]
    )


_BY_BOUNDS = {(op, hidden): _by_bounds(op, hidden) for op in OPERATORS for hidden in (False, True)}


def _compared(leaf: Compare, known: Bounds) -> Codes:
    hidden = leaf.type.floating and not known.shared
    if hidden and leaf.value != leaf.value:
        # Nothing is above NaN, and NaN itself may be there although no bound shows it.
        return same(_outcomes(leaf.op, below=True, within=True, above=False), len(known.nulls))
    return _BY_BOUNDS[leaf.op, hidden](*_compare_bounds(known.least, known.greatest, leaf.value))


def _compare_bounds(least: Values, greatest: Values, literal: Any) -> tuple[Codes, Codes]:
    low = compare_with(least, literal)
    return low, low if greatest is least else compare_with(greatest, literal)


def _contained(leaf: In, known: Bounds) -> Codes:
    otherwise = NULL if leaf.has_null else FALSE
    hidden = leaf.type.floating and not known.shared
    if hidden and leaf.values[-1] != leaf.values[-1]:
        return same(TRUE | otherwise, len(known.nulls))  # NaN may be in any float column
    # Of the literals 10, 20, 30 one is less than 15 and two are not greater than 25: one lies from 15 to 25.
    less = ranks(known.least, leaf.values, after=False)
    not_greater = ranks(known.greatest, leaf.values, after=True)
    single = same(LESS, len(known.nulls)) if hidden else _single(known)
    some = TRUE | otherwise
    table = Lookup2([[some, TRUE, some], [otherwise] * 3, [otherwise] * 3])
    return table(compare_pairs(less, not_greater), single)


def _single(known: Bounds) -> Codes:
    """Say where least and greatest are EQUAL, so that there is one value only."""
    if known.greatest is known.least:
        return same(EQUAL, len(known.nulls))
    return compare_pairs(known.least, known.greatest)


def _like(leaf: Like, known: Bounds) -> Codes:
    """Judge the text that the pattern begins with: beginnings of that length are ordered as the texts are."""
    if not leaf.type.textual:
        return same(EITHER, len(known.nulls))
    text, rest = head(leaf.pattern, leaf.escape)
    least, greatest = known.least, known.greatest
    if rest is not Rest.NOTHING:
        least, greatest = _beginnings(least, len(text)), _beginnings(greatest, len(text))
    found = _BY_BOUNDS["=", False](*_compare_bounds(least, greatest, text))
    return found if rest is not Rest.MORE else _PERHAPS(found)


_PERHAPS = Lookup([one | FALSE if one & TRUE else one for one in range(8)])


def _beginnings(texts: Values, length: int) -> Values:
    if not length:
        return hold([""] * len(texts), object, lowest=True)
    cut = [text[:length] if isinstance(text, str) else text for text in listed(texts)]
    return hold(cut, object, lowest=True)


def _value_like(leaf: Like, known: Bounds) -> Codes:
    """Match the values themselves, one by one; of what is no text, the text that it has in a path."""
    matches = matcher(leaf.pattern, leaf.escape)

    def outcomes(value: Any, single: int, nulls: int) -> int:
        if single != EQUAL or nulls >= ONLY_NULL:
            return EITHER
        text = value if isinstance(value, str) else text_from_value(leaf.type, value)
        return TRUE if matches(text) else FALSE

    return codes(list(map(outcomes, listed(known.least), listed(_single(known)), listed(known.nulls))))
