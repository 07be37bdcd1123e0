"""The format of a dump: a directory of JSON lines that says what a metastore holds, whatever store it is in.

    manifest.json      {"format": "parquetry dump", "version": 1, "written_by", "warehouse", …}
    tables/<id>.jsonl  a table each

The manifest's `databases` are `{"name", "properties"}`, its `tables` are `{"id", "database", "name", "file",
"lines", "sha256"}`; its own `sha256` comes last, and is the hash of all bytes of the file with 64 noughts in its place. The lines of a table are objects of one key, in this order:

| key       | value                                                                                 |
|-----------|---------------------------------------------------------------------------------------|
| table     | `id`, `oldest` (version), `next_ticket`, `hidden` (ranges of tickets that do not count) |
| commit    | a version: `metastore.storage.model.Commit`; oldest first                             |
| metadata  | `ticket`, and `value`: `metastore.storage.model.TableMetadata`                        |
| files     | `ticket`, `number`, and `value`: part of a long list of files                         |
| partition | `key` (hexadecimal), `ticket`, and `value`: the entry; null: the partition is gone    |
| taken_out | `path`, `ticket`, and `value`: a file of others as it was when it was taken out       |
|           | (`bytes`, `modified`); null: it is not taken out any longer                           |

Entries of indexes are not written: they follow from the partitions. Keys of partitions are encoded values (`parquetry.keys`), which are the same in all stores. A value that JSON
does not have is an object: `{"bytes": hexadecimal}`, `{"float": "nan"}`. The `arrangement` of a table and of a partition is
left out where it is plain, and so is a file's `rest_of` where it has none; since version 5 there is one.

A view stands among the tables: its metadata have a `view`, and it has no partitions.

Dumps of version 1 are read, too: theirs are the same lines, in which partitions have `parameters` (always empty), and
nothing has an arrangement. Those of version 2 have no views, those of version 3 no constraints, and the manifests of those of version 4 no hash. Until version 3 all locations are absolute; since then those below the
warehouse are relative to it (`locations.warehouse_relative`), so that they lie below the warehouse of whoever restores them. Later versions are refused.
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
from parquetry.metastore.manifest import encode_files, inline_files
from parquetry.metastore.storage import (
    FileChunk,
    PartitionEntry,
    TableMetadata,
    decode_arrangement,
    encode_arrangement,
)

FORMAT = "parquetry dump"
FIRST = 1
HASHED = 5
"""The first version whose manifest has a hash of its own."""
VERSION = 5
"""Of the dumps that are written: the newest, whatever they hold, so that there is one form to write."""
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
    sha256: str = ""


_NO_HASH = "0" * 64
_HASH = re.compile(rb'"sha256": "([0-9a-f]{64})"\n}\n\Z')
"""At the end of a manifest: its own."""


def write_manifest(manifest: Manifest) -> tuple[Manifest, bytes]:
    """Return a manifest with its hash, and its text."""
    unhashed = _text(msgspec.structs.replace(manifest, sha256=_NO_HASH))
    hashed = msgspec.structs.replace(manifest, sha256=hashlib.sha256(unhashed).hexdigest())
    return hashed, _text(hashed)


def _text(manifest: Manifest) -> bytes:
    return msgspec.json.format(msgspec.json.encode(manifest)) + b"\n"


def _is_as_written(text: bytes, version: int) -> bool:
    """Return whether a manifest has the hash that it says; before `HASHED` there is none."""
    found = _HASH.search(text)
    if found is None:
        return version < HASHED
    start, end = found.span(1)
    unhashed = text[:start] + _NO_HASH.encode() + text[end:]
    return hashlib.sha256(unhashed).hexdigest().encode() == found[1]


def read_manifest(text: bytes, where: str) -> Manifest:
    """Return the manifest of a dump.

    Raises:
        WarehouseError: it is none.
        MetastoreVersionError: the dump is of another version.
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
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise WarehouseError(f"{where} is damaged: {error}; make another dump.") from None


def metadata_to_json(metadata: TableMetadata) -> dict[str, Any]:
    """Return what a table is as JSON holds it."""
    plain: dict[str, Any] = msgspec.to_builtins(metadata, builtin_types=(bytes,))
    plain.pop("arrangement", None)
    return {**plain, **_arrangement_to_json(metadata.arrangement)}


def metadata_from_json(value: dict[str, Any]) -> TableMetadata:
    """Return what `metadata_to_json` has written."""
    arrangement = {"arrangement": _value(value["arrangement"])} if "arrangement" in value else {}
    return msgspec.convert({**value, **arrangement}, TableMetadata)


def entry_to_json(entry: PartitionEntry) -> dict[str, Any]:
    """Return a partition's entry as JSON holds it."""
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
    """Return the entry that `entry_to_json` has written.

    Args:
        value: of JSON.
        chunks: that the store has now, by ticket and number.
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
    """Return files as JSON holds them."""
    plain = [_fields(file) for file in files]
    for file in plain:
        if file["rest_of"] is None:
            del file["rest_of"]
    return plain


def files_from_json(values: list[dict[str, Any]]) -> tuple[FileRecord, ...]:
    """Return the files that `files_to_json` has written."""
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
    """Return a record's fields by their names, as JSON holds them."""
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
