"""Rewriting the locations in a row of the store. Everything else in the row stays the same.

| row       | locations in it                                                                         |
|-----------|-----------------------------------------------------------------------------------------|
| database  | the property `location`                                                                 |
| metadata  | the table, and its directories for heavy values                                         |
| partition | the partition, its directories for heavy values, and files with absolute paths          |
| chunk     | files with absolute paths                                                               |

A file outside its partition has an absolute path; other paths are relative to the partition and stay. Records
of removed files have paths relative to the table. Values of columns may look like locations, and are never
changed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from parquetry.locations import is_absolute
from parquetry.metastore.manifest.columns import is_in_columns, with_paths
from parquetry.metastore.storage.checksums import is_tombstone
from parquetry.metastore.storage.keyspace import CHUNKS, DATABASES, METADATA, PARTITIONS
from parquetry.metastore.storage.wire import decoder, encode

Change = Callable[[str], str]
"""Returns the new location for an old one."""

_LOCATION, _ARRANGEMENT, _INLINE = 0, 4, 6
"""Positions of these fields in the record of a partition."""


def rewrite_locations(key: bytes, value: bytes, change: Change) -> bytes:
    """Return the value of a row with its locations changed, or the same bytes if none changes.

    Raises:
        MetastoreDamagedError: the row cannot be read.
    """
    tag = key[:1]
    if tag == PARTITIONS:
        return value if is_tombstone(value) else value[:1] + _rewrite_partition(value[1:], change)
    if tag == METADATA:
        return _rewrite_metadata(value, change)
    if tag == CHUNKS:
        return _rewrite_chunk(value, change)
    return _rewrite_database(value, change) if tag == DATABASES else value


def _rewrite_metadata(value: bytes, change: Change) -> bytes:
    fields: dict[str, msgspec.Raw] = decoder(dict[str, msgspec.Raw]).decode(value)
    changes = {"location": _text, "arrangement": _rewrite_arrangement}
    new = {name: how(fields[name], change) for name, how in changes.items() if name in fields}
    made = {name: field for name, field in new.items() if field is not None}
    return encode({**fields, **made}) if made else value


def _rewrite_partition(value: bytes, change: Change) -> bytes:
    fields: list[msgspec.Raw] = decoder(list[msgspec.Raw]).decode(value)
    changes = {_LOCATION: _text, _ARRANGEMENT: _rewrite_arrangement, _INLINE: _rewrite_files}
    new = {
        position: made
        for position, how in changes.items()
        if (made := how(fields[position], change)) is not None
    }
    return encode([new.get(position, field) for position, field in enumerate(fields)]) if new else value


def _rewrite_chunk(value: bytes, change: Change) -> bytes:
    if is_in_columns(value):
        return with_paths(value, lambda paths: _paths(paths, change))
    return bytes(_rewrite_files(msgspec.Raw(value), change) or value)


def _rewrite_files(value: msgspec.Raw, change: Change) -> msgspec.Raw | None:
    files: list[list[msgspec.Raw]] = decoder(list[list[msgspec.Raw]]).decode(value)
    paths = [decoder(str).decode(file[0]) for file in files]
    changed = _paths(paths, change)
    if changed is None:
        return None
    return msgspec.Raw(encode([[path, *file[1:]] for path, file in zip(changed, files, strict=True)]))


def _rewrite_arrangement(value: msgspec.Raw, change: Change) -> msgspec.Raw | None:
    fields: dict[str, msgspec.Raw] = decoder(dict[str, msgspec.Raw]).decode(value)
    if "skew" not in fields:
        return None
    skew: dict[str, msgspec.Raw] | None = decoder(dict[str, msgspec.Raw] | None).decode(fields["skew"])
    if skew is None or "locations" not in skew:
        return None
    before: list[str | None] = decoder(list[str | None]).decode(skew["locations"])
    after = [None if location is None else change(location) for location in before]
    if after == before:
        return None
    skew["locations"] = msgspec.Raw(encode(after))
    fields["skew"] = msgspec.Raw(encode(skew))
    return msgspec.Raw(encode(fields))


def _rewrite_database(value: bytes, change: Change) -> bytes:
    fields: dict[str, msgspec.Raw] = decoder(dict[str, msgspec.Raw]).decode(value)
    properties: dict[str, str] = decoder(dict[str, str]).decode(fields["properties"])
    if "location" not in properties or change(properties["location"]) == properties["location"]:
        return value
    properties["location"] = change(properties["location"])
    fields["properties"] = msgspec.Raw(encode(properties))
    return encode(fields)


def _text(value: msgspec.Raw, change: Change) -> msgspec.Raw | None:
    before: str | None = decoder(str | None).decode(value)
    after = change(before) if before else before
    return None if after == before else msgspec.Raw(encode(after))


def _paths(paths: Sequence[str], change: Change) -> list[str] | None:
    """Return paths with the absolute ones changed, or None if none changes."""
    changed = [change(path) if is_absolute(path) else path for path in paths]
    return None if changed == list(paths) else changed
