"""A condition as pruning takes it: what it asks, and how the report names it."""

from __future__ import annotations

from dataclasses import dataclass

from parquetry.predicate.nodes import Predicate, columns

_LONGEST_TEXT = 300


@dataclass(frozen=True, slots=True)
class Condition:
    """One of the conditions of a query, which are joined by AND.

    Attributes:
        predicate: bound and normalised.
        about: the columns it is about. What Spark evaluated (`substr(ds, 1, 7) = '2026-10'`) is about a column even
            where all that is left of it for the partitions in question is TRUE.
        written: how it was written; None: as the predicate's own text has it.
    """

    predicate: Predicate
    about: frozenset[str]
    written: str | None = None

    @classmethod
    def of(cls, predicate: Predicate) -> Condition:
        """Return the condition that says what a predicate says."""
        return cls(predicate, frozenset(columns(predicate)))

    @property
    def text(self) -> str:
        """Return how the report names it: its SQL, cut where it is too long for a line."""
        text = str(self.predicate) if self.written is None else self.written
        return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 1]}…"
