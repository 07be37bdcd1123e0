"""Who cut what: the conditions that a rule asks of each of many things, and the step of the report that names them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from parquetry.predicate.match import Match
from parquetry.prune.condition import Condition
from parquetry.prune.report import NotBy, Step
from parquetry.prune.rule import Rule


class Tally:
    """The conditions that helped one rule to cut.

    All conditions are asked about each thing, also where the first has cut it already: each that would have is named.
    """

    def __init__(self) -> None:
        self._served: set[Condition] = set()

    def __contains__(self, condition: Condition) -> bool:
        return condition in self._served

    def serve(self, condition: Condition) -> None:
        """Note that a condition took part in choosing."""
        self._served.add(condition)

    def cut(self, conditions: Sequence[Condition], verdicts: Sequence[Match]) -> bool:
        """Return whether a thing is cut: some condition cannot hold in it. All such are noted.

        Args:
            conditions: those that were asked.
            verdicts: their answers about this thing, one for one.
        """
        if Match.CANNOT not in verdicts:
            return False
        for condition, verdict in zip(conditions, verdicts, strict=True):
            if verdict is Match.CANNOT:
                self._served.add(condition)
        return True

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
            rule: whose step it is.
            kept: how many things are left.
            of: how many there were.
            conditions: to be told of, in the order of the query.
            reason: why a condition did not help; None: nothing need be said.
        """
        by, not_by = [], []
        for condition in conditions:
            if condition in self and kept < of:
                by.append(condition)
            elif (why := reason(condition)) is not None:
                not_by.append(NotBy(condition.text, why, condition.origin))
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
