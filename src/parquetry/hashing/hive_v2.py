"""Hive's hash of version 2, in Hive 3 and later: Murmur3 of a value's bytes, the most significant byte first.

Special rules:

- boolean and tinyint are hashed as in version 1, and so are the values of a map, but not its keys.
- The bits of a float are read as an integer, the integer is converted to a float again, and the bytes of that
  are hashed. A double is hashed likewise.
- A decimal is hashed without trailing zeros after the point, and without the point: 1, 0.1 and 0.01 have one
  hash.
- For binary, Hive also hashes the bytes in its buffer after the value, which cannot be known. This module
  hashes the value only.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parquetry.hashing import arrow_values as read, hive_v1, murmur3
from parquetry.hashing.hash_types import HashType
from parquetry.hashing.murmur3 import Hashes

_MAX_TIME_BYTES = 16  # 4 for seconds, at most 5 for nanoseconds, and at most 6 for the seconds' other bits
_LOW_31 = (1 << 31) - 1


def hash_values(array: pa.Array, type: HashType) -> Hashes:
    """Hash each value of an array; NULL is 0."""
    if type.name in ("boolean", "tinyint", "void"):
        return hive_v1.hash_values(array, type)
    array = type.cast(array)
    hashes = _HASHERS[type.name](array, type)
    nulls = read.missing(array)
    if nulls is not None:
        hashes = np.where(nulls, np.uint32(0), hashes)
    return hashes


def _smallint(array: pa.Array, _type: HashType) -> Hashes:
    values = read.numbers(array, "<i2")
    return murmur3.hash_half_words(values >> 8, values.astype(np.int8))


def _hash_4_bytes(values: NDArray[Any]) -> Hashes:
    return murmur3.hash_words([values.view(np.uint32).byteswap()])


def _hash_8_bytes(values: NDArray[Any]) -> Hashes:
    low_high = values.view(np.uint32).reshape(-1, 2)
    return murmur3.hash_words([low_high[:, 1].byteswap(), low_high[:, 0].byteswap()])


def _float(array: pa.Array, _type: HashType) -> Hashes:
    values = read.numbers(array, "<f4")
    bits = np.where(np.isnan(values), np.int32(0x7FC00000), values.view(np.int32))
    return _hash_4_bytes(bits.astype(np.float32))


def _double(array: pa.Array, _type: HashType) -> Hashes:
    values = read.numbers(array, "<f8")
    bits = np.where(np.isnan(values), np.int64(0x7FF8 << 48), values.view(np.int64))
    return _hash_8_bytes(bits.astype(np.float64))


def _string(array: pa.Array, type: HashType) -> Hashes:
    rows = read.binary_rows(array)
    return murmur3.hash_bytes(read.strip_blanks(rows, type.length) if type.name == "char" else rows)


def _decimal(array: pa.Array, _type: HashType) -> Hashes:
    values = read.strip_zeros(read.decimals(array))
    return murmur3.hash_bytes(shortest(values))


def shortest(values: read.Decimals) -> read.Bytes:
    """Return the fewest bytes for each decimal's integer, in Java's order: most significant byte first."""
    count = len(values.small)
    size = np.where(values.small < 0, ~values.small, values.small)
    lengths = np.ones(count, np.int64)
    for length in range(1, 8):
        lengths += size >= 1 << (8 * length - 1)
    matrix = np.zeros((count, 16), np.uint8)
    shifted = values.small << (64 - 8 * lengths)
    matrix[:, :8] = shifted.astype(">i8").view(np.uint8).reshape(-1, 8)
    for row, value in values.large.items():
        length = (value if value >= 0 else ~value).bit_length() // 8 + 1
        matrix[row, :length] = np.frombuffer(value.to_bytes(length, "big", signed=True), np.uint8)
        lengths[row] = length
    return read.Bytes.from_matrix(matrix, lengths)


def _timestamp(array: pa.Array, _type: HashType) -> Hashes:
    """Hash Hive's bytes of a timestamp: 31 bits of seconds, nanoseconds, the seconds' other bits."""
    seconds, nanos = read.seconds_and_nanos(array)
    far = (seconds < 0) | (seconds > _LOW_31)
    more = far | (nanos != 0)
    first = (seconds & _LOW_31) | np.where(more, 1 << 31, 0)
    matrix = np.zeros((len(seconds), _MAX_TIME_BYTES), np.uint8)
    matrix[:, :4] = first.astype(">u4").view(np.uint8).reshape(-1, 4)
    lengths = np.full(len(seconds), 4, np.int64)
    digits, backwards = nanos.copy(), np.zeros_like(nanos)
    for _ in range(9):
        digits, last = np.divmod(digits, 10)
        backwards = backwards * 10 + last
    _append(matrix, lengths, np.where(far, ~backwards, backwards), more)
    _append(matrix, lengths, seconds >> 31, far)
    return murmur3.hash_bytes(read.Bytes.from_matrix(matrix, lengths))


def _append(
    matrix: NDArray[np.uint8], lengths: NDArray[np.int64], values: NDArray[np.int64], where: NDArray[np.bool_]
) -> None:
    """Append a number to some rows in Hadoop's variable length: one byte, or a length byte and the bytes."""
    rows = np.flatnonzero(where)
    numbers, at = values[rows], lengths[rows]
    short = (numbers >= -112) & (numbers <= 127)
    size = np.where(numbers < 0, ~numbers, numbers)
    count = np.zeros(len(rows), np.int64)
    for length in range(8):
        count += (size >> (8 * length)) > 0
    count[short] = 0
    matrix[rows, at] = np.where(short, numbers, np.where(numbers < 0, -120, -112) - count).astype(np.uint8)
    for index in range(int(count.max(initial=0))):
        these = np.flatnonzero(count > index)
        matrix[rows[these], at[these] + 1 + index] = size[these] >> (8 * (count[these] - 1 - index))
    lengths[rows] += 1 + count


def _struct(array: pa.Array, type: HashType) -> Hashes:
    hashes = np.zeros(len(array), np.uint32)
    for number, part in enumerate(type.parts):
        hashes = hive_v1.combine(hashes, hash_values(array.field(number), part))
    return hashes


def _array(array: pa.Array, type: HashType) -> Hashes:
    offsets, parts = read.elements(array)
    return hive_v1.chain(hash_values(parts, type.parts[0]), offsets[:-1], np.diff(offsets))


def _map(array: pa.Array, type: HashType) -> Hashes:
    offsets, pairs = read.elements(array)
    key, value = type.parts[0].parts
    return hive_v1.sum_parts(
        hash_values(pairs.field(0), key) ^ hive_v1.hash_values(pairs.field(1), value), offsets
    )


_HASHERS: dict[str, Callable[[pa.Array, HashType], Hashes]] = {
    "smallint": _smallint,
    "int": lambda array, _type: _hash_4_bytes(read.numbers(array, "<i4")),
    "date": lambda array, _type: _hash_4_bytes(read.numbers(array, "<i4")),
    "bigint": lambda array, _type: _hash_8_bytes(read.numbers(array, "<i8")),
    "float": _float,
    "double": _double,
    **dict.fromkeys(("string", "varchar", "char", "binary"), _string),
    "decimal": _decimal,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), _timestamp),
    "struct": _struct,
    "array": _array,
    "map": _map,
}
