"""Arrays of numbers, flags and other values in few bytes that decode in one step.

Whole numbers are packed by a frame of reference. The base is the least of them. Each number is stored as its
difference from the base, in 0, 1, 2, 4 or 8 bytes.

    [1000, 1004, None, 1300]  ->  kind "i", base 1000, width 2, data 0000 0400 0000 2c01, known 1101

An array of equal values takes no bytes for data. An array without a known value is None instead of a
`Packed`. Damaged bytes raise one of the errors of `DAMAGE`, which `columns` turns into a
MetastoreDamagedError.

The packed arrays of several chunks are decoded together, by a few calls of NumPy for all of them.

| chunks   | packed                           | values          |
|----------|----------------------------------|-----------------|
| 0        | base 1000, width 1, data 00 04   | 1000 1004       |
| 1        | base 7, width 1, data 00 01 02   | 7 8 9           |
| together | 00 04 00 01 02 + 1000 1000 7 7 7 | 1000 1004 7 8 9 |

Arrays of the same kind are decoded together. Others are decoded chunk by chunk, and then joined.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np
from numpy.typing import NDArray

from parquetry.data_files import UNKNOWN, Bound, Flags, Indices, Numbers

DAMAGE = (ValueError, TypeError, OverflowError, LookupError, msgspec.MsgspecError)

Bitmap = bool | bytes
"""A flag for each of N positions: one bool for all, or one bit for each."""

_HUGE = 1
"""The msgpack extension type of a whole number beyond 64 bits: its decimal text."""
WIDTHS = {0: None, 1: np.dtype("<u1"), 2: np.dtype("<u2"), 4: np.dtype("<u4"), 8: np.dtype("<i8")}
"""The type of the numbers in the bytes of a `Packed`, by its `width`."""
FLOATS = np.dtype("<f8")


class Packed(msgspec.Struct, frozen=True, array_like=True):
    """N values.

    Attributes:
        kind: whole numbers (i), floats (f), flags (b), texts that are all known (s), or other values (o),
            which may include None.
        data: the bytes of numbers and floats, a `Bitmap` of flags, or the msgpack of a list of texts or
            others.
        width: bytes of each whole number.
        base: the number that is added to each whole number.
        known: which values are known.
    """

    kind: Literal["i", "f", "b", "s", "o"]
    data: Bitmap
    width: int = 0
    base: int = 0
    known: Bitmap = True


def pack_flags(flags: Flags) -> Bitmap:
    """Return flags as a bitmap."""
    if flags.all():
        return True
    return np.packbits(flags).tobytes() if flags.any() else False


def unpack_flags(bitmap: Bitmap, count: int, positions: Indices | None = None) -> Flags:
    """Return the flags of a bitmap.

    Args:
        bitmap: the bitmap.
        count: number of its flags.
        positions: positions of the wanted flags, or None for all; the same in the functions below.
    """
    if isinstance(bitmap, bool):
        return np.array(bitmap).repeat(count if positions is None else len(positions))
    if len(bitmap) != (count + 7) // 8:
        raise ValueError(f"a bitmap of {count} flags has {len(bitmap)} bytes")
    flags = np.unpackbits(np.frombuffer(bitmap, np.uint8), count=count).view(np.bool_)
    return flags if positions is None else flags[positions]


def pack_numbers(values: Numbers) -> Packed | None:
    """Pack whole numbers, which may include UNKNOWN. Return None if no number is known."""
    is_known = values != UNKNOWN
    return _pack_integers(values, is_known) if is_known.any() else None


def unpack_numbers(packed: Packed | None, count: int, positions: Indices | None = None) -> Numbers:
    """Return whole numbers, with UNKNOWN for a number that is not known."""
    if packed is None:
        return _same(UNKNOWN, count, positions)
    if packed.kind != "i":
        raise ValueError(f"whole numbers are of kind {packed.kind}")
    values = _integers(packed, count, positions)
    if packed.known is not True:
        values[~unpack_flags(packed.known, count, positions)] = UNKNOWN
    return values


def pack_bound(bound: Bound) -> Packed | None:
    """Pack the minima or maxima of files. Return None if none is known."""
    values, count = bound.values, len(bound.values)
    is_known = np.ones(count, np.bool_) if bound.known is None else bound.known
    if not is_known.any():
        return None
    if isinstance(values, list):
        is_text = all(value.__class__ is str for value in values)
        return Packed("s" if is_text else "o", _encode_list(values))
    if values.dtype == np.int64:
        return _pack_integers(values, is_known)
    bitmap = pack_flags(is_known)
    if values.dtype == np.bool_:
        return Packed("b", pack_flags(values), known=bitmap)
    return Packed("f", values.astype(FLOATS).tobytes(), known=bitmap)


def unpack_bound(packed: Packed | None, count: int, positions: Indices | None = None) -> Bound:
    """Return the minima or maxima of files."""
    if packed is None:
        none = count if positions is None else len(positions)
        return Bound([None] * none, np.zeros(none, np.bool_))
    if packed.kind in ("s", "o"):
        bound = _decode_list(packed, count)
        return bound if positions is None else bound.take(positions)
    is_known = None if packed.known is True else unpack_flags(packed.known, count, positions)
    if packed.kind == "i":
        return Bound(_integers(packed, count, positions), is_known)
    if packed.kind == "b":
        return Bound(unpack_flags(packed.data, count, positions), is_known)
    return Bound(_numbers(packed.data, FLOATS, count, positions), is_known)


def _pack_integers(values: Numbers, is_known: Flags) -> Packed:
    """Pack int64 numbers, at least one known number among them."""
    bitmap = pack_flags(is_known)
    known_values = values[is_known]
    base, last = int(known_values.min()), int(known_values.max())
    width = next(width for width in WIDTHS if width == 8 or last - base < 1 << 8 * width)
    dtype = WIDTHS[width]
    if dtype is None:
        return Packed("i", b"", 0, base, bitmap)
    if width == 8:
        base = 0
    return Packed("i", (np.where(is_known, values, base) - base).astype(dtype).tobytes(), width, base, bitmap)


def _integers(packed: Packed, count: int, positions: Indices | None) -> Numbers:
    dtype = WIDTHS[packed.width]
    if dtype is None:
        return _same(packed.base, count, positions)
    values: Numbers = _numbers(packed.data, dtype, count, positions).astype(np.int64)
    values += packed.base
    return values


def _same(value: int, count: int, positions: Indices | None) -> Numbers:
    return np.array(value, np.int64).repeat(count if positions is None else len(positions))


def _numbers(data: Bitmap, dtype: np.dtype[Any], count: int, positions: Indices | None) -> Any:
    if isinstance(data, bool) or len(data) != count * dtype.itemsize:
        raise ValueError(f"{count} numbers are not in the bytes that hold them")
    values = np.frombuffer(data, dtype)
    return values if positions is None else values[positions]


def _encode_list(values: Sequence[Any]) -> bytes:
    encode = msgspec.msgpack.encode
    try:
        return encode(values)
    except OverflowError:
        return encode([_huge(value) for value in values])


def _huge(value: Any) -> Any:
    if isinstance(value, int) and not -(1 << 63) <= value < 1 << 64:
        return msgspec.msgpack.Ext(_HUGE, str(value).encode())
    return value


def _number(code: int, data: memoryview) -> int:
    if code != _HUGE:
        raise ValueError(f"a value is of the unknown extension type {code}")
    return int(bytes(data))


_text = msgspec.msgpack.Decoder(list[str])
_others = msgspec.msgpack.Decoder(list[Any], ext_hook=_number)


def _decode_list(packed: Packed, count: int) -> Bound:
    if isinstance(packed.data, bool):
        raise ValueError("a list of values is a flag")
    values: list[Any] = (_text if packed.kind == "s" else _others).decode(packed.data)
    if len(values) != count:
        raise ValueError(f"a list of {count} values has {len(values)}")
    if packed.kind == "s":
        return Bound(values)
    is_known = np.array([value is not None for value in values], np.bool_)
    return Bound(values, None if is_known.all() else is_known)


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
    values = _integers_of_many(whole, counts, positions)
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
        return Bound(_integers_of_many(whole, counts, positions), _known_flags(whole, counts, positions))
    if kinds == {"f"}:
        floats = [each for each in packed if each is not None]
        values = _join_numbers([each.data for each in floats], FLOATS, counts)
        return Bound(
            values if positions is None else values[positions], _known_flags(floats, counts, positions)
        )
    parts = [unpack_bound(*pair) for pair in zip(packed, counts, strict=True)]
    texts = kinds == {"s"}  # joined without a look at any of them
    bound = Bound([text for part in parts for text in part.values]) if texts else Bound.concatenate(parts)
    return bound if positions is None else bound.take(positions)


def _known_flags(packed: Sequence[Packed], counts: Sequence[int], positions: Indices | None) -> Flags | None:
    if all(each.known is True for each in packed):
        return None
    return flags_together([each.known for each in packed], counts, positions)


def _integers_of_many(packed: Sequence[Packed], counts: Sequence[int], positions: Indices | None) -> Numbers:
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
