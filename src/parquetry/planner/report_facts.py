"""A query's report, made from the facts that the bridge reads off its plans."""

from __future__ import annotations

import json
import re
from typing import Any

import msgspec

from parquetry.config import SPARK_SERIES, series_of
from parquetry.prune.report import IneffectiveCondition, JoinFacts, Report, ScanReport, explain_joins
from parquetry.prune.runtime import CandidateOutcome, reports

_UNTRANSLATED_REASON = "Spark does not hand this condition to a data source"


def report_from_json(answer: str) -> Report:
    """Return the report of a query.

    Args:
        answer: of `bridge/reports/Reports.scala`.
    """
    return report_from_facts(json.loads(answer))


def report_from_facts(found: dict[str, Any]) -> Report:
    """Return the report of a query, whose facts are given as the dict that JSON has them as."""
    scans = []
    for each in found["scans"]:
        scan = ScanReport.from_dict(each["report"])
        notes = tuple(
            IneffectiveCondition(_bare(text), _UNTRANSLATED_REASON) for text in each["untranslated"]
        )
        steps = (
            s if s.counts_bytes else msgspec.structs.replace(s, not_by=s.not_by + notes) for s in scan.steps
        )
        scans.append(msgspec.structs.replace(scan, steps=tuple(steps)))
    joins = msgspec.convert(found["joins"], tuple[JoinFacts, ...])
    values = reports(msgspec.convert(found["values"], tuple[CandidateOutcome, ...]))
    lacking = {each.feature: each for each in SPARK_SERIES.get(series_of(found["spark"]) or "", ())}
    folding = lacking.get("folding buckets")
    return Report(
        tuple(scans), explain_joins(joins, found["settings"], folding.reason if folding else None), values
    )


def _bare(text: str) -> str:
    """Take the parentheses off a condition that stands in nothing but them.

    >>> _bare("((a = 1))"), _bare("(a = ')')"), _bare("(a + b) LIKE ('c')")
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
