"""Statistics of files in a Delta log: bounds of columns that have them in each file.

delta-rs reads a lacking bound as NULL where the log has another column's bound of the same file. PyArrow's
filters then leave out the file's rows. So the table names the columns with bounds, and a file that lacks one
of them has no bounds at all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date
from typing import Any

from parquetry.data_files import ColumnStatistics, FileRecord, TableColumn, Trust
from parquetry.metastore import TableMetadata
from parquetry.types import ColumnType, to_python

_PLAIN_NAME = re.compile(r"\w+")
"""Names that need no quotes in the property, which readers take apart each in its way."""


def statistics_configuration(metadata: TableMetadata) -> dict[str, str]:
    """Return the property that names the columns with bounds."""
    names = [column.name for column in _bounded_columns(metadata)]
    return {"delta.dataSkippingStatsColumns": ",".join(names)} if names else {}


def statistics(metadata: TableMetadata, file: FileRecord) -> dict[str, Any]:
    """Return a file's statistics: exact ones, but for long texts, whose bounds are shortened."""
    recorded = {
        column.name: (file.columns or {}).get(column.physical)
        for column in metadata.data_columns
        if not isinstance(column.type, dict)
    }
    known = {name: each for name, each in recorded.items() if each is not None and each.trust == Trust.EXACT}
    counts = {"numRecords": file.rows}
    nulls = {name: each.nulls for name, each in known.items() if each.nulls is not None}
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    for column in _bounded_columns(metadata):
        if column.name in nulls and nulls[column.name] == file.rows:
            continue
        bounds = _bounds(column.column_type, known.get(column.name))
        if bounds is None:
            return {**counts, "nullCount": nulls}
        least[column.name], greatest[column.name] = bounds
    values = {"minValues": least, "maxValues": greatest} if least else {}
    return {**counts, **values, "nullCount": nulls}


def _bounded_columns(metadata: TableMetadata) -> Iterator[TableColumn]:
    """Yield the columns of types whose bounds JSON has exactly."""
    for column in metadata.data_columns:
        if isinstance(column.type, dict) or not _PLAIN_NAME.fullmatch(column.name):
            continue
        if column.column_type.facts.delta_bounds:
            yield column


def _bounds(kind: ColumnType, known: ColumnStatistics | None) -> tuple[Any, Any] | None:
    """Return the bounds of a column, or None if one is not known."""
    if known is None or known.nulls is None:
        return None
    if not (known.min_exact and known.max_exact) and not kind.textual:
        return None
    least, greatest = (_json_bound(kind, bound) for bound in (known.min, known.max))
    return None if least is None or greatest is None else (least, greatest)


def _json_bound(kind: ColumnType, value: Any) -> Any:
    plain = to_python(kind, value)
    if isinstance(plain, date):
        return plain.isoformat()
    return plain if isinstance(plain, str if kind.textual else int) else None
