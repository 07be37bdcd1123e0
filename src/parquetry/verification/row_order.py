"""Check the sort order of Hive and Spark: NULL first if ascending, last if descending; NaN the greatest.

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


def sortable(array: pa.Array, type: ColumnType) -> pa.Array:
    """Return values of a column in a form whose comparison gives the column's order.

    Raises:
        pyarrow.ArrowInvalid: a value is none of the type.
    """
    array = HashType.from_column_type(type).cast(array)
    return array.cast(pa.int8()) if pa.types.is_boolean(array.type) else array


def first_out_of_order(columns: Sequence[pa.Array], descending: Sequence[bool]) -> int | None:
    """Return the first row that belongs before the row above it, or None if all rows are in order.

    Args:
        columns: that the rows are sorted by, the first one first, each as `sortable` returns it.
        descending: for each column whether its order is descending.
    """
    count = len(columns[0])
    if count < 2:
        return None
    signs = np.zeros(count - 1, np.int8)
    for column, down in zip(columns, descending, strict=True):
        column_signs = _signs(column)
        signs = np.where(signs == 0, -column_signs if down else column_signs, signs)
    wrong = np.flatnonzero(signs > 0)
    return int(wrong[0]) + 1 if len(wrong) else None


def _signs(array: pa.Array) -> NDArray[np.int8]:
    """Return for each row but the last: -1 if it is less than the next one, 1 if it is greater, else 0."""
    before, after = array.slice(0, len(array) - 1), array.slice(1)
    signs = _flags(pc.greater(before, after)).astype(np.int8) - _flags(pc.less(before, after))
    if pa.types.is_floating(array.type):
        signs = _greatest(signs, _flags(pc.is_nan(array)))
    if array.null_count:
        nulls = _flags(array.is_null())
        signs = np.where(nulls[:-1] | nulls[1:], nulls[1:].astype(np.int8) - nulls[:-1], signs)
    return signs


def _greatest(signs: NDArray[np.int8], these: NDArray[np.bool_]) -> NDArray[np.int8]:
    """Return the signs after some rows are made greater than all others."""
    apart = these[:-1].astype(np.int8) - these[1:]
    return np.where(these[:-1] | these[1:], apart, signs)


def _flags(array: Any) -> NDArray[np.bool_]:
    flags: NDArray[np.bool_] = array.fill_null(False).to_numpy(zero_copy_only=False)
    return flags
