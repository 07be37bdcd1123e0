"""Say what Spark's ORC readers make of a stored type for a column of a table.

ORC's reader converts nearly every type into every other one, and gives NULL for a value that does not fit.
So the statistics of a file are used only where each value is kept. Each pair of types is read by Spark's two
readers, and compared, in `tests/spark/adoption/test_orc_types.py`.
"""

from __future__ import annotations

import functools

from parquetry.data_files.stored_types.conversion import Conversion
from parquetry.errors import ValueTypeError
from parquetry.types import ColumnType, Family, parse_type

SAME, CHANGED, REFUSED = Conversion.SAME, Conversion.CHANGED, Conversion.REFUSED

LOCAL_TIMESTAMP = "timestamp with local time zone"
"""ORC's type of an instant. Spark reads it as TIMESTAMP, and never writes it."""

_NUMBERS = (Family.BOOLEAN, Family.INTEGER, Family.FLOAT, Family.DECIMAL)
_REFUSED: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(_NUMBERS, ("binary", "date")),
    Family.BINARY: (*_NUMBERS, "date", "timestamp", "timestamp_ntz"),
    "date": (*_NUMBERS, "binary", "timestamp_ntz"),
    "timestamp": ("binary", "timestamp_ntz"),
    LOCAL_TIMESTAMP: ("binary", "timestamp_ntz"),
    "timestamp_ntz": ("binary", "date", "timestamp"),
}
"""For each type in a file, or its family, the types and families that Spark fails to read it as."""
_NESTED = ("array", "map", "struct", "uniontype")


@functools.lru_cache(maxsize=4096)
def orc_conversion(stored: str, kind: ColumnType) -> Conversion:
    """Return what Spark makes of a file's column for a column of a table.

    Args:
        stored: the type in the file, as ORC writes it. A number that Spark has marked as a time has Spark's
            type.
        kind: the primitive type in the table.

    >>> orc_conversion("int", parse_type("decimal(12,2)")).name
    'SAME'
    >>> orc_conversion("string", parse_type("int")).name
    'CHANGED'
    >>> orc_conversion("bigint", parse_type("date")).name
    'REFUSED'
    """
    if stored.partition("<")[0] in _NESTED:
        return REFUSED
    file = parse_orc_type(stored)
    refused = _REFUSED.get(file.name) or _REFUSED.get(file.family, ())
    if kind.name in refused or kind.family in refused:
        return REFUSED
    return SAME if _keeps_values(file, kind) else CHANGED


def parse_orc_type(text: str) -> ColumnType:
    """Read a type as ORC writes it. A type that Spark lacks, and a nested one, has its text as its name."""
    try:
        return parse_type(text)
    except ValueTypeError:
        return ColumnType(text)


def _keeps_values(file: ColumnType, kind: ColumnType) -> bool:
    """Return whether each value and each NULL of a file is read as it is stored."""
    bits = file.facts.bits
    if kind.integral:
        return file.integral and bits <= kind.facts.bits
    if kind.floating:
        return bits <= kind.facts.bits if file.floating else file.integral and bits <= kind.facts.exact_bits
    if kind.name == "decimal":
        return _is_in_decimal(file, kind)
    if kind.textual:
        return _is_in_text(file, kind)
    if kind.name == "timestamp":
        return file.name in ("timestamp", LOCAL_TIMESTAMP)
    return file.name == kind.name


def _is_in_decimal(file: ColumnType, kind: ColumnType) -> bool:
    room = kind.precision - kind.scale
    if file.name == "decimal":
        return kind.scale >= file.scale and room >= file.precision - file.scale
    return file.integral and room >= file.facts.digits


def _is_in_text(file: ColumnType, kind: ColumnType) -> bool:
    """Return whether a text is read whole. `pad_bounds` cares for the blanks at the end of a CHAR."""
    if not file.textual:
        return False
    return file.name == "string" or kind.name == "string" or file.length <= kind.length
