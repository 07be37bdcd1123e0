"""The format of a dump: a directory of JSON lines that says what a metastore holds, whatever store it is in.

    manifest.json      {"format": "parquetry dump", "version": 1, "written_by", "warehouse", …}
    tables/<id>.jsonl  a table each

The manifest's `databases` are `{"name", "properties"}`, its `tables` are `{"id", "database", "name", "file",
"lines", "sha256"}`. The lines of a table are objects of one key, in this order:

| key       | value                                                                                 |
|-----------|---------------------------------------------------------------------------------------|
| table     | `id`, `oldest` (version), `next_ticket`, `hidden` (ranges of tickets that do not count) |
| commit    | a version: `metastore.model.Commit`; oldest first                                     |
| metadata  | `ticket`, and `value`: `metastore.model.TableMetadata`                                |
| files     | `ticket`, `number`, and `value`: part of a long list of files                         |
| partition | `key` (hexadecimal), `ticket`, and `value`: the entry; null: the partition is gone    |
| taken_out | `path`, `ticket`, and `value`: a file of others as it was when it was taken out       |
|           | (`bytes`, `modified`); null: it is not taken out any longer                           |

Entries of indexes are not written: they follow from the partitions. Keys of partitions are encoded values (`parquetry.keys`), which are the same in all stores. A value that JSON
does not have is an object: `{"bytes": hexadecimal}`, `{"float": "nan"}`. Other versions are refused.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec

from parquetry.errors import MetastoreVersionError, WarehouseError
from parquetry.metastore.model import ColumnStatistics, DataFile, FileChunk, PartitionEntry
from parquetry.metastore.wire import decoder, encode

FORMAT = "parquetry dump"
VERSION = 1
MANIFEST = "manifest.json"
TABLES = "tables"


class DumpedDatabase(msgspec.Struct, frozen=True):
    """A database in the manifest."""

    name: str
    properties: dict[str, str]


class DumpedTable(msgspec.Struct, frozen=True):
    """A table in the manifest: its id (hexadecimal), and its file with number of lines and hash."""

    id: str
    database: str
    name: str
    file: str
    lines: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """What a dump holds."""

    format: str
    version: int
    written_by: str
    warehouse: str
    databases: list[DumpedDatabase]
    tables: list[DumpedTable]


def read_manifest(text: bytes, where: str) -> Manifest:
    """Return the manifest of a dump.

    Raises:
        WarehouseError: it is none.
        MetastoreVersionError: the dump is of another version.
    """
    try:
        plain = msgspec.json.decode(text)
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            raise WarehouseError(f"{where} is not a dump of Parquetry's; name a directory that `dump` made")
        if plain.get("version") != VERSION:
            raise MetastoreVersionError(
                f"{where} is a dump of version {plain.get('version')}, written by Parquetry "
                f"{plain.get('written_by')}; this Parquetry reads version {VERSION}: use one that fits"
            )
        return msgspec.convert(plain, Manifest)
    except msgspec.MsgspecError as error:
        raise WarehouseError(f"{where} is damaged: {error}; make another dump") from None


def entry_to_json(entry: PartitionEntry) -> dict[str, Any]:
    """Return a partition's entry as JSON holds it."""
    files: tuple[DataFile, ...] = decoder(tuple[DataFile, ...]).decode(entry.inline)
    return {
        "location": entry.location,
        "file_count": entry.file_count,
        "rows": entry.rows,
        "bytes": entry.bytes,
        "parameters": entry.parameters,
        "lists": [[chunk.ticket, chunk.number, chunk.files] for chunk in entry.chunks],
        "files": files_to_json(files),
    }


def entry_from_json(value: dict[str, Any]) -> PartitionEntry:
    """Return the entry that `entry_to_json` has written."""
    files = files_from_json(value["files"])
    return PartitionEntry(
        value["location"],
        value["file_count"],
        value["rows"],
        value["bytes"],
        value["parameters"],
        tuple(FileChunk(*chunk) for chunk in value["lists"]),
        msgspec.Raw(encode(files)),
    )


def files_to_json(files: tuple[DataFile, ...]) -> list[dict[str, Any]]:
    """Return files as JSON holds them."""
    return [
        {
            "path": file.path,
            "bytes": file.bytes,
            "rows": file.rows,
            "modified": file.modified,
            "columns": None
            if file.columns is None
            else {
                name: {
                    "size": each.size,
                    "nulls": each.nulls,
                    "min": _plain(each.min),
                    "max": _plain(each.max),
                    "min_exact": each.min_exact,
                    "max_exact": each.max_exact,
                }
                for name, each in file.columns.items()
            },
        }
        for file in files
    ]


def files_from_json(values: list[dict[str, Any]]) -> tuple[DataFile, ...]:
    """Return the files that `files_to_json` has written."""
    return tuple(
        DataFile(
            file["path"],
            file["bytes"],
            file["rows"],
            file["modified"],
            None
            if file["columns"] is None
            else {
                name: ColumnStatistics(
                    each["size"],
                    each["nulls"],
                    _value(each["min"]),
                    _value(each["max"]),
                    each["min_exact"],
                    each["max_exact"],
                )
                for name, each in file["columns"].items()
            },
        )
        for file in values
    )


def _plain(value: Any) -> Any:
    if isinstance(value, bytes):
        return {"bytes": value.hex()}
    if isinstance(value, float) and not math.isfinite(value):
        return {"float": str(value)}
    return value


def _value(plain: Any) -> Any:
    match plain:
        case {"bytes": text}:
            return bytes.fromhex(text)
        case {"float": text}:
            return float(text)
    return plain
