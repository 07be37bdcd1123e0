"""Decide whether Spark's own scan of files may read a scan's files, so that a native engine reads them.

Engines such as Comet know Spark's scan of Parquet files, and no other scan. The bridge gives it the files
that the planner has chosen (`bridge/filescans`). A scan keeps its form wherever Spark's scan could give other
rows, or wherever the form has more than Spark's scan can do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from parquetry.config import NATIVE_SCANS, Settings, is_of_reads
from parquetry.data_files import EXISTS_DEFAULT, FileColumns, TableColumn, list_bounds_in_files
from parquetry.joins import LIMITS
from parquetry.locations import is_own
from parquetry.metastore import TableMetadata, TableSnapshot
from parquetry.planner.protocol import questions
from parquetry.prune import NativeReport
from parquetry.texts import quantity
from parquetry.types import type_text


def native_columns(snapshot: TableSnapshot, q: questions.PlanScan, settings: Settings) -> set[str]:
    """Return the columns whose statistics `native_scan` needs: dates and times that an engine reads.

    Args:
        snapshot: the version of the table.
        q: the question.
        settings: of the read.
    """
    if q.engine.name is None or not _is_wanted(q, settings):
        return set()
    return {column.physical for column in _calendar_columns(snapshot.metadata, q.columns)}


def native_scan(
    snapshot: TableSnapshot,
    q: questions.PlanScan,
    settings: Settings,
    files: FileColumns | int,
    *,
    hindrance: str | None = None,
) -> NativeReport | None:
    """Return whether a native engine may read a scan, or None if that is not wanted.

    Args:
        snapshot: the version of the table.
        q: the question.
        settings: of the read.
        files: that are read, or about how many if they are not listed yet.
        hindrance: a reason why the scan needs its own form, or None.
    """
    if not _is_wanted(q, settings):
        return None
    count = files if isinstance(files, int) else files.count
    reason = _of_question(q) or _of_columns(snapshot.metadata, q.columns) or hindrance
    if reason is None and count > LIMITS.native_files:
        reason = f"it reads more than {quantity(LIMITS.native_files, 'file')}"
    if reason is None and not isinstance(files, int):
        reason = _of_files(snapshot, q, files)
    return NativeReport(q.engine.name, reason)


def _is_wanted(q: questions.PlanScan, settings: Settings) -> bool:
    wanted = settings[NATIVE_SCANS]
    return wanted == "on" or (wanted == "auto" and q.engine.name is not None)


def _of_question(q: questions.PlanScan) -> str | None:
    if q.opens_all:
        return "it reads columns of files themselves, or skips files that are missing or damaged"
    if q.files is not None:
        return "a statement rewrites its files"
    if q.engine.matching:
        return f"the session sets {q.engine.matching[0]}"
    return _of_options(q.read_options)


def _of_options(options: Mapping[str, str]) -> str | None:
    name = next((name for name in options if not is_of_reads(name)), None)
    return None if name is None else f"the read has the option {name!r}"


def _of_columns(metadata: TableMetadata, read: Sequence[str]) -> str | None:
    if metadata.format != "parquet":
        return f"its files are {metadata.format}"
    for name in read:
        column = metadata.column(name)
        kind = column.column_type
        if column.physical != column.name:
            return f"files know column {column.name} by another name"
        if column.metadata.get(EXISTS_DEFAULT) is not None:
            return f"older files lack column {column.name}, which has a default"
        if not kind.facts.native:
            return f"column {column.name} is of type {type_text(column.type)}"
    return None


def _of_files(snapshot: TableSnapshot, q: questions.PlanScan, files: FileColumns) -> str | None:
    foreign = next((path for path in files.paths if not is_own(path, snapshot.owner)), None)
    if foreign is not None:
        return f"another writer wrote {foreign}"
    if q.engine.name is None:
        return None  # Spark itself minds the calendar of each file
    for column in _calendar_columns(snapshot.metadata, q.columns):
        # a file in the calendar before 1582 has no bounds of ancient dates and times
        bounds = list_bounds_in_files(column, files)
        if not all(each is not None and (each.min is not None or each.all_null) for each in bounds):
            return f"statistics do not say in which calendar column {column.name} is"
    return None


def _calendar_columns(metadata: TableMetadata, read: Sequence[str]) -> list[TableColumn]:
    columns = [metadata.column(name) for name in read]
    return [
        column
        for column in columns
        if column.name not in metadata.partition_by and column.column_type.temporal
    ]
