"""The reports of runtime filters: how many values came for a column, and from where, or why none came.

For each scan, a report says what they pruned.

As text:

    run time: k → 39 values, day > 2026-03-01: partitions 10 → 3 · files 40 → 12
    run time: off (session setting 'parquetry.runtime-pruning')
    run time: no values of k within 60 s: nothing less is read
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any, Literal

import msgspec

from parquetry.prune.report.part import ReportPart, written_if_empty
from parquetry.prune.report.sql_words import join_words

How = Literal["shared", "collected", "ends", "spark", "known", "replaced", "refused"]
_MAX_CONDITION_CHARACTERS = 200
"""Characters of the conditions that a line of text shows; the dict has all of them."""


class ValuesReport(ReportPart, frozen=True, omit_defaults=False):
    """The outcome of a runtime filter, from one side of a join to a column of a table on the other side.

    Attributes:
        table: the table on the probe side, which the values could prune.
        column: its column that is compared with the values.
        type: the type of the join in SQL.
        build: the build side: a table, or Spark's name for another source.
        key: the join key of the build side.
        how: see `Verdict`; `enough` is a refusal of values at run time, as plan-time values left so little.
        reason: the reason of a refusal, or why an arrived filter is ineffective. It is empty if the filter
            pruned something, or has not arrived.
        values: the number of values, or None if the query has not run, did not wait for them, or only Spark
            knows.
        shared: whether they came from a broadcast.
        where: conditions of the query on the build side, as SQL.
        tuples: whether they are tuples of several columns.

    >>> print(ValuesReport("lake.db.f", "k", "INNER", "d", "k", "spark", values=1))
    lake.db.f.k: 1 run-time value of d.k (INNER JOIN, Spark's own filter)
    >>> where = ("year = 2000", "moy = 11")
    >>> print(ValuesReport("lake.db.f", "k", "INNER", "lake.db.d", "k", "shared", values=30, shared=True, where=where))
    lake.db.f.k: 30 run-time values of lake.db.d.k where year = 2000 AND moy = 11 (INNER JOIN, its broadcast)
    >>> print(ValuesReport("lake.db.f", "(a, b)", "INNER", "d", "(a, b)", "collected", values=8, tuples=True))
    lake.db.f.(a, b): 8 run-time tuples of d.(a, b) (INNER JOIN, d is read for them)
    >>> all_of_them = "every partition may hold a match"
    >>> print(ValuesReport("lake.db.f", "k", "INNER", "d", "k", "shared", all_of_them, values=9, shared=True))
    lake.db.f.k: 9 run-time values of d.k (INNER JOIN, its broadcast) leave nothing out: every partition may hold a match
    >>> print(ValuesReport("lake.db.f", "k", "INNER", "d", "k", "refused", "1 file of lake.db.f left"))
    lake.db.f.k: no run-time values of d.k (INNER JOIN: 1 file of lake.db.f left)
    >>> print(ValuesReport("lake.db.f", "day", "INNER", "lake.db.d", "day", "known", values=3))
    lake.db.f.day: 3 values of lake.db.d.day known in planning (INNER JOIN)
    >>> print(ValuesReport("lake.db.f", "day", "INNER", "lake.db.d", "day", "enough", "0 files of lake.db.f left"))
    lake.db.f.day: values known in planning are enough, without any of lake.db.d.day (INNER JOIN: 0 files of lake.db.f left)
    >>> print(ValuesReport("lake.db.f", "id", "INNER", "lake.db.g", "id", "ends", where=("year = 2000",)))
    lake.db.f.id: least and greatest of the run-time values of lake.db.g.id where year = 2000 (INNER JOIN, by its files' statistics)
    """

    table: str
    column: str
    type: str
    build: str
    key: str
    how: How | Literal["enough"]
    reason: str = ""
    values: int | None = None
    shared: bool = False
    where: tuple[str, ...] = ()
    tuples: bool = False

    @property
    def title(self) -> str:
        """Return the column that the values are for."""
        return f"{self.table}.{self.column}"

    @property
    def _source(self) -> str:
        """Return the key with its table, or with words for a source of rows that is no table."""
        return (
            f"{self.key} of {self.build}"
            if re.search(r"[ (]|^[A-Z]+$", self.build)
            else f"{self.build}.{self.key}"
        )

    @property
    def outcome(self) -> str:
        """Return the outcome as text."""
        unit = "tuple" if self.tuples else "value"
        of = f"{unit if self.values == 1 and self.how != 'refused' else f'{unit}s'} of {self._source}"
        if self.how == "refused":
            return f"no run-time {of} ({join_words(self.type)}: {self.reason})"
        if self.how == "enough":
            because = f"({join_words(self.type)}: {self.reason})"
            return f"values known in planning are enough, without any of {self._source} {because}"
        count = "" if self.values is None else f"{self.values:,} "
        if self.where:
            of = f"{of} where {_in_short(' AND '.join(self.where))}"
        nothing = f" leave nothing out: {self.reason}" if self.reason else ""
        if self.how == "known":
            return f"{count}{of} known in planning ({join_words(self.type)}){nothing}"
        if self.how == "ends":
            return f"least and greatest of the run-time {of} ({join_words(self.type)}, by its files' statistics){nothing}"
        if self.how == "spark":
            source = "Spark's own filter"
        elif self.shared:
            source = "its broadcast"
        else:
            source = f"{self.build} is read for them"
        return f"{count}run-time {of} ({join_words(self.type)}, {source}){nothing}"

    def __str__(self) -> str:
        return f"{self.title}: {self.outcome}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as part of `Report.to_dict`."""
        plain = super().to_dict()
        if not self.tuples:
            del plain["tuples"]
        return plain


def _in_short(text: str) -> str:
    return text if len(text) <= _MAX_CONDITION_CHARACTERS else f"{text[: _MAX_CONDITION_CHARACTERS - 1]}…"


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
