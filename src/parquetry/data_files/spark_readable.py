"""Find columns of files that Spark's readers cannot read with the table's types or names.

A type is reported only if Parquet's physical type alone excludes it. Spark's readers decide all other cases:

| in the file | in the table | result |
|---|---|---|
| BYTE_ARRAY | bigint | reported: Spark never reads a text as a number |
| INT64 | double | reported: Spark never reads a long as a double |
| INT32 | bigint | readable |
| INT64 | timestamp | left to the readers, which know what the numbers mean |

Names are compared without regard to letter case, even if the session says otherwise. So Spark cannot read a
column `id` from a file that has `id` and `ID`.
"""

from __future__ import annotations

import itertools
import posixpath
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from parquetry.data_files.parquet_leaves import top_level
from parquetry.data_files.records import PHYSICAL_NAME, TableColumn
from parquetry.locations import open_location, visible_files
from parquetry.types import INTEGER_BITS, type_text

_TIMES = ("timestamp", "timestamp_ntz")
_READ_AS: Mapping[str, frozenset[str]] = {
    "BOOLEAN": frozenset({"boolean"}),
    "INT32": frozenset({*INTEGER_BITS, "double", "decimal", "date", *_TIMES}),
    "INT64": frozenset({*INTEGER_BITS, "decimal", *_TIMES}),
    "INT96": frozenset({"timestamp", "timestamp_ntz"}),
    "FLOAT": frozenset({"float", "double"}),
    "DOUBLE": frozenset({"double"}),
    "BYTE_ARRAY": frozenset({"string", "char", "varchar", "binary", "decimal"}),
}
"""The column types that a physical type can be read as. Spark's readers decide about other physical types."""

_MAX_FILES_READ = 100
"""Most files in a new table's LOCATION whose footers are searched for columns of other names or types."""


def unfit_columns(footer: Any, columns: Sequence[TableColumn]) -> Iterator[str]:
    """Yield a sentence for each column of a file that cannot be read with the table's type or name.

    Args:
        footer: of the file, as PyArrow reads it.
        columns: the table's columns, without partition columns.
    """
    by_name = {column.physical.lower(): column for column in columns}
    found = list(top_level(footer))
    yield from twice_named([name for name, _ in found], columns)
    yield from _twice_in_structs(footer, columns)
    for name, leaves in found:
        column = by_name.get(name.lower())
        if column is None or not column.column_type.primitive or leaves[0].nested:
            continue
        stored = footer.schema.column(leaves[0].position)
        fitting = _READ_AS.get(stored.physical_type)
        if fitting is not None and column.column_type.name not in fitting:
            yield (
                f"column {column.name} is {type_text(column.type)} in the table, and {stored.physical_type} in the file, which cannot "
                "be read as that: queries of the column fail. Have the file written with the table's type, or take it out"
            )


def twice_named(names: Iterable[str], columns: Sequence[TableColumn]) -> Iterator[str]:
    """Yield a sentence for each column of a table whose name a file has more than once.

    Args:
        names: of the file's columns.
        columns: the table's columns, without partition columns.
    """
    spelled: dict[str, list[str]] = {}
    for name in names:
        spelled.setdefault(name.lower(), []).append(name)
    for column in columns:
        if len(found := spelled.get(column.physical.lower(), ())) > 1:
            yield _twice(column.name, found)


def _twice_in_structs(footer: Any, columns: Sequence[TableColumn]) -> Iterator[str]:
    """Yield a sentence for each field within a table's columns whose name a file has more than once."""
    try:
        stored_type = footer.schema.to_arrow_schema()
    except (pa.ArrowException, NotImplementedError):  # Arrow does not know some type
        return
    for column in columns:
        for name in stored_type.names:
            if name.lower() == column.physical.lower() and len(stored_type.get_all_field_indices(name)) == 1:
                yield from _twice_within(column.type, stored_type.field(name).type, column.name)


def _twice_within(kind: Any, stored_type: pa.DataType, path: str) -> Iterator[str]:
    """Yield a sentence for each field of a struct that a file has more than once.

    Args:
        kind: Spark's JSON type, with the names that the fields have in files.
        stored_type: the type in the file.
        path: the name of the struct in the sentence.
    """
    match kind:
        case {"type": "struct", "fields": fields} if pa.types.is_struct(stored_type):
            there = [stored_type.field(index) for index in range(stored_type.num_fields)]
            for field in fields:
                stored = field.get("metadata", {}).get(PHYSICAL_NAME, field["name"]).lower()
                found = [each for each in there if each.name.lower() == stored]
                name = f"{path}.{field['name']}"
                if len(found) > 1:
                    yield _twice(name, [each.name for each in found])
                elif found:
                    yield from _twice_within(field["type"], found[0].type, name)
        case {"type": "array", "elementType": element} if hasattr(stored_type, "value_type"):
            yield from _twice_within(element, stored_type.value_type, f"{path}.element")
        case {"type": "map", "keyType": key, "valueType": value} if pa.types.is_map(stored_type):
            yield from _twice_within(key, stored_type.key_type, f"{path}.key")
            yield from _twice_within(value, stored_type.item_type, f"{path}.value")


def _twice(name: str, spelled: Sequence[str]) -> str:
    return (
        f"column {name} is in the file {len(spelled)} times, as {', '.join(spelled)}, and names do not count in letter case: queries of the "
        "column fail. Have the file written with other names, or take it out"
    )


def unknown_columns(location: str) -> str | None:
    """Describe the first file with columns of types that Spark lacks, or return None if no file has any.

    Args:
        location: a folder, as Hadoop writes it.
    """
    filesystem, root = open_location(location)
    try:
        for path in itertools.islice(visible_files(filesystem, root), _MAX_FILES_READ):
            footer = pq.read_metadata(path, filesystem=filesystem)
            told = [*_unknown_leaves(footer)] or [
                text for field in footer.schema.to_arrow_schema() if (text := _unknown(field))
            ]
            if told:
                return f"in {posixpath.basename(path)}, {'; '.join(told)}"
    except (pa.ArrowException, OSError):
        pass  # Spark's own error says enough
    return None


def mixed_columns(location: str, columns: Sequence[TableColumn]) -> list[str]:
    """Return a sentence for each difference between the columns of Parquet files and of a new table.

    Args:
        location: the folder of the files, as Hadoop writes it.
        columns: of the table, which were read from one of the files.
    """
    filesystem, root = open_location(location)
    known = {column.name.lower() for column in columns}
    told: dict[str, str] = {}
    try:
        for path in itertools.islice(visible_files(filesystem, root), _MAX_FILES_READ):
            footer = pq.read_metadata(path, filesystem=filesystem)
            name = path.removeprefix(f"{root.rstrip('/')}/")
            for sentence in unfit_columns(footer, columns):
                told.setdefault(sentence, f"{name}: {sentence}")
            for column, _ in top_level(footer):
                if column.lower() not in known:
                    told.setdefault(
                        column, f"{name}: column {column} is not in the table; ADD COLUMN adds it"
                    )
    except (pa.ArrowException, OSError):
        pass  # MSCK REPAIR TABLE reports broken files
    return list(told.values())


def _unknown_leaves(footer: Any) -> Iterator[str]:
    """Yield a sentence for each leaf column whose type Arrow reads as bytes, and Spark cannot read."""
    leaves = (footer.schema.column(index) for index in range(len(footer.schema)))
    for leaf in leaves:
        if leaf.logical_type.type == "UUID":
            yield f"column {leaf.path} is a UUID, which Spark does not read from Parquet: have it written as a text (in DuckDB: {leaf.path}::VARCHAR)"
        elif leaf.converted_type == "INTERVAL":
            yield (
                f"column {leaf.path} is an INTERVAL of months, days and milliseconds, which Spark does not read from Parquet: have it written "
                "as a text or as a number of one unit"
            )


def _unknown(field: pa.Field) -> str | None:
    kind = field.type
    if pa.types.is_timestamp(kind) and kind.unit == "ns":
        return (
            f"column {field.name} is a timestamp in nanoseconds, which Spark has not: SET spark.sql.legacy.parquet.nanosAsLong=true "
            "reads it as a BIGINT, and pandas and PyArrow write microseconds with coerce_timestamps='us'"
        )
    if pa.types.is_float16(kind) or (pa.types.is_time(kind) and kind.unit == "ns"):
        return f"column {field.name} is a {kind}, which Spark does not read from Parquet: have it written as another type"
    return None
