"""Stored types: what Spark's readers make of a column whose type in a file is not the one that the table has.

A table may name another type than a file has: after ALTER TABLE, or because others wrote the file. Spark's
readers then convert values, refuse them, or read other values. The statistics of the file are about the
stored values. They hold for a query only if the reader keeps each value.

**Parquet.** The rules are in Spark's `ParquetVectorUpdaterFactory` and `ParquetRowConverter` (4.0 to 4.3).
The answer is `CHANGED` where the two differ. It is also `CHANGED` where a reader ignores the annotation, and
takes the stored number or bytes for the value.

**ORC.** The reader converts nearly every type into every other one, and gives NULL for a value that does not
fit. So the statistics of a file are used only where each value is kept. Each pair of types is read by Spark's
two readers, and compared, in `tests/spark/adoption/test_orc_types.py`.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterable
from enum import Enum

import msgspec

from parquetry.data_files.nested_fields import struct_fields
from parquetry.data_files.records import FileRecord, TableColumn
from parquetry.errors import ValueTypeError
from parquetry.types import ColumnType, Family, parse_type


class Conversion(Enum):
    """Conversion of a stored type to the type of a table's column by Spark's reader.

    | conversion | bounds | NULL counts | example                                   |
    |------------|--------|-------------|-------------------------------------------|
    | SAME       | hold   | hold        | INT32 read as BIGINT                      |
    | CHANGED    | none   | none        | ORC's STRING read as INT: 'abc' is a NULL |
    | REFUSED    | none   | none        | Parquet's DATE read as TIMESTAMP: an error |
    """

    SAME = "same"
    """Each value and each NULL is read as it is stored, possibly in a wider type."""
    CHANGED = "changed"
    """Values may be read as other values, or as NULL. The statistics say nothing."""
    REFUSED = "refused"
    """Spark's reader fails. `sync` calls the file unfit, and no query is answered without reading."""


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


def find_conversion(stored: str, kind: ColumnType) -> Conversion:
    """Return what Spark's reader makes of a stored type for a column of a table.

    Args:
        stored: a record's type: the format, a blank, and the type in the file.
        kind: the primitive type in the table.

    >>> from parquetry.types import parse_type
    >>> find_conversion("parquet INT32", parse_type("bigint")).name
    'SAME'
    """
    file_format, _, name = stored.partition(" ")
    return parquet_conversion(name, kind) if file_format == "parquet" else orc_conversion(name, kind)


def without_table_types(file: FileRecord, columns: Iterable[TableColumn]) -> FileRecord:
    """Return a file's record, which states the type in the file only where it is not the table's.

    ALTER TABLE only widens types. So a type that is not stated is the table's type of the time when the file
    was recorded, or a narrower one than today's.

    Args:
        file: a new file, whose record states all types.
        columns: of the table.
    """
    if not file.columns:
        return file
    every = tuple(columns)
    types = {column.physical: column.column_type for column in (*every, *struct_fields(every))}
    statistics_by_name = {
        name: msgspec.structs.replace(statistics, stored=None)
        if statistics.stored is not None and name in types and _is_own_type(statistics.stored, types[name])
        else statistics
        for name, statistics in file.columns.items()
    }
    return msgspec.structs.replace(file, columns=statistics_by_name)


def _is_own_type(stored: str, kind: ColumnType) -> bool:
    """Return whether a stored type is the one that Spark writes for a column of a table."""
    file_format, _, name = stored.partition(" ")
    if file_format != "parquet":
        if not kind.primitive:
            return name == kind.name or kind.name.startswith(f'{{"type":"{name}"')
        return name == str(kind) or (kind.textual and name == "string")
    if kind.name == "decimal":
        return name.partition(" ")[2] == f"DECIMAL({kind.precision},{kind.scale})"
    return name == kind.facts.parquet
