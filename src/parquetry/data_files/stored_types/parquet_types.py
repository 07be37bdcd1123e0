"""Conversions by Spark's Parquet readers, from a stored type to a column's type.

The rules are in Spark's `ParquetVectorUpdaterFactory` and `ParquetRowConverter` (4.0 to 4.3). The answer is
`CHANGED` where the two differ. It is also `CHANGED` where a reader ignores the annotation, and takes the
stored number or bytes for the value.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable

from parquetry.data_files.stored_types.conversion import Conversion
from parquetry.types import ColumnType

SAME, CHANGED, REFUSED = Conversion.SAME, Conversion.CHANGED, Conversion.REFUSED

_DECIMAL = re.compile(r"DECIMAL\((\d+),(\d+)\)")
_SIGNED = ("", "INT(8)", "INT(16)", "INT(32)", "INT(64)")
_SMALL_UNSIGNED = ("UINT(8)", "UINT(16)")
_TEXTS = ("", "STRING", "ENUM", "JSON", "BSON")
_INT32_DIGITS, _INT64_DIGITS = 10, 20
"""Digits before the point that Spark wants of a decimal that an INT32, or an INT64, is read as."""


@functools.lru_cache(maxsize=4096)
def parquet_conversion(stored: str, kind: ColumnType) -> Conversion:
    """Return what Spark makes of a file's column for a column of a table.

    Args:
        stored: the type in the file: physical type, a blank, and the annotation if there is one.
        kind: the primitive type in the table.

    >>> from parquetry.types import parse_type
    >>> parquet_conversion("INT32", parse_type("bigint")).name
    'SAME'
    >>> parquet_conversion("INT64 TIMESTAMP(MILLIS)", parse_type("bigint")).name
    'CHANGED'
    >>> parquet_conversion("INT32 DATE", parse_type("timestamp")).name
    'REFUSED'
    """
    physical, _, annotation = stored.partition(" ")
    convert = _BY_PHYSICAL.get(physical)
    return CHANGED if convert is None else convert(annotation, kind)


def _boolean(annotation: str, kind: ColumnType) -> Conversion:
    if kind.name != "boolean":
        return REFUSED
    return CHANGED if annotation else SAME


def _int32(annotation: str, kind: ColumnType) -> Conversion:
    name = kind.name
    if name == "decimal":
        return _as_decimal(annotation, kind, _INT32_DIGITS)
    if name == "date":  # Spark takes any INT32 for days, and may move those before 1582
        return SAME if annotation == "DATE" else CHANGED
    if name == "timestamp_ntz" and annotation == "DATE":
        return SAME
    if kind.integral:
        wide = annotation == "UINT(32)"  # numbers that do not fit have no bounds (`bounds`)
        return SAME if wide or annotation in _SIGNED or annotation in _SMALL_UNSIGNED else CHANGED
    if name == "double":  # UINT(32) is read as if it were signed
        return SAME if annotation in _SIGNED or annotation in _SMALL_UNSIGNED else CHANGED
    return REFUSED


def _int64(annotation: str, kind: ColumnType) -> Conversion:
    name = kind.name
    if name == "decimal":
        if annotation == "UINT(64)":
            return SAME if (kind.precision, kind.scale) == (_INT64_DIGITS, 0) else REFUSED
        return _as_decimal(annotation, kind, _INT64_DIGITS)
    if name == "bigint":  # times and decimals are read as the plain number that is stored
        return SAME if annotation in _SIGNED or annotation == "UINT(64)" else CHANGED
    if kind.temporal and name != "date":
        if annotation in ("TIMESTAMP(MICROS)", "TIMESTAMP(MILLIS)"):
            return SAME
        return CHANGED if annotation == "TIMESTAMP(NANOS)" else REFUSED
    return REFUSED


def _int96(_: str, kind: ColumnType) -> Conversion:
    return SAME if kind.temporal and kind.name != "date" else REFUSED


def _float(annotation: str, kind: ColumnType) -> Conversion:
    if not kind.floating:
        return REFUSED
    return CHANGED if annotation else SAME


def _double(annotation: str, kind: ColumnType) -> Conversion:
    if kind.name != "double":
        return REFUSED
    return CHANGED if annotation else SAME


def _bytes(annotation: str, kind: ColumnType) -> Conversion:
    if kind.name == "decimal":
        return _as_decimal(annotation, kind, None)
    if kind.textual or kind.name == "binary":
        return SAME if annotation in _TEXTS else CHANGED
    return REFUSED


def _fixed_bytes(annotation: str, kind: ColumnType) -> Conversion:
    if kind.name == "decimal":
        return _as_decimal(annotation, kind, None)
    if kind.name == "binary":
        return CHANGED if annotation else SAME
    return REFUSED


def _as_decimal(annotation: str, kind: ColumnType, digits: int | None) -> Conversion:
    """Return what becomes of a decimal, or of an integer that has `digits` digits at most."""
    if (decimal := _DECIMAL.fullmatch(annotation)) is not None:
        more_scale = kind.scale - int(decimal[2])
        return SAME if 0 <= more_scale <= kind.precision - int(decimal[1]) else REFUSED
    if digits is not None and annotation in _SIGNED:
        return SAME if kind.precision - kind.scale >= digits else REFUSED
    return REFUSED


_BY_PHYSICAL: dict[str, Callable[[str, ColumnType], Conversion]] = {
    "BOOLEAN": _boolean,
    "INT32": _int32,
    "INT64": _int64,
    "INT96": _int96,
    "FLOAT": _float,
    "DOUBLE": _double,
    "BYTE_ARRAY": _bytes,
    "FIXED_LEN_BYTE_ARRAY": _fixed_bytes,
}
