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

import contextlib
import itertools
import posixpath
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from parquetry.data_files.footers.parquet_footer import ParquetFooter
from parquetry.data_files.footers.parquet_schema import SchemaNode
from parquetry.data_files.footers.parquet_statistics import footer_errors, open_footer
from parquetry.data_files.records import FileRecord, TableColumn, physical_name
from parquetry.data_files.stored_types import Conversion, find_conversion
from parquetry.errors import ParquetryError
from parquetry.locations import open_location, visible_files
from parquetry.types import type_text

_MAX_FILES_READ = 100
"""Most files in a new table's LOCATION whose footers are searched for columns of other names or types."""


def unfit_columns(footer: ParquetFooter, columns: Sequence[TableColumn]) -> Iterator[str]:
    """Yield a sentence for each column of a file that cannot be read with the table's type or name.

    Args:
        footer: of the file.
        columns: the table's columns, without partition columns.
    """
    by_name = {column.physical.lower(): column for column in columns}
    yield from twice_named([node.name for node in footer.columns], columns)
    yield from _twice_in_structs(footer, columns)
    for node in footer.columns:
        column = by_name.get(node.name.lower())
        if column is None or not column.column_type.primitive or node.nested:
            continue
        if find_conversion(f"parquet {node.stored_type}", column.column_type) == Conversion.REFUSED:
            yield unreadable(column, node.stored_type)


def unfit_statistics(file: FileRecord, columns: Sequence[TableColumn]) -> Iterator[str]:
    """Yield a sentence for each column that cannot be read with the table's type or name, from a file's
    record.

    Args:
        file: as its footer has been read. It states the type of each column.
        columns: the table's columns, without partition columns.
    """
    known = file.columns or {}
    yield from twice_named(known, columns)
    by_name = {column.physical.lower(): column for column in columns}
    for name, statistics in known.items():
        column = by_name.get(name.lower())
        if column is None or not column.column_type.primitive or statistics.stored is None:
            continue
        if find_conversion(statistics.stored, column.column_type) == Conversion.REFUSED:
            yield unreadable(column, statistics.stored.partition(" ")[2])


def unreadable(column: TableColumn, stored: str) -> str:
    """Return the sentence about a column that Spark cannot read from a file.

    Args:
        column: of the table.
        stored: the type in the file.
    """
    return (
        f"column {column.name} is {type_text(column.type)} in the table, and {stored} in the file, which cannot be read as that: "
        "queries of the column fail. Have the file written with the table's type, or take it out"
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
        if len(spellings := spelled.get(column.physical.lower(), ())) > 1:
            yield _twice(column.name, spellings)


def _twice_in_structs(footer: ParquetFooter, columns: Sequence[TableColumn]) -> Iterator[str]:
    """Yield a sentence for each field within a table's columns whose name a file has more than once."""
    for column in columns:
        same = [node for node in footer.columns if node.name.lower() == column.physical.lower()]
        if len(same) == 1:
            yield from _twice_within(column.type, same[0], column.name)


def _twice_within(kind: Any, node: SchemaNode, path: str) -> Iterator[str]:
    """Yield a sentence for each field of a struct that a file has more than once.

    Args:
        kind: Spark's JSON type, with the names that the fields have in files.
        node: the column or field of the file.
        path: the name of the struct in the sentence.
    """
    match kind:
        case {"type": "struct", "fields": fields}:
            for field in fields:
                stored = physical_name(field).lower()
                same = [child for child in node.children if child.name.lower() == stored]
                name = f"{path}.{field['name']}"
                if len(same) > 1:
                    yield _twice(name, [child.name for child in same])
                elif same:
                    yield from _twice_within(field["type"], same[0], name)
        case {"type": "array", "elementType": element} if len(node.children) == 1:
            yield from _twice_within(element, _element(node.children[0]), f"{path}.element")
        case {"type": "map", "keyType": key, "valueType": value} if len(node.children) == 1:
            for kind_within, child, name in zip(
                (key, value), node.children[0].children, ("key", "value"), strict=False
            ):
                yield from _twice_within(kind_within, child, f"{path}.{name}")


def _element(repeated: SchemaNode) -> SchemaNode:
    """Return the element of a list, given its repeated node: the node itself in files of the old form."""
    is_old = len(repeated.children) != 1 or repeated.name == "array" or repeated.name.endswith("_tuple")
    return repeated if is_old else repeated.children[0]


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
            with footer_errors(path):
                footer = open_footer(filesystem, path)
                sentences = [text for node in footer.columns for text in _unknown(node, node.name)]
            if sentences:
                return f"in {posixpath.basename(path)}, {'; '.join(sentences)}"
    except (ParquetryError, OSError):
        pass  # Spark's own error says enough
    return None


def describe_mismatches(
    location: str, columns: Sequence[TableColumn], partition_by: Collection[str] = ()
) -> list[str]:
    """Return a sentence for each difference between the columns of Parquet files and of a new table.

    Args:
        location: the folder of the files, as Hadoop writes it.
        columns: of the table, which were read from one of the files.
        partition_by: names of the folders' columns, which do not come from files.
    """
    filesystem, root = open_location(location)
    known = {column.name.lower() for column in columns}
    data = [column for column in columns if column.name not in partition_by]
    sentences: dict[str, str] = {}
    try:
        for path in itertools.islice(visible_files(filesystem, root), _MAX_FILES_READ):
            # MSCK REPAIR TABLE reports what is wrong with the file
            with contextlib.suppress(ParquetryError), footer_errors(path):
                footer = open_footer(filesystem, path)
                name = path.removeprefix(f"{root.rstrip('/')}/")
                for sentence in unfit_columns(footer, data):
                    sentences.setdefault(sentence, f"{name}: {sentence}")
                for node in footer.columns:
                    if node.name.lower() not in known:
                        sentences.setdefault(
                            node.name, f"{name}: column {node.name} is not in the table; ADD COLUMN adds it"
                        )
    except OSError:
        pass  # MSCK REPAIR TABLE reports what cannot be listed
    return list(sentences.values())


def _unknown(node: SchemaNode, path: str) -> Iterator[str]:
    """Yield a sentence for each column of values that Spark cannot read."""
    for child in node.children:
        yield from _unknown(child, f"{path}.{child.name}")
    if node.annotation == "UUID":
        yield f"column {path} is a UUID, which Spark does not read from Parquet: have it written as a text (in DuckDB: {path}::VARCHAR)"
    elif node.annotation == "INTERVAL":
        yield (
            f"column {path} is an INTERVAL of months, days and milliseconds, which Spark does not read from Parquet: have it written "
            "as a text or as a number of one unit"
        )
    elif node.annotation == "TIMESTAMP(NANOS)":
        yield (
            f"column {path} is a timestamp in nanoseconds, which Spark has not: SET spark.sql.legacy.parquet.nanosAsLong=true "
            "reads it as a BIGINT, and pandas and PyArrow write microseconds with coerce_timestamps='us'"
        )
    elif node.annotation in ("FLOAT16", "TIME(NANOS)"):
        yield f"column {path} is a {node.annotation}, which Spark does not read from Parquet: have it written as another type"
