"""What of the values that a join found Spark's readers may use on the row groups of a file: ranges that hold all of them, and the set.

    item IN (2, 3, 70, 998)        item BETWEEN 2 AND 3 OR item = 70 OR item = 998

The readers compare ranges with a row group's statistics as they do with the query's own conditions (`reader_filters` says where that would lose
rows), a row group of Parquet as well as a stripe of ORC and its strides. A range of one value asks for equality, for which the readers use
Bloom filters and dictionaries, too. Of more values than there may be ranges, the set itself is looked up in the dictionaries of Parquet, if
it is sparse: then a row group may hold none of them between its least and its greatest. (ORC has no dictionary to look in, and of some
hundred values a Bloom filter takes one for its own by mistake.) Used are whole numbers, dates, decimals and texts: of floats the readers tell the zeros apart, chars
may lie in files without their padding, and what ORC keeps of timestamps depends on the reader's zone, of dates before 1582 on the calendar.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from parquetry.metastore.storage import TableMetadata
from parquetry.predicate import Compare, In, Predicate, TupleIn
from parquetry.prune.condition import Condition
from parquetry.prune.reader_filters import before_gregorian
from parquetry.prune.runtime.cost_model import LIMITS
from parquetry.prune.runtime.estimates import likely_matches
from parquetry.prune.runtime.filterable import laid_out_within
from parquetry.prune.select import Selection
from parquetry.scan import ranges
from parquetry.types import ColumnType, Value, order_key


class ColumnRanges(msgspec.Struct, frozen=True):
    """Ranges that hold all values of a column which are wanted.

    Attributes:
        column: by its name in the table.
        type: its.
        ends: of each range the least and the greatest.
        values: the set, if it is to be looked up, too.
    """

    column: str
    type: ColumnType
    ends: tuple[tuple[Value, Value], ...]
    values: tuple[Value, ...] = ()


def ranges_for_readers(
    metadata: TableMetadata, conditions: Sequence[Condition], selection: Selection | None = None
) -> list[ColumnRanges]:
    """Return the ranges that the readers may use, of conditions that were found at run time.

    Args:
        metadata: of the table.
        conditions: joined by AND.
        selection: the files that they leave, with what these say of the columns; None: it is not known.
    """
    column_ranges: list[ColumnRanges] = []
    for predicate in (part for condition in conditions for part in _column_predicates(condition.predicate)):
        match predicate:
            case In(column, values, type) if values and _used(metadata, column, type, values[0]):
                looked_up = _looked_up(metadata, values)
                likely = _in_every_file(metadata, selection, column, type, values)
                if likely < LIMITS.likely_rows:
                    ends = tuple(
                        (values[low], values[high]) for low, high in ranges(values, LIMITS.key_ranges)
                    )
                elif looked_up and likely < LIMITS.likely_repeated_rows:
                    ends = ((values[0], values[-1]),)
                else:
                    continue
                column_ranges.append(ColumnRanges(column, type, ends, looked_up))
            case Compare("=", column, value, type) if value is not None and _used(
                metadata, column, type, value
            ):
                column_ranges.append(ColumnRanges(column, type, ((value, value),)))
    return column_ranges


def _column_predicates(predicate: Predicate) -> list[Predicate]:
    """Return what a condition says of each column by itself."""
    if not isinstance(predicate, TupleIn):
        return [predicate]
    rows = [row for row in predicate.rows if None not in row]
    return [
        In(name, tuple(sorted({row[position] for row in rows}, key=order_key)), type)
        for position, (name, type) in enumerate(zip(predicate.columns, predicate.types, strict=True))
    ]


def have_one_row_group(metadata: TableMetadata, size: int, files: int) -> bool:
    """Return whether files are taken to have one row group each, of rows in any order.

    Args:
        metadata: of their table.
        size: bytes of all of them.
        files: how many there are.
    """
    return size <= LIMITS.row_group_bytes * files and not laid_out_within(metadata)


def _in_every_file(
    metadata: TableMetadata,
    selection: Selection | None,
    column: str,
    type: ColumnType,
    values: Sequence[Value],
) -> float:
    """Return how many rows with one of the values nearly all files of one row group each are likely to have at least; 0: it is not known.

    Their least and greatest values have been looked at already. The readers would look each range up in a dictionary by itself, which takes
    longer than to read the rows, and to be given any condition at all costs them a millisecond for each file.
    """
    sizes = None if selection is None else selection.block.files.bytes
    if selection is None or sizes is None or not len(sizes) or not type.integral:
        return 0
    if not have_one_row_group(metadata, int(sizes.sum()), len(sizes)):
        return 0
    matches = likely_matches(metadata, selection, column, values)
    return 0 if matches is None else float(np.quantile(matches, 1 - LIMITS.likely_files))


def _looked_up(metadata: TableMetadata, values: tuple[Value, ...]) -> tuple[Value, ...]:
    """Return a set, in order, if it tells more than its ranges do; nothing otherwise."""
    if metadata.format != "parquet":
        return ()
    first, last = values[0], values[-1]
    dense = (
        isinstance(first, int)
        and isinstance(last, int)
        and last - first < LIMITS.sparse_numbers * len(values)
    )
    return () if dense or not LIMITS.key_ranges < len(values) <= LIMITS.looked_up_values else values


def _used(metadata: TableMetadata, column: str, type: ColumnType, least: Value) -> bool:
    if column in metadata.partition_by:
        return False
    if metadata.format == "orc" and isinstance(least, int) and before_gregorian(type.name, least):
        return False
    return type.integral or type.name in ("date", "decimal", "string", "varchar")
