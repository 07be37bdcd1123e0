"""Hive's hash of version 1: Java's hash codes, as in Hive 1 and 2, and in Hive 3 for tables of version 1.

Texts, arrays and structs are polynomials in 31. All rows of an array are hashed at once. Each number is
weighted by 31 to the power of minus its position, and a cumulative sum is computed. A row's hash is the
difference of two sums, times a power of 31. This works since 31 has an inverse modulo 2^32.

Special rules:

- varchar, char and binary begin with 1 and not with 0, as in Hadoop's Text.
- A char is hashed without trailing blanks, a decimal without trailing zeros after the point.
- A timestamp before 1582-10-15 is converted to the Julian calendar, as in java.sql.Timestamp. Hive uses the
  zone of its JVM; this module assumes UTC.
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from parquetry.hashing import arrow_values as read
from parquetry.hashing.hash_types import HashType
from parquetry.hashing.murmur3 import Hashes

_31 = np.uint32(31)
_INVERSE = np.uint32(pow(31, -1, 1 << 32))
_SECONDS_PER_DAY = 86_400
_FIRST_GREGORIAN = -141_427  # 1582-10-15 in days since 1970-01-01
_ERA_BEGIN, _ERA, _CENTURY = 719_468, 146_097, 36_524
_MASK = 0xFFFFFFFF


def hash_values(array: pa.Array, type: HashType) -> Hashes:
    """Hash each value of an array; NULL is 0."""
    array = type.cast(array)
    hashes: Hashes = _HASHERS[type.name](array, type)
    nulls = read.missing(array)
    if nulls is not None:
        hashes = np.where(nulls, np.uint32(0), hashes)
    return hashes


def combine(hashes: Hashes, following: Hashes) -> Hashes:
    """Combine the rows' hashes so far with the hashes of the next column."""
    return hashes * _31 + following


def chain(hashes: Hashes, starts: NDArray[np.int64], lengths: NDArray[np.int64], first: int = 0) -> Hashes:
    """Combine the hashes of each row's parts.

    Args:
        hashes: the hashes of all parts.
        starts: the position of each row's first part.
        lengths: the number of each row's parts.
        first: the hash of a row without parts.

    >>> chain(np.array([1, 2, 3], np.uint32), np.array([0, 2]), np.array([2, 1])).tolist()  # 31 * 1 + 2 and 3
    [33, 3]
    """
    weighted = np.zeros(len(hashes) + 1, np.uint32)
    np.cumsum(hashes * _powers(_INVERSE, len(hashes)), out=weighted[1:], dtype=np.uint32)
    longest = max(int((starts + lengths).max(initial=0)), 1)
    powers = _powers(_31, longest + 1)
    ends = starts + lengths
    totals: Hashes = (weighted[ends] - weighted[starts]) * np.where(ends > 0, powers[ends - 1], 0).astype(
        np.uint32
    )
    if first:
        totals += powers[lengths] * np.uint32(first)
    return totals


def _powers(base: np.uint32, count: int) -> Hashes:
    """Return base to the power of 0, 1, … in 32 bits."""
    return _power_table(int(base), count.bit_length())[:count]


@functools.lru_cache(maxsize=64)
def _power_table(base: int, bits: int) -> Hashes:
    factors = np.full(1 << bits, base, np.uint32)
    factors[0] = 1
    return np.multiply.accumulate(factors, dtype=np.uint32)


def _boolean(array: pa.Array, _type: HashType) -> Hashes:
    return read.booleans(array).astype(np.uint32)


def _number(dtype: str) -> Callable[[pa.Array, HashType], Hashes]:
    return lambda array, _type: read.numbers(array, dtype).astype(np.uint32)


def _fold(values: NDArray[np.int64]) -> Hashes:
    folded: Hashes = (values ^ (values >> 32)).astype(np.uint32)
    return folded


def _float(array: pa.Array, _type: HashType) -> Hashes:
    values = read.numbers(array, "<f4")
    return np.where(np.isnan(values), np.uint32(0x7FC00000), values.view(np.uint32))


def _double(array: pa.Array, _type: HashType) -> Hashes:
    values = read.numbers(array, "<f8")
    return _fold(np.where(np.isnan(values), np.int64(0x7FF8 << 48), values.view(np.int64)))


def _string(array: pa.Array, type: HashType) -> Hashes:
    rows = read.binary_rows(array)
    if type.name == "char":
        rows = read.strip_blanks(rows, type.length)
    if not len(rows.starts):
        return np.empty(0, np.uint32)
    begin, end = int(rows.starts.min()), int((rows.starts + rows.lengths).max())
    signed = rows.data[begin:end].view(np.int8).astype(np.int32).view(np.uint32)
    return chain(signed, rows.starts - begin, rows.lengths, first=0 if type.name == "string" else 1)


def _decimal(array: pa.Array, _type: HashType) -> Hashes:
    values = read.strip_zeros(read.decimals(array))
    size = np.abs(values.small).view(np.uint64)  # also right for the least number, which abs() keeps
    words = (size >> np.uint64(32)).astype(np.uint32) * _31 + size.astype(np.uint32)
    hashes = np.where(values.small < 0, np.uint32(0) - words, words) * _31 + values.scales.astype(np.uint32)
    for row, value in values.large.items():
        magnitude, code = abs(value), 0
        for word in range(3, -1, -1):
            code = 31 * code + ((magnitude >> (32 * word)) & _MASK)
        hashes[row] = (31 * (-code if value < 0 else code) + int(values.scales[row])) & _MASK
    return hashes


def _timestamp(array: pa.Array, _type: HashType) -> Hashes:
    seconds, nanos = read.seconds_and_nanos(array)
    days = seconds // _SECONDS_PER_DAY
    if int(days.min(initial=0)) < _FIRST_GREGORIAN:
        eras, day = np.divmod(days + _ERA_BEGIN, _ERA)
        julian = 3 * eras + np.minimum(day // _CENTURY, 3) - 2  # days between the calendars
        seconds = np.where(days < _FIRST_GREGORIAN, seconds + julian * _SECONDS_PER_DAY, seconds)
    return _fold((seconds << 30) | nanos)


def _struct(array: pa.Array, type: HashType) -> Hashes:
    hashes = np.zeros(len(array), np.uint32)
    for number, part in enumerate(type.parts):
        hashes = combine(hashes, hash_values(array.field(number), part))
    return hashes


def _array(array: pa.Array, type: HashType) -> Hashes:
    offsets, parts = read.elements(array)
    return chain(hash_values(parts, type.parts[0]), offsets[:-1], np.diff(offsets))


def _map(array: pa.Array, type: HashType) -> Hashes:
    offsets, pairs = read.elements(array)
    key, value = type.parts[0].parts
    return sum_parts(hash_values(pairs.field(0), key) ^ hash_values(pairs.field(1), value), offsets)


def sum_parts(hashes: Hashes, offsets: NDArray[np.int64]) -> Hashes:
    """Add up the hashes of each row's parts; `offsets` are the positions of the rows' first parts."""
    sums = np.zeros(len(hashes) + 1, np.uint32)
    np.cumsum(hashes, out=sums[1:], dtype=np.uint32)
    return sums[offsets[1:]] - sums[offsets[:-1]]


_HASHERS: dict[str, Callable[[pa.Array, HashType], Hashes]] = {
    "boolean": _boolean,
    "tinyint": _number("<i1"),
    "smallint": _number("<i2"),
    "int": _number("<i4"),
    "date": _number("<i4"),
    "bigint": lambda array, _type: _fold(read.numbers(array, "<i8")),
    "float": _float,
    "double": _double,
    **dict.fromkeys(("string", "varchar", "char", "binary"), _string),
    "decimal": _decimal,
    **dict.fromkeys(("timestamp", "timestamp_ntz"), _timestamp),
    "struct": _struct,
    "array": _array,
    "map": _map,
    "void": lambda array, _type: np.zeros(len(array), np.uint32),
}
