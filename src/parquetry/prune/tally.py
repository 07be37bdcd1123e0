"""Record which conditions pruned something, and make the step of the report that names them.

A rule chooses by all conditions at once: partitions by one plan of key ranges, buckets by the values that
several conditions list. So it names each condition that took part, even `x IS NOT NULL` where no partition
has a NULL. A report must not say that this condition did something. To know, `name_effective` asks the rule
again with one condition alone. That reads more of the metastore than the query did, so only a report that
somebody looks at pays for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from parquetry.prune.condition import Condition
from parquetry.prune.report.scan import IneffectiveCondition, Step
from parquetry.prune.rule import PruningRequest, Remaining, Rule

MAX_JUDGED_PARTITIONS = 100_000
"""Partitions of a table whose report judges conditions apart.

A condition that keeps all of them takes about a second. Reports of larger tables name all conditions that
took part in choosing partitions."""


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


def name_effective(rule: Rule, scan: PruningRequest, before: Remaining, step: Step) -> Step:
    """Return a step that names only the conditions that prune something by themselves.

    A condition that prunes only together with others, as one of several bucket columns does, is named, too.

    Args:
        rule: the rule of the step.
        scan: the request.
        before: the candidates before the step.
        step: the step.
    """
    if not rule.names_together or len(step.by) < 2 or scan.snapshot.totals.partitions > MAX_JUDGED_PARTITIONS:
        return step
    named = dict.fromkeys(step.causes())
    effective, notes = [], []
    for text, origin in named:
        mine = [each for each in scan.conditions if (each.text, each.origin) == (text, origin)]
        if not mine or _prunes(rule, scan, before, step, mine):
            effective.append((text, origin))
        else:
            thing = {"directories": "directory"}.get(step.name, step.name.removesuffix("s"))
            notes.append(IneffectiveCondition(text, f"every {thing} may hold a match", origin))
    if not notes or not effective:
        return step
    origins = tuple(origin for _, origin in effective)
    return msgspec.structs.replace(
        step,
        by=tuple(text for text, _ in effective),
        origins=origins if set(origins) - {"query"} else (),
        not_by=(*step.not_by, *notes),
    )


def _prunes(rule: Rule, scan: PruningRequest, before: Remaining, step: Step, mine: list[Condition]) -> bool:
    """Return whether conditions prune something alone, or the others keep more without them."""
    alone = _kept(rule, scan, before, tuple(mine))
    if alone is not None and alone < step.of:
        return True
    if rule.is_first:
        return False  # partitions are judged one by one: what all exclude, one of them excludes alone
    others = tuple(each for each in scan.conditions if not any(each is one for one in mine))
    without = _kept(rule, scan, before, others)
    return without is None or without > step.kept


def _kept(
    rule: Rule, scan: PruningRequest, before: Remaining, conditions: tuple[Condition, ...]
) -> int | None:
    """Return how many things a rule keeps by some of the conditions, or None if they do not concern it."""
    _, step = rule.narrow(replace(scan, conditions=conditions, recent=None), before)
    return None if step is None else step.kept
