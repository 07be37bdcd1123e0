"""List the few combinations of values that some columns must have for a condition to be TRUE.

Partitions and buckets place rows by the values of columns. These combinations name the few partitions and
buckets that a query has to read.

| condition                                  | allowed for `(a, b)`                      |
|--------------------------------------------|-------------------------------------------|
| `a = 1 AND b IN (2, 3)`                    | (1, 2), (1, 3)                            |
| `(a, b) IN ((1, 2), (3, NULL))`            | (1, 2), since a row with NULL equals none |
| `a = 1 AND b = 2 OR a = 5 AND b IS NULL`   | (1, 2), (5, NULL)                         |
| `a IN (1, 2) AND b > 7`                    | not known: b may be any value above 7     |
| `a = 1 AND a = 2 AND b > 7`                | none: no row can satisfy it               |

The list is an upper bound: a row with one of these combinations need not satisfy the condition.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from parquetry.predicate.nodes import (
    And,
    BooleanConstant,
    Compare,
    In,
    IsNull,
    Opaque,
    Or,
    Predicate,
    TupleIn,
)
from parquetry.types import Value, order_key

Row: TypeAlias = tuple[Value, ...]
"""A combination of values; None is NULL."""


def allowed_values(node: Predicate, columns: Sequence[str], limit: int) -> frozenset[Row] | None:
    """Return the combinations of values that some columns must have for a condition to be TRUE.

    Args:
        node: a condition, bound and normal.
        columns: the columns, each once.
        limit: the most combinations to return.

    Returns:
        At most `limit` combinations, or None if they are not known or are more than `limit`. In a
        combination, None is NULL, a value like any other. Equal values such as 0.0 and -0.0 appear once.

    >>> from parquetry.types import parse_type
    >>> int_ = parse_type('int')
    >>> node = And((Compare('=', 'a', 1, int_), In('b', (2, 3), int_), Compare('>', 'c', 9, int_)))
    >>> sorted(allowed_values(node, ('a', 'b'), 10))
    [(1, 2), (1, 3)]
    >>> allowed_values(node, ('a', 'b'), 1), allowed_values(node, ('a', 'c'), 10)
    (None, None)
    """
    fact = _joined(_facts(node, frozenset(columns), limit), limit)
    if fact.impossible:
        return frozenset()
    if len(fact.names) < len(columns):
        return None
    positions = [fact.names.index(name) for name in columns]
    return frozenset(tuple(row[position] for position in positions) for row in fact.rows.values())


_Key: TypeAlias = tuple[Any, ...]
"""The order keys of a combination's values; equal values have equal keys."""


@dataclass(frozen=True, slots=True)
class _Fact:
    """The combinations of values that some columns must have for a condition to be TRUE.

    Attributes:
        names: the columns; empty if no combinations are known, or if the condition is never TRUE.
        rows: the combinations by their keys.
    """

    names: tuple[str, ...]
    rows: Mapping[_Key, Row]

    @property
    def impossible(self) -> bool:
        """Whether the condition is never TRUE."""
        return not self.rows


_NEVER = _Fact((), {})
_ANYTHING = _Fact((), {(): ()})


def _facts(node: Predicate, wanted: frozenset[str], limit: int) -> list[_Fact]:
    """List the known facts; where the condition is TRUE, all of them hold."""
    match node:
        case And(children):
            few = [child for child in children if not _is_long(child, limit)]
            facts = [fact for child in few for fact in _facts(child, wanted, limit)]
            # a long IN is no fact by itself, but it removes combinations from the other facts
            known = {name for fact in facts for name in fact.names}
            return facts + [
                _Fact((child.column,), _rows_of(child))
                for child in children
                if isinstance(child, In) and _is_long(child, limit) and child.column in known
            ]
        case Or(children):
            return [_either([_joined(_facts(child, wanted, limit), limit) for child in children])]
        case BooleanConstant(truth):
            return [] if truth else [_NEVER]
        case Compare("<=>", name, value):
            return _fact((name,), [(value,)], wanted)
        case Compare(value=None):
            return [_NEVER]
        case Compare("=", name, value):
            return _fact((name,), [(value,)], wanted)
        case IsNull(name):
            return _fact((name,), [(None,)], wanted)
        case In(name):
            known_few = name in wanted and not _is_long(node, limit)
            return [_Fact((name,), _rows_of(node))] if known_few else []
        case TupleIn(names, rows):
            return _fact(names, [row for row in rows if None not in row], wanted)
        case Opaque(implied=implied):
            return [] if implied is None else _facts(implied, wanted, limit)
    return []  # a range, LIKE, or a negation: its values cannot be listed


def _is_long(node: Predicate, limit: int) -> bool:
    return isinstance(node, In) and len(node.values) > limit


def _rows_of(node: In) -> dict[_Key, Row]:
    return {(order_key(value),): (value,) for value in node.values}


def _fact(names: Sequence[str], rows: Sequence[Row], wanted: frozenset[str]) -> list[_Fact]:
    """Return the fact that the wanted columns among `names` have one of the rows' combinations."""
    kept = [
        position for position, name in enumerate(names) if name in wanted and name not in names[:position]
    ]
    projected = (tuple(row[position] for position in kept) for row in rows)
    return [_Fact(tuple(names[position] for position in kept), {_key(row): row for row in projected})]


def _joined(facts: Iterable[_Fact], limit: int) -> _Fact:
    """Join facts that all hold into one; skip a fact that would give more than `limit` combinations."""
    result = _ANYTHING
    for fact in sorted(facts, key=lambda fact: len(fact.rows)):
        result = _both(result, fact, limit) or result
        if result.impossible:
            return _NEVER
    return result


def _both(left: _Fact, right: _Fact, limit: int) -> _Fact | None:
    """Join two facts by their common columns; return None if that gives more than `limit` combinations."""
    shared = [name for name in right.names if name in left.names]
    left_places = [left.names.index(name) for name in shared]
    right_places = [right.names.index(name) for name in shared]
    added = [position for position, name in enumerate(right.names) if name not in shared]
    partners: dict[_Key, list[Row]] = {}
    for key, row in right.rows.items():
        partners.setdefault(tuple(key[position] for position in right_places), []).append(row)
    rows: dict[_Key, Row] = {}
    for key, row in left.rows.items():
        for partner in partners.get(tuple(key[position] for position in left_places), ()):
            whole = (*row, *(partner[position] for position in added))
            rows[_key(whole)] = whole
            if len(rows) > limit:
                return None
    return _Fact((*left.names, *(right.names[position] for position in added)), rows)


def _either(facts: Sequence[_Fact]) -> _Fact:
    """Make one fact from alternatives, joined by OR; it is about the columns that all of them share."""
    possible = [fact for fact in facts if not fact.impossible]
    if not possible:
        return _NEVER
    names = tuple(name for name in possible[0].names if all(name in fact.names for fact in possible))
    rows: dict[_Key, Row] = {}
    for fact in possible:
        positions = [fact.names.index(name) for name in names]
        for row in fact.rows.values():
            kept = tuple(row[position] for position in positions)
            rows[_key(kept)] = kept
    return _Fact(names, rows)


def _key(row: Row) -> _Key:
    return tuple(map(order_key, row))
