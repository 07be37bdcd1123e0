"""What a report says of one join: whether its sides are shuffled, and why."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class JoinReport:
    """One join of which one side at least is of a table in buckets.

    Attributes:
        type: of the join, as SQL has it: ``INNER``, ``LEFT OUTER`` and so on.
        left: what the left side is of: a table, or what else Spark calls it.
        right: what the right side is of.
        on: the conditions by which rows find each other, each `left = right`.
        shuffled: whether rows of a side are sent to other tasks for it.
        reason: why that is so, be it so or not.

    >>> print(JoinReport("INNER", "lake.db.a", "lake.db.b", ("id = key",), False, "8 buckets by id"))
    lake.db.a INNER JOIN lake.db.b ON id = key: no shuffle (8 buckets by id)
    """

    type: str
    left: str
    right: str
    on: tuple[str, ...]
    shuffled: bool
    reason: str

    @property
    def title(self) -> str:
        """Return what is joined, and by what."""
        return f"{self.left} {self.type} JOIN {self.right} ON {' AND '.join(self.on)}"

    @property
    def outcome(self) -> str:
        """Return whether there is a shuffle, and why."""
        return f"{'shuffled' if self.shuffled else 'no shuffle'} ({self.reason})"

    def __str__(self) -> str:
        return f"{self.title}: {self.outcome}"

    def to_dict(self) -> dict[str, Any]:
        """Return the join as `Report.to_dict` gives it."""
        return {
            "type": self.type,
            "left": self.left,
            "right": self.right,
            "on": list(self.on),
            "shuffled": self.shuffled,
            "reason": self.reason,
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> JoinReport:
        """Return the join that `to_dict` was given of."""
        return cls(
            plain["type"],
            plain["left"],
            plain["right"],
            tuple(plain["on"]),
            plain["shuffled"],
            plain["reason"],
        )
