"""What a report says of one join: whether its sides are shuffled, and why."""

from __future__ import annotations

from parquetry.prune.report.part import ReportPart


class JoinReport(ReportPart, frozen=True):
    """One join of which one side at least is of a table in buckets.

    Attributes:
        type: of the join, as SQL has it: ``INNER``, ``LEFT OUTER`` and so on.
        left: what the left side is of: a table, or what else Spark calls it.
        right: what the right side is of.
        on: the conditions by which rows find each other, each `left = right`.
        shuffled: whether rows of a side are sent to other tasks for it.
        reason: why that is so, be it so or not.
        sides: which sides are: `left`, `right`, or both.

    >>> print(JoinReport("INNER", "lake.db.a", "lake.db.b", ("id = key",), False, "8 buckets by id"))
    lake.db.a INNER JOIN lake.db.b ON id = key: no shuffle (8 buckets by id)
    >>> print(JoinReport("INNER", "a", "b", ("id = key",), True, "b is not in buckets", ("right",)))
    a INNER JOIN b ON id = key: one side shuffled, the right (b is not in buckets)
    """

    type: str
    left: str
    right: str
    on: tuple[str, ...]
    shuffled: bool
    reason: str
    sides: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        """Return what is joined, and by what."""
        return f"{self.left} {self.type} JOIN {self.right} ON {' AND '.join(self.on)}"

    @property
    def outcome(self) -> str:
        """Return whether there is a shuffle, of which side if it is one alone, and why."""
        if len(self.sides) == 1:
            return f"one side shuffled, the {self.sides[0]} ({self.reason})"
        return f"{'shuffled' if self.shuffled else 'no shuffle'} ({self.reason})"

    def __str__(self) -> str:
        return f"{self.title}: {self.outcome}"
