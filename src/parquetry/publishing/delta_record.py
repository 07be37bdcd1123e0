"""A table and its files as actions of a Delta log: plain dictionaries, which are written as JSON.

The Delta transaction log protocol has their forms (`PROTOCOL.md` in the repository delta-io/delta).
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

import msgspec

from parquetry.data_files import PHYSICAL_NAME, FileRecord, IdsInFile
from parquetry.errors import UnsupportedError
from parquetry.metastore import TableMetadata, TableSnapshot
from parquetry.publishing.delta_statistics import statistics, statistics_configuration
from parquetry.publishing.other_readers import file_refusal
from parquetry.types import (
    ColumnType,
    Value,
    names_within,
    text_from_value,
    to_python,
    type_from_json,
    type_text,
)

_BAD_NAME = re.compile(r"[ ,;{}()\n\t=]")
"""Characters that Delta allows in names only with column mapping, which some readers read wrong."""
_UUID_NAMESPACE = uuid.UUID("6f0d3a5e-6f2c-5a4e-9d55-0c5b9f5e2a41")
READ_ONLY_FEATURE = "parquetry-readonly"
"""A feature for writers that no writer of Delta has. It stops them, and no reader."""


def require_publishable(snapshot: TableSnapshot) -> None:
    """Make sure that Delta's readers read a version of a table right, as far as its definition says.

    Raises:
        UnsupportedError: it says what they would read otherwise.
    """
    if (reason := definition_refusal(snapshot.metadata)) is not None:
        raise UnsupportedError(f"Table {snapshot.label} cannot be published as a Delta log: {reason}.")


def definition_refusal(metadata: TableMetadata) -> str | None:
    """Return what a definition says that Delta's readers would read otherwise, or None."""
    if metadata.format != "parquet":
        return f"its files are {metadata.format}, and Delta has Parquet files alone"
    partition_columns = {column.name for column in metadata.partition_columns}
    for column in metadata.columns:
        for path, kind, is_renamed in _fields(column.name, column.type, column.metadata):
            if is_renamed:
                return (
                    f"column {path} was renamed, or replaced a dropped column, and has another name in the files, which "
                    "some of Delta's readers would read as NULL. Copy the rows into a new table"
                )
            if _BAD_NAME.search(path):
                return f"column {path!r} has a character in its name that Delta does not allow"
            if kind is not None and type_from_json(kind).facts.delta is None:
                return (
                    f"column {path} is {type_text(kind)}, which Delta's readers lack or would not pad. Copy the rows into a "
                    "table with another type"
                )
        if column.name in partition_columns and not column.column_type.facts.delta_keys:
            return f"partition column {column.name} is {type_text(column.type)}, whose values Delta's readers do not read alike"
    return None


def _fields(name: str, kind: Any, metadata: dict[str, Any]) -> Iterator[tuple[str, Any, bool]]:
    """Yield path, primitive type or None, and whether it is renamed, of a column and each field within."""
    own = name.rpartition(".")[2]
    is_renamed = metadata.get(PHYSICAL_NAME, own) != own and metadata.get(PHYSICAL_NAME, name) != name
    yield name, kind if isinstance(kind, str) else None, is_renamed
    match kind:
        case {"type": "struct", "fields": fields}:
            for field in fields:
                inner = field.get("metadata") or {}
                yield from _fields(f"{name}.{field['name']}", field["type"], inner)
        case {"type": "array", "elementType": element}:
            yield from _fields(f"{name}.element", element, {})
        case {"type": "map", "keyType": key, "valueType": value}:
            yield from _fields(f"{name}.key", key, {})
            yield from _fields(f"{name}.value", value, {})


def protocol_action(metadata: TableMetadata) -> dict[str, Any]:
    """Return the action that says what readers and writers of the log have to know."""
    if not any("timestamp_ntz" in names_within(column.type) for column in metadata.columns):
        return {
            "protocol": {
                "minReaderVersion": 1,
                "minWriterVersion": 7,
                "writerFeatures": [READ_ONLY_FEATURE],
            }
        }
    return {
        "protocol": {
            "minReaderVersion": 3,
            "minWriterVersion": 7,
            "readerFeatures": ["timestampNtz"],
            "writerFeatures": ["timestampNtz", READ_ONLY_FEATURE],
        }
    }


def reader_version(protocol: dict[str, Any]) -> int:
    """Return the version that a protocol asks of readers. A table may get columns that need a later one."""
    return int(protocol["protocol"]["minReaderVersion"])


def metadata_action(snapshot: TableSnapshot, earlier: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return the action with a version's columns.

    Args:
        snapshot: the version.
        earlier: the log's last action of this kind, whose id the log keeps, or None.
    """
    metadata = snapshot.metadata
    schema = {"type": "struct", "fields": [_field(column.name, column.type) for column in metadata.columns]}
    new_id = str(uuid.uuid5(_UUID_NAMESPACE, f"{snapshot.id.hex()}{metadata.replacement}"))
    return {
        "metaData": {
            "id": new_id if earlier is None else earlier["metaData"]["id"],
            "format": {"provider": "parquet", "options": {}},
            "schemaString": msgspec.json.encode(schema).decode(),
            "partitionColumns": list(metadata.partition_by),
            "configuration": statistics_configuration(metadata),
            "createdTime": metadata.created_at,
        }
    }


def _field(name: str, kind: Any) -> dict[str, Any]:
    return {"name": name, "type": _type(kind), "nullable": True, "metadata": {}}


def _type(kind: Any) -> Any:
    match kind:
        case {"type": "struct", "fields": fields}:
            return {"type": "struct", "fields": [_field(field["name"], field["type"]) for field in fields]}
        case {"type": "array", "elementType": element}:
            return {"type": "array", "elementType": _type(element), "containsNull": True}
        case {"type": "map", "keyType": key, "valueType": value}:
            return {
                "type": "map",
                "keyType": _type(key),
                "valueType": _type(value),
                "valueContainsNull": True,
            }
    plain = type_from_json(kind)
    return kind if plain.name == "decimal" else plain.facts.delta


def add_action(
    snapshot: TableSnapshot, values: Sequence[Value], file: FileRecord, path: str, modified: int
) -> dict[str, Any]:
    """Return the action that adds a file.

    Args:
        snapshot: the version.
        values: of the partition columns.
        file: the record of the file.
        path: of the file in the log.
        modified: the file's time of change in milliseconds since the epoch.

    Raises:
        UnsupportedError: Delta's readers would read the file otherwise.
    """
    metadata = snapshot.metadata
    reason = file_refusal(metadata, file, by_ids=False)
    if reason is None and file.field_ids == IdsInFile.FOREIGN:
        reason = "it has the field ids of another table, by which some readers go: CALL system.compact writes it anew"
    if reason is None:
        reason = _other_type(metadata, file)
    if reason is not None:
        raise UnsupportedError(
            f"Table {snapshot.label} cannot be published as a Delta log: file {path}: {reason}."
        )
    pairs = zip(metadata.partition_columns, values, strict=True)
    return {
        "add": {
            "path": path,
            "partitionValues": {
                column.name: _partition_value(column.column_type, value) for column, value in pairs
            },
            "size": file.bytes,
            "modificationTime": modified,
            "dataChange": True,
            "stats": msgspec.json.encode(statistics(metadata, file)).decode(),
        }
    }


def _other_type(metadata: TableMetadata, file: FileRecord) -> str | None:
    """Return which column of a file has another type than the table's, or None."""
    for column in metadata.data_columns:
        statistics = (file.columns or {}).get(column.physical)
        if statistics is not None and statistics.stored is not None and not isinstance(column.type, dict):
            return f"column {column.name} has another type there: CALL system.compact(table, for_other_readers => true)"
    return None


def remove_action(added: dict[str, Any], time: int, changes_rows: bool) -> dict[str, Any]:
    """Return the action that removes a file, given the action that added it."""
    add = added["add"]
    return {
        "remove": {
            "path": add["path"],
            "deletionTimestamp": time,
            "dataChange": changes_rows,
            "extendedFileMetadata": True,
            "partitionValues": add["partitionValues"],
            "size": add["size"],
        }
    }


def _partition_value(kind: ColumnType, value: Value) -> str | None:
    """Return a partition value as the log has it.

    >>> from parquetry.types import parse_type
    >>> _partition_value(parse_type("timestamp"), 1_500_000), _partition_value(parse_type("boolean"), True)
    ('1970-01-01T00:00:01.500000Z', 'true')
    """
    if value is None:
        return None
    plain = to_python(kind, value)
    if isinstance(plain, datetime):
        text = plain.replace(tzinfo=None).isoformat(timespec="microseconds")
        return f"{text}Z" if kind.name == "timestamp" else text.replace("T", " ")
    return text_from_value(kind, value)
