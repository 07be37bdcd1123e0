"""A query's report, made from the facts that the bridge reads off its plans."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import msgspec

from parquetry.joins import CandidateOutcome, JoinFacts, explain_joins, reason_against, reports
from parquetry.planner.scan_facts import scan_reports
from parquetry.prune import AuditReport, HeavyKeysReport, Report, ScanReport, ValuesReport


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
