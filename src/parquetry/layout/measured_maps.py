"""Find the partitions whose maps follow their rows, in tables that measure heavy values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from parquetry.data_files import MAX_DAY, TableColumn
from parquetry.layout.arrangement import ArrangementSpec, SkewMap
from parquetry.types import STORED_BITS, ColumnType


def skewed_columns(columns: Iterable[TableColumn], skew: SkewMap) -> list[TableColumn]:
    """Return the columns of a map, in its order, given all columns of the table."""
    by_name = {column.physical: column for column in columns}
    return [by_name[name] for name in skew.columns]


def is_measured_by(arrangement: ArrangementSpec, table: SkewMap, columns: Sequence[TableColumn]) -> bool:
    """Return whether a partition's map gains and loses values as its rows change.

    The map does so if it has directories for values of the same columns, in their current types. After a
    change of type, the meaning of older values is uncertain.

    Args:
        arrangement: of the partition.
        table: the table's map.
        columns: of the table's map.
    """
    own = arrangement.skew
    return (
        table.auto is not None
        and table.directories
        and own is not None
        and own.directories
        and own.auto is None
        and own.columns == table.columns
        and all(
            _is_recorded(column.column_type, value)
            for cell in own.cells
            for column, value in zip(columns, cell, strict=True)
        )
    )


def _is_recorded(type: ColumnType, value: Any) -> bool:
    """Return whether a value of a cell certainly belongs to a type; see `SkewMap.cells`."""
    match value:
        case None:
            return True
        case bool():
            return type.name == "boolean"
        case int() if type.name == "timestamp_ntz":
            return abs(value) > MAX_DAY  # a smaller number may count days
        case int():
            return type.name in STORED_BITS
        case float():
            return type.floating
        case str():
            return type.textual or type.name == "decimal"
    return type.name == "binary"
