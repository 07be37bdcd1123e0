"""Make conditions for Spark's readers from runtime values: ranges that cover the values, and the set itself.

    item IN (2, 3, 70, 998)        item BETWEEN 2 AND 3 OR item = 70 OR item = 998

The readers compare ranges with the statistics of Parquet's row groups and of ORC's stripes and strides, as
they do with the query's own conditions (`reader_filters` says where that would lose rows). For a range of one
value, which is an equality, they also use Bloom filters and dictionaries.

If there are more values than ranges, and the set is sparse, readers also look the set up in Parquet's
dictionaries. A row group may have none of the values although its bounds span some. ORC has no dictionary to
look in, and its Bloom filter would report a false match for one of some hundred values.

Only integers, dates, decimals and texts are used. The readers distinguish the zeros of floats, and chars may
be stored without their padding. ORC's statistics of timestamps depend on the reader's zone, those for dates
before 1582 on the calendar.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import TypeAlias

import msgspec
import numpy as np

from parquetry.data_files import UNKNOWN
from parquetry.joins.runtime.cost_model import LIMITS
from parquetry.joins.runtime.estimates import likely_matches
from parquetry.joins.runtime.filterable import laid_out_within
from parquetry.metastore import TableMetadata
from parquetry.predicate import And, Compare, In, Like, Opaque, Or, Predicate, TupleIn, after_all, head
from parquetry.prune import Condition, Selection, before_gregorian, same_order_in_orc
from parquetry.scan import ranges
from parquetry.types import ColumnType, Value, order_key

_Interval: TypeAlias = tuple[Value, Value]


class ColumnRanges(msgspec.Struct, frozen=True):
    """Ranges that cover all wanted values of a column.

    Attributes:
        column: the column's name in the table.
        type: its type.
        ends: the least and the greatest value of each range; None where it has none.
        values: the set, if readers should also look it up.
    """

    column: str
    type: ColumnType
    ends: tuple[_Interval, ...]
    values: tuple[Value, ...] = ()


def ranges_for_readers(
    metadata: TableMetadata, conditions: Sequence[Condition], selection: Selection | None = None
) -> list[ColumnRanges]:
    """Return the ranges that the readers may use, from the conditions of runtime filters.

    Args:
        metadata: the table's metadata.
        conditions: the conditions, joined by AND.
        selection: the remaining files, with statistics of the columns, or None if not known.
    """
    column_ranges: list[ColumnRanges] = []
    for predicate in (part for condition in conditions for part in _column_predicates(condition.predicate)):
        match predicate:
            case In(column, values, type) if values and _used(metadata, column, type, values):
                found = _ranges_of_set(metadata, selection, column, type, values)
                column_ranges += [] if found is None else [found]
            case Compare("=", column, value, type) if value is not None and _used(
                metadata, column, type, (value,)
            ):
                column_ranges.append(ColumnRanges(column, type, ((value, value),)))
    return column_ranges


def _ranges_of_set(
    metadata: TableMetadata,
    selection: Selection | None,
    column: str,
    type: ColumnType,
    values: tuple[Value, ...],
) -> ColumnRanges | None:
    """Return the ranges of a set, and the set itself where readers look it up, or None if it only costs time.

    Files with one row group each were compared with the set before, by the same bounds. There readers can
    skip more only by dictionaries.
    """
    looked_up = _looked_up(metadata, values)
    few = tuple((values[low], values[high]) for low, high in ranges(values, LIMITS.key_ranges))
    rows = _rows_of_files(metadata, selection)
    if selection is None or rows is None:
        return ColumnRanges(column, type, few, looked_up)
    found = ColumnRanges(column, type, ((values[0], values[-1]),) if looked_up else few, looked_up)
    if rows < LIMITS.condition_rows + LIMITS.value_rows * (len(found.ends) + len(found.values)):
        return None
    matches = likely_matches(metadata, selection, column, values) if type.integral else None
    likely = 0.0 if matches is None else float(np.quantile(matches, 1 - LIMITS.likely_files))
    return None if likely >= (LIMITS.likely_repeated_rows if looked_up else LIMITS.likely_rows) else found


def _rows_of_files(metadata: TableMetadata, selection: Selection | None) -> float | None:
    """Return the mean number of rows of files with one row group each, or None if it is not known."""
    if selection is None or not selection.block.count:
        return None
    files = selection.block.files
    if not have_one_row_group(metadata, int(files.bytes.sum()), selection.block.count):
        return None
    return None if (files.rows == UNKNOWN).any() else float(files.rows.mean())


def implied_ranges(
    metadata: TableMetadata, conditions: Sequence[Condition], selection: Selection
) -> list[ColumnRanges]:
    """Return the ranges that the query's conditions imply, where readers cannot use the conditions.

    Readers know no functions: `year(t) = 2026` implies that `t` is in one year, and `c RLIKE '^ab'` that `c`
    is from `ab` to before `ac`. There are none for files with one row group each.

    Args:
        metadata: the table's metadata.
        conditions: the conditions, joined by AND.
        selection: the remaining files.
    """
    found: list[ColumnRanges] = []
    if have_one_row_group(metadata, selection.bytes, selection.block.count):
        return found
    for node in (part for condition in conditions for part in _conjuncts(condition.predicate)):
        ranged = _ranged(node.implied) if isinstance(node, Opaque) and node.implied is not None else None
        if ranged is not None and ranged.ends:
            known = [end for ends in ranged.ends for end in ends if end is not None]
            if known and _used(metadata, ranged.column, ranged.type, known, (metadata.format,)):
                found.append(ranged)
    return found


def _conjuncts(predicate: Predicate) -> Iterator[Predicate]:
    if isinstance(predicate, And):
        for child in predicate.children:
            yield from _conjuncts(child)
    else:
        yield predicate


def _ranged(predicate: Predicate) -> ColumnRanges | None:
    """Return the ranges of a column that a condition allows, or None if it allows NULL or is about more."""
    match predicate:
        case Compare("=" | "<=>", column, value, type) if value is not None:
            return ColumnRanges(column, type, ((value, value),))
        case Compare(">=" | ">", column, value, type) if value is not None:
            return ColumnRanges(column, type, ((value, None),))
        case Compare("<=" | "<", column, value, type) if value is not None:
            return ColumnRanges(column, type, ((None, value),))
        case In(column, values, type) if values:
            return ColumnRanges(column, type, _few([(value, value) for value in values]))
        case Like(column, pattern, escape, type) if type.unpadded:
            beginning = head(pattern, escape)[0]
            return ColumnRanges(column, type, ((beginning, after_all(beginning)),)) if beginning else None
        case And(children):
            return _within_all([found for each in children if (found := _ranged(each)) is not None])
        case Or(children):
            parts = [found for each in children if (found := _ranged(each)) is not None]
            if len(parts) < len(children) or len({each.column for each in parts}) != 1:
                return None
            ends = [pair for each in parts for pair in each.ends]
            return ColumnRanges(parts[0].column, parts[0].type, _few(ends))
    return None


def _within_all(parts: Sequence[ColumnRanges]) -> ColumnRanges | None:
    """Return one part of an AND, narrowed by the others about its column if each is one range."""
    if not parts:
        return None
    first = parts[0]
    single = [each.ends[0] for each in parts if each.column == first.column and len(each.ends) == 1]
    if len(first.ends) > 1 or not single:
        return first
    lows = [low for low, _ in single if low is not None]
    highs = [high for _, high in single if high is not None]
    ends = (max(lows, key=order_key, default=None), min(highs, key=order_key, default=None))
    return ColumnRanges(first.column, first.type, (ends,))


def _few(ends: Sequence[_Interval]) -> tuple[_Interval, ...]:
    """Return ranges, or one range for all of them if they are too many."""
    if len(ends) <= LIMITS.key_ranges:
        return tuple(ends)
    lows, highs = ([pair[side] for pair in ends] for side in (0, 1))
    least = None if None in lows else min(lows, key=order_key)
    return ((least, None if None in highs else max(highs, key=order_key)),)


def _column_predicates(predicate: Predicate) -> list[Predicate]:
    """Return the conditions on single columns that a condition implies."""
    if isinstance(predicate, Opaque):  # a set of an expression
        return [] if predicate.implied is None else _column_predicates(predicate.implied)
    if not isinstance(predicate, TupleIn):
        return [predicate]
    rows = [row for row in predicate.rows if None not in row]
    return [
        In(name, tuple(sorted({row[position] for row in rows}, key=order_key)), type)
        for position, (name, type) in enumerate(zip(predicate.columns, predicate.types, strict=True))
    ]


def have_one_row_group(metadata: TableMetadata, size: int, files: int) -> bool:
    """Return whether files are assumed to have one row group each, with rows in any order.

    Args:
        metadata: the table's metadata.
        size: the bytes of all files.
        files: the number of files.
    """
    return size <= LIMITS.row_group_bytes * files and not laid_out_within(metadata)


def _looked_up(metadata: TableMetadata, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return the set, in order, if it prunes more than its ranges; else an empty tuple."""
    if metadata.format != "parquet":
        return ()
    first, last = values[0], values[-1]
    dense = (
        isinstance(first, int)
        and isinstance(last, int)
        and last - first < LIMITS.sparse_numbers * len(values)
    )
    return () if dense or not LIMITS.key_ranges < len(values) <= LIMITS.looked_up_values else values


def _used(
    metadata: TableMetadata,
    column: str,
    type: ColumnType,
    values: Sequence[Value],
    formats: Collection[str] = ("orc",),
) -> bool:
    """Return whether readers may use a column's values, given in order.

    Args:
        metadata: the table's metadata.
        column: the column.
        type: its type.
        values: the values.
        formats: the formats whose readers must compare such values as Spark does. Readers of ORC do not for
            times; no ranges of runtime values were measured for them.
    """
    if column in metadata.partition_by:
        return False
    if metadata.format == "orc":
        if any(isinstance(value, int) and before_gregorian(type.name, value) for value in values):
            return False
        if any(isinstance(value, str) and not same_order_in_orc(value) for value in values):
            return False
    return any(each in type.facts.reader_order for each in formats)
