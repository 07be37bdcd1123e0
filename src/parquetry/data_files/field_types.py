"""The primitive types of columns and of the fields within, by their paths of physical names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from parquetry.data_files.records import PHYSICAL_NAME, TableColumn


def types_by_path(columns: Iterable[TableColumn]) -> dict[tuple[str, ...], str]:
    """Return the types of columns and fields. Steps into arrays and maps are `element`, `key` and `value`.

    >>> types_by_path([TableColumn("a", {"type": "array", "elementType": "long", "containsNull": True})])
    {('a', 'element'): 'long'}
    """
    return {path: kind for column in columns for path, kind in _types_within((column.physical,), column.type)}


def _types_within(path: tuple[str, ...], kind: Any) -> Iterator[tuple[tuple[str, ...], str]]:
    match kind:
        case {"type": "struct", "fields": fields}:
            for field in fields:
                name = (field.get("metadata") or {}).get(PHYSICAL_NAME, field["name"])
                yield from _types_within((*path, name), field["type"])
        case {"type": "array", "elementType": element}:
            yield from _types_within((*path, "element"), element)
        case {"type": "map", "keyType": key, "valueType": value}:
            yield from _types_within((*path, "key"), key)
            yield from _types_within((*path, "value"), value)
        case str():
            yield path, kind
