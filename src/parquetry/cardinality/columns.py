"""Statistics of columns in selected files, in the form that Spark's optimizer has them.

They are true of the files that are left after pruning. A column is left out if something of it is
unknown: the optimizer takes a number without its bounds for an empty column, and estimates no rows for
it.

| statistic         | partition column | data column                                             |
|-------------------|------------------|---------------------------------------------------------|
| least, greatest   | exact            | of the files' bounds; of texts, Spark uses none         |
| NULLs             | exact            | the sum of the files' numbers                           |
| distinct values   | exact            | ANALYZE TABLE, or else dictionaries: `distinct_values`  |
| length of a value | of texts, exact  | ANALYZE TABLE, or else the mean length of texts' bounds |
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Sequence
from decimal import Context, Decimal
from typing import Any

import msgspec
import numpy as np

from parquetry.cardinality.distinct_values import ValuesInFile, estimate_distinct, limit_counted
from parquetry.cardinality.histogram import Histogram, build_histogram
from parquetry.cardinality.integers import IntegersInFiles, integers_in_files
from parquetry.data_files import UNKNOWN, FileColumns, TableColumn, list_bounds_in_files, optional
from parquetry.metastore import CountedColumn, FileBlock, TableMetadata
from parquetry.prune import Selection, names_identify_columns
from parquetry.types import ColumnType, Value, identity

_DECIMALS = Context(prec=76)
"""Twice the digits that a decimal has."""
_DOUBLE_BITS = 64
"""The width of the numbers in a histogram."""


class ColumnEstimate(msgspec.Struct, frozen=True):
    """The statistics of a column in some files.

    Attributes:
        name: of the column.
        distinct: the estimated number of distinct values, without NULL.
        nulls: how many rows are NULL.
        least: a value that none is below, or None if all rows are NULL, or Spark uses no bounds of the type.
        greatest: a value that none is above, or None likewise.
        length: the mean bytes of a text, or None if they are unknown, or the type has a fixed width.
        histogram: how its values are distributed, or None if that was not wanted, or is not known.
    """

    name: str
    distinct: int
    nulls: int
    least: Value = None
    greatest: Value = None
    length: int | None = None
    histogram: Histogram | None = None


def estimate_columns(
    metadata: TableMetadata, selection: Selection, names: Iterable[str], compared: Collection[str] = ()
) -> list[ColumnEstimate]:
    """Return the statistics of columns in selected files; columns with unknown statistics are left out.

    Args:
        metadata: the table's metadata.
        selection: the files, with the statistics of the columns.
        names: the columns.
        compared: the columns that conditions compare with values. They get histograms.

    Raises:
        ColumnNotFoundError: the table has no such column.
    """
    block = selection.block.take(np.flatnonzero(selection.block.files.rows))
    if (block.files.rows == UNKNOWN).any():
        return []
    estimates = []
    for column in map(metadata.column, names):
        if not column.column_type.facts.counted:
            continue
        if column.name in metadata.partition_by:
            position = metadata.partition_by.index(column.name)
            estimate: ColumnEstimate | None = _of_partitions(column, position, selection, block)
        elif names_identify_columns(metadata):
            estimate = _of_files(metadata, column, block.files, distributed=column.name in compared)
        else:
            estimate = None
        if estimate is not None:
            estimates.append(estimate)
    return estimates


def count_distinct(metadata: TableMetadata, files: FileColumns, name: str) -> int | None:
    """Return about how many distinct integers a column has in files, or None if that is not known.

    ANALYZE counts them, and so do the dictionaries of Parquet files. Where such a file has none, its writer
    has seen few values twice.

    Args:
        metadata: the table's metadata.
        files: with the statistics of the column.
        name: of the column, which is not a partition column.

    Raises:
        ColumnNotFoundError: the table has no such column.
    """
    column = metadata.column(name)
    integers = integers_in_files(column, files) if names_identify_columns(metadata) else None
    if integers is None:
        return None
    counted = _counted(metadata, column)
    if counted is None and metadata.format != "parquet":
        return None
    return _distinct_integers(integers, counted)


def _of_partitions(
    column: TableColumn, position: int, selection: Selection, block: FileBlock
) -> ColumnEstimate | None:
    rows: dict[int, int] = {}
    for part, count in zip(block.parts.tolist(), block.files.rows.tolist(), strict=True):
        rows[part] = rows.get(part, 0) + count
    values: dict[Any, Value] = {}
    counts: dict[Any, int] = {}
    for part, count in rows.items():
        value = selection.partitions[part].values[position]
        key = identity((value,))
        values[key] = value
        counts[key] = counts.get(key, 0) + count
    nulls = sum(counts[key] for key, value in values.items() if value is None)
    there = {key: value for key, value in values.items() if value is not None}
    bytes_of = [(_byte_length(value), counts[key]) for key, value in there.items()]
    return _estimate(column, len(there), nulls, list(there.values()), bytes_of)


def _of_files(
    metadata: TableMetadata, column: TableColumn, files: FileColumns, *, distributed: bool
) -> ColumnEstimate | None:
    counted = _counted(metadata, column)
    integers = integers_in_files(column, files)
    if integers is not None:
        return _of_integers(column, integers, counted, distributed=distributed)
    known = _known_files(column, files)
    if known is None:
        return None
    nulls, filled = known
    distinct = estimate_distinct(column.column_type, filled, counted)
    values = [value for file in filled for value in (file.least, file.greatest) if value is not None]
    bytes_of = [(_byte_length(value), 1) for value in values]
    if counted is not None and counted.length is not None:
        bytes_of = [(counted.length, 1)]
    estimate = _estimate(column, distinct, nulls, values, bytes_of)
    if estimate is None or not distributed or not filled or not _has_histogram(column.column_type):
        return estimate
    rows, least, greatest, *_ = zip(*filled, strict=True)
    return msgspec.structs.replace(estimate, histogram=build_histogram(rows, least, greatest, distinct))


def _counted(metadata: TableMetadata, column: TableColumn) -> CountedColumn | None:
    """Return what ANALYZE counted of a column, or None."""
    return next((each for each in metadata.counted if each.column == column.physical), None)


def _has_histogram(kind: ColumnType) -> bool:
    """Return whether Spark finds the least and greatest value of a type at the ends of its histogram.

    It fails if it does not, as for FLOAT: the number in the text 0.1 is not the nearest FLOAT.
    """
    facts = kind.facts
    return facts.ranged and facts.value is not bool and not (kind.floating and facts.bits < _DOUBLE_BITS)


def _of_integers(
    column: TableColumn, found: IntegersInFiles, counted: CountedColumn | None, *, distributed: bool
) -> ColumnEstimate:
    if not len(found.rows):
        return ColumnEstimate(column.name, 0, found.nulls)
    distinct = _distinct_integers(found, counted)
    histogram = None
    if distributed:
        histogram = build_histogram(found.rows, found.least, found.greatest, distinct)
    least, greatest = int(found.least.min()), int(found.greatest.max())
    return ColumnEstimate(column.name, distinct, found.nulls, least, greatest, histogram=histogram)


def _distinct_integers(found: IntegersInFiles, counted: CountedColumn | None) -> int:
    distinct = found.possible_values(at_most=counted is not None)
    return distinct if counted is None else limit_counted(counted, int(found.rows.sum()), distinct)


def _known_files(column: TableColumn, files: FileColumns) -> tuple[int, list[ValuesInFile]] | None:
    """Return the NULLs, and the values of each file that has any; None if something of a file is unknown."""
    kind, rows = column.column_type, files.rows.tolist()
    statistics = files.statistics(column.physical)
    sizes = [None] * files.count if statistics is None else optional(statistics.size)
    numbers: list[int | None] = [None] * files.count
    if statistics is not None and statistics.distinct is not None:
        numbers = optional(statistics.distinct)
    nulls, filled = 0, []
    bounds = list_bounds_in_files(column, files)
    for found, count, size, distinct in zip(bounds, rows, sizes, numbers, strict=True):
        if found is None or found.nulls is None:
            return None
        nulls += min(found.nulls, count)
        if found.all_null or found.nulls >= count:
            continue
        if kind.facts.ranged and not _is_finite_range(found.min, found.max):
            return None
        exact = found.min_exact and found.max_exact
        filled.append(ValuesInFile(count - found.nulls, found.min, found.max, exact, size, distinct))
    return nulls, filled


def _is_finite_range(least: Value, greatest: Value) -> bool:
    """Return whether Spark can divide by the range, and both ends are known and in order."""
    if least is None or greatest is None:
        return False
    if any(isinstance(value, float) and not math.isfinite(value) for value in (least, greatest)):
        return False
    return bool(least <= greatest)  # type: ignore[operator]


def _estimate(
    column: TableColumn,
    distinct: int,
    nulls: int,
    values: Sequence[Value],
    bytes_of: Iterable[tuple[int | None, int]],
) -> ColumnEstimate | None:
    kind = column.column_type
    least, greatest = _bounds(kind, values) if kind.facts.ranged and values else (None, None)
    if least is not None and not _is_finite_range(least, greatest):
        return None
    lengths = [(length, times) for length, times in bytes_of if length is not None]
    length = None
    if lengths and not kind.facts.ranged:
        length = math.ceil(sum(each * times for each, times in lengths) / sum(times for _, times in lengths))
    if kind.name == "char":  # Spark pads it
        length = max(length or 0, kind.length)
    return ColumnEstimate(column.name, distinct, nulls, least, greatest, length)


def _bounds(kind: ColumnType, values: Sequence[Any]) -> tuple[Value, Value]:
    least, greatest = min(values), max(values)
    if isinstance(least, Decimal):  # the file may have fewer digits than the column has now
        unit = Decimal((0, (1,), -kind.scale))
        return least.quantize(unit, context=_DECIMALS), greatest.quantize(unit, context=_DECIMALS)
    return least, greatest


def _byte_length(value: Value) -> int | None:
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    return len(value) if isinstance(value, bytes) else None
