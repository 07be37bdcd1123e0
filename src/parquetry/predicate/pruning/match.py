"""Whether containers of rows that are known only in part can satisfy a condition: the one rule of all pruning.

What is known of a container - a partition, a file, a directory, a bucket - is seldom its rows. So a part of a
condition is judged by the *set* of truth values that it may take over the rows in question. AND, OR and NOT join such
sets (`truth_sets`), so a NULL is never mistaken for FALSE under a NOT, and the set of the whole gives the answer:

| truth values of the whole    | answer   | to a scan                       | to a DELETE                |
|------------------------------|----------|---------------------------------|----------------------------|
| TRUE is not among them       | `CANNOT` | leave the container out         | leave it as it is          |
| TRUE and others              | `MIGHT`  | read it, and test each row      | look at its rows           |
| TRUE alone                   | `MUST`   | read it; no row needs the test  | drop it without reading it |

All containers are judged in one go: a set is a number (TRUE is 1, FALSE 2, NULL 4), an outcome an array of them. For
`day = 3 AND price > 100` and three files:

|               | file 0          | file 1                | file 2               | array       |
|---------------|-----------------|-----------------------|----------------------|-------------|
| day           | 3 to 3          | 2 to 4                | 5 to 9               |             |
| price         | 120 to 300      | 80 to 150, with NULLs | no statistics        |             |
| `day = 3`     | TRUE            | TRUE, FALSE           | FALSE                | `[1, 3, 2]` |
| `price > 100` | TRUE            | TRUE, FALSE, NULL     | TRUE, FALSE, NULL    | `[1, 7, 7]` |
| AND           | TRUE            | TRUE, FALSE, NULL     | FALSE                | `[1, 7, 2]` |
| answer        | `MUST`          | `MIGHT`               | `CANNOT`             | `[2, 1, 0]` |

**What is unknown may take all three truth values.** So an answer may keep too much, never too little; this differs
from SQL, where an unknown, NULL, is as good as FALSE. Columns of which nothing is known, conditions that are not
understood (`Opaque`; what they imply is judged in their place) and statistics that contradict themselves are unknown.
The price is precision only: both sides of `a = 1 OR a != 1` are `TRUE, FALSE` in a file with a from 0 to 2, and so is
the whole, though it holds for every row.

Some knowledge says nothing of single columns, but which tuples of values a container can hold (`Knowledge.may_hold`).
It is asked about those that a condition allows (`guarantees`): where none can be there, TRUE is taken out of its set.

Leaves are judged in `match_leaf` and `match_tuples`; what is known, and of what, is said in `knowledge`.
"""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from parquetry.predicate.filter import Filter
from parquetry.predicate.nodes import (
    And,
    BooleanConstant,
    Compare,
    In,
    IsNull,
    Like,
    Not,
    Opaque,
    Or,
    Predicate,
    TupleIn,
)
from parquetry.predicate.pruning.guarantees import allowed_values
from parquetry.predicate.pruning.knowledge import Knowledge
from parquetry.predicate.pruning.match_leaf import leaf_outcomes
from parquetry.predicate.pruning.match_tuples import tuple_outcomes
from parquetry.predicate.pruning.truth_sets import (
    AND,
    ANY,
    CODES_OF_TRUTH,
    EITHER,
    FALSE,
    NOT,
    NULL,
    OR,
    TRUE,
    Codes,
    Lookup,
    Lookup2,
    any_of,
    same,
)

MAX_ALLOWED_TUPLES = 100_000
"""Combinations of values that a condition may allow for knowledge to be asked about them."""


class Match(IntEnum):
    """What the rows of a container can do about a condition."""

    CANNOT = 0
    """No row satisfies it."""
    MIGHT = 1
    """Some rows may satisfy it."""
    MUST = 2
    """Every row satisfies it."""


_MATCH_OF_OUTCOMES = Lookup(
    [Match.MUST if one == TRUE else Match.MIGHT if one & TRUE else Match.CANNOT for one in range(8)]
)
_OUTCOMES_OF_IMPLIED = Lookup([ANY if one & TRUE else FALSE | NULL for one in range(8)])
"""From the outcomes of what a condition implies to those of the condition."""
_WHERE_POSSIBLE = Lookup2([[one & ~TRUE for one in range(8)], list(range(8))])
"""From whether a condition may hold at all, and its outcomes, to its outcomes."""


def match(filter: Filter, knowledge: Knowledge) -> NDArray[np.uint8]:
    """Judge a condition over all containers that something is known of.

    Args:
        filter: the condition; columns that the knowledge does not have are unknown.
        knowledge: of N containers.

    Returns:
        N answers, each a `Match`.

    >>> from parquetry.predicate.pruning.knowledge import KnownValues
    >>> from parquetry.types import parse_type
    >>> day = Filter(Compare('=', 'day', 3, parse_type('int')))
    >>> match(day, KnownValues(('day',), [(3,), (4,), (None,)])).tolist() == [Match.MUST, Match.CANNOT, Match.CANNOT]
    True
    >>> match(day, KnownValues(('month',), [(1,)])).tolist() == [Match.MIGHT]
    True
    """
    return np.asarray(_MATCH_OF_OUTCOMES(_OutcomeEvaluator(knowledge).outcomes(filter.node)), np.uint8)


class _OutcomeEvaluator:
    """The outcomes of conditions over containers."""

    def __init__(self, knowledge: Knowledge) -> None:
        self._knowledge = knowledge
        self._count = knowledge.count

    def outcomes(self, node: Predicate) -> Codes:
        """Return the set of truth values that a condition may take, for each container."""
        match node:
            case Or(children):
                return self._joined(OR, map(self.outcomes, children), FALSE, FALSE | NULL)
            case Not(child):
                return NOT(self.outcomes(child))
            case And(children):
                return self._where_possible(
                    node, self._joined(AND, map(self._part, children), TRUE, TRUE | NULL)
                )
        return self._where_possible(node, self._leaf(node))

    def _part(self, node: Predicate) -> Codes:
        """Judge a part of an AND; which tuples may be there is asked for the whole of it, which allows fewer."""
        return self.outcomes(node) if isinstance(node, (And, Or, Not)) else self._leaf(node)

    def _joined(self, table: Lookup2, parts: Iterator[Codes], of_none: int, undecided: int) -> Codes:
        """Join parts of AND or OR from left to right, as long as some container is undecided."""
        result = next(parts, None)
        if result is None:
            return same(of_none, self._count)
        while any_of(result, undecided) and (part := next(parts, None)) is not None:
            result = table(result, part)
        return result

    def _leaf(self, node: Compare | In | IsNull | Like | TupleIn | BooleanConstant | Opaque) -> Codes:
        match node:
            case BooleanConstant(truth):
                return same(CODES_OF_TRUTH[truth], self._count)
            case Opaque(implied=implied):
                return (
                    same(ANY, self._count)
                    if implied is None
                    else _OUTCOMES_OF_IMPLIED(self.outcomes(implied))
                )
            case TupleIn(names):
                return tuple_outcomes(node, [self._knowledge.bounds(name) for name in names], self._count)
        bounds = self._knowledge.bounds(node.column)
        if bounds is not None:
            return leaf_outcomes(node, bounds)
        null_safe = isinstance(node, IsNull) or (isinstance(node, Compare) and node.op == "<=>")
        return same(EITHER if null_safe else ANY, self._count)

    def _where_possible(self, node: Predicate, outcomes: Codes) -> Codes:
        """Take TRUE from the outcomes where no tuple of values can be that a condition allows."""
        for columns in self._knowledge.tuple_columns:
            allowed = allowed_values(node, columns, MAX_ALLOWED_TUPLES)
            if allowed is not None:
                possible = (
                    self._knowledge.may_hold(columns, allowed) if allowed else np.zeros(self._count, np.bool_)
                )
                if possible is not None:
                    outcomes = _WHERE_POSSIBLE(possible.view(np.uint8), outcomes)
        return outcomes
