"""What Spark's ORC reader makes of a stored type for a column of a table.

ORC converts nearly every type into nearly every other one (`ConvertTreeReaderFactory`). What does not fit
becomes NULL, and many conversions give other values. So statistics hold for the same type and for a few wider
ones alone.
"""

from __future__ import annotations

import functools

from parquetry.data_files.stored_types.conversion import Conversion
from parquetry.types import INTEGER_BITS, ColumnType, parse_type

_NUMBERS = frozenset(("boolean", *INTEGER_BITS, "float", "double", "decimal"))
_TEXTS = frozenset(("string", "varchar", "char"))
_TIMES = frozenset(("timestamp", "timestamp_ntz", "timestamp with local time zone"))
_REFUSED = {
    **dict.fromkeys(_NUMBERS, frozenset(("binary", "date"))),
    **dict.fromkeys(_TIMES, frozenset(("binary",))),
    "date": _NUMBERS | {"binary"},
    "binary": _NUMBERS | _TIMES | {"date"},
}
"""By stored type: the types that ORC's reader refuses to convert it into (`canConvert`)."""


@functools.lru_cache(maxsize=4096)
def orc_conversion(stored: str, kind: ColumnType) -> Conversion:
    """Return what Spark makes of a file's column for a column of a table.

    Args:
        stored: ORC's name of the type in the file, such as ``decimal(9,2)``.
        kind: the primitive type in the table.

    >>> orc_conversion("int", parse_type("bigint")).name
    'SAME'
    >>> orc_conversion("string", parse_type("int")).name
    'CHANGED'
    >>> orc_conversion("bigint", parse_type("date")).name
    'REFUSED'
    """
    there = parse_type(stored)
    if there.name == "array" or stored.startswith(("array<", "map<", "struct<", "uniontype<")):
        return Conversion.REFUSED
    if kind.name in _REFUSED.get(there.name, ()):
        return Conversion.REFUSED
    return Conversion.SAME if _keeps_values(there, kind) else Conversion.CHANGED


def _keeps_values(there: ColumnType, kind: ColumnType) -> bool:
    """Return whether each stored value is read as it is."""
    if there.integral and kind.integral:
        return INTEGER_BITS[there.name] <= INTEGER_BITS[kind.name]
    if there.name == "decimal" and kind.name == "decimal":
        return there.scale == kind.scale and there.precision <= kind.precision
    if there.name in ("string", "varchar") and kind.textual:  # Spark does not shorten what it reads
        return True
    if there.name == "timestamp" and kind.name in ("timestamp", "timestamp_ntz"):
        return True
    return there == kind
