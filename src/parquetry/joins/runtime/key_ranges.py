"""Return a column's range in each partition, from files' statistics, in place of a join's unread values.

Three of 1,837 partitions of `catalog_sales`:

| cs_sold_date_sk | least cs_order_number | greatest cs_order_number |
|-----------------|-----------------------|--------------------------|
| 2,451,180       | 31,894                | 31,951                   |
| 2,451,181       | 31,894                | 32,040                   |
| 2,451,182       | 31,967                | 32,103                   |

Bounds may be wider than the values, never narrower. A file without statistics has the least and the greatest
value of the type.
"""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import numpy as np

from parquetry.errors import ValueTypeError
from parquetry.metastore import TableMetadata
from parquetry.predicate import NO_ROWS, ONLY_NULL
from parquetry.prune import FileKnowledge, Selection
from parquetry.types import ColumnType, Value, extreme_values


def partition_key_ranges(
    metadata: TableMetadata, selection: Selection, column: str
) -> list[tuple[int, Value, Value]]:
    """Return each partition's position, least and greatest value, if it may have values of a column.

    Args:
        metadata: the table's metadata.
        selection: the files, with the column's statistics.
        column: the name of a column of integers, decimals, dates or timestamps.

    Raises:
        ColumnNotFoundError: the table has no such column.
        ValueTypeError: the column's type has no least and no greatest value.
    """
    named = metadata.column(column)
    lowest, highest = _type_range(named.column_type)
    parts = selection.block.parts.tolist()
    bounds = FileKnowledge(metadata, selection.partitions, selection.block).bounds(named.name)
    if bounds is None:
        return [(part, lowest, highest) for part in dict.fromkeys(parts)]
    by_partition: dict[int, tuple[Any, Any]] = {}
    columns = (np.asarray(values).tolist() for values in (bounds.least, bounds.greatest, bounds.nulls))
    for part, least, greatest, nulls in zip(parts, *columns, strict=True):
        if nulls in (ONLY_NULL, NO_ROWS):
            continue
        low, high = by_partition.get(part, (highest, lowest))
        by_partition[part] = min(low, max(least, lowest)), max(high, min(greatest, highest))
    return [(part, *ends) for part, ends in by_partition.items()]


def _type_range(type_: ColumnType) -> tuple[Any, Any]:
    if type_.facts.value in (int, Decimal):
        return extreme_values(type_)
    raise ValueTypeError(
        f"Type {type_}: it has no least and no greatest value, which could stand for what files do not tell."
    )
