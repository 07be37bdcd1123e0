"""The format of a dump: a directory of JSON lines with all that a metastore holds, for any store.

    manifest.json      {"format": "parquetry dump", "version": 6, "written_by", "warehouse", …}
    tables/<id>.jsonl  one table each

The manifest's `databases` are `{"name", "properties"}`, and its `tables` are `{"id", "database", "name",
"file", "lines", "sha256"}`. `metastore` and `store` name the dumped metastore as the warehouse's mark
does, and `shared` has the tables of its identity (`metastore.ownership`). All three may be missing. The
manifest's own `sha256` comes last: the hash of all bytes of the file, with 64 zeros instead of the
hash. The lines of a table are objects with one key, in this order:

| key       | value                                                                                 |
|-----------|---------------------------------------------------------------------------------------|
| table     | `id`, `oldest` (version), `next_ticket`, `hidden` (ranges of tickets that do not count), |
|           | `tags` (by name: version, and time in milliseconds), which may be missing             |
| commit    | a version: `metastore.storage.model.Commit`; oldest first                             |
| metadata  | `ticket`, and `value`: `metastore.storage.model.TableMetadata`                        |
| files     | `ticket`, `number`, and `value`: part of a long list of files                         |
| partition | `key` (hexadecimal), `ticket`, and `value`: the entry, or null (the partition is dropped) |
| taken_out | `path`, `ticket`, and `value`: another writer's file when it was removed              |
|           | (`bytes`, `modified`), or null (the file is no longer removed)                        |

Index entries are not written, since they follow from the partitions. Keys of partitions are encoded values
(`parquetry.keys`), which are the same in all stores. A value that JSON does not have is an object: `{"bytes":
hexadecimal}`, `{"float": "nan"}`. A plain `arrangement` of a table or partition is left out, and so is a
file's `rest_of` or `field_ids` if the file has none.

A view is among the tables: its metadata have a `view`, and it has no partitions.

Older versions can be read, too; later versions are refused:

- Version 1 has the same lines, but partitions have `parameters` (always empty), and nothing has an
  arrangement.
- Version 2 has no views.
- Version 3 has no constraints, and all locations are absolute. Since version 4, locations below the warehouse
  are relative to it (`locations.warehouse_relative`), so that a restore puts them below its own warehouse.
- Version 4 has no hash in the manifest, and no `rest_of`.
- Version 5 has no tags.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from parquetry.data_files import ColumnStatistics, FileRecord
from parquetry.errors import MetastoreVersionError, WarehouseError
from parquetry.layout import PLAIN, ArrangementSpec
from parquetry.metastore.manifest.entries import encode_files, inline_files
from parquetry.metastore.storage.model import FileChunk, PartitionEntry, TableMetadata
from parquetry.metastore.storage.wire import decode_arrangement, encode_arrangement

FORMAT = "parquetry dump"
FIRST = 1
HASHED = 5
"""The first version whose manifest has a hash of its own."""
VERSION = 6
"""The version of new dumps. All dumps have the newest version, even if an older one would do."""
MANIFEST = "manifest.json"
TABLES = "tables"


class DumpedDatabase(msgspec.Struct, frozen=True):
    """A database in the manifest."""

    name: str
    properties: dict[str, str]


class DumpedTable(msgspec.Struct, frozen=True):
    """A table in the manifest: its hexadecimal id, its file, and the file's number of lines and hash."""

    id: str
    database: str
    name: str
    file: str
    lines: int
    sha256: str


class Manifest(msgspec.Struct, frozen=True):
    """The contents of a dump."""

    format: str
    version: int
    written_by: str
    warehouse: str
    databases: list[DumpedDatabase]
    tables: list[DumpedTable]
    metastore: str = ""
    store: str = ""
    shared: list[str] = []
    sha256: str = ""


_NO_HASH = "0" * 64
_HASH = re.compile(rb'"sha256": "([0-9a-f]{64})"\n}\n\Z')
"""The end of a manifest, with its own hash."""


def write_manifest(manifest: Manifest) -> tuple[Manifest, bytes]:
    """Return a manifest with its hash, and its text."""
    unhashed = _text(msgspec.structs.replace(manifest, sha256=_NO_HASH))
    hashed = msgspec.structs.replace(manifest, sha256=hashlib.sha256(unhashed).hexdigest())
    return hashed, _text(hashed)


def _text(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"


def _is_as_written(text: bytes, version: int) -> bool:
    """Return whether a manifest's hash is right; versions before `HASHED` have none."""
    match = _HASH.search(text)
    if match is None:
        return version < HASHED
    start, end = match.span(1)
    unhashed = text[:start] + _NO_HASH.encode() + text[end:]
    return hashlib.sha256(unhashed).hexdigest().encode() == match[1]


def read_manifest(text: bytes, where: str) -> Manifest:
    """Return the manifest of a dump.

    Raises:
        WarehouseError: the text is no manifest, or is damaged.
        MetastoreVersionError: the dump has a version that cannot be read.
    """
    try:
        plain = msgspec.json.decode(text)
        if not isinstance(plain, dict) or plain.get("format") != FORMAT:
            raise WarehouseError(f"{where} is not a dump of Parquetry's; name a directory that `dump` made.")
        if plain.get("version") not in range(FIRST, VERSION + 1):
            raise MetastoreVersionError(
                f"{where} is a dump of version {plain.get('version')}, written by Parquetry "
                f"{plain.get('written_by')}; this Parquetry reads versions {FIRST} to {VERSION}: use one that fits."
            )
        if not _is_as_written(text, plain["version"]):
            raise WarehouseError(f"{where}/{MANIFEST} is not as it was written; make another dump.")
        return msgspec.convert(plain, Manifest)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise WarehouseError(f"{where} is damaged: {error}; make another dump.") from None


def metadata_to_json(metadata: TableMetadata) -> dict[str, Any]:
    """Encode a table's metadata for JSON."""
    plain: dict[str, Any] = msgspec.to_builtins(metadata, builtin_types=(bytes,))
    plain.pop("arrangement", None)
    return {**plain, **_arrangement_to_json(metadata.arrangement)}


def metadata_from_json(value: dict[str, Any]) -> TableMetadata:
    """Decode metadata that `metadata_to_json` has encoded."""
    arrangement = {"arrangement": _value(value["arrangement"])} if "arrangement" in value else {}
    return msgspec.convert({**value, **arrangement}, TableMetadata)


def entry_to_json(entry: PartitionEntry) -> dict[str, Any]:
    """Encode a partition's entry for JSON."""
    return {
        "location": entry.location,
        "file_count": entry.file_count,
        "rows": entry.rows,
        "bytes": entry.bytes,
        **_arrangement_to_json(decode_arrangement(entry.arrangement)),
        "lists": [[chunk.ticket, chunk.number, chunk.files] for chunk in entry.chunks],
        "files": files_to_json(inline_files(entry)),
    }


def entry_from_json(value: dict[str, Any], chunks: Mapping[tuple[int, int], FileChunk]) -> PartitionEntry:
    """Decode an entry that `entry_to_json` has encoded.

    Args:
        value: the entry in JSON.
        chunks: the chunks in the new store, by ticket and number.
    """
    return PartitionEntry(
        value["location"],
        value["file_count"],
        value["rows"],
        value["bytes"],
        encode_arrangement(_arrangement_from_json(value)),
        tuple(chunks[ticket, number] for ticket, number, _ in value["lists"]),
        msgspec.Raw(encode_files(files_from_json(value["files"]))),
    )


def files_to_json(files: Iterable[FileRecord]) -> list[dict[str, Any]]:
    """Encode files for JSON."""
    plain = [_fields(file) for file in files]
    for file in plain:
        _leave_out_defaults(file, {"rest_of": None, "field_ids": None})
        for statistics in (file["columns"] or {}).values():
            _leave_out_defaults(statistics, {"trust": 0, "stored": None, "distinct": None})
    return plain


def _leave_out_defaults(fields: dict[str, Any], defaults: Mapping[str, Any]) -> None:
    """Remove the fields that earlier dumps have not, as long as they say nothing."""
    for name, default in defaults.items():
        if fields[name] == default:
            del fields[name]


def files_from_json(values: list[dict[str, Any]]) -> tuple[FileRecord, ...]:
    """Decode files that `files_to_json` has encoded."""
    return tuple(
        FileRecord(
            **{
                **file,
                "columns": None
                if file["columns"] is None
                else {
                    name: ColumnStatistics(**{key: _value(each) for key, each in statistics.items()})
                    for name, statistics in file["columns"].items()
                },
            }
        )
        for file in values
    )


def _arrangement_to_json(arrangement: ArrangementSpec) -> dict[str, Any]:
    return {} if arrangement == PLAIN else {"arrangement": _fields(arrangement)}


def _arrangement_from_json(value: dict[str, Any]) -> ArrangementSpec:
    return msgspec.convert(_value(value.get("arrangement", {})), ArrangementSpec)


def _fields(record: msgspec.Struct) -> dict[str, Any]:
    """Encode a record for JSON, as its fields by their names."""
    return {name: _plain(value) for name, value in msgspec.structs.asdict(record).items()}


def _plain(value: Any) -> Any:
    match value:
        case None | str() | int():
            return value
        case bytes():
            return {"bytes": value.hex()}
        case float() if not math.isfinite(value):
            return {"float": str(value)}
        case msgspec.Struct():
            return _fields(value)
        case tuple() | list():
            return [_plain(each) for each in value]
        case dict():
            return {key: _plain(each) for key, each in value.items()}
    return value


def _value(plain: Any) -> Any:
    match plain:
        case None | str() | int():
            return plain
        case {"bytes": text, **others} if not others:
            return bytes.fromhex(text)
        case {"float": text, **others} if not others:
            return float(text)
        case dict():
            return {key: _value(each) for key, each in plain.items()}
        case list():
            return [_value(each) for each in plain]
    return plain
