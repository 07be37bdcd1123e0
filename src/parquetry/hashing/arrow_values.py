"""Read Arrow arrays for hashing: numbers, bytes, decimals, seconds and parts of nested arrays, as NumPy's.

A NULL has some value without a meaning, so a hash must call `missing`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

_PER_SECOND = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_INT64_LIMIT = 1 << 63


@dataclass(frozen=True, slots=True)
class Bytes:
    """Rows of bytes in one array: the start of each row, and its length."""

    data: NDArray[np.uint8]
    starts: NDArray[np.int64]
    lengths: NDArray[np.int64]

    @staticmethod
    def from_rows(rows: Iterable[bytes]) -> Bytes:
        """Concatenate rows."""
        parts = list(rows)
        lengths = np.array([len(row) for row in parts], np.int64)
        return Bytes(np.frombuffer(b"".join(parts), np.uint8), np.cumsum(lengths) - lengths, lengths)

    @staticmethod
    def from_matrix(matrix: NDArray[np.uint8], lengths: NDArray[np.int64]) -> Bytes:
        """Take the first bytes of each row of a matrix."""
        starts = np.arange(len(matrix), dtype=np.int64) * matrix.shape[1]
        return Bytes(np.ascontiguousarray(matrix).reshape(-1), starts, lengths)


def missing(array: pa.Array) -> NDArray[np.bool_] | None:
    """Return which rows are NULL, or None if no row is."""
    if not array.null_count:
        return None
    flags: NDArray[np.bool_] = array.is_null().to_numpy(zero_copy_only=False)
    return flags


def numbers(array: pa.Array, dtype: str) -> NDArray[Any]:
    """Return the values of an array of fixed width, without a copy."""
    if not len(array):
        return np.empty(0, dtype)
    width = np.dtype(dtype).itemsize
    return np.frombuffer(array.buffers()[1], dtype, len(array), array.offset * width)


def booleans(array: pa.Array) -> NDArray[np.uint8]:
    """Return 1 for true and 0 for false."""
    numbers: NDArray[np.uint8] = array.fill_null(False).cast(pa.uint8()).to_numpy()
    return numbers


def binary_rows(array: pa.Array) -> Bytes:
    """Return the bytes of text or binary."""
    wide = pa.types.is_large_string(array.type) or pa.types.is_large_binary(array.type)
    _, offset_buffer, data = array.buffers()
    dtype: Any = np.int64 if wide else np.int32
    if not len(array):
        return Bytes(np.empty(0, np.uint8), np.empty(0, np.int64), np.empty(0, np.int64))
    offsets = np.frombuffer(offset_buffer, dtype, len(array) + 1, array.offset * np.dtype(dtype).itemsize)
    content = np.empty(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)
    starts = offsets[:-1].astype(np.int64)
    lengths = offsets[1:] - starts
    null = missing(array)
    return Bytes(content, starts, lengths if null is None else np.where(null, 0, lengths))


def strip_blanks(rows: Bytes, width: int) -> Bytes:
    r"""Remove the blanks at the end of each row, as Hive does for a char with `width` characters.

    Hive first pads a char with blanks. If a blank is then at the end, it also removes zero bytes there.

    >>> strip_blanks(Bytes.from_rows([b'a b  ', b'a\0', b'a\0bc', b'abc\0']), 4).lengths.tolist()
    [3, 1, 4, 4]
    """
    lengths = rows.lengths.copy()
    candidates = np.flatnonzero(lengths)
    while len(candidates):
        candidates = candidates[rows.data[rows.starts[candidates] + lengths[candidates] - 1] == ord(" ")]
        lengths[candidates] -= 1
        candidates = candidates[lengths[candidates] > 0]
    rest = np.flatnonzero(lengths)
    for row in rest[rows.data[rows.starts[rest] + lengths[rest] - 1] == 0]:
        text = rows.data[rows.starts[row] :][: lengths[row]].tobytes()
        if lengths[row] < rows.lengths[row] or len(text.decode(errors="replace")) < width:
            lengths[row] = len(text.rstrip(b" \0"))
    return Bytes(rows.data, rows.starts, lengths)


@dataclass(frozen=True, slots=True)
class Decimals:
    """Decimals as integers without a decimal point, each with its scale.

    Attributes:
        small: the integers that fit into 64 bits; other rows have no meaning here.
        scales: the number of digits after the point.
        large: the integers that do not fit into 64 bits, by their rows.
    """

    small: NDArray[np.int64]
    scales: NDArray[np.int64]
    large: dict[int, int]


def decimals(array: pa.Array) -> Decimals:
    """Return decimals with the scale of the array's type."""
    pairs = numbers(array, "(2,)<i8") if len(array) else np.empty((0, 2), np.int64)
    small = np.ascontiguousarray(pairs[:, 0])
    over = (small >> 63) != pairs[:, 1]
    null = missing(array)
    if null is not None:
        over &= ~null
    large = {
        int(i): (int(pairs[i, 1]) << 64) | (int(small[i]) & (2 * _INT64_LIMIT - 1))
        for i in np.flatnonzero(over)
    }
    return Decimals(small, np.full(len(array), array.type.scale, np.int64), large)


def strip_zeros(array: Decimals) -> Decimals:
    """Remove trailing zeros after the point, as Hive does: 1.50 becomes 1.5, 0.00 becomes 0; 100 stays."""
    small, scales, large = array.small.copy(), array.scales.copy(), {}
    candidates = np.flatnonzero(scales > 0)
    while len(candidates):
        tenth, rest = np.divmod(small[candidates], 10)
        candidates, tenth = candidates[rest == 0], tenth[rest == 0]
        small[candidates] = tenth
        scales[candidates] -= 1
        candidates = candidates[scales[candidates] > 0]
    for row, value in array.large.items():
        scale = int(array.scales[row])
        while scale and value % 10 == 0:
            value, scale = value // 10, scale - 1
        large[row], scales[row] = value, scale
    return Decimals(small, scales, large)


def seconds_and_nanos(array: pa.Array) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return timestamps as seconds since the epoch, rounded down, and nanoseconds above that."""
    per_second = _PER_SECOND[array.type.unit]
    seconds, rest = np.divmod(numbers(array, "<i8"), per_second)
    return seconds, rest * (1_000_000_000 // per_second)


def elements(array: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the offsets of each row's elements, with the end of the last row, and all elements.

    An element of a map is a pair: a struct of key and value.
    """
    if not len(array):
        return np.zeros(1, np.int64), array.values[:0]
    offsets = array.offsets.to_numpy().astype(np.int64)
    return offsets - offsets[0], array.values.slice(int(offsets[0]), int(offsets[-1] - offsets[0]))
