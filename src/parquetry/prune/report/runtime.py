"""The report of runtime values for one scan: how many came for each column, and what they pruned.

As text:

    run time: k → 39 values, day > 2026-03-01: partitions 10 → 3 · files 40 → 12
    run time: off (session setting 'parquetry.runtime-pruning')
    run time: no values of k within 60 s: nothing less is read
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from parquetry.prune.report.part import ReportPart, written_if_empty


class RuntimeValues(ReportPart, frozen=True):
    """Runtime values of a column, or a condition with runtime values in it.

    Attributes:
        column: the column, or None for a condition.
        condition: the condition, or None for values of a column.
        count: the number of values of the column.
        tuples: whether they are tuples of several columns.
        note: a remark: that the values are not used one by one, or were known at plan time.
    """

    column: str | None = None
    condition: str | None = None
    count: int | None = None
    tuples: bool = False
    note: str | None = None

    @property
    def text(self) -> str:
        """Return the column, or the condition."""
        return self.column or self.condition or ""

    def __str__(self) -> str:
        told = self.text
        if self.count is not None:
            unit = "tuple" if self.tuples else "value"
            told = f"{told} → {self.count:,} {unit if self.count == 1 else f'{unit}s'}"
        return told if self.note is None else f"{told} ({self.note})"


class TimedOutValues(ReportPart, frozen=True, rename={"text": "condition"}):
    """A timed-out filter.

    Attributes:
        text: the column or expression of the filter.
        milliseconds: how long the scan waited for its values.
    """

    text: str
    milliseconds: int

    def __str__(self) -> str:
        return f"no values of {self.text} within {self.milliseconds / 1000:g} s"


class StepReduction(ReportPart, frozen=True):
    """The numbers that a step kept without and with the runtime values, in the step's unit.

    Attributes:
        name: the name of the step.
        before: the number kept without the values.
        after: the number kept with them.
        about: whether `before` is an estimate.
    """

    name: str
    before: int
    after: int
    about: bool = False


class RunTimeReport(ReportPart, frozen=True):
    """The effect of runtime values on a scan.

    Attributes:
        values: the values in the order of their arrival.
        cuts: the steps that kept less because of them.
        off: the setting that turned runtime pruning off, or None.
        late: whether partitions and files were listed only after the values had come.
        missed: the filters that timed out.
    """

    values: tuple[RuntimeValues, ...] = msgspec.field(default_factory=written_if_empty)
    cuts: tuple[StepReduction, ...] = msgspec.field(default_factory=written_if_empty)
    off: str | None = None
    late: bool = False
    missed: tuple[TimedOutValues, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as part of `Report.to_dict`."""
        return super().to_dict() if self.off is None else {"off": self.off}


def found_values(
    text: str, count: int | None, note: str | None = None, *, tuples: bool = False
) -> RuntimeValues:
    """Return the report of some values of a column; without a number, the text is a condition."""
    if count is None:
        return RuntimeValues(condition=text, note=note)
    return RuntimeValues(column=text, count=count, tuples=tuples, note=note)


def reductions(
    before: Sequence[tuple[str, int]], after: Sequence[tuple[str, int, int]], estimated: Collection[str] = ()
) -> tuple[StepReduction, ...]:
    """Return the steps that kept less with the runtime values.

    Args:
        before: names of steps, with the number that each kept without the values.
        after: names of steps, with the number that each kept with the values, and the number before the step.
        estimated: names of the steps whose number in `before` is an estimate.

    >>> reductions([("files", 40)], [("buckets", 3, 16), ("files", 12, 30)])
    (StepReduction(name='buckets', before=16, after=3, about=False), StepReduction(name='files', before=40, after=12, about=False))
    >>> reductions([("files", 40), ("bytes", 13_700)], [("files", 40, 40), ("bytes", 13_600, 20_000)], ["bytes"])
    ()
    """
    known = dict(before)
    told = (StepReduction(name, known.get(name, of), kept, name in estimated) for name, kept, of in after)
    cuts = tuple(cut for cut in told if cut.after < cut.before)
    # an estimate of bytes is a little more than their number even where no file was left out
    return () if all(cut.about and cut.name == "bytes" for cut in cuts) else cuts
