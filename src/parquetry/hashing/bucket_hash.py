"""Hash rows by their bucket columns, in each version of the hash, and compute their buckets.

Version 1 is the hash of Hive 1 and 2, version 2 the hash of Hive 3 and later, and "spark" the hash of Spark's
own `bucketBy`. Each is exact, for all types and all values; `hive_v1`, `hive_v2` and `spark` explain the
rules. `hash_types` lists the types whose equal values may be in different buckets, depending on the writer.

>>> import pyarrow as pa
>>> hive_hash(2, [pa.array([5, None], pa.int32()), pa.array(['abc', 'abc'])]).tolist()
[-1566660030, -885266671]
>>> bucket_ids(1, 4, [pa.array([5, -5, None], pa.int64())]).tolist()
[1, 0, 0]
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parquetry.errors import ArrangementError, ValueTypeError
from parquetry.hashing import hive_v1, hive_v2, spark
from parquetry.hashing.hash_types import HashType, number_type
from parquetry.hashing.murmur3 import FEW_ROWS, Hashes
from parquetry.layout import Version
from parquetry.types import ColumnType, Value

ROWS_PER_BATCH = 1 << 14
"""Rows that are hashed at once, few enough for their numbers to stay in the processor's cache."""
BYTES_PER_BATCH = 1 << 20
"""Bytes of values, about, that are hashed at once; intermediate results take several times as much memory."""


def hive_hash(
    version: Version,
    columns: Sequence[pa.Array | pa.ChunkedArray],
    types: Sequence[ColumnType] | None = None,
) -> NDArray[np.int32]:
    """Hash rows by some of their columns.

    Args:
        version: 1, 2 or "spark".
        columns: columns of the same length, in the order of the bucket columns. NULL hashes as 0; "spark"
            skips it.
        types: the columns' types in the table, or None for Arrow's types. Arrow has no char and varchar, and
            a file may store a number with more bits than the table's type has.

    Raises:
        ArrangementError: there is no column, or the columns differ in length.
        UnsupportedError: values of a type have no hash.
    """
    if not columns:
        raise ArrangementError("There is no column to hash: name one or more.")
    count = len(columns[0])
    if any(len(column) != count for column in columns):
        raise ArrangementError("The columns to be hashed differ in length: give one value for each row.")
    hashed = (
        [HashType.from_arrow(column.type) for column in columns]
        if types is None
        else [HashType.from_column_type(type) for type in types]
    )
    hashes = np.empty(count, np.uint32)
    bytes_of_row = sum(column.nbytes for column in columns) // max(count, 1)
    step = max(1, min(ROWS_PER_BATCH, BYTES_PER_BATCH // max(bytes_of_row, 1)))
    for start in range(0, count, step):
        parts = [_plain(column.slice(start, step)) for column in columns]
        hashes[start : start + step] = _rows(version, parts, hashed)
    return hashes.view(np.int32)


def bucket_ids(
    version: Version,
    count: int,
    columns: Sequence[pa.Array | pa.ChunkedArray],
    types: Sequence[ColumnType] | None = None,
) -> NDArray[np.int32]:
    """Return each row's bucket, from 0 to `count` - 1; for the other arguments and errors see `hive_hash`."""
    hashes = hive_hash(version, columns, types)
    # Hive drops the sign, Spark takes the remainder that is not negative, as NumPy does
    return (hashes if version == "spark" else hashes & np.int32(0x7FFFFFFF)) % np.int32(count)


def bucket_numbers(
    version: Version, count: int, types: Sequence[ColumnType], tuples: Sequence[Sequence[Value]]
) -> list[int]:
    """Return the buckets of rows with some values in the bucket columns, one for each tuple.

    Args:
        version: the version of the hash.
        count: the number of buckets.
        types: the types of the bucket columns.
        tuples: internal values (`parquetry.types`), one for each column.

    Raises:
        ValueTypeError: a value is not one of its type.
        UnsupportedError: values of a type have no hash.

    >>> from parquetry.types import parse_type
    >>> bucket_numbers(1, 4, [parse_type('int'), parse_type('date')], [(7, 0), (None, 3)])
    [1, 3]
    """
    if not tuples:
        return []
    if version == "spark" and len(tuples) <= FEW_ROWS:
        single = [spark.hash_row(values, types) for values in tuples]
        if None not in single:
            return [_with_sign(hash) % count for hash in single if hash is not None]
    columns = [_array(type, [values[at] for values in tuples]) for at, type in enumerate(types)]
    return [int(bucket) for bucket in bucket_ids(version, count, columns, types)]


def _with_sign(hash: int) -> int:
    return hash - (1 << 32) if hash >> 31 else hash


def normalise_zero(value: Value) -> Value:
    """Return the value that our writer hashes for all values that are equal in SQL: -0.0 becomes 0.0.

    NaN stays, since all hashes treat every NaN alike.

    >>> normalise_zero(-0.0), normalise_zero('-0.0'), normalise_zero(None)
    (0.0, '-0.0', None)
    """
    return value + 0.0 if isinstance(value, float) else value


def _plain(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _rows(version: Version, columns: Sequence[pa.Array], types: Sequence[HashType]) -> Hashes:
    hashes = np.full(len(columns[0]), spark.SEED if version == "spark" else 0, np.uint32)
    for column, type in zip(columns, types, strict=True):
        if version == "spark":
            hashes = spark.take(column, type, hashes)
        else:
            hashed = (hive_v1 if version == 1 else hive_v2).hash_values(column, type)
            hashes = hive_v1.combine(hashes, hashed)
    return hashes


def _array(type: ColumnType, values: list[Value]) -> pa.Array:
    arrow = HashType.from_column_type(type).arrow
    try:
        # Arrow takes no plain number as a date or timestamp, and does not reach all of Spark's years
        return pa.array(values, number_type(type) or arrow).view(arrow)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError) as error:
        raise ValueTypeError(f"Values for a bucket of type {type} do not fit it: {error}.") from error
