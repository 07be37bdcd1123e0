"""Turn the bridge's answer about an ORC file's footer into a record. PyArrow does not read ORC's statistics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parquetry.data_files.bounds import column_statistics, is_ancient
from parquetry.data_files.records import ColumnStatistics, FileRecord
from parquetry.temporal import MICROS_PER_DAY
from parquetry.types import STRING, parse_type, value_from_text

# ORC's statistics have the local time where the file was written, truncated to the millisecond. Its instant
# depends on the zone of the JVM that reads, up to 18 hours away from UTC; in old files, on the writer's zone.
_ORC_TIMESTAMP_GAP = 2 * MICROS_PER_DAY


def from_bridge(answer: Mapping[str, Any]) -> FileRecord:
    """Turn the bridge's answer about an ORC file's footer into a record.

    PyArrow does not read ORC's statistics.

    Args:
        answer: `{"path", "bytes", "modified", "rows", "columns": {name: {"size", "nulls", "min", "max",
            "exact", "type", "sum"}}}`. Every top-level column must be there. Bounds are texts, dates in days,
            timestamps in microseconds. `sum` is needed for float and double: ORC loses bounds beside a NaN,
            and only the sum shows it.
    """
    columns: Mapping[str, Mapping[str, Any]] | None = answer.get("columns")
    # Hive's old writer numbered the columns (`_col0`). Spark then reads by position, and names mean nothing.
    if columns and all(name.startswith("_col") for name in columns):
        columns = None
    return FileRecord(
        path=answer["path"],
        bytes=answer["bytes"],
        rows=answer.get("rows"),
        modified=answer.get("modified"),
        columns=None if columns is None else {name: _orc_column(column) for name, column in columns.items()},
    )


def _orc_column(column: Mapping[str, Any]) -> ColumnStatistics:
    size, nulls = column.get("size"), column.get("nulls")
    kind = parse_type(column["type"])
    least, greatest = column.get("min"), column.get("max")
    if not kind.primitive or least is None or greatest is None:
        return ColumnStatistics(size=size, nulls=nulls)
    if kind.name in ("float", "double"):
        total = column.get("sum")
        if total is None or total == "NaN":
            return ColumnStatistics(size=size, nulls=nulls)
    calendar = "timestamp" if kind.name == "timestamp_ntz" else kind.name
    timed = calendar in ("date", "timestamp")
    if kind.name == "char":
        kind = STRING  # its blanks are as the file has them
    low, high = (int(text) if timed else value_from_text(kind, text) for text in (least, greatest))
    if low is None or high is None or not low <= high or is_ancient(calendar, low):  # type: ignore[operator]
        return ColumnStatistics(size=size, nulls=nulls)
    exact = bool(column.get("exact", False)) and calendar != "timestamp"
    if calendar == "timestamp":
        low, high = low - _ORC_TIMESTAMP_GAP, high + _ORC_TIMESTAMP_GAP  # type: ignore[operator]
    return column_statistics(size, nulls, low, high, exact, exact)
