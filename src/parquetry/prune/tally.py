"""Record which conditions pruned something, and make the step of the report that names them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from parquetry.prune.condition import Condition
from parquetry.prune.report import IneffectiveCondition, Step
from parquetry.prune.rule import Rule


class Tally:
    """The conditions that helped one rule to prune.

    Each condition judges each thing, even if another condition has pruned it already. So the report names
    every condition that would have pruned something by itself.
    """

    def __init__(self) -> None:
        self._served: set[Condition] = set()

    def __contains__(self, condition: Condition) -> bool:
        return condition in self._served

    def serve(self, condition: Condition) -> None:
        """Note that a condition took part in choosing."""
        self._served.add(condition)

    def combine(
        self, conditions: Sequence[Condition], answers: Sequence[NDArray[np.uint8]]
    ) -> NDArray[np.uint8]:
        """Return each thing's answer to all conditions, joined by AND; note the conditions that pruned one.

        Args:
            conditions: the conditions, at least one.
            answers: for each condition its answers, a `Match` for each thing.
        """
        for condition, answer in zip(conditions, answers, strict=True):
            if np.count_nonzero(answer) < len(answer):  # CANNOT is 0
                self._served.add(condition)
        # CANNOT if one condition cannot hold, MUST if all must: the least answer.
        return answers[0] if len(answers) == 1 else np.minimum.reduce(answers)

    def step(
        self,
        rule: Rule,
        kept: int,
        of: int,
        conditions: Iterable[Condition],
        reason: Callable[[Condition], str | None],
    ) -> Step:
        """Return the step of the report.

        Args:
            rule: the rule of the step.
            kept: the number of things that remain.
            of: the number of things before.
            conditions: the conditions to report, in the order of the query.
            reason: returns why a condition did not help, or None to leave it out of the report.
        """
        by, not_by = [], []
        for condition in conditions:
            if condition in self and kept < of:
                by.append(condition)
            elif (why := reason(condition)) is not None:
                not_by.append(IneffectiveCondition(condition.text, why, condition.origin))
        origins = tuple(condition.origin for condition in by)
        return Step(
            rule.name,
            kept,
            of,
            tuple(condition.text for condition in by),
            tuple(not_by),
            origins if set(origins) - {"query"} else (),
            rule.unit,
        )
