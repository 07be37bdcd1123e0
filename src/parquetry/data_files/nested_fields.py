"""Fields of structs as columns: their statistics are recorded, found and judged as a column's are.

A field's name is the names that lead to it (`identifiers.field_name`): in the table for conditions, and in
files for records. This table has the columns `id` and `s`, whose field `b` is called `c` in files:

    CREATE TABLE t (id INT, s STRUCT<a: INT, t: STRUCT<b: STRING>, l: ARRAY<INT>>)

| entry in a file's record | what it says                                                            |
|--------------------------|-------------------------------------------------------------------------|
| `id`                     | the column's statistics                                                 |
| `s`                      | its size, and 0 NULLs if one of its fields has none; otherwise nothing  |
| `s/`                     | 0 NULLs: the record has an entry of each field that the file has        |
| `s/a`, `s/t/c`           | the fields' statistics. A NULL struct makes each of its fields NULL     |
| `s/t`                    | as `s`                                                                  |
| `s/l`                    | nothing: what is within arrays and maps has no bounds                   |

The separator is written as a slash here. A record that lacks `s/` may lack entries of fields. So a field
without an entry is unknown there, and NULL in all rows where `s/` is.
"""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

import msgspec

from parquetry.data_files.records import (
    EXISTS_DEFAULT,
    PHYSICAL_NAME,
    ColumnStatistics,
    FileRecord,
    TableColumn,
    Trust,
    physical_name,
)
from parquetry.identifiers import FIELD_SEPARATOR, field_path, is_field

MAX_FIELDS = 32
"""Fields of structs whose statistics a file's record has, if the table's property does not say otherwise."""

EVERY_FIELD = ColumnStatistics(nulls=0, trust=int(Trust.BOUNDS))
"""The entry that says that a column's fields all have entries."""


class StructField(TableColumn, frozen=True, omit_defaults=True):
    """A field within a struct, in the form of a column.

    Attributes:
        owner: the physical name of the table's column that the field is within.
        owner_default: the value that Spark reads of that column from files without it, or None for NULL.
    """

    owner: str = ""
    owner_default: str | None = None


def every_field(column: str) -> str:
    """Return the name of the entry that says that a column's fields all have entries."""
    return f"{column}{FIELD_SEPARATOR}"


def struct_fields(columns: Iterable[TableColumn]) -> list[StructField]:
    """Return the fields of structs within columns, each before the fields within it.

    >>> kind = {"type": "struct", "fields": [{"name": "a", "type": "integer"}]}
    >>> [(field.name, field.type) for field in struct_fields([TableColumn("s", kind), TableColumn("i", "long")])]
    [('s\\x7fa', 'integer')]
    """
    nested = [column for column in columns if isinstance(column.type, dict)]
    return [field for column in nested for field in _fields(msgspec.msgpack.encode(column))]


@functools.lru_cache(maxsize=1024)
def _fields(encoded: bytes) -> tuple[StructField, ...]:
    column = msgspec.msgpack.decode(encoded, type=TableColumn)
    if not is_nameable(column.name) or not is_nameable(column.physical):
        return ()
    return tuple(_within(column, column.name, column.physical, column.type))


def is_nameable(name: str) -> bool:
    """Return whether a column or a field can be a part of a field's name."""
    return bool(name) and not is_field(name)


def _within(column: TableColumn, name: str, physical: str, kind: Any) -> Iterator[StructField]:
    if not isinstance(kind, dict) or kind.get("type") != "struct":
        return
    for field in kind["fields"]:
        stored = physical_name(field)
        if not is_nameable(field["name"]) or not is_nameable(stored):
            continue
        path = f"{name}{FIELD_SEPARATOR}{field['name']}"
        stored_path = f"{physical}{FIELD_SEPARATOR}{stored}"
        yield StructField(
            path,
            field["type"],
            field.get("nullable", True),
            {PHYSICAL_NAME: stored_path},
            column.physical,
            column.metadata.get(EXISTS_DEFAULT),
        )
        yield from _within(column, path, stored_path, field["type"])


def lacks_field(field: StructField, columns: Mapping[str, ColumnStatistics]) -> bool:
    """Return whether a file surely lacks a field. The entries of its record have none of the field.

    Spark reads NULL then; of a file without the whole column it may read a default.

    >>> kind = {"type": "struct", "fields": [{"name": "a", "type": "integer"}]}
    >>> (a,) = struct_fields([TableColumn("s", kind)])
    >>> [lacks_field(a, columns) for columns in ({"i": EVERY_FIELD}, {"s": EVERY_FIELD}, {"s": EVERY_FIELD, "s\x7f": EVERY_FIELD})]
    [True, False, True]
    """
    owner = field.owner.lower()
    spelled = [name for name in columns if name.lower() == owner]
    if not spelled:
        return field.owner_default is None
    every = columns.get(every_field(spelled[0]))
    return len(spelled) == 1 and every is not None and every.nulls == 0


def with_owners(names: Collection[str]) -> set[str]:
    """Return the names of columns and fields, with the entries that say whether a file lacks a field.

    >>> sorted(with_owners(["i", "s\\x7fa"]))
    ['i', 's', 's\\x7f', 's\\x7fa']
    """
    owners = {field_path(name)[0] for name in names if is_field(name)}
    return {*names, *owners, *map(every_field, owners)}


def bound_fields(file: FileRecord, limit: int | Collection[tuple[str, ...]]) -> FileRecord:
    """Return a file's record with the statistics of some fields alone.

    Args:
        file: a record with statistics of all fields.
        limit: the greatest number of fields, or the paths of columns and fields, as files have them, which
            are kept with all fields within.

    >>> known = {"s": EVERY_FIELD, "s\\x7f": EVERY_FIELD, "s\\x7fa": EVERY_FIELD, "s\\x7fb": EVERY_FIELD}
    >>> [len(bound_fields(FileRecord("f", 1, columns=known), limit).columns) for limit in (2, 1, [("S", "B")], 0)]
    [4, 2, 2, 1]
    """
    columns = file.columns or {}
    fields = [name for name in columns if is_field(name) and not name.endswith(FIELD_SEPARATOR)]
    if not fields:
        return file
    if isinstance(limit, int):
        kept = set(fields[:limit])
    else:
        lower = [tuple(part.lower() for part in path) for path in limit]
        kept = {name for name in fields if any(_begins(name, path) for path in lower)}
    incomplete = {every_field(field_path(name)[0]) for name in fields if name not in kept}
    dropped = incomplete | (set(fields) - kept)
    statistics = {name: entry for name, entry in columns.items() if name not in dropped}
    return msgspec.structs.replace(file, columns=statistics)


def _begins(name: str, path: tuple[str, ...]) -> bool:
    return field_path(name.lower())[: len(path)] == path
