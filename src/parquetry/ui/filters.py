"""Plan a typed condition: the ranges of keys with the keys examined, and what each step of pruning keeps."""

from __future__ import annotations

from typing import Any

from parquetry import prune
from parquetry.catalog import bind_filter, plan_partitions
from parquetry.metastore import TableSnapshot
from parquetry.predicate import Filter, conjuncts
from parquetry.prune import Report
from parquetry.scan import EVERYTHING
from parquetry.scan.plan_text import plan_text
from parquetry.types import ColumnType

MAX_RANGES = 200
"""Ranges of keys that are shown, at most; the text says how many more there are."""


def read_filter(snapshot: TableSnapshot, where: str, *, partitions_only: bool = False) -> Filter:
    """Return a condition in the language of `scan(where=…)`.

    Args:
        snapshot: of the table.
        where: the condition.
        partitions_only: whether it may name partition columns alone.

    Raises:
        FilterError: the text cannot be read, or the table has no such column.
    """
    from parquetry.predicate import parse_filter

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
    names = frozenset(snapshot.metadata.partition_by)
    conditions = tuple(prune.Condition.from_filter(Filter(part)) for part in parts)
    request = prune.PruningRequest(snapshot, conditions, None, names, None)
    selection = prune.select_for(request, about=())
    report = Report((selection.report,))
    return {
        "version": snapshot.version,
        "condition": str(condition) if parts else None,
        "keys": _key_ranges(snapshot, condition),
        "report": report.to_dict(),
        "html": report.to_html(styled=False),
        "text": str(report),
    }


def _key_ranges(snapshot: TableSnapshot, condition: Filter) -> dict[str, Any] | None:
    """Return the ranges of keys that are read for a condition, or None without partition columns."""
    names = frozenset(snapshot.metadata.partition_by)
    if not names:
        return None
    part = prune.on_partitions(condition, names)
    if part is None or part == Filter.all_of([]):
        count = snapshot.totals.partitions
        return {
            "condition": None,
            "ranges": [plan_text(EVERYTHING, snapshot.key_schema)],
            "more": 0,
            "outcome": "",
            "all": count,
        }
    *ranges, outcome = str(plan_partitions(snapshot, part, run=True)).split("\n")
    return {
        "condition": str(part),
        "ranges": ranges[:MAX_RANGES],
        "more": max(0, len(ranges) - MAX_RANGES),
        "outcome": outcome,
        "all": snapshot.totals.partitions,
    }
