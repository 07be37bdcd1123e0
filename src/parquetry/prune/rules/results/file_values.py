"""The values of COUNT, MIN and MAX in single files, where statistics have them exactly.

Bounds that may be wider than the values give none. Nor do floating point, whose bounds leave out NaN and the
sign of zero, and char, which Spark pads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Any, Final

from parquetry.data_files import UNKNOWN, FileBounds, list_bounds_in_files
from parquetry.metastore import FileBlock, PartitionSnapshot, TableMetadata
from parquetry.prune.needed_rows import AggregateCall
from parquetry.prune.rules.file_knowledge import names_identify_columns
from parquetry.types import ColumnType, Value

NOT_EXACT: Final[Any] = object()
"""Stands for a value that the metastore does not have exactly."""

_EXACT_ARITHMETIC = Context(prec=76, traps=[InvalidOperation, Inexact])


def values_in_files(
    metadata: TableMetadata, partitions: Sequence[PartitionSnapshot], block: FileBlock, call: AggregateCall
) -> list[Any]:
    """Return for each file the value of a function over its rows, or `NOT_EXACT`.

    The least or greatest value of a file that has only NULL is None. For COUNT(DISTINCT p) of a partition
    column, it is the file's one value.

    Args:
        metadata: the table's metadata.
        partitions: the partitions of the files.
        block: the files, with statistics of the function's column.
        call: the function.

    Raises:
        ColumnNotFoundError: the table has no such column.
    """
    function, name = call
    rows = [NOT_EXACT if number == UNKNOWN else number for number in block.files.rows.tolist()]
    if name is None:
        return rows if function == "count" else [NOT_EXACT] * len(rows)
    column = metadata.column(name)
    if column.name in metadata.partition_by:
        values = _partition_values(partitions, block, metadata.partition_by.index(column.name))
        if function == "count":
            return [0 if value is None else number for number, value in zip(rows, values, strict=True)]
        exact = function in ("min", "max", "count_distinct") and column.column_type.facts.plain
        return [
            value if exact and number else None if exact else NOT_EXACT
            for number, value in zip(rows, values, strict=True)
        ]
    if not names_identify_columns(metadata):
        return [NOT_EXACT] * len(rows)
    bounds = list_bounds_in_files(column, block.files)
    if function == "count":
        return [_not_null(number, each) for number, each in zip(rows, bounds, strict=True)]
    if function not in ("min", "max") or not column.column_type.facts.plain:
        return [NOT_EXACT] * len(rows)
    return [
        _extreme(column.column_type, each, function) if number else None
        for number, each in zip(rows, bounds, strict=True)
    ]


def _partition_values(
    partitions: Sequence[PartitionSnapshot], block: FileBlock, position: int
) -> list[Value]:
    parts = block.parts.tolist()
    values: Mapping[int, Value] = {part: partitions[part].values[position] for part in dict.fromkeys(parts)}
    return [values[part] for part in parts]


def _not_null(rows: Any, found: FileBounds | None) -> Any:
    if rows == 0:
        return 0
    if rows is NOT_EXACT or found is None or not found.proof:
        return NOT_EXACT
    if found.all_null:
        return 0
    return NOT_EXACT if found.nulls is None else rows - found.nulls


def _extreme(kind: ColumnType, found: FileBounds | None, function: str) -> Any:
    if found is None or not found.proof:
        return NOT_EXACT
    if found.all_null:
        return None
    value, exact = (found.min, found.min_exact) if function == "min" else (found.max, found.max_exact)
    if value is None or not exact:
        return NOT_EXACT
    # The file may have fewer digits than the column has now.
    return (
        value.quantize(Decimal((0, (1,), -kind.scale)), context=_EXACT_ARITHMETIC)
        if isinstance(value, Decimal)
        else value
    )
