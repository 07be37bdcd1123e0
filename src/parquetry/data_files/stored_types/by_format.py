"""Conversions of columns whose type in a file is not the type in the table, for both formats."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from parquetry.data_files.records import FileRecord, TableColumn
from parquetry.data_files.stored_types.conversion import Conversion
from parquetry.data_files.stored_types.orc_types import orc_conversion
from parquetry.data_files.stored_types.parquet_types import parquet_conversion
from parquetry.types import ColumnType


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
    types = {column.physical: column.column_type for column in columns}
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
