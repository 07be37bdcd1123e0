"""The value that Spark reads from files that were written before a column with a DEFAULT was added.

Spark keeps it as SQL in the column's metadata: `7L`, `'old'`, `DATE '2026-01-01'`, `CAST(NULL AS INT)`. This
module understands literals. The value of any other text is not known, nor a timestamp: its text is in the
time zone of the session that reads it.
"""

from __future__ import annotations

import re
from decimal import Decimal
from functools import lru_cache

from parquetry.data_files.records import EXISTS_DEFAULT, ColumnStatistics, TableColumn, Trust
from parquetry.errors import ParquetryError
from parquetry.predicate import Compare, parse_filter
from parquetry.types import ColumnType, Value

_NUMBER = re.compile(r"([+-]?[\d.]+(?:[eE][+-]?\d+)?)(?:BD|[LSYDF])?")
_NULL = re.compile(r"NULL|CAST\(NULL AS .*\)", re.IGNORECASE)


def has_default(column: TableColumn) -> bool:
    """Return whether Spark reads a default, not NULL, from files written before the column was added."""
    text = column.metadata.get(EXISTS_DEFAULT)
    return text is not None and not _is_null(text)


def default_value(column: TableColumn) -> Value:
    """Return the default that Spark reads from older files, or None if it is not known.

    >>> default_value(TableColumn("c", "long", metadata={EXISTS_DEFAULT: "7L"}))
    7
    >>> default_value(TableColumn("c", "long", metadata={EXISTS_DEFAULT: "length('x')"})) is None
    True
    """
    return _value(str(column.metadata.get(EXISTS_DEFAULT)), column.column_type)


def default_statistics(column: TableColumn, value: Value, rows: int | None) -> ColumnStatistics:
    """Return the statistics of a file all of whose rows have a column's default.

    Args:
        column: the column.
        value: the default.
        rows: how many rows the file has, or None if it is not known.
    """
    recorded = format(value, "f") if isinstance(value, Decimal) else value
    exact = column.column_type.name != "char"
    return ColumnStatistics(None, None if rows is None else 0, recorded, recorded, exact, exact, Trust.EXACT)


def _is_null(text: object) -> bool:
    return _NULL.fullmatch(str(text).strip()) is not None


@lru_cache(maxsize=1024)
def _value(text: str, type: ColumnType) -> Value:
    if not type.primitive or type.name == "timestamp" or _is_null(text):
        return None
    number = _NUMBER.fullmatch(text.strip())
    try:
        condition = parse_filter(f"v = {number[1] if number else text}", {"v": type}).node
    except ParquetryError:
        return None
    return (
        condition.value
        if isinstance(condition, Compare) and condition.op == "=" and condition.value == condition.value
        else None
    )
