"""Answer what Spark's cost-based optimizer asks of a scan: its rows, and the statistics of its columns.

Spark multiplies the rows of both sides of a join whose keys have no statistics. So the rows are reported
only if every column that is read has statistics: any of them may be a key.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec

from parquetry.cardinality import estimate_columns
from parquetry.data_files import UNKNOWN
from parquetry.planner.lake import Lake
from parquetry.planner.protocol import answers, questions
from parquetry.planner.protocol.values import to_wire
from parquetry.planner.scans.request import ScanRequest

MAX_ESTIMATED_FILES = 50_000
"""Files whose statistics are read for an estimate: two seconds for ten columns, once for a version."""

_UNKNOWN = answers.ScanEstimate(None, [])


def estimate_scan(lake: Lake, q: questions.EstimateScan) -> answers.ScanEstimate:
    """Return the rows of the files that a scan would read, and the statistics of its columns."""
    request = ScanRequest.from_question(lake, q)
    conditions = msgspec.json.encode((request.predicates, request.joined, q.columns))
    return lake.estimates.get_or_make(
        ("columns", *request.snapshot.identity, conditions), lambda: _estimate(request, q.columns)
    )


def _estimate(request: ScanRequest, columns: list[str]) -> answers.ScanEstimate:
    metadata = request.snapshot.metadata
    if not _is_estimated(request, columns):
        return _UNKNOWN
    selection = request.select(columns, set(columns))
    rows = selection.block.files.rows
    if selection.block.count > MAX_ESTIMATED_FILES or (rows == UNKNOWN).any():
        return _UNKNOWN
    compared = {name for condition in request.conditions for name in condition.about}
    estimates = estimate_columns(metadata, selection, columns, compared)
    if len(estimates) < len(columns):
        return _UNKNOWN
    types = request.types
    numbers = [
        answers.ColumnNumbers(
            each.name,
            each.distinct,
            each.nulls,
            to_wire(types[each.name], each.least),
            to_wire(types[each.name], each.greatest),
            each.length,
            each.histogram,
        )
        for each in estimates
    ]
    return answers.ScanEstimate(int(rows.sum()), numbers)


def _is_estimated(request: ScanRequest, columns: list[str]) -> bool:
    """Return whether all columns can have statistics, and the files are few enough to read theirs."""
    metadata, totals = request.snapshot.metadata, request.snapshot.totals
    if not all(metadata.column(name).column_type.facts.counted for name in columns):
        return False
    partition_by = frozenset(metadata.partition_by)
    narrowed = any(condition.about and condition.about <= partition_by for condition in request.pruning)
    return narrowed or totals.files <= MAX_ESTIMATED_FILES


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.EstimateScan: estimate_scan
}
