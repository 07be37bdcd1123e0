"""What a report tells of the values that joins found at run time: how many of which column, and what they left out.

The part of a scan's report reads, drawn as text:

    run time: k → 39 values, day > 2026-03-01: partitions 10 → 3 · files 40 → 12
    run time: off (session setting 'parquetry.runtime-pruning')
    run time: no values of k within 60 s: nothing less is read
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class FoundValues:
    """Values of a column that a join found, or another condition of which a value was found.

    Attributes:
        text: the column, or the condition.
        count: how many values; None: it is a condition.
        note: what else is to be known of them: that they are not used one by one, or were known in planning.
        tuples: whether they are tuples of several columns.
    """

    text: str
    count: int | None = None
    note: str | None = None
    tuples: bool = False

    def __str__(self) -> str:
        told = self.text
        if self.count is not None:
            unit = "tuple" if self.tuples else "value"
            told = f"{told} → {self.count:,} {unit if self.count == 1 else f'{unit}s'}"
        return told if self.note is None else f"{told} ({self.note})"


@dataclass(frozen=True, slots=True)
class MissedValues:
    """Values that were not there in time.

    Attributes:
        text: the column, or the expression that they are of.
        milliseconds: how long they were waited for.
    """

    text: str
    milliseconds: int

    def __str__(self) -> str:
        return f"no values of {self.text} within {self.milliseconds / 1000:g} s"


@dataclass(frozen=True, slots=True)
class Cut:
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


@dataclass(frozen=True, slots=True)
class RunTimeReport:
    """What values found at run time did for a scan.

    Attributes:
        values: in the order in which they came.
        cuts: the steps that left less because of them.
        off: where it was said that there are to be none; None: nowhere.
        late: whether partitions and files were listed only when the values had come.
        missed: values that did not come in time.
    """

    values: tuple[FoundValues, ...] = ()
    cuts: tuple[Cut, ...] = ()
    off: str | None = None
    late: bool = False
    missed: tuple[MissedValues, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return it as `Report.to_dict` gives it."""
        if self.off is not None:
            return {"off": self.off}
        plain: dict[str, Any] = {
            "values": [_plain(each) for each in self.values],
            "cuts": [
                {"name": cut.name, "before": cut.before, "after": cut.after}
                | ({"about": True} if cut.about else {})
                for cut in self.cuts
            ],
        }
        if self.late:
            plain["late"] = True
        if self.missed:
            plain["missed"] = [
                {"condition": each.text, "milliseconds": each.milliseconds} for each in self.missed
            ]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> RunTimeReport:
        """Return what `to_dict` was given of."""
        return cls(
            tuple(
                FoundValues(
                    each.get("column") or each["condition"],
                    each.get("count"),
                    each.get("note"),
                    each.get("tuples", False),
                )
                for each in plain.get("values", ())
            ),
            tuple(
                Cut(cut["name"], cut["before"], cut["after"], cut.get("about", False))
                for cut in plain.get("cuts", ())
            ),
            plain.get("off"),
            plain.get("late", False),
            tuple(MissedValues(each["condition"], each["milliseconds"]) for each in plain.get("missed", ())),
        )


def _plain(found: FoundValues) -> dict[str, Any]:
    plain: dict[str, Any] = (
        {"condition": found.text} if found.count is None else {"column": found.text, "count": found.count}
    )
    if found.tuples:
        plain["tuples"] = True
    return plain if found.note is None else plain | {"note": found.note}


def cuts(
    before: Sequence[tuple[str, int]], after: Sequence[tuple[str, int, int]], estimated: Collection[str] = ()
) -> tuple[Cut, ...]:
    """Return the steps that left less.

    Args:
        before: steps by name, and what each left without the values.
        after: steps by name, what each left with them, and of how much.
        estimated: steps of which it is not known exactly what they left without the values.

    >>> cuts([("files", 40)], [("buckets", 3, 16), ("files", 12, 30)])
    (Cut(name='buckets', before=16, after=3, about=False), Cut(name='files', before=40, after=12, about=False))
    """
    known = dict(before)
    told = (Cut(name, known.get(name, of), kept, name in estimated) for name, kept, of in after)
    return tuple(cut for cut in told if cut.after < cut.before)
