"""Number rows so that equal rows, and no others, have the same number.

The bits of values are compared, so -0.0 and 0.0 differ: a reader sees another value. All NaN are equal, and
so are all NULL. Maps are equal if they have the same entries in the same order.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


def number_rows(columns: Sequence[pa.Array], count: int) -> Numbers:
    """Return a number for each row, from 0 on.

    Args:
        columns: of the same length.
        count: of the rows.

    >>> number_rows([pa.array([1.5, 1.5, None]), pa.array([[1], [1], [1]])], 3).tolist()
    [1, 1, 0]
    """
    numbers = np.zeros(count, np.int64)
    for column in columns:
        numbers = _combined(numbers, _numbered(column))
    return numbers


def _combined(numbers: Numbers, more: Numbers) -> Numbers:
    """Return numbers of pairs."""
    if not len(numbers):
        return numbers
    pairs = numbers * (more.max() + 1) + more
    return np.unique(pairs, return_inverse=True)[1].astype(np.int64)


def _numbered(column: pa.Array) -> Numbers:
    """Return a number for each value, 0 for NULL; equal values have the same."""
    kind = column.type
    if pa.types.is_struct(kind):
        numbers = number_rows(column.flatten(), len(column))  # a field of a NULL struct is NULL
    elif pa.types.is_map(kind):
        entries = [column.keys, column.items]
        numbers = _of_lists(column, number_rows(entries, len(column.keys)))
    elif pa.types.is_list(kind) or pa.types.is_large_list(kind):
        numbers = _of_lists(column, _numbered(column.values))
    else:
        return _of_values(column)
    return np.where(_is_null(column), 0, numbers + 1)


def _of_values(column: pa.Array) -> Numbers:
    if pa.types.is_null(column.type):
        return np.zeros(len(column), np.int64)
    if pa.types.is_floating(column.type):
        column = _bits(column)
    encoded = column if pa.types.is_dictionary(column.type) else pc.dictionary_encode(column)
    indices = pc.fill_null(encoded.indices.cast(pa.int64()), -1)
    return np.asarray(indices.to_numpy(zero_copy_only=False), np.int64) + 1


def _bits(column: pa.Array) -> pa.Array:
    """Return floats as integers with their bits, with one NaN."""
    width = column.type.bit_width
    values = np.asarray(pc.fill_null(column, 0).to_numpy(zero_copy_only=False)).astype(f"f{width // 8}")
    values = np.where(np.isnan(values), np.float64("nan").astype(values.dtype), values)
    return pa.array(values.view(f"i{width // 8}"), mask=_is_null(column))


def _of_lists(column: pa.Array, elements: Numbers) -> Numbers:
    """Return a number for each list of numbered elements: lists are texts of eight bytes an element."""
    null = _is_null(column)
    offsets = np.asarray(column.offsets.to_numpy(zero_copy_only=False), np.int64)
    starts, lengths = offsets[:-1], np.where(null, 0, np.diff(offsets))
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    positions = np.arange(total) + np.repeat(starts - (ends - lengths), lengths)
    texts = pa.LargeBinaryArray.from_buffers(
        pa.large_binary(),
        len(column),
        [
            None,
            pa.py_buffer(np.concatenate([[0], ends * 8]).astype(np.int64)),
            pa.py_buffer(elements[positions]),
        ],
    )
    return _of_values(texts)


def _is_null(column: pa.Array) -> NDArray[np.bool_]:
    return np.asarray(column.is_null().to_numpy(zero_copy_only=False), np.bool_)
