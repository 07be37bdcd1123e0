"""What one scan of a table reads, of how much, why, and why not less: its steps. A query's `Report` holds its scans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from parquetry.prune.condition import Origin
from parquetry.prune.report.buckets import BucketReport
from parquetry.prune.report.part import ReportPart, written_if_empty
from parquetry.prune.report.runtime import RunTimeReport

BYTES_UNIT = "bytes"
"""The unit of steps that count bytes."""
_NOT_NULL = re.compile(r"(?:\w+|`(?:[^`]|``)+`)(?:\.(?:\w+|`(?:[^`]|``)+`))* IS NOT NULL")


class IneffectiveCondition(ReportPart, frozen=True):
    """A condition that kept nothing from being read, why, and where the condition comes from."""

    condition: str
    reason: str
    origin: Origin = "query"


class Step(ReportPart, frozen=True):
    """One step of choosing less: of what the step before kept, what this one kept.

    Attributes:
        name: of the rule that made it: `partitions`, `directories`, `buckets`, `files`, `bytes`; `parquetry.prune.steps` has them all.
        kept: how many are left.
        of: how many there were.
        by: the conditions that served; where bytes are counted, the columns read.
        not_by: the conditions that did not.
        origins: where the conditions in `by` come from, one for one; empty: all from the query.
        unit: what is counted; empty: what the name says.
        about: whether what is left is an estimate, as nothing was listed.
    """

    name: str
    kept: int
    of: int
    by: tuple[str, ...] = msgspec.field(default_factory=written_if_empty)
    not_by: tuple[IneffectiveCondition, ...] = msgspec.field(default_factory=written_if_empty)
    origins: tuple[Origin, ...] = ()
    unit: str = ""
    about: bool = False

    def __post_init__(self) -> None:
        if not self.unit:
            msgspec.structs.force_setattr(self, "unit", self.name)

    @property
    def counts_bytes(self) -> bool:
        """Return whether it counts bytes, of the columns read; any other step goes by conditions."""
        return self.unit == BYTES_UNIT

    def causes(self) -> Iterator[tuple[str, Origin]]:
        """Yield the conditions in `by`, each with where it comes from."""
        default: Origin = "query"
        return zip(self.by, self.origins or (default,) * len(self.by), strict=True)

    def to_dict(self) -> dict[str, Any]:
        """Return the step as `Report.to_dict` gives it."""
        plain = super().to_dict()
        if self.unit == self.name:
            del plain["unit"]
        return plain


class ScanReport(ReportPart, frozen=True):
    """One scan of one table.

    Attributes:
        table: its full name.
        steps: in their order.
        buckets: what joins may rely on; None: the table is not in buckets.
        run_time: what values did that joins found at run time; None: none have come.
        by_totals: whether the table's totals tell this, before partitions and files are listed; see `runtime.totals`.
    """

    table: str
    steps: tuple[Step, ...]
    buckets: BucketReport | None = None
    run_time: RunTimeReport | None = None
    by_totals: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the scan as `Report.to_dict` gives it."""
        plain = super().to_dict() | {"steps": [step.to_dict() for step in self.steps]}
        return plain if self.run_time is None else plain | {"run_time": self.run_time.to_dict()}

    def step(self, name: str) -> Step | None:
        """Return the step of this name, if the scan has it."""
        return next((step for step in self.steps if step.name == name), None)

    def unused(self) -> tuple[IneffectiveCondition, ...]:
        """Return the conditions that served in no step, each with the reason of the last that tried it.

        `c IS NOT NULL` is none that anybody wonders about: Spark itself puts it beside every join and comparison.
        """
        served = {condition for step in self.steps for condition in step.by}
        reasons = {note.condition: note for step in self.steps for note in step.not_by}
        return tuple(
            note
            for condition, note in reasons.items()
            if condition not in served and not _NOT_NULL.fullmatch(condition)
        )
