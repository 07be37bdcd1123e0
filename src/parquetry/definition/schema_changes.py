"""Change a table's columns: pure functions from Spark's `TableChange`s to new columns.

A renamed column keeps its name in the files (its physical name), so that old files stay readable and no file
is rewritten. The same holds for fields of structs. The physical name of a dropped column stays reserved
(`drop_columns`).
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import msgspec

from parquetry.data_files import (
    CURRENT_DEFAULT,
    PHYSICAL_NAME,
    Conversion,
    TableColumn,
    find_conversion,
    physical_name,
)
from parquetry.definition import changes
from parquetry.errors import ColumnExistsError, ColumnNotFoundError, UnsupportedError
from parquetry.layout import (
    Field,
    check_fields,
    columns_from_fields,
    fields_from_columns,
    remove_collation,
    struct_type,
)
from parquetry.metastore import TableMetadata
from parquetry.types import type_from_json, type_text

_STEPS = {"element": "elementType", "key": "keyType", "value": "valueType"}
"""The names of the parts of arrays and maps in Spark's paths, and the keys of these parts in its JSON."""


def change_columns(metadata: TableMetadata, change: changes.ColumnChange) -> tuple[TableColumn, ...]:
    """Return a table's columns after one change.

    Partition columns at the end stay there, where Hive's positional INSERT expects them, unless the change
    moves one of them. A column that is added without FIRST or AFTER comes before them. No column comes
    between or after them.

    Raises:
        ColumnNotFoundError: there is no such column.
        ColumnExistsError: the new name is taken.
        UnsupportedError: the change would move a column behind partition columns at the end, or files could
            not be read after it.
    """
    fields = fields_from_columns(metadata.columns)
    path = change.column
    last = _last_partition_columns(fields, metadata.partition_by)
    if isinstance(change, changes.AddColumn) and len(path) == 1 and change.position is None:
        change = msgspec.structs.replace(change, position=fields[-len(last) - 1]["name"])
    _apply(fields, change, metadata)
    placed = (
        isinstance(change, changes.AddColumn | changes.UpdateColumnPosition)
        and len(path) == 1
        and not _among(path, metadata.partition_by)
    )
    if placed and not set(last) <= set(_last_partition_columns(fields, metadata.partition_by)):
        raise UnsupportedError(
            f"Column {path[0]} cannot be placed there: partition columns at the end of a table ({', '.join(last)}) stay "
            "there, as an INSERT without column names counts on it. Say FIRST or AFTER another column."
        )
    check_fields(fields, metadata.format)
    return columns_from_fields(fields)


def _apply(fields: list[Field], change: changes.ColumnChange, table: TableMetadata) -> None:
    match change:
        case changes.AddColumn():
            _add(fields, change, table)
        case changes.DropColumn():
            _drop(fields, change, table)
        case changes.RenameColumn():
            _rename(fields, change)
        case changes.UpdateColumnType():
            _update_type(fields, change, table)
        case changes.UpdateColumnNullability():
            _update_nullability(fields, change)
        case changes.UpdateColumnComment():
            _update_comment(fields, change)
        case changes.UpdateColumnDefault():
            _update_default(fields, change)
        case changes.UpdateColumnPosition(column=path):
            siblings = _siblings(fields, path)
            _insert(siblings, siblings.pop(_index(siblings, path)), change.position, path)


def _among(path: Sequence[str], partition_by: Sequence[str]) -> bool:
    """Return whether a column is one of the partition columns."""
    return path[0].lower() in {name.lower() for name in partition_by}


def _last_partition_columns(fields: Sequence[Field], partition_by: Sequence[str]) -> list[str]:
    """Return the names of the partition columns at the end, in their order."""
    names = {name.lower() for name in partition_by}
    last = list(itertools.takewhile(lambda field: field["name"].lower() in names, reversed(fields)))
    return [field["name"] for field in reversed(last)]


def physical_path(metadata: TableMetadata, path: Sequence[str]) -> tuple[str, ...]:
    """Return the path of an existing or a new column or field, in the names of the files."""
    fields = fields_from_columns(metadata.columns)
    names = []
    for depth, part in enumerate(path, 1):
        siblings = _siblings_if_any(fields, list(path[:depth]))
        field = next((each for each in siblings if each["name"].lower() == part.lower()), None)
        names.append(part.lower() if field is None else physical_name(field))
    return tuple(names)


def _siblings_if_any(fields: list[Field], path: list[str]) -> list[Field]:
    """Return the fields next to a part of a path, or an empty list for a step into an array or a map."""
    try:
        return _siblings(fields, path)
    except ColumnNotFoundError:
        return []


def _siblings(fields: list[Field], path: list[str]) -> list[Field]:
    """Return the fields that include the last part of `path`.

    Steps into arrays and maps have Spark's names: `element`, `key` and `value`.
    """
    at: Any = struct_type(fields)
    for depth, part in enumerate(path[:-1], 1):
        step = _STEPS.get(part.lower(), "")
        if isinstance(at, dict) and step in at:
            at = at[step]
        else:
            inside = _fields_in(at, path)
            at = inside[_index(inside, path[:depth])]["type"]
    return _fields_in(at, path)


def _fields_in(type_: Any, path: list[str]) -> list[Field]:
    if isinstance(type_, dict) and type_["type"] == "struct":
        fields: list[Field] = type_["fields"]
        return fields
    raise ColumnNotFoundError(f"{'.'.join(path)} names a field of something that is not a struct.")


def _index(fields: list[Field], path: list[str]) -> int:
    for i, field in enumerate(fields):
        if field["name"].lower() == path[-1].lower():
            return i
    known = ", ".join(f["name"] for f in fields)
    raise ColumnNotFoundError(f"Column {'.'.join(path)} is not there; known are {known}.")


def _free(fields: list[Field], name: str, path: list[str]) -> None:
    if any(f["name"].lower() == name.lower() for f in fields):
        raise ColumnExistsError(
            f"Column {'.'.join([*path[:-1], name])} is already there: choose another name."
        )


def _add(fields: list[Field], change: changes.AddColumn, table: TableMetadata) -> None:
    path = change.column
    siblings = _siblings(fields, path)
    _free(siblings, path[-1], path)
    if not change.nullable:
        raise UnsupportedError(
            f"Column {'.'.join(path)} cannot be NOT NULL: the rows that are there have no value for it."
        )
    metadata = dict(change.metadata)
    if CURRENT_DEFAULT in metadata:
        _require_column(path)
    if change.comment:
        metadata["comment"] = change.comment
    taken = {physical_name(field).lower() for field in siblings}
    above = physical_path(table, path[:-1])
    taken.update(dropped[-1].lower() for dropped in table.dropped if dropped[:-1] == above)
    if path[-1].lower() in taken:  # by a column that was renamed or dropped: files still have its values
        metadata[PHYSICAL_NAME] = next(
            n for i in range(1, 10**6) if (n := f"{path[-1]}_{i}").lower() not in taken
        )
    field = {
        "name": path[-1],
        "type": remove_collation(change.type),
        "nullable": True,
        "metadata": metadata,
    }
    _insert(siblings, field, change.position, path)


def _insert(siblings: list[Field], field: Field, position: str | None, path: list[str]) -> None:
    if position is None:
        siblings.append(field)
    elif position == "":
        siblings.insert(0, field)
    else:
        siblings.insert(_index(siblings, [*path[:-1], position]) + 1, field)


def _drop(fields: list[Field], change: changes.DropColumn, table: TableMetadata) -> None:
    path = change.column
    try:
        siblings = _siblings(fields, path)
        index = _index(siblings, path)
    except ColumnNotFoundError:
        if change.if_exists:
            return
        raise
    left = [field for field in siblings if field is not siblings[index]]
    if len(path) == 1 and all(_among([field["name"]], table.partition_by) for field in left):
        raise UnsupportedError(
            f"Column {path[0]} is the last that is in the files, and a table has one: add another before, or drop the table."
        )
    if not left:
        raise UnsupportedError(
            f"Field {'.'.join(path)} is the last of its struct, which would be empty: drop {'.'.join(path[:-1])}."
        )
    del siblings[index]


def _rename(fields: list[Field], change: changes.RenameColumn) -> None:
    path = change.column
    siblings = _siblings(fields, path)
    field = siblings[_index(siblings, path)]
    if change.to.lower() != field["name"].lower():
        _free(siblings, change.to, path)
    field["metadata"].setdefault(PHYSICAL_NAME, field["name"])
    field["name"] = change.to


def _update_type(fields: list[Field], change: changes.UpdateColumnType, table: TableMetadata) -> None:
    path, file_format = change.column, table.format
    if _among(path, table.partition_by):
        raise UnsupportedError(
            f"{path[0]} is a partition column: its type is part of the partitions' keys and cannot change."
        )
    holder, key = _type_holder(fields, path)
    new = remove_collation(change.type)
    if not _widens(holder[key], new, file_format):
        raise UnsupportedError(
            f"Column {'.'.join(path)} is {type_text(holder[key])} and cannot become {type_text(new)}: {file_format} files "
            "can be read again only as a wider number of the same kind; add a column and copy the values."
        )
    holder[key] = new
    if key == "type":
        holder["metadata"].update(change.metadata)
    elif change.metadata:
        raise UnsupportedError(
            f"{'.'.join(path)} cannot have a collation: values are found by their bytes; leave COLLATE out."
        )


def _type_holder(fields: list[Field], path: list[str]) -> tuple[dict[str, Any], str]:
    """Return the field, array or map that a path leads to, and the key of the type in it."""
    key = _STEPS.get(path[-1].lower(), "")
    if key and len(path) > 1:
        holder, within = _type_holder(fields, path[:-1])
        inside = holder[within]
        if isinstance(inside, dict) and key in inside:
            return inside, key
    siblings = _siblings(fields, path)
    return siblings[_index(siblings, path)], "type"


def holds_type(old: Any, new: Any, file_format: str) -> bool:
    """Return whether files written with a type can be read as another, part by part of a nested type.

    A field of a struct that the old type lacks is NULL, and a field that the new type lacks is not read.

    Args:
        old: the type that files were written with, in Spark's JSON.
        new: the type to read.
        file_format: ``parquet`` or ``orc``.
    """
    if isinstance(old, dict) and isinstance(new, dict) and old.get("type") == new.get("type"):
        if old["type"] == "struct":
            there = {physical_name(field): field["type"] for field in old["fields"]}
            return all(
                holds_type(there[physical_name(field)], field["type"], file_format)
                for field in new["fields"]
                if physical_name(field) in there
            )
        parts = ("elementType", "keyType", "valueType")
        return all(holds_type(old.get(part), new.get(part), file_format) for part in parts)
    return _widens(old, new, file_format)


def _widens(old: Any, new: Any, file_format: str) -> bool:
    """Return whether files written with a type can be read as another (Spark's SPARK-40876, and ORC's own
    rules).
    """
    if old == new:
        return True
    if not isinstance(old, str) or not isinstance(new, str):
        return False
    was, to = type_from_json(old), type_from_json(new)
    if to.widens(was):
        return True
    if was.name == to.name == "decimal":
        same_scale = was.scale == to.scale and to.precision > was.precision
        return same_scale or (
            file_format == "parquet" and to.precision - was.precision >= to.scale - was.scale >= 0
        )
    if was.name == to.name == "varchar" or (was.name == "varchar" and to.name == "string"):
        return to.name == "string" or to.length > was.length
    if was.name == "char":  # its values are written with their padding
        return to.name == "string" or (to.name == "varchar" and to.length >= was.length)
    if file_format != "parquet":
        return False
    if was.integral and to.name in ("double", "decimal"):
        return find_conversion(f"parquet {was.facts.parquet}", to) is Conversion.SAME
    return (old, new) == ("date", "timestamp_ntz")


def _update_nullability(fields: list[Field], change: changes.UpdateColumnNullability) -> None:
    path = change.column
    siblings = _siblings(fields, path)
    field = siblings[_index(siblings, path)]
    if field["nullable"] and not change.nullable:
        raise UnsupportedError(
            f"Column {'.'.join(path)} cannot become NOT NULL: rows that are there may hold NULL."
        )
    field["nullable"] = change.nullable


def _update_comment(fields: list[Field], change: changes.UpdateColumnComment) -> None:
    path = change.column
    siblings = _siblings(fields, path)
    metadata = siblings[_index(siblings, path)]["metadata"]
    if change.comment is None:
        metadata.pop("comment", None)
    else:
        metadata["comment"] = change.comment


def _update_default(fields: list[Field], change: changes.UpdateColumnDefault) -> None:
    """Change the default of new rows. Rows of files without the column keep the older default."""
    _require_column(change.column)
    metadata = fields[_index(fields, change.column)]["metadata"]
    if change.default is None:
        metadata.pop(CURRENT_DEFAULT, None)
    else:
        metadata[CURRENT_DEFAULT] = change.default


def _require_column(path: list[str]) -> None:
    """Refuse a default value of a field: neither statements nor readers would fill it in."""
    if len(path) > 1:
        raise UnsupportedError(
            f"Field {'.'.join(path)} cannot have a DEFAULT, which is for whole columns: leave it out, or give column {path[0]} one."
        )
