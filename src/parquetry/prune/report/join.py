"""The report of one join: whether its sides are shuffled, and why."""

from __future__ import annotations

from parquetry.prune.report.part import ReportPart
from parquetry.prune.report.sql_words import join_words
from parquetry.texts import quantity


class JoinReport(ReportPart, frozen=True):
    """A join with one of our tables on at least one side.

    Attributes:
        type: the type of the join in SQL: `INNER`, `LEFT OUTER` and so on; `EXISTS` for a subquery of EXISTS
            or IN beside OR, which has no JOIN in SQL.
        left: the table on the left side, or Spark's name for another source.
        right: the table on the right side, or Spark's name for another source.
        on: the equalities of the join keys, each `left = right` or `left <=> right`; none if no keys
            are compared.
        shuffled: whether rows of a side are sent to other tasks for the join.
        reason: why a side is shuffled, or why none is.
        sides: the sides that are shuffled: `left`, `right`, or both.
        parts: the sides that are shuffled in part, to the buckets of their other rows.
        sorts: how many sides are sorted for the join.
        incremental_sorts: how many other sides are sorted only among rows that the order of files leaves
            equal.

    >>> print(JoinReport("INNER", "lake.db.a", "lake.db.b", ("id = key",), False, "8 buckets by id", sorts=1))
    lake.db.a INNER JOIN lake.db.b ON id = key: no shuffle, 1 sort (8 buckets by id)
    >>> print(JoinReport("INNER", "a", "b", ("id = key",), True, "b is not in buckets", ("right",)))
    a INNER JOIN b ON id = key: one side shuffled, the right (b is not in buckets)
    >>> print(JoinReport("INNER", "a", "b", ("id = key",), False, "a: partition p=1 is not in buckets", parts=("left",)))
    a INNER JOIN b ON id = key: a part of the left side shuffled (a: partition p=1 is not in buckets)
    >>> print(JoinReport("CROSS", "a", "b", (), False, "b is broadcast"))
    a CROSS JOIN b: no shuffle (b is broadcast)
    """

    type: str
    left: str
    right: str
    on: tuple[str, ...]
    shuffled: bool
    reason: str
    sides: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    sorts: int = 0
    incremental_sorts: int = 0

    @property
    def shuffles(self) -> int:
        """Return the number of shuffles for the join: 0, 1 or 2."""
        return len(self.sides) + len(self.parts)

    @property
    def title(self) -> str:
        """Return the sides and the keys of the join."""
        on = f" ON {' AND '.join(self.on)}" if self.on else ""
        if self.type == "EXISTS":
            return f"{self.left} with {join_words(self.type)} of {self.right}{on}"
        return f"{self.left} {join_words(self.type)} {self.right}{on}"

    @property
    def outcome(self) -> str:
        """Return whether the join shuffles, on which side if on one alone, and why."""
        parts = [f"a part of the {name} side" for name in self.parts]
        if len(self.sides) == 1:
            what = " and ".join([f"one side shuffled, the {self.sides[0]}", *parts])
        elif parts:
            what = f"{' and '.join(parts)} shuffled"
        else:
            what = "shuffled" if self.shuffled else "no shuffle"
        sorts = {"sort": self.sorts, "incremental sort": self.incremental_sorts}
        counts = [quantity(count, name) for name, count in sorts.items() if count]
        return f"{', '.join([what, *counts])} ({self.reason})"

    def __str__(self) -> str:
        return f"{self.title}: {self.outcome}"
