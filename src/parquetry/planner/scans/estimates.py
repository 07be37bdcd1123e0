"""Answer what Spark's cost-based optimizer asks of a scan: its rows, and the statistics of its columns.

Spark multiplies the rows of both sides of a join whose keys have no statistics. So the rows are reported
only if every column that is read has statistics: any of them may be a key.

Most conditions leave all files of small tables. The catalog keeps the statistics of a column in all files of
a version. So the next query takes them from memory, with any conditions and columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from functools import partial
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
_Numbers = dict[str, answers.ColumnNumbers]


def estimate_scan(lake: Lake, q: questions.EstimateScan) -> answers.ScanEstimate:
    """Return the rows of the files that a scan would read, and the statistics of its columns."""
    return estimate_request(ScanRequest.from_question(lake, q), q.columns)


def estimate_request(request: ScanRequest, columns: list[str]) -> answers.ScanEstimate:
    """Return the rows of the files that a request selects, and the statistics of the columns that it reads.

    Args:
        request: with conditions known when the query is planned.
        columns: that are read.
    """
    conditions = msgspec.json.encode((request.predicates, request.joined, columns))
    return request.lake.estimates.get_or_make(
        ("columns", *request.snapshot.identity, conditions), lambda: _estimate(request, columns)
    )


def _estimate(request: ScanRequest, columns: list[str]) -> answers.ScanEstimate:
    if not _is_estimated(request, columns):
        return _UNKNOWN
    block = request.selected(columns).block
    if block.count > MAX_ESTIMATED_FILES or (block.files.rows == UNKNOWN).any():
        return _UNKNOWN
    compared = {name for condition in request.conditions for name in condition.about}
    whole = block.count == request.snapshot.totals.files
    numbers = (_of_whole_table if whole else _of_columns)(request, columns, compared)
    if len(numbers) < len(columns):
        return _UNKNOWN
    return answers.ScanEstimate(int(block.files.rows.sum()), [numbers[name] for name in columns])


def _of_whole_table(request: ScanRequest, columns: Sequence[str], compared: Collection[str]) -> _Numbers:
    """Return the statistics of columns in all files of a version, from the cache as far as it has them."""
    estimates, identity = request.lake.estimates, request.snapshot.identity
    keys = {name: ("column", *identity, name, name in compared) for name in columns}
    missing = [name for name in columns if keys[name] not in estimates]
    made = _of_columns(request, missing, compared) if missing else {}
    numbers = {name: estimates.get_or_make(keys[name], partial(made.get, name)) for name in columns}
    return {name: each for name, each in numbers.items() if each is not None}


def _of_columns(request: ScanRequest, columns: Sequence[str], compared: Collection[str]) -> _Numbers:
    """Return the statistics of columns in the files that a request selects; unknown ones are left out."""
    types = request.types
    selection = request.select(columns, set(columns))
    return {
        each.name: answers.ColumnNumbers(
            each.name,
            each.distinct,
            each.nulls,
            to_wire(types[each.name], each.least),
            to_wire(types[each.name], each.greatest),
            each.length,
            each.histogram,
        )
        for each in estimate_columns(request.snapshot.metadata, selection, columns, compared)
    }


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
