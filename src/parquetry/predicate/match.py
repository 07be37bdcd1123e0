"""Whether rows that are known only in part can satisfy a condition: the one rule of all pruning.

A part of the condition is judged by the *set* of truth values it may take over the rows in question. AND, OR
and NOT work on such sets, so a NULL is never mistaken for FALSE under a NOT:

| outcomes of the whole          | answer   | to a scan                                             |
|--------------------------------|----------|-------------------------------------------------------|
| TRUE is not among them         | `CANNOT` | leave the rows out                                    |
| TRUE and others                | `MIGHT`  | read, and test each row                               |
| TRUE alone                     | `MUST`   | read; no row needs the test                           |

What is unknown may take all three. So an answer may keep too much, never too little. Which rows are in
question, and where the knowledge comes from, is for `prune` to say: known values (`match_values`) or least
and greatest values (`match_bounds`).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum

from parquetry.predicate.evaluate import compare, evaluate
from parquetry.predicate.like import Rest, head
from parquetry.predicate.nodes import (
    And,
    Compare,
    Constant,
    In,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    Predicate,
    TupleIn,
)
from parquetry.types import ColumnType, Value, order_key


class Match(Enum):
    """What rows known in part can do about a condition."""

    CANNOT = "cannot"
    """No row satisfies it."""
    MIGHT = "might"
    """Some rows may satisfy it."""
    MUST = "must"
    """Every row satisfies it."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is known of a column over some rows, as file statistics tell it.

    Attributes:
        min: no value is less; may be less than the least, as truncated text is. None is unknown.
        max: no value is greater; may be greater than the greatest. None is unknown. NaN takes no part in
            either: a float column may always hold it.
        nulls: how many rows are NULL; None is unknown.
        rows: how many rows there are; None is unknown.
        min_exact: whether `min` is the least value itself.
        max_exact: whether `max` is the greatest value itself.
        all_null: whether every row is NULL, as in a file written before the column was added.
    """

    min: Value = None
    max: Value = None
    nulls: int | None = None
    rows: int | None = None
    min_exact: bool = True
    max_exact: bool = True
    all_null: bool = False


_TRUE, _FALSE, _NULL = 1, 2, 4
_ANY = _TRUE | _FALSE | _NULL
_OUTCOME: dict[bool | None, int] = {True: _TRUE, False: _FALSE, None: _NULL}
_NOT = [(s & _NULL) | (_TRUE if s & _FALSE else 0) | (_FALSE if s & _TRUE else 0) for s in range(8)]


def _and_sets(left: int, right: int) -> int:
    result = (left | right) & _FALSE
    if left & _TRUE and right & _TRUE:
        result |= _TRUE
    if (left & _NULL and right & (_TRUE | _NULL)) or (right & _NULL and left & (_TRUE | _NULL)):
        result |= _NULL
    return result


_AND = [[_and_sets(left, right) if left and right else 0 for right in range(8)] for left in range(8)]
_MATCH = [Match.MUST if s == _TRUE else Match.MIGHT if s & _TRUE else Match.CANNOT for s in range(8)]


def match_values(node: Predicate, row: Mapping[str, Value]) -> Match:
    """Judge rows that share the values of some columns, as the rows of a partition or a skew directory do.

    With a value for every column it is about, a condition is decided: `MUST` where it is TRUE, else `CANNOT`.

    Args:
        node: the condition, bound to its columns' types.
        row: the shared values; None is NULL, a column that is not there is unknown.

    >>> from parquetry.types import ColumnType
    >>> day = Compare('=', 'day', 3, ColumnType('int'))
    >>> match_values(day, {'day': 3}), match_values(day, {'day': 4}), match_values(day, {})
    (<Match.MUST: 'must'>, <Match.CANNOT: 'cannot'>, <Match.MIGHT: 'might'>)
    """

    def known(leaf: Predicate) -> int:
        match leaf:
            case Opaque(implied=implied):
                return _of_implied(implied, known)
            case TupleIn():
                return _tuple_of_values(leaf, row)
            case And() | Or() | Not():
                raise AssertionError(f"{leaf} is no leaf")
            case Constant(truth):
                return _OUTCOME[truth]
            case In(column) if len(leaf.values) > 1:
                return _in_of_value(leaf, row[column]) if column in row else _ANY
        return _OUTCOME[evaluate(leaf, row)] if leaf.column in row else _ANY

    return _MATCH[_outcomes(node, known)]


def match_bounds(node: Predicate, bounds: Callable[[str], Bounds | None]) -> Match:
    """Judge rows of which the least and greatest values are known, as those of a file or a row group are.

    Args:
        node: the condition, bound to its columns' types.
        bounds: gives what is known of a column by its name in the condition; None is nothing.

    >>> from parquetry.types import ColumnType
    >>> match_bounds(Compare('>', 'n', 9, ColumnType('int')), {'n': Bounds(1, 5, nulls=0)}.get)
    <Match.CANNOT: 'cannot'>
    """

    def known(leaf: Predicate) -> int:
        match leaf:
            case Opaque(implied=implied):
                return _of_implied(implied, known)
            case Constant(truth):
                return _OUTCOME[truth]
            case Compare(column=column) | In(column=column) | IsNull(column) | Like(column=column):
                found = bounds(column)
                if found is None:
                    return _null_safe(leaf) if isinstance(leaf, IsNull | Compare) else _ANY
                return _of_bounds(leaf, found)
            case TupleIn():
                return _tuple_of_bounds(leaf, bounds)
        return _ANY

    return _MATCH[_outcomes(node, known)]


def _outcomes(node: Predicate, known: Callable[[Predicate], int]) -> int:
    match node:
        case And(children):
            result = _TRUE
            for child in children:
                result = _AND[result][_outcomes(child, known)]
                if result == _FALSE or not result:
                    break
            return result
        case Or(children):
            result = _FALSE
            for child in children:
                result = _NOT[_AND[_NOT[result]][_NOT[_outcomes(child, known)]]]
                if result == _TRUE or not result:
                    break
            return result
        case Not(child):
            return _NOT[_outcomes(child, known)]
    return known(node)


def _of_implied(implied: Predicate | None, known: Callable[[Predicate], int]) -> int:
    """Give the outcomes of a condition of which only what it implies is understood."""
    if implied is None or _outcomes(implied, known) & _TRUE:
        return _ANY
    return _FALSE | _NULL


def _null_safe(leaf: IsNull | Compare) -> int:
    return _TRUE | _FALSE if isinstance(leaf, IsNull) or leaf.op == "<=>" else _ANY


def _in_of_value(leaf: In, value: Value) -> int:
    """Decide an IN by bisection: run-time filters bring thousands of values for thousands of partitions."""
    if value is None:
        return _NULL
    key = order_key(value)
    found = bisect_left(leaf.values, key, key=order_key)
    if found < len(leaf.values) and order_key(leaf.values[found]) == key:
        return _TRUE
    return _NULL if leaf.has_null else _FALSE


def _tuple_of_values(leaf: TupleIn, row: Mapping[str, Value]) -> int:
    if all(name in row for name in leaf.columns):
        return _OUTCOME[evaluate(leaf, row)]
    known = [(position, row[name]) for position, name in enumerate(leaf.columns) if name in row]
    for items in leaf.rows:
        if all(compare("=", value, items[position]) for position, value in known):
            return _ANY
    return _FALSE | _NULL


def _tuple_of_bounds(leaf: TupleIn, bounds: Callable[[str], Bounds | None]) -> int:
    ranges = [bounds(name) for name in leaf.columns]
    for items in leaf.rows:
        if all(
            item is not None and (found is None or _of_bounds(Compare("=", name, item, type), found) & _TRUE)
            for name, item, type, found in zip(leaf.columns, items, leaf.types, ranges, strict=True)
        ):
            return _ANY
    return _FALSE | _NULL


def _of_bounds(leaf: Compare | In | IsNull | Like, known: Bounds) -> int:
    """Give the outcomes of a leaf over all rows that the bounds allow; no rows, no outcomes."""
    if known.rows == 0:
        return 0
    counted = known.rows is not None and known.nulls is not None
    only_null = known.all_null or (counted and known.nulls == known.rows)
    some_null = only_null or known.nulls is None or known.nulls > 0
    if isinstance(leaf, IsNull):
        return (_TRUE if some_null else 0) | (0 if only_null else _FALSE)
    if isinstance(leaf, Compare) and leaf.value is None:
        if leaf.op != "<=>":
            return _NULL
        return (_TRUE if some_null else 0) | (0 if only_null else _FALSE)
    null_outcome = _FALSE if isinstance(leaf, Compare) and leaf.op == "<=>" else _NULL
    result = null_outcome if some_null else 0
    if only_null:
        # `IN ()` is FALSE for NULL too.
        return _FALSE if isinstance(leaf, In) and not leaf.values and not leaf.has_null else result
    low, high = _limits(leaf.type, known)
    if isinstance(leaf, Like):
        return result | _like(leaf, low, high)
    if isinstance(leaf, In):
        return _contained(leaf, low, high, result)
    return result | _comparison(leaf.op, leaf.value, low, high, leaf.type.floating)


def _limits(type: ColumnType, known: Bounds) -> tuple[Value, Value]:
    """Give the bounds as far as they can be trusted; None is none."""
    low, high = known.min, known.max
    if type.floating and ((low is not None and low != low) or (high is not None and high != high)):
        return None, None  # a writer that let NaN into its statistics may have lost the rest
    if type.name == "char":
        # Another writer's texts come without the padding that ours are compared with.
        low = low.ljust(type.length) if isinstance(low, str) and known.min_exact else low
        high = (high.ljust(type.length) if known.max_exact else None) if isinstance(high, str) else high
    if low is not None and high is not None and _less(high, low):
        return None, None
    return low, high


def _less(left: Value, right: Value) -> bool:
    return bool(order_key(left) < order_key(right))


def _comparison(op: str, value: Value, low: Value, high: Value, floating: bool) -> int:
    """Give the outcomes over the rows that are not NULL; `floating` rows may be NaN, which no bound shows."""
    below = low is None or _less(low, value)  # may some row be less than the literal?
    above = high is None or _less(value, high) or floating
    within = (low is None or not _less(value, low)) and (high is None or not _less(high, value))
    if value != value:
        # Nothing is above NaN, and NaN itself may be there although no bound shows it.
        below, above, within = True, False, True
    if op == "=" or op == "<=>":
        may_hold, may_fail = within, below or above
    elif op == "!=":
        may_hold, may_fail = below or above, within
    elif op == "<":
        may_hold, may_fail = below, within or above
    elif op == "<=":
        may_hold, may_fail = below or within, above
    elif op == ">":
        may_hold, may_fail = above, below or within
    else:
        may_hold, may_fail = above or within, below
    return (_TRUE if may_hold else 0) | (_FALSE if may_fail else 0)


def _contained(leaf: In, low: Value, high: Value, nulls: int) -> int:
    otherwise = _NULL if leaf.has_null else _FALSE
    if not leaf.values:
        return otherwise if leaf.has_null else _FALSE
    values = leaf.values
    first = 0 if low is None else bisect_left(values, order_key(low), key=order_key)
    # The first literal not less than `low` decides, save that NaN may be in any float column.
    candidate = first < len(values) and (high is None or not _less(high, values[first]))
    candidate = candidate or (leaf.type.floating and values[-1] != values[-1])
    if not candidate:
        return nulls | otherwise
    single = low is not None and high is not None and order_key(low) == order_key(high)
    return nulls | (_TRUE if single and not leaf.type.floating else _TRUE | otherwise)


def _like(leaf: Like, low: Value, high: Value) -> int:
    if leaf.type.name not in ("string", "varchar", "char"):
        return _TRUE | _FALSE
    text, rest = head(leaf.pattern, leaf.escape)
    if rest is Rest.NOTHING:
        return _comparison("=", text, low, high, floating=False)
    if (isinstance(low, str) and low[: len(text)] > text) or (isinstance(high, str) and high < text):
        return _FALSE
    all_hold = (
        rest is Rest.ANYTHING
        and (not text or (isinstance(low, str) and isinstance(high, str)))
        and (not text or (str(low).startswith(text) and str(high).startswith(text)))
    )
    return _TRUE if all_hold else _TRUE | _FALSE
