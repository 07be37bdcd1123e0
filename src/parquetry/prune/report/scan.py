"""The report of one scan of a table: its steps, each with what it kept, of how much, and why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec

from parquetry.prune.condition import Origin
from parquetry.prune.report.join import BucketReport
from parquetry.prune.report.join_values import RunTimeReport
from parquetry.prune.report.part import ReportPart, written_if_empty

BYTES_UNIT = "bytes"
"""The unit of steps that count bytes."""
_NOT_NULL = re.compile(r"(?:\w+|`(?:[^`]|``)+`)(?:\.(?:\w+|`(?:[^`]|``)+`))* IS NOT NULL")


class IneffectiveCondition(ReportPart, frozen=True):
    """A condition that pruned nothing, the reason, and the condition's origin."""

    condition: str
    reason: str
    origin: Origin = "query"


class Step(ReportPart, frozen=True):
    """One step of pruning: what it kept of the things that earlier steps kept.

    Attributes:
        name: the name of its rule: `partitions`, `directories`, `buckets`, `files` or `bytes` (see
            `parquetry.prune.steps`).
        kept: the number that the step kept.
        of: the number before the step.
        by: the conditions that pruned something; for a step that counts bytes, the columns read if they are
            not all.
        not_by: the conditions that pruned nothing.
        origins: the origin of each condition in `by`; empty if all are from the query.
        unit: the unit of the numbers; by default the name.
        about: whether `kept` is an estimate, since no files were listed.
        whole: for a step that counts bytes, the bytes of the files read with all their columns, or None if
            all columns are read; `of` is then the bytes of the table.
        seeks: keys of the metastore that a skip scan read to find the next value of a leading column, or 0 if
            keys were read in order.
    """

    name: str
    kept: int
    of: int
    by: tuple[str, ...] = msgspec.field(default_factory=written_if_empty)
    not_by: tuple[IneffectiveCondition, ...] = msgspec.field(default_factory=written_if_empty)
    origins: tuple[Origin, ...] = ()
    unit: str = ""
    about: bool = False
    whole: int | None = None
    seeks: int = 0

    def __post_init__(self) -> None:
        if not self.unit:
            msgspec.structs.force_setattr(self, "unit", self.name)

    @property
    def counts_bytes(self) -> bool:
        """Return whether it counts bytes of the columns read; all other steps prune by conditions."""
        return self.unit == BYTES_UNIT

    def causes(self) -> Iterator[tuple[str, Origin]]:
        """Yield the conditions in `by`, each with its origin."""
        default: Origin = "query"
        return zip(self.by, self.origins or (default,) * len(self.by), strict=True)

    def followed_by(self, later: Step) -> Step:
        """Return this step and a later one of the same name as one step."""
        origins = tuple(origin for _, origin in (*self.causes(), *later.causes()))
        return msgspec.structs.replace(
            self,
            kept=later.kept,
            by=self.by + later.by,
            not_by=self.not_by + later.not_by,
            origins=origins if set(origins) - {"query"} else (),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the step as part of `Report.to_dict`."""
        plain = super().to_dict()
        if self.unit == self.name:
            del plain["unit"]
        return plain


class NativeReport(ReportPart, frozen=True):
    """Whether a scan has the form of Spark's own scan of files, which native engines read.

    Attributes:
        engine: the session's native engine, such as `Comet`, or None if it has none.
        reason: why the scan has a form of its own, or None if it has Spark's.
    """

    engine: str | None = None
    reason: str | None = None

    def __str__(self) -> str:
        """Return it as a line of a report.

        >>> print(NativeReport("Comet"), NativeReport("Comet", "its files are orc"), NativeReport(), sep="; ")
        native: Comet reads it; not native: its files are orc; native: Spark's scan of files reads it
        """
        if self.reason is not None:
            return f"not native: {self.reason}"
        reader = self.engine or "Spark's scan of files"
        return f"native: {reader} reads it"


class RowsReport(ReportPart, frozen=True):
    """The rows that a scan gave in the run, after the query's conditions, beside the estimate.

    Attributes:
        rows: that it gave.
        estimated: how many Spark's cost-based optimizer expected.
    """

    rows: int
    estimated: int

    def __str__(self) -> str:
        """Return it as part of a line of a report.

        >>> print(RowsReport(1204, 1300))
        rows 1,204 (estimated 1,300)
        """
        return f"rows {self.rows:,} (estimated {self.estimated:,})"


class ScanReport(ReportPart, frozen=True):
    """One scan of one table.

    Attributes:
        table: the table's full name.
        steps: the steps in their order.
        buckets: the buckets that joins may rely on, or None if the table is not bucketed.
        run_time: the effect of runtime values, or None if none have come.
        by_totals: whether this is an estimate from the table's totals, before files are listed; see
            `runtime.totals`.
        not_read: why no file was opened in the run although the plan had a scan; empty if files were read, or
            the query has not run.
        counted: files that are not opened, since the metastore has their number of rows, and the one value
            that each column has in them.
        native: whether a native engine can read it, or None if there is none and the scan has its own form.
        rows: that it gave in the run, or None if nothing was expected of it.
    """

    table: str
    steps: tuple[Step, ...]
    buckets: BucketReport | None = None
    run_time: RunTimeReport | None = None
    by_totals: bool = False
    not_read: str = ""
    counted: int = 0
    native: NativeReport | None = None
    rows: RowsReport | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the scan as part of `Report.to_dict`."""
        plain = super().to_dict() | {"steps": [step.to_dict() for step in self.steps]}
        return plain if self.run_time is None else plain | {"run_time": self.run_time.to_dict()}

    def step(self, name: str) -> Step | None:
        """Return the step of this name, or None if the scan has none."""
        return next((step for step in self.steps if step.name == name), None)

    def unused(self) -> tuple[IneffectiveCondition, ...]:
        """Return the conditions that pruned nothing in any step, each with the last step's reason.

        `c IS NOT NULL` is left out, since Spark itself adds it to every join and comparison. A scan that was
        not read has none.
        """
        if self.not_read:
            return ()
        served = {condition for step in self.steps for condition in step.by}
        reasons = {note.condition: note for step in self.steps for note in step.not_by}
        return tuple(
            note
            for condition, note in reasons.items()
            if condition not in served and not _NOT_NULL.fullmatch(condition)
        )
