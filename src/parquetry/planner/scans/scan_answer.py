"""The answer for a scan: statistics, metrics, EXPLAIN's line, the report, and its files if they are listed.

**Deferred listing.** The file list waits until runtime filters arrive, or until it is certain that none will
(`late_scan`). Until then Spark gets estimates from the table's totals (`joins.runtime.totals`). These do not
decide which files Spark reads, because the bridge asks the same question once more, without `late`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from parquetry.config import BUCKET_JOIN, HOT_BUCKET_ROWS, RUNTIME_PRUNING, RUNTIME_PRUNING_MAX_WAIT, Settings
from parquetry.data_files import UNKNOWN, FileColumns
from parquetry.joins import LIMITS, ScanBuckets, bucket_sizes, estimate_from_totals, filterable, has_parts
from parquetry.locations import join_location
from parquetry.metastore import TableSnapshot
from parquetry.planner.protocol import answers, questions
from parquetry.planner.protocol.answers import FileList
from parquetry.planner.protocol.questions import ScanCounts, StepCount
from parquetry.planner.protocol.values import to_wire
from parquetry.planner.scans import file_subset
from parquetry.planner.scans.native import native_scan
from parquetry.planner.scans.request import ScanRequest
from parquetry.predicate import IsNull, Not
from parquetry.prune import Condition, ConstantFiles, Report, ScanReport, condition_text, steps
from parquetry.types import ColumnType

_MIN_ROW_BYTES = 1
_MAX_PUSHED_CHARACTERS = 1000


def without_added(conditions: Sequence[Condition], report: ScanReport) -> ScanReport:
    """Return a report without notes on the `c IS NOT NULL` that Spark adds beside `f(c) = 1`."""
    added = {
        one.text
        for i, one in enumerate(conditions)
        if isinstance(one.predicate, Not)
        and isinstance(one.predicate.child, IsNull)
        and any(one.about <= other.about for j, other in enumerate(conditions) if j != i)
    }
    informative = (
        msgspec.structs.replace(s, not_by=tuple(n for n in s.not_by if n.condition not in added))
        for s in report.steps
    )
    return msgspec.structs.replace(report, steps=tuple(informative))


def statistics(size: int, rows: int | None, files: int) -> answers.ScanStatistics:
    """Return the sizes that Spark chooses joins by.

    A column with one value takes almost no space in files, yet billions of its rows must not be broadcast.
    But Spark takes its own tables for as large as their files. With more bytes for a row, it would shuffle
    our tables that compress well, where it broadcasts its own.
    """
    return answers.ScanStatistics(size if rows is None else max(size, rows * _MIN_ROW_BYTES), rows, files)


def _metrics(report: ScanReport) -> list[answers.Metric]:
    """Return the numbers for Spark's UI: two for each step, None if the scan has no such step.

    Every answer lists all of them: Spark accepts a metric only if it knew the name before the query ran.
    """
    numbers: list[answers.Metric] = []
    for rule in steps.reported():
        step = report.step(rule.name)
        kept, of = (None, None) if step is None else (step.kept, step.of)
        numbers.append(answers.Metric(f"{rule.name}Kept", rule.kept_text, kept))
        numbers.append(answers.Metric(f"{rule.name}Total", rule.of_text, of))
    return numbers


def _description(
    snapshot: TableSnapshot, conditions: Sequence[Condition], report: ScanReport, buckets: str | None = None
) -> str:
    """Return EXPLAIN's line for a scan. `buckets` is its part about buckets."""
    pushed = ", ".join(condition_text(condition.text, condition.origin) for condition in conditions)
    if len(pushed) > _MAX_PUSHED_CHARACTERS:
        pushed = f"{pushed[: _MAX_PUSHED_CHARACTERS - 1]}…"
    fractions = str(Report((report,))).split("\n")[0]
    line = f"{snapshot.metadata.format} version {snapshot.version} · pushed filters: [{pushed}] · {fractions}"
    return line if buckets is None else f"{line} · {buckets}"


def _decided(report: ScanReport) -> list[str]:
    """Return the conditions of the query that pruned partitions, as text."""
    step = report.step("partitions")
    return [] if step is None else [text for text, origin in step.causes() if origin == "query"]


def answer_without_files(
    request: ScanRequest,
    settings: Settings,
    report: ScanReport,
    sizes: answers.ScanStatistics,
    values: list[str],
    *,
    buckets: str | None = None,
    shown: ScanReport | None = None,
) -> answers.PlannedScan:
    """Return the answer for a scan, without its files and what follows from them.

    Args:
        request: the scan's request of the table.
        settings: of the read.
        report: what each step kept.
        sizes: of the files.
        values: the columns whose runtime filters can prune something.
        buckets: the part of EXPLAIN's line about buckets, or None.
        shown: the report with more parts, or None to show `report`.
    """
    return answers.PlannedScan(
        files=_NO_FILES,
        partitions=[],
        statistics=sizes,
        metrics=_metrics(report),
        description=_description(request.snapshot, request.pruning, report, buckets),
        report=report_of(shown or report),
        counts=_counts(report),
        filterable=values,
        runtime_pruning=settings[RUNTIME_PRUNING],
        most_values=LIMITS.set_values,
        most_wait=settings[RUNTIME_PRUNING_MAX_WAIT],
        decided=_decided(report),
    )


def reported_buckets(buckets: ScanBuckets, settings: Settings, files: FileColumns) -> answers.ReportedBuckets:
    """Return the buckets of a scan and of its files, as the bridge reports them to Spark."""
    sizes = None
    if buckets.in_files == buckets.count and (buckets.of_files >= 0).all():
        sizes = bucket_sizes(buckets.of_files, files.rows, files.bytes, buckets.count)
    least = settings[HOT_BUCKET_ROWS]
    return answers.ReportedBuckets(
        version=buckets.version,
        count=buckets.count,
        held=buckets.in_files,
        columns=[column.name for column in buckets.columns],
        types=[column.type for column in buckets.columns],
        order=[answers.SortOrder(each.column, each.descending) for each in buckets.order],
        merged=buckets.merge is not None and buckets.merge.reason is None,
        larger=settings[BUCKET_JOIN] == "larger",
        outside=buckets.bytes_outside,
        sizes=sizes,
        least=least,
        hot=sizes is not None and bool(sizes.hot_buckets(least)),
    )


def _counts(report: ScanReport) -> ScanCounts:
    steps = [StepCount(step.name, step.kept, step.about) for step in report.steps]
    return ScanCounts(steps, report.by_totals)


def report_of(report: ScanReport) -> dict[str, Any]:
    """Return a scan's report as the bridge reads it."""
    scans: list[dict[str, Any]] = Report((report,)).to_dict()["scans"]
    return scans[0]


def file_list(
    files: FileColumns,
    partitions: NDArray[Any],
    locations: Sequence[str],
    buckets: NDArray[Any] | None = None,
) -> FileList:
    """Return files as an answer holds them.

    Args:
        files: to read.
        partitions: the index of each file's partition.
        locations: of the partitions.
        buckets: the number of each file's bucket, or None if the scan reports no buckets.
    """
    names = files.paths
    joined = "/".join(names)
    if joined.count("/") == len(names) - 1 and all(names):
        folders, folder = [location.rstrip("/") for location in locations], partitions
    else:
        folders, folder, joined = _split_paths(names, partitions.tolist(), locations)
    return FileList(
        folders,
        joined,
        folder.astype("<i4").tobytes(),
        partitions.astype("<i4").tobytes(),
        files.bytes.astype("<i8").tobytes(),
        np.where(files.modified == UNKNOWN, 0, files.modified).astype("<i8").tobytes(),
        b"" if buckets is None else buckets.astype("<i4").tobytes(),
    )


def with_values(files: FileList, counted: ConstantFiles, types: Sequence[ColumnType]) -> FileList:
    """Return files; some get values and a number of rows, so that they need not be opened.

    Args:
        files: to read.
        counted: the files among them that need not be opened.
        types: of the values.
    """
    return msgspec.structs.replace(
        files,
        rows=counted.rows.astype("<i8").tobytes(),
        values=[list(map(to_wire, types, row)) for row in counted.values],
        value=counted.of_files.astype("<i4").tobytes(),
    )


def _split_paths(
    paths: Sequence[str], partitions: Sequence[int], locations: Sequence[str]
) -> tuple[list[str], NDArray[Any], str]:
    """Return folders, each file's folder index and name, if some files are elsewhere or in subfolders."""
    numbers: dict[str, int] = {}
    found, names = [], []
    for path, partition in zip(paths, partitions, strict=True):
        folder, _, name = join_location(locations[partition], path).rpartition("/")
        found.append(numbers.setdefault(folder, len(numbers)))
        names.append(name)
    return list(numbers), np.array(found, np.int32), "/".join(names)


_NO_FILES = answers.FileList([], "", b"", b"", b"", b"")


def late_scan(request: ScanRequest, q: questions.PlanScan, settings: Settings) -> answers.PlannedScan | None:
    """Return an answer without files, or None to list them now because no runtime filter could prune any.

    Args:
        request: the scan's request of the table.
        q: the question.
        settings: of the read.
    """
    snapshot = request.snapshot
    values = filterable(snapshot.metadata, q.columns) if settings[RUNTIME_PRUNING] else []
    if not q.late or q.joined or q.runtime or not values or file_subset.CHOSEN_FILES_OPTION in q.read_options:
        return None
    if request.aggregate is not None or (request.first is not None and not request.first.hindrance.reason):
        return None  # no join has values for rows below a LIMIT or an aggregate of all rows
    estimate = estimate_from_totals(snapshot, request.pruning, q.columns, table=request.table)
    if estimate is None or not has_parts(snapshot.metadata, estimate.files, estimate.bytes):
        return None
    sizes = statistics(estimate.bytes, estimate.rows, estimate.files)
    native = native_scan(snapshot, q, settings, estimate.files)
    shown = msgspec.structs.replace(estimate.report, native=native)
    answer = answer_without_files(request, settings, estimate.report, sizes, values, shown=shown)
    form = None if native is None else answers.FileScan(native.reason)
    return msgspec.structs.replace(answer, late=True, native=form)
