"""Answer COUNT, MIN and MAX from the metastore alone, where its numbers are exact.

COUNT(DISTINCT p) is answered for partition columns.

This module works on the result of `select`. It gives no answer from bounds that may be wider than the values.
Nor does it for floating point, whose bounds leave out NaN and the sign of zero, nor for char, which Spark
pads.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Literal

import numpy as np

from parquetry.data_files import UNKNOWN, FileBounds, TableColumn, list_bounds_in_files
from parquetry.metastore import FileBlock, TableMetadata
from parquetry.prune.rules.file_knowledge import names_identify_columns
from parquetry.prune.select import Selection
from parquetry.types import ColumnType, Value, identity

AggregateCall = tuple[Literal["count", "min", "max", "count_distinct"], str | None]
"""A function and its column. `("count", None)` is COUNT(*), `count_distinct` COUNT(DISTINCT column)."""

_EXACT_ARITHMETIC = Context(prec=76, traps=[InvalidOperation, Inexact])
_TYPES_WITHOUT_EXTREMES = frozenset(("float", "double", "char"))

_Answer = Callable[["_GroupedFiles"], Sequence[Value]]


class _NotExactError(Exception):
    """The metastore's numbers are not exact enough."""


def has_extremes(kind: ColumnType) -> bool:
    """Return whether the metastore may know the exact least and greatest values of a type."""
    return kind.primitive and kind.name not in _TYPES_WITHOUT_EXTREMES


def answer_aggregate(
    metadata: TableMetadata,
    selection: Selection,
    aggregates: Sequence[AggregateCall],
    group_by: Sequence[str] = (),
) -> list[tuple[Value, ...]] | None:
    """Compute aggregates over the selected rows without reading a file.

    Args:
        metadata: the table's metadata.
        selection: the selected partitions and files, with statistics of the aggregates' columns.
        aggregates: the functions to compute.
        group_by: partition columns.

    Returns:
        A row for each group in key order (exactly one without `group_by`): the group's values, then the
        aggregates, as internal values. None if the metastore does not know them exactly.

    Raises:
        ColumnNotFoundError: the table has no such column.
    """
    positions = {name.lower(): position for position, name in enumerate(metadata.partition_by)}
    keys = [metadata.column(name) for name in group_by]
    if any(key.name.lower() not in positions or key.column_type.floating for key in keys):
        return None
    block = selection.block
    if not selection.certain or (block.files.rows == UNKNOWN).any():
        return None
    filled = block.take(np.flatnonzero(block.files.rows))
    values = {part: selection.partitions[part].values for part in dict.fromkeys(filled.parts.tolist())}
    groups: dict[tuple[Value, ...], int] = {} if keys else {(): 0}
    of_part = {
        part: groups.setdefault(
            identity(tuple(each[positions[key.name.lower()]] for key in keys)), len(groups)
        )
        for part, each in values.items()
    }
    files = _GroupedFiles(filled, [of_part[part] for part in filled.parts.tolist()], len(groups), values)
    try:
        answers = [_answer(metadata, positions, function, name)(files) for function, name in aggregates]
    except _NotExactError:
        return None
    return [(*key, *answer) for key, *answer in zip(groups, *answers, strict=True)]


@dataclass(frozen=True, slots=True)
class _GroupedFiles:
    """The files that have rows: their groups, the number of groups, and the partitions' values."""

    block: FileBlock
    groups: Sequence[int]
    count: int
    values: Mapping[int, tuple[Value, ...]]

    def partition_values(self, position: int) -> list[Value]:
        """Return for each file its value of a partition column."""
        return [self.values[part][position] for part in self.block.parts.tolist()]

    def sums(self, numbers: Iterable[int]) -> list[int]:
        """Return the sum of each group."""
        sums = [0] * self.count
        for group, number in zip(self.groups, numbers, strict=True):
            sums[group] += number
        return sums

    def extreme(self, values: Iterable[Value], choose: Callable[..., Value]) -> list[Value]:
        """Return the least or the greatest value of each group, or None if a group has only NULL."""
        found: list[Value] = [None] * self.count
        for group, value in zip(self.groups, values, strict=True):
            if value is not None:
                found[group] = value if found[group] is None else choose(found[group], value)
        return found


def _answer(metadata: TableMetadata, positions: dict[str, int], function: str, name: str | None) -> _Answer:
    if name is None:
        if function != "count":
            raise _NotExactError
        return lambda files: files.sums(files.block.files.rows.tolist())
    column = metadata.column(name)
    position = positions.get(column.name.lower())
    if position is None and not names_identify_columns(metadata):
        raise _NotExactError
    if function == "count":
        return functools.partial(_count, column, position)
    kind = column.column_type
    if function == "count_distinct":
        if position is None or not has_extremes(kind):
            raise _NotExactError
        return functools.partial(_count_distinct, position)
    if function not in ("min", "max") or not has_extremes(kind):
        raise _NotExactError
    choose: Callable[..., Value] = min if function == "min" else max
    if position is not None:
        return lambda files: files.extreme(files.partition_values(position), choose)

    def extremes(files: _GroupedFiles) -> list[Value]:
        found = list_bounds_in_files(column, files.block.files)
        return files.extreme([_extreme(kind, each, function) for each in found], choose)

    return extremes


def _count(column: TableColumn, position: int | None, files: _GroupedFiles) -> list[int]:
    rows = files.block.files.rows.tolist()
    if position is not None:
        pairs = zip(rows, files.partition_values(position), strict=True)
        return files.sums([0 if value is None else number for number, value in pairs])
    known = zip(rows, list_bounds_in_files(column, files.block.files), strict=True)
    return files.sums([_not_null(number, found) for number, found in known])


def _count_distinct(position: int, files: _GroupedFiles) -> list[int]:
    """Return for each group how many values other than NULL a partition column has."""
    values: list[set[tuple[Value, ...]]] = [set() for _ in range(files.count)]
    for group, value in zip(files.groups, files.partition_values(position), strict=True):
        if value is not None:
            values[group].add(identity((value,)))
    return list(map(len, values))


def _not_null(rows: int, found: FileBounds | None) -> int:
    if found is None or not found.proof:
        raise _NotExactError
    if found.all_null:
        return 0
    if found.nulls is None:
        raise _NotExactError
    return rows - found.nulls


def _extreme(kind: ColumnType, found: FileBounds | None, function: str) -> Value:
    if found is None or not found.proof:
        raise _NotExactError
    if found.all_null:
        return None
    value, exact = (found.min, found.min_exact) if function == "min" else (found.max, found.max_exact)
    if value is None or not exact:
        raise _NotExactError
    # The file may have fewer digits than the column has now.
    return (
        value.quantize(Decimal((0, (1,), -kind.scale)), context=_EXACT_ARITHMETIC)
        if isinstance(value, Decimal)
        else value
    )
