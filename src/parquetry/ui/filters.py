"""Plan a typed condition: the ranges of keys with the keys examined, and what each step of pruning keeps.

The planner holds the partitions and files that it keeps. So a condition that keeps some hundred thousand
partitions of a table is answered by the table's totals, and says that it is about.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from parquetry import prune
from parquetry.catalog import Plan, bind_filter, plan_partitions
from parquetry.metastore import TableSnapshot
from parquetry.predicate import Filter, conjuncts, parse_filter
from parquetry.prune import IneffectiveCondition, Report, ScanReport, Step
from parquetry.scan import EVERYTHING
from parquetry.scan.plan_text import plan_text
from parquetry.texts import quantity
from parquetry.types import ColumnType

MAX_RANGES = 200
"""Ranges of keys that are shown, at most; the text says how many more there are."""
MAX_LISTED_PARTITIONS = 200_000
"""Partitions whose files are looked at for an answer: some 300 MB, and a second or two."""


def read_filter(snapshot: TableSnapshot, where: str, *, partitions_only: bool = False) -> Filter:
    """Return a condition in the language of `scan(where=…)`.

    Args:
        snapshot: of the table.
        where: the condition.
        partitions_only: whether it may name partition columns alone.

    Raises:
        FilterError: the text cannot be read, or the table has no such column.
    """
    if not partitions_only:
        return bind_filter(snapshot, where, None)
    types: dict[str, ColumnType] = {
        column.name: column.column_type for column in snapshot.metadata.partition_columns
    }
    return parse_filter(where, types)


def plan_answer(snapshot: TableSnapshot, where: str) -> dict[str, Any]:
    """Return how the files of a condition are found.

    Args:
        snapshot: the version.
        where: the condition, or an empty text for every row.

    Raises:
        FilterError: the text cannot be read, or the table has no such column.
    """
    condition = read_filter(snapshot, where) if where.strip() else Filter.all_of([])
    parts = tuple(conjuncts(condition.node)) if where.strip() else ()
    conditions = tuple(prune.Condition.from_filter(Filter(part)) for part in parts)
    plan = _plan_keys(snapshot, condition)
    report = Report((_report(snapshot, conditions, plan),))
    return {
        "version": snapshot.version,
        "condition": str(condition) if parts else None,
        "keys": _key_ranges(snapshot, plan),
        "report": report.to_dict(),
        "html": report.to_html(styled=False),
        "text": str(report),
    }


def _plan_keys(snapshot: TableSnapshot, condition: Filter) -> tuple[Filter, Plan] | None:
    """Return the condition on partitions and its plan, which has run; None if every partition is kept."""
    part = prune.on_partitions(condition, frozenset(snapshot.metadata.partition_by))
    if not snapshot.metadata.partition_by or part is None or part == Filter.all_of([]):
        return None
    return part, plan_partitions(snapshot, part, run=True)


def _key_ranges(snapshot: TableSnapshot, plan: tuple[Filter, Plan] | None) -> dict[str, Any] | None:
    """Return the ranges of keys that are read, or None without partition columns."""
    if not snapshot.metadata.partition_by:
        return None
    count = snapshot.totals.partitions
    if plan is None:
        everything = plan_text(EVERYTHING, snapshot.key_schema)
        return {"condition": None, "ranges": [everything], "more": 0, "outcome": "", "all": count}
    *ranges, outcome = str(plan[1]).split("\n")
    return {
        "condition": str(plan[0]),
        "ranges": ranges[:MAX_RANGES],
        "more": max(0, len(ranges) - MAX_RANGES),
        "outcome": outcome,
        "all": count,
    }


def _report(
    snapshot: TableSnapshot, conditions: Sequence[prune.Condition], plan: tuple[Filter, Plan] | None
) -> ScanReport:
    """Return what each step keeps: by the planner, or by totals if it kept too many partitions."""
    names = frozenset(snapshot.metadata.partition_by)
    kept = snapshot.totals.partitions if plan is None else plan[1].partitions or 0
    on_files = [condition for condition in conditions if condition.about - names]
    # Range manifests have the files of neighbours together: conditions on files cost little there.
    if kept <= MAX_LISTED_PARTITIONS or (on_files and snapshot.ranges):
        request = prune.PruningRequest(snapshot, tuple(conditions), None, names, None)
        return prune.select_for(request, about=()).report
    totals = snapshot.totals
    share, whole = kept / totals.partitions, kept == totals.partitions
    reason = f"here, the files of no more than {quantity(MAX_LISTED_PARTITIONS, 'partition')} are looked at"
    notes = tuple(IneffectiveCondition(str(condition.filter), reason) for condition in on_files)
    files, size = round(totals.files * share), round(totals.bytes * share)
    by = () if plan is None else (str(plan[0]),)
    steps = (
        Step("partitions", kept, totals.partitions, by),
        Step("files", files, files, not_by=notes, about=not whole),
        Step("bytes", size, totals.bytes, unit="bytes", about=not whole),
    )
    return ScanReport(f"{snapshot.database}.{snapshot.name}", steps, by_totals=not whole)
