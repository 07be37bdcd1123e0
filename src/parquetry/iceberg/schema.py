"""A table's columns as an Iceberg schema, and its names in files as a name mapping.

Ids are the table's field ids (`data_files.field_ids`), which are the ids in its files as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parquetry.data_files import PHYSICAL_NAME
from parquetry.errors import UnsupportedError
from parquetry.metastore import TableMetadata
from parquetry.types import type_from_json, type_text

Path = tuple[str, ...]
Ids = Mapping[Path, int]


def iceberg_schema(label: str, metadata: TableMetadata, schema_id: int) -> dict[str, Any]:
    """Return the schema of a version of a table, as Iceberg's metadata have it.

    Args:
        label: the table's name for messages.
        metadata: of the version.
        schema_id: number of the schema in the table's metadata.

    Raises:
        UnsupportedError: Iceberg has no type for a column, or its readers would read other values.
    """
    ids = metadata.ids_by_path
    partition_columns = {column.name for column in metadata.partition_columns}
    fields = []
    for column in metadata.columns:
        facts = column.column_type.facts
        if column.name in partition_columns and facts.iceberg is not None and not facts.iceberg_keys:
            raise UnsupportedError(
                f"Table {label} cannot be read by Iceberg's readers: partition column {column.name} is {type_text(column.type)}, "
                "whose values they do not compare exactly. Copy the rows into a table with another partition column."
            )
        if metadata.format == "orc" and column.name not in partition_columns:
            _require_no_times(label, column.name, column.type)
        type_ = _type(label, ids, (column.physical,), column.type, column.name)
        field = {
            "id": ids[(column.physical,)],
            "name": column.name,
            "required": False,
            "type": type_,
        }
        fields.append(field if column.comment is None else {**field, "doc": column.comment})
    return {"type": "struct", "schema-id": schema_id, "fields": fields}


def _require_no_times(label: str, name: str, kind: Any) -> None:
    """Make sure that a column of ORC has no timestamps.

    Raises:
        UnsupportedError: it has. ORC has local times without a zone where Spark means instants, and Spark's
            TIMESTAMP_NTZ is a number there.
    """
    match kind:
        case {"type": "struct", "fields": fields}:
            for field in fields:
                _require_no_times(label, f"{name}.{field['name']}", field["type"])
        case {"type": "array", "elementType": element}:
            _require_no_times(label, name, element)
        case {"type": "map", "keyType": key, "valueType": value}:
            _require_no_times(label, name, key)
            _require_no_times(label, name, value)
        case "timestamp" | "timestamp_ntz":
            raise UnsupportedError(
                f"Table {label} cannot be read by Iceberg's readers: column {name} is or has {type_text(kind)} in ORC, whose "
                "times have no zone there. Copy the rows into a table of Parquet."
            )


def _type(label: str, ids: Ids, path: Path, kind: Any, name: str) -> Any:
    """Return a type as Iceberg's metadata have it, with the ids of the fields within."""
    match kind:
        case {"type": "struct", "fields": fields}:
            return {"type": "struct", "fields": [_field(label, ids, path, field, name) for field in fields]}
        case {"type": "array", "elementType": element}:
            within = (*path, "element")
            return {
                "type": "list",
                "element-id": ids[within],
                "element": _type(label, ids, within, element, name),
                "element-required": False,
            }
        case {"type": "map", "keyType": key, "valueType": value}:
            keys, values = (*path, "key"), (*path, "value")
            return {
                "type": "map",
                "key-id": ids[keys],
                "key": _type(label, ids, keys, key, name),
                "value-id": ids[values],
                "value": _type(label, ids, values, value, name),
                "value-required": False,
            }
    plain = type_from_json(kind)
    if plain.name == "decimal":
        return f"decimal({plain.precision}, {plain.scale})"
    if plain.facts.iceberg is not None:
        return plain.facts.iceberg
    raise UnsupportedError(
        f"Table {label} cannot be read by Iceberg's readers: column {name} is or has {type_text(kind)}, {_lack(str(kind))}. "
        "Copy the rows into a table with another type, or leave the column out there."
    )


def _lack(text: str) -> str:
    """Return why a type cannot be given to Iceberg's readers."""
    return "which they would not pad" if text.startswith("char(") else "which Iceberg has not"


def _field(label: str, ids: Ids, path: Path, field: Mapping[str, Any], name: str) -> dict[str, Any]:
    metadata = field.get("metadata") or {}
    within = (*path, str(metadata.get(PHYSICAL_NAME, field["name"])))
    return {
        "id": ids[within],
        "name": field["name"],
        "required": False,
        "type": _type(label, ids, within, field["type"], f"{name}.{field['name']}"),
    }


def name_mapping(ids: Ids) -> list[dict[str, Any]]:
    """Return the names in files by ids, also of dropped columns, which files still have.

    >>> name_mapping({("a",): 1, ("s",): 2, ("s", "x"): 3})
    [{'field-id': 1, 'names': ['a']}, {'field-id': 2, 'names': ['s'], 'fields': [{'field-id': 3, 'names': ['x']}]}]
    """
    roots: list[dict[str, Any]] = []
    nodes: dict[Path, dict[str, Any]] = {}
    for path in sorted(ids, key=len):
        nodes[path] = {"field-id": ids[path], "names": [path[-1]]}
        if len(path) == 1:
            roots.append(nodes[path])
        elif path[:-1] in nodes:  # the field of a dropped struct may be recorded alone
            nodes[path[:-1]].setdefault("fields", []).append(nodes[path])
    return roots
