"""Find what a reader of another format would read wrong: of a table's definition, and of single files.

Parquetry's own readers go by the table's record of each file. Readers of Iceberg or Delta go by the files and
by one schema. So a table is refused, with the reason and a remedy, where they would read other rows:

| case | what such a reader reads |
|---|---|
| a file with another table's field ids | other columns |
| a file without field ids, whose columns are not at the positions of their ids | Iceberg's own Java reader: other columns |
| a file without a column that has a DEFAULT | NULL |
| a file with a type that only Spark reads as the table's | an error, or other values |
| a file with early days of another calendar | other days |
| an encrypted file | an error |
| a file with lists or maps in a form of older writers | NULL, or an error |
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

from parquetry.data_files import EXISTS_DEFAULT, FileRecord, IdsInFile, types_by_path
from parquetry.metastore import TableMetadata
from parquetry.types import ColumnType, type_from_json, type_text


def file_refusal(metadata: TableMetadata, file: FileRecord, *, by_ids: bool) -> str | None:
    """Return why a file cannot be given to readers of another format; see `FileCheck`."""
    return FileCheck(metadata, by_ids=by_ids).refusal(file)


class FileCheck:
    """Checks of many files of one version of a table.

    Args:
        metadata: of the version.
        by_ids: whether readers look for columns by field ids; otherwise by names.
    """

    def __init__(self, metadata: TableMetadata, *, by_ids: bool) -> None:
        self._by_ids = by_ids
        self._columns = [
            (
                column,
                column.physical,
                column.physical.lower(),
                column.metadata.get(EXISTS_DEFAULT, "NULL").upper() != "NULL",
            )
            for column in metadata.data_columns
        ]

    def refusal(self, file: FileRecord) -> str | None:
        """Return why a file cannot be given to readers of another format, or None if they read it right."""
        if file.field_ids == IdsInFile.OLD_CALENDAR:
            return (
                "it may have days before 1582 or times before 1900 of another calendar, which only Spark's readers "
                f"convert: {_REWRITE}"
            )
        if file.field_ids == IdsInFile.ENCRYPTED:
            return (
                "it, or columns of it, are encrypted, and only Spark has the keys: read the table with Spark"
            )
        if file.field_ids == IdsInFile.OLD_LISTS:
            return (
                "it has lists or maps in a form of older writers, in which some readers find NULL instead of the "
                f"values: {_REWRITE}"
            )
        if self._by_ids and (reason := _ids_refusal(file)) is not None:
            return reason
        if file.rows is None:
            return "its number of rows is not known: CALL system.sync reads its footer again"
        known = file.columns or {}
        spelled = {name.lower(): name for name in known}
        for column, physical, lower, has_default in self._columns:
            in_file = spelled.get(lower)
            if in_file is None:
                if has_default:
                    return (
                        f"it lacks column {column.name}, whose default value only Spark's readers would fill in: "
                        f"{_REWRITE}"
                    )
                continue
            if in_file != physical:
                return (
                    f"column {column.name} is spelled {in_file} there, and other readers distinguish letter case: "
                    f"{_REWRITE}"
                )
            stored = known[in_file].stored
            if stored is not None and not is_common_form(stored, column.type, column.column_type):
                return (
                    f"column {column.name} is {type_text(column.type)} in the table, and {stored.partition(' ')[2]} in the file, "
                    f"which only Spark reads as that: {_REWRITE}"
                )
        return None


_REWRITE = "CALL system.compact(table, for_other_readers => true) writes it anew"


def _ids_refusal(file: FileRecord) -> str | None:
    match file.field_ids:
        case IdsInFile.OURS | IdsInFile.BY_POSITION | IdsInFile.WITH_PARTITION_COLUMNS:
            return None
        case IdsInFile.FOREIGN:
            return f"it has the field ids of another table, by which other columns would be read: {_REWRITE}"
        case IdsInFile.ABSENT:
            return (
                "it has no field ids, and its columns are not where readers that go by position look for them: "
                f"{_REWRITE}"
            )
    return f"nothing is known of its field ids, as an earlier version recorded it: {_REWRITE}"


def is_common_form(stored: str, kind: Any, column_type: ColumnType) -> bool:
    """Return whether all readers read a type in a file as the type of a table's column.

    Args:
        stored: the type in the file, as records have it.
        kind: Spark's JSON of the column's type.
        column_type: the same type.
    """
    if isinstance(kind, dict):  # what is stored within is not recorded
        return True
    if column_type.name == "decimal":
        precision, _, scale = stored.partition("DECIMAL(")[2].rstrip(")").partition(",")
        return (
            precision.isdigit()
            and scale == str(column_type.scale)
            and int(precision) <= column_type.precision
        )
    file_format, _, form = stored.partition(" ")
    return file_format == "parquet" and form in column_type.facts.parquet_forms


def widened_refusal(
    metadata: TableMetadata, earlier: Iterable[TableMetadata], *, promotes: bool = True
) -> str | None:
    """Return which column had another type in an earlier version that other readers cannot read, or None.

    Args:
        metadata: of the table.
        earlier: the metadata of earlier versions, whose files the table may still have.
        promotes: whether readers read a narrower number as a wider one of the same kind, as Iceberg's do.
    """
    now = types_by_path(metadata.columns)
    # an older library recorded no former types, and then the versions that are left tell them
    former = itertools.chain(metadata.former_types, *(types_by_path(old.columns).items() for old in earlier))
    for path, kind in former:
        if path in now and now[path] != kind and not (promotes and _promotes(kind, now[path])):
            return (
                f"column {'.'.join(path)} was {kind} before it was {now[path]}, and only Spark reads files of before as that: "
                "copy the rows into a new table"
            )
    return None


def _promotes(old: str, new: str) -> bool:
    """Return whether Iceberg has the change of a type: to a wider number of the same kind."""
    was, now = type_from_json(old), type_from_json(new)
    if was.name == "varchar":
        return now.name in ("varchar", "string")
    if was.name == "decimal":
        return now.name == "decimal" and was.scale == now.scale and now.precision >= was.precision
    return now.widens(was)
