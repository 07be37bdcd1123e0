"""Count distinct values with Spark, for estimates."""

from __future__ import annotations

import math
from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, functions as sf

from parquetry.data_files import TableColumn
from parquetry.identifiers import quote_part
from parquetry.metastore import CountedColumn

_DISTINCT_ERROR = 0.02
"""The relative standard deviation of counts of distinct values: 4 KiB of memory for each column and task."""


def count_distinct(rows: DataFrame, columns: Sequence[TableColumn]) -> list[CountedColumn]:
    """Return how many distinct values columns have, about, and in how many rows, by one pass."""
    numbers: list[Column] = []
    for column in columns:
        named, facts = sf.col(quote_part(column.name)), column.column_type.facts
        numbers += [sf.approx_count_distinct(named, _DISTINCT_ERROR), sf.count(named)]
        numbers.append(sf.lit(None) if facts.ranged else sf.avg(sf.octet_length(named)))
    (counts,) = rows.agg(*numbers).collect()
    return [
        CountedColumn(
            column.physical, min(distinct, filled), filled, None if length is None else math.ceil(length)
        )
        for column, distinct, filled, length in zip(
            columns, counts[::3], counts[1::3], counts[2::3], strict=True
        )
    ]
