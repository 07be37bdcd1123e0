"""Columns and the parts of their types, by their paths of physical names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from parquetry.data_files.records import TableColumn, physical_name
from parquetry.types import ColumnType, type_from_json


class TypePart(NamedTuple):
    """A column, or a part of its type: a field of a struct, or the elements, keys or values of a collection.

    Attributes:
        path: names in files. Steps into arrays and maps are `element`, `key` and `value`.
        names: the same path, with the table's names.
        field: the names joined by dots, without steps into arrays and maps.
        type: Spark's JSON type.
        metadata: Spark's metadata of the column or field.
    """

    path: tuple[str, ...]
    names: tuple[str, ...]
    field: str
    type: Any
    metadata: Mapping[str, Any] = {}

    @property
    def leaf(self) -> ColumnType | None:
        """The type, or None if it is a struct, an array or a map."""
        is_nested = isinstance(self.type, dict) and self.type["type"] in ("struct", "array", "map")
        return None if is_nested else type_from_json(self.type)


def type_parts(column: TableColumn) -> Iterator[TypePart]:
    """Yield a column and the parts of its type, each before the parts within it.

    >>> [part.path for part in type_parts(TableColumn("a", {"type": "array", "elementType": "long"}))]
    [('a',), ('a', 'element')]
    """
    waiting = [TypePart((column.physical,), (column.name,), column.name, column.type, column.metadata)]
    while waiting:
        part = waiting.pop()
        yield part
        if isinstance(part.type, dict):
            waiting += reversed(list(_within(part)))


def _within(part: TypePart) -> Iterator[TypePart]:
    """Yield the parts directly within a type."""
    path, names, field, kind, _ = part
    for each in kind.get("fields", ()):
        name, metadata = each["name"], each.get("metadata") or {}
        yield TypePart(
            (*path, physical_name(each)), (*names, name), f"{field}.{name}", each["type"], metadata
        )
    for step in ("element", "key", "value"):
        if f"{step}Type" in kind:
            yield TypePart((*path, step), (*names, step), field, kind[f"{step}Type"])


def types_by_path(columns: Iterable[TableColumn]) -> dict[tuple[str, ...], str]:
    """Return the primitive types of columns and of the parts of their types.

    >>> types_by_path([TableColumn("a", {"type": "array", "elementType": "long", "containsNull": True})])
    {('a', 'element'): 'long'}
    """
    parts = (part for column in columns for part in type_parts(column))
    return {part.path: part.type for part in parts if isinstance(part.type, str)}
