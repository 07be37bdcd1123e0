"""Decoding the packed arrays of several chunks together: a few calls of NumPy for all of them.

| chunks   | packed                           | values          |
|----------|----------------------------------|-----------------|
| 0        | base 1000, width 1, data 00 04   | 1000 1004       |
| 1        | base 7, width 1, data 00 01 02   | 7 8 9           |
| together | 00 04 00 01 02 + 1000 1000 7 7 7 | 1000 1004 7 8 9 |

Arrays of the same kind are decoded together. Others are decoded chunk by chunk, and then joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import UNKNOWN, Bound, Flags, Indices, Numbers
from parquetry.metastore.manifest.encoding import (
    FLOATS,
    WIDTHS,
    Bitmap,
    Packed,
    unpack_bound,
    unpack_flags,
    unpack_numbers,
)

_NO_NUMBERS = Packed("i", b"", 0, 0, False)
"""Stands for the bounds of a chunk that knows none, among chunks whose bounds are whole numbers."""


def flags_together(
    bitmaps: Sequence[Bitmap], counts: Sequence[int], positions: Indices | None = None
) -> Flags:
    """Return the flags of several bitmaps, one bitmap after the other.

    Args:
        bitmaps: the bitmaps, at least one.
        counts: number of flags of each.
        positions: positions of the wanted flags among all, or None for all; the same in the functions below.
    """
    first = bitmaps[0]
    if isinstance(first, bool) and all(each is first for each in bitmaps):
        return np.full(sum(counts) if positions is None else len(positions), first, np.bool_)
    flags = np.concatenate([unpack_flags(*pair) for pair in zip(bitmaps, counts, strict=True)])
    return flags if positions is None else flags[positions]


def numbers_together(
    packed: Sequence[Packed | None], counts: Sequence[int], positions: Indices | None = None
) -> Numbers:
    """Return whole numbers, with UNKNOWN for a number that is not known."""
    whole = [each for each in packed if each is not None and each.kind == "i"]
    if len(whole) < len(packed):
        pairs = zip(packed, counts, strict=True)
        values = np.concatenate([unpack_numbers(*pair) for pair in pairs])
        return values if positions is None else values[positions]
    values = _integers(whole, counts, positions)
    flags = _known_flags(whole, counts, positions)
    if flags is not None:
        values[~flags] = UNKNOWN
    return values


def bounds_together(
    packed: Sequence[Packed | None], counts: Sequence[int], positions: Indices | None = None
) -> Bound:
    """Return the minima or maxima of files."""
    kinds = {None if each is None else each.kind for each in packed}
    if "i" in kinds and kinds <= {"i", None}:
        whole = [each or _NO_NUMBERS for each in packed]
        return Bound(_integers(whole, counts, positions), _known_flags(whole, counts, positions))
    if kinds == {"f"}:
        floats = [each for each in packed if each is not None]
        values = _join_numbers([each.data for each in floats], FLOATS, counts)
        return Bound(
            values if positions is None else values[positions], _known_flags(floats, counts, positions)
        )
    parts = [unpack_bound(*pair) for pair in zip(packed, counts, strict=True)]
    texts = kinds == {"s"}  # joined without a look at any of them
    bound = Bound([text for part in parts for text in part.values]) if texts else Bound.joined(parts)
    return bound if positions is None else bound.take(positions)


def _known_flags(packed: Sequence[Packed], counts: Sequence[int], positions: Indices | None) -> Flags | None:
    if all(each.known is True for each in packed):
        return None
    return flags_together([each.known for each in packed], counts, positions)


def _integers(packed: Sequence[Packed], counts: Sequence[int], positions: Indices | None) -> Numbers:
    bases: Numbers = np.repeat(np.array([each.base for each in packed], np.int64), counts)
    if positions is not None:
        bases = bases[positions]
    widths = {each.width for each in packed}
    if widths == {0}:
        return bases
    if len(widths) == 1:
        above = _join_numbers([each.data for each in packed], WIDTHS[packed[0].width], counts)
        return bases + (above if positions is None else above[positions]).astype(np.int64)
    above = np.zeros(sum(counts), np.int64)
    width_of = np.repeat(np.array([each.width for each in packed]), counts)
    for width in widths - {0}:
        some = [pair for pair in zip(packed, counts, strict=True) if pair[0].width == width]
        data = [each.data for each, _ in some]
        above[width_of == width] = _join_numbers(data, WIDTHS[width], [count for _, count in some])
    values: Numbers = bases + (above if positions is None else above[positions])
    return values


def _join_numbers(data: Sequence[Bitmap], dtype: np.dtype[Any] | None, counts: Sequence[int]) -> NDArray[Any]:
    """Return the numbers in the bytes of several arrays, whose lengths must fit their counts."""
    size = 0 if dtype is None else dtype.itemsize
    parts = [each for each in data if not isinstance(each, bool)]
    if [len(each) for each in parts] != [size * count for count in counts]:
        raise ValueError(f"{sum(counts)} numbers are not in the bytes that hold them")
    return np.frombuffer(b"".join(parts), dtype)
