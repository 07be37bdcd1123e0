"""Whether rows are sorted as Hive and Spark sort them: upwards with NULL first, downwards with NULL last, NaN above all numbers.

>>> numbers = pa.array([None, 1, 1, 3])
>>> first_out_of_order([numbers], [False]) is None, first_out_of_order([numbers], [True])
(True, 1)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from parquetry.hashing import HashType
from parquetry.types import ColumnType

_ORDERED = ("boolean", "string", "varchar", "binary", "date", "decimal", "timestamp", "timestamp_ntz")


def has_known_order(type: ColumnType) -> bool:
    """Return whether Spark orders a column's values as they lie in files.

    A char is padded when it is read, and then sorts behind texts that it sorted before.
    """
    return type.integral or type.floating or type.name in _ORDERED


def sortable(array: pa.Array, type: ColumnType) -> pa.Array:
    """Return values of a column in a form that compares as they do.

    Raises:
        pyarrow.ArrowInvalid: a value is none of the type.
    """
    array = HashType.from_column_type(type).cast(array)
    return array.cast(pa.int8()) if pa.types.is_boolean(array.type) else array


def first_out_of_order(columns: Sequence[pa.Array], descending: Sequence[bool]) -> int | None:
    """Return the first row that belongs before the one above it; None: there is none.

    Args:
        columns: that the rows are sorted by, the first one first, each as `sortable` returns it.
        descending: of each column whether downwards.
    """
    count = len(columns[0])
    if count < 2:
        return None
    signs = np.zeros(count - 1, np.int8)
    for column, down in zip(columns, descending, strict=True):
        found = _signs(column)
        signs = np.where(signs == 0, -found if down else found, signs)
    wrong = np.flatnonzero(signs > 0)
    return int(wrong[0]) + 1 if len(wrong) else None


def _signs(array: pa.Array) -> NDArray[np.int8]:
    """Return of each row but the last: -1, it is less than the next one; 1, it is greater; or 0."""
    before, after = array.slice(0, len(array) - 1), array.slice(1)
    signs = _flags(pc.greater(before, after)).astype(np.int8) - _flags(pc.less(before, after))
    if pa.types.is_floating(array.type):
        signs = _greatest(signs, _flags(pc.is_nan(array)))
    if array.null_count:
        gone = _flags(array.is_null())
        signs = np.where(gone[:-1] | gone[1:], gone[1:].astype(np.int8) - gone[:-1], signs)
    return signs


def _greatest(signs: NDArray[np.int8], these: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return the signs with some rows above all others."""
    apart = these[:-1].astype(np.int8) - these[1:]
    return np.where(these[:-1] | these[1:], apart, signs)


def _flags(array: Any) -> NDArray[np.bool_]:
    found: NDArray[np.bool_] = array.fill_null(False).to_numpy(zero_copy_only=False)
    return found
