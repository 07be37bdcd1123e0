"""A table and its files as actions of a Delta log: plain dictionaries, which are written as JSON.

The Delta transaction log protocol has their forms (`PROTOCOL.md` in the repository delta-io/delta).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import msgspec

from parquetry.data_files import FileRecord
from parquetry.exchange import history_uuid
from parquetry.metastore import TableMetadata, TableSnapshot
from parquetry.publishing.delta_statistics import statistics, statistics_configuration
from parquetry.types import ColumnType, Value, names_within, text_from_value, to_python, type_from_json

READ_ONLY_FEATURE = "parquetry-readonly"
"""A feature for writers that no writer of Delta has. It stops them, and no reader."""


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
    return {
        "metaData": {
            "id": history_uuid(snapshot) if earlier is None else earlier["metaData"]["id"],
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
    metadata: TableMetadata, values: Sequence[Value], file: FileRecord, path: str, modified: int
) -> dict[str, Any]:
    """Return the action that adds a file.

    Args:
        metadata: of the version.
        values: of the partition columns.
        file: the record of the file.
        path: of the file in the log.
        modified: the file's time of change in milliseconds since the epoch.
    """
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
