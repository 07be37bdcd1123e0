"""What a query's scans read, of how much, why, and why not less.

A report is data: `select` makes it, `render` draws it, and it travels as the dict that `to_dict` gives.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from parquetry.prune.render_html import report_html
from parquetry.prune.render_text import report_text


@dataclass(frozen=True, slots=True)
class NotBy:
    """A condition that kept nothing from being read, and why."""

    condition: str
    reason: str


@dataclass(frozen=True, slots=True)
class Step:
    """One step of choosing less: of what the step before kept, what this one kept.

    Attributes:
        name: `partitions`, `files` or `bytes`.
        kept: how many are left.
        of: how many there were.
        by: the conditions that served; for `bytes`, the columns read.
        not_by: the conditions that did not.
    """

    name: str
    kept: int
    of: int
    by: tuple[str, ...] = ()
    not_by: tuple[NotBy, ...] = ()


@dataclass(frozen=True, slots=True)
class ScanReport:
    """One scan of one table: its full name, and the steps in their order."""

    table: str
    steps: tuple[Step, ...]

    def step(self, name: str) -> Step | None:
        """Return the step of this name, if the scan has it."""
        return next((step for step in self.steps if step.name == name), None)

    def unused(self) -> tuple[NotBy, ...]:
        """Return the conditions that served in no step, each with the reason of the last that tried it."""
        served = {condition for step in self.steps for condition in step.by}
        reasons = {note.condition: note for step in self.steps for note in step.not_by}
        return tuple(note for condition, note in reasons.items() if condition not in served)


@dataclass(frozen=True, slots=True)
class Report:
    """All scans of a query, in the order of its plan.

    >>> scan = ScanReport("lake.db.t", (Step("partitions", 2, 10, ("p IN (1, 2)",)), Step("files", 3, 4)))
    >>> print(Report((scan,)))
    lake.db.t: partitions 2 of 10 (p IN (1, 2)) · files 3 of 4
    """

    scans: tuple[ScanReport, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the report as plain lists and dicts, for JSON."""
        return {
            "scans": [
                {
                    "table": scan.table,
                    "steps": [
                        {
                            "name": step.name,
                            "kept": step.kept,
                            "of": step.of,
                            "by": list(step.by),
                            "not_by": [
                                {"condition": note.condition, "reason": note.reason} for note in step.not_by
                            ],
                        }
                        for step in scan.steps
                    ],
                }
                for scan in self.scans
            ]
        }

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> Report:
        """Return the report that `to_dict` was given of."""
        return cls(
            tuple(
                ScanReport(
                    scan["table"],
                    tuple(
                        Step(
                            step["name"],
                            step["kept"],
                            step["of"],
                            tuple(step["by"]),
                            tuple(NotBy(note["condition"], note["reason"]) for note in step["not_by"]),
                        )
                        for step in scan["steps"]
                    ),
                )
                for scan in plain["scans"]
            )
        )

    def __str__(self) -> str:
        return report_text(self)

    def _repr_html_(self) -> str:
        return report_html(self)
