"""Judge whether the rows of containers can satisfy a condition: the rule of all pruning (`match`).

`match_leaf` judges the leaves of a condition. `knowledge` describes the containers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from parquetry.predicate.pruning.knowledge import Bounds, Knowledge
from parquetry.predicate.pruning.match_formula import formula_outcomes
from parquetry.predicate.pruning.match_leaf import leaf_outcomes, tuple_outcomes
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
"""Combinations of values that `match` passes to `Knowledge.may_hold`; if there are more, it does not ask."""


class Match(IntEnum):
    """The answer for one container: no row, some rows or every row satisfies the condition.

    ## What it is

    Statistics seldom describe a container's rows exactly. So each part of a condition is judged by the *set*
    of truth values that it may take over the container's rows. AND, OR and NOT combine such sets
    (`truth_sets`), so NULL is never mistaken for FALSE under a NOT. The set of the whole condition gives the
    answer:

    | truth values of the whole    | answer   | to a scan                       | to a DELETE                |
    |------------------------------|----------|---------------------------------|----------------------------|
    | TRUE is not among them       | `CANNOT` | leave the container out         | leave it as it is          |
    | TRUE and others              | `MIGHT`  | read it, and test each row      | look at its rows           |
    | TRUE alone                   | `MUST`   | read it; no row needs the test  | drop it without reading it |

    ## Example

    All containers are judged at once. A set is a number (TRUE is 1, FALSE 2, NULL 4), an outcome an array of
    them. For `day = 3 AND price > 100` and three files:

    |               | file 0          | file 1                | file 2               | array       |
    |---------------|-----------------|-----------------------|----------------------|-------------|
    | day           | 3 to 3          | 2 to 4                | 5 to 9               |             |
    | price         | 120 to 300      | 80 to 150, with NULLs | no statistics        |             |
    | `day = 3`     | TRUE            | TRUE, FALSE           | FALSE                | `[1, 3, 2]` |
    | `price > 100` | TRUE            | TRUE, FALSE, NULL     | TRUE, FALSE, NULL    | `[1, 7, 7]` |
    | AND           | TRUE            | TRUE, FALSE, NULL     | FALSE                | `[1, 7, 2]` |
    | answer        | `MUST`          | `MIGHT`               | `CANNOT`             | `[2, 1, 0]` |

    Some statistics describe tuples of values and not single columns (`Knowledge.may_hold`), for example the
    directory for all values without one of their own. They judge the tuples that the condition allows
    (`guarantees`). Where a container can have none of them, TRUE is removed from its set.

    ## What it is not

    It is not SQL's NULL. In SQL an unknown result, NULL, does not select the row. **Here an unknown part may
    take all three truth values**, so an answer may keep too much, never too little. Unknown are columns
    without statistics, statistics that contradict themselves, and conditions that are not understood
    (`Opaque`, unless a condition that they imply can be judged).

    It is not the most precise answer. In a file with `a` from 0 to 2, both sides of `a = 1 OR a != 1` are
    `TRUE, FALSE`. So is the whole, although it is TRUE for every row.

    ## Why not otherwise

    Most engines rewrite a condition into one over the statistics: `price > 100` becomes `price_max > 100`.
    One rewrite answers "cannot"; a second one, with opposite rules, answers "must". Sets of truth values
    answer both in one pass, and NOT is a table of eight entries.

    References: DataFusion's `PruningPredicate`; Iceberg's inclusive and strict metrics evaluators; G.
    Moerkotte, *Small Materialized Aggregates*, VLDB 1998.
    """

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
"""From the outcomes of an implied condition to the outcomes of the condition that implies it."""
_WHERE_POSSIBLE = Lookup2([[one & ~TRUE for one in range(8)], list(range(8))])
"""From whether a condition may hold at all, and its outcomes, to its outcomes."""


def match(filter: Filter, knowledge: Knowledge) -> NDArray[np.uint8]:
    """Judge a condition over N containers.

    Args:
        filter: the condition; columns without statistics are unknown.
        knowledge: the statistics of the containers.

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
    evaluator = _OutcomeEvaluator(knowledge)
    answers = np.asarray(_MATCH_OF_OUTCOMES(evaluator.outcomes(filter.node)), np.uint8)
    if evaluator.met_doubts and (answers == Match.MUST).any():
        proofs = _OutcomeEvaluator(knowledge, proving=True).outcomes(filter.node)
        proved = np.asarray(_MATCH_OF_OUTCOMES(proofs), np.uint8) == Match.MUST
        answers[(answers == Match.MUST) & ~proved] = Match.MIGHT
    return answers


class _OutcomeEvaluator:
    """Evaluates conditions over containers, to sets of truth values.

    Args:
        knowledge: the statistics of the containers.
        proving: whether statistics in doubt, and expressions, count as unknown, so that the rest is proved.

    Attributes:
        met_doubts: whether statistics in doubt, or expressions, were used.
    """

    def __init__(self, knowledge: Knowledge, *, proving: bool = False) -> None:
        self._knowledge = knowledge
        self._count = knowledge.count
        self._proving = proving
        self.met_doubts = False

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
        """Judge a part of an AND. Tuples are judged for the AND as a whole, which allows fewer of them."""
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
            case Opaque():
                return self._opaque(node)
            case TupleIn(names):
                known = [self._knowledge.bounds(name) for name in names]
                outcomes = tuple_outcomes(node, known, self._count)
                return self._doubting(outcomes, [each for each in known if each is not None], ANY)
        bounds = self._knowledge.bounds(node.column)
        null_safe = isinstance(node, IsNull) or (isinstance(node, Compare) and node.op == "<=>")
        unknown = EITHER if null_safe else ANY
        if bounds is not None:
            return self._doubting(leaf_outcomes(node, bounds), [bounds], unknown)
        return same(unknown, self._count)

    def _opaque(self, node: Opaque) -> Codes:
        """Judge by the condition that is implied; where it may hold, by the ranges of the expressions.

        An expression may only leave a container out: it proves nothing about all rows.
        """
        implied = node.implied
        outcomes = same(ANY, self._count) if implied is None else _OUTCOMES_OF_IMPLIED(self.outcomes(implied))
        if node.formula is None or self._proving or not any_of(outcomes, TRUE):
            return outcomes
        self.met_doubts = True
        return formula_outcomes(node.formula, self._knowledge, outcomes)

    def _doubting(self, outcomes: Codes, known: Sequence[Bounds], unknown: int) -> Codes:
        """Note whether statistics in doubt were used, and replace their outcomes while proving."""
        doubts = [bounds.doubts for bounds in known if bounds.doubts is not None]
        if not doubts:
            return outcomes
        self.met_doubts = True
        if not self._proving:
            return outcomes
        replaced = np.where(np.logical_or.reduce(doubts), np.uint8(unknown), np.asarray(outcomes, np.uint8))
        return replaced.tolist() if isinstance(outcomes, list) else replaced

    def _where_possible(self, node: Predicate, outcomes: Codes) -> Codes:
        """Remove TRUE from the outcomes of containers that cannot have any tuple that a condition allows."""
        for columns in self._knowledge.tuple_columns:
            allowed = allowed_values(node, columns, MAX_ALLOWED_TUPLES)
            if allowed is not None:
                possible = (
                    self._knowledge.may_hold(columns, allowed) if allowed else np.zeros(self._count, np.bool_)
                )
                if possible is not None:
                    outcomes = _WHERE_POSSIBLE(possible.view(np.uint8), outcomes)
        return outcomes
