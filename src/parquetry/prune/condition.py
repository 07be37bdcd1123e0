"""A condition as pruning takes it: what it asks, where it comes from, and how the report names it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from parquetry.predicate import Filter, Predicate, columns_of, opaque_parts

_MAX_TEXT_CHARACTERS = 300

Origin = Literal["query", "join", "known", "table"]
"""Where a condition comes from: the query's text, values that a join found at run time, those that were known in planning, or the
table itself."""


@dataclass(frozen=True, eq=False)
class Condition:
    """One of the conditions of a scan, which are joined by AND.

    Two conditions of the same text are two: each is counted on its own.

    Attributes:
        filter: what it asks.
        about: the columns it is about. What Spark evaluated (`substr(ds, 1, 7) = '2026-10'`) is about a column even
            where all that is left of it for the partitions in question is TRUE.
        written: how it was written; None: as the predicate's own text has it.
        origin: where it comes from.
    """

    filter: Filter
    about: frozenset[str]
    written: str | None = None
    origin: Origin = "query"

    @classmethod
    def from_filter(cls, filter: Filter, origin: Origin = "query") -> Condition:
        """Return the condition that says what a filter says."""
        return cls(filter, frozenset(columns_of(filter.node)), origin=origin)

    @property
    def predicate(self) -> Predicate:
        """Return what it asks."""
        return self.filter.node

    @cached_property
    def text(self) -> str:
        """Return how the report names it: its SQL, cut where it is too long for a line."""
        text = str(self.predicate) if self.written is None else self.written
        return text if len(text) <= _MAX_TEXT_CHARACTERS else f"{text[: _MAX_TEXT_CHARACTERS - 1]}…"

    @cached_property
    def not_understood(self) -> str | None:
        """Return why some part of it is not understood; None if all of it is."""
        opaque = opaque_parts(self.predicate)
        return opaque[0].reason if opaque else None

    def within(self, names: frozenset[str]) -> bool:
        """Return whether it is about partition columns alone, given the names of those that the table has."""
        return bool(names) and self.about <= names

    def decided_by(self, names: frozenset[str]) -> bool:
        """Return whether the values of these partition columns decide it: no row need be looked at."""
        return self.within(names) and self.not_understood is None
