"""Defer the file list of a scan until runtime filters arrive, or until it is certain that none will.

Until then Spark gets estimates from the table's totals (`prune.runtime.totals`). These do not decide which
files Spark reads, because the bridge asks the same question once more, without `late`.
"""

from __future__ import annotations

from parquetry.config import RUNTIME_PRUNING, RUNTIME_PRUNING_MAX_WAIT, Settings
from parquetry.planner.protocol import answers, questions
from parquetry.planner.scans import file_subset
from parquetry.planner.scans.request import ScanRequest
from parquetry.planner.scans.scan_answer import decided, description, metrics, report_of, statistics
from parquetry.prune import LIMITS, estimate_from_totals, filterable, has_parts

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
    found = estimate_from_totals(snapshot, request.pruning, q.columns, table=request.table)
    if found is None or not has_parts(snapshot.metadata, found.files, found.bytes):
        return None
    return answers.PlannedScan(
        files=_NO_FILES,
        partitions=[],
        statistics=statistics(found.bytes, found.rows, found.files),
        metrics=metrics(found.report),
        description=description(snapshot, request.pruning, found.report),
        report=report_of(found.report),
        filterable=values,
        most_values=LIMITS.set_values,
        most_wait=settings[RUNTIME_PRUNING_MAX_WAIT],
        late=True,
        decided=decided(found.report),
    )
