"""Arrays of numbers, flags and other values in few bytes that decode in one step.

Whole numbers are packed by a frame of reference. The base is the least of them. Each number is stored as its
difference from the base, in 0, 1, 2, 4 or 8 bytes.

    [1000, 1004, None, 1300]  ->  kind "i", base 1000, width 2, data 0000 0400 0000 2c01, known 1101

An array of equal values takes no bytes for data. An array without a known value is None instead of a
`Packed`. Damaged bytes raise one of the errors of `DAMAGE`, which `columns` turns into a
MetastoreDamagedError.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import msgspec
import numpy as np

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
