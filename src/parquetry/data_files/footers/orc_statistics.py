"""Turn what an ORC file's footer states into a record, as far as its writer is believed.

PyArrow does not read ORC's statistics, so the bridge hands them over. This module alone decides
about them. What is not believed is not recorded. The rules:

- **The file.** A file of an unstable version, or one whose stripes have another number of rows than its
  footer, tells nothing of its columns.
- **NULLs.** All statistics of ORC are optional. A writer without indexes (`orc.create.index` = `false`)
  states 0 values of each column. So a count of 0 is believed only if the file also says that there are NULLs.
  All numbers have to agree: the count, whether there are NULLs, and the sum of the stripes' counts.
- **The writer.** Java's writers before HIVE-8732 computed wrong maxima. Decimals are right from ORC-517 on,
  and timestamps from ORC-135 on. Other known writers give bounds, and answer nothing. An unknown one tells
  nothing.
- **Transactions.** Spark's reader fails if a query reads single columns of a file with Hive's transactional
  rows. So even the number of rows is not recorded, and queries fail as Spark's own do.
- **The type** in the file may be another one than the table's: `stored_types` decides for each question.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from parquetry.data_files.bounds import column_statistics, is_ancient
from parquetry.data_files.footers.calendars import orc_may_have_old_days
from parquetry.data_files.nested_fields import EVERY_FIELD, every_field, is_nameable
from parquetry.data_files.records import ColumnStatistics, FileRecord, IdsInFile, Trust
from parquetry.data_files.stored_types import LOCAL_TIMESTAMP, parse_orc_type
from parquetry.errors import ValueTypeError
from parquetry.identifiers import FIELD_SEPARATOR, is_field
from parquetry.temporal import MICROS_PER_DAY
from parquetry.types import STRING, ColumnType, Value, value_from_text

# ORC's statistics have the local time where the file was written, truncated to the millisecond. Its instant
# depends on the zone of the JVM that reads, up to 18 hours away from UTC; in old files, on the writer's zone.
_ORC_TIMESTAMP_GAP = 2 * MICROS_PER_DAY
_STABLE_VERSIONS = ("0.11", "0.12")
_JAVA = "ORC_JAVA"
_BELIEVED_IN_BOUNDS = ("ORC_CPP", "PRESTO", "TRINO", "SCRITCHLEY_GO", "CUDF")
_TRANSACTIONAL = {"operation", "originalTransaction", "bucket", "rowId", "currentTransaction", "row"}
"""The columns of a file of Hive's that has transactional rows (ACID)."""
_HIVE_8732, _ORC_101, _ORC_135, _ORC_517 = 1, 5, 6, 7
"""Versions of Java's writer, by the issue that each has mended (`OrcFile.WriterVersion`)."""


def from_bridge(answer: Mapping[str, Any]) -> FileRecord:
    """Turn the bridge's answer about an ORC file's footer into a record.

    Args:
        answer: `{"path", "bytes", "modified", "rows", "stripe_rows", "writer", "writer_version",
            "file_version", "field_ids", "columns": {name: {"type", "size", "values", "stripe_values", "has_null", "min",
            "max", "exact", "sum"}}}`. Every top-level column must be there, with its type alone if the file says nothing of it.
            Bounds are texts, dates in days, timestamps in microseconds. `sum` is needed for float and double:
            ORC loses bounds beside a NaN, and only the sum shows it. A struct has its `fields`, each in the same form. `field_ids` says whether any column has
            an id; whose ids these are is not known.
    """
    ids = IdsInFile.FOREIGN if answer.get("field_ids") else IdsInFile.ABSENT
    if orc_may_have_old_days(answer.get("columns") or {}):
        ids = IdsInFile.OLD_CALENDAR
    return msgspec.structs.replace(_record(answer), field_ids=int(ids))


def _record(answer: Mapping[str, Any]) -> FileRecord:
    path, size, modified = answer["path"], answer["bytes"], answer.get("modified")
    rows = answer.get("rows")
    if rows is None or rows < 0 or rows != answer.get("stripe_rows"):
        return FileRecord(path=path, bytes=size, modified=modified)
    columns: Mapping[str, Mapping[str, Any]] | None = answer.get("columns")
    if columns and _TRANSACTIONAL.issuperset(columns) and len(columns) == len(_TRANSACTIONAL):
        return FileRecord(path=path, bytes=size, modified=modified)
    # Hive's old writer numbered the columns (`_col0`). Spark then reads by position, and names mean nothing.
    if not columns or all(name.startswith("_col") for name in columns):
        return FileRecord(path=path, bytes=size, rows=rows, modified=modified)
    trust = _trust(answer)
    return FileRecord(
        path=path,
        bytes=size,
        rows=rows,
        modified=modified,
        columns=_columns(columns, rows, answer, trust),
    )


def _columns(
    columns: Mapping[str, Mapping[str, Any]], rows: int, answer: Mapping[str, Any], trust: Trust
) -> dict[str, ColumnStatistics]:
    """Return the statistics of columns, and of the fields of structs, as `nested_fields` names them."""
    known: dict[str, ColumnStatistics] = {}
    for name, column in columns.items():
        if is_field(name):  # as if it were a field of another column
            continue
        known[name] = _column(column, rows, answer, trust)
        if is_nameable(name) and "fields" in column:
            within = dict(_fields(name, column, rows, answer, trust))
            complete = len(within) == _count_fields(column)
            known |= {**({every_field(name): EVERY_FIELD} if complete else {}), **within}
    return known


def _fields(
    path: str, struct: Mapping[str, Any], rows: int, answer: Mapping[str, Any], trust: Trust
) -> Iterator[tuple[str, ColumnStatistics]]:
    for name, column in struct.get("fields", {}).items():
        if not is_nameable(name):
            continue
        field = f"{path}{FIELD_SEPARATOR}{name}"
        yield field, msgspec.structs.replace(_column(column, rows, answer, trust, within=True), size=None)
        yield from _fields(field, column, rows, answer, trust)


def _count_fields(struct: Mapping[str, Any]) -> int:
    return sum(1 + _count_fields(field) for field in struct.get("fields", {}).values())


def _trust(answer: Mapping[str, Any]) -> Trust:
    """Return how far the writer of a file is believed."""
    if answer.get("file_version") not in _STABLE_VERSIONS:
        return Trust.UNKNOWN
    if answer.get("writer") == _JAVA:
        return Trust.EXACT if answer.get("writer_version", 0) >= _ORC_101 else Trust.BOUNDS
    return Trust.BOUNDS if answer.get("writer") in _BELIEVED_IN_BOUNDS else Trust.UNKNOWN


def _column(
    column: Mapping[str, Any], rows: int, answer: Mapping[str, Any], trust: Trust, *, within: bool = False
) -> ColumnStatistics:
    kind, size = parse_orc_type(column["type"]), column.get("size")
    recorded = int(max(trust, Trust.BOUNDS))  # what is not believed at all is left out
    stored = f"orc {kind}".partition("<")[0]
    nulls = None if trust == Trust.UNKNOWN else _nulls(column, rows, within=within)
    if not kind.primitive and kind.name != LOCAL_TIMESTAMP:
        return ColumnStatistics(size, nulls if "fields" in column else None, trust=recorded, stored=stored)
    bounds = None if nulls in (None, rows) else _bounds(kind, column, answer)
    if within and trust < Trust.EXACT:
        nulls = None
    if bounds is None:
        return ColumnStatistics(size=size, nulls=nulls, trust=recorded, stored=stored)
    low, high, occur = bounds
    statistics = column_statistics(size, nulls, low, high, occur, occur)
    exact = trust == Trust.EXACT
    return ColumnStatistics(
        size,
        nulls,
        statistics.min,
        statistics.max,
        exact and statistics.min_exact,
        exact and statistics.max_exact,
        recorded,
        stored,
    )


def _nulls(column: Mapping[str, Any], rows: int, *, within: bool) -> int | None:
    """Return the number of NULLs, or None if the file does not state it, or contradicts itself.

    Args:
        column: what the file states.
        rows: of the file.
        within: whether it is a field of a struct. ORC has no values of a field where the struct is NULL, and
            does not call them NULLs.
    """
    values, has_null = column.get("values"), column.get("has_null")
    if values is None or not 0 <= values <= rows:
        return None
    if values == 0 and rows and not has_null:
        return None
    if column.get("stripe_values", values) != values:
        return None
    if within and has_null is False:
        has_null = values < rows
    return None if has_null is not None and has_null != (values < rows) else rows - values


def _bounds(
    kind: ColumnType, column: Mapping[str, Any], answer: Mapping[str, Any]
) -> tuple[Value, Value, bool] | None:
    """Return the least and the greatest value, and whether they occur, or None if they are not believed."""
    least, greatest = column.get("min"), column.get("max")
    version = answer.get("writer_version", 0)
    if least is None or greatest is None:
        return None
    if answer.get("writer") == _JAVA and (
        version < _HIVE_8732
        or (kind.name == "decimal" and version < _ORC_517)
        or (kind.name in ("timestamp", LOCAL_TIMESTAMP) and version < _ORC_135)
    ):
        return None
    if kind.floating and column.get("sum") in (None, "NaN"):
        return None
    moved = kind.name in ("timestamp", LOCAL_TIMESTAMP)  # TIMESTAMP_NTZ is a plain number in ORC
    calendar = "timestamp" if moved or kind.name == "timestamp_ntz" else kind.name
    timed = calendar in ("date", "timestamp")
    if kind.name == "char":
        kind = STRING  # its blanks are as the file has them
    try:
        low, high = (int(text) if timed else value_from_text(kind, text) for text in (least, greatest))
    except (ValueError, ValueTypeError):
        return None
    if low is None or high is None or not low <= high or is_ancient(calendar, low):  # type: ignore[operator]
        return None
    if moved:
        return low - _ORC_TIMESTAMP_GAP, high + _ORC_TIMESTAMP_GAP, False  # type: ignore[operator]
    return low, high, bool(column.get("exact", False))
