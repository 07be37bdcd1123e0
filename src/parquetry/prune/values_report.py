"""What a report says of the values that a join finds at run time: for which column how many came from where, or why none did."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from parquetry.prune.runtime import Candidate, Gathered, How, Verdict
from parquetry.prune.scan_report import ScanReport

_LONGEST = 200
"""Characters of the conditions that a line shows; the dict has all of them."""


@dataclass(frozen=True, slots=True)
class ValuesReport:
    """What became of the values of one side of a join, for a column of a table on the other.

    Attributes:
        table: that they could leave something out of.
        column: that they are of.
        type: of the join, as SQL has it.
        build: what they come from: a table, or what else Spark calls it.
        key: the other side's.
        how: see `Verdict`.
        reason: of a refusal, or why values that came leave nothing out; empty: they leave something out, or have not come.
        values: how many there were; None: the query has not run, or did not wait for them, or Spark alone knows.
        shared: whether they are those of a broadcast.
        where: conditions of the query on what they come from, as SQL.
        tuples: whether they are tuples of several columns.

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
    >>> print(ValuesReport("lake.db.f", "id", "INNER", "lake.db.g", "id", "ends", where=("year = 2000",)))
    lake.db.f.id: least and greatest of the run-time values of lake.db.g.id where year = 2000 (INNER JOIN, by its files' statistics)
    """

    table: str
    column: str
    type: str
    build: str
    key: str
    how: How
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
    def outcome(self) -> str:
        """Return what became of the values."""
        of = f"{'tuples' if self.tuples else 'values'} of {self.build}.{self.key}"
        if self.how == "refused":
            return f"no run-time {of} ({self.type} JOIN: {self.reason})"
        count = "" if self.values is None else f"{self.values:,} "
        if self.where:
            of = f"{of} where {_in_short(' AND '.join(self.where))}"
        nothing = f" leave nothing out: {self.reason}" if self.reason else ""
        if self.how == "known":
            return f"{count}{of} known in planning ({self.type} JOIN){nothing}"
        if self.how == "ends":
            return f"least and greatest of the run-time {of} ({self.type} JOIN, by its files' statistics){nothing}"
        if self.how == "spark":
            source = "Spark's own filter"
        elif self.shared:
            source = "its broadcast"
        else:
            source = f"{self.build} is read for them"
        return f"{count}run-time {of} ({self.type} JOIN, {source}){nothing}"

    def __str__(self) -> str:
        return f"{self.title}: {self.outcome}"

    def to_dict(self) -> dict[str, Any]:
        """Return it as `Report.to_dict` gives it."""
        plain = {name: getattr(self, name) for name in self.__slots__} | {"where": list(self.where)}
        if not self.tuples:
            del plain["tuples"]
        return plain

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> ValuesReport:
        """Return what `to_dict` was given of."""
        return cls(**{**plain, "where": tuple(plain.get("where", ()))})


def _in_short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


class Told(msgspec.Struct, frozen=True):
    """What the bridge tells of a candidate of a query: its verdict, and what became of it; None: nothing was put into the plan."""

    candidate: Candidate
    verdict: Verdict
    gathered: Gathered | None = None


def reports(found: Sequence[Told]) -> tuple[ValuesReport, ...]:
    """Return what is to be said of the joins of a query: of each what was used, or else why nothing was.

    A candidate that another one replaced has no line of its own: the line of the other says who takes the values, and from where.
    """
    used = {each.candidate.join for each in found if each.verdict.how != "refused"}
    told = (_report(each) for each in found if each.verdict.used or each.candidate.join not in used)
    return tuple(_once(told))


def _report(told: Told) -> ValuesReport:
    candidate, verdict, gathered = told.candidate, told.verdict, told.gathered
    how, reason = verdict.how, verdict.reason
    values = None if gathered is None else gathered.values
    if how == "known":
        values = None if candidate.known is None else candidate.known.count
        reason = _unused_known(candidate)
    elif verdict.used and (missing := _missing(candidate, how, gathered)) is not None:
        how, reason = "refused", missing
    elif gathered is not None and gathered.unused is not None:
        reason = gathered.unused
    return ValuesReport(
        candidate.table,
        candidate.column,
        candidate.type,
        candidate.build.name,
        candidate.build.key,
        how,
        reason,
        values,
        gathered is not None and gathered.shared,
        () if how == "refused" else tuple(map(_without_parentheses, candidate.build.where)),
        candidate.form == "tuple",
    )


def _missing(candidate: Candidate, how: How, gathered: Gathered | None) -> str | None:
    """Return why values did not come to a scan that was to wait for them, or None if they did or the query has not run."""
    if gathered is None:
        if how in ("shared", "spark"):
            return f"{candidate.build.name} was not broadcast after all"
        return f"{candidate.table} itself is broadcast, for its values"
    if gathered.scan == "gone":
        return f"nothing of {candidate.table} is read"
    if gathered.scan == "reused":
        return f"what another place of the query reads of {candidate.table} serves here, too"
    if gathered.missed is not None:
        return f"{candidate.build.name} was not there within {gathered.missed / 1000:g} s, the runtime-pruning-max-wait"
    return None


def _unused_known(candidate: Candidate) -> str:
    """Return why values that are known in planning leave nothing out, or an empty text if they leave something out."""
    steps = ScanReport.from_dict(candidate.report).steps
    if any(
        origin == "known" and _begins_with(text, candidate.column)
        for step in steps
        for text, origin in step.causes()
    ):
        return ""
    reasons = [
        note.reason
        for step in steps
        for note in step.not_by
        if note.origin == "known" and _begins_with(note.condition, candidate.column)
    ]
    return reasons[-1] if reasons else "every partition has one of them"


def _begins_with(condition: str, column: str) -> bool:
    """Return whether a condition's text is about a column, and not about one whose name begins so, or a field of it.

    >>> _begins_with("day = 3", "day"), _begins_with("day2 = 3", "day"), _begins_with("day.of = 3", "day")
    (True, False, False)
    """
    return condition.startswith(f"{column} ")


def _without_parentheses(text: str) -> str:
    """Return an SQL expression without the parentheses that are around all of it, if it needs none beside an AND.

    >>> _without_parentheses("(year = 2000)"), _without_parentheses("((a = 1) OR (b = 2))")
    ('year = 2000', '((a = 1) OR (b = 2))')
    """
    inner = text[1:-1]
    depth = 0
    for sign in inner:
        depth += (sign == "(") - (sign == ")")
        if depth < 0:
            return text
    return (
        inner if text.startswith("(") and text.endswith(")") and not depth and " OR " not in inner else text
    )


def _once(told: Iterable[ValuesReport]) -> Iterator[ValuesReport]:
    """Yield each once: of values that stand in a plan in two places, one of which knows how many they are, that one."""
    each = dict.fromkeys(told)
    counted = {replace(one, values=None, reason="") for one in each if one.values is not None}
    yield from (one for one in each if one.values is not None or one not in counted)
