"""Folders outside of a table's own folder that hold partitions of it, or directories for heavy values.

The table may delete the files there that it wrote itself, and no others.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator

from parquetry.errors import MetastoreDamagedError
from parquetry.locations import StoragePath, path_below, storage_path
from parquetry.metastore.deletion.claims import overlap
from parquetry.metastore.deletion.file_access import RealPaths
from parquetry.metastore.manifest.entries import decode_entry
from parquetry.metastore.storage.checksums import is_tombstone
from parquetry.metastore.storage.keyspace import METADATA, partition_prefix, prefix_range
from parquetry.metastore.storage.model import TableMetadata
from parquetry.metastore.storage.wire import decode_arrangement, decoder
from parquetry.store import Store


def outer_folders(
    store: Store,
    table: bytes,
    location: str,
    real: RealPaths,
    recorded: Collection[str] | None = None,
) -> frozenset[StoragePath]:
    """Return the folders outside of a table's folder, of partitions and of directories for heavy values.

    They are resolved, and include folders of all versions: REPLACE TABLE … LOCATION does not move earlier
    versions.

    Args:
        store: the metastore's store.
        table: the table's id.
        location: the table's location.
        real: resolves links and `..`.
        recorded: the locations in the rows of partitions, or None to read the rows.
    """
    root = real.folder(storage_path(location))
    locations = set(_new_partition_locations(store, table))
    if recorded is not None:
        locations.update(recorded)
    else:
        for _, value in store.scan(*prefix_range(partition_prefix(table))):
            locations.update(recorded_locations(value))
    folders = (real.folder(storage_path(own)) for own in locations if path_below(location, own) is None)
    return frozenset(folder for folder in folders if not overlap(folder, root))


def former_folders(store: Store, table: bytes, location: str, real: RealPaths) -> frozenset[StoragePath]:
    """Return the folders that a managed table had before a REPLACE TABLE … LOCATION, resolved.

    Args:
        store: the metastore's store.
        table: the table's id.
        location: the table's location.
        real: resolves links and `..`.
    """
    root = real.folder(storage_path(location))
    own = (metadata.location for metadata in _metadata(store, table) if not metadata.external)
    return frozenset(folder for each in own if each and (folder := real.folder(storage_path(each))) != root)


def recorded_locations(value: bytes) -> set[str]:
    """Return the locations in a partition's row: its own and its directories'; none if it is unreadable."""
    if is_tombstone(value):
        return set()
    try:
        entry = decode_entry(value)
        return {
            location
            for location in (entry.location, *decode_arrangement(entry.arrangement).locations)
            if location
        }
    except MetastoreDamagedError:
        return set()  # `recorded_files` logs it


def _new_partition_locations(store: Store, table: bytes) -> set[str]:
    """Return the locations that any version's metadata gives to new partitions and their directories."""
    return {
        location
        for metadata in _metadata(store, table)
        for location in (metadata.location, *metadata.arrangement.locations)
        if location
    }


def _metadata(store: Store, table: bytes) -> Iterator[TableMetadata]:
    """Yield the readable metadata of all versions; fsck reports unreadable metadata."""
    for _, value in store.scan(*prefix_range(METADATA + table)):
        with contextlib.suppress(MetastoreDamagedError):
            yield decoder(TableMetadata).decode(value)
