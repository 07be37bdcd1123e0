"""What of the values that a join found Spark's readers may use on the row groups of a file: ranges that hold all of them.

    item IN (2, 3, 70, 998)        item BETWEEN 2 AND 3 OR item = 70 OR item = 998

The readers compare them with a row group's statistics as they do with the query's own conditions (`row_groups` says where that would lose
rows), a row group of Parquet as well as a stripe of ORC and its strides. A range of one value asks for equality, for which the readers use
Bloom filters and dictionaries, too. Used are whole numbers, dates, decimals and texts: of floats the readers tell the zeros apart, chars
may lie in files without their padding, and what ORC keeps of timestamps depends on the reader's zone, of dates before 1582 on the calendar.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from parquetry.metastore.model import TableMetadata
from parquetry.predicate.nodes import Compare, In
from parquetry.prune.condition import Condition
from parquetry.prune.row_groups import before_gregorian
from parquetry.scan.coarse import ranges
from parquetry.types import ColumnType, Value

MOST_RANGES = 100
"""Of one set, as each row group is compared with all of them."""


class FoundRanges(msgspec.Struct, frozen=True):
    """Ranges that hold all values of a column which are wanted.

    Attributes:
        column: by its name in the table.
        type: its.
        ends: of each range the least and the greatest.
    """

    column: str
    type: ColumnType
    ends: tuple[tuple[Value, Value], ...]


def found_ranges(metadata: TableMetadata, conditions: Sequence[Condition]) -> list[FoundRanges]:
    """Return the ranges that the readers may use, of conditions that were found at run time.

    Args:
        metadata: of the table.
        conditions: joined by AND.
    """
    found: list[FoundRanges] = []
    for condition in conditions:
        match condition.predicate:
            case In(column, values, type) if values and _used(metadata, column, type, values[0]):
                ends = tuple((values[low], values[high]) for low, high in ranges(values, MOST_RANGES))
                found.append(FoundRanges(column, type, ends))
            case Compare("=", column, value, type) if value is not None and _used(
                metadata, column, type, value
            ):
                found.append(FoundRanges(column, type, ((value, value),)))
    return found


def _used(metadata: TableMetadata, column: str, type: ColumnType, least: Value) -> bool:
    if column in metadata.partition_by:
        return False
    if metadata.format == "orc" and isinstance(least, int) and before_gregorian(type.name, least):
        return False
    return type.integral or type.name in ("date", "decimal", "string", "varchar")
