"""A query's report, made from the facts that the bridge reads off its plans.

Facts of a scan become its report.

A scan's own report says what the planner chose. The facts of a run say what happened: adaptive execution may
drop a scan, a cache or another scan may give its rows, and a LIMIT ends before all files are opened.

    {"report": …, "untranslated": ["hash(v) = 3"], "read": "dropped", "opened": 0, "joins": ["INNER"], "cache": null}
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, Literal

import msgspec

from parquetry.joins import CandidateOutcome, JoinFacts, explain_joins, reason_against, reports
from parquetry.prune import (
    AuditReport,
    HeavyKeysReport,
    IneffectiveCondition,
    NativeReport,
    Origin,
    Report,
    RowsReport,
    RunTimeReport,
    ScanReport,
    Step,
    ValuesReport,
    join_words,
    plain_text,
)


def report_from_json(answer: str) -> Report:
    """Return the report of a query.

    Args:
        answer: of `bridge/reports/Reports.scala`.
    """
    return report_from_facts(json.loads(answer))


def report_from_facts(found: dict[str, Any]) -> Report:
    """Return the report of a query, whose facts are given as the dict that JSON has them as."""
    scans = scan_reports(found["scans"])
    joins = msgspec.convert(found["joins"], tuple[JoinFacts, ...])
    joins = tuple(join for join in joins if not _finds_files(join))
    values = reports(tuple(map(_with_reason, msgspec.convert(found["values"], tuple[CandidateOutcome, ...]))))
    return Report(
        scans,
        explain_joins(joins, found["settings"]),
        tuple(_without_effect(each, scans) for each in values if not _is_refusal_of_files(each)),
        not_run=bool(scans) and found.get("run") == "none",
        heavy_keys=msgspec.convert(found.get("splits", ()), tuple[HeavyKeysReport, ...]),
        audited=msgspec.convert(found.get("audited"), AuditReport | None),
    )


def _finds_files(join: JoinFacts) -> bool:
    """Return whether a join of a table with itself is Spark's search for the files of a statement.

    It is in no DELETE, UPDATE or MERGE as the user has written it.
    """
    keys = [key.sql.strip("`") for side in join.sides for key in side.keys]
    return join.sides[0].name == join.sides[1].name and keys == ["_file", "_file"]


def _is_refusal_of_files(values: ValuesReport) -> bool:
    """Return whether values were refused for Spark's search for files; see `_finds_files`."""
    own = (values.table, values.column) == (values.build, values.key)
    return own and values.column == "_file" and values.how == "refused"


def _with_reason(outcome: CandidateOutcome) -> CandidateOutcome:
    """Return a candidate with the reason of its refusal.

    The bridge refuses a candidate by itself, and without words, if the planner knows nothing of its column.
    """
    verdict = outcome.verdict
    if verdict.how != "refused" or verdict.reason:
        return outcome
    reason = reason_against(outcome.candidate) or ""
    return msgspec.structs.replace(outcome, verdict=msgspec.structs.replace(verdict, reason=reason))


def _without_effect(values: ValuesReport, scans: Sequence[ScanReport]) -> ValuesReport:
    """Return a line about runtime values, with the reason if the scan's report shows no effect."""
    mine = [scan for scan in scans if scan.table == values.table]
    if values.reason or values.how == "refused" or len(mine) != 1 or mine[0].run_time is None:
        return values
    begins = f"{values.column} "
    steps = mine[0].steps
    if any(text.startswith(begins) and origin == "join" for step in steps for text, origin in step.causes()):
        return values
    notes = [
        n for step in steps for n in step.not_by if n.origin == "join" and n.condition.startswith(begins)
    ]
    return msgspec.structs.replace(values, reason=notes[-1].reason) if notes else values


_UNTRANSLATED_REASON = "Spark does not hand this condition to a data source"
_SUFFIX = re.compile(r"(?<=\d)(?:BD|[DFLSY])\b")
_ADDED = re.compile(r"IS_NOT_NULL\(.*\)")
"""A condition that Spark adds beside a join or a comparison by what it computes of columns."""
_ENOUGH_TEXT = "no more rows were needed"


class ScanOutcome(msgspec.Struct, frozen=True):
    """The bridge's facts about a scan.

    Attributes:
        report: of the planner.
        untranslated: conditions that Spark does not offer to a source, as SQL.
        read: `planned` if the query has not run. After the run it is `read`, or `dropped` if the plan no
            longer had the scan. It is `reused` or `cached` if another scan or a cache gave the rows.
        opened: the number of files that the run opened, or None if that is not known.
        joins: the types of the joins above the scan; `NOT IN` for one of NOT IN.
        cache: the name of the cached table, or None.
        by_spark: whether Spark itself read the files by its own scan of files.
        rows: that the scan gave, and how many Spark's optimizer expected; None if it expected no number.
    """

    report: ScanReport
    untranslated: tuple[str, ...] = ()
    read: Literal["planned", "read", "dropped", "reused", "cached"] = "planned"
    opened: int | None = None
    joins: tuple[str, ...] = ()
    cache: str | None = None
    by_spark: bool = False
    rows: tuple[int, int] | None = None


def scan_reports(facts: Iterable[dict[str, Any]]) -> tuple[ScanReport, ...]:
    """Return the reports of the scans that a query read or plans to read, each once."""
    outcomes = msgspec.convert(list(facts), list[ScanOutcome])
    return tuple(_report(each) for each in outcomes if each.read != "reused")


def _report(facts: ScanOutcome) -> ScanReport:
    scan = facts.report
    notes = tuple(
        IneffectiveCondition(bare_condition(text), _UNTRANSLATED_REASON) for text in facts.untranslated
    )
    steps = (s if s.counts_bytes else msgspec.structs.replace(s, not_by=s.not_by + notes) for s in scan.steps)
    scan = msgspec.structs.replace(
        scan,
        steps=tuple(map(_plain_step, steps)),
        run_time=_plain_values(scan.run_time),
        native=_native(scan.native, by_spark=facts.by_spark),
        rows=None if facts.rows is None else RowsReport(*facts.rows),
    )
    if facts.read == "cached":
        cache = "a cache" if facts.cache is None else f"the cache {facts.cache}"
        return not_read(scan, f"its rows came from {cache}")
    if facts.read == "dropped" and not facts.opened:
        return not_read(scan, _dropped_reason(facts.joins))
    return scan if facts.opened is None else opened(scan, facts.opened)


def _native(found: NativeReport | None, *, by_spark: bool) -> NativeReport | None:
    """Return whether an engine has read a scan: it may have left to Spark what the planner offered it."""
    if found is None or found.engine is None or found.reason is not None or not by_spark:
        return found
    return NativeReport(found.engine, f"{found.engine} left it to Spark")


def not_read(scan: ScanReport, reason: str) -> ScanReport:
    """Return the report of a scan that the run has not read."""
    steps = tuple(
        msgspec.structs.replace(step, kept=0, by=(), not_by=(), origins=(), whole=None, about=False)
        for step in scan.steps
    )
    return msgspec.structs.replace(scan, steps=steps, run_time=None, not_read=reason, counted=0, rows=None)


def opened(scan: ScanReport, count: int) -> ScanReport:
    """Return the report of a scan of whose files the run opened only some, since it needed no more rows."""
    files = scan.step("files")
    if files is None or count >= files.kept:
        return scan
    default: Origin = "query"
    origins = (*(files.origins or (default,) * len(files.by)), "run")
    kept = files.kept

    def narrowed(step: Step) -> Step:
        if step.name == "files":
            return msgspec.structs.replace(step, kept=count, by=(*step.by, _ENOUGH_TEXT), origins=origins)
        if step.counts_bytes:
            return msgspec.structs.replace(
                step,
                kept=step.kept * count // kept,
                whole=None if step.whole is None else step.whole * count // kept,
                about=count > 0,
            )
        return step

    # rows that the metastore has count as read, too, so a run that ended early needed them of fewer files
    counted = min(scan.counted, count)
    return msgspec.structs.replace(scan, steps=tuple(map(narrowed, scan.steps)), counted=counted)


def _dropped_reason(joins: Sequence[str]) -> str:
    """Return why adaptive execution dropped a scan below some joins.

    >>> _dropped_reason(["INNER", "INNER"]), _dropped_reason(["NOT IN"])
    ('the other side of its INNER JOIN had no rows', 'the subquery of NOT IN gave a NULL')
    """
    kinds = list(dict.fromkeys(joins))
    others = [kind for kind in kinds if kind != "NOT IN"]
    reasons = []
    if others:
        reasons.append(f"the other side of its {' or '.join(map(join_words, others))} had no rows")
    if "NOT IN" in kinds:
        reasons.append("the subquery of NOT IN gave a NULL")
    return ", or ".join(reasons) or "no row of it could be in the answer"


def _plain_step(step: Step) -> Step:
    """Return a step without Spark's inner names, and with each condition once."""
    if step.counts_bytes:
        return step
    causes: dict[str, tuple[str, Origin]] = {}
    for text, origin in step.causes():
        causes.setdefault(_comparable(plain_text(text)), (plain_text(text), origin))
    notes: dict[str, IneffectiveCondition] = {}
    for note in step.not_by:
        text = plain_text(note.condition)
        if _comparable(text) not in causes and not _ADDED.fullmatch(text):
            reason = plain_text(note.reason)
            notes.setdefault(_comparable(text), msgspec.structs.replace(note, condition=text, reason=reason))
    return msgspec.structs.replace(
        step,
        by=tuple(text for text, _ in causes.values()),
        not_by=tuple(notes.values()),
        origins=tuple(origin for _, origin in causes.values()) if step.origins else (),
    )


def _comparable(text: str) -> str:
    """Return a condition without the suffixes that Spark writes behind some numbers.

    >>> _comparable("f IN (0.0D, 1.0D)")
    'f IN (0.0, 1.0)'
    """
    return _SUFFIX.sub("", text)


def _plain_values(found: RunTimeReport | None) -> RunTimeReport | None:
    if found is None:
        return None
    values = tuple(
        dict.fromkeys(
            msgspec.structs.replace(
                each,
                column=None if each.column is None else plain_text(each.column),
                condition=None if each.condition is None else plain_text(each.condition),
            )
            for each in found.values
        )
    )
    missed = tuple(
        dict.fromkeys(msgspec.structs.replace(each, text=plain_text(each.text)) for each in found.missed)
    )
    return msgspec.structs.replace(found, values=values, missed=missed)


def bare_condition(text: str) -> str:
    """Take the parentheses off a condition that stands in nothing but them.

    >>> bare_condition("((a = 1))"), bare_condition("(a = ')')"), bare_condition("(a + b) LIKE ('c')")
    ('a = 1', "a = ')'", "(a + b) LIKE ('c')")
    """
    while text.startswith("(") and text.endswith(")"):
        depth = 0
        for match in re.finditer(r"'(?:[^'\\]|\\.)*'|`[^`]*`|[()]", text):
            depth += {"(": 1, ")": -1}.get(match[0], 0)
            if depth == 0 and match[0] == ")":
                break
        if match.end() < len(text):
            break
        text = text[1:-1]
    return text
