"""SELECT: the files that a scan reads, answers from the metastore alone, and the description for Spark."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from parquetry.config import RUNTIME_PRUNING, settle
from parquetry.counters import COUNTERS
from parquetry.data_files import UNKNOWN, FileColumns
from parquetry.identifiers import field_path
from parquetry.joins import (
    ColumnRanges,
    buckets_in_place,
    filterable,
    has_parts,
    have_one_row_group,
    implied_ranges,
    ranges_for_readers,
    scan_buckets,
)
from parquetry.metastore import PartitionSnapshot, TableSnapshot
from parquetry.planner.lake import Lake
from parquetry.planner.predicates import implied_by
from parquetry.planner.protocol import answers, questions
from parquetry.planner.protocol.values import to_wire
from parquetry.planner.scans.aggregates import aggregate
from parquetry.planner.scans.estimates import estimate_request
from parquetry.planner.scans.file_order import columns_for_order, reported_order, reported_threshold
from parquetry.planner.scans.file_subset import only_chosen, with_matches
from parquetry.planner.scans.native import native_columns, native_scan
from parquetry.planner.scans.request import ScanRequest
from parquetry.planner.scans.runtime_values import runtime_report, unused
from parquetry.planner.scans.scan_answer import (
    answer_without_files,
    file_list,
    late_scan,
    reported_buckets,
    statistics,
    with_values,
    without_added,
)
from parquetry.predicate import columns_of, filter_from_json, opaque_parts
from parquetry.prune import (
    ColumnValues,
    Condition,
    ConstantFiles,
    Selection,
    candidates,
    constant_files,
    decided_conditions,
    directory_values,
    exact_conditions,
    file_constants,
    on_partitions,
    usable,
    without_buckets,
)
from parquetry.texts import quantity


def push(lake: Lake, q: questions.PushPredicates) -> answers.Pushed:
    """Return how Spark can use each predicate, and the plan of the scan that the question foresees.

    For each: whether Spark need not evaluate it on rows, whether it can evaluate it on partition values, and
    the part that its readers may apply to row groups.
    """
    request = ScanRequest.from_question(lake, q)
    snapshot, asked, telling = request.snapshot, request.conditions, request.telling
    predicates = [condition.predicate for condition in asked]
    names = set(snapshot.metadata.partition_by)
    # an implied predicate holds wherever the other does, whichever side evaluates the other
    implied = set(range(len(predicates))) - set(telling)
    exact = set(exact_conditions(snapshot.metadata, request.filters))
    # the scan will be planned for the same conditions, so it finds these directories or fewer
    heavy = () if q.streaming else decided_conditions(snapshot, [asked[i] for i in telling], lake.recent)
    exact |= {telling[i] for i in heavy}
    names_settled = names.union(*(asked[telling[i]].about for i in heavy))
    settled = [
        i in exact or (i in implied and columns_of(x) <= names_settled) for i, x in enumerate(predicates)
    ]
    again = [not done and bool(x.about) and x.about <= names for done, x in zip(settled, asked, strict=True)]
    metadata = snapshot.metadata
    small = have_one_row_group(metadata, snapshot.totals.bytes, snapshot.totals.files)
    # Spark need not read the column of a settled condition, and readers then take it for NULL in all rows. A
    # small file that has only NULL is pruned by its statistics.
    on_row_groups = [
        None
        if done or (small and tree.get("fn") == "IS_NOT_NULL")
        else usable(tree, metadata.columns, metadata.partition_by, metadata.format)
        for tree, done in zip(q.predicates, settled, strict=True)
    ]
    judged = answers.Pushed(settled, again, on_row_groups)
    if q.scan is None or any(again):  # more conditions follow, so the scan is another one
        return judged
    open_ones = [each for each, done in zip(asked, settled, strict=True) if not done]
    read = {*q.scan.output, *(field_path(name)[0] for each in open_ones for name in each.about)}
    columns = [name for name in q.scan.columns if name in read]
    plan = _plan(request, _foreseen(q, q.scan, columns))
    estimate = estimate_request(request, columns) if q.scan.estimated else None
    return msgspec.structs.replace(judged, scan=plan, columns=columns, estimate=estimate)


def _foreseen(
    q: questions.PushPredicates, scan: questions.ForeseenScan, columns: list[str]
) -> questions.PlanScan:
    """Return the question that the bridge would ask next about a scan of some columns."""
    return questions.PlanScan(
        protocol=q.protocol,
        by_position=q.by_position,
        catalog=q.catalog,
        options=q.options,
        table=q.table,
        predicates=q.predicates,
        read_options=q.read_options,
        settings=q.settings,
        runtime=[],
        columns=columns,
        late=True,
        opens_all=scan.opens_all,
        engine=scan.engine,
    )


def partition_values(lake: Lake, q: questions.PartitionValues) -> answers.PartitionValueRows:
    """Return the partition values on which Spark evaluates the conditions that only Spark understands."""
    request = ScanRequest.from_question(lake, q)
    metadata = request.snapshot.metadata
    # Spark evaluates an expression over these values, and the scan will not know it: it excludes no value.
    by_values = [on_partitions(each, frozenset(metadata.partition_by)) for each in request.filters]
    known = [each for each in by_values if each is not None]
    known += [implied_by(condition, request.types) for condition in q.conditions]
    positions = [[metadata.partition_by.index(name) for name in each["columns"]] for each in q.conditions]
    found: list[dict[tuple[str | None, ...], None]] = [{} for _ in q.conditions]
    for partition in candidates(request.snapshot, known, lake.recent):
        values = partition.values
        wire = [to_wire(type_, value) for type_, value in zip(metadata.partition_types, values, strict=True)]
        for rows, at in zip(found, positions, strict=True):
            rows[tuple(wire[i] for i in at)] = None
    return answers.PartitionValueRows([[list(row) for row in rows] for rows in found])


def heavy_values(lake: Lake, q: questions.HeavyValues) -> answers.HeavyValueRows:
    """Return values of directories and of files of one value, for conditions that only Spark knows."""
    request = ScanRequest.from_question(lake, q)
    snapshot, types = request.snapshot, request.types

    def wired(found: ColumnValues) -> answers.ValueRows:
        of = [types[name] for name in found.columns]
        return answers.ValueRows(list(found.columns), [list(map(to_wire, of, row)) for row in found.rows])

    understood = [
        each.tree is not None and not opaque_parts(filter_from_json(each.tree, types).node)
        for each in q.conditions
    ]
    names = [() if done else each.columns for each, done in zip(q.conditions, understood, strict=True)]
    partitions = candidates(snapshot, request.filters, lake.recent)
    in_directories = directory_values(snapshot, partitions, names)
    # directories have one value each, too
    names = [() if found else each for each, found in zip(names, in_directories, strict=True)]
    selection = request.select(about={name for each in names for name in each})
    in_files = file_constants(snapshot.metadata, selection.partitions, selection.block, names)
    return answers.HeavyValueRows(
        [[wired(found) for found in each] for each in map(chain, in_directories, in_files)]
    )


def plan_scan(lake: Lake, q: questions.PlanScan) -> answers.PlannedScan:
    """Return the files that a scan reads, the values of their partitions, and the description for Spark."""
    return _plan(ScanRequest.from_question(lake, q), q)


def _plan(request: ScanRequest, q: questions.PlanScan) -> answers.PlannedScan:
    snapshot = request.snapshot
    settings = settle(q.read_options, q.settings, snapshot.metadata.properties, names_checked=False)
    late = late_scan(request, q, settings)
    if late is not None:
        return late
    selection = _selected(request, q, native_columns(snapshot, q, settings))
    block = selection.block
    partitions, numbers = _partitions_with_files(selection)
    buckets = (
        scan_buckets(snapshot, partitions, block.files, numbers, q.columns, q.buckets)
        if q.place is None
        else buckets_in_place(snapshot, partitions, block.files, numbers, q.columns, q.place)
    )
    of_buckets = (
        without_buckets(snapshot, selection.partitions, block, q.columns)
        if buckets is None or buckets.bytes_outside
        else buckets.report(selection.bytes)
    )
    of_values = runtime_report(request.runtime_conditions, settings, q.before, selection.report)
    ranges = ranges_for_readers(
        snapshot.metadata, [one.condition for one in request.runtime_conditions], selection
    )
    implied = implied_ranges(snapshot.metadata, request.conditions, selection)
    may_count = buckets is None and not q.opens_all
    counted = constant_files(snapshot, selection.partitions, block, q.columns) if may_count else None
    order = reported_order(request, q.columns, selection)
    native = native_scan(snapshot, q, settings, block.files, hindrance=_own_form(counted, order))
    waits = settings[RUNTIME_PRUNING] and has_parts(snapshot.metadata, block.count, selection.bytes)
    answer = answer_without_files(
        request,
        settings,
        selection.report,
        statistics(selection.bytes, _rows(block.files), block.count),
        filterable(snapshot.metadata, q.columns) if waits else [],
        buckets=None if buckets is None else buckets.text(selection.bytes),
        shown=msgspec.structs.replace(
            without_added(request.pruning, selection.report),
            buckets=of_buckets,
            run_time=of_values,
            counted=0 if counted is None else counted.file_count,
            native=native,
        ),
    )
    _count_scan(snapshot, q, selection)
    locations = PartitionSnapshot.locations(partitions)
    files = file_list(block.files, numbers, locations, None if buckets is None else buckets.of_files)
    if counted is not None:
        files = with_values(files, counted, [request.types[name] for name in counted.columns])
    return msgspec.structs.replace(
        answer,
        files=files,
        partitions=_values(snapshot, partitions, q.columns),
        buckets=None if buckets is None else reported_buckets(buckets, settings, block.files),
        again=_evaluated_again(request),
        row_groups=_ranges([*ranges, *implied]) + reported_threshold(request, selection),
        unused=unused(request.arrived, selection.report, {each.column for each in ranges}),
        order=order,
        native=None if native is None else answers.FileScan(native.reason),
    )


def _count_scan(snapshot: TableSnapshot, q: questions.PlanScan, selection: Selection) -> None:
    """Count a scan once: runtime values ask again about files that were listed before."""
    if q.before is not None and not q.before.by_totals:
        return
    files, size = snapshot.totals.files, snapshot.totals.bytes
    COUNTERS.add_scan(files, files - selection.block.count, size, size - selection.bytes)


def _own_form(counted: ConstantFiles | None, order: answers.ReadingOrder | None) -> str | None:
    """Return why a scan needs its own form, or None."""
    if order is not None:
        return "it reads files in an order, and may end before the last"
    if counted is not None and counted.file_count:
        return f"rows of {quantity(counted.file_count, 'file')} come from the metastore"
    return None


def _selected(request: ScanRequest, q: questions.PlanScan, native: Collection[str]) -> Selection:
    """Return the scan's selection, restricted to the files that the question or the read's options name."""
    about = set(native) | {name for each in request.runtime_conditions for name in each.condition.about}
    about |= columns_for_order(request, q.columns)
    selection = request.select(q.columns, about, apart=q.apart)
    if q.files is not None:
        selection = with_matches(selection, q.files)
    return replace(selection, block=only_chosen(q.read_options, selection.partitions, selection.block))


def _partitions_with_files(selection: Selection) -> tuple[list[PartitionSnapshot], NDArray[np.int64]]:
    """Return the partitions that have files, in order, and for each file the index of its partition."""
    block = selection.block
    new = np.ones(block.count, np.bool_)  # whether a file is the first of its partition
    np.not_equal(block.parts[1:], block.parts[:-1], out=new[1:])
    return [selection.partitions[part] for part in block.parts[new].tolist()], np.cumsum(new) - 1


def _values(
    snapshot: TableSnapshot, partitions: Sequence[PartitionSnapshot], columns: Sequence[str]
) -> list[list[str | None]]:
    """Return the values of partitions, in the order of the columns that Spark reads."""
    metadata = snapshot.metadata
    types = metadata.partition_types
    names = [metadata.column(name).name for name in columns]
    positions = [metadata.partition_by.index(name) for name in names if name in metadata.partition_by]
    return [
        [to_wire(types[i], row[i]) for i in positions] for row in PartitionSnapshot.all_values(partitions)
    ]


def _evaluated_again(request: ScanRequest) -> list[bool]:
    """Return for each runtime filter whether Spark tests rows by it, as partitions do not decide it."""
    names = frozenset(request.snapshot.metadata.partition_by)
    return [any(_comes_again(each.condition, names) for each in some) for some in request.arrived]


def _ranges(found: Sequence[ColumnRanges]) -> list[answers.RowGroupRanges]:
    return [
        answers.RowGroupRanges(
            each.column,
            [[to_wire(each.type, end) for end in ends] for ends in each.ends],
            [to_wire(each.type, value) for value in each.values],
        )
        for each in found
    ]


def _comes_again(condition: Condition, partition_by: frozenset[str]) -> bool:
    return condition.within(partition_by) and not condition.decided_by(partition_by)


def _rows(files: FileColumns) -> int | None:
    return None if (files.rows == UNKNOWN).any() else int(files.rows.sum())


ANSWERS: dict[type[questions.Question], Callable[[Lake, Any], answers.Answer]] = {
    questions.PushPredicates: push,
    questions.PartitionValues: partition_values,
    questions.HeavyValues: heavy_values,
    questions.PlanScan: plan_scan,
    questions.Aggregate: aggregate,
}
