"""Report the outcome of each candidate of a query: its verdict and the values that came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from parquetry.joins.runtime.candidates import Candidate, Gathered, Verdict
from parquetry.prune import How, ValuesReport, key_of_not_in, plain_text


class CandidateOutcome(msgspec.Struct, frozen=True):
    """The bridge's message about a candidate: its verdict, and its values, or None if it has no filter."""

    candidate: Candidate
    verdict: Verdict
    gathered: Gathered | None = None


def reports(outcomes: Sequence[CandidateOutcome]) -> tuple[ValuesReport, ...]:
    """Return the report lines for the joins of a query: the values used for each join, or else why none were.

    A candidate that another one replaced has no line: the other's line names the table and the source of the
    values. Nor has a refused one if values of the same key came for the same column in another way.
    """
    used = {each.candidate.join for each in outcomes if each.verdict.how != "refused"}
    lines = [
        (each.candidate.scan, _report(each))
        for each in outcomes
        if each.verdict.used or each.candidate.join not in used
    ]
    served = {_subject(*line) for line in lines if line[1].how != "refused"}
    return tuple(
        _without_duplicates(
            row for scan, row in lines if row.how != "refused" or _subject(scan, row) not in served
        )
    )


def _subject(scan: int, row: ValuesReport) -> tuple[int, str, str, str]:
    """Return what a line is about: values of one key for one column of a scan."""
    return scan, row.column, row.build, row.key


def _report(outcome: CandidateOutcome) -> ValuesReport:
    candidate, verdict, gathered = outcome.candidate, outcome.verdict, outcome.gathered
    how: How | Literal["enough"] = verdict.how
    reason = verdict.reason
    values = None if gathered is None else gathered.values
    if how == "known":
        values = None if candidate.known is None else candidate.known.count
        reason = _plan_time_reason(candidate)
    elif not verdict.used and (plan_time := _enough_in_planning(candidate)) is not None:
        how, reason = "enough", plan_time
    elif verdict.used and (missing := _missing(candidate, how, gathered)) is not None:
        how, reason = "refused", missing
    elif gathered is not None and gathered.unused is not None:
        reason = gathered.unused
    return ValuesReport(
        candidate.table,
        plain_text(candidate.column),
        candidate.type,
        candidate.build.name,
        key_of_not_in(plain_text(candidate.build.key), plain_text(candidate.column)),
        how,
        plain_text(reason),
        values,
        gathered is not None and gathered.shared,
        () if how in ("refused", "enough") else _conditions(candidate.build.where),
        candidate.form == "tuple",
    )


def _enough_in_planning(candidate: Candidate) -> str | None:
    """Return what plan-time values of the column leave, or None if none pruned the scan.

    If they leave nothing of a scan, it needs no values at run time, so its candidate is refused.
    """
    report = candidate.report
    served = any(
        origin == "known" and _begins_with(text, candidate.column)
        for step in report.steps
        for text, origin in step.causes()
    )
    step = report.step("files")
    if not served or step is None:
        return None
    return f"{step.kept:,} {'file' if step.kept == 1 else 'files'} of {candidate.table} left"


def _missing(candidate: Candidate, how: str, gathered: Gathered | None) -> str | None:
    """Return why values did not come to a scan, or None if they did or the query has not run."""
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


def _plan_time_reason(candidate: Candidate) -> str:
    """Return why plan-time values prune nothing, or an empty text if they prune something."""
    steps = candidate.report.steps
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
    """Return whether a condition's text is about a column, not about a longer name or a field of it.

    >>> _begins_with("day = 3", "day"), _begins_with("day2 = 3", "day"), _begins_with("day.of = 3", "day")
    (True, False, False)
    """
    return condition.startswith(f"{column} ")


def _conditions(where: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(_without_parentheses(plain_text(text)) for text in where))


def _without_parentheses(text: str) -> str:
    """Return an SQL expression without its outer parentheses, unless it needs them beside an AND.

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


def _without_duplicates(rows: Iterable[ValuesReport]) -> Iterator[ValuesReport]:
    """Yield each report once; of the same values with and without their number, yield the former."""
    each = dict.fromkeys(rows)
    counted = {msgspec.structs.replace(one, values=None, reason="") for one in each if one.values is not None}
    yield from (one for one in each if one.values is not None or one not in counted)
