"""Folders outside of a table's own in which partitions of it, or directories of heavy values, lie.

What the table writes there is its to delete, and nothing else.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from parquetry.errors import MetastoreDamagedError
from parquetry.layout import ArrangementSpec
from parquetry.locations import StoragePath, path_below, storage_path
from parquetry.maintenance.deletion.claims import overlap
from parquetry.maintenance.deletion.file_access import RealPaths
from parquetry.metastore.manifest import decode_entry
from parquetry.metastore.storage import (
    METADATA,
    TableMetadata,
    decode_arrangement,
    decoder,
    is_tombstone,
    partition_prefix,
    prefix_range,
)
from parquetry.store import Store


def outer_folders(store: Store, table: bytes, location: str, real: RealPaths) -> frozenset[StoragePath]:
    """Return where partitions of any version, and directories of their heavy values, lie outside of their table's folder, resolved.

    REPLACE TABLE … LOCATION leaves earlier versions where they are.

    Args:
        store: of the metastore.
        table: id.
        location: of the table.
        real: links and `..` resolved.
    """
    root = real.folder(storage_path(location))
    locations = set(_new_partition_locations(store, table))
    for _, value in store.scan(*prefix_range(partition_prefix(table))):
        locations.update(recorded_locations(value))
    found = (real.folder(storage_path(own)) for own in locations if path_below(location, own) is None)
    return frozenset(folder for folder in found if not overlap(folder, root))


def former_folders(store: Store, table: bytes, location: str, real: RealPaths) -> frozenset[StoragePath]:
    """Return the folders of its own that a table had before a REPLACE TABLE … LOCATION, resolved.

    Args:
        store: of the metastore.
        table: id.
        location: of the table.
        real: links and `..` resolved.
    """
    root = real.folder(storage_path(location))
    own = (metadata.location for metadata in _metadata(store, table) if not metadata.external)
    return frozenset(folder for each in own if each and (folder := real.folder(storage_path(each))) != root)


def recorded_locations(value: bytes) -> set[str]:
    """Return the locations that the row of a partition says of itself and of directories; none if it cannot be read."""
    if is_tombstone(value):
        return set()
    try:
        entry = decode_entry(value)
        return {
            place
            for place in (entry.location, *_cell_locations(decode_arrangement(entry.arrangement)))
            if place
        }
    except MetastoreDamagedError:
        return set()  # of which `recorded_files` tells


def _new_partition_locations(store: Store, table: bytes) -> set[str]:
    """Return where versions of the table have partitions lie that are made from then on, and directories of their heavy values."""
    return {
        place
        for metadata in _metadata(store, table)
        for place in (metadata.location, *_cell_locations(metadata.arrangement))
        if place
    }


def _metadata(store: Store, table: bytes) -> Iterator[TableMetadata]:
    """Yield the metadata of all versions; those that cannot be read are left out, and fsck tells of them."""
    for _, value in store.scan(*prefix_range(METADATA + table)):
        with contextlib.suppress(MetastoreDamagedError):
            yield decoder(TableMetadata).decode(value)


def _cell_locations(arrangement: ArrangementSpec) -> tuple[str | None, ...]:
    return () if arrangement.skew is None else arrangement.skew.locations
