"""What a report tells of the values that joins found at run time: how many of which column, and what they left out.

The part of a scan's report reads, drawn as text:

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
    """Values of a column that a join found, or another condition of which a value was found.

    Attributes:
        column: that they are of; None: it is a condition.
        condition: None: they are values of a column.
        count: how many values there are of the column.
        tuples: whether they are tuples of several columns.
        note: what else is to be known of them: that they are not used one by one, or were known in planning.
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
    """Values that were not there in time.

    Attributes:
        text: the column, or the expression that they are of.
        milliseconds: how long they were waited for.
    """

    text: str
    milliseconds: int

    def __str__(self) -> str:
        return f"no values of {self.text} within {self.milliseconds / 1000:g} s"


class StepReduction(ReportPart, frozen=True):
    """What a step left before the values were known, and after: of what the step's unit says.

    Attributes:
        name: of the step.
        before: without the values.
        after: with them.
        about: whether the number before is an estimate.
    """

    name: str
    before: int
    after: int
    about: bool = False


class RunTimeReport(ReportPart, frozen=True):
    """What values found at run time did for a scan.

    Attributes:
        values: in the order in which they came.
        cuts: the steps that left less because of them.
        off: where it was said that there are to be none; None: nowhere.
        late: whether partitions and files were listed only when the values had come.
        missed: values that did not come in time.
    """

    values: tuple[RuntimeValues, ...] = msgspec.field(default_factory=written_if_empty)
    cuts: tuple[StepReduction, ...] = msgspec.field(default_factory=written_if_empty)
    off: str | None = None
    late: bool = False
    missed: tuple[TimedOutValues, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as `Report.to_dict` gives it."""
        return super().to_dict() if self.off is None else {"off": self.off}


def found_values(
    text: str, count: int | None, note: str | None = None, *, tuples: bool = False
) -> RuntimeValues:
    """Return so many values of a column; without a number, the text is a condition."""
    if count is None:
        return RuntimeValues(condition=text, note=note)
    return RuntimeValues(column=text, count=count, tuples=tuples, note=note)


def reductions(
    before: Sequence[tuple[str, int]], after: Sequence[tuple[str, int, int]], estimated: Collection[str] = ()
) -> tuple[StepReduction, ...]:
    """Return the steps that left less.

    Args:
        before: steps by name, and what each left without the values.
        after: steps by name, what each left with them, and of how much.
        estimated: steps of which it is not known exactly what they left without the values.

    >>> reductions([("files", 40)], [("buckets", 3, 16), ("files", 12, 30)])
    (StepReduction(name='buckets', before=16, after=3, about=False), StepReduction(name='files', before=40, after=12, about=False))
    """
    known = dict(before)
    told = (StepReduction(name, known.get(name, of), kept, name in estimated) for name, kept, of in after)
    return tuple(cut for cut in told if cut.after < cut.before)
