"""A table and its files as actions of a Delta log: plain dictionaries, which are written as JSON.

The Delta transaction log protocol has their forms (`PROTOCOL.md` in the repository delta-io/delta).

**Statistics** of files are bounds of columns that have them in each file.

delta-rs reads a lacking bound as NULL where the log has another column's bound of the same file. PyArrow's
filters then leave out the file's rows. So the table names the columns with bounds, and a file that lacks one
of them has no bounds at all.

**Paths.** Polars reads partition values from folders, and not from the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, datetime
from typing import Any
from urllib.parse import quote

import msgspec

from parquetry.data_files import ColumnStatistics, FileRecord, TableColumn, Trust
from parquetry.exchange import DELTA, history_uuid
from parquetry.locations import DEFAULT_PARTITION, path_below, unescape_path_name
from parquetry.metastore import TableMetadata, TableSnapshot
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


_PLAIN_NAME = re.compile(r"\w+")
"""Names that need no quotes in the property, which readers take apart each in its way."""


def statistics_configuration(metadata: TableMetadata) -> dict[str, str]:
    """Return the property that names the columns with bounds."""
    names = [column.name for column in _bounded_columns(metadata)]
    return {"delta.dataSkippingStatsColumns": ",".join(names)} if names else {}


def statistics(metadata: TableMetadata, file: FileRecord) -> dict[str, Any]:
    """Return a file's statistics: exact ones, but for long texts, whose bounds are shortened."""
    recorded = {
        column.name: (file.columns or {}).get(column.physical)
        for column in metadata.data_columns
        if not isinstance(column.type, dict)
    }
    known = {name: each for name, each in recorded.items() if each is not None and each.trust >= Trust.EXACT}
    counts = {"numRecords": file.rows}
    nulls = {name: each.nulls for name, each in known.items() if each.nulls is not None}
    least: dict[str, Any] = {}
    greatest: dict[str, Any] = {}
    for column in _bounded_columns(metadata):
        if column.name in nulls and nulls[column.name] == file.rows:
            continue
        bounds = _bounds(column.column_type, known.get(column.name))
        if bounds is None:
            return {**counts, "nullCount": nulls}
        least[column.name], greatest[column.name] = bounds
    values = {"minValues": least, "maxValues": greatest} if least else {}
    return {**counts, **values, "nullCount": nulls}


def _bounded_columns(metadata: TableMetadata) -> Iterator[TableColumn]:
    """Yield the columns of types whose bounds JSON has exactly."""
    for column in metadata.data_columns:
        if isinstance(column.type, dict) or not _PLAIN_NAME.fullmatch(column.name):
            continue
        if column.column_type.facts.delta_bounds:
            yield column


def _bounds(kind: ColumnType, known: ColumnStatistics | None) -> tuple[Any, Any] | None:
    """Return the bounds of a column, or None if one is not known."""
    if known is None or known.nulls is None:
        return None
    if not (known.min_exact and known.max_exact) and not kind.textual:
        return None
    least, greatest = (_json_bound(kind, bound) for bound in (known.min, known.max))
    return None if least is None or greatest is None else (least, greatest)


def _json_bound(kind: ColumnType, value: Any) -> Any:
    plain = to_python(kind, value)
    if isinstance(plain, date):
        return plain.isoformat()
    return plain if isinstance(plain, str if kind.textual else int) else None


_ESCAPED_BYTE = re.compile("%[89A-Fa-f][0-9A-Fa-f]")
"""An escape that Spark never writes. Spark reads it as a character, and Polars as a part of one."""


def relative_path(snapshot: TableSnapshot, location: str, values: Sequence[Value]) -> str:
    """Return the path of a file in the log: relative to the table's folder, and encoded as a URI.

    Args:
        snapshot: the version.
        location: of the file.
        values: of its partition.

    Raises:
        UnsupportedError: the file is outside of the folder, or Polars would read other values.
    """
    path = path_below(snapshot.metadata.location, location)
    if path is None:
        raise DELTA.error(
            snapshot.label,
            f"file {location} is outside of the table's folder. Write its partition anew with INSERT OVERWRITE",
        )
    reason = _other_values(snapshot.metadata, path.split("/")[:-1], values)
    if reason is not None:
        raise DELTA.error(
            snapshot.label,
            f"the folder of file {path} {reason}. Write the partition anew with INSERT OVERWRITE",
        )
    return quote(path, safe="/=")


def _other_values(metadata: TableMetadata, folders: Sequence[str], values: Sequence[Value]) -> str | None:
    """Return why Polars reads other values than the partition has, or None if it does not."""
    if any(part.count("=") > 1 for part in folders):
        return "has an equals sign in a value, and Polars would read NULL"
    if any(map(_ESCAPED_BYTE.search, folders)):
        return "has an escaped byte that is not ASCII, where Polars would read another value than Spark"
    for at, (column, value) in enumerate(zip(metadata.partition_columns, values, strict=True)):
        text = DEFAULT_PARTITION if value is None else text_from_value(column.column_type, value)
        name, _, escaped = folders[at].partition("=") if at < len(folders) else ("", "", "")
        if name != column.name or unescape_path_name(escaped) != text:
            return f"does not say {column.name}={text}, and Polars would read another value"
    return None
