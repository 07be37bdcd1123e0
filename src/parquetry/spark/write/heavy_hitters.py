"""Count values with Spark, to find the heavy values of each partition.

Only values that may be heavy come to this process. A value is heavy by its share of the partition's rows, so
all rows of the partition are counted first. If the rows are then written, they are cached in between
(`cached_rows`), and the query runs once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import reduce
from uuid import uuid4

from pyspark import StorageLevel
from pyspark.sql import Column, DataFrame, functions as sf

from parquetry.identifiers import quoted
from parquetry.layout import Counted, Measuring
from parquetry.metastore import TableSnapshot
from parquetry.spark.write.values import comparable, key_column, text_column, value_of
from parquetry.types import ColumnType

_ROWS_COLUMN = "parquetry.rows"
_COUNT_COLUMN = "parquetry.count"


@contextmanager
def cached_rows(rows: DataFrame) -> Iterator[DataFrame]:
    """Cache rows in memory, or on disk if memory is short. Spark then computes them once for several reads.

    Spark caches equal queries once. Without care, the end of this cache would also end the cache of another
    writer, or of the user. So a condition that is always true makes the query unlike all others.
    """
    rows = rows.where(sf.lit(uuid4().hex).isNotNull()).persist(StorageLevel.MEMORY_AND_DISK)
    try:
        yield rows
    finally:
        rows.unpersist()


def measure_heavy_values(
    snapshot: TableSnapshot, rows: DataFrame, measuring: Measuring
) -> dict[bytes, Counted]:
    """Return the counts of values that may be heavy, by the keys of the partitions of the rows.

    Args:
        snapshot: of the table.
        rows: with the columns of the files.
        measuring: the columns, and the limits for heavy values.
    """
    partition_by = [column.physical for column in snapshot.metadata.partition_columns]
    counts = count_values(
        rows,
        list(zip(partition_by, snapshot.partition_types, strict=True)),
        [column.physical for column in measuring.columns],
        measuring.types,
        measuring.auto.share,
    )
    return {snapshot.key_of(each.partition): each for each in counts}


def count_values(
    rows: DataFrame,
    partition_by: Sequence[tuple[str, ColumnType]],
    columns: Sequence[str],
    types: Sequence[ColumnType],
    share: float,
) -> list[Counted]:
    """Return, for each partition, the number of rows and the counts of frequent values.

    Args:
        rows: to count. Only the columns named here are read.
        partition_by: names and types of the partition columns.
        columns: the columns whose values are counted, as tuples.
        types: of these columns.
        share: the least share of a partition's rows that a frequent tuple has.
    """
    outer = [f"{_ROWS_COLUMN}.{i}" for i in range(len(partition_by))]
    inner = [f"{_COUNT_COLUMN}.{i}" for i in range(len(columns))]
    key_types = [type for _, type in partition_by]
    one = rows.select(
        *(
            key_column(type, _col(name)).alias(key)
            for (name, type), key in zip(partition_by, outer, strict=True)
        ),
        *(
            comparable(type, _col(name)).alias(value)
            for name, type, value in zip(columns, types, inner, strict=True)
        ),
    )
    counts = one.groupBy(*map(_col, (*outer, *inner))).agg(sf.count(sf.lit(1)).alias(_COUNT_COLUMN))
    texts = [text_column(type, _col(name)) for type, name in zip(key_types, outer, strict=True)]
    by_partition: dict[tuple[str | None, ...], Counted] = {}
    with cached_rows(counts) as once:
        sums = once.groupBy(*map(_col, outer)).agg(
            sf.coalesce(sf.sum(_col(_COUNT_COLUMN)), sf.lit(0)).alias(_ROWS_COLUMN)
        )
        for *texts_of_key, count in sums.select(*texts, _col(_ROWS_COLUMN)).collect():
            key = tuple(texts_of_key)
            by_partition[key] = Counted(tuple(map(value_of, key_types, key)), count, {})
        totals = sums.toDF(*(f"{name}.total" for name in outer), _ROWS_COLUMN)
        same = [_col(name).eqNullSafe(_col(f"{name}.total")) for name in outer]
        heavy = once.join(sf.broadcast(totals), reduce(Column.__and__, same, sf.lit(True)), "inner").where(
            _col(_COUNT_COLUMN)
            >= sf.floor(_col(_ROWS_COLUMN) * sf.lit(share))  # `choose` applies the limit exactly
        )
        texts += [text_column(type, _col(name)) for type, name in zip(types, inner, strict=True)]
        for *values, count in heavy.select(*texts, _col(_COUNT_COLUMN)).collect():
            key, cell = tuple(values[: len(outer)]), values[len(outer) :]
            by_partition[key].counts[tuple(map(value_of, types, cell))] = count
    return list(by_partition.values())


def _col(name: str) -> Column:
    return sf.col(quoted(name))
