"""The summary of a chunk: statistics of all its files together, so that a query can skip the chunk unread.

A summary has the form of one file's record. Example: three files of a chunk, and its summary, for an int
column.

|             | rows | nulls | min  | max  |
|-------------|------|-------|------|------|
| file 1      | 10   | 0     | 3    | 9    |
| file 2      | 5    | 5     | None | None |
| file 3      | 20   | 1     | -2   | 4    |
| the summary | 35   | 6     | -2   | 9    |

Pruning tests a summary like a file (`data_files.bounds_vectorized`). So a summary may know less than its
files, and never more: a filter that excludes the summary must exclude every row of every file. So the summary
leaves unknown:

- what one of the files does not know,
- whether its own numbers are exact, if one file's are only bounds (`Trust`),
- a column that has another type in one of the files than in the table,
- a column that the files spell in different ways,
- bounds whose order depends on a column type that the table does not have.

The type is the table's type when the summary is written. If the column is widened later, the summary is
tested by the new type, as old files are. This is sound, because a widening keeps the order of the values.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from parquetry.data_files import (
    MAX_DAY,
    UNKNOWN,
    Bound,
    ColumnStatistics,
    FileColumns,
    FileRecord,
    Flags,
    Numbers,
    StatisticsColumn,
    TableColumn,
    Trust,
    struct_fields,
)
from parquetry.types import ColumnType

Types = Mapping[str, ColumnType]
"""Types of the columns that may have bounds, by their physical names in lower case."""

_INT64 = 1 << 63


def types_of(columns: Iterable[TableColumn]) -> Types:
    """Return the types of a table's columns, and of fields of structs."""
    every = tuple(columns)
    return {column.physical.lower(): column.column_type for column in (*every, *struct_fields(every))}


def summarise(files: FileColumns, types: Types) -> FileRecord:
    """Return the summary of some files, as the record of one file.

    Args:
        files: the files, at least one.
        types: the table's types of the columns.
    """
    rows = _sum(files.rows)
    size = int(files.bytes.sum())
    columns = {name: statistics for name in files.names if (statistics := files.statistics(name)) is not None}
    undescribed = ~files.described
    described = np.zeros(files.count, np.bool_)
    for column in columns.values():
        described |= column.there
    if (undescribed | ~described).any():
        return FileRecord("", size, rows)
    spellings: dict[str, int] = {}
    for name in columns:
        spellings[name.lower()] = spellings.get(name.lower(), 0) + 1
    return FileRecord(
        "",
        size,
        rows,
        None,
        {
            name: _summarise_column(column, files.rows, types.get(name.lower()))
            if column.there.all() and spellings[name.lower()] == 1
            else ColumnStatistics()
            for name, column in columns.items()
        },
    )


def _summarise_column(column: StatisticsColumn, rows: Numbers, type: ColumnType | None) -> ColumnStatistics:
    size, nulls = _sum(column.size), _sum(column.nulls)
    if ((rows != UNKNOWN) & (column.nulls > rows)).any():
        nulls = None
    trust = int(column.belief.trust.min())
    if column.belief.stored is not None:
        return ColumnStatistics(size, trust=trust)
    if type is None:
        return ColumnStatistics(size, nulls, trust=trust)
    # A file of an earlier version that counts as many NULLs as rows may have values (`data_files.bounds`).
    is_sure = (column.belief.trust != Trust.UNKNOWN) | column.min.known_flags()
    has_values = (rows != 0) & ((column.nulls != rows) | (column.nulls == UNKNOWN) | ~is_sure)
    if not has_values.any():
        return ColumnStatistics(size, nulls, trust=trust)
    pair = _bounds(type, column.min, column.max, has_values)
    if pair is None:
        return ColumnStatistics(size, nulls, trust=trust)
    low, high = pair
    return ColumnStatistics(
        size,
        nulls,
        low,
        high,
        _occurs(low, column.min, column.belief.min_exact & has_values),
        _occurs(high, column.max, column.belief.max_exact & has_values),
        trust,
    )


def _bounds(kind: ColumnType, least: Bound, greatest: Bound, selected: Flags) -> tuple[Any, Any] | None:
    """Return the least minimum and the greatest maximum of some files, or None if they are not known."""
    lows, highs = _selected_values(least, selected), _selected_values(greatest, selected)
    if lows is None or highs is None:
        return None
    if isinstance(lows, list) or isinstance(highs, list):
        return _bounds_from_values(kind, list(lows), list(highs))
    if lows.dtype != highs.dtype or type(lows[0].item()) not in kind.facts.bounds:
        return None
    if not (lows <= highs).all():  # NaN is not, either
        return None
    if kind.name == "date" or kind.facts.may_be_days:
        # Days or microseconds, which `data_files.bounds` distinguishes by their size, file by file.
        microseconds = (lows < -MAX_DAY) | (highs >= MAX_DAY)
        if microseconds.any() and not microseconds.all():
            return None
    return lows.min().item(), highs.max().item()


def _selected_values(bound: Bound, selected: Flags) -> Any:
    """Return the values of some files, or None if one is not known."""
    if bound.known is not None and not bound.known[selected].all():
        return None
    if isinstance(bound.values, list):
        return [bound.values[index] for index in np.flatnonzero(selected).tolist()]
    return bound.values[selected]


def _bounds_from_values(kind: ColumnType, lows: list[Any], highs: list[Any]) -> tuple[Any, Any] | None:
    classes = {value.__class__ for values in (lows, highs) for value in values}
    if len(classes) != 1 or not classes.issubset(kind.facts.bounds):
        return None
    stated = classes.pop()
    if stated not in (str, bytes):  # integers beyond int64, which no column has
        return None
    if kind.name == "decimal":
        try:
            return _bounds_from_decimals(lows, highs)
        except InvalidOperation:
            return None
    if stated is bytes and kind.name != "binary" and not all(map(_is_text, (*lows, *highs))):
        return None
    if any(low > high for low, high in zip(lows, highs, strict=True)):
        return None
    return min(lows), max(highs)


def _bounds_from_decimals(lows: list[str], highs: list[str]) -> tuple[str, str] | None:
    pairs = [(Decimal(low), Decimal(high)) for low, high in zip(lows, highs, strict=True)]
    if any(not low.is_finite() or not high.is_finite() or low > high for low, high in pairs):
        return None
    return min(lows, key=Decimal), max(highs, key=Decimal)


def _is_text(value: bytes) -> bool:
    try:
        value.decode()
    except UnicodeDecodeError:
        return False
    return True


def _occurs(value: Any, bound: Bound, exact: Flags) -> bool:
    """Return whether one of the files has this value as an exact bound."""
    if isinstance(bound.values, list):
        return any(bound.values[index] == value for index in np.flatnonzero(exact).tolist())
    return bool((bound.values[exact] == value).any())


def _sum(values: Numbers) -> int | None:
    """Return the sum of numbers, or None if one is unknown or negative, or if the sum exceeds int64."""
    if not len(values) or (values < 0).any():  # as is UNKNOWN
        return None
    total = sum(values.tolist())
    return total if total < _INT64 else None
