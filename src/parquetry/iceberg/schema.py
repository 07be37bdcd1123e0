"""A table's columns as an Iceberg schema, and its names in files as a name mapping.

Ids are the table's field ids (`data_files.field_ids`), which are the ids in its files as well.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from parquetry.data_files import physical_name
from parquetry.exchange import ICEBERG
from parquetry.metastore import TableMetadata
from parquetry.types import type_from_json

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
    ICEBERG.raise_if_refused(label, ICEBERG.definition_refusal(metadata))
    ids = metadata.ids_by_path
    fields = []
    for column in metadata.columns:
        own = _field(ids, (column.physical,), column.name, column.type)
        fields.append(own if column.comment is None else {**own, "doc": column.comment})
    return {"type": "struct", "schema-id": schema_id, "fields": fields}


def _field(ids: Ids, path: Path, name: str, kind: Any) -> dict[str, Any]:
    return {"id": ids[path], "name": name, "required": False, "type": _type(ids, path, kind)}


def _type(ids: Ids, path: Path, kind: Any) -> Any:
    """Return a type as Iceberg's metadata have it, with the ids of the fields within."""
    match kind:
        case {"type": "struct", "fields": fields}:
            paths = ((*path, physical_name(each)) for each in fields)
            inner = [
                _field(ids, at, each["name"], each["type"]) for at, each in zip(paths, fields, strict=True)
            ]
            return {"type": "struct", "fields": inner}
        case {"type": "array", "elementType": element}:
            within = (*path, "element")
            return {
                "type": "list",
                "element-id": ids[within],
                "element": _type(ids, within, element),
                "element-required": False,
            }
        case {"type": "map", "keyType": key, "valueType": value}:
            keys, values = (*path, "key"), (*path, "value")
            return {
                "type": "map",
                "key-id": ids[keys],
                "key": _type(ids, keys, key),
                "value-id": ids[values],
                "value": _type(ids, values, value),
                "value-required": False,
            }
    plain = type_from_json(kind)
    return f"decimal({plain.precision}, {plain.scale})" if plain.name == "decimal" else plain.facts.iceberg


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
