"""Field ids: the number of each column and field, in the files and in what other readers get of the table.

Readers such as Iceberg's find a column in a file by its id, not by its name. An id belongs to a path of names
in files, which no other column of the table ever gets. So it stays the same when a column is renamed, and a
column that was dropped and added again has another one.

Ids of a new table: data columns first, each followed by the fields within it, then partition columns.

    CREATE TABLE t (p INT, a BIGINT, s STRUCT<x: INT, y: ARRAY<INT>>) PARTITIONED BY (p)

    a 1    s 2    s.x 3    s.y 4    s.y.element 5    p 6

So ids agree with the positions of columns in files without ids, where some readers go by position. An id that
a column brings in Spark's metadata (`parquet.field.id`) is kept.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from parquetry.data_files.footers.other_readers import find_obstacle
from parquetry.data_files.footers.parquet_footer import ParquetFooter
from parquetry.data_files.footers.parquet_schema import SchemaNode
from parquetry.data_files.records import IdsInFile, TableColumn, physical_name
from parquetry.types import ColumnType, type_from_json

SPARK_FIELD_ID = "parquet.field.id"
"""Spark's key in a column's metadata: the id that its writer gives the column in Parquet files."""

_MAX_FIELD_ID = (1 << 31) - 201
"""The greatest id of a column; Iceberg reserves the 200 numbers above for its own columns."""

Path = tuple[str, ...]
"""The names of a column and of the fields within, as in files.

Steps into arrays and maps are `element`, `key` and `value`."""


def assign_field_ids(
    columns: Sequence[TableColumn],
    partition_by: Collection[str],
    assigned: Mapping[Path, int],
    dropped: Iterable[Path] = (),
) -> dict[Path, int]:
    """Return the ids of all columns and fields, with the ids that were assigned before.

    Args:
        columns: of the table.
        partition_by: the names of the partition columns, which get their ids last.
        assigned: ids of earlier columns, also of dropped ones. None of them is given to another path.
        dropped: paths of dropped columns, which get ids after all others if they have none.

    >>> columns = [TableColumn("p", "integer"), TableColumn("a", "long"), TableColumn("b", "long")]
    >>> assign_field_ids(columns, ["p"], {})
    {('a',): 1, ('b',): 2, ('p',): 3}
    >>> assign_field_ids(columns, ["p"], {("a",): 1, ("p",): 2})
    {('a',): 1, ('p',): 2, ('b',): 3}
    """
    ids = dict(assigned)
    paths: list[Path] = []
    partition_names = {name.lower() for name in partition_by}
    data = [column for column in columns if column.name.lower() not in partition_names]
    for column in (*data, *(column for column in columns if column not in data)):
        for part in type_parts(column):
            _keep_own_id(ids, part.path, part.metadata)
            paths.append(part.path)
    paths += dropped
    used = set(ids.values())
    free = max(assigned.values(), default=0) + 1
    for path in paths:
        if path not in ids:
            while free in used:
                free += 1
            ids[path] = free
            used.add(free)
    return ids


def _keep_own_id(ids: dict[Path, int], path: Path, metadata: Mapping[str, Any]) -> None:
    """Give a path the id in its column's metadata, unless it has an id, or another path has this one."""
    own = metadata.get(SPARK_FIELD_ID)
    if isinstance(own, int) and 0 < own <= _MAX_FIELD_ID and path not in ids and own not in ids.values():
        ids[path] = own


def ids_in_footer(footer: ParquetFooter, ids: Mapping[Path, int]) -> IdsInFile:
    """Compare the ids in a Parquet file with a table's, or say why only Spark reads the file.

    Args:
        footer: of the file.
        ids: of the table, by paths of names in files.
    """
    if (obstacle := find_obstacle(footer)) is not None:
        return obstacle
    in_file = list(_ids_of_nodes(footer.columns, ()))
    if all(number is None for _, number in in_file):
        is_flat = not any(node.nested for node in footer.columns)
        own = [ids.get((node.name,)) for node in footer.columns]
        by_position = is_flat and own == list(range(1, len(own) + 1))
        return IdsInFile.BY_POSITION if by_position else IdsInFile.ABSENT
    spelled = {tuple(name.lower() for name in path): number for path, number in ids.items()}
    agree = all(
        number is not None and spelled.get(tuple(name.lower() for name in path)) == number
        for path, number in in_file
    )
    return IdsInFile.OURS if agree else IdsInFile.FOREIGN


def _ids_of_nodes(nodes: Iterable[SchemaNode], above: Path) -> Iterator[tuple[Path, int | None]]:
    """Yield the path and the id of each node that stands for a column or a field."""
    for node in nodes:
        path = (*above, node.name)
        yield path, node.field_id
        yield from _ids_within(node, path)


def _ids_within(node: SchemaNode, path: Path) -> Iterator[tuple[Path, int | None]]:
    if node.annotation == "VARIANT":
        return
    if node.annotation == "LIST" and len(node.children) == 1:
        repeated = node.children[0]
        is_old = len(repeated.children) != 1 or repeated.name == "array" or repeated.name.endswith("_tuple")
        element = repeated if is_old else repeated.children[0]
        yield (*path, "element"), element.field_id
        yield from _ids_within(element, (*path, "element"))
    elif node.annotation == "MAP" and len(node.children) == 1 and len(node.children[0].children) == 2:
        for name, child in zip(("key", "value"), node.children[0].children, strict=True):
            yield (*path, name), child.field_id
            yield from _ids_within(child, (*path, name))
    else:
        yield from _ids_of_nodes(node.children, path)


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
