"""Answers to COUNT, MIN and MAX from the metastore, whole or in part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from parquetry.layout import logical_schema
from parquetry.planner.lake import Lake
from parquetry.planner.protocol import answers, questions
from parquetry.planner.protocol.values import to_wire
from parquetry.planner.scans.request import ScanRequest
from parquetry.planner.scans.scan_answer import report_of
from parquetry.prune import (
    AggregateCall,
    Report,
    ScanReport,
    WholeAggregate,
    answer_aggregate,
    answer_whole_table,
    steps,
)
from parquetry.types import Value, type_from_json

_COUNT_TYPE = type_from_json("long")


def aggregate(lake: Lake, q: questions.Aggregate) -> answers.MaybeAggregated:
    """Answer COUNT, MIN and MAX from the metastore alone, or with None if the result would not be exact."""
    request = ScanRequest.from_question(lake, q)
    metadata = request.snapshot.metadata
    calls: list[AggregateCall] = [(each.function, each.column) for each in q.functions]
    answer = _partly_aggregated(request, q) if q.partly else _aggregated(request, q, calls)
    if answer is None:
        return answers.MaybeAggregated(None)
    rows, report, files = answer
    groups = [metadata.column(name) for name in q.group_by]
    types = [column.column_type for column in groups]
    fields = logical_schema(groups)["fields"]
    for i, (function, name) in enumerate(calls):
        column = None if function.startswith("count") or name is None else metadata.column(name)
        types.append(_COUNT_TYPE if column is None else column.column_type)
        type_json = "long" if column is None else column.type
        fields.append({"name": f"{function}_{i}", "type": type_json, "nullable": True, "metadata": {}})
    wire = [[to_wire(type_, value) for type_, value in zip(types, row, strict=True)] for row in rows]
    schema = {"type": "struct", "fields": fields}
    text = str(Report((report,))).split("\n")[0]
    return answers.MaybeAggregated(answers.Aggregated(schema, wire, text, report_of(report), files))


_Aggregated = tuple[list[tuple[Value, ...]], ScanReport, int]
"""Rows, the report of the scan, and the number of files that have to be read beside."""


def _aggregated(
    request: ScanRequest, q: questions.Aggregate, calls: Sequence[AggregateCall]
) -> _Aggregated | None:
    snapshot = request.snapshot
    if not q.predicates and not q.group_by:
        whole = answer_whole_table(snapshot, calls, table=request.table)
        if whole is not None:
            return (*whole, 0)
    about = {name for _, name in calls if name is not None}
    selection = request.select(about=about)
    rows = answer_aggregate(snapshot.metadata, selection, calls, q.group_by)
    return None if rows is None else (rows, steps.unread(selection.report), 0)


def _partly_aggregated(request: ScanRequest, q: questions.Aggregate) -> _Aggregated | None:
    wanted = WholeAggregate(q.functions, q.hindrance)
    selection = replace(request, aggregate=wanted).select()
    if selection.answer is None:
        return None
    return [selection.answer], selection.report, selection.block.count
